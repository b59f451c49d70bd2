#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs two programs, which have to print the same lines."""
import subprocess
import sys

runs = [subprocess.run([program], stdout=subprocess.PIPE, text=True) for program in sys.argv[1:3]]
if any(run.returncode == 77 for run in runs):
    sys.exit(77)
first, second = (run.stdout.splitlines() for run in runs)
different = [pair for pair in zip(first, second) if pair[0] != pair[1]]
for one, other in different:
    print(f"{one} is not {other}")
print(f"{len(first)} and {len(second)} lines, {len(different)} different; exit status {[run.returncode for run in runs]}")
sys.exit(bool(different) or len(first) != len(second) or any(run.returncode for run in runs))
