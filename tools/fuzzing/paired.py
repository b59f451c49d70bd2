# SPDX-License-Identifier: BSL-1.0
"""Functions of expressions beside those of JAX, for tools/referee: value, gradient and second derivative along a direction.

Elementwise functions are read from the lists of tests/functions.hpp: their text is C++ and, with JAX's names of the functions, Python.
Functions of arrays are pairs of texts."""
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).parent.parent.parent
LISTS = ("one_operand", "two_operands", "special_functions", "gamma_functions", "composed_functions", "smooth_activations", "bounded_activations", "sparse_activations", "remainders")
ENTRY = re.compile(r'^    function\{"([^"]*)",\s*\[\]\(auto(?: x)?, auto(?: y)?, auto(?: p)?\) \{ return ([^;{}]*); \}', re.M)
# JAX's function where its name differs from the one here.
NAMES = {
    "neg": "jnp.negative", "stop_gradient": "jax.lax.stop_gradient", "relu": "jax.nn.relu", "sigmoid": "jax.nn.sigmoid", "softplus": "jax.nn.softplus",
    "gelu": "(lambda x: jax.nn.gelu(x, approximate=False))", "gelu_tanh": "(lambda x: jax.nn.gelu(x, approximate=True))", "rsqrt": "jax.lax.rsqrt",
    "normal_cdf": "special.ndtr", "normal_log_cdf": "special.log_ndtr", "normal_quantile": "special.ndtri", "lgamma": "special.gammaln",
    "trigamma": "(lambda x: special.polygamma(1, x))", "min": "jnp.minimum", "max": "jnp.maximum", "pow": "jnp.power", "softsign": "jax.nn.soft_sign",
    "clamp": "jnp.clip", "silu": "jax.nn.silu", "log_sigmoid": "jax.nn.log_sigmoid", "floor_div": "jnp.floor_divide", "select": "jnp.where",
    "round": "jnp.round", "atan": "jnp.arctan", "asin": "jnp.arcsin", "acos": "jnp.arccos", "asinh": "jnp.arcsinh", "acosh": "jnp.arccosh",
    "atanh": "jnp.arctanh", "atan2": "jnp.arctan2", "elu": "jax.nn.elu", "leaky_relu": "jax.nn.leaky_relu", "log1mexp": "jax.nn.log1mexp",
    "hard_silu": "jax.nn.hard_silu", "binary_cross_entropy_with_logits": "(lambda z, t: t * jax.nn.softplus(-z) + (1 - t) * jax.nn.softplus(z))",
}
WITHOUT = {"lerp", "fma", "convert", "polygamma", "multigammaln", "gammaincinv", "isnan", "isinf", "isfinite"}
# x, y and p are vectors of 6, p of positive numbers; a and b are matrices of 4 x 4, e is the unit matrix.
SPD = "(ct::matmul(a, ct::transpose(a)) + 2 * e)", "(a @ a.T + 2 * jnp.eye(4))"
REGULAR = "(a + 4 * e)", "(a + 4 * jnp.eye(4))"
ARRAYS = {
    "cumsum": ("ct::cumsum(x)", "jnp.cumsum(x)"), "cumprod": ("ct::cumprod(x)", "jnp.cumprod(x)"),
    "cummax": ("ct::cummax(x)", "jax.lax.cummax(x)"), "cummin": ("ct::cummin(x)", "jax.lax.cummin(x)"),
    "logcumsumexp": ("ct::logcumsumexp(x)", "jax.lax.cumlogsumexp(x)"), "sort": ("ct::sort(x)", "jnp.sort(x)"),
    "median": ("ct::median(x)", "jnp.median(x)"), "quantile": ("ct::quantile(x, 0.3)", "jnp.quantile(x, 0.3)"),
    "prod": ("ct::prod(x)", "jnp.prod(x)"), "var": ("ct::var(x)", "jnp.var(x)"), "std": ("ct::std(x)", "jnp.std(x)"),
    "norm": ("ct::norm(x) + ct::norm<1>(y) + ct::norm<3>(x) + ct::norm<ct::max_norm>(y)",
             "jnp.linalg.norm(x) + jnp.linalg.norm(y, 1) + jnp.linalg.norm(x, 3) + jnp.linalg.norm(y, jnp.inf)"),
    "diff": ("ct::diff(x)", "jnp.diff(x)"), "trapezoid": ("ct::trapezoid(x, y)", "jnp.trapezoid(x, y)"),
    "cov": ("ct::cov(a)", "jnp.cov(a)"), "corrcoef": ("ct::corrcoef(a)", "jnp.corrcoef(a)"), "kron": ("ct::kron(a, b)", "jnp.kron(a, b)"),
    "average": ("ct::average(x, p)", "jnp.average(x, weights=p)"), "outer": ("ct::outer(x, y)", "jnp.outer(x, y)"),
    "roll": ("ct::roll<2>(x) * y", "jnp.roll(x, 2) * y"), "reverse": ("ct::reverse(x) * y", "jnp.flip(x) * y"),
    "tril": ("ct::tril(a) * b", "jnp.tril(a) * b"), "diagonal": ("ct::diagonal(a) * ct::diagonal(b)", "jnp.diagonal(a) * jnp.diagonal(b)"),
    "pad_reflect": ("ct::pad_reflect<2, 1>(x)", "jnp.pad(x, (2, 1), mode='reflect')"), "pad_edge": ("ct::pad_edge<2, 1>(x)", "jnp.pad(x, (2, 1), mode='edge')"),
    "einsum": ('ct::einsum<"ij,jk,ki->i">(a, b, a)', "jnp.einsum('ij,jk,ki->i', a, b, a)"),
    "cholesky": (f"ct::cholesky({SPD[0]})", f"jnp.linalg.cholesky({SPD[1]})"), "inverse": (f"ct::inverse({REGULAR[0]})", f"jnp.linalg.inv({REGULAR[1]})"),
    "solve": (f"ct::solve({REGULAR[0]}, b)", f"jnp.linalg.solve({REGULAR[1]}, b)"), "determinant": ("ct::determinant(a)", "jnp.linalg.det(a)"),
    "slogdet": (f"std::get<1>(ct::slogdet({REGULAR[0]}))", f"jnp.linalg.slogdet({REGULAR[1]})[1]"),
    "qr": (f"std::get<1>(ct::qr({REGULAR[0]}))", f"jnp.linalg.qr({REGULAR[1]})[1]"), "eigvalsh": (f"ct::eigvalsh({SPD[0]})", f"jnp.linalg.eigvalsh({SPD[1]})"),
    "svd": (f"std::get<1>(ct::svd({REGULAR[0]}))", f"jnp.linalg.svd({REGULAR[1]})[1]"), "expm": ("ct::expm(a)", "jax.scipy.linalg.expm(a)"),
    "triangular_solve": (f"ct::triangular_solve({REGULAR[0]}, b)", f"jax.scipy.linalg.solve_triangular({REGULAR[1]}, b, lower=True)"),
    "interp": ("ct::interp(x, ct::cumsum(p) - 2, y)", "jnp.interp(x, jnp.cumsum(p) - 2, y)"), "polyval": ("ct::polyval(y, x)", "jnp.polyval(y, x)"),
    "glu": ("ct::glu(x)", "jax.nn.glu(x)"), "layer_norm": ("ct::layer_norm(a, 1, 0)", "jax.nn.standardize(a, axis=-1, epsilon=1e-5)"),
    "attention": ("ct::attention(a, b, a)", "jax.nn.softmax(a @ b.T / 2, axis=-1) @ a"),
    "segment_max": ("ct::segment_max<2>(x, i)", "jax.ops.segment_max(x, i, 2)"), "segment_sum": ("ct::segment_sum<2>(x, i)", "jax.ops.segment_sum(x, i, 2)"),
    "scatter_max": ("ct::scatter_max(y, i, x)", "y.at[i].max(x)"), "scatter_min": ("ct::scatter_min(y, i, x)", "y.at[i].min(x)"),
    "scatter_set": ("ct::scatter_set(y, i(ct::range<0, 2>), x(ct::range<0, 2>))", "y.at[i[:2]].set(x[:2])"), "gather": ("ct::gather(x, i)", "x[i]"),
    "geomspace": ("ct::geomspace<5>(p(0), p(1))", "jnp.exp(jnp.linspace(jnp.log(p[0]), jnp.log(p[1]), 5))"),
    "logsumexp": ("ct::logsumexp(a, ct::axes<0>)", "special.logsumexp(a, axis=0)"),
}


def in_jax(name):
    import jax
    import jax.numpy as jnp
    for place, of in (("jnp", jnp), ("special", jax.scipy.special), ("jax.nn", jax.nn), ("jax.lax", jax.lax)):
        if hasattr(of, name):
            return f"{place}.{name}"
    return None


def elementwise():
    """`name: (C++, Python)` of the functions of tests/functions.hpp; and those for which JAX has no function."""
    text = (ROOT / "tests/functions.hpp").read_text(encoding="utf-8")
    pairs, without = {}, set()
    for title in LISTS:
        for name, body in ENTRY.findall(text.split(f"tuple {title}{{")[1].split("\n};")[0]):
            called = set(re.findall(r"\bct::(\w+)", body))
            of = {f: NAMES.get(f) or in_jax(f) for f in called}
            if called & WITHOUT or "<" in body or ">" in body or "==" in body or "!=" in body or "&&" in body or "||" in body or "!" in body:
                continue
            if any(f is None for f in of.values()):
                without |= {f for f, there in of.items() if there is None}
                continue
            python = re.sub(r"\bct::(\w+)", lambda m: of[m[1]], body)
            pairs[name] = (" ".join(body.split()), " ".join(python.split()))
    return pairs, without


PROGRAM = """// Written by tools/referee.
#include <cotangent/cotangent.hpp>
#include <cotangent/dynamic.hpp>
#include <cotangent/linalg.hpp>
#include <cotangent/nn.hpp>
#include <cotangent/numeric.hpp>
#include <cotangent/special.hpp>
#include <cotangent/tables.hpp>

#include <cstdio>
#include <vector>

namespace ct = cotangent;
using number = ct::dynamic::expr<double>;
using integer = ct::dynamic::expr<std::int64_t>;
struct input { number x, y, p, a, b, e; integer i; };

static double const of_x[]{%x%}, of_y[]{%y%}, of_p[]{%p%}, of_a[]{%a%}, of_b[]{%b%};
static double const unit[]{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
static std::int64_t const of_i[]{%i%};
static double const of_v[]{%v%}, of_m[]{%m%};

static void judge(char const* name, number (*f)(input const&)) {
  try {
    ct::dynamic::graph g;
    input in{g.input<double>("x", {6}), g.input<double>("y", {6}), g.input<double>("p", {6}), g.input<double>("a", {4, 4}), g.input<double>("b", {4, 4}),
             g.input<double>("e", {4, 4}), g.input<std::int64_t>("i", {6})};
    number const v = g.input<double>("v", {6}), m = g.input<double>("m", {4, 4}), y = f(in);
    number const loss = 0.3 * ct::sum(y) + 0.1 * ct::sum(y * y);
    auto const d = g.gradient({loss}, {in.x, in.y, in.p, in.a, in.b});
    number const slope = ct::sum(d[0] * v) + ct::sum(d[1] * v) + ct::sum(d[2] * v) + ct::sum(d[3] * m) + ct::sum(d[4] * m);
    auto const h = g.gradient({slope}, {in.x, in.y, in.p, in.a, in.b});
    std::vector<number> all{y};
    all.insert(all.end(), d.begin(), d.end());
    all.insert(all.end(), h.begin(), h.end());
    auto p = g.compile(all);
    p.bind(in.x, of_x), p.bind(in.y, of_y), p.bind(in.p, of_p), p.bind(in.a, of_a), p.bind(in.b, of_b), p.bind(in.e, unit), p.bind(in.i, of_i), p.bind(v, of_v), p.bind(m, of_m);
    p.run();
    for (auto const& e : all) {
      std::printf("%s", name);
      for (double const z : p.value(e)) std::printf(" %.17g", z);
      std::printf("\\n");
    }
  } catch (std::exception const& e) {
    std::printf("%s refused: %s\\n", name, e.what());
  }
}

int main() {
%cases%
}
"""


def compared(options, build):
    """`name: (value, gradient, second derivative)`: the largest differences, relative to 1 + JAX's magnitude."""
    import jax
    import jax.numpy as jnp
    import numpy
    from jax.scipy import special
    jax.config.update("jax_enable_x64", True)
    pairs, without = elementwise()
    pairs = {**pairs, **{name: pair for name, pair in ARRAYS.items()}}
    draw = numpy.random.default_rng(options.seed + 7)
    numbers = {"x": draw.uniform(-1.7, 1.7, 6), "y": draw.uniform(-1.7, 1.7, 6), "p": draw.uniform(.2, 1.7, 6),
               "a": draw.uniform(-1, 1, (4, 4)), "b": draw.uniform(-1, 1, (4, 4))}
    i = numpy.array([0, 1, 1, 0, 1, 0])
    text = PROGRAM
    along = numpy.array([0.3, -0.7, 0.2, 0.9, -0.4, 0.6, 0.1, -0.8, 0.5, -0.2, 0.7, 0.35, -0.15, 0.45, -0.55, 0.25])
    for name, x in [*numbers.items(), ("i", i), ("v", along[:6]), ("m", along)]:
        text = text.replace(f"%{name}%", ", ".join(repr(z.item()) for z in x.reshape(-1)))
    order = list(pairs)
    cases = [f'  judge("{k}", [](input const& in) -> number {{ [[maybe_unused]] auto const& [x, y, p, a, b, e, i] = in; return {pairs[name][0]}; }});'
             for k, name in enumerate(order)]
    (build / "paired.cpp").write_text(text.replace("%cases%", "\n".join(cases)), encoding="utf-8")
    flags = [*options.compiler.split(), "-std=c++20", *options.flags.split(), "-DCOTANGENT_SEPARATE", f"-I{ROOT / 'include'}"]
    objects = []
    for source in (build / "paired.cpp", ROOT / "tests/separate.cpp"):
        objects.append(build / f"{source.stem}.o")
        subprocess.run([*flags, "-c", source, "-o", objects[-1]], check=True)
    subprocess.run([*flags, *objects, "-o", build / "paired"], check=True)
    lines = {}
    for line in subprocess.run([build / "paired"], capture_output=True, text=True).stdout.split("\n"):
        if line:
            k, *words = line.split(" ")
            lines.setdefault(order[int(k)], []).append(words)
    found = {}
    for name in order:
        ours = lines.get(name, [])
        if len(ours) != 11:
            print(f"{name}: {' '.join(ours[0]) if ours else 'no result'}")
            found[name] = (float("inf"),) * 3
            continue

        def f(x, y, p, a, b):
            return eval(pairs[name][1], {"jnp": jnp, "jax": jax, "special": special, "x": x, "y": y, "p": p, "a": a, "b": b, "i": i})

        def loss(*of):
            r = f(*of)
            return 0.3 * jnp.sum(r) + 0.1 * jnp.sum(r * r)
        of = [jnp.array(z) for z in numbers.values()]
        directions = [jnp.array(along[:z.size].reshape(z.shape)) for z in of]
        slope = jax.grad(loss, argnums=tuple(range(5)))
        theirs = [f(*of), *slope(*of)]
        try:
            theirs += jax.jvp(slope, of, directions)[1]
        except Exception as error:  # (JAX lacks some second derivatives)
            print(f"{name}: JAX has no second derivative ({str(error)[:60]})")
        measured = [max((abs(float(u) - v) / (1 + abs(v)) for u, v in zip(words, numpy.array(z).reshape(-1).tolist())), default=0.0)
                    for words, z in zip(ours, theirs)]
        found[name] = (measured[0], max(measured[1:6]), max(measured[6:]) if len(measured) > 6 else None)
    return found, sorted(without)
