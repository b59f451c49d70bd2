#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Compares the code in the documentation with compiled files. Every block that is fenced with ```cpp follows a line

    <!-- examples/fit.cpp: solve -->

and equals the lines of that file between `// [solve]` and `// [/solve]`; without a name, the whole file after its SPDX
line. Prints the differences, or with --write copies the code into the pages.

usage: snippets.py [--write] ROOT
       snippets.py --self-test
"""
import pathlib
import re
import sys
import tempfile
import textwrap

BLOCK = re.compile(r"(?:^<!-- ([\w./-]+)(?:: ([\w -]+))? -->\n+)?^```cpp\n(.*?)^```$", re.M | re.S)
COMPILED = ("examples/", "tests/", "bench/")


def quoted(root, file, region):
    """The code that is meant, and what is wrong with the question."""
    path = root / file
    if not file.startswith(COMPILED) or not path.is_file():
        return None, f"{file} is not a file in {', '.join(COMPILED)}"
    text = path.read_text(encoding="utf-8")
    if not region:
        return re.sub(r"\A// SPDX-.*\n+", "", text), None
    found = re.search(rf"^[ \t]*// \[{re.escape(region)}\]\n(.*?)^[ \t]*// \[/{re.escape(region)}\]$", text, re.M | re.S)
    return (textwrap.dedent(found[1]), None) if found else (None, f"{file} has no region [{region}]")


def check(root, write=False):
    wrong = []
    for page in sorted([*root.glob("*.md"), *root.glob("docs/**/*.md")]):
        text = page.read_text(encoding="utf-8")

        def renewed(block):
            file, region, code = block.groups()
            where = f"{page.relative_to(root)}:{text.count(chr(10), 0, block.start()) + 1}"
            if not file:
                wrong.append(f"{where}: code that no compiled file holds; name its file in a comment above")
                return block[0]
            meant, problem = quoted(root, file, region)
            if problem:
                wrong.append(f"{where}: {problem}")
            elif meant != code:
                if write:
                    return block[0][:block.start(3) - block.start()] + meant + "```"
                wrong.append(f"{where}: differs from {file}; tools/snippets.py --write . copies it")
            return block[0]

        after = BLOCK.sub(renewed, text)
        if after != text:
            page.write_text(after, encoding="utf-8")
    return wrong


def self_test():
    source = "// SPDX-License-Identifier: BSL-1.0\n\nint main() {\n  // [one]\n  return 1;\n  // [/one]\n}\n"
    part, whole = "```cpp\nreturn 1;\n```\n", "```cpp\n" + source.split("\n\n")[1] + "```\n"
    cases = [
        (None, "<!-- examples/a.cpp: one -->\n" + part),
        (None, "<!-- examples/a.cpp -->\n\n" + whole + "\n```text\nanything\n```\n"),
        ("differs", "<!-- examples/a.cpp: one -->\n" + part.replace("1", "2")),
        ("no compiled file holds", "as follows\n\n" + part),
        ("no compiled file holds", "<!-- examples/a.cpp: one -->\n" + part + "\nand\n\n" + part),
        ("has no region", "<!-- examples/a.cpp: two -->\n" + part),
        ("is not a file", "<!-- examples/b.cpp: one -->\n" + part),
        ("is not a file", "<!-- tools/a.cpp: one -->\n" + part),
    ]
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name in "examples", "docs/how-to":
            (root / name).mkdir(parents=True)
        (root / "examples/a.cpp").write_text(source)
        page = root / "docs/how-to/a.md"
        for expected, text in cases:
            page.write_text(text)
            said = check(root)
            if len(said) != bool(expected) or (expected and expected not in said[0]):
                return [f"expected {expected!r}, but it said {said} about\n{text}"]
        page.write_text(cases[2][1])
        if check(root, write=True) or page.read_text() != cases[0][1]:
            return [f"--write left {page.read_text()!r}"]
    return []


if __name__ == "__main__":
    words = sys.argv[1:]
    problems = self_test() if words == ["--self-test"] else check(pathlib.Path(words[-1]), "--write" in words)
    print(*problems, sep="\n", end="\n" if problems else "")
    sys.exit(1 if problems else 0)
