# SPDX-License-Identifier: BSL-1.0
"""What a statement of a recipe may be: the value of each operation by the oracle, and how C++ spells it.

A statement has attributes (`has`): integers, lists of integers, numbers. `static` is its text in a traced function,
`dynamic` in a graph that is built at run time; both take the names of the operands."""
import math

from . import formulas, numbers as n
from .numbers import Rough, Tensor, count, each, element, made, plain, reduced, smooth


class Operation:
    def __init__(self, name, value, static, dynamic=None):
        self.name, self.value, self.static, self.dynamic = name, value, static, dynamic or static


table = {}


def add(name, value, static, dynamic=None):
    table[name] = Operation(name, value, static, dynamic)


def within(low, high, f):
    """f of numbers in an interval; elsewhere the case is drawn again."""
    def of(x):
        if n.checked and not low < plain(x) < high:
            raise Rough
        return f(x)
    return of


def off_zero(f):
    def of(x):
        smooth(plain(x))
        return f(x)
    return of


def integral(f):
    def of(x):
        smooth(plain(x) - round(plain(x)))
        return f(plain(x))
    return of


def call(name):
    return lambda of, has: f"ct::{name}({', '.join(of)})"


def operator(sign):
    return lambda of, has: f"({of[0]} {sign} {of[1]})"


UNARY = {
    "neg": lambda x: -x,
    "abs": off_zero(lambda x: -x if plain(x) < 0 else x),
    "sign": off_zero(lambda x: -1.0 if plain(x) < 0 else 1.0),
    "floor": integral(math.floor),
    "square": lambda x: x * x,
    "reciprocal": lambda x: within(.2, 1e3, n.reciprocal)(x) if plain(x) > 0 else -within(.2, 1e3, n.reciprocal)(-x),
    "sqrt": within(.1, 1e3, n.sqrt),
    "exp": within(-20, 4, n.exp),
    "expm1": within(-20, 4, n.expm1),
    "log": within(.1, 1e3, n.log),
    "log1p": within(-.9, 1e3, n.log1p),
    "sin": n.sin,
    "cos": n.cos,
    "tanh": n.tanh,
    "sigmoid": within(-50, 50, n.sigmoid),
    "softplus": within(-50, 50, n.softplus),
    "relu": off_zero(lambda x: 0.0 if plain(x) < 0 else x),
    "erf": n.erf,
    "normal_cdf": lambda x: 0.5 * (1 + n.erf(math.sqrt(.5) * x)),
    "gelu": lambda x: 0.5 * x * (1 + n.erf(math.sqrt(.5) * x)),
    "stop_gradient": plain,
}
UNARY.update(formulas.of_one_number(UNARY))
for name, f in UNARY.items():
    add(name, lambda of, has, f=f: each(f, of[0]), call(name))
add("minus", lambda of, has: each(lambda x: -x, of[0]), lambda of, has: f"(-{of[0]})")
add("plus", lambda of, has: of[0], lambda of, has: f"(+{of[0]})")


def power(x, p):
    return within(.1, 50, lambda y: n.power(y, p))(x)


def quotient(a, b):
    return a * table_reciprocal(b)


table_reciprocal = UNARY["reciprocal"]


def pick(first):
    return lambda a, b: a if n.less(a, b) == first else b


def binary_cross_entropy_with_logits(z, t):
    return t * UNARY["softplus"](-z) + (1 - t) * UNARY["softplus"](z)


BINARY = {
    "add": (lambda a, b: a + b, operator("+")),
    "subtract": (lambda a, b: a - b, operator("-")),
    "multiply": (lambda a, b: a * b, operator("*")),
    "divide": (quotient, operator("/")),
    "pow": (power, call("pow")),
    "min": (pick(True), call("min")),
    "max": (pick(False), call("max")),
    "binary_cross_entropy_with_logits": (binary_cross_entropy_with_logits, call("binary_cross_entropy_with_logits")),
}
for name, (f, text) in BINARY.items():
    add(name, lambda of, has, f=f: each(f, *of), text)
for name, sign, f in [("less", "<", n.less), ("greater", ">", lambda a, b: n.less(b, a)),
                      ("less_equal", "<=", n.less), ("greater_equal", ">=", lambda a, b: n.less(b, a))]:
    add(name, lambda of, has, f=f: each(f, *of, kind="b"), operator(sign))
add("equal", lambda of, has: each(lambda a, b: a == b, *of, kind="b"), operator("=="))
add("not_equal", lambda of, has: each(lambda a, b: a != b, *of, kind="b"), operator("!="))
add("both", lambda of, has: each(lambda a, b: a and b, *of, kind="b"), operator("&&"))
add("either", lambda of, has: each(lambda a, b: a or b, *of, kind="b"), operator("||"))
add("not", lambda of, has: each(lambda a: not a, *of, kind="b"), lambda of, has: f"(!{of[0]})")
add("select", lambda of, has: each(lambda c, a, b: a if c else b, *of), call("select"))

# With numbers.
for name, f, text in [("times", lambda x, y: x * y, "({0} * {by})"), ("more", lambda x, y: x + y, "({by} + {0})"),
                      ("from", lambda x, y: y - x, "({by} - {0})"), ("over", lambda x, y: x / y, "({0} / {by})"),
                      ("under", lambda x, y: quotient(y, x), "({by} / {0})"),
                      ("to_the", power, "ct::pow({0}, {by})")]:
    add(name, lambda of, has, f=f: each(lambda x: f(x, has["by"]), of[0]),
        lambda of, has, text=text: text.format(*of, by=repr(has["by"])))


def updated(of, has):
    a, b = of
    if n.joint(a.shape, b.shape) != a.shape:
        raise Rough
    return each(lambda x, y: ((x + y) * y - 0.5) / 1.25, a, b)


add("update", updated, lambda of, has:
    f"[&] {{ auto z = {of[0]}; z += {of[1]}; z *= {of[1]}; z -= 0.5; z /= 1.25; return z; }}()")

# Between element types. REAL is the type of the case.
add("real", lambda of, has: Tensor(of[0].shape, [float(x) for x in of[0].at]), lambda of, has: f"ct::convert<REAL>({of[0]})")
add("integer", lambda of, has: each(integral(int), of[0], kind="i"),
    lambda of, has: f"ct::convert<std::int64_t>({of[0]})")
add("wide", lambda of, has: each(lambda x: 0.5 * x, of[0]),
    lambda of, has: f"ct::convert<REAL>(0.5 * ct::convert<double>({of[0]}))")


# Along axes.
def axes_of(x, has):
    return [a % len(x.shape) for a in has["axes"]]


def reduction(name, f, empty=False):
    def value(of, has):
        x = of[0]
        if not empty and count(x.shape) == 0:
            raise Rough
        return reduced(x, axes_of(x, has), has["keep"], f)

    def text(opening, closing):
        def spelled(of, has):
            axes = ", ".join(map(str, has["axes"]))
            return f"ct::{name}({of[0]}, {opening}{axes}{closing}{', ct::keep' if has['keep'] else ''})"
        return spelled
    add("all_" + name, lambda of, has: value(of, {"axes": range(len(of[0].shape)), "keep": 0}), call(name))
    add(name + "_of", value, text("ct::axes<", ">"), text("{", "}"))


reduction("sum", n.total, True)
reduction("mean", lambda x: n.total(x) * (1 / len(x)))
reduction("max", lambda x: x[n.chosen(x, 1)])
reduction("min", lambda x: x[n.chosen(x, -1)])
reduction("logsumexp", n.logsumexp)


def axis_text(name):
    return (lambda of, has: f"ct::{name}<{has['axis']}>({of[0]})", lambda of, has: f"ct::{name}({of[0]}, {has['axis']})")


def axis(x, has):
    return has["axis"] % len(x.shape)


ALONG = {  # functions of the numbers along an axis, as many
    "softmax": n.softmax,
    "log_softmax": n.log_softmax,
    "cumsum": n.running(lambda a, b: a + b),
    "cumprod": n.running(lambda a, b: a * b),
}
for name, f in ALONG.items():
    add(name, lambda of, has, f=f: n.along(of[0], axis(of[0], has), f), *axis_text(name))
add("argmax", lambda of, has: reduced(of[0], [axis(of[0], has)], 0, lambda x: n.chosen(x, 1), kind="i"), *axis_text("argmax"))


# Movement.
def sizes(shape):
    return ", ".join(map(str, shape))


def shaped(name):
    return (lambda of, has: f"ct::{name}<{sizes(has['to'])}>({of[0]})", lambda of, has: f"ct::{name}({of[0]}, {{{sizes(has['to'])}}})")


def reshape(of, has):
    if count(has["to"]) != count(of[0].shape):
        raise Rough
    return Tensor(has["to"], of[0].at, of[0].kind)


def broadcast_to(of, has):
    if n.joint(of[0].shape, has["to"]) != tuple(has["to"]):
        raise Rough
    return n.repeated(of[0], has["to"])


def permuted(x, order):
    def of(p):
        q = [0] * len(p)
        for k, a in enumerate(order):
            q[a] = p[k]
        return element(x, q)
    return made([x.shape[a] for a in order], of, x.kind)


def concatenated(of, has):
    a = axis(of[0], has)
    shape = list(of[0].shape)
    for x in of[1:]:
        if len(x.shape) != len(shape) or any(m != k for i, (m, k) in enumerate(zip(x.shape, shape)) if i != a):
            raise Rough
    shape[a] = sum(x.shape[a] for x in of)

    def at(p):
        q = list(p)
        for x in of:
            if q[a] < x.shape[a]:
                return element(x, q)
            q[a] -= x.shape[a]
    return made(shape, at)


def sliced(x, a, start, stop, step):
    if not 0 <= start <= stop <= x.shape[a]:
        raise Rough
    shape = list(x.shape)
    shape[a] = -(-(stop - start) // step)
    return made(shape, lambda p: element(x, (*p[:a], start + step * p[a], *p[a + 1:])), x.kind)


def index(of, has):
    x, a, k = of[0], has["axis"], has["at"]
    if not -x.shape[a] <= k < x.shape[a]:
        raise Rough
    k %= x.shape[a]
    return made(x.shape[:a] + x.shape[a + 1:], lambda p: element(x, (*p[:a], k, *p[a:])), x.kind)


def indexed(text):
    return lambda of, has: f"{of[0]}({'ct::all, ' * has['axis']}{text.format(**has)})"


def split(of, has):
    x, a = of[0], axis(of[0], has)
    if sum(has["sizes"]) != x.shape[a]:
        raise Rough
    parts, at = [], 0
    for k in has["sizes"]:
        parts.append(sliced(x, a, at, at + k, 1))
        at += k
    return parts


add("reshape", reshape, *shaped("reshape"))
add("broadcast_to", broadcast_to, *shaped("broadcast_to"))
add("flatten", lambda of, has: Tensor([count(of[0].shape)], of[0].at, of[0].kind), call("flatten"))
add("transpose", lambda of, has: permuted(of[0], range(len(of[0].shape))[::-1]), call("transpose"))
add("permute", lambda of, has: permuted(of[0], has["by"]), lambda of, has: f"ct::permute<{sizes(has['by'])}>({of[0]})",
    lambda of, has: f"ct::permute({of[0]}, {{{sizes(has['by'])}}})")
add("concatenate", concatenated, lambda of, has: f"ct::concatenate<{has['axis']}>({', '.join(of)})")
add("index", index, indexed("{at}"))
add("range", lambda of, has: sliced(of[0], has["axis"], has["start"], has["stop"], has["step"]),
    indexed("ct::range<{start}, {stop}, {step}>"), indexed("ct::dynamic::between({start}, {stop}, {step})"))
add("split", split, lambda of, has: f"ct::split<{has['axis']}, {sizes(has['sizes'])}>({of[0]})",
    lambda of, has: f"ct::split({of[0]}, std::vector<std::int64_t>{{{sizes(has['sizes'])}}}, {has['axis']})")


# Products and choices by integers.
def matmul(of, has):
    a, b = of
    if len(a.shape) != 2 or len(b.shape) != 2 or a.shape[1] != b.shape[0]:
        raise Rough
    return made((a.shape[0], b.shape[1]), lambda p: n.total(element(a, (p[0], k)) * element(b, (k, p[1]))
                                                            for k in range(a.shape[1])))


def dot(of, has):
    a, b = of
    if len(a.shape) != 1 or a.shape != b.shape:
        raise Rough
    return Tensor((), [n.total(x * y for x, y in zip(a.at, b.at))])


def rows_in_range(i, rows):
    if any(not 0 <= k < rows for k in i.at):
        raise Rough


def gather(of, has):
    x, i = of
    rows_in_range(i, x.shape[0])
    cut = len(i.shape)
    return made(i.shape + x.shape[1:], lambda p: element(x, (element(i, p[:cut]), *p[cut:])))


def scatter_add(of, has):
    x, i = of
    rows_in_range(i, has["rows"])
    cut = len(i.shape)
    if x.shape[:cut] != i.shape:
        raise Rough
    shape = (has["rows"], *x.shape[cut:])
    result = Tensor(shape, [0.0] * count(shape))
    for p in n.places(x.shape):
        at = n.position(shape, (element(i, p[:cut]), *p[cut:]))
        result.at[at] = result.at[at] + element(x, p)
    return result


def batch_take(of, has):
    x, i = of
    if x.shape[:-1] != i.shape:
        raise Rough
    rows_in_range(i, x.shape[-1])
    return made(i.shape, lambda p: element(x, (*p, element(i, p))))


def cross_entropy(of, has):
    z, i = of
    if z.shape[:-1] != i.shape:
        raise Rough
    rows_in_range(i, z.shape[-1])
    return each(lambda a, b: a - b, reduced(z, [len(z.shape) - 1], 0, n.logsumexp), batch_take(of, has))


def one_hot(of, has):
    i = of[0]
    return made(i.shape + (has["classes"],), lambda p: 1.0 if element(i, p[:-1]) == p[-1] else 0.0)


add("matmul", matmul, call("matmul"))
add("dot", dot, call("dot"))
add("gather", gather, call("gather"))
add("scatter_add", scatter_add, lambda of, has: f"ct::scatter_add<{has['rows']}>({', '.join(of)})")
add("batch_take", batch_take, call("batch_take"))
add("cross_entropy", cross_entropy, call("cross_entropy"))
add("one_hot", one_hot, lambda of, has: f"ct::one_hot<{has['classes']}, REAL>({of[0]})")


# Images: windows of `window` pixels, `stride` apart, with a border.
def windows(x, has, size):
    h, w = x.shape[-3:-1]
    stride, before, after, apart = has["stride"], has["padding"], has["padding_end"], has.get("dilation", 1)
    to = [(m + before + after - (k - 1) * apart - 1) // stride + 1 for m, k in zip((h, w), size)]
    if any(m + before + after < (k - 1) * apart + 1 for m, k in zip((h, w), size)) or 0 in x.shape:
        raise Rough

    def under(p):
        """The pixels under a window, each with its tap."""
        for i in range(size[0]):
            for j in range(size[1]):
                r, c = p[0] * stride - before + i * apart, p[1] * stride - before + j * apart
                if 0 <= r < h and 0 <= c < w:
                    yield (i, j), (r, c)
    return to, under


def conv2d(of, has):
    x, w = of
    groups = has["groups"]
    if len(x.shape) not in (3, 4) or len(w.shape) != 4 or x.shape[-1] != w.shape[2] * groups or w.shape[3] % groups or 0 in w.shape:
        raise Rough
    to, under = windows(x, has, w.shape[:2])
    results = w.shape[3] // groups
    return made((*x.shape[:-3], *to, w.shape[3]), lambda p: n.total(
        element(x, (*p[:-3], *pixel, p[-1] // results * w.shape[2] + k)) * element(w, (*tap, k, p[-1]))
        for tap, pixel in under(p[-3:-1]) for k in range(w.shape[2])))


def pooled(f):
    def value(of, has):
        x = of[0]
        if len(x.shape) not in (3, 4) or has["padding"] >= has["window"] or has["padding_end"] >= has["window"]:
            raise Rough
        to, under = windows(x, has, (has["window"],) * 2)

        def at(p):
            pixels = [element(x, (*p[:-3], *pixel, p[-1])) for _, pixel in under(p[-3:-1])]
            if not pixels:
                raise Rough
            return f(pixels)
        return made((*x.shape[:-3], *to, x.shape[-1]), at)
    return value


def stenciled(name, kind, keys):
    def fields(has):
        return ", ".join(f".{k} = {has[k]}" for k in keys)
    return (lambda of, has: f"ct::{name}<ct::{kind}{{{fields(has)}}}>({', '.join(of)})",
            lambda of, has: f"ct::{name}({', '.join(of)}, {{{fields(has)}}})")


add("conv2d", conv2d, *stenciled("conv2d", "convolution", ("stride", "padding", "padding_end", "dilation", "groups")))
POOLING = ("window", "stride", "padding", "padding_end")
add("max_pool2d", pooled(lambda x: x[n.chosen(x, 1)]), *stenciled("max_pool2d", "pooling", POOLING))
add("avg_pool2d", pooled(lambda x: n.total(x) * (1 / len(x))), *stenciled("avg_pool2d", "pooling", POOLING))


# Random numbers, by the bits of the case's element type.
def randomly(f):
    return lambda of, has: Tensor(has["to"], [f(of[0].at[0], k, has["bits"]) for k in range(count(has["to"]))])


def dropout(of, has):
    x, key = of

    def at(k, v):
        u = n.random_uniform(key.at[0], k, has["bits"])
        return 0.0 if u < has["by"] else v * (1 / (1 - has["by"]))
    return Tensor(x.shape, [at(k, v) for k, v in enumerate(x.at)])


def random_text(name):
    return (lambda of, has: f"ct::{name}<{', '.join(('REAL', *map(str, has['to'])))}>({of[0]})",
            lambda of, has: f"ct::{name}<REAL>({of[0]}, {{{sizes(has['to'])}}})")


add("random_uniform", randomly(n.random_uniform), *random_text("random_uniform"))
add("random_normal", randomly(n.random_normal), *random_text("random_normal"))
add("dropout", dropout, lambda of, has: f"ct::dropout({of[0]}, {has['by']}, {of[1]})")

# Values without operands, joined to the graph by one.
for name, f in [("zeros", 0.0), ("ones", 1.0)]:
    add(name, lambda of, has, f=f: each(lambda x: x + f, n.repeated(of[0], n.joint(of[0].shape, has["to"]))),
        lambda of, has, name=name: f"({of[0]} + ct::{name}<{', '.join(('REAL', *map(str, has['to'])))}>())")
add("full", lambda of, has: each(lambda x: x * has["by"], n.repeated(of[0], n.joint(of[0].shape, has["to"]))),
    lambda of, has: f"({of[0]} * ct::full<{', '.join(('REAL', *map(str, has['to'])))}>({has['by']}))")
add("eye", lambda of, has: each(lambda x, k: x * k, of[0], made((has["to"][0],) * 2, lambda p: float(p[0] == p[1]))),
    lambda of, has: f"({of[0]} * ct::eye<REAL, {has['to'][0]}>())")
add("normal_cdf", lambda of, has: each(lambda x: 0.5 * (1 + n.erf(math.sqrt(.5) * x)), of[0]), call("normal_cdf"))


def stacked(of, has):
    if of[0].shape != of[1].shape:
        raise Rough
    a = has["axis"]
    return made((*of[0].shape[:a], 2, *of[0].shape[a:]), lambda p: element(of[p[a]], p[:a] + p[a + 1:]))


add("stack", stacked, lambda of, has: f"ct::stack<{has['axis']}>({', '.join(of)})")
add("iota", lambda of, has: each(lambda x, k: x * k, of[0], Tensor(of[0].shape[-1:], [0.5 + 0.25 * k for k in range(of[0].shape[-1])])),
    lambda of, has: f"({of[0]} * ct::iota<REAL, {has['to'][0]}>(REAL(0.5), REAL(0.25)))")
