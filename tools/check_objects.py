#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Compiles a file of static programs and looks for rules of operations in the object.

The rules (shapes, adjoints, tangents, batches) are run by the compiler. A program that reads its graph at run time brings
the graph into the object, with it all operations, and with them the code of every rule that they may call. (Of a Gaussian
process of 50 points, g++ took a third of its time for that.)

usage: check_objects.py FILE LEVEL COMPILER [FLAG...]
       check_objects.py --self-test COMPILER [FLAG...]
LEVEL is -O2 or -O0.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

RULE = re.compile(r" [TtWw] cotangent::op::\w+::(?:adjoint|tangent|batch|infer)\(")
BROUGHT = """#include <cotangent/cotangent.hpp>
void (*rule)(cotangent::adjoint_rule&) = &cotangent::op::sum::adjoint;
"""


def rules(path, level, compiler):
    """The names of the rules in the object of a file."""
    with tempfile.TemporaryDirectory() as folder:
        made = pathlib.Path(folder) / "object.o"
        subprocess.run([*compiler, level, "-c", path, "-o", made], check=True)
        symbols = subprocess.run(["nm", "-C", made], check=True, capture_output=True, text=True).stdout
    return [line.split(" ", 2)[2] for line in symbols.splitlines() if RULE.search(line)]


def main(arguments):
    if arguments[0] == "--self-test":
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "brought.cpp"
            path.write_text(BROUGHT)
            if not rules(path, "-O2", arguments[1:]):
                print("A rule whose address is taken was not noticed.")
                return 1
        return 0
    found = rules(arguments[0], arguments[1], arguments[2:])
    for name in found[:20]:
        print(f"The object contains {name}: some function reads the graph or the plan at run time.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
