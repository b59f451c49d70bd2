#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""List the sources of a folder, sorted, one a line, for a meson.build; or say which of them a build does not know.

usage: list_sources.py FOLDER SUFFIX [--deep] [--first HEADER]
       list_sources.py FOLDER SUFFIX [--deep] --known [FILE...]
--first: only those that include HEADER before any other code
"""
import argparse
import pathlib
import re
import sys


def sources(folder, suffix, deep, first=None):
    found = folder.rglob("*" + suffix) if deep else folder.glob("*" + suffix)
    begins = re.compile(rf"(//.*\n|\n)*#include <{re.escape(first or '')}>")
    return sorted(path.relative_to(folder).as_posix() for path in found
                  if first is None or begins.match(path.read_text(encoding="utf-8")))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("suffix")
    parser.add_argument("--deep", action="store_true")
    parser.add_argument("--first")
    parser.add_argument("--known", nargs="*")
    options = parser.parse_args()
    present = sources(options.folder, options.suffix, options.deep, options.first)
    if options.known is None:
        print(*present, sep="\n")
        return 0
    new = sorted(set(present) - set(options.known))
    gone = sorted(set(options.known) - set(present))
    if new or gone:
        print(f"{options.folder}: the build is older than the folder; configure again (meson setup --reconfigure)")
        print(f"  not in the build: {new}\n  no longer in the folder: {gone}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
