#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Checks that the digits program refuses invalid input with one sentence that names the place, and a non-zero exit code.

usage: check_refusals.py PROGRAM
"""
import pathlib
import re
import subprocess
import sys
import tempfile

image = ",".join(["0"] * 64)
good = image + ",7\n"

with tempfile.TemporaryDirectory() as folder:
    csv = pathlib.Path(folder) / "some.csv"
    blocked = pathlib.Path(folder) / "file"
    blocked.write_text("")
    cases = [  # the file's text, where to write pictures, what is to be said
        (None, folder, r"the file .*some\.csv cannot be opened"),
        ("", folder, r"some\.csv holds no images"),
        (good * 3, folder, r"some\.csv holds 3 images; training and testing needs more than 1500"),
        (good + "0,0\n" + good, folder, r"some\.csv, line 2: a line must contain 64 pixels and the digit, found only 2"),
        (good * 2 + image.replace("0", "17", 1) + ",7\n", folder, r"line 3: pixel 1 must be a whole number from 0 to 16"),
        (image + ",seven\n", folder, r"line 1: the digit must be a whole number from 0 to 9, found 'seven'"),
        (good * 1501, blocked / "inside", r"the folder .*inside cannot be created"),
    ]
    wrong = []
    for text, pictures, expected in cases:
        csv.unlink(missing_ok=True)
        if text is not None:
            csv.write_text(text)
        run = subprocess.run([sys.argv[1], csv, pictures], capture_output=True, text=True)
        said = run.stderr.splitlines()
        if run.returncode != 1 or len(said) != 1 or not re.search(expected, said[0]) or not said[0].startswith("digits: "):
            wrong.append(f"expected exit code 1 and /{expected}/, got {run.returncode} and {run.stderr!r}")
    run = subprocess.run([sys.argv[1]], capture_output=True, text=True)
    if run.returncode != 2 or not run.stderr.startswith("usage: "):
        wrong.append(f"without arguments: {run.returncode}, {run.stderr!r}")
print(*wrong, sep="\n", end="\n" if wrong else "")
sys.exit(1 if wrong else 0)
