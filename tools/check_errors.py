#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Compares docs/reference/errors.md with the headers: the page must list every sentence that a header refuses with or reports
at run time, and no other. On the page a sentence is a heading of level four, as code:

    #### `matmul: the columns of the left operand must equal the rows of the right`

without the prefix `cotangent: `. Angle brackets mark the values in a run-time sentence: `the size <n> of axis <n>`; the words
between them are string literals of one header. The sentences of `verify` are listed as "- `sentence`".

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
COMPOSED = re.compile(r'\bmessage(?: text)?\("cotangent: ')
HEADING = re.compile(r"^#### (`+) ?(.+?) ?\1$", re.M)
BULLET = re.compile(r"^- `(.+?)`$", re.M)
PREFIX = "cotangent: "


def joined(literals):
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals)).replace('\\"', '"')


def without_comments(text):
    return re.sub(r"^\s*//.*$", "", text, flags=re.M)


def plain(sentence):
    return sentence.removeprefix(PREFIX)


def read(folder):
    """Whole sentences, by header; the words that a header puts together when it runs; those of `verify`; what is odd."""
    whole, composed, verified, odd = {}, {}, {}, []
    for path in sorted(folder.rglob("*.hpp")):
        name = str(path.relative_to(folder))
        text = without_comments(path.read_text(encoding="utf-8"))
        refusals = REFUSAL.findall(text)
        if len(refusals) != len(OPENING.findall(text)):
            odd.append(f"{name}: has refusals whose sentence cannot be read")
        for refusal, sentence in refusals:
            if not joined(sentence).startswith(PREFIX):
                odd.append(f"{name}: {refusal} must begin with `{PREFIX.strip()}`")
            whole[plain(joined(sentence))] = name
        for sentence in ASSERTED.findall(text):
            if joined(sentence).startswith(PREFIX):
                whole[plain(joined(sentence))] = name
        for sentence in STATUS.findall(text):
            if joined(sentence) != "ok":
                whole[joined(sentence)] = name
        words = [plain(joined(x)) for x in re.findall(LITERAL, text)]
        if COMPOSED.search(text):
            composed[name] = [w for w in words if w]
        if path.name.startswith("verify"):
            verified.update({w: name for w in words if w.count(" ") >= 2})
    return whole, composed, verified, odd


def made_of(piece, words):
    """Whether words that a header has, one after the other, make the piece."""
    reached = [True] + [False] * len(piece)
    for at in range(len(piece)):
        for word in words if reached[at] else ():
            if piece.startswith(word, at):
                reached[at + len(word)] = True
    return reached[-1]


def check(folder, page):
    whole, composed, verified, wrong = read(folder)
    text = page.read_text(encoding="utf-8")
    listed, of_verify = [s for _, s in HEADING.findall(text)], BULLET.findall(text)
    for sentence in sorted({s for s in listed + of_verify if (listed + of_verify).count(s) > 1}):
        wrong.append(f"{page.name}: listed twice: {sentence}")
    wrong += [f"{page.name}: lacks a sentence of {h}: {s}" for s, h in whole.items() if s not in listed]
    wrong += [f"{page.name}: lacks a sentence of {h}: {s}" for s, h in verified.items() if s not in of_verify]
    wrong += [f"{page.name}: no header says: {s}" for s in of_verify if s not in verified]
    at_run_time = [s for s in listed if s not in whole]
    for sentence in at_run_time:
        pieces = [p for p in re.split(r"<[\w ]+>", sentence) if p]
        if not any(all(made_of(p, words) for p in pieces) for words in composed.values()):
            wrong.append(f"{page.name}: no header says: {sentence}")
    for header, words in composed.items():
        for word in words:
            if word.count(" ") >= 2 and word not in whole and not any(word in s + " " for s in at_run_time):
                if not any(word in w for w in whole):
                    wrong.append(f"{page.name}: lacks a sentence of {header}, with: {word}")
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
    verified = ["a node has no operation"]
    cases = [(None, good)]
    cases += [("lacks", good[:k] + good[k + 1:]) for k in range(len(good))]
    cases += [("no header says", good + ["four: nobody says this"]), ("no header says", good + ["call: the shape <n>"]),
              ("no header says", good + ["not this"]), ("listed twice", good + good[:1])]
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch)
        (root / "a.hpp").write_text(header)
        (root / "verify.hpp").write_text('return say("a node has no operation", i);\n')
        page = root / "errors.md"

        def write(listed, bullets=verified):
            page.write_text("# Errors\n\n" + "\n".join([f"#### `{s}`\n\nWhat it means.\n" for s in listed] +
                                                      [f"- `{s}`" for s in bullets]))

        for bullets in [], verified + ["a node has no name"], verified * 2:
            write(good, bullets)
            if not check(root, page):
                return [f"said nothing about {bullets}"]
        for expected, listed in cases:
            write(listed)
            said = check(root, page)
            if bool(said) != bool(expected) or (expected and expected not in said[0]):
                return [f"expected {expected!r}, but it said {said} about {listed}"]
        write(good)
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
