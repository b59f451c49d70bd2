#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs the examples of the reference: writes a C++ program that computes them and compares the values with those of the page.
An example is an item of an entry, on one line or several:

    - Example: for `x = {1, 2, 3}`, `ct::cumsum(x)` is `{1, 3, 6}`; the gradient of its sum is `{3, 2, 1}`

- Operands: `NAME = VALUE`, separated by commas; left out if there are none.
- Values: numbers, true and false, infinity, NaN, and braces of them. Numbers are `double` unless `float`, `int32` or `int64` is
  before the operand or the result. Results may be rounded to six digits; several results are separated by commas or `and`.
- Code: an expression of the operands, or statements that end with one.
- Gradients: of `its sum` or `the sum of its squares`, by all operands of type `double` in order, or `by `x` and `y``.
  With several results, the sum is over all of them.

--check reports functions without an example: each `ct::NAME` in the first line of an entry is called in one of its examples.

usage: examples.py OUTPUT PART PARTS PAGE
       examples.py --check PAGE
       examples.py --self-test
"""
import pathlib
import re
import sys

HEADERS = ["cotangent", "geometry", "images", "linalg", "nn", "numeric", "random", "special", "tables"]

# Entries without an example, and the reason.
EXEMPT = {
    "Windows": "options of the functions before it, which have examples",
}

ENTRY = re.compile(r"^### (.*)\n((?:(?!##+ ).*\n?)*)", re.M)
ITEM = re.compile(r"^- Example: (.*(?:\n  .*)*)", re.M)
CODE = r"`([^`]+)`"
LIST = "`[^`]+`(?:(?:, | and )`[^`]+`)*"
EXAMPLE = re.compile(rf"(?:for (?P<operands>{LIST}), )?`(?P<code>[^`]+)` (?:is|are) (?P<results>{LIST})"
                     rf"(?:; the gradients? of (?P<of>its sum|the sum of its squares)(?: by (?P<by>{LIST}))? (?:is|are) (?P<gradients>{LIST}))?")
FUNCTION = re.compile(r"ct::(\w+)(?:<[^`]*?>)?\(")
NUMBER = re.compile(r"-?(?:\d+(?:\.\d+)?(?:e-?\d+)?|infinity)|NaN|true|false")
TYPES = {"double": "double", "float": "float", "int32": "std::int32_t", "int64": "std::int64_t", "bool": "bool"}


class Wrong(Exception):
    pass


class Value:
    """The element type, the extents and the elements of `int64 {{1, 2}, {3, 4}}`."""

    def __init__(self, text):
        found = re.fullmatch(r"(?:(float|int32|int64) )?(.*)", text)
        self.braces = found[2]
        self.elements = []
        self.shape, rest = self.read(self.braces)
        if rest:
            raise Wrong(f"`{text}` is no value")
        self.type = found[1] or ("bool" if self.elements and self.elements[0] in ("true", "false") else "double")

    def read(self, text):
        if found := NUMBER.match(text):
            self.elements.append(found[0])
            return [], text[found.end():]
        if not text.startswith("{"):
            raise Wrong(f"`{text}` is no value")
        inner, rest = self.read(text[1:])
        count = 1
        while rest.startswith(", "):
            shape, rest = self.read(rest[2:])
            if shape != inner:
                raise Wrong(f"the rows of `{self.braces}` have several lengths")
            count += 1
        if not rest.startswith("}"):
            raise Wrong(f"a brace is missing in `{self.braces}`")
        return [count, *inner], rest[1:]

    def cpp(self, text):
        return text.replace("infinity", "inf").replace("NaN", "nan")

    def operand(self, name):
        extents = "".join(f", {n}" for n in self.shape)
        held = f"ct::tensor<{TYPES[self.type]}{extents}>" if self.shape else TYPES[self.type]
        return f"{held} const {name}{self.cpp(self.braces) if self.shape else '{' + self.cpp(self.braces) + '}'};"

    def expected(self):
        """In the form of tests/house/examples.hpp."""
        elements = [{"true": "1", "false": "0"}.get(e, self.cpp(e)) for e in self.elements]
        return self.type + "".join(f"[{n}]" for n in self.shape) + "".join(f" {e}" for e in elements)


def listed(text):
    return re.findall(CODE, text or "")


class Example:
    def __init__(self, entry, text):
        self.entry = entry
        found = EXAMPLE.fullmatch(" ".join(text.split()))
        if not found:
            raise Wrong("its grammar is: for `x = {1, 2}`, `CODE` is `VALUE`; the gradient of its sum is `VALUE`")
        self.operands = {}
        for one in listed(found["operands"]):
            if not (parts := re.fullmatch(r"(?:(float|int32|int64) )?(\w+) = (.*)", one)):
                raise Wrong(f"`{one}` is no operand")
            self.operands[parts[2]] = Value((parts[1] + " " if parts[1] else "") + parts[3])
        self.code = found["code"]
        self.results = [Value(one) for one in listed(found["results"])]
        self.squares = found["of"] == "the sum of its squares"
        self.by = []
        if found["gradients"]:
            self.by = listed(found["by"]) or [name for name, value in self.operands.items() if value.type == "double"]
        self.gradients = [Value(one) for one in listed(found["gradients"])]
        if len(self.by) != len(self.gradients):
            raise Wrong(f"it has {len(self.gradients)} gradients by {len(self.by)} operands")
        for name, value in zip(self.by, self.gradients):
            if name not in self.operands or self.operands[name].shape != value.shape:
                raise Wrong(f"its gradient by `{name}` has another shape than that operand")

    def cpp(self, number):
        """The function, one that returns its result and gradients (which compiles in less time than two), and the statements that call it.
        Their graph is evaluated, since a program with loops takes twice the time to compile, and other tests compare the two."""
        *statements, value = self.code.split("; ")
        f, parameters = f"f{number}", ", ".join(f"[[maybe_unused]] auto {name}" for name in self.operands)
        functions = f"constexpr auto {f} = []({parameters}) {{ {''.join(s + '; ' for s in statements)}return {value}; }};\n"
        if self.by:
            total = f"[](auto... operands) {{ return {'sum_of_squares' if self.squares else 'sum'}({f}(operands...)); }}"
            positions = ", ".join(str(list(self.operands).index(name)) for name in self.by)
            f = f"with_gradient{number}"
            functions += f"constexpr auto {f} = [](auto... x) {{ return std::tuple(f{number}(x...), ct::grad<{positions}>({total})(x...)); }};\n"
        lines = [value.operand(name) for name, value in self.operands.items()]
        expected = "; ".join(v.expected() for v in self.results + self.gradients)
        lines.append(f'compare(R"({self.entry}: {self.code})", traced::evaluated(ct::compiled({f}))({", ".join(self.operands)}), "{expected}");')
        return f"{functions}void run{number}() {{\n" + "".join(f"  {line}\n" for line in lines) + "}\n"


def examples(page):
    """The examples of a page, and what is wrong with others."""
    found, wrong = [], []
    for title, text in ENTRY.findall(page):
        for one in ITEM.findall(text):
            try:
                found.append(Example(title, one))
            except Wrong as problem:
                wrong.append(f"{title}: {' '.join(one.split())}: {problem}")
    return found, wrong


def program(chosen):
    text = "".join(f"#include <cotangent/{name}.hpp>\n" for name in HEADERS)
    text += '\n#include "examples.hpp"\n\nnamespace examples {\nnamespace {\n\n'
    text += "\n".join(example.cpp(i) for i, example in enumerate(chosen))
    calls = "".join(f"  examples::run{i}();\n" for i in range(len(chosen)))
    return "// Written by tools/examples.py.\n" + text + "\n} // namespace\n} // namespace examples\n\nint main() {\n" + calls + "  return examples::failures;\n}\n"


def missing(page):
    known, wrong = examples(page)
    entries = ENTRY.findall(page)
    for title, text in entries:
        signature = text.strip().split("\n\n")[0]
        functions = {name for code in listed(signature) for name in re.findall(FUNCTION, code)} if signature.startswith("`") else set()
        codes = [example.code for example in known if example.entry == title]
        if title in EXEMPT:
            if codes:
                wrong.append(f"{title}: has an example, and is an exception in tools/examples.py")
        elif not codes:
            wrong.append(f"{title}: has no example")
        else:
            called = {name for code in codes for name in re.findall(FUNCTION, code)}
            wrong += [f"{title}: no example calls ct::{name}" for name in sorted(functions - called)]
    wrong += [f"{title} is an exception in tools/examples.py, and no entry" for title in EXEMPT if title not in dict(entries)]
    return wrong if entries else ["the page has no entries"]


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    page = pathlib.Path(arguments[-1]).read_text(encoding="utf-8")
    if arguments[0] == "--check":
        return missing(page)
    found, wrong = examples(page)
    output, part, parts = pathlib.Path(arguments[0]), int(arguments[1]), int(arguments[2])
    # Neighbors are alike, also in the time to compile, so that each part has every kind.
    output.write_text(program(found[part::parts]), encoding="utf-8")
    return wrong


def self_test():
    good = ("## Sums\n\n### cumsum, sort\n\n`ct::cumsum(x)`,\n`ct::sort<Axis>(x, ct::all)`\n\n- Value: sums\n"
            "- Example: for `x = {{1, 2},\n  {3, 4}}` and `int64 i = 1`, `ct::cumsum(x)(i)` is `{3, 7}`; the gradient of its sum is `{{0, 0},\n  {2, 1}}`\n"
            "- Example: for `x = {2, -1e-3}`, `auto y = ct::sort<0>(x); y` is `{-0.001, 2}`; the gradient of the sum of its squares by `x`\n"
            "  is `{4, -0.002}`\n\nMore.\n\n## Next\n\n### Windows\n\nOptions.\n")
    cases = [
        (None, "", ""),
        ("no example calls ct::sort", "= ct::sort<0>(x)", "= x"),
        ("Windows is an exception in tools/examples.py, and no entry", "### Windows", "### Other windows"),
        ("Other: has no example", "### Windows", "### Other\n\n### Windows"),
        ("has an example, and is an exception", "Options.", "- Example: `1` is `1`"),
        ("its grammar is", "is `{3, 7}`", "gives `{3, 7}`"),
        ("is no value", "`{3, 7}`", "`{3, x}`"),
        ("is no value", "`{3, 7}`", "`{3, 7}}`"),
        ("a brace is missing", "`{3, 7}`", "`{3, 7`"),
        ("rows of `{3, {7}}` have several lengths", "`{3, 7}`", "`{3, {7}}`"),
        ("`int i = 1` is no operand", "int64 i", "int i"),
        ("it has 1 gradients by 2 operands", "`int64 i = 1`", "`i = 1`"),
        ("another shape", "`{4, -0.002}`", "`{4}`"),
        ("another shape", "by `x`", "by `z`"),
    ]
    for expected, old, new in cases:
        said = missing(good.replace(old, new))
        if len(said) < bool(expected) or (not expected and said) or (expected and not any(expected in s for s in said)):
            return [f"expected {expected!r}, but it said {said}"]
    written = program(examples(good)[0])
    for part in ("ct::tensor<double, 2, 2> const x{{1, 2}, {3, 4}};", "std::int64_t const i{1};", "auto y = ct::sort<0>(x); return y;",
                 '"double[2] 3 7; double[2][2] 0 0 2 1"', "ct::grad<0>(", "sum_of_squares(f1(", "examples::run1();"):
        if part not in written:
            return [f"no {part!r} in {written}"]
    return []


if __name__ == "__main__":
    problems = main(sys.argv[1:])
    print(*problems, sep="\n", end="\n" if problems else "")
    sys.exit(1 if problems else 0)
