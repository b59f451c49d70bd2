#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""The compile time saved by compiling the interpreter separately: a file with a run-time graph, alone and with
-DCOTANGENT_SEPARATE, and the separate file itself.

Seconds are the fastest of some runs, and of a processor where others use it too; the ratio is steadier than they are.
"""
import argparse
import datetime
import json
import pathlib
import shutil
import sys
import tempfile

from measure import ROOT, CompileError, processor, run

SEPARATE = ROOT / "tests" / "separate.cpp"


def fastest(compiler, flags, source, folder, repeats):
    command = [compiler, "-std=c++20", "-I", ROOT / "include", *flags, "-c", source, "-o", pathlib.Path(folder) / "case.o"]
    return min(run(command)[0] for _ in range(repeats))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", action="append", help="g++ and clang++-19, where installed")
    parser.add_argument("--file", type=pathlib.Path, default=ROOT / "examples" / "newton.cpp", help="what is compiled (examples/newton.cpp)")
    parser.add_argument("--repeats", type=int, default=2, help="each number is the fastest of so many (2)")
    parser.add_argument("--flag", action="append", default=[], help="one more flag, such as --flag=-march=x86-64-v4")
    parser.add_argument("--json")
    options = parser.parse_args()
    flags = ["-O2", *options.flag]
    results = {"date": datetime.date.today().isoformat(), "processor": processor(), "flags": flags, "file": options.file.name,
               "compilers": []}
    with tempfile.TemporaryDirectory() as folder:
        for compiler in options.compiler or [c for c in ("g++", "clang++-19") if shutil.which(c)]:
            with_it = [*flags, "-DCOTANGENT_SEPARATE"]
            try:
                alone = fastest(compiler, flags, options.file, folder, options.repeats)
                rest = fastest(compiler, with_it, options.file, folder, options.repeats)
                once = fastest(compiler, with_it, SEPARATE, folder, options.repeats)
            except CompileError as error:
                print(error, file=sys.stderr)
                return 1
            results["compilers"].append({"compiler": run([compiler, "--version"])[2].splitlines()[0], "alone": round(alone, 2),
                                         "separate": round(rest, 2), "once": round(once, 2), "ratio": round(alone / rest, 2)})
            print(f"{compiler:12} {options.file.name}: {alone:.1f} s alone, {rest:.1f} s beside the one file "
                  f"({alone / rest:.1f} times as fast), which takes {once:.1f} s", flush=True)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
