# SPDX-License-Identifier: BSL-1.0
"""Recipes as traced functions: C++ source, several cases in a file, with the numbers that the oracle expects."""
import random

from .numbers import count, plain
from .operations import table

TYPES = {"f64": "double", "f32": "float"}


def block(b, real, pad):
    lines = []
    for s in b.statements:
        lines += statement(s, real, pad + "  ")
    names = ", ".join(f"auto {x}" for x in b.takes)
    return "\n".join([f"[&]({names}) {{", *lines, f"{pad}  return {b.gives[0]};", f"{pad}}}"])


def named(to):
    return f"auto const {to[0]}" if len(to) == 1 else f"auto const [{', '.join(to)}]"


def statement(s, real, pad):
    of, has = s.of, s.has
    if not s.blocks:
        text = table[s.op].static(of, has).replace("REAL", TYPES[real])
        return [f"{pad}{named(s.to)} = {text};"]
    f = block(s.blocks[0], real, pad)
    arguments = ", ".join(of)
    if s.op in ("checkpoint", "exact", "compiled", "mirror"):
        return [f"{pad}{named(s.to)} = ct::{s.op}{'<>' if s.op == 'mirror' else ''}({f})({arguments});"]
    at = has.get("wrt_at", range(len(of) - 1) if s.op == "vjp" else range(len(of) // 2))
    made = f"ct::{s.op}<{', '.join(map(str, at))}>({f})({arguments})"
    if s.op == "grad":
        return [f"{pad}{named(s.to)} = {made};"]
    pair = f"pair_{s.to[0]}"
    lines = [f"{pad}auto const {pair} = {made};", f"{pad}auto const {s.to[0]} = {pair}.first;"]
    if s.op == "jvp" or len(at) == 1:
        return lines + [f"{pad}auto const {s.to[1]} = {pair}.second;"]
    return lines + [f"{pad}auto const [{', '.join(s.to[1:])}] = {pair}.second;"]


class Parameters:
    """How the inputs that are differentiated for come in: one by one, or as one tree."""

    def __init__(self, r, dice):
        self.leaves = [(x, r.inputs[x].shape) for x in r.wrt]
        self.others = [x for x in r.inputs if x not in r.wrt]
        ways = ["plain", "plain", "tuple", "struct"]
        if len({shape for _, shape in self.leaves}) == 1 and len(self.leaves) > 1:
            ways.append("array")
        self.way = dice.choice(ways) if len(self.leaves) <= 4 else "plain"
        self.real = TYPES[r.real]
        self.plain = self.way == "plain"

    def type(self, shape):
        return f"ct::tensor<{', '.join([self.real, *map(str, shape)])}>"

    def tree(self):
        types = [self.type(shape) for _, shape in self.leaves]
        if self.way == "tuple":
            return f"std::tuple<{', '.join(types)}>"
        if self.way == "array":
            return f"std::array<{types[0]}, {len(types)}>"
        return "tree<ct::tensor>"

    def declaration(self):
        """The struct of the case, where it has one."""
        if self.way != "struct":
            return []
        members = ", ".join(f"(Tensor<{', '.join([self.real, *map(str, shape)])}>, m{k})" for k, (_, shape) in enumerate(self.leaves))
        return ["template <template <class, ct::extent...> class Tensor> struct tree {",
                f"  BOOST_HANA_DEFINE_STRUCT(tree, {members});", "};"]

    def names(self, prefix):
        """Of the arguments that hold the leaves."""
        return [f"{prefix}{x}" for x, _ in self.leaves] if self.plain else [f"{prefix}p"]

    def leaf(self, tree, k):
        return {"tuple": f"std::get<{k}>({tree})", "array": f"{tree}[{k}]", "struct": f"{tree}.m{k}"}[self.way]

    def unpacked(self, pad, prefix=""):
        return [] if self.plain else [f"{pad}auto const {prefix}{x} = {self.leaf(prefix + 'p', k)};" for k, (x, _) in enumerate(self.leaves)]

    def gradients(self, g):
        """The leaves of what a gradient returned."""
        if not self.plain:
            return [self.leaf(g, k) for k in range(len(self.leaves))]
        return [g] if len(self.leaves) == 1 else [f"std::get<{k}>({g})" for k in range(len(self.leaves))]

    def positions(self):
        return ", ".join(map(str, range(len(self.leaves) if self.plain else 1)))


def autos(names):
    return ", ".join(f"auto {x}" for x in names)


def number(x, real):
    return repr(plain(x))


def array(values):
    return "{" + ", ".join(repr(plain(x)) for x in values) + "}"


WAYS = ["exact", "mirror", "pullback", "constant", "jvp", ""]


def source(case, name, seed_text=""):
    """The case as a namespace with a function `run`, which returns how many comparisons failed."""
    r, dice = case.recipe, random.Random(case.seed + 1)
    real, p = r.real, Parameters(r, random.Random(case.seed + 1))
    way = getattr(case, "way", None)
    if way is None:
        way = dice.choice(WAYS)
    lines = [f"namespace {name} {{ // {seed_text}", *p.declaration()]
    arguments = p.names("") + p.others
    outputs = r.outputs[0] if len(r.outputs) == 1 else f"std::tuple({', '.join(r.outputs)})"
    lines += [f"inline constexpr auto f = []({autos(arguments)}) {{", *p.unpacked("  ")]
    for s in r.statements:
        lines += statement(s, real, "  ")
    lines += [f"  return {outputs};", "};"]
    one = len(r.outputs) == 1
    value = "y" if one else "std::get<{}>(y)"
    loss = " + ".join(f"{0.3 * (k + 1)} * ct::sum({value.format(k)}) + 0.1 * ct::sum({value.format(k)} * {value.format(k)})"
                      for k in range(len(r.outputs)))
    lines += [f"inline constexpr auto loss = []({autos(arguments)}) {{", f"  auto const y = f({', '.join(arguments)});",
              f"  return {loss};", "};"]
    results = [value.format(k) for k in range(len(r.outputs))]
    along = p.names("c_")
    at = p.positions()
    lines += [f"inline constexpr auto all = []({autos(arguments + along)}) {{", f"  auto const y = f({', '.join(arguments)});",
              f"  auto const g = ct::value_and_grad<{at}>(loss)({', '.join(arguments)});"]
    results += ["g.first", *p.gradients("g.second")]
    lines += p.unpacked("  ", "c_")
    products = [f"ct::sum({d} * c_{x})" for d, (x, _) in zip(p.gradients("d"), p.leaves)]
    lines += [f"  auto const h = ct::grad<{at}>([&]({autos(p.names('n_'))}) {{",
              f"    auto const d = ct::grad<{at}>(loss)({', '.join(p.names('n_') + p.others)});",
              f"    return {' + '.join(products)};",
              f"  }})({', '.join(p.names(''))});"]
    results += p.gradients("h")
    if way == "jvp":
        lines.append(f"  auto const t = ct::jvp<{at}>(loss)({', '.join(arguments + along)});")
        results.append("t.second")
    lines += [f"  return std::tuple({', '.join(results)});", "};"]
    # running it
    e, directions = case.expected, (case.cut(0), case.cut(1))
    lines += ["inline int run() {", "  int wrong = 0;"]

    def filled(prefix, values):
        made = []
        for x, shape in p.leaves:
            if p.plain:
                lines.append(f"  auto const {prefix}{x} = filled<{p.type(shape)}>({array(values[x])});")
            else:
                made.append(f"filled<{p.type(shape)}>({array(values[x])})")
        if not p.plain:
            lines.append(f"  {p.tree()} const {prefix}p{{{', '.join(made)}}};")
    filled("", {x: r.inputs[x].at for x in r.wrt})
    filled("c_", directions[0])
    for x in p.others:
        v = r.inputs[x]
        lines.append(f"  auto const {x} = filled<ct::tensor<std::int64_t{''.join(f', {k}' for k in v.shape)}>>({{{', '.join(map(str, v.at))}}});"
                     if v.shape else f"  std::int64_t const {x} = {v.at[0]};")
    call = ", ".join(arguments + along)
    lines.append(f"  auto const r = ct::compiled(all)({call});")
    n = len(r.outputs)
    for k, y in enumerate(e.values):
        lines.append(f'  wrong += compare<{TYPES[real]}>("{name} output {k}", std::get<{k}>(r), {array(y.at)});')
    lines.append(f'  wrong += compare<{TYPES[real]}>("{name} loss", std::get<{n}>(r), {{{e.loss!r}}});' if not isinstance(e.loss, int) else "")
    for j, (label, wanted) in enumerate((("slope", e.slopes), ("curve", e.curves))):
        for k, (x, _) in enumerate(p.leaves):
            place = n + 1 + j * len(p.leaves) + k
            lines.append(f'  wrong += product<{TYPES[real]}>("{name} {label} {k}", std::get<{place}>(r), {array(directions[1][x])}, {plain(wanted[k])!r});')
    if way == "jvp":
        slope = sum_of_slopes(case)
        lines.append(f'  wrong += compare<{TYPES[real]}>("{name} jvp", std::get<{n + 1 + 2 * len(p.leaves)}>(r), {{{slope!r}}});')
    elif way == "exact":
        lines.append(f'  wrong += same<{TYPES[real]}>("{name} exact", ct::exact(all)({call}), r, false);')
    elif way == "mirror":
        lines.append(f'  wrong += same<{TYPES[real]}>("{name} mirror", ct::mirror<>(all)({call}), r, true);')
    elif way == "pullback":
        lines += [f"  auto [y, back] = ct::vjp<{at}>(loss)({', '.join(arguments)});",
                  f"  auto const d = back({TYPES[real]}(1));",
                  f'  wrong += same<{TYPES[real]}>("{name} pullback", std::tuple({", ".join(p.gradients("d"))}), '
                  f"std::tuple({', '.join(f'std::get<{n + 1 + k}>(r)' for k in range(len(p.leaves)))}), false);"]
    elif way == "constant" and small(case):
        constants = []
        for x, shape in p.leaves:
            constants.append(f"filled<{p.type(shape)}>({array(r.inputs[x].at)})")
        others = []
        for x in p.others:
            v = r.inputs[x]
            others.append(f"filled<ct::tensor<std::int64_t{''.join(f', {k}' for k in v.shape)}>>({{{', '.join(map(str, v.at))}}})"
                          if v.shape else f"std::int64_t{{{v.at[0]}}}")
        first = constants if p.plain else [f"{p.tree()}{{{', '.join(constants)}}}"]
        lines += [f"  constexpr auto in_constant = ct::compiled(loss)({', '.join(first + others)});",
                  f'  wrong += compare<{TYPES[real]}>("{name} constant", in_constant, {{{e.loss!r}}});']
    lines += ["  return wrong;", "}", f"}} // namespace {name}", ""]
    return "\n".join(line for line in lines if line != "")


def small(case):
    return sum(count(v.shape) for v in case.recipe.inputs.values()) <= 12 and len(case.recipe.statements) <= 10


def sum_of_slopes(case):
    """The derivative of the loss along the first direction of all inputs at once."""
    from . import recipe as rc
    from .numbers import Dual, Tensor
    r, along = case.recipe, case.cut(0)
    rc.level += 1
    try:
        moved = dict(r.inputs)
        for z in r.wrt:
            moved[z] = Tensor(moved[z].shape, [Dual(a, d, rc.level) for a, d in zip(moved[z].at, along[z])])
        env = rc.Evaluation(r).run(moved)
        return float(rc.dual_part(rc.loss_of([env[y] for y in r.outputs]), rc.level))
    finally:
        rc.level -= 1


HEAD = '''// SPDX-License-Identifier: BSL-1.0
// Generated by tools/fuzz.
#include "static.hpp"

// (a block may leave aside some of what it is given)
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"

'''


def unit(cases):
    """A program of several cases."""
    lines = [HEAD + "namespace {", ""]
    for name, case in cases:
        lines.append(source(case, name, f"seed {case.seed}"))
    lines += ["} // namespace", "", "int main() {", "  int wrong = 0;"]
    lines += [f"  wrong += {name}::run();" for name, _ in cases]
    return "\n".join(lines + ['  std::printf("%d wrong\\n", wrong);', "  return wrong == 0 ? 0 : 1;", "}", ""])
