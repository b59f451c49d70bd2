# SPDX-License-Identifier: BSL-1.0
"""Functions of one number from their formulas in tests/functions.hpp. An entry there whose formula is its value and its
derivative, `dual(std::NAME(x.v), x.d ...)`, is drawn without an entry in operations.py."""
import math
import pathlib
import re

from . import numbers as n

LIST = pathlib.Path(__file__).parent.parent.parent / "tests/functions.hpp"
ENTRY = re.compile(r'function\{"(\w+)", \[\]\(auto(?: x)?, auto, auto(?: p)?\) \{ return ct::(\w+)\(([xp])\); \},\s*'
                   r"\[\]\(dual(?: x)?, dual, dual(?: p)?\) \{ return dual\(std::(\w+)\([xp]\.v\), ([xp])\.d ([*/]) (.*)\); \}\}")


def of_one_number(known, text=None):
    """`name: function` of the entries that are not known."""
    functions = {}
    for name, called, operand, value, _, sign, slope in ENTRY.findall(LIST.read_text(encoding="utf-8").split("tuple special_functions")[0] if text is None else text):
        if name == called and name not in known:
            functions[name] = function(value, sign, slope.replace(operand + ".v", "x"), known, functions, operand == "p")
    return functions


def function(value, sign, slope, known, others, positive):
    text = re.sub(r"std::(\w+)", r"\1", slope)
    names = set(re.findall(r"\b([a-z]\w*)\(", text))

    def derivative(x):
        every = {**{f: getattr(n, f) for f in names if hasattr(n, f)}, **{f: g for f, g in {**known, **others}.items() if f in names}}
        y = eval(text, {"__builtins__": {}, **every}, {"x": x})
        return y if sign == "*" else n.reciprocal(y)

    exact = n.lifted(getattr(math, value), derivative)
    low, high = (.1, 1e3) if positive else (-4, 4)

    def of(x):
        if n.checked and not low < n.plain(x) < high:
            raise n.Rough
        return exact(x)
    return of
