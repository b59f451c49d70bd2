#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Hold docs/reference/errors.md to the headers: the page must list every sentence that a header refuses with or reports
at run time, and none that no header has. On the page a sentence is a heading of four signs:

    #### matmul: the columns of the left operand must equal the rows of the right

without `cotangent: ` in front. What a sentence made at run time fills in stands in angle brackets: `the size <n> of axis
<n>`; the words between must all stand in string literals of one header, in order.

usage: check_errors.py INCLUDE_FOLDER PAGE
       check_errors.py --self-test
"""
import pathlib
import re
import sys
import tempfile

LITERAL = r'"(?:[^"\\]|\\.)*"'
REFUSAL = re.compile(rf"^\s*COTANGENT_REFUSAL(?:_SHAPES|_TYPES|_OF)?\(\s*(\w+)\s*,[^\"]*?({LITERAL}(?:\s*{LITERAL})*)\s*\)", re.M)
OPENING = re.compile(r"^\s*COTANGENT_REFUSAL(?:_SHAPES|_TYPES|_OF)?\(", re.M)
ASSERTED = re.compile(rf"static_assert\([^;]*?({LITERAL}(?:\s*{LITERAL})*)\s*\);", re.S)
STATUS = re.compile(rf"case status::\w+:\s*return ({LITERAL}(?:\s*{LITERAL})*);")
COMPOSED = re.compile(rf"\bmessage (?:text)?\(({LITERAL})\)|\bmessage\(({LITERAL})\)")
HEADING = re.compile(r"^#### (.+?)\s*$", re.M)
PREFIX = "cotangent: "


def joined(literals):
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals)).replace('\\"', '"')


def without_comments(text):
    return re.sub(r"^\s*//.*$", "", text, flags=re.M)


def plain(sentence):
    return sentence.removeprefix(PREFIX)


def read(folder):
    """Sentences that are whole, by header; beginnings of composed ones; all literals of each header; what is odd."""
    whole, begun, literals, odd = {}, {}, {}, []
    for path in sorted(folder.rglob("*.hpp")):
        name = str(path.relative_to(folder))
        text = without_comments(path.read_text(encoding="utf-8"))
        macros = [m for m in OPENING.finditer(text)]
        refusals = REFUSAL.findall(text)
        if len(macros) != len(refusals):
            odd.append(f"{name}: {len(macros)} refusals, of which {len(refusals)} can be read")
        for refusal, sentence in refusals:
            said = joined(sentence)
            if not said.startswith(PREFIX):
                odd.append(f"{name}: {refusal} must begin with `{PREFIX.strip()}`")
            whole[plain(said)] = name
        for sentence in ASSERTED.findall(text):
            if joined(sentence).startswith(PREFIX):
                whole[plain(joined(sentence))] = name
        for sentence in STATUS.findall(text):
            if joined(sentence) != "ok":
                whole[joined(sentence)] = name
        for pair in COMPOSED.findall(text):
            said = joined(pair[0] or pair[1])
            if said.startswith(PREFIX):
                begun.setdefault(plain(said), name)
        literals[name] = joined("".join(x + '""' for x in re.findall(LITERAL, text))), [
            joined(x) for x in re.findall(LITERAL, text)]
    return whole, begun, literals, odd


def composed_by(pieces, literals):
    """Whether one header's string literals hold the pieces."""
    return any(all(any(piece in x for x in each) for piece in pieces) for _, each in literals.values())


def check(folder, page):
    whole, begun, literals, wrong = read(folder)
    listed = HEADING.findall(page.read_text(encoding="utf-8"))
    for sentence in listed:
        if listed.count(sentence) > 1:
            wrong.append(f"{page.name}: listed twice: {sentence}")
    for sentence, header in whole.items():
        if sentence not in listed:
            wrong.append(f"{page.name}: lacks a sentence of {header}: {sentence}")
    filled = [s for s in listed if "<" in re.sub(r"ct::[\w:]+<[^>]*>|[\w:]+<[^>]*>\(|template <.*>", "", s)]
    for sentence in listed:
        if sentence in whole:
            continue
        pieces = [p.strip() for p in re.split(r"<[\w ]+>", sentence) if p.strip(" ,()[];")]
        if sentence not in filled or not composed_by(pieces, literals):
            wrong.append(f"{page.name}: no header says: {sentence}")
    for words, header in begun.items():
        if words and not any(s.startswith(words.strip()) for s in listed):
            wrong.append(f"{page.name}: lacks what {header} begins with: {words}")
    return wrong


def self_test():
    header = """// COTANGENT_REFUSAL(comment, equal, a, b, "cotangent: not this")
namespace r {
COTANGENT_REFUSAL(one, equal, a, b,
                  "cotangent: one: the a must equal "
                  "the b")
COTANGENT_REFUSAL_OF(two, allowed, "cotangent: two: use ct::convert<T>(x)")
}
static_assert(W == 4, "cotangent: three: as many as lanes");
case status::bad: return "a thing is bad";
message text("cotangent: call: ");
text.put("the size ").put(n).put(" of axis ");
"""
    good = ["one: the a must equal the b", "two: use ct::convert<T>(x)", "three: as many as lanes", "a thing is bad",
            "call: the size <n> of axis <k>"]
    cases = [(None, good)]
    cases += [("lacks", good[:k] + good[k + 1:]) for k in range(len(good))]
    cases += [("no header says", good + ["four: nobody says this"]), ("no header says", good + ["call: the shape <n>"]),
              ("no header says", good + ["not this"]), ("listed twice", good + good[:1])]
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch)
        (root / "a.hpp").write_text(header)
        page = root / "errors.md"
        for expected, listed in cases:
            page.write_text("# Errors\n\n" + "\n".join(f"#### {s}\n\nWhat it means.\n" for s in listed))
            said = check(root, page)
            if bool(said) != bool(expected) or (expected and expected not in said[0]):
                return [f"expected {expected!r}, but it said {said} about {listed}"]
        page.write_text("\n".join(f"#### {s}\n" for s in good))
        for spoilt in ("COTANGENT_REFUSAL_OF(five, allowed, sentence)\n",
                       'COTANGENT_REFUSAL_OF(two, allowed, "two: use ct::convert<T>(x)")\n'):
            (root / "a.hpp").write_text(header + spoilt)
            if not check(root, page):
                return [f"said nothing about {spoilt}"]
    return []


if __name__ == "__main__":
    words = sys.argv[1:]
    if words != ["--self-test"] and len(words) != 2:
        sys.exit(__doc__)
    problems = self_test() if words == ["--self-test"] else check(pathlib.Path(words[0]), pathlib.Path(words[1]))
    print(*problems, sep="\n", end="\n" if problems else "")
    sys.exit(1 if problems else 0)
