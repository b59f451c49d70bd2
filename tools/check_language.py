#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Checks that the texts of the project are plain technical English: pages, comments, messages and titles of tests contain none
of the phrases below, and sentences of pages have at most 25 words. Code blocks and inline code are excepted.

Folders that are not rewritten yet have a number of findings in ALLOWED. It may only fall: more findings are an error, and
after a removal --write lowers the number.

usage: check_language.py [--write] [--list FOLDER] PROJECT_FOLDER
       check_language.py --self-test
"""
import pathlib
import re
import sys
import tempfile

# Findings that are left, by top-level folder or page. A folder that is absent has none.
ALLOWED = {"tests": 145}

LONGEST = 25  # words in a sentence of a page

PHRASES = [  # what to find, what to write instead
    (r"\bnobody\b", "dead, unused, no later reader"),
    (r"\bwho(?:ever)? reads\b", "the readers of"),
    (r"(?:^(?:[-*#|]+ |\d+\. )?|(?<=[.:;!?] ))What\b(?![^.:;!]*\?)", "a sentence that begins with its subject"),
    (r"\bwhat (?:it|they|is|was|are|were|has|have|does|lives?|lies|stands|goes|comes|follows|varies|remains)\b", "a noun"),
    (r"\b[Ww]here [^.;]{1,60}? is what\b", "a sentence that begins with its subject"),
    (r"\b(?:is|are|was|were|be) computed again\b|\bcomputes? again\b", "rematerialized, recomputed"),
    (r"\bstraight code\b", "straight-line code"),
    (r"\b(?:is|are|was|were) (?:made|let go)\b", "is computed, is created, is freed"),
    (r"\blets? go\b", "evicts, frees"),
    (r"\bvalues that (?:it|they) begins? with\b", "initial values"),
    (r"\bthe most of (?:it|them|what)\b", "the peak"),
    (r"\bas (?:it|they) (?:lies?|stands?)\b|\bwhere (?:it|they) (?:lies?|stands?)\b", "unchanged, in place"),
    (r"\bstands? (?:in|at|on|beside|behind|under|before|after|there|here|where|alone in)\b", "is in, is at, precedes"),
    (r"\bso many\b(?! that)", "at most n, n of them"),
    (r"\band (?:its|their|her|his) kin\b", "and similar functions"),
    (r"\bheld against\b", "compared with"),
    (r"\b(?:is|are|was|were) told (?:of|about|that|to)\b", "is given, receives"),
    (r"\bturned around\b", "reversed, transposed"),
    (r"\bthere (?:is|are) none of\b", "absent"),
    (r"\ba (?:value|call|graph|program|loop) of its own\b", "its own"),
    (r"\b(?:re)?(?:optimis|minimis|maximis|normalis|vectoris|initialis|specialis|recognis|materialis|generalis|serialis|"
     r"summaris|parallelis|organis|utilis)\w*|\b(?:neighbour|colour|behaviour|favour|honour)\w*|\b(?:learnt|licence)\b",
     "American spelling"),
]
PATTERNS = [(re.compile(pattern), remedy) for pattern, remedy in PHRASES]

FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
HIDDEN = re.compile(r"<!--.*?-->|(`+).*?\1|\]\([^)\s]*\)|<code>.*?</code>", re.S)
CPP = re.compile(r'//[^\n]*|/\*.*?\*/|R"\((.*?)\)"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'', re.S)
TITLE = re.compile(r'(?:TEST_CASE|SECTION|TEMPLATE_TEST_CASE)\(\s*("(?:[^"\\]|\\.)*"(?:\s*"(?:[^"\\]|\\.)*")*)')


def blanked(text, pattern, by=" "):
    """The text with the matches replaced, so that lines keep their numbers."""
    return pattern.sub(lambda m: by + re.sub(r"[^\n]", "", m[0]), text)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def texts_of_page(text):
    """(line, text) of each paragraph, item, heading and row of a table."""
    text = re.sub(r"^(?: {4,}|\t)[^\n]*$", "", blanked(text, FENCE), flags=re.M) if not re.search(r"^ {4,}- ", text, re.M) \
        else blanked(text, FENCE)
    text = blanked(text, HIDDEN, "CODE")
    start = 0
    for part in re.split(r"(\n\s*\n|\n(?=\s*(?:[-*] |\d+\. |\||#)))", text):
        if part.strip():
            yield line_of(text, start + len(part) - len(part.lstrip())), " ".join(part.split())
        start += len(part)


def texts_of_code(text, of_tests):
    """(line, text) of each comment, and of each literal or, in tests, of each title; comments on consecutive lines are one."""
    if of_tests:
        for found in TITLE.finditer(text):
            yield line_of(text, found.start(1)), "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', found[1]))
    comment, first, last = [], 0, -2
    for found in CPP.finditer(text):
        line = line_of(text, found.start())
        if found[0].startswith("//"):
            if line != last + 1 and comment:
                yield first, blanked(" ".join(comment), HIDDEN, "CODE")
                comment = []
            first = first if comment else line
            comment.append(found[0].lstrip("/! "))
            last = line
        elif found[0].startswith("/*") or (found[0].startswith(('"', "R")) and not of_tests):
            yield line, found[0].strip('"*/ ')
    if comment:
        yield first, blanked(" ".join(comment), HIDDEN, "CODE")


def long_sentences(text):
    if text.startswith(("|", "#", "![")):
        return
    for sentence in re.split(r"(?<=[.:;!?])\)?\s+(?=\W*[A-Z\d])|; ", text):
        words = [word for word in sentence.split() if re.search(r"\w", word)]
        if len(words) > LONGEST:
            yield f"{len(words)} words: \"{' '.join(words[:6])} ...\": at most {LONGEST}"


def findings(root):
    """Top-level folder or page -> findings."""
    found = {}

    def look(path, texts, sentences):
        name = path.relative_to(root)
        for line, text in texts:
            said = [f'"{m[0].lstrip("-*#| ")}": write {remedy}' for pattern, remedy in PATTERNS for m in pattern.finditer(text)]
            if sentences:
                said += long_sentences(text)
            found.setdefault(name.parts[0], []).extend(f"{name}:{line}: {s}" for s in said)

    def files(folder, *endings):
        return sorted(p for p in (root / folder).rglob("*") if p.suffix in endings and p.is_file())

    for page in [*sorted(root.glob("*.md")), *files("docs", ".md"), *files("bench", ".md"), *files("examples", ".md")]:
        look(page, texts_of_page(page.read_text(encoding="utf-8")), True)
    for folder in "include", "examples", "bench":
        for file in files(folder, ".hpp", ".cpp"):
            look(file, texts_of_code(file.read_text(encoding="utf-8"), False), False)
    for file in files("tests", ".hpp", ".cpp"):
        look(file, texts_of_code(file.read_text(encoding="utf-8"), True), False)
    return found


def check(root, allowed):
    """What is wrong, and what may be lowered."""
    wrong, fewer = [], []
    found = findings(root)
    for name in sorted({*found, *allowed}):
        count, most = len(found.get(name, [])), allowed.get(name, 0)
        if count > most:
            wrong += [f"{name}: {count} findings, at most {most} are allowed", *(f"  {s}" for s in found[name])]
        elif count < most:
            fewer.append(f"{name}: {count} findings left of {most}; tools/check_language.py --write . lowers the number")
    return wrong if found else [f"{root}: has no texts"], fewer


def write(root, tool):
    counts = {name: len(all_) for name, all_ in findings(root).items()}
    lowered = {name: min(counts[name], most) for name, most in ALLOWED.items() if counts.get(name)}
    text = tool.read_text(encoding="utf-8")
    tool.write_text(re.sub(r"^ALLOWED = \{.*?\}$", f"ALLOWED = {lowered!r}".replace("'", '"'), text, count=1, flags=re.M))


def self_test():
    cases = [  # file, text, what is found
        ("docs/a.md", "The value is dead.\n\n```cpp\n// nobody\n```\n\nRun `nobody reads`.\n", []),
        ("docs/a.md", "Values that nobody\nreads.\n", ['docs/a.md:1: "nobody"']),
        ("docs/a.md", "One.\n\n- A.\n- What is kept is small.\n", ['docs/a.md:4: "What"']),
        ("docs/a.md", "What is a graph?\n", []),
        ("docs/a.md", "a " * 26 + "\n", ["docs/a.md:1: 26 words"]),
        ("docs/a.md", "a " * 20 + "end. " + "B " * 20 + "\n| " + "a " * 40 + "|\n", []),
        ("docs/a.md", "| a | an optimiser |\n", ['docs/a.md:1: "optimiser"']),
        ("README.md", "It is computed again.\n", ['README.md:1: "is computed again"']),
        ("include/a.hpp", "int nobody; // first\n// it is\n// made here\nauto s = \"who reads\";\n",
         ['include/a.hpp:1: "is made"', 'include/a.hpp:4: "who reads"']),
        ("include/a.hpp", "char c = '\"'; // fine\n", []),
        ("tests/a.cpp", 'TEST_CASE("what is made " "by nobody") { auto s = "nobody"; } // nobody\n',
         ['tests/a.cpp:1: "nobody"', 'tests/a.cpp:1: "nobody"', 'tests/a.cpp:1: "what is"', 'tests/a.cpp:1: "is made"']),
    ]
    for name, text, expected in cases:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
            said = [s for all_ in findings(root).values() for s in all_]
            if len(said) != len(expected) or not all(any(s.startswith(e) for s in said) for e in expected):
                return [f"expected {expected}, but it said {said} about\n{text}"]
            folder_name, n = name.split("/")[0], len(expected)
            if check(root, {folder_name: n}) != ([], []) or not check(root, {folder_name: n + 1})[1] \
                    or (n and not check(root, {folder_name: n - 1})[0]):
                return [f"the number of findings is not compared: {name}"]
    return []


if __name__ == "__main__":
    words = sys.argv[1:]
    if words == ["--self-test"]:
        problems = self_test()
    elif words[0] == "--list":
        problems = [s for s in findings(pathlib.Path(words[2]).resolve()).get(words[1], [])]
    elif words[0] == "--write":
        write(pathlib.Path(words[1]).resolve(), pathlib.Path(__file__))
        problems = []
    else:
        problems, notes = check(pathlib.Path(words[0]).resolve(), ALLOWED)
        print(*notes, sep="\n", end="\n" if notes else "")
    print(*problems, sep="\n", end="\n" if problems else "")
    sys.exit(1 if problems else 0)
