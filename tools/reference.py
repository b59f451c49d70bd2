#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Writes the entries of functions into the reference, from the docstrings of their operations.

Between the lines <!-- functions: HEADER --> and <!-- /functions --> of a page stands an entry for each operation of one operand
in the header, in the order of its list of operations. An entry has the sections of the docstring: Value, Adjoint, Edges,
Elements and Example (see examples.py), each on lines of its own.

usage: reference.py PROJECT_FOLDER           reports pages that differ
       reference.py --write PROJECT_FOLDER   writes them
       reference.py --self-test
"""
import pathlib
import re
import sys
import textwrap

STRUCT = re.compile(r"((?:^/// .*\n)+)struct (\w+) : extend::elementwise<1> \{\n(?:.*\n)*?  static constexpr char const\* name = \"(\w+)\";", re.M)
SECTION = re.compile(r"^(Value|Adjoint|Edges|Elements|Example): ", re.M)
BLOCK = re.compile(r"(<!-- functions: (\S+) -->\n)(.*?)(<!-- /functions -->)", re.S)


def entry(docstring, name):
    text = re.sub(r"^/// ?", "", docstring, flags=re.M)
    parts = SECTION.split(text)[1:]
    lines = [f"### {name}", "", f"`ct::{name}(x)`", ""]
    for title, words in zip(parts[::2], parts[1::2]):
        lines += textwrap.wrap(f"- {title}: {' '.join(words.split())}", 128, subsequent_indent="  ", break_on_hyphens=False)
    return "\n".join(lines) + "\n"


def entries(header):
    """Of the operations in their order, those whose docstring has sections."""
    found = {op: entry(docstring, name) for docstring, op, name in STRUCT.findall(header) if SECTION.search(docstring.replace("/// ", ""))}
    listed = re.search(r"^using \w+_operations =(.*?);", header, re.M | re.S)
    return "\n" + "\n".join(found[op] for op in re.findall(r"op::(\w+)", listed[1]) if op in found) + "\n"


def written(page, root):
    return BLOCK.sub(lambda m: m[1] + entries((root / m[2]).read_text(encoding="utf-8")) + m[4], page)


def self_test():
    header = ('/// Value: 1 ulp.\n/// Adjoint: dy\n/// y\nstruct exp : extend::elementwise<1> {\n  static constexpr char const* name = "exp";\n};\n'
              "using some_operations = operations<op::exp>;\n")
    expected = "\n### exp\n\n`ct::exp(x)`\n\n- Value: 1 ulp.\n- Adjoint: dy y\n\n"
    return [] if entries(header) == expected else [f"expected {expected!r}, but it wrote {entries(header)!r}"]


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    root = pathlib.Path(arguments[-1])
    wrong = []
    for path in sorted((root / "docs/reference").glob("*.md")):
        page = path.read_text(encoding="utf-8")
        if (now := written(page, root)) != page:
            if arguments[0] == "--write":
                path.write_text(now, encoding="utf-8")
            else:
                wrong.append(f"{path}: its entries differ from the docstrings; run tools/reference.py --write {root}")
    return wrong


if __name__ == "__main__":
    problems = main(sys.argv[1:])
    print(*problems, sep="\n", end="\n" if problems else "")
    sys.exit(1 if problems else 0)
