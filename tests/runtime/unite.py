#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Writes one source that includes several test files, each in a namespace of its own, so that they share the headers
and the instantiations.

usage: unite.py OUTPUT FILE...
"""
import pathlib
import re
import sys

output, files = sys.argv[1], [pathlib.Path(name).resolve() for name in sys.argv[2:]]
# The headers come before the first namespace; then their guards make the files' own lines empty.
headers = dict.fromkeys(
    name for file in files for name in re.findall(r"^# *include (\S+)", file.read_text(encoding="utf-8"), re.M))
lines = [f"#if __has_include({name})\n#include {name}\n#endif" for name in headers]
lines += [f'namespace file_{file.stem} {{\n#include "{file}"\n}}' for file in files]
pathlib.Path(output).write_text("\n".join(lines) + "\n", encoding="utf-8")
