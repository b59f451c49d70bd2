# SPDX-License-Identifier: BSL-1.0
"""A recipe is a list of statements over named tensors: what every kind of case is made of. Here it is evaluated by the
oracle and shrunk; how it is drawn is in draw.py, how it runs in static.py and dynamic.py."""
import copy
import math

from . import numbers as n
from .numbers import Dual, Rough, Tensor, count, plain
from .operations import table


class Statement:
    def __init__(self, to, op, of=(), has=None, blocks=()):
        self.to, self.op, self.of, self.has, self.blocks = list(to), op, list(of), dict(has or {}), list(blocks)

    def reads(self):
        names = set(self.of) | set(self.has.get("wrt", ()))
        for b in self.blocks:
            inside = set(b.gives)
            for s in b.statements:
                inside |= s.reads()
            names |= inside - b.names()
        return names


class Block:
    def __init__(self, takes, statements, gives):
        self.takes, self.statements, self.gives = list(takes), list(statements), list(gives)

    def names(self):
        return set(self.takes).union(*(s.to for s in self.statements))


class Recipe:
    """`inputs`: name to tensor, in order. `outputs`: names. `wrt`: the inputs to differentiate for. `real`: f32 or f64."""

    def __init__(self, inputs, statements, outputs, wrt, real="f64"):
        self.inputs, self.statements, self.outputs, self.wrt, self.real = inputs, statements, outputs, wrt, real


class View(Tensor):
    __slots__ = ("root", "positions")


class Memory(Tensor):
    """A tensor that is written in pieces."""
    __slots__ = ()


level = 0


def dual_part(x, at):
    return x.d if type(x) is Dual and x.level == at else 0.0


def base_part(x, at):
    return x.v if type(x) is Dual and x.level == at else x


def gradient(f, values, positions):
    """f of tensors gives a number; its gradients with respect to some of them, element by element."""
    global level
    level += 1
    here = level
    try:
        all_of = []
        for k in positions:
            slopes = []
            for j in range(len(values[k].at)):
                moved = list(values)
                moved[k] = Tensor(values[k].shape, values[k].at)
                moved[k].at[j] = Dual(moved[k].at[j], 1.0, here)
                slopes.append(dual_part(f(moved), here))
            all_of.append(Tensor(values[k].shape, slopes))
        return all_of
    finally:
        level -= 1


def tangent(f, values, along):
    global level
    level += 1
    here = level
    try:
        moved = [Tensor(x.shape, [Dual(a, d, here) for a, d in zip(x.at, t.at)]) for x, t in zip(values, along)]
        return [Tensor(y.shape, [dual_part(a, here) for a in y.at]) for y in f(moved)]
    finally:
        level -= 1


def scalar(x, kind="r"):
    return Tensor((), [x], kind)


class Evaluation:
    """The values of all names, by the oracle."""

    def __init__(self, recipe):
        self.recipe = recipe

    def run(self, inputs=None):
        env = dict(inputs or self.recipe.inputs)
        self.frames = []
        self.walk(self.recipe.statements, env)
        return env

    def walk(self, statements, env):
        """`frames`: where each list of statements that is being walked began."""
        self.frames.append((statements, dict(env)))
        for s in statements:
            self.step(s, env)
        self.frames.pop()

    def block(self, b, env, values):
        inside = dict(env)
        inside.update(zip(b.takes, values))
        self.walk(b.statements, inside)
        return [inside[name] for name in b.gives]

    def step(self, s, env):
        of = [env[name] for name in s.of]
        special = getattr(self, "do_" + s.op, None)
        if special:
            results = special(s, of, env)
        else:
            results = table[s.op].value(of, s.has)
            if not isinstance(results, list):
                results = [results]
        env.update(zip(s.to, results))

    def do_for(self, s, of, env):
        for k in range(s.has["trips"]):
            of = self.block(s.blocks[0], env, [scalar(k, "i"), *of])
        return of

    def do_while(self, s, of, env):
        k = 0
        while k < s.has["trips"]:
            if not n.less(n.total(of[0].at), s.has["limit"]):
                break
            of = self.block(s.blocks[0], env, [scalar(k, "i"), *of])
            k += 1
        return of

    def do_case(self, s, of, env):
        k = of[0].at[0]
        return self.block(s.blocks[k], env, of[1:]) if 0 <= k < len(s.blocks) else of[1:]

    def do_cond(self, s, of, env):
        return self.block(s.blocks[0 if of[0].at[0] else 1], env, of[1:])

    def do_checkpoint(self, s, of, env):
        return self.block(s.blocks[0], env, of)

    do_exact = do_compiled = do_mirror = do_memory_budget = do_checkpoint

    def do_grad(self, s, of, env):
        return gradient(lambda x: self.block(s.blocks[0], env, x)[0].at[0], of, s.has["wrt_at"])

    def do_value_and_grad(self, s, of, env):
        return self.block(s.blocks[0], env, of) + self.do_grad(s, of, env)

    def do_vjp(self, s, of, env):
        dy, x = of[-1], of[:-1]

        def paired(moved):
            y = self.block(s.blocks[0], env, moved)[0]
            return n.total(a * b for a, b in zip(y.at, dy.at))
        return self.block(s.blocks[0], env, x) + gradient(paired, x, range(len(x)))

    def do_jvp(self, s, of, env):
        x, along = of[:len(of) // 2], of[len(of) // 2:]
        return self.block(s.blocks[0], env, x) + tangent(lambda moved: self.block(s.blocks[0], env, moved), x, along)

    def do_gradient(self, s, of, env):
        """Of a number with respect to what the graph, or the body around it, was given."""
        statements, start = self.frames[-1]
        k = next((k for k, other in enumerate(statements) if other is s), len(statements))
        names, frames = s.has["wrt"], self.frames

        def value(moved):
            inside = {**start, **dict(zip(names, moved))}
            self.frames = frames[:-1]
            self.walk(statements[:k], inside)
            self.frames = frames
            return inside[s.of[0]].at[0]
        return gradient(value, [start[x] for x in names], range(len(names)))

    # Windows. A tensor that is written in pieces keeps its elements as they are written.
    def do_tensor(self, s, of, env):
        return [Memory(s.has["shape"], [0.0] * count(s.has["shape"]))]

    def do_view(self, s, of, env):
        x = of[0]
        root, before = (x.root, x.positions) if isinstance(x, View) else (x, range(len(x.at)))
        first = before[0] if len(before) else 0
        at = [first + sum((o + k) * step for o, k, step in zip(s.has["offset"], p, s.has["stride"]))
              for p in n.places(s.has["shape"])]
        if not set(at) <= set(before):
            raise Rough
        v = View(s.has["shape"], [root.at[k] for k in at])
        v.root, v.positions = root, at
        return [v]

    def do_write(self, s, of, env):
        to, value = of
        value = n.repeated(value, to.shape)
        root = to.root if isinstance(to, View) else to
        at = to.positions if isinstance(to, View) else range(len(to.at))
        for k, x in zip(at, value.at):
            root.at[k] = x
        if not isinstance(to, View):
            return [to]
        v = View(to.shape, value.at)
        v.root, v.positions = root, to.positions
        return [v]


# ---- what is expected of the outputs and their derivatives

def loss_of(outputs):
    """A number that depends on every element of the outputs in another way."""
    s = 0.0
    for k, y in enumerate(outputs):
        s = s + 0.3 * (k + 1) * n.total(y.at) + 0.1 * n.total(x * x for x in y.at)
    return s


def finite(x, bound=1e6):
    return all(math.isfinite(plain(a)) and abs(plain(a)) < bound for a in x)


class Expectation:
    """values: by output. slopes: of the loss, by `wrt`, along `aside`. curves: the same of the gradient's product with
    `along`."""

    def __init__(self, recipe, along, aside):
        run = Evaluation(recipe).run
        self.values = [run()[y] for y in recipe.outputs]
        self.loss = loss_of([y for y in self.values if y.kind == "r"])
        self.slopes, self.curves = [], []
        global level
        level += 2
        inner, outer = level - 1, level
        try:
            for x in recipe.wrt:
                moved = dict(recipe.inputs)
                for z in recipe.wrt:
                    moved[z] = Tensor(moved[z].shape, [Dual(a, d, inner) for a, d in zip(moved[z].at, along[z])])
                moved[x] = Tensor(moved[x].shape, [Dual(a, d, outer) for a, d in zip(moved[x].at, aside[x])])
                env = run(moved)
                value = loss_of([env[y] for y in recipe.outputs if env[y].kind == "r"])
                d = dual_part(value, outer)
                self.slopes.append(base_part(d, inner))
                self.curves.append(dual_part(d, inner))
        finally:
            level -= 2
        for y in self.values:
            if not finite(y.at):
                raise Rough
        if not finite([self.loss, *self.slopes, *self.curves]):
            raise Rough


ROUGH = (Rough, OverflowError, ValueError, ZeroDivisionError, IndexError, KeyError, TypeError, AssertionError, RecursionError)


# ---- shrinking

def used(recipe):
    """Without the statements and inputs that no output depends on."""
    recipe = copy.deepcopy(recipe)

    def prune(statements, alive):
        kept = []
        for s in reversed(statements):
            if s.op == "write" and set(s.of) & alive | (set(s.to) & alive):
                alive |= s.reads()
                kept.append(s)
            elif set(s.to) & alive:
                alive |= s.reads()
                kept.append(s)
        return kept[::-1]
    # (a write counts for every view of the same tensor, so the pass is repeated until nothing changes)
    alive = set(recipe.outputs)
    for _ in range(4):
        before = len(alive)
        roots = {}
        for s in recipe.statements:
            if s.op == "view":
                roots[s.to[0]] = roots.get(s.of[0], s.of[0])
            elif s.op == "write":
                roots[s.to[0]] = roots.get(s.of[0], s.of[0])
        live_roots = {roots.get(a, a) for a in alive}
        for s in recipe.statements:
            if s.op == "write" and roots[s.to[0]] in live_roots:
                alive |= set(s.to)
        for s in reversed(recipe.statements):
            if set(s.to) & alive:
                alive |= s.reads()
        if len(alive) == before:
            break
    recipe.statements = [s for s in recipe.statements if set(s.to) & alive]
    recipe.inputs = {x: v for x, v in recipe.inputs.items() if x in alive or x in recipe.wrt}
    return recipe


def renamed(recipe, old, new):
    def of_statements(statements):
        for s in statements:
            s.of = [new if x == old else x for x in s.of]
            for b in s.blocks:
                of_statements(b.statements)
                b.gives = [new if x == old else x for x in b.gives]
    of_statements(recipe.statements)
    recipe.outputs = [new if x == old else x for x in recipe.outputs]


def lists_of(recipe):
    """All lists of statements, the innermost last."""
    found = [recipe.statements]
    for statements in found:
        for s in statements:
            found.extend(b.statements for b in s.blocks)
    return found


def candidates(recipe):
    """Recipes that are smaller by one step, the greatest steps first."""
    if len(recipe.outputs) > 1:
        for k in range(len(recipe.outputs)):
            r = copy.deepcopy(recipe)
            del r.outputs[k]
            yield used(r)
    if len(recipe.wrt) > 1:
        for k in range(len(recipe.wrt)):
            r = copy.deepcopy(recipe)
            del r.wrt[k]
            yield used(r)
    for i, statements in enumerate(lists_of(recipe)):
        for j in reversed(range(len(statements))):
            s = statements[j]
            # an earlier output instead of the last one
            for operand in dict.fromkeys([*s.of, *(x for b in s.blocks for x in b.gives[:1])]):
                r = copy.deepcopy(recipe)
                mine = lists_of(r)[i]
                inside = mine.pop(j)
                if operand not in inside.of:
                    block = next(b for b in inside.blocks if operand in b.gives)
                    if len(block.takes) != len(inside.of):
                        continue
                    mine[j:j] = block.statements
                    for a, b in zip(block.takes, inside.of):
                        renamed(r, a, b)
                for name in s.to:
                    renamed(r, name, operand)
                yield used(r)
            for key in ("trips", "by"):
                if s.has.get(key, 0) not in (0, 1):
                    r = copy.deepcopy(recipe)
                    lists_of(r)[i][j].has[key] = 1 if key == "by" else s.has[key] - 1
                    yield r
    extents = sorted({k for x in recipe.inputs.values() for k in x.shape if k > 1}, reverse=True)
    for old in extents:
        for new in {1, old - 1}:
            yield resized(recipe, old, new)
    for x, v in recipe.inputs.items():
        if v.kind == "r" and any(a != round(a, 1) for a in v.at):
            r = copy.deepcopy(recipe)
            r.inputs[x].at = [round(a, 1) for a in v.at]
            yield r


def resized(recipe, old, new):
    """Every extent of one size becomes another."""
    r = copy.deepcopy(recipe)
    for x, v in r.inputs.items():
        shape = tuple(new if k == old else k for k in v.shape)
        if v.kind == "i" and any(a >= new for a in v.at):
            v.at = [min(a, new - 1) for a in v.at]
        r.inputs[x] = Tensor(shape, v.at[:count(shape)], v.kind)
    for statements in lists_of(r):
        for s in statements:
            for key in ("to", "shape"):
                if key in s.has:
                    s.has[key] = [new if k == old else k for k in s.has[key]]
    return r


def size(recipe):
    return (sum(len(l) for l in lists_of(recipe)), len(recipe.outputs), len(recipe.inputs),
            sum(count(x.shape) for x in recipe.inputs.values()),
            sum(len(repr(s.has)) for l in lists_of(recipe) for s in l))


def shrunk(recipe, fails, attempts=400):
    """The smallest recipe found that still fails in the same way. `fails(recipe)` must refuse what is no recipe."""
    best, tried = used(recipe), 0
    if not fails(best):
        best = recipe
    again = True
    while again and tried < attempts:
        again = False
        for c in candidates(best):
            tried += 1
            if tried > attempts:
                break
            if size(c) < size(best) or sum(len(repr(x.at)) for x in c.inputs.values()) < sum(len(repr(x.at)) for x in best.inputs.values()):
                if fails(c):
                    best, again = c, True
                    break
    return best
