#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Every relative link of a page names a file that exists, and every anchor a heading of that file. Every path docs/....md in a
source file exists too.

usage: check_links.py PROJECT_FOLDER
       check_links.py --self-test
"""
import pathlib
import re
import sys
import tempfile

FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
CODE = re.compile(r"(`+).*?\1", re.S)
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\[\]]*\])*\]\(([^()\s]+)\)")
MENTION = re.compile(r"\bdocs/[\w./-]+\.md\b")
SOURCES = ("include", "tests", "tools", "examples", "bench")


def blanked(text, pattern):
    """The text with the matches blanked, so that lines keep their numbers."""
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def anchors_of(text):
    """The anchors of the headings, as GitHub makes them."""
    seen, anchors = {}, set()
    for heading in re.findall(r"^#+ +(.*?)\s*$", blanked(text, FENCE), re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        anchors.add(f"{slug}-{seen[slug]}" if slug in seen else slug)
        seen[slug] = seen.get(slug, 0) + 1
    return anchors


def check(root):
    wrong = []
    pages = sorted({*root.glob("*.md"), *(p for top in ("docs", *SOURCES) for p in root.glob(f"{top}/**/*.md"))})
    for page in pages:
        text = blanked(blanked(page.read_text(encoding="utf-8"), FENCE), CODE)
        for link in LINK.finditer(text):
            if re.match(r"\w+:", link[1]):
                continue
            where = f"{page.relative_to(root)}:{text.count(chr(10), 0, link.start()) + 1}"
            file, _, anchor = link[1].partition("#")
            target = (page.parent / file).resolve() if file else page
            if not target.exists():
                wrong.append(f"{where}: no file {link[1]}")
            elif anchor and (target.suffix != ".md" or anchor not in anchors_of(target.read_text(encoding="utf-8"))):
                wrong.append(f"{where}: no heading for {link[1]}")
    for source in sorted(p for top in SOURCES for p in root.glob(f"{top}/**/*") if p.is_file()):
        if source.suffix not in (".hpp", ".cpp", ".in", ".build", "") or source.name == "check_links.py":
            continue
        for number, line in enumerate(source.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            for mention in MENTION.findall(line):
                if not (root / mention).exists():
                    wrong.append(f"{source.relative_to(root)}:{number}: no file {mention}")
    return wrong if pages else [f"{root}: has no pages"]


def self_test():
    good = {"docs/a.md": "# One `two`, three\n\n[b](b.md#a-b), [here](#one-two-three), [out](https://x.org/y.md)\n",
            "docs/b.md": "# A b\n\n## A b\n\n```\n# no heading\n[no link](c.md)\n```\n`[nor](d.md)`\n",
            "include/x.hpp": "// docs/a.md\n"}
    cases = [
        (None, {}),
        ("docs/a.md:3: no file c.md", {"docs/a.md": "# One\n\n[c](c.md)"}),
        ("docs/a.md:2: no heading for b.md#no-heading", {"docs/a.md": "# One\n[b](b.md#no-heading)"}),
        (None, {"docs/a.md": "[b](b.md#a-b-1)"}),
        ("docs/a.md:1: no heading for #one", {"docs/a.md": "[one](#one)"}),
        ("include/x.hpp:1: no file docs/c.md", {"include/x.hpp": "// docs/c.md"}),
    ]
    for expected, changed in cases:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in {**good, **changed}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text, encoding="utf-8")
            said = check(root)
            if said != ([expected] if expected else []):
                return [f"expected {expected}, but it said {said}"]
    return []


if __name__ == "__main__":
    found = self_test() if sys.argv[1:] == ["--self-test"] else check(pathlib.Path(sys.argv[1]).resolve())
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(1 if found else 0)
