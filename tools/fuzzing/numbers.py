# SPDX-License-Identifier: BSL-1.0
"""The oracle's arithmetic: tensors of exact dual numbers, nested to any depth. It shares nothing with the library."""
import itertools
import math

UNIT = 1 / math.sqrt(math.atan(1))  # 2 / sqrt(pi)


class Dual:
    """v + d e with e e = 0. Numbers of a higher level contain those of a lower one."""
    __slots__ = ("v", "d", "level")

    def __init__(self, v, d, level):
        self.v, self.d, self.level = v, d, level

    def __add__(self, o):
        if type(o) is Dual:
            if o.level == self.level:
                return Dual(self.v + o.v, self.d + o.d, self.level)
            if o.level > self.level:
                return Dual(self + o.v, o.d, o.level)
        return Dual(self.v + o, self.d, self.level)
    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.v, -self.d, self.level)

    def __sub__(self, o):
        return self + (-o)

    def __rsub__(self, o):
        return -self + o

    def __mul__(self, o):
        if type(o) is Dual:
            if o.level == self.level:
                return Dual(self.v * o.v, self.d * o.v + self.v * o.d, self.level)
            if o.level > self.level:
                return Dual(self * o.v, self * o.d, o.level)
        return Dual(self.v * o, self.d * o, self.level)
    __rmul__ = __mul__

    def __truediv__(self, o):
        return self * reciprocal(o)

    def __rtruediv__(self, o):
        return reciprocal(self) * o


def plain(x):
    """The number without its derivatives."""
    while type(x) is Dual:
        x = x.v
    return x


def lifted(f, slope):
    """The function f of numbers, with its derivative as a function that can be lifted itself."""
    def of(x):
        return Dual(of(x.v), slope(x.v) * x.d, x.level) if type(x) is Dual else f(x)
    return of


def constant(f):
    return lambda x: f(plain(x))


class Rough(Exception):
    """The case is drawn too near to a point where the function is not smooth, or its values become too large."""


NEAR, LARGE = 1e-3, 1e4
checked = True  # whether evaluations refuse what is rough


def smooth(distance):
    if checked and not abs(distance) > NEAR:
        raise Rough


def reciprocal(x):
    if type(x) is Dual:
        r = reciprocal(x.v)
        return Dual(r, -r * r * x.d, x.level)
    if x == 0:
        raise Rough
    return 1 / x


def less(a, b):
    x, y = plain(a), plain(b)
    smooth(x - y)
    return x < y


exp = lifted(math.exp, lambda x: exp(x))
expm1 = lifted(math.expm1, lambda x: exp(x))
log = lifted(math.log, lambda x: reciprocal(x))
log1p = lifted(math.log1p, lambda x: reciprocal(1 + x))
sqrt = lifted(math.sqrt, lambda x: 0.5 * reciprocal(sqrt(x)))
sin = lifted(math.sin, lambda x: cos(x))
cos = lifted(math.cos, lambda x: -sin(x))
tanh = lifted(math.tanh, lambda x: 1 - tanh(x) * tanh(x))
erf = lifted(math.erf, lambda x: UNIT * exp(-(x * x)))


def sigmoid(x):
    return reciprocal(1 + exp(-x))


def softplus(x):
    return log(1 + exp(x))


def power(x, p):
    return exp(p * log(x))


class Tensor:
    """Numbers in row-major order. kind: r(eal), i(nteger) or b(ool)."""
    __slots__ = ("shape", "at", "kind")

    def __init__(self, shape, at, kind="r"):
        self.shape, self.at, self.kind = tuple(shape), list(at), kind
        assert len(self.at) == count(self.shape)


def count(shape):
    n = 1
    for k in shape:
        n *= k
    return n


def places(shape):
    """All positions, the last axis the fastest."""
    if not shape:
        yield ()
        return
    for first in range(shape[0]):
        for rest in places(shape[1:]):
            yield (first, *rest)


def position(shape, place):
    at = 0
    for n, k in zip(shape, place):
        at = at * n + k
    return at


def made(shape, of, kind="r"):
    return Tensor(shape, [of(p) for p in places(tuple(shape))], kind)


def element(x, place):
    return x.at[position(x.shape, place)]


def joint(*shapes):
    """The shape that these broadcast to; None where they do not."""
    rank = max(len(s) for s in shapes)
    to = []
    for k in range(rank):
        sizes = {s[k - rank + len(s)] for s in shapes if k - rank + len(s) >= 0} - {1}
        if len(sizes) > 1:
            return None
        to.append(sizes.pop() if sizes else 1)
    return tuple(to)


def repeated(x, shape):
    if x.shape == tuple(shape):
        return x
    skip = len(shape) - len(x.shape)
    return made(shape, lambda p: element(x, tuple(0 if n == 1 else k for n, k in zip(x.shape, p[skip:]))), x.kind)


def each(f, *operands, kind="r"):
    shape = joint(*(x.shape for x in operands))
    wide = [repeated(x, shape) for x in operands]
    return Tensor(shape, [f(*numbers) for numbers in zip(*(x.at for x in wide))], kind)


def reduced(x, axes, keep, f, kind="r"):
    shape = tuple(n for k, n in enumerate(x.shape) if k not in axes)
    into = {p: [] for p in places(shape)}
    for p, value in zip(places(x.shape), x.at):
        into[tuple(k for a, k in enumerate(p) if a not in axes)].append(value)
    to = tuple(1 if k in axes else n for k, n in enumerate(x.shape)) if keep else shape
    return Tensor(to, [f(numbers) for numbers in into.values()], kind)


def along(x, axis, f):
    """f of the numbers along an axis gives as many numbers."""
    rows = {}
    for p, value in zip(places(x.shape), x.at):
        rows.setdefault(p[:axis] + p[axis + 1:], []).append(value)
    rows = {p: f(numbers) for p, numbers in rows.items()}
    return made(x.shape, lambda p: rows[p[:axis] + p[axis + 1:]][p[axis]])


def total(numbers):
    s = 0.0
    for x in numbers:
        s = x + s
    return s


def chosen(numbers, better):
    """The position of the best of several, which must be clearly better than each other one."""
    if not numbers:
        raise Rough
    best = 0
    for k, x in enumerate(numbers):
        if better * plain(x) > better * plain(numbers[best]):
            best = k
    for k, x in enumerate(numbers):
        if k != best:
            smooth(plain(x) - plain(numbers[best]))
    return best


def logsumexp(numbers):
    if not numbers:
        raise Rough
    top = max(plain(x) for x in numbers)
    return log(total([exp(x - top) for x in numbers])) + top


def softmax(numbers):
    top = max(plain(x) for x in numbers)
    parts = [exp(x - top) for x in numbers]
    whole = reciprocal(total(parts))
    return [x * whole for x in parts]


def running(combine):
    """The numbers combined up to each."""
    return lambda numbers: list(itertools.accumulate(numbers, combine))


def log_softmax(numbers):
    whole = logsumexp(numbers)
    return [x - whole for x in numbers]


def random_words(key, at):
    """Philox 4x32-10 of a key and a position."""
    low = 0xFFFFFFFF
    w, k = [at & low, at >> 32, 0, 0], [key & low, key >> 32 & low]
    for _ in range(10):
        a, b = w[0] * 0xD2511F53, w[2] * 0xCD9E8D57
        w = [b >> 32 ^ w[1] ^ k[0], b & low, a >> 32 ^ w[3] ^ k[1], a & low]
        k = [k[0] + 0x9E3779B9 & low, k[1] + 0xBB67AE85 & low]
    return w


def random_uniform(key, at, bits, second=False):
    high, rest = random_words(key, at)[2 if second else 0:][:2]
    return (high >> 8) * 2.0 ** -24 if bits == 24 else (high << 21 | rest >> 11) * 2.0 ** -53


def random_normal(key, at, bits):
    u, v = random_uniform(key, at, bits), random_uniform(key, at, bits, True)
    return math.sqrt(-2 * math.log(1 - u)) * math.cos(2 * math.pi * v)
