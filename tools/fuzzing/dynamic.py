# SPDX-License-Identifier: BSL-1.0
"""Recipes as graphs at run time: text for player.cpp, programs of their own for those that fail, and the comparison with
the oracle."""
import math
import random
import subprocess
import threading

from . import draw, recipe
from .numbers import count, plain
from .operations import table
from .recipe import ROUGH, Expectation, Statement

TOLERANCE = {"f64": 1e-8, "f32": 4e-3}


def listed(names):
    return ",".join(map(str, names)) or "-"


def statement_text(s, indent=0):
    pad = "  " * indent
    words = [pad + listed(s.to), "=", s.op, listed(s.of)]
    for key, value in s.has.items():
        words.append(f"{key}={listed(value) if isinstance(value, (list, tuple, range)) else value}")
    lines = [" ".join(words + ["{"] * len(s.blocks))]
    for b in s.blocks:
        lines.append(f"{pad}  take {listed(b.takes)}")
        for inner in b.statements:
            lines += statement_text(inner, indent + 1)
        lines += [f"{pad}  give {listed(b.gives)}", f"{pad}}}"]
    return lines


class Case:
    """A recipe with the directions of its derivatives and what the oracle expects."""

    def __init__(self, r, seed):
        self.recipe, self.seed = r, seed
        d = random.Random(seed)
        self.directions = [{x: [d.choice([-1, 1]) * round(d.uniform(.2, 1), 3) for _ in range(64)] for x in r.wrt} for _ in range(2)]
        self.expect()

    def cut(self, k):
        return {x: self.directions[k][x][:count(self.recipe.inputs[x].shape)] for x in self.recipe.wrt}

    def expect(self):
        self.expected = Expectation(self.recipe, self.cut(0), self.cut(1))

    def with_recipe(self, r):
        c = Case.__new__(Case)
        c.recipe, c.seed, c.directions = r, self.seed, self.directions
        c.expect()
        return c

    def text(self, name, only=None):
        r, along = self.recipe, self.cut(0)
        lines = [f"case {name} {r.real}"]
        for x, v in r.inputs.items():
            lines.append(f"{'integers' if v.kind == 'i' else 'input'} {x} {listed(v.shape)} {' '.join(map(str, v.at))}")
        for s in r.statements:
            lines += statement_text(s)
        lines += [f"outputs {listed(r.outputs)}", f"wrt {listed(r.wrt)}"]
        lines += [f"along {x} {' '.join(map(str, along[x]))}" for x in r.wrt]
        if only:
            lines.append(f"only {only}")
        return "\n".join(lines + ["end", ""])

    def check(self, values):
        """What differs from the oracle, as (kind, label, expected, actual)."""
        e, wrong = self.expected, []
        tolerance = TOLERANCE[self.recipe.real]

        def compare(label, want, got, scale=0.0):
            if len(want) != len(got):
                wrong.append((label, f"{len(want)} elements", f"{len(got)} elements"))
                return
            for a, b in zip(want, got):
                if not abs(plain(a) - b) <= tolerance * (1 + abs(plain(a)) + scale):
                    wrong.append((label, plain(a), b))
                    return
        for k, y in enumerate(e.values):
            compare(f"output {k}", y.at, values.get(f"output {k}", []))
        if "loss 0" in values:
            compare("loss 0", [e.loss], values["loss 0"], sum(abs(plain(a)) for y in e.values for a in y.at))
        aside = self.cut(1)
        for name, wanted in (("slope", e.slopes), ("curve", e.curves)):
            for k, x in enumerate(self.recipe.wrt):
                got = values.get(f"{name} {k}", [])
                if len(got) != len(aside[x]):
                    wrong.append((f"{name} {k}", f"{len(aside[x])} elements", f"{len(got)} elements"))
                    continue
                product = sum(a * b for a, b in zip(got, aside[x]))
                compare(f"{name} {k}", [wanted[k]], [product], sum(abs(a) for a in got))
        return wrong


def drawn(seed, kind="dynamic"):
    """The case of a seed; some seeds have none."""
    real = "f32" if random.Random(seed).random() < .2 else "f64"
    r = draw.Drawer(seed, kind, real).recipe()
    if r is None:
        return None
    r = recipe.used(r)
    r.wrt = [x for x in r.wrt if x in r.inputs]
    try:
        return Case(r, seed)
    except ROUGH:
        return None


class Player:
    """A process that plays one recipe after another; a new one where it ended."""

    def __init__(self, command, limit=60):
        self.command, self.limit, self.process = command, limit, None

    def play(self, text):
        """The lines of the answer, and how the process died where it did."""
        if self.process is None:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=subprocess.PIPE, text=True, errors="replace")
        p, lines = self.process, []
        timer = threading.Timer(self.limit, p.kill)
        timer.start()
        try:
            p.stdin.write(text)
            p.stdin.flush()
            for line in p.stdout:
                lines.append(line.rstrip("\n"))
                if line.startswith("done "):
                    return lines, None
        except BrokenPipeError:
            pass
        finally:
            timer.cancel()
        self.process = None
        _, errors = p.communicate()
        return lines, f"ended with {p.returncode}: {errors.strip()[-1500:]}"

    def close(self):
        """What it prints at its end."""
        if self.process is None:
            return ""
        text, _ = self.process.communicate()
        self.process = None
        return text


def differentiates_in_a_body(r):
    return any(s.op == "gradient" for inner in recipe.lists_of(r)[1:] for s in inner)


def failures(case, lines, died):
    """Each as (way, what, expected and actual in words)."""
    found, values, way, throws = [], {}, "build", False
    for k, line in enumerate(lines):
        word, _, rest = line.partition(" ")
        if word == "way":
            way = rest
        elif word == "value":
            name, number, *at = rest.split(" ")
            values[f"{name} {number}"] = [float(a) for a in at if a]
        elif word == "differs":
            of, _, label = rest.partition(" ")
            found.append((of, "differs " + label.split(" ")[0], f"{label}\n{lines[k + 1]}\n{lines[k + 2]}"))
        elif word == "throws":
            of, _, text = rest.partition(" ")
            if "the tape limit must hold" not in text:  # a limit for which the page promises nothing
                found.append((of, "throws", text))
            throws = throws or of == "compile"
    if died:
        found.append((way, "dies", died))
    if not throws and not died:
        for label, want, got in case.check(values):
            found.append(("compile", "oracle " + label.split(" ")[0], f"{label}: expected {want!r}, got {got!r}"))
    if differentiates_in_a_body(case.recipe):
        # What an iteration is given is the variable itself in eager mode, and nothing depends on it where it is no longer
        # tracked; in a body it is a value of its own.
        found = [f for f in found if f[0] != "eager"]
    return found


def run(player, case, name, only=None):
    return failures(case, *player.play(case.text(name, only)))


def shrink(player, case, failure):
    way, kind, words = failure
    key = " ".join(words.split("\n")[0].split(" ")[:4]) if kind == "throws" else ""

    def same(r):
        try:
            c = case.with_recipe(r)
        except ROUGH:
            return False
        return any(f[0] == way and f[1] == kind and f[2].startswith(key) for f in run(player, c, "shrinking", way if way not in ("build", "compile") else "none"))
    return case.with_recipe(recipe.shrunk(case.recipe, same))


# ---- a program of its own

def spelled(s, real, lines, pad):
    """The statement as C++."""
    types = {"f64": "double", "f32": "float"}[real]
    of = s.of

    def block(b, takes=None):
        inner = []
        for t in b.statements:
            spelled(t, real, inner, pad + "  ")
        names = ", ".join(f"auto {x}" for x in (takes or b.takes))
        result = b.gives[0] if len(b.gives) == 1 else f"std::tuple({', '.join(b.gives)})"
        return f"[&]({names}) {{\n" + "\n".join(inner) + ("\n" if inner else "") + f"{pad}  return {result};\n{pad}}}"

    def list_of(values):
        return "{" + ", ".join(map(str, values)) + "}"
    has = s.has
    to = f"auto const {s.to[0]}" if len(s.to) == 1 else f"auto const [{', '.join(s.to)}]"
    if s.op == "for":
        text = f"ct::for_loop({has['trips']}, {block(s.blocks[0])}, {', '.join(of)})"
    elif s.op == "while":
        a = s.blocks[0].takes
        text = (f"ct::while_loop([&]({', '.join('auto ' + x for x in a)}) {{ return {a[0]} < {has['trips']} && ct::sum({a[1]}) < {has['limit']}; }},\n"
                f"{pad}  {block(s.blocks[0])}, {', '.join(of)})")
    elif s.op in ("case", "cond"):
        text = f"ct::{'case_of' if s.op == 'case' else 'cond'}({of[0]}, {', '.join(block(b) for b in s.blocks)})({', '.join(of[1:])})"
    elif s.op == "checkpoint":
        text = f"ct::checkpoint({block(s.blocks[0])})({', '.join(of)})"
    elif s.op == "gradient":
        lines.append(f"{pad}auto const d_{s.to[0]} = g.gradient({{{of[0]}}}, {{{', '.join(has['wrt'])}}});")
        for k, x in enumerate(s.to):
            lines.append(f"{pad}auto const {x} = d_{s.to[0]}[{k}];")
        return
    elif s.op == "tensor":
        text = f'g.tensor<{types}>("{s.to[0]}", {list_of(has["shape"])})'
    elif s.op == "view":
        text = f"g.view({of[0]}, {{.offset = {list_of(has['offset'])}, .shape = {list_of(has['shape'])}, .stride = {list_of(has['stride'])}}})"
    elif s.op == "write":
        text = f"g.write({', '.join(of)})"
    elif s.op == "split":
        lines.append(f"{pad}auto const parts_{s.to[0]} = {table[s.op].dynamic(of, has)};")
        for k, x in enumerate(s.to):
            lines.append(f"{pad}auto const {x} = parts_{s.to[0]}[{k}];")
        return
    else:
        text = table[s.op].dynamic(of, has).replace("REAL", types)
    lines.append(f"{pad}{to} = {text};")


OPTIONS = {"exact": ".exact = true", "mirror": ".mirror = &ct::is_cheap", "memory_budget": ".memory_budget = p.workspace_bytes() * 3 / 4"}


def way_of(way, r, results, bound, type_of):
    """The way of execution in which a program showed its failure, beside the first one."""
    if way in OPTIONS:
        return [f"  auto q = g.compile({{{results}}}, {{{bound}}}, {{{OPTIONS[way]}}});", "  q.run();",
                "  auto const &other_slope = slope, &other_curve = curve;"]
    if way == "own_memory":
        return [f"  auto q = g.compile({{{results}}}, {{}}, {{.own_memory = true}});"] + \
               [f"  std::ranges::copy({x}_data, q.memory({x}).begin());" for x in r.inputs] + \
               ["  q.run();", "  auto const &other_slope = slope, &other_curve = curve;"]
    if way.startswith("tape_limit"):
        wrt = ", ".join(r.wrt)
        product = " + ".join(f"ct::sum(other_slope[{k}] * g.constant(along_{x}, ct::dynamic::sizes(slope[{k}].shape())))" for k, x in enumerate(r.wrt))
        others = results.replace("slope", "other_slope").replace("curve", "other_curve")
        return [f"  ct::dynamic::gradient_options const limited{{.tape = {{.limit = {way.split('_')[-1]}}}}};",
                f"  auto const other_slope = g.gradient({{loss}}, {{{wrt}}}, {{}}, limited);",
                f"  auto const other_curve = g.gradient({{{product}}}, {{{wrt}}}, {{}}, limited);",
                f"  auto q = g.compile({{{others}}}, {{{bound}}});", "  q.run();"]
    if way.startswith("split"):
        kind = int(way[-1])
        lines = [f"  std::vector<ct::dynamic::any_expr> const y{{{', '.join(r.outputs)}}}, x{{{', '.join(r.wrt)}}};",
                 "  std::vector<ct::dynamic::any_expr> seeds, together = y;",
                 f'  for (auto const& e : y) seeds.push_back(g.input<{type_of}>("", ct::dynamic::sizes(e.as<{type_of}>().shape())));',
                 "  for (auto const& d : g.gradient(y, x, seeds)) together.push_back(d);",
                 f"  auto joint = g.compile(together, {{{bound}}});",
                 f"  auto s = g.vjp(y, x, {{.gradient = {{.tape = {{.limit = {64 if kind == 3 else 0}}}}},",
                 f"                         .saving = {{.move = {str(kind != 1).lower()}, .recompute = {str(kind != 1).lower()}, .records = {str(kind != 2).lower()}}}}});"]
        lines += [f"  s.bind({x}, {x}_data);" for x in r.inputs]
        return lines + ["  auto back = s.run();", "  for (std::size_t k = 0; k < y.size(); ++k) {",
                        f"    std::vector<{type_of}> dy(static_cast<std::size_t>(y[k].as<{type_of}>().size()));",
                        "    for (std::size_t j = 0; j < dy.size(); ++j) dy[j] = static_cast<" + type_of + ">(0.5 + 0.25 * double(j % 3) - double(k % 2));",
                        f"    back.bind(y[k].as<{type_of}>(), std::vector(dy));", f"    joint.bind(seeds[k].as<{type_of}>(), std::vector(dy));", "  }",
                        "  joint.run();", "  back.run();",
                        f'  for (auto const& e : y) show("y, together", joint.value(e.as<{type_of}>())), show("y, split", s.value(e.as<{type_of}>()));',
                        "  for (std::size_t k = 0; k < x.size(); ++k)",
                        f'    show("dx, together", joint.value(together[y.size() + k].as<{type_of}>())), show("dx, split", back.value(x[k].as<{type_of}>()));']
    if way == "archive":
        names = ", ".join(f'{{"{k}", {e}}}' for k, e in enumerate(results.split(", ")))
        return [f"  auto file = ct::archive::load_bytes(ct::archive::bytes_of(g, {{}}, {{{names}}}), ct::detail::all_operations{{}});",
                f"  std::vector<ct::dynamic::any_expr> found;", f"  for (int k = 0; k < {len(results.split(', '))}; ++k) found.push_back(file.find(std::to_string(k)));",
                "  auto q = file.graph.compile(found);"] + \
               [f'  q.bind(file.find<{"std::int64_t" if v.kind == "i" else type_of}>("{x}"), {x}_data);' for x, v in r.inputs.items()] + \
               ["  q.run();", f'  for (auto const& e : found) show("from the archive", q.value(e.as<{type_of}>()));']
    return []


def program(case, failure, seed_text):
    """A C++ program that shows the failure."""
    r = case.recipe
    type_of = {"f64": "double", "f32": "float"}[r.real]
    lines = [f"// Found by {seed_text}: {failure[0]} {failure[1]}"]
    lines += ["// " + line for line in failure[2].split("\n")[:12]]
    headers = ["cotangent", "archive", "eager", "images", "nn", "random"]
    lines += [f"#include <cotangent/{h}.hpp>" for h in headers]
    lines += ["", "#include <algorithm>", "#include <cstdio>", "#include <string>", "#include <tuple>", "#include <vector>", "", "namespace ct = cotangent;", "", "int main() {",
              "  ct::dynamic::graph g;"]
    for x, v in r.inputs.items():
        t = "std::int64_t" if v.kind == "i" else type_of
        lines.append(f'  auto const {x} = g.input<{t}>("{x}", {{{", ".join(map(str, v.shape))}}});')
    for s in r.statements:
        spelled(s, r.real, lines, "  ")
    names = list(r.outputs)
    loss = " + ".join(f"{0.3 * (k + 1)} * ct::sum({y}) + 0.1 * ct::sum({y} * {y})" for k, y in enumerate(r.outputs))
    e, aside, along = case.expected, case.cut(1), case.cut(0)
    lines.append(f"  auto const loss = {loss};")
    wrt = ", ".join(r.wrt)
    if r.wrt:
        lines.append(f"  auto const slope = g.gradient({{loss}}, {{{wrt}}});")
        for k, x in enumerate(r.wrt):
            lines.append(f"  std::vector<{type_of}> const along_{x}{{{', '.join(map(str, along[x]))}}};")
        product = " + ".join(f"ct::sum(slope[{k}] * g.constant(along_{x}, ct::dynamic::sizes(slope[{k}].shape())))" for k, x in enumerate(r.wrt))
        lines.append(f"  auto const curve = g.gradient({{{product}}}, {{{wrt}}});")
    every = names + ["loss"] + [f"{k}[{i}]" for k in ("slope", "curve") for i in range(len(r.wrt))]
    binds = []
    for x, v in r.inputs.items():
        t = "std::int64_t" if v.kind == "i" else type_of
        lines.append(f"  std::vector<{t}> {x}_data{{{', '.join(map(str, v.at))}}};")
        binds.append(f"{{{x}, {x}_data}}")
    lines += ["  auto const show = [](char const* name, auto const& v) {", '    std::printf("%s:", name);',
              '    for (std::int64_t k = 0; k < v.size(); ++k) std::printf(" %.17g", double(v.data()[k]));',
              '    std::printf("\\n");', "  };"]
    results, bound = ", ".join(every), ", ".join(binds)
    lines += [f"  auto p = g.compile({{{results}}}, {{{bound}}});", "  p.run();"]
    lines += way_of(failure[0], r, results, bound, type_of)
    for k, y in enumerate(every):
        lines.append(f'  show("{y}", p.value({y}));')
        if failure[0] in OPTIONS or failure[0] in ("own_memory", "tape_limit_1", "tape_limit_64", "tape_limit_400"):
            lines.append(f'  show("{y}, {failure[0]}", q.value({y.replace("slope", "other_slope").replace("curve", "other_curve")}));')
    lines.append(f"  // expected: " + "; ".join(f"{y} = {[plain(a) for a in v.at]}" for y, v in zip(names, e.values)))
    for k, x in enumerate(r.wrt):
        lines.append(f"  // expected of slope[{k}] times {aside[x]}: {e.slopes[k]!r}; of curve[{k}]: {e.curves[k]!r}")
    return "\n".join(lines + ["}", ""])
