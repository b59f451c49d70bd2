# SPDX-License-Identifier: BSL-1.0
"""Sequences of calls with arbitrary arguments, inserted between the statements of a valid recipe. The library must accept them or
refuse them by its exceptions, and the outputs of the recipe must equal those of the oracle."""
import copy
import random

from . import dynamic, recipe
from .dynamic import Case
from .recipe import Statement

HUGE = [2 ** 63 - 1, -2 ** 63, 2 ** 62, 2 ** 40, 2 ** 31, 2 ** 31 - 1, -2 ** 31]
ODD = [-1, 0, 1, 2, 3, 5, 9, -2, -9, 100]

# Calls that the library does not refuse yet: `extent` out of range or of no graph, and what was moved from. Once it does, they
# belong here: {"own": ["extent"], "value": ["program"]}.
UNREFUSED = {"own": [], "value": []}


class Wrong:
    def __init__(self, d, names):
        self.d, self.names, self.made = d, list(names), 0

    def integer(self):
        return self.d.choice(HUGE if self.d.random() < .25 else ODD)

    def small(self):
        """Where the library takes an int."""
        return self.d.choice([2 ** 31 - 1, -2 ** 31, *ODD] if self.d.random() < .4 else ODD)

    def shape(self):
        return [self.integer() if self.d.random() < .4 else self.d.randint(0, 4) for _ in range(self.d.choice([0, 1, 1, 2, 2, 3, 4, 8, 9]))]

    def any(self):
        return self.d.choice([*self.names, "nothing"])

    def some(self, most=3):
        return [self.any() for _ in range(self.d.randint(0, most))]

    def name(self):
        self.made += 1
        self.names.append(f"w{self.made}")
        return self.names[-1]

    def statement(self):
        d = self.d
        has = {"wrong": 0}
        kind = d.choice(["own", "own", "own", "view", "view", "shape", "program", "program", "derive", "exec", "exec", "free", "value", "save"])
        of = [self.any()]
        if kind == "own":
            op = d.choice([*UNREFUSED["own"], "sum_of", "max_of", "logsumexp_of", "softmax", "argmax", "reshape", "broadcast_to", "permute", "index", "range",
                           "split", "concatenate", "gather", "scatter_add", "batch_take", "cross_entropy", "one_hot", "conv2d", "max_pool2d",
                           "avg_pool2d", "random_uniform", "random_normal", "dropout", "matmul", "dot", "add", "pow", "select", "exp",
                           "transpose", "flatten", "update", "binary_cross_entropy_with_logits", "element", "real", "mean_of", "less"])
            of = [self.any() for _ in range(3)]
            has.update(axis=self.small() if op not in ("concatenate", "index", "range") else d.randint(0, 3), axes=[self.small() for _ in range(d.randint(0, 3))],
                       keep=d.randint(0, 1), to=self.shape(), by=d.choice([0.25, 1, -1, 2, 0, float("nan"), 1e300]) if op == "dropout" else
                       [self.small() for _ in range(d.randint(0, 3))], at=self.integer(), start=self.integer(), stop=self.integer(),
                       step=self.integer(), sizes=[self.integer() for _ in range(d.randint(0, 3))], rows=d.randint(0, 4), classes=d.randint(0, 4),
                       stride=self.small(), padding=self.small(), padding_end=self.small(), dilation=self.small(), groups=self.small(),
                       window=self.small())
            return Statement([self.name()], op, of, has)
        if kind == "view":
            rank = d.randint(0, 3)
            has.update(offset=[self.integer() for _ in range(rank + d.choice([0, 0, 0, 1]))], shape=[self.integer() if d.random() < .3 else d.randint(0, 3) for _ in range(rank)],
                       stride=[self.integer() for _ in range(d.choice([rank, rank, 0, rank + 1]))])
            if d.random() < .3:
                return Statement([self.name()], "write", [self.any(), self.any()], has)
            return Statement([self.name()], "view", of, has)
        if kind == "shape":
            op = d.choice(["declare", "foreign", "full", "constant", "tensor"])
            has.update(shape=self.shape(), by=0.5, count=d.randint(0, 12))
            return Statement([self.name()], op, [], has)
        if kind == "program":
            has.update(wrt=self.some(2), bind=self.some(3), read=self.some(2), more=d.choice([0, 0, 0, 1, -1, 7]), exact=d.randint(0, 1),
                       own=d.randint(0, 1), memory_budget=d.choice([0, 0, 0, 1, 4096, -1, 2 ** 63 - 1]), moved=int(d.random() < .1))
            return Statement([self.name()], d.choice(["compile", "vjp_program"]), self.some(3), has)
        if kind == "derive":
            has.update(wrt=self.some(2) or [self.any()], seeds=self.some(1), strict=d.randint(0, 1), limit=d.choice([0, 0, 1, -1, 64, 2 ** 63 - 1]))
            return Statement([self.name()], "derive", of, has)
        if kind == "exec":
            has.update(shape=self.shape(), operation=d.randrange(1000), numbers=[self.integer() for _ in range(d.randint(0, 5))])
            return Statement([self.name()], "exec", self.some(3), has)
        if kind == "free":
            mine = [x for x in self.names if x.startswith("w")]
            if not mine:
                return None
            return Statement([self.name()], d.choice(["free", "gradient_of"]), [d.choice(mine)], has)
        if kind == "value":
            has.update(by=0.5, kind=d.randint(0, 3))
            return Statement([self.name()], d.choice(["number", "detached", *UNREFUSED["value"]]), [], has)
        has.update(at=d.randrange(10 ** 6), cut=d.randint(0, 1), flip=d.randint(1, 255))
        return Statement([self.name()], "save", self.some(2), has)


def drawn(seed):
    """A valid recipe, and the calls between its statements."""
    case = dynamic.drawn(seed)
    if case is None or case.recipe.real != "f64":
        return None
    d = random.Random(seed + 7)
    r = copy.deepcopy(case.recipe)
    w = Wrong(d, r.inputs)
    mixed = []
    for s in [*r.statements, None]:
        for _ in range(d.randint(0, 3)):
            made = w.statement()
            if made is not None:
                mixed.append(made)
        if s is not None:
            mixed.append(s)
            # (tensors that are written in pieces belong to the recipe: who writes to them changes what is right)
            w.names += [x for x in s.to if s.op not in ("tensor", "view", "write")]
    calls = Calls(r, mixed, case)
    return calls


class Calls:
    """A case whose text has more statements than the oracle evaluates."""

    def __init__(self, right, mixed, case):
        self.right, self.mixed, self.case, self.seed = right, mixed, case, case.seed

    def text(self, name, only=None):
        r = copy.copy(self.right)
        r.statements = self.mixed
        shown = Case.__new__(Case)
        shown.recipe, shown.directions = r, self.case.directions
        return shown.text(name)

    def check(self, values):
        return [w for w in self.case.check(values) if w[0].startswith("output")]

    @property
    def recipe(self):
        return self.right


def shrink(player, case, failure):
    """Drops wrong statements, then right ones from the end, while the failure stays."""
    def fails(mixed):
        return any(f[:2] == failure[:2] or f[1] == failure[1] == "dies"
                   for f in dynamic.run(player, Calls(case.right, mixed, case.case), "shrinking"))
    mixed = list(case.mixed)
    size = max(1, len(mixed) // 2)
    while size >= 1:
        k = 0
        while k < len(mixed):
            shorter = mixed[:k] + mixed[k + size:]
            needed = set().union(*(s.reads() for s in shorter)) if failure[1] != "dies" else set()
            right = [s for s in mixed[k:k + size] if "wrong" not in s.has]
            if (not right or failure[1] == "dies") and fails(shorter):
                mixed = shorter
            else:
                k += size
            del needed
        size //= 2
    return Calls(case.right, mixed, case.case)
