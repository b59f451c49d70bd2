#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Writes the entries of functions into the reference, from the docstrings of their operations.

Between the lines <!-- functions: HEADER --> and <!-- /functions --> of a page stands an entry for each operation of one operand
in the header, in the order of its list of operations. An entry has the sections of the docstring: Value, Adjoint, Edges,
Elements and Example (see examples.py), each on lines of its own.

Each entry of operations.md has an item Elsewhere after its examples, if names.md has a row of one of its functions: names in other
libraries. A row belongs to the entry that declares its `ct::NAME`; one with arguments, such as `ct::max(x)`, to that declaration.

usage: reference.py PROJECT_FOLDER           reports pages that differ
       reference.py --write PROJECT_FOLDER   writes them
       reference.py --self-test
"""
import pathlib
import re
import sys
import textwrap

import examples

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


def rows(names):
    """The code of the last column of each row, and the other columns in one text."""
    found = []
    for line in re.findall(r"^\| (.*) \|$", names, re.M)[1:]:
        *there, eigen, here = (cell.strip() for cell in line.split("|"))
        cells = [*filter(None, there), *([eigen if eigen.startswith("`Eigen::") else f"Eigen: {eigen}"] if eigen else [])]
        found += [(code, ", ".join(dict.fromkeys(cells))) for code in codes_of(here.split("; `")[0])]
    return found


def codes_of(text):
    return re.findall(r"`[^`]+`|<code>.*?</code>", text)


def elsewhere(signature, names):
    """The names of an entry in other libraries: for each function or operator that its first lines declare."""
    found = {}
    for code in codes_of(signature):
        functions = [f"`ct::{name}`" for name in examples.FUNCTION.findall(code)]
        for key, there in names:
            if key in (code, *functions):
                found.setdefault(functions[0] if functions else code, {})[there] = None
    declared = {name for name in examples.FUNCTION.findall(signature)} or codes_of(signature)
    return "; ".join((f"{name}: " if len(declared) > 1 else "") + ", ".join(there) for name, there in found.items())


def with_names(page, names):
    def renewed(entry):
        text = re.sub(r"^- Elsewhere: .*\n(?:  .*\n)*", "", entry[2], flags=re.M)
        found = elsewhere(text.strip().split("\n\n")[0], names)
        *_, last = [None, *re.finditer(r"^- Example: .*\n(?:  .*\n)*", text, re.M)]
        item = textwrap.wrap(f"- Elsewhere: {found}", 128, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)
        return f"### {entry[1]}\n" + (text[:last.end()] + "\n".join(item) + "\n" + text[last.end():] if last and found else text)

    return examples.ENTRY.sub(renewed, page)


def written(page, root):
    page = BLOCK.sub(lambda m: m[1] + entries((root / m[2]).read_text(encoding="utf-8")) + m[4], page)
    return with_names(page, rows((root / "docs/reference/names.md").read_text(encoding="utf-8")))


def self_test():
    header = ('/// Value: 1 ulp.\n/// Adjoint: dy\n/// y\nstruct exp : extend::elementwise<1> {\n  static constexpr char const* name = "exp";\n};\n'
              "using some_operations = operations<op::exp>;\n")
    expected = "\n### exp\n\n`ct::exp(x)`\n\n- Value: 1 ulp.\n- Adjoint: dy y\n\n"
    if entries(header) != expected:
        return [f"expected {expected!r}, but it wrote {entries(header)!r}"]
    names = ("| NumPy | PyTorch | Eigen | here |\n|---|---|---|---|\n| `jnp.max` | | `.maxCoeff()` | `ct::max(x)` |\n"
             "| `jnp.maximum` | `torch.maximum` | | `ct::max(a, b)` |\n| `jnp.clip` | | | `ct::clamp`; with bounds |\n"
             "| `jnp.logical_or` | | | <code>a &#124;&#124; b</code> |\n")
    page = ("### max\n\n`ct::max(x)`\n\n- Example: a\n  b\n- Elsewhere: old\n  names\n- Source: c\n\n### clamp, max\n\n`ct::clamp(x)`, `ct::max(a, b)`\n\n"
            "- Example: c\n\n### or\n\n<code>a &#124;&#124; b</code>\n\n- Example: d\n\n### cut\n\n`ct::cut(x)`\n\n- Example: e\n- Elsewhere: none\n")
    expected = page.replace("old\n  names", "`jnp.max`, Eigen: `.maxCoeff()`").replace("c\n\n### or", "c\n- Elsewhere: `ct::clamp`: `jnp.clip`; `ct::max`: "
               "`jnp.maximum`, `torch.maximum`\n\n### or").replace("d\n", "d\n- Elsewhere: `jnp.logical_or`\n").replace("- Elsewhere: none\n", "")
    found = with_names(page, rows(names))
    return [] if found == expected else [f"expected {expected!r}, but it wrote {found!r}"]


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
