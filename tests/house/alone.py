#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Compiles every header as if it were alone. A unit includes a chain of headers: each header reaches, by its own includes, all
that the unit has included before it, so nothing before it can hide a missing include. That takes a fifth of the units.
Each header is included twice, so that a broken guard shows.

usage: alone.py OUTPUT PART PARTS INCLUDE_FOLDER HEADER... -- COMPILER [FLAG...]
       alone.py --self-test COMPILER [FLAG...]
OUTPUT is written if every header of the part compiles.
"""
import functools
import pathlib
import re
import subprocess
import sys
import tempfile


def chains(root, headers):
    """The least number of chains that hold all headers: those left by a largest matching of header and next header."""
    @functools.lru_cache(None)
    def reached(header):
        found = {header}
        text = (root / header).read_text(encoding="utf-8") if (root / header).is_file() else ""
        for name in re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', text, re.M):
            found |= reached(name)
        return frozenset(found)

    later = {a: [b for b in headers if a != b and reached(a) < reached(b)] for a in headers}
    before = {}

    def is_matched(a, seen):
        for b in later[a]:
            if b not in seen:
                seen.add(b)
                if b not in before or is_matched(before[b], seen):
                    before[b] = a
                    return True
        return False

    for header in headers:
        is_matched(header, set())
    after = {a: b for b, a in before.items()}
    for header in headers:
        if header not in before:
            chain = [header]
            while chain[-1] in after:
                chain.append(after[chain[-1]])
            yield chain


def compiles(root, chain, compiler):
    text = "".join(f"#include <{header}>\n" * 2 for header in chain)
    return not subprocess.run([*compiler, "-I", root, "-fsyntax-only", "-x", "c++", "-"], input=text, text=True).returncode


def self_test(compiler):
    """Of four headers, `lacking` uses a name of `base` and does not include it, and `unguarded` has no guard."""
    texts = {
        "base.hpp": "#ifndef A\n#define A\n#include <cstddef>\ninline int f() { return 1; }\n#endif\n",
        "over.hpp": "#ifndef B\n#define B\n#include <base.hpp>\ninline int g() { return f(); }\n#endif\n",
        "lacking.hpp": "#ifndef C\n#define C\ninline int h() { return f(); }\n#endif\n",
        "unguarded.hpp": "#include <over.hpp>\ninline int k() { return g(); }\n",
    }
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in texts.items():
            (root / name).write_text(text, encoding="utf-8")
        found = {tuple(chain): compiles(root, chain, [*compiler, "-w"]) for chain in chains(root, list(texts))}
        expected = {("base.hpp", "over.hpp", "unguarded.hpp"): False, ("lacking.hpp",): False}
        if found != expected or not compiles(root, ["base.hpp", "over.hpp"], compiler):
            return f"expected {expected}, found {found}"
    return None


def main(arguments):
    if arguments[0] == "--self-test":
        return self_test(arguments[1:])
    output, part, parts, root, *headers = arguments[:arguments.index("--")]
    compiler = arguments[arguments.index("--") + 1:]
    mine = list(chains(pathlib.Path(root), headers))[int(part)::int(parts)]
    wrong = [chain for chain in mine if not compiles(root, chain, compiler)]
    if wrong:
        return "\n".join(f"these headers do not compile in this order: {' '.join(chain)}" for chain in wrong)
    pathlib.Path(output).write_text("", encoding="utf-8")
    return None


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
