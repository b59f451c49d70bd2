#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Compiles one file twice: unchanged it must compile, and with -DREFUSED it must be refused in the expected words.

usage: check_refusal.py FILE [--precompiled HEADER.gch] COMPILER [FLAG...]
       check_refusal.py --self-test COMPILER [FLAG...]

In the file:
  // EXPECT: regular expression     the expected message; the first one on the first error line
  // ERRORS: 1                      the maximum number of errors
  // LINES: g++ 14, clang 24        the maximum number of lines; these are also the defaults
The precompiled header of cotangent.hpp stands for the first include of files that begin with it.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

LIMITS = {"g++": 14, "clang": 24}


def promises(text):
    expected = [e.strip() for e in re.findall(r"^// EXPECT: (.+)$", text, re.M)]
    errors = re.search(r"^// ERRORS: (\d+)\s*$", text, re.M)
    limits = dict(LIMITS)
    for line in re.findall(r"^// LINES: (.+)$", text, re.M):
        for name, number in re.findall(r"(g\+\+|clang)\s+(\d+)", line):
            limits[name] = int(number)
    return expected, errors and int(errors[1]), limits


def check(path, compiler, precompiled=None):
    """Nothing if the file keeps its promises, else what is wrong with it."""
    text = pathlib.Path(path).read_text(encoding="utf-8")
    expected, errors_allowed, limits = promises(text)
    if not expected or errors_allowed is None:
        return f"{path}: needs at least one EXPECT line and one ERRORS line"

    begins = re.match(r"(//.*\n)*#include <cotangent/cotangent\.hpp>", text)
    if precompiled and begins:
        compiler = [*compiler, "-Werror=invalid-pch", "-include", precompiled.removesuffix(".gch")]

    def compiled(*flags):
        return subprocess.run([*compiler, *flags, "-fsyntax-only", "-fno-diagnostics-color", str(path)],
                              capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})

    control = compiled()
    if control.returncode or control.stderr.strip():
        return f"{path}: unchanged it must compile without messages\n{control.stderr}"
    refused = compiled("-DREFUSED")
    if not refused.returncode:
        return f"{path}: compiled with -DREFUSED, but ought to be refused"

    # Only what the compiler says, not the source lines it echoes.
    family = "clang" if "clang" in " ".join(compiler) else "g++"
    lines = refused.stderr.splitlines()
    if family == "clang": # g++ names the precompiled header instead of the file, clang in addition
        lines = [line for line in lines if not re.match(r"In file included from .*/pch/cotangent\.hpp:", line)]
    said = [line for line in lines if re.search(r"\b(error|note):", line)]
    errors = [line for line in said if re.search(r"\berror:", line)]
    if not errors or not re.search(expected[0], errors[0]):
        wrong = f"the first error line lacks {expected[0]!r}"
    elif missing := [e for e in expected if not re.search(e, "\n".join(said))]:
        wrong = f"the diagnostic lacks {missing}"
    elif len(errors) > errors_allowed:
        wrong = f"{len(errors)} errors, {errors_allowed} promised"
    elif len(lines) > limits[family]:
        wrong = f"{len(lines)} lines, {limits[family]} promised"
    else:
        return None
    return f"{path}: {wrong}\n{refused.stderr}"


def self_test(compiler):
    """Files that keep their promises or break one, each with what must be said about it."""
    refusal = '#ifdef REFUSED\nstatic_assert(sizeof(int) == 1, "an int must be small");\n#endif\n' \
              'int main() {}\n'
    twice = refusal.replace("#endif", 'static_assert(sizeof(int) == 2, "or middling");\n#endif')
    right = "// EXPECT: an int must be small\n// ERRORS: 1\n"
    cases = [
        (None, right + refusal),
        (None, right.replace("1", "2") + "// EXPECT: or middling\n" + twice),
        ("needs at least one EXPECT", "// ERRORS: 1\n" + refusal),
        ("needs at least one EXPECT", "// EXPECT: an int must be small\n" + refusal),
        ("the first error line lacks", right.replace("small", "smell") + refusal),
        ("the first error line lacks", "// EXPECT: or middling\n// ERRORS: 2\n" + twice),
        ("the diagnostic lacks", right + "// EXPECT: or large\n" + refusal),
        ("2 errors, 1 promised", right + twice),
        ("1 promised", right + "// LINES: g++ 1, clang 1\n" + refusal),
        ("ought to be refused", right + "int main() {}\n"),
        ("must compile without messages", right + refusal.replace("#ifdef REFUSED", "#if 1")),
        ("must compile without messages", right + '#warning "a word"\n' + refusal),
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "case.cpp"
        for expected, text in cases:
            path.write_text(text, encoding="utf-8")
            said = check(path, compiler)
            if (said is None) != (expected is None) or (expected and expected not in said.splitlines()[0]):
                return f"expected {expected!r}, but it said {said!r} about\n{text}"
    return None


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    if sys.argv[1] == "--self-test":
        sys.exit(self_test(sys.argv[2:]))
    path, *compiler = sys.argv[1:]
    precompiled = compiler[1] if compiler[0] == "--precompiled" else None
    sys.exit(check(path, compiler[2:] if precompiled else compiler, precompiled))
