#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Checks that every function, operator and operation is tested and documented:

- every function and operator of expressions (namespace cotangent in include/cotangent/ops and trace) is called in the lists of
  tests/functions.hpp, which all witnesses use, and is on a page of docs/reference;
- every operation (a struct with a name in include/cotangent/ops) is in the list of its header there;
- every such list is part of a list of all operations, and is named in a test that each of them is met in;
- every name directly in namespace cotangent is on a page: those of the compiler belong to `extend` and `detail`.

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
NAMED = re.compile(r'static constexpr char const ?\* ?name = "')


# Functions that the lists cannot hold: without forward mode (tests/runtime/external.cpp), with an effect (tests/runtime/print.cpp).
UNLISTED = {"external", "print"}


# Names that users meet only as types of arguments, members and results of what is on a page.
SUPPORTING = {"dot_options", "element_count", "element_of", "element_type", "interpreter_memory", "max_rank", "name_of", "operation",
              "refused", "sequence_options", "shape", "shape_of", "size_of", "sparse_result", "strides", "two", "verification",
              "whole_tensor"}
DECLARATIONS = [re.compile(p) for p in (
    r"(?:struct|class|enum class)\s+(?:\[\[.*?\]\]\s*)?(\w+)\b(?!.*;\s*$)", r"using (\w+)\s*=", r"concept (\w+)\b",
    r"inline constexpr (?:[\w:<>, ]+? )?(\w+)\s*(?:\{|=|<|$)",
    r"(?:\[\[.*?\]\] )?(?:inline |constexpr |consteval )+[\w:<>,&* ]*?(?<!:)\b(?!operator\b)(\w+)\(")]


def without_comments(text):
    return re.sub(r"//.*$", "", text, flags=re.M)


def lines_in_cotangent(text):
    """Lines directly in namespace cotangent, or in its inline namespace."""
    inside = []
    for line in text.splitlines():
        if opened := re.match(r"(?:inline )?namespace (.+) \{(?!.*\})", line):
            inside.append(opened.group(1))
        elif re.match(r"\} // namespace", line) and inside:
            inside.pop()
        elif inside in (["cotangent"], ["cotangent", "COTANGENT_ABI"]):
            yield line


def functions_of(text):
    return (found.group(1) for line in lines_in_cotangent(text) if (found := FUNCTION.match(line)))


def without_template_head(line):
    if not line.startswith("template"):
        return line
    depth = 0
    for i, sign in enumerate(line):
        depth += (sign == "<") - (sign == ">")
        if sign == ">" and depth == 0:
            return re.sub(r"^requires\s*\(.*?\)\s+", "", line[i + 1:].strip())
    return ""


def names_of(text):
    """Types, aliases, concepts, objects and functions directly in namespace cotangent, or in its inline namespace."""
    for line in lines_in_cotangent(text):
        line = without_template_head(re.sub(r"//.*", "", line))
        yield from (found.group(1) for found in [next(filter(None, (d.match(line) for d in DECLARATIONS)), None)] if found)


def uses_sign(text, sign):
    s = re.escape(sign)
    return re.search(rf"[\w)] {s} [\w(-]|[^\w]{s}[\w(]", text)


def check(root):
    wrong = []
    trace = {p: p.read_text(encoding="utf-8") for p in sorted((root / "include/cotangent/trace").rglob("*.hpp"))}
    ops = {p: p.read_text(encoding="utf-8") for p in sorted((root / "include/cotangent/ops").rglob("*.hpp"))}
    functions = sorted({name for text in [*ops.values(), *trace.values()] for name in functions_of(text)})
    signs = sorted({a or b for p, text in trace.items() if p.name == "operators.hpp"
                    for a, b in OPERATOR.findall(without_comments(text)) if (a or b) != "SIGN"})
    tested = without_comments((root / "tests/functions.hpp").read_text(encoding="utf-8"))
    pages = "\n".join(p.read_text(encoding="utf-8") for p in sorted((root / "docs/reference").glob("*.md")))
    for name in functions:
        # (the lists write a family of functions by a macro that names them)
        if name not in UNLISTED and not re.search(rf"\bct::{name}\b|COTANGENT_REDUCTION\({name}\b", tested):
            wrong.append(f"ct::{name} is not in the lists of tests/functions.hpp: give it its formula there")
        if not re.search(rf"\bct::{name}\b", pages):
            wrong.append(f"ct::{name} is on no page of docs/reference: add its row to operations.md")
    for sign in signs:
        if not uses_sign(tested, sign):
            wrong.append(f"operator{sign} is not in the lists of tests/functions.hpp: give it its formula there")
        if not re.search(rf"[` ]{re.escape(sign.replace('|', '&#124;'))}[` \w]", pages):
            wrong.append(f"operator{sign} is on no page of docs/reference: add its row to operations.md")
    everywhere = "\n".join(p.read_text(encoding="utf-8") for p in [*sorted((root / "docs").rglob("*.md")), *root.glob("README.md")])
    for p in sorted((root / "include/cotangent").rglob("*.hpp")):
        for name in sorted(set(names_of(p.read_text(encoding="utf-8"))) - SUPPORTING - set(functions)):
            if not re.search(rf"\b(?:ct|cotangent)::{re.sub('_t$', '', name)}(?:_t)?\b", everywhere):
                wrong.append(f"{p.relative_to(root)}: cotangent::{name} is on no page: document it, or move it to `extend` or `detail`")
    operations = []
    for p, text in ops.items():
        listed = " ".join(re.findall(r"using \w+_operations\s*=(.*?);", text, re.S))
        for name, body in OPERATION.findall(text):
            if NAMED.search(body):
                operations.append(name)
                if not re.search(rf"\bop::{name}\b", listed):
                    wrong.append(f"op::{name} is not in the list of its header: add it to the operations<...> of {p.name}")
    lists = " ".join(ops.get(root / "include/cotangent/ops" / name, "") for name in ("list.hpp", "all.hpp"))
    for name in sorted({name for text in ops.values() for name in re.findall(r"^using (\w+_operations)\s*=\s*operations<", text, re.M)}):
        if not re.search(rf"\b{name}\b", lists):
            wrong.append(f"{name} is in no list of all operations: add it to library_operations in ops/list.hpp, "
                         "or to all_operations in ops/all.hpp")
    laws = "".join(p.read_text(encoding="utf-8") for p in sorted((root / "tests").glob("**/*.*pp")))
    for name in sorted({name for text in ops.values() for name in re.findall(r"^using (\w+_operations)\s*=\s*operations<", text, re.M)}):
        if not re.search(rf"\b{name}\b", laws):
            wrong.append(f"{name} is in no test: name it in check_covered of a tests/runtime/witness_*.cpp")
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
        "include/cotangent/ops/functions.hpp": 'struct base {\n};\nstruct exp : base {\n  static constexpr char const* name = "exp";\n};\n'
            "using function_operations = operations<op::exp>;\nnamespace cotangent {\n"
            "template <class X> constexpr auto expm1(X const& x) {\n}\n} // namespace cotangent\n",
        "tests/functions.hpp": "ct::exp(x) + ct::grad(f) - ct::expm1(x)",
        "tests/runtime/witness.cpp": "check_covered(function_operations{})",
        "include/cotangent/ops/list.hpp": "using library_operations = joined<function_operations>;",
        "docs/reference/operations.md": "| `ct::exp(x)` | `a + b` | `ct::grad` | `ct::expm1` |",
    }
    cases = [
        ([], {}),
        (["ct::exp is not in the lists"], {"tests/functions.hpp": "x + ct::grad(f) ct::expm1(x)"}),
        (["operator+ is not in the lists"], {"tests/functions.hpp": "ct::exp(x), ct::grad(f), ct::expm1(x)"}),
        (["ct::grad is on no page"], {"docs/reference/operations.md": "`ct::exp(x)` `a + b` ct::expm1"}),
        (["ct::expm1 is not in the lists"], {"tests/functions.hpp": "ct::exp(x) + ct::grad(f)"}),
        (["op::sin is not in the list of its header"],
         {"include/cotangent/ops/other.hpp": 'struct sin : base {\n  static constexpr char const* name = "sin";\n};\n'}),
        (["function_operations is in no test"], {"tests/runtime/witness.cpp": "check_covered(other_operations{})"}),
        (["function_operations is in no list"], {"include/cotangent/ops/list.hpp": "using library_operations = joined<>;"}),
        (["cotangent::node is on no page", "cotangent::none is on no page"],
         {"include/cotangent/graph/graph.hpp": "namespace cotangent {\nnamespace detail {\nstruct hidden {\n};\n} // namespace detail\n"
                                               "struct later;\ntemplate <class A> struct node {\n};\n"
                                               "inline constexpr int none = -1;\n} // namespace cotangent\n"}),
        (["has no functions"], {"include/cotangent/trace/expressions/operators.hpp": ""}),
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
