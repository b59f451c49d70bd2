#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Measures the costs of a compiled function, a graph at run time and eager mode. First it times the compilation of the three
files in this folder, with the interpreter compiled separately. Then it runs the same tasks in one program, in which the three
take turns.

usage: measure.py [--compiler NAME] [--flags FLAGS] [--rounds N] [--builds N] [--folder FOLDER]
"""
import argparse
import datetime
import pathlib
import resource
import statistics
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
INCLUDE = HERE.parent.parent / "include"
UNITS = ("compiled", "graph", "eager")


def seconds_of(command):
    """Processor time of the command and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--compiler", default="g++")
    words.add_argument("--flags", default="-O2 -march=native")
    words.add_argument("--rounds", type=int, default=51, help="of the run times")
    words.add_argument("--builds", type=int, default=3, help="rounds of the compilation, of which the median is taken")
    words.add_argument("--folder", help="keeps the program there")
    asked = words.parse_args()
    with tempfile.TemporaryDirectory() as own:
        folder = pathlib.Path(asked.folder or own)
        folder.mkdir(parents=True, exist_ok=True)
        base = [asked.compiler, "-std=c++20", *asked.flags.split(), "-DCOTANGENT_SEPARATE", f"-I{INCLUDE}"]

        separate = folder / "separate.cpp"
        separate.write_text("#include <cotangent/separate.hpp>\n")
        once = seconds_of([*base, "-c", str(separate), "-o", str(folder / "separate.o")])
        taken = {unit: [] for unit in UNITS}
        for _ in range(asked.builds):
            for unit in UNITS:
                source, made = str(HERE / f"{unit}.cpp"), str(folder / f"{unit}.o")
                taken[unit].append(seconds_of([*base, "-c", source, "-o", made]))
        print(f"{datetime.date.today()}, {asked.compiler} {asked.flags}; compilation, seconds of processor time, "
              f"median of {asked.builds}")
        for unit in UNITS:
            print(f"  {unit + '.cpp':<32} {statistics.median(taken[unit]):6.1f}")
        print(f"  {'separate.hpp, once for a program':<32} {once:6.1f}", flush=True)
        seconds_of([*base, "-c", str(HERE / "main.cpp"), "-o", str(folder / "main.o")])
        program = folder / "choose"
        objects = [str(folder / f"{unit}.o") for unit in (*UNITS, "separate", "main")]
        subprocess.run([asked.compiler, *objects, "-o", str(program)], check=True)
        subprocess.run([str(program), str(asked.rounds)], check=True)


if __name__ == "__main__":
    main()
