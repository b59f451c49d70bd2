#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Holds the work of every constant evaluation: at most 250 of clang's constexpr steps for a node of the gradient, 400 with loops.

clang bounds the steps of one constant evaluation (1,048,576 by default), so what a function may have is decided by the
stage that takes most. For each family of graphs, gradients of about 1,000 and 3,000 nodes, counted after backward, are
planned with `-fconstexpr-steps` at 250 a node. `--measure` searches for what they take instead of judging.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

from generate import FAMILIES

ROOT = pathlib.Path(__file__).resolve().parents[2]
STEPS = 250
# length: the least number of nodes that it has
CASES = {"chain": {116: 1000, 347: 3000}, "wide": {153: 1000, 461: 3000}, "rows": {84: 1000, 254: 3000}, "loops": {116: 1000, 347: 3000}}
# The steps a node of families that take more than STEPS.
MORE = {"loops": 400}
# Families of which only the stages up to the plan are held to it: the plans of bodies are stages of their own.
UNPLANNED = ["loops"]


def source(family, length, nodes):
    """The stages up to the plan, without the code that is made from it."""
    text = FAMILIES[family](length)
    if family in UNPLANNED:
        return text[:text.index("using program")] + f"""
using stages = ct::detail::stages<gradient, double, double>;
static_assert(stages::differentiated::value.size.nodes >= {nodes}, "shorter than the list in steps.py says");
static_assert(stages::simplified::value.size.nodes > 0);
"""
    return text[:text.index("int main")] + f"""
static_assert(program::differentiated_nodes >= {nodes}, "shorter than the list in steps.py says");
static_assert(program::workspace_bytes + 1 > 0);
"""


def compiles(compiler, path, steps, flags):
    command = [*compiler, "-std=c++20", "-fsyntax-only", "-w", "-I", ROOT / "include", *flags,
               f"-fconstexpr-steps={steps}", "-ferror-limit=1", path]
    run = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    return run.returncode == 0, run.stderr


def most(compiler, path, nodes, flags):
    low, high = 0, 2000
    while high - low > 4:
        middle = (low + high) // 2
        if compiles(compiler, path, middle * nodes, flags)[0]:
            high = middle
        else:
            low = middle
    return high


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--family", action="append", choices=CASES)
    parser.add_argument("--steps", type=int, help=f"{STEPS} if left out, and what MORE says")
    parser.add_argument("--nodes", type=int, default=3000, choices=[1000, 3000], help="the most")
    parser.add_argument("--fails", action="store_true", help="succeed where something takes more")
    parser.add_argument("compiler", nargs="*", default=["clang++-19"])
    options, flags = parser.parse_known_args()
    good = True
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "case.cpp"
        for family in options.family or CASES:
            for length, nodes in CASES[family].items():
                if nodes > options.nodes:
                    continue
                path.write_text(source(family, length, nodes))
                if options.measure:
                    print(f"{family:6} {nodes:5} nodes {most(options.compiler, path, nodes, flags):5} steps a node", flush=True)
                    continue
                allowed = options.steps or MORE.get(family, STEPS)
                fine, said = compiles(options.compiler, path, allowed * nodes, flags)
                if not fine:
                    good = False
                    why = next((l for l in said.splitlines() if "error" in l), said[:400])
                    print(f"{family}, {nodes} nodes: more than {allowed} steps a node, or it does not compile\n  {why[:400]}")
    return int(good if options.fails else not good)


if __name__ == "__main__":
    sys.exit(main())
