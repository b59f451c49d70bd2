#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""The cost of compiling a gradient: seconds, megabytes and template instantiations by its number of nodes.

For each family of graphs (generate.py) and each compiler, sources with about 1, 10, 100, 300 and 1,000 nodes, counted
after backward, are compiled at -O2 with the compiler's default limits. Printed are the milliseconds a node, by the
slope between 100 and 1,000 nodes, and the exponent of growth between 100 and 1,000 (1.18 is n log n). Besides: what the header
alone costs against xsimd's, and the object file of a 200-node gradient with -O0 -g.
"""
import argparse
import datetime
import json
import math
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import time

from generate import FAMILIES

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGETS = [1, 10, 100, 300, 1000]


class CompileError(Exception):
    pass


def run(command):
    """Seconds, megabytes at the peak (of the largest process), standard output."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.monotonic()
        process = subprocess.Popen([str(c) for c in command], stdout=out, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0), err.seek(0)
        if process.returncode != 0:
            head = "\n".join(err.read().decode(errors="replace").splitlines()[:6])
            raise CompileError(f"{' '.join(map(str, command))}\n{head}")
        cpu = usage.ru_utime + usage.ru_stime
        return min(seconds, cpu) if cpu > 0 else seconds, usage.ru_maxrss / 1024, out.read().decode()


class Bench:
    def __init__(self, folder, repeats, extra):
        self.folder, self.repeats, self.extra = pathlib.Path(folder), repeats, extra

    def flags(self):
        return ["-std=c++20", "-I", ROOT / "include", *self.extra]

    def compile(self, compiler, source, *flags, repeats=None):
        """The fastest of some runs."""
        path = self.folder / "case.cpp"
        path.write_text(source)
        best = None
        for _ in range(repeats or self.repeats):
            seconds, megabytes, _ = run([compiler, *self.flags(), *flags, "-c", path, "-o", self.folder / "case.o"])
            if best is None or seconds < best[0]:
                best = seconds, megabytes
        return best

    def nodes(self, compiler, source):
        path, program = self.folder / "count.cpp", self.folder / "count"
        path.write_text(source)
        run([compiler, *self.flags(), "-O0", "-DCOUNT", path, "-o", program])
        return int(run([program])[2].split()[0])

    def instantiations(self, compiler, source):
        """Classes and functions instantiated, as clang counts them: the same in every run."""
        path = self.folder / "trace.cpp"
        path.write_text(source)
        run([compiler, *self.flags(), "-O0", "-ftime-trace", "-ftime-trace-granularity=0", "-c", path,
             "-o", self.folder / "trace.o"])
        events = json.loads((self.folder / "trace.json").read_text())["traceEvents"]
        return sum(e["name"] in ("InstantiateClass", "InstantiateFunction") and e.get("ph") == "X" for e in events)


def lengths(bench, compiler, make):
    """For each target the length whose graph comes closest to it: the number of nodes is linear in the length."""
    few, many = 2, 8
    low, high = bench.nodes(compiler, make(few)), bench.nodes(compiler, make(many))
    a_step = max((high - low) / (many - few), 0.01)
    found = {max(1, round(few + (target - low) / a_step)) for target in TARGETS}
    return sorted(found)


def is_clang(compiler):
    return "clang" in run([compiler, "--version"])[2]


def family(bench, compiler, name, known):
    make, points = FAMILIES[name], []
    if name not in known:
        known[name] = [(k, bench.nodes(compiler, make(k))) for k in lengths(bench, compiler, make)]
    for length, nodes in known[name]:
        source = make(length)
        seconds, megabytes = bench.compile(compiler, source, "-O2")
        point = {"length": length, "nodes": nodes, "seconds": round(seconds, 3), "megabytes": round(megabytes, 1)}
        if is_clang(compiler):
            point["instantiations"] = bench.instantiations(compiler, source)
        points.append(point)
        print(f"  {name:8} {nodes:5} nodes {seconds:8.2f} s {megabytes:7.0f} MB"
              + (f" {point['instantiations']:8} instantiations" if "instantiations" in point else ""), flush=True)
    return {"family": name, "points": points, **growth(points)}


def growth(points):
    near = lambda n: min(points, key=lambda p: abs(math.log(p["nodes"] / n)))
    first, hundred, thousand = near(1), near(100), near(1000)
    if hundred is thousand:
        return {}
    slope = (thousand["seconds"] - hundred["seconds"]) / (thousand["nodes"] - hundred["nodes"])
    result = {"ms_per_node": round(1000 * slope, 2)}
    base = first["seconds"] - slope * first["nodes"] if first is not hundred else 0
    low, high = hundred["seconds"] - base, thousand["seconds"] - base
    if low > 0 and high > 0:
        result["exponent"] = round(math.log(high / low) / math.log(thousand["nodes"] / hundred["nodes"]), 2)
    return result


def headers(bench, compiler):
    result = {}
    for name in ("cotangent/cotangent.hpp", "xsimd/xsimd.hpp", "boost/hana.hpp"):
        try:
            seconds, megabytes = bench.compile(compiler, f"#include <{name}>\n", "-O2", repeats=max(5, bench.repeats))
        except CompileError:
            print(f"  #include <{name}>: not installed")
            continue
        result[name] = {"seconds": round(seconds, 3), "megabytes": round(megabytes, 1)}
        print(f"  #include <{name}> {seconds:.2f} s {megabytes:.0f} MB", flush=True)
    return result


def debug_object(bench, compiler, known):
    """The object file of a 200-node gradient, -O0 -g."""
    make = FAMILIES["chain"]
    (l0, n0), (l1, n1) = known["chain"][1], known["chain"][-1]
    length = max(1, round(l0 + (200 - n0) * (l1 - l0) / max(1, n1 - n0)))
    bench.compile(compiler, make(length), "-O0", "-g", repeats=1)
    megabytes = (bench.folder / "case.o").stat().st_size / 1e6
    nodes = bench.nodes(compiler, make(length))
    print(f"  -O0 -g: {nodes} nodes, object file {megabytes:.2f} MB", flush=True)
    return {"nodes": nodes, "megabytes": round(megabytes, 2)}


def draw(results):
    """Seconds against nodes, both logarithmic, one line for each compiler and family."""
    lines = [(f"{r['compiler']}, {f['family']}", f["points"]) for r in results["compilers"] for f in r["families"]]
    width, height, left, bottom, right = 560, 360, 60, 50, 220
    top_seconds = max(p["seconds"] for _, points in lines for p in points) * 1.3
    low_seconds = min(p["seconds"] for _, points in lines for p in points) / 1.3
    x = lambda n: left + (width - left) * math.log(n) / math.log(2000)
    y = lambda s: height - bottom - (height - bottom - 40) * math.log(s / low_seconds) / math.log(top_seconds / low_seconds)
    colors = ["#06c", "#39f", "#9cf", "#c60", "#f93", "#fc9", "#393", "#6c6", "#999"]
    svg = [f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width + right} {height}' width='{width + right}' height='{height}'>",
           "<style>text{font:12px sans-serif;fill:#333}.title{font:bold 15px sans-serif}.tick{stroke:#ddd}</style>",
           "<rect width='100%' height='100%' fill='white'/>",
           "<text x='14' y='24' class='title'>Seconds to compile a gradient, by the nodes of its graph (-O2)</text>"]
    for n in TARGETS:
        svg.append(f"<line x1='{x(n):.1f}' x2='{x(n):.1f}' y1='40' y2='{height - bottom}' class='tick'/>"
                   f"<text x='{x(n):.1f}' y='{height - bottom + 18}' text-anchor='middle'>{n}</text>")
    for s in (0.2, 0.5, 1, 2, 5, 10, 20, 50, 100):
        if low_seconds <= s <= top_seconds:
            svg.append(f"<line x1='{left}' x2='{width}' y1='{y(s):.1f}' y2='{y(s):.1f}' class='tick'/>"
                       f"<text x='{left - 8}' y='{y(s) + 4:.1f}' text-anchor='end'>{s:g}</text>")
    for k, (label, points) in enumerate(lines):
        color = colors[k % len(colors)]
        path = " ".join(f"{x(p['nodes']):.1f},{y(p['seconds']):.1f}" for p in points)
        svg.append(f"<polyline points='{path}' fill='none' stroke='{color}' stroke-width='2'/>")
        svg += [f"<circle cx='{x(p['nodes']):.1f}' cy='{y(p['seconds']):.1f}' r='3.5' fill='{color}'>"
                f"<title>{p['nodes']} nodes, {p['seconds']} s, {p['megabytes']} MB</title></circle>" for p in points]
        svg.append(f"<text x='{width + 22}' y='{60 + 18 * k}'>{label}</text>"
                   f"<rect x='{width + 8}' y='{51 + 18 * k}' width='9' height='9' fill='{color}'/>")
    svg.append(f"<text x='{left}' y='{height - 10}'>{results['processor']}, {results['date']}</text></svg>")
    return "\n".join(svg) + "\n"


def processor():
    try:
        for line in open("/proc/cpuinfo"):
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", action="append", help="g++ and clang++-19, where installed")
    parser.add_argument("--family", action="append", choices=FAMILIES)
    parser.add_argument("--repeats", type=int, default=2, help="each point is the fastest of so many (2)")
    parser.add_argument("--flag", action="append", default=[], help="one more flag, such as --flag=-march=x86-64-v4")
    parser.add_argument("--headers-only", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--svg")
    parser.add_argument("--print", nargs=2, metavar=("FAMILY", "LENGTH"), help="print one source and stop")
    options = parser.parse_args()
    if options.print:
        print(FAMILIES[options.print[0]](int(options.print[1])), end="")
        return 0
    compilers = options.compiler or [c for c in ("g++", "clang++-19") if shutil.which(c)]
    results = {"date": datetime.date.today().isoformat(), "processor": processor(), "flags": ["-O2", *options.flag],
               "compilers": []}
    known, failed = {}, False
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder, options.repeats, options.flag)
        for compiler in compilers:
            print(run([compiler, "--version"])[2].splitlines()[0])
            entry = {"compiler": compiler, "headers": headers(bench, compiler), "families": []}
            results["compilers"].append(entry)
            try:
                for name in [] if options.headers_only else options.family or FAMILIES:
                    measured = family(bench, compiler, name, known)
                    entry["families"].append(measured)
                    if "ms_per_node" in measured:
                        print(f"  {name:8} {measured['ms_per_node']} ms a node, growth n^{measured.get('exponent', '?')}")
                if "chain" in known:
                    entry["debug_object"] = debug_object(bench, compiler, known)
            except CompileError as error:
                print(f"  {error}", file=sys.stderr)
                failed = True
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=1) + "\n")
    if options.svg and any(c["families"] for c in results["compilers"]):
        pathlib.Path(options.svg).write_text(draw(results))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
