#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""What small and common cases cost to compile, as ratios to the include of xsimd in the same run.

Each case is compiled in turn with every compiler, several times; the smallest user time counts. A further gradient is a
twentieth of a file with 21, less a file with one. A node is the slope of a chain between about 100 and 1,000 nodes. Besides: megabytes at the
peak, and kilobytes of the object file. `--case` compiles these alone.
"""
import argparse
import json
import pathlib
import shutil
import sys
import tempfile

from generate import FAMILIES
from measure import Bench, CompileError, run

INCLUDE = "#include <cotangent/cotangent.hpp>\nnamespace ct = cotangent;\n"
DYNAMIC = INCLUDE + """#include <cotangent/dynamic.hpp>
#include <vector>
double slope(std::vector<double> const& data) {
  ct::dynamic::graph g;
  auto x = g.input<double>("x", {3});
  auto y = ct::sum(ct::exp(x));
  auto dx = g.gradient({y}, {x}).front();
  auto p = g.compile({y, dx});
  p.bind(x, data);
  p.run();
  return p.value(dx)(2);
}
"""
NETWORK = INCLUDE + """
constexpr auto loss = [](auto x, auto t, auto w1, auto b1, auto w2, auto b2, auto w3, auto b3) {
  auto h = ct::tanh(ct::matmul(x, w1) + b1);
  h = ct::tanh(ct::matmul(h, w2) + b2);
  return ct::mean(ct::square(ct::matmul(h, w3) + b3 - t));
};
template <int... E> using f = ct::tensor<float, E...>;
auto step(f<8, 16> const& x, f<8, 4> const& t, f<16, 32> const& w1, f<32> const& b1, f<32, 32> const& w2, f<32> const& b2,
          f<32, 4> const& w3, f<4> const& b3) {
  return ct::grad<2, 3, 4, 5, 6, 7>(loss)(x, t, w1, b1, w2, b2, w3, b3);
}
"""
GAUSSIAN_PROCESS = INCLUDE + """#include <cotangent/linalg.hpp>
constexpr auto likelihood = [](auto x, auto y, auto scale, auto noise) {
  auto const d = ct::expand<1>(x) - ct::expand<0>(x);
  auto const l = ct::cholesky(ct::exp(-0.5 * ct::square(d / scale)) + noise * ct::eye<50>());
  return 0.5 * ct::sum(ct::square(ct::triangular_solve(l, y))) + ct::sum(ct::log(ct::diagonal(l)));
};
auto slope(ct::tensor<double, 50> const& x, ct::tensor<double, 50> const& y, double scale, double noise) {
  return ct::value_and_grad<2, 3>(likelihood)(x, y, scale, noise);
}
"""
# Positions and velocities in two axes; positions are measured.
KALMAN = INCLUDE + """#include <cotangent/linalg.hpp>
#include <tuple>
#include <utility>
constexpr auto likelihood = [](auto measured, auto log_noise, auto f, auto h) {
  auto const model = ct::exp(log_noise(0)) * ct::eye<double, 4>();
  auto const sensor = ct::exp(log_noise(1)) * ct::eye<double, 2>();
  auto const step = [=](auto carry, auto z) {
    auto const [x, p, total] = carry;
    auto const spread = ct::matmul(ct::matmul(f, p), ct::transpose(f)) + model;
    auto const expected = ct::matmul(f, x);
    auto const innovation = z - ct::matmul(h, expected);
    auto const s = ct::matmul(ct::matmul(h, spread), ct::transpose(h)) + sensor;
    auto const gain = ct::transpose(ct::solve(s, ct::matmul(h, spread)));
    auto const likelihood = 0.5 * (ct::log(ct::determinant(s)) + ct::sum(innovation * ct::solve(s, innovation)));
    auto const next = expected + ct::matmul(gain, innovation);
    return std::pair(std::tuple(next, spread - ct::matmul(gain, ct::matmul(h, spread)), total + likelihood), next);
  };
  return std::get<2>(ct::scan(step, std::tuple(ct::zeros<double, 4>(), ct::eye<double, 4>(), 0.0), measured).first);
};
auto slope(ct::tensor<double, 500, 2> const& measured, ct::tensor<double, 2> const& log_noise, ct::tensor<double, 4, 4> const& f,
           ct::tensor<double, 2, 4> const& h) {
  return ct::value_and_grad<1>(likelihood)(measured, log_noise, f, h);
}
"""
RK4 = INCLUDE + """#include <tuple>
#include <utility>
constexpr auto derivative = [](auto angle, auto speed, auto torque) {
  return std::pair(speed, torque - 9.81 * ct::sin(angle) - 0.1 * speed);
};
constexpr auto step = [](auto angle, auto speed, auto torque) {
  double const h = 0.01;
  auto const [a1, s1] = derivative(angle, speed, torque);
  auto const [a2, s2] = derivative(angle + 0.5 * h * a1, speed + 0.5 * h * s1, torque);
  auto const [a3, s3] = derivative(angle + 0.5 * h * a2, speed + 0.5 * h * s2, torque);
  auto const [a4, s4] = derivative(angle + h * a3, speed + h * s3, torque);
  return std::pair(angle + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4), speed + h / 6 * (s1 + 2 * s2 + 2 * s3 + s4));
};
auto slope(double angle, ct::tensor<double, 200> const& torques) {
  return ct::value_and_grad<0, 1>([](auto start, auto u) {
    auto const last = ct::scan([](auto carry, auto t) {
      auto const next = step(std::get<0>(carry), std::get<1>(carry), t);
      return std::pair(std::tuple(next.first, next.second), next.first);
    }, std::tuple(start, 0.0), u).first;
    return ct::square(std::get<0>(last)) + ct::square(std::get<1>(last));
  })(angle, torques);
}
"""


def scalars(count):
    return INCLUDE + "".join(
        f"double s{k}(double a) {{ return ct::grad([](auto x) {{ return x * x * {k + 1}.5; }})(a); }}\n" for k in range(count))


def vectors(count):
    return INCLUDE + "".join(
        f"auto v{k}(ct::tensor<double, 8> const& a) {{ return ct::grad([](auto x) {{ return ct::sum(x * ct::tanh(x) * {k + 1}.5); }})(a); }}\n"
        for k in range(count))


# name: source, flags
CASES = {
    "include": (INCLUDE, ["-O2"]),
    "x * x": (scalars(1), ["-O2"]),
    "21 scalars": (scalars(21), ["-O2"]),
    "1 vector": (vectors(1), ["-O2"]),
    "21 vectors": (vectors(21), ["-O2"]),
    "network": (NETWORK, ["-O2"]),
    "chain 100": (FAMILIES["chain"](11), ["-O2"]),
    "chain 1,000": (FAMILIES["chain"](115), ["-O2"]),
    "1 vector, -O0": (vectors(1), ["-O0"]),
    "chain 1,000, -O2 -g": (FAMILIES["chain"](115), ["-O2", "-g"]),
    "Gaussian process of 50 points": (GAUSSIAN_PROCESS, ["-O2"]),
    "Kalman filter over 500 steps": (KALMAN, ["-O2"]),
    "scan of a Runge-Kutta step": (RK4, ["-O2"]),
}
SLOW = {
    "run-time graph, -O2": (DYNAMIC, ["-O2"]),
    "run-time graph with optimized passes, -O2": (DYNAMIC, ["-O2", "-DCOTANGENT_OPTIMIZE_PASSES=1"]),
    "run-time graph, -O0": (DYNAMIC, ["-O0"]),
    "run-time graph with the separate half, -O2": (DYNAMIC, ["-O2", "-DCOTANGENT_SEPARATE"]),
    "the separate half, -O2": ("#include <cotangent/separate.hpp>\n", ["-O2"]),
}


def precompiled(bench, compiler, source):
    """Seconds with a precompiled cotangent.hpp."""
    header = bench.folder / "pre.hpp"
    header.write_text("#include <cotangent/cotangent.hpp>\n")
    clang = "clang" in run([compiler, "--version"])[2]
    made = bench.folder / ("pre.hpp.pch" if clang else "pre.hpp.gch")
    run([compiler, *bench.flags(), "-O2", "-x", "c++-header", header, "-o", made])
    flags = ["-include-pch", made] if clang else ["-include", header]
    measured = bench.compile(compiler, source, "-O2", *flags, repeats=1)
    made.unlink()
    return measured


def measure(bench, compiler, cases, repeats):
    best = {}
    for _ in range(repeats):
        for name, (source, flags) in {"xsimd": ("#include <xsimd/xsimd.hpp>\n", ["-O2"]), **cases}.items():
            seconds, megabytes = bench.compile(compiler, source, *flags, repeats=1)
            kilobytes = (bench.folder / "case.o").stat().st_size / 1000
            if name not in best or seconds < best[name][0]:
                best[name] = seconds, megabytes, kilobytes
        if "x * x" in cases:
            seconds, megabytes = precompiled(bench, compiler, cases["x * x"][0])
            if "x * x, precompiled header" not in best or seconds < best["x * x, precompiled header"][0]:
                best["x * x, precompiled header"] = seconds, megabytes, 0
    return best


def report(best, nodes):
    unit = best["xsimd"][0]
    rows = {name: (seconds, seconds / unit, megabytes, kilobytes) for name, (seconds, megabytes, kilobytes) in best.items()}
    for name, one, many in (("each further scalar", "x * x", "21 scalars"), ("each further vector", "1 vector", "21 vectors")):
        if one in best and many in best:
            each = (best[many][0] - best[one][0]) / 20
            rows[name] = each, each / unit, 0, 0
    if "chain 100" in best and "chain 1,000" in best:
        each = (best["chain 1,000"][0] - best["chain 100"][0]) / (nodes[1] - nodes[0])
        rows["a node"] = each, each / unit, 0, 0
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", action="append", help="g++ and clang++-19, where installed")
    parser.add_argument("--repeats", type=int, default=3, help="the fastest of so many counts (3)")
    parser.add_argument("--slow", action="store_true", help="run-time graphs and the separate half, once each, instead")
    parser.add_argument("--case", action="append", choices=CASES, help="these alone; all if left out")
    parser.add_argument("--json")
    options = parser.parse_args()
    compilers = options.compiler or [c for c in ("g++", "clang++-19") if shutil.which(c)]
    cases = SLOW if options.slow else {name: CASES[name] for name in options.case or CASES}
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder, 1, [])
        for compiler in compilers:
            try:
                nodes = [bench.nodes(compiler, CASES[c][0]) for c in ("chain 100", "chain 1,000") if c in cases]
                rows = report(measure(bench, compiler, cases, 1 if options.slow else options.repeats), nodes)
            except CompileError as error:
                print(f"{compiler}: {error}", file=sys.stderr)
                return 1
            results[compiler] = rows
            print(f"{compiler}{f', chains of {nodes[0]} and {nodes[1]} nodes' if len(nodes) == 2 else ''}")
            for name, (seconds, ratio, megabytes, kilobytes) in rows.items():
                print(f"  {name:44} {seconds:8.4f} s {ratio:8.3f} of xsimd" + (f" {megabytes:6.0f} MB" if megabytes else "")
                      + (f" {kilobytes:8.0f} kB" if kilobytes else ""), flush=True)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
