#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Checks the includes of the headers: they follow the order of the layers, form no cycle of headers or of folders, and name
full paths. Headers of other libraries are included only where they belong. Also checks the first lines and the length of every header, and
the number of headers of a folder.

usage: check_headers.py INCLUDE_FOLDER
       check_headers.py --self-test
"""
import collections
import pathlib
import re
import sys
import tempfile

# The layers directly below each layer. A layer may include itself and every layer that it reaches here.
UNDER = {
    "core": [],
    "graph": ["core"],
    "ops": ["graph"],
    "transform": ["ops"],
    "kernels": ["core"],
    "plan": ["transform"],
    "run": ["plan", "kernels"],
    "trace": ["run"],
    "dynamic": ["trace", "io"],
    "io": ["plan"],
    "check": ["trace", "dynamic"],
    "interop": ["trace"],
}
MOST_HEADERS = 26  # in one folder
MOST_LINES = 400  # of one header
INSTRUCTION_SETS = "cotangent/kernels/simd"  # and what begins like it
COLD = ("cotangent/transform/", "cotangent/plan/", "cotangent/run/interpreter/prepare/")  # code that prepares programs
FOREIGN = {"nlohmann/json.hpp": "cotangent/io/archive/json.hpp",  # each with the one header that may include it
           "fcntl.h": "cotangent/io/archive/file.hpp", "sys/stat.h": "cotangent/io/archive/file.hpp",
           "unistd.h": "cotangent/io/archive/file.hpp",
           "bits/stl_iterator_base_types.h": "cotangent/core/memory.hpp"}


def reach(layer):
    return {layer}.union(*map(reach, UNDER[layer]))


def layer_of(header):
    return header.split("/")[1]


def is_for_users(header):
    """The headers at the top of the folder: they include layers and each other, and no layer includes them."""
    return header.count("/") == 1


def complaints_of_includes(header, text):
    layer = layer_of(header)
    for style, target in re.findall(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', text, re.M):
        if target.startswith("cotangent/"):
            if style != "<":
                yield f'includes "{target}"; write <{target}>'
            if is_for_users(header):
                continue
            if is_for_users(target):
                yield f"includes {target}, which is for users; name the headers of layers"
            elif layer_of(target) not in reach(layer):
                yield f"{layer} must not include {layer_of(target)} ({target})"
        elif style == '"':
            yield f'includes "{target}"; write the whole path from cotangent/, in angle brackets'
        elif target == "boost/hana.hpp":
            yield "includes the whole of Boost.Hana; name the parts"
        elif re.search(r"intrin\.h$|^arm_(neon|sve)\.h$", target) and not header.startswith(INSTRUCTION_SETS):
            yield f"includes {target}; instruction sets are named in {INSTRUCTION_SETS}*.hpp alone"
        elif target in FOREIGN:
            if header != FOREIGN[target]:
                yield f"includes {target}; only {FOREIGN[target]} does"
        elif layer != "interop" and re.search(r"[/.]", target) and not target.startswith("boost/hana/") \
                and not re.search(r"intrin\.h$|^arm_(neon|sve)\.h$", target):
            yield f"includes {target}; foreign headers stay in interop/"


def complaints_of_form(header, text):
    guard = re.sub(r"[/.]", "_", header).upper()
    if not text.startswith("// SPDX-License-Identifier: BSL-1.0\n"):
        yield "the first line must be // SPDX-License-Identifier: BSL-1.0"
    if f"#ifndef {guard}\n#define {guard}\n" not in text:
        yield f"the include guard must be {guard}"
    if (lines := text.count("\n")) > MOST_LINES:
        yield f"has {lines} lines; at most {MOST_LINES}: split it by idea"
    brackets = re.findall(r"^COTANGENT_COLD_(BEGIN|END)$", text, re.M)
    if brackets not in ([], ["BEGIN", "END"]):
        yield "COTANGENT_COLD_BEGIN and COTANGENT_COLD_END must bracket all of its code, once"
    if not brackets and header.startswith(COLD) and not header.endswith("/refusals.hpp") and re.search(r"^namespace", text, re.M):
        yield "prepares programs: bracket its code with COTANGENT_COLD_BEGIN and COTANGENT_COLD_END (see core/abi.hpp)"
    if "BEGIN" in brackets and re.search(r"^#[ \t]*include", text[text.index("COTANGENT_COLD_BEGIN\n"):], re.M):
        yield "includes a header after COTANGENT_COLD_BEGIN"


def circles(includes):
    """One complaint for each circle of includes, found by going down from every header once."""
    path, done = [], set()

    def down(header):
        if header in path:
            yield f"{header}: includes itself: " + " -> ".join(path[path.index(header):] + [header])
        elif header not in done and header in includes:
            path.append(header)
            for target in includes[header]:
                yield from down(target)
            path.pop()
            done.add(header)

    for header in sorted(includes):
        yield from down(header)


def folder_of(header):
    """A folder; a header directly in its layer counts by itself, and may come before or after the folders beside it."""
    return header.rsplit("/", 1)[0] if header.count("/") > 2 else header


def circles_of_folders(includes):
    between = {}
    for header, targets in includes.items():
        others = {folder_of(t) for t in targets} - {folder_of(header)}
        between.setdefault(folder_of(header), set()).update(others)
    return circles({folder: sorted(targets) for folder, targets in between.items()})


def check(root):
    found, includes = [], {}
    for path in sorted(root.rglob("*.hpp")):
        header, text = path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
        if not is_for_users(header) and layer_of(header) not in UNDER:
            found.append(f"{header}: is in no layer; the layers are {', '.join(UNDER)}")
            continue
        found += [f"{header}: {what}" for what in complaints_of_form(header, text)]
        found += [f"{header}: {what}" for what in complaints_of_includes(header, text)]
        includes[header] = re.findall(r"#[ \t]*include[ \t]*<(cotangent/[^>]+)>", text)
    if not includes:
        found.append(f"{root}: holds no headers")
    folders = collections.Counter(header.rsplit("/", 1)[0] for header in includes)
    found += [f"{folder}: holds {n} headers; at most {MOST_HEADERS}" for folder, n in folders.items() if n > MOST_HEADERS]
    return found + (list(circles(includes)) or list(circles_of_folders(includes)))


def self_test():
    """Wrong trees, each with what must be said about it, and a right one."""
    def header(name, *lines):
        guard = re.sub(r"[/.]", "_", name).upper()
        return "\n".join(["// SPDX-License-Identifier: BSL-1.0", f"#ifndef {guard}", f"#define {guard}", *lines, "#endif\n"])

    base, tape = "cotangent/core/base.hpp", "cotangent/run/tape.hpp"
    cases = [
        ([], {base: [], tape: [f"#include <{base}>", "#include <cstddef>", "#include <boost/hana/tuple.hpp>"]}),
        (["core must not include run"], {base: [f"#include <{tape}>"], tape: []}),
        (["trace must not include dynamic"],
         {"cotangent/trace/a.hpp": ["#include <cotangent/dynamic/b.hpp>"], "cotangent/dynamic/b.hpp": []}),
        (["kernels must not include graph"],
         {"cotangent/kernels/a.hpp": ["#  include <cotangent/graph/b.hpp>"], "cotangent/graph/b.hpp": []}),
        (["includes itself"], {base: ["#include <cotangent/core/b.hpp>"],
                               "cotangent/core/b.hpp": ["#include <cotangent/core/c.hpp>"],
                               "cotangent/core/c.hpp": [f"#include <{base}>"]}),
        (["which is for users"], {base: ["#include <cotangent/dynamic.hpp>"], "cotangent/dynamic.hpp": []}),
        ([], {base: [], "cotangent/cotangent.hpp": [f"#include <{base}>"], "cotangent/all.hpp": ["#include <cotangent/cotangent.hpp>"]}),
        (["cotangent/run/b: includes itself"],
         {"cotangent/run/a.hpp": ["#include <cotangent/run/b/x.hpp>"], "cotangent/run/b/x.hpp": ["#include <cotangent/run/c/x.hpp>"],
          "cotangent/run/c/x.hpp": ["#include <cotangent/run/b/y.hpp>"], "cotangent/run/b/y.hpp": []}),
        ([], {"cotangent/run/a.hpp": ["#include <cotangent/run/b/x.hpp>"], "cotangent/run/b/x.hpp": ["#include <cotangent/run/c.hpp>"],
              "cotangent/run/c.hpp": []}),
        (["must not include plan"], {"cotangent/transform/a.hpp": ["#include <cotangent/plan/b.hpp>"], "cotangent/plan/b.hpp": []}),
        ([f"holds {MOST_HEADERS + 1} headers"], {f"cotangent/core/a{k}.hpp": [] for k in range(MOST_HEADERS + 1)}),
        (["bracket its code"], {"cotangent/plan/a.hpp": ["namespace a {}"],
                                "cotangent/plan/b.hpp": ["COTANGENT_COLD_BEGIN", "namespace a {}", "COTANGENT_COLD_END"]}),
        (["must bracket all of its code"], {"cotangent/plan/a.hpp": ["COTANGENT_COLD_BEGIN", "namespace a {}"]}),
        (["after COTANGENT_COLD_BEGIN"], {base: ["COTANGENT_COLD_BEGIN", "#include <cstddef>", "COTANGENT_COLD_END"]}),
        ([f"has {MOST_LINES + 4} lines"], {base: [""] * MOST_LINES}),
        (["write the whole path"], {base: ['#include "other.hpp"']}),
        (["name the parts"], {base: ["#include <boost/hana.hpp>"]}),
        (["stay in interop"], {base: ["#include <Eigen/Core>"]}),
        (["only cotangent/io/archive/json.hpp does"], {base: ["#include <nlohmann/json.hpp>"]}),
        (["named in cotangent/kernels/simd*.hpp alone"], {base: ["#include <immintrin.h>"]}),
        (["is in no layer"], {"cotangent/misc/a.hpp": [], base: []}),
        (["holds no headers"], {}),
    ]
    for expected, tree in cases:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, lines in tree.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(header(name, *lines))
            said = check(root)
            if len(said) != len(expected) or not all(e in s for e, s in zip(expected, said)):
                return [f"expected {expected}, but it said {said}"]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / base
        path.parent.mkdir(parents=True)
        path.write_text("#pragma once\n")
        if len(check(pathlib.Path(folder))) != 2:
            return ["a header without license and guard was not noticed"]
    return []


if __name__ == "__main__":
    wrong = self_test() if sys.argv[1:] == ["--self-test"] else check(pathlib.Path(sys.argv[1]))
    print(*wrong, sep="\n", end="\n" if wrong else "")
    sys.exit(1 if wrong else 0)
