#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Compares errors that the documentation quotes with the compiler's output. The refused file is named above such a block:

    <!-- refused: tests/fail/matmul.cpp -->
    ```text
    include/...: error: ...
    ```

The file is compiled with -DREFUSED; each line of the block must be a line of the output. Numbers of lines and columns may
differ, since they move with every change.

usage: check_quotes.py PROJECT_FOLDER COMPILER
       check_quotes.py --self-test
"""
import os
import pathlib
import re
import subprocess
import sys

QUOTE = re.compile(r"<!-- refused: (\S+) -->\n```text\n(.*?)```", re.S)


def without_place(line):
    return re.sub(r":\d+:\d+:", ":", line)


def missing(quoted, output):
    said = [without_place(line) for line in output.splitlines()]
    return [line for line in quoted.splitlines() if line and without_place(line) not in said]


def check(root, compiler):
    wrong, found = [], 0
    for page in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
        for source, quoted in QUOTE.findall(page.read_text(encoding="utf-8")):
            found += 1
            command = [compiler, "-std=c++20", "-Iinclude", "-DREFUSED", "-fsyntax-only", source]
            run = subprocess.run(command, cwd=root, env={**os.environ, "LC_ALL": "C.UTF-8"}, capture_output=True, text=True)
            for line in missing(quoted, run.stderr):
                wrong.append(f"{page.relative_to(root)}: {source} is refused in other words than `{line}`; it says:")
                wrong += [f"    {said}" for said in run.stderr.splitlines() if re.search(r"error|required from here|evaluates", said)]
                break
    return wrong if found else [f"{root}: quotes no error"]


def self_test():
    if missing("a\nb\n", "x\nb\na\n") or missing("f:1:2: a\nc\n", "x\nb\nf:3:4: a\n") != ["c"]:
        return ["a line that is not in the output was not noticed"]
    return []


if __name__ == "__main__":
    found = self_test() if sys.argv[1:] == ["--self-test"] else check(pathlib.Path(sys.argv[1]), sys.argv[2])
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(1 if found else 0)
