# SPDX-License-Identifier: BSL-1.0
"""Draws recipes by dice. Every statement is evaluated by the oracle as it is drawn, and drawn again where its values are
too large or too near to a tie."""
import random

from . import numbers as n
from .numbers import Tensor, count
from .operations import ALONG, BINARY, UNARY
from .recipe import ROUGH, Block, Evaluation, Memory, Recipe, Statement, View, finite

SHAPES = [(), (3,), (2, 3), (1, 3), (3, 1), (2,), (3, 2), (2, 2, 3), (1,), (4,), (3, 3)]
EMPTY = [(0,), (2, 0), (0, 3)]


class Missing(Exception):
    """There is no operand that fits."""


class Drawer:
    """`kind`: static or dynamic. `many`: how many elements a value may have."""

    def __init__(self, seed, kind, real="f64", many=36):
        self.d, self.kind, self.real, self.many = random.Random(seed), kind, real, many
        self.names = 0
        self.bits = 24 if real == "f32" else 53

    def name(self, letter="v"):
        self.names += 1
        return f"{letter}{self.names}"

    def numbers(self, shape, low=-1.5, high=1.5):
        return Tensor(shape, [round(self.d.uniform(low, high), 3) for _ in range(count(shape))])

    def recipe(self, statements=None):
        d = self.d
        self.env, self.inputs, self.body = {}, {}, []
        shapes = d.sample(SHAPES, d.randint(1, 3))
        if d.random() < .12:
            shapes.append(d.choice(EMPTY))
        for shape in shapes:
            self.inputs[self.name("x")] = self.numbers(shape)
        wrt = list(self.inputs)
        if d.random() < .5:
            self.inputs[self.name("i")] = self.indices((d.randint(1, 3),), 2)
        self.inputs[self.name("k")] = Tensor((), [d.randint(0, 9)], "i")
        self.env.update(self.inputs)
        self.pool = list(self.inputs)
        self.frozen = set()  # names of tensors of which pieces may still be written
        self.depth, self.start, self.given = 0, dict(self.env), wrt
        self.result = Recipe(self.inputs, self.body, [], wrt, self.real)
        self.grow(statements or d.randint(3, 14))
        reals = [v for v in self.pool if self.env[v].kind == "r" and v not in self.inputs]
        if not reals:
            return None
        count_of = d.choice([1, 2, 3, 4, 5])
        read = set().union(*(s.reads() for s in self.body))
        ends = [v for v in reals if v not in read] or reals
        d.shuffle(ends)
        self.result.outputs = list(dict.fromkeys(ends[:count_of] + d.choices(reals, k=1)))[:count_of]
        return self.result

    def indices(self, shape, below):
        return Tensor(shape, [self.d.randrange(below) for _ in range(count(shape))], "i")

    def grow(self, statements):
        tries = 0
        while statements > 0 and tries < 400:
            tries += 1
            s = self.statement()
            if s is not None and self.take(s):
                statements -= 1

    def take(self, s):
        e = Evaluation(self.result)
        e.frames = [(self.body, self.start)]
        env = dict(self.env)
        memory = [(x, list(x.at)) for x in self.env.values() if isinstance(x, Memory)]
        try:
            e.step(s, env)
            good = all(count(env[v].shape) <= self.many and len(env[v].shape) <= 4 and
                       (env[v].kind != "r" or finite(env[v].at, n.LARGE)) for v in s.to)
        except ROUGH:
            good = False
        if not good:
            for x, at in memory:
                x.at[:] = at
            return False
        self.env = env
        self.body.append(s)
        for v in s.to:
            if s.op != "tensor":
                self.pool.append(v)
        return True

    # ---- choosing operands
    def any(self, kind="r", rank=None, nonempty=False):
        from_ = [v for v in self.pool if self.env[v].kind == kind and (rank is None or len(self.env[v].shape) in rank)
                 and not (nonempty and count(self.env[v].shape) == 0)]
        if not from_:
            raise Missing
        return self.d.choice(from_[-6:] if self.d.random() < .65 else from_)

    def like(self, x):
        """One that broadcasts with x."""
        shape = self.env[x].shape
        fits = [v for v in self.pool if self.env[v].kind == self.env[x].kind and n.joint(self.env[v].shape, shape) is not None]
        return self.d.choice(fits)

    def shape(self, v):
        return self.env[v].shape

    def statement(self):
        choices = [(30, self.unary), (24, self.binary), (10, self.literal), (8, self.reduction), (5, self.along_axis),
                   (16, self.movement), (6, self.product), (6, self.by_integers), (6, self.image), (3, self.random),
                   (18, self.compared), (3, self.filled), (2, self.safe)]
        if self.kind == "dynamic":
            if self.depth < 2:
                choices += [(7, self.loop), (5, self.branch), (5, self.block)]
            choices += [(10 if self.depth == 0 else 4, self.window), (3, self.gradient)]
            if self.depth > 0:
                choices += [(8, self.row)]
        elif self.depth < 2:
            choices += [(7, self.block), (7, self.derivative)]
        weights, makers = zip(*choices)
        try:
            return self.d.choices(makers, weights)[0]()
        except (Missing, IndexError):  # (nothing to choose from)
            return None

    def one(self, op, of, **has):
        return Statement([self.name()], op, of, has)

    def unary(self):
        return self.one(self.d.choice([*UNARY, "tanh", "sin", "minus", "plus"]), [self.any()])

    def safe(self):
        """A positive number near 1, for what has poles."""
        x = self.any()
        if not self.take(self.one("tanh", [x])):
            return None
        return self.one("more", [self.pool[-1]], by=1.5)

    def binary(self):
        x = self.any()
        of = [x, self.like(x)]
        self.d.shuffle(of)
        return self.one(self.d.choice([*BINARY, "multiply", "multiply", "add", "update"]), of)

    def literal(self):
        op = self.d.choice(["times", "more", "from", "over", "under", "to_the"])
        by = self.d.choice([0.5, 2, 3, -1.25, 0.25, -1, 1, 0] if op != "over" else [2, 0.5, -1.25])
        return self.one(op, [self.any()], by=by)

    def axes(self, x):
        rank = len(self.shape(x))
        axes = self.d.sample(range(rank), self.d.randint(0, rank))
        return [a - rank if self.d.random() < .3 else a for a in axes]

    def reduction(self):
        name = self.d.choice(["sum", "sum", "mean", "max", "min", "logsumexp"])
        x = self.any()
        if self.d.random() < .3:
            return self.one("all_" + name, [x])
        return self.one(name + "_of", [x], axes=self.axes(x), keep=self.d.randint(0, 1))

    def along_axis(self):
        x = self.any(rank=(1, 2, 3), nonempty=True)
        op = self.d.choice([*ALONG, "argmax"])
        return self.one(op, [x], axis=self.d.randint(-len(self.shape(x)), len(self.shape(x)) - 1))

    def movement(self):
        d, x = self.d, self.any()
        shape, rank = self.shape(x), len(self.shape(x))
        op = d.choice(["reshape", "broadcast_to", "flatten", "transpose", "permute", "concatenate", "index", "range", "split"])
        if op == "reshape":
            total = count(shape)
            to = d.choice([(total,), (1, total), (total, 1), (1, *shape), shape[::-1]] +
                          [(k, total // k) for k in (2, 3) if total and total % k == 0])
            return self.one(op, [x], to=list(to))
        if op == "broadcast_to":
            to = [d.choice([2, 3]) if k == 1 and d.random() < .6 else k for k in shape]
            return self.one(op, [x], to=[d.randint(1, 3)] * d.randint(0, 1) + to)
        if op == "permute":
            return self.one(op, [x], by=d.sample(range(rank), rank)) if rank else None
        if op == "concatenate":
            if rank == 0 or rank > 3:
                return None
            axis = d.randrange(rank)
            fits = [v for v in self.pool if self.env[v].kind == "r" and len(self.shape(v)) == rank and
                    all(a == b for k, (a, b) in enumerate(zip(self.shape(v), shape)) if k != axis)]
            return self.one(op, [x] + d.choices(fits, k=d.randint(1, 2)), axis=axis)
        if op in ("index", "range", "split"):
            if rank == 0:
                return None
            axis = d.randrange(rank)
            extent = shape[axis]
            if op == "index":
                return self.one(op, [x], axis=axis, at=d.randrange(-extent, extent)) if extent else None
            if op == "range":
                start = d.randint(0, extent)
                return self.one(op, [x], axis=axis, start=start, stop=d.randint(start, extent), step=d.randint(1, 2))
            cut = d.randint(0, extent)
            return Statement([self.name(), self.name()], op, [x], {"axis": axis, "sizes": [cut, extent - cut]})
        return self.one(op, [x])

    def product(self):
        d = self.d
        if d.random() < .3:
            x = self.any(rank=(1,))
            same = [v for v in self.pool if x and self.env[v].kind == "r" and self.shape(v) == self.shape(x)]
            return self.one("dot", [x, d.choice(same)]) if x else None
        a = self.any(rank=(2,))
        fits = [v for v in self.pool if a and self.env[v].kind == "r" and len(self.shape(v)) == 2 and self.shape(v)[0] == self.shape(a)[1]]
        if fits:
            return self.one("matmul", [a, d.choice(fits)])
        if not self.take(self.one("transpose", [a])):
            return None
        return self.one("matmul", [a, self.pool[-1]])

    def by_integers(self):
        d, i = self.d, self.any("i", rank=(0, 1, 2))
        if i is None:
            return None
        op = d.choice(["gather", "scatter_add", "batch_take", "cross_entropy", "one_hot", "real"])
        if op == "real":
            return self.one(op, [i])
        if op == "one_hot":
            return self.one(op, [i], classes=d.randint(1, 4))
        shape = self.shape(i)
        if op == "gather":
            return self.one(op, [self.any(rank=(1, 2)), i])
        fits = [v for v in self.pool if self.env[v].kind == "r" and
                (self.shape(v)[:len(shape)] if op == "scatter_add" else self.shape(v)[:-1]) == shape and
                (op == "scatter_add" or len(self.shape(v)) > 0)]
        if not fits:
            return None
        return self.one(op, [d.choice(fits), i], **({"rows": d.randint(1, 4)} if op == "scatter_add" else {}))

    def row(self):
        """The row of a value whose number an integer says, such as that of the iteration."""
        return self.one("gather", [self.any(rank=(1, 2), nonempty=True), self.any("i", rank=(0,))])

    def image(self):
        d = self.d
        x = self.any(rank=(2, 3, 4), nonempty=True)
        if len(self.shape(x)) == 2:
            if not self.take(self.one("reshape", [x], to=[*self.shape(x), 1])):
                return None
            x = self.pool[-1]
        around = {"stride": d.randint(1, 2), "padding": d.randint(0, 1), "padding_end": d.randint(0, 1)}
        if d.random() < .5:
            return self.one(d.choice(["max_pool2d", "avg_pool2d"]), [x], window=d.randint(1, 2), **around)
        channels = self.shape(x)[-1]
        groups = d.choice([g for g in (1, 2) if channels % g == 0])
        to = [d.randint(1, 2), d.randint(1, 2), channels // groups, groups * d.randint(1, 2)]
        source = self.any(nonempty=True)
        flat = count(self.shape(source))
        if count(to) > 1 and flat != count(to):  # as many taps as are needed, from what there is
            if not self.take(self.one("all_mean", [source])) or not self.take(self.one("broadcast_to", [self.pool[-1]], to=to)):
                return None
            key = self.any("i", rank=(0,))
            if not self.take(self.one("random_uniform", [key], to=to, bits=self.bits)):
                return None
            if not self.take(self.one("multiply", [self.pool[-1], self.pool[-2]])):
                return None
        elif not self.take(self.one("reshape", [source], to=to)):
            return None
        return self.one("conv2d", [x, self.pool[-1]], dilation=d.randint(1, 2), groups=groups, **around)

    def random(self):
        d, key = self.d, self.any("i", rank=(0,))
        op = d.choice(["random_uniform", "random_normal", "dropout"])
        if op == "dropout":
            return self.one(op, [self.any(), key], by=d.choice([.25, .5]), bits=self.bits)
        return self.one(op, [key], to=list(d.choice(SHAPES)), bits=self.bits)

    def compared(self):
        d = self.d
        if d.random() < .5:
            c = self.any("b")
            for op in d.choices(["both", "either", "not"], k=d.randint(0, 2)):
                if self.take(self.one(op, [c] if op == "not" else [c, self.like(c)])):
                    c = self.pool[-1]
            op = d.choice(["real", "select", "select"])
        else:
            op = d.choice(["less", "greater", "less_equal", "greater_equal", "equal", "not_equal", "integer", "wide"])
        if op == "real":
            return self.one(op, [c])
        if op == "select":
            fits = [v for v in self.pool if self.env[v].kind == "r" and n.joint(self.shape(v), self.shape(c)) is not None]
            return self.one(op, [c, *d.choices(fits, k=2)])
        if op in ("equal", "not_equal"):
            i = self.any("i")
            return self.one(op, [i, self.like(i)])
        x = self.any()
        return self.one(op, [x]) if op in ("integer", "wide") else self.one(op, [x, self.like(x)])

    def filled(self):
        d, x = self.d, self.any()
        if self.kind == "static":
            op = d.choice(["zeros", "ones", "full", "iota", "eye", "normal_cdf", "stack"])
            shape = self.shape(x)
            if op == "normal_cdf":
                return self.one(op, [x])
            if op == "stack":
                return self.one(op, [x, self.like(x)], axis=d.randint(0, len(shape)))
            if op == "eye":
                return self.one(op, [x], to=[shape[-1]]) if shape and shape[-1] > 0 else None
            if op == "iota":
                return self.one(op, [x], to=[shape[-1]]) if shape else None
            return self.one(op, [x], to=list(d.choice([shape, (3,), (1,)])), by=0.5)
        return self.one("times", [x], by=0)

    # ---- blocks
    def inner(self, takes, statements, like=None, region=True):
        """A block of `takes` (name to tensor); its results have the shapes of `like`, or are any."""
        d = self.d
        kept = (self.pool, self.env, self.body, self.start, self.given)
        self.depth += 1
        # what is outside is captured now and then; windows on it are not, in bodies
        outside = [v for v in self.pool if not isinstance(self.env[v], (View, Memory))]
        self.pool = d.sample(outside, min(len(outside), d.randint(0, 3))) + list(takes)
        self.env = dict(self.env)
        self.env.update(takes)
        self.body, self.start = [], dict(self.env)
        # (a checkpointed block is a part of the graph around it, and has no inputs of its own)
        self.given = [x for x, v in takes.items() if v.kind == "r" and region]
        try:
            self.grow(statements)
            gives = []
            for shape in (like if like is not None else [None]):
                fits = [v for v in self.pool if self.env[v].kind == "r" and (shape is None or self.shape(v) == shape)]
                if not fits:
                    return None
                gives.append(fits[-1] if d.random() < .7 else d.choice(fits))
            return Block(takes, self.body, gives), [self.shape(v) for v in gives]
        finally:
            self.pool, self.env, self.body, self.start, self.given = kept
            self.depth -= 1

    def operands(self, most=3):
        return self.d.choices([v for v in self.pool if self.env[v].kind == "r"], k=self.d.randint(1, most))

    def taken(self, of):
        return {self.name("a"): Tensor(self.shape(v), self.env[v].at, self.env[v].kind) for v in of}

    def loop(self):
        d, of = self.d, self.operands()
        takes = {self.name("n"): Tensor((), [0], "i"), **self.taken(of)}
        block = self.inner(takes, d.randint(1, 4), [self.shape(v) for v in of])
        if block is None:
            return None
        has = {"trips": d.choice([0, 1, 2, 3, 5])}
        if d.random() < .4:
            has["limit"] = round(d.uniform(-1, 4), 2)
        return Statement([self.name() for _ in of], "while" if "limit" in has else "for", of, has, [block[0]])

    def branch(self):
        d, of = self.d, self.operands()
        if d.random() < .5:
            x = self.any()
            if not self.take(self.one("all_sum", [x])) or not self.take(self.one("times", [self.pool[-1]], by=0.5)):
                return None
            a = self.pool[-1]
            if not self.take(self.one("less", [a, self.d.choice([v for v in self.pool if self.shape(v) == () and self.env[v].kind == "r"])])):
                return None
            first = self.inner(self.taken(of), d.randint(1, 3), [self.shape(v) for v in of])
            if first is None:
                return None
            second = self.inner(self.taken(of), d.randint(1, 3), first[1])
            return second and Statement([self.name() for _ in of], "cond", [self.pool[-1], *of], {}, [first[0], second[0]])
        index = self.any("i", rank=(0,))
        blocks = [self.inner(self.taken(of), d.randint(1, 3), [self.shape(v) for v in of]) for _ in range(2)]
        if None in blocks:
            return None
        return Statement([self.name() for _ in of], "case", [index, *of], {}, [b[0] for b in blocks])

    def block(self):
        d, of = self.d, self.operands()
        op = "checkpoint" if self.kind == "dynamic" else d.choice(["checkpoint", "checkpoint", "exact", "compiled", "mirror"])
        block = self.inner(self.taken(of), d.randint(1, 4), region=False)
        return block and Statement([self.name()], op, of, {}, [block[0]])

    # ---- derivatives of functions within a function
    def scalar_block(self, of):
        made = self.inner(self.taken(of), self.d.randint(1, 3))
        if made is None:
            return None
        block, (shape,) = made
        if shape != ():
            y = self.name()
            block.statements.append(Statement([y], "all_sum", block.gives))
            block.gives = [y]
        return block

    def derivative(self):
        d, of = self.d, self.operands(2)
        if sum(count(self.shape(v)) for v in of) > 12:
            return None
        op = d.choice(["grad", "grad", "value_and_grad", "vjp", "jvp"])
        if op in ("grad", "value_and_grad"):
            block = self.scalar_block(of)
            at = sorted(d.sample(range(len(of)), d.randint(1, len(of))))
            names = [self.name() for _ in range(len(at) + (op == "value_and_grad"))]
            return block and Statement(names, op, of, {"wrt_at": at}, [block])
        made = self.inner(self.taken(of), d.randint(1, 3))
        if made is None:
            return None
        if op == "jvp":
            along = []
            for v in of:
                along.append(d.choice([w for w in self.pool if self.env[w].kind == "r" and self.shape(w) == self.shape(v)]))
            return Statement([self.name(), self.name()], op, of + along, {}, [made[0]])
        fits = [w for w in self.pool if self.env[w].kind == "r" and self.shape(w) == made[1][0]]
        if not fits:
            return None
        return Statement([self.name() for _ in range(len(of) + 1)], op, [*of, d.choice(fits)], {}, [made[0]])

    # ---- graphs at run time
    def gradient(self):
        """The gradient of a number with respect to inputs, or to what a body is given, as a value of the same graph."""
        d, x = self.d, self.any()
        if not self.given or sum(count(self.env[v].shape) for v in self.given) > 14 or any(s.op == "gradient" for s in self.body):
            return None
        if not self.take(self.one("all_sum", [x])):
            return None
        wrt = d.sample(self.given, d.randint(1, len(self.given)))
        return Statement([self.name() for _ in wrt], "gradient", [self.pool[-1]], {"wrt": wrt})

    def window(self):
        d = self.d
        open_ = [s.to[0] for s in self.body if s.op == "tensor"]
        choice = d.random()
        if self.depth == 0 and choice < .3 and len(open_) < 2:
            shape = list(d.choice([(4,), (3, 2), (2, 3), (2, 2, 2)]))
            t = self.name("t")
            self.take(Statement([t], "tensor", [], {"shape": shape}))
            for _ in range(d.randint(1, 4)):
                self.piece(t)
            if d.random() < .5:  # read as a whole, so that nothing is written later
                self.reads(t, range(count(shape)))
                self.pool.append(t)
                return None
            return self.view(t)
        if choice < .75 and open_:
            return self.piece(d.choice(open_))
        source = d.choice(open_) if open_ and d.random() < .5 else self.any()
        return source and self.view(source)

    def view(self, x):
        d, shape, rank = self.d, self.shape(x), len(self.shape(x))
        value = self.env[x]
        if count(shape) == 0:
            return None  # (an offset has to lie within)
        own = self.strides_of(x)
        offset, to, stride = [], [], []
        if rank and d.random() < .75:  # a range of each axis, perhaps backwards or repeated
            first = 0
            for k in range(rank):
                if shape[k] == 0:
                    offset.append(0), to.append(0), stride.append(own[k])
                    continue
                start = d.randrange(shape[k])
                step = d.choice([1, 1, 1, 2, -1, 0])
                room = start + 1 if step < 0 else 2 if step == 0 else (shape[k] - 1 - start) // step + 1
                to.append(d.randint(0 if d.random() < .1 else 1, room))
                stride.append(step * own[k])
                first += start * own[k]
            # offsets count in strides of the window: find a combination that gives `first`
            left, offset = first, [0] * rank
            for k in sorted(range(rank), key=lambda k: -abs(stride[k])):
                if stride[k]:
                    offset[k] = int(left / stride[k])
                    left -= offset[k] * stride[k]
            if left:
                return None
        else:
            r = d.randint(0, 2)
            to = [d.randint(1, 3) for _ in range(r)]
            stride = [d.choice([1, 1, 2, 3, -1, 0]) for _ in range(r)]
            offset = [d.randint(0, 2) for _ in range(r)]
        if isinstance(value, Memory) or isinstance(value, View) and isinstance(value.root, Memory):
            root = value.root if isinstance(value, View) else value  # (a tensor keeps its identity in all environments)
            name = next(k for k, v in self.env.items() if v is root)
            s = Statement([self.name()], "view", [x], {"offset": offset, "shape": to, "stride": stride})
            if not self.take(s):
                return None
            self.reads(name, self.env[s.to[0]].positions)
            return None
        return Statement([self.name()], "view", [x], {"offset": offset, "shape": to, "stride": stride})

    def strides_of(self, x):
        s = next((s for s in self.body if x in s.to), None)
        if s is not None and s.op == "view":
            return list(s.has["stride"])
        if s is not None and s.op == "write":
            return self.strides_of(s.of[0])
        strides, step = [], 1
        for k in reversed(self.shape(x)):
            strides.insert(0, step)
            step *= k
        return strides

    def reads(self, root, positions):
        self.state(root)["read"] |= set(positions)

    def state(self, root):
        if not hasattr(self, "states"):
            self.states = {}
        return self.states.setdefault(root, {"read": set(), "written": set()})

    def piece(self, t):
        """Writes a part of a tensor of which no element was read or written before."""
        v = self.name()
        own, shape = self.strides_of(t), self.shape(t)
        d = self.d
        start = [d.randrange(k) for k in shape]
        step = [d.choice([1, 1, 2]) for _ in shape]
        to = [d.randint(1, (k - 1 - a) // b + 1) for k, a, b in zip(shape, start, step)]
        left, offset = sum(a * o for a, o in zip(start, own)), [0] * len(shape)
        stride = [a * b for a, b in zip(step, own)]
        for k in range(len(shape)):
            offset[k] = left // stride[k]
            left -= offset[k] * stride[k]
        if left:
            return None
        state = self.state(t)
        fits = [w for w in self.pool if self.env[w].kind == "r" and n.joint(self.shape(w), to) == tuple(to)]
        if not fits:
            return None
        s = Statement([v], "view", [t], {"offset": offset, "shape": to, "stride": stride})
        if not self.take(s):
            return None
        self.pool.remove(v)
        at = set(self.env[v].positions)
        if at & (state["read"] | state["written"]):
            self.body.pop()
            return None
        w = Statement([self.name()], "write", [v, d.choice(fits)])
        if not self.take(w):
            self.body.pop()
            return None
        state["written"] |= at
        state["read"] |= at  # what was written is a value from now on
        return None
