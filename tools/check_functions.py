#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Checks that every function, operator and operation is tested and documented:

- every function and operator of expressions (namespace cotangent in include/cotangent/trace) is called in the lists of
  tests/functions.hpp, which all witnesses use, and is on a page of docs/reference;
- every operation (a struct with a name in include/cotangent/ops) is in `library_operations` of ops/list.hpp there,
  or in a list of ops/all.hpp.

usage: check_functions.py PROJECT_FOLDER
       check_functions.py --self-test
"""
import pathlib
import re
import sys
import tempfile

FUNCTION = re.compile(r"^(?:template .*)?\bconstexpr (?:auto|expr<.*?>) (\w+)\(")
OPERATOR = re.compile(r"operator([^\s\w(]+)\(|COTANGENT_EQUALITY\((\S+),")
OPERATION = re.compile(r"^struct (\w+)(?:\s*:[^{;]*)?\{(.*?)^\};", re.M | re.S)
NAMED = re.compile(r'static constexpr char const\* name = "')


def without_comments(text):
    return re.sub(r"//.*$", "", text, flags=re.M)


def functions_of(text):
    """Functions directly in namespace cotangent, or in its inline namespace."""
    inside = []
    for line in text.splitlines():
        if opened := re.match(r"(?:inline )?namespace (\S+) \{", line):
            inside.append(opened.group(1))
        elif re.match(r"\} // namespace", line) and inside:
            inside.pop()
        elif inside in (["cotangent"], ["cotangent", "COTANGENT_ABI"]):
            if found := FUNCTION.match(line):
                yield found.group(1)


def uses_sign(text, sign):
    s = re.escape(sign)
    return re.search(rf"[\w)] {s} [\w(-]|[^\w]{s}[\w(]", text)


def check(root):
    wrong = []
    trace = {p: p.read_text(encoding="utf-8") for p in sorted((root / "include/cotangent/trace").rglob("*.hpp"))}
    functions = sorted({name for text in trace.values() for name in functions_of(text)})
    signs = sorted({a or b for p, text in trace.items() if p.name == "operators.hpp"
                    for a, b in OPERATOR.findall(without_comments(text)) if (a or b) != "SIGN"})
    tested = without_comments((root / "tests/functions.hpp").read_text(encoding="utf-8"))
    pages = "\n".join(p.read_text(encoding="utf-8") for p in sorted((root / "docs/reference").glob("*.md")))
    for name in functions:
        # (the lists write a family of functions by a macro that names them)
        if not re.search(rf"\bct::{name}\b|COTANGENT_REDUCTION\({name}\b", tested):
            wrong.append(f"ct::{name} is not in the lists of tests/functions.hpp: give it its formula there")
        if not re.search(rf"\bct::{name}\b", pages):
            wrong.append(f"ct::{name} is on no page of docs/reference: add its row to operations.md")
    for sign in signs:
        if not uses_sign(tested, sign):
            wrong.append(f"operator{sign} is not in the lists of tests/functions.hpp: give it its formula there")
        if not re.search(rf"[` ]{re.escape(sign.replace('|', '&#124;'))}[` \w]", pages):
            wrong.append(f"operator{sign} is on no page of docs/reference: add its row to operations.md")
    listed = " ".join(names for p in sorted((root / "include/cotangent/ops").glob("*.hpp"))
                      for names in re.findall(r"using \w+_operations\s*=(.*?);", p.read_text(encoding="utf-8"), re.S))
    operations = sorted({name for p in sorted((root / "include/cotangent/ops").glob("*.hpp"))
                         for name, body in OPERATION.findall(p.read_text(encoding="utf-8")) if NAMED.search(body)})
    for name in operations:
        if not re.search(rf"\bop::{name}\b", listed):
            wrong.append(f"op::{name} is in no list of include/cotangent/ops: add it to library_operations in list.hpp "
                         "or a list in all.hpp, and to the laws of tests/runtime/forward.cpp")
    if not functions or not signs or not operations:
        wrong.append(f"{root}: has no functions, no operators or no operations")
    return wrong


def self_test():
    good = {
        "include/cotangent/trace/expressions/functions.hpp":
            "namespace cotangent {\nnamespace detail {\nconstexpr auto hidden(int) {\n}\n} // namespace detail\n"
            "template <class X>\nconstexpr auto exp(X const& x) {\n}\n"
            "inline namespace COTANGENT_ABI {\ntemplate <int... I, class F> constexpr auto grad(F f) { return f; }\n"
            "} // namespace COTANGENT_ABI\n} // namespace cotangent\n",
        "include/cotangent/trace/expressions/operators.hpp": "friend constexpr auto operator+(X a, R b) {\n",
        "include/cotangent/ops/functions.hpp": 'struct base {\n};\nstruct exp : base {\n  static constexpr char const* name = "exp";\n};\n',
        "tests/functions.hpp": "ct::exp(x) + ct::grad(f)",
        "include/cotangent/ops/list.hpp": "using library_operations =\n    operations<op::exp>;",
        "docs/reference/operations.md": "| `ct::exp(x)` | `a + b` | `ct::grad` |",
    }
    cases = [
        ([], {}),
        (["ct::exp is not in the lists"], {"tests/functions.hpp": "x + ct::grad(f) ct::expm1(x)"}),
        (["operator+ is not in the lists"], {"tests/functions.hpp": "ct::exp(x), ct::grad(f)"}),
        (["ct::grad is on no page"], {"docs/reference/operations.md": "`ct::exp(x)` `a + b`"}),
        (["op::exp is in no list"],
         {"include/cotangent/ops/list.hpp": "using library_operations = operations<op::expm1>;"}),
        (["has no functions"], {"include/cotangent/trace/expressions/functions.hpp": ""}),
    ]
    for expected, changed in cases:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in {**good, **changed}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text, encoding="utf-8")
            said = check(root)
            if len(said) != len(expected) or not all(e in s for e, s in zip(expected, said)):
                return [f"expected {expected}, but it said {said}"]
    return []


if __name__ == "__main__":
    found = self_test() if sys.argv[1:] == ["--self-test"] else check(pathlib.Path(sys.argv[1]))
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(1 if found else 0)
