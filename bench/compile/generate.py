# SPDX-License-Identifier: BSL-1.0
"""Sources with gradients of a given length. With -DCOUNT what is built
prints how many nodes its graph has after backward, and has no code for it."""


def chain(steps):
    """One value after the other, each used twice: h = tanh(h w + x), and now and then y = y h."""
    body = ["auto h = x, y = x;"]
    body += ["h = ct::tanh(h * w + x);" if k % 3 else "y = y * h, h = h + y;" for k in range(steps)]
    return _source(["x", "w"], ["ct::tensor<double, 64>"] * 2, body, "ct::sum(h + y)", [0, 1])


def wide(terms):
    """A sum of terms which do not depend on each other."""
    kinds = ["ct::exp(x * {})", "ct::sin(w + {})", "x * (w - {})", "ct::square(x) * {}"]
    body = ["auto s = x * w;"]
    body += ["s = s + " + kinds[k % 4].format((k + 1) / 64) + ";" for k in range(terms)]
    return _source(["x", "w"], ["ct::tensor<double, 64>"] * 2, body, "ct::sum(s)", [0, 1])


def rows(steps):
    """A matrix that meets vectors of its rows and means of its columns: most of the gradient repeats and sums."""
    body = ["auto h = x;"]
    body += ["h = ct::tanh(h * w + b);" if k % 3 else "h = h - ct::mean(h, ct::axes<1>, ct::keep) * w;" for k in range(steps)]
    return _source(["x", "w", "b"], ["ct::tensor<double, 16, 64>"] + ["ct::tensor<double, 64>"] * 2, body, "ct::sum(h)", [0, 1, 2])


def loops(steps):
    """The chain on numbers, in the body of a loop."""
    body = ["auto const [h, y] = ct::for_loop(200, [&](auto, auto h, auto y) {"]
    body += ["  h = ct::tanh(h * w + x);" if k % 3 else "  y = y * h, h = h + y;" for k in range(steps)]
    body += ["  return std::tuple(h, y);", "}, x, w);"]
    return _source(["x", "w"], ["double"] * 2, body, "h + y", [0, 1])


def digits(layers):
    """The network of the digits example, 64-32-...-32-10 with a number of hidden layers."""
    names = ["x", "labels", "w0", "b0", "hidden_w", "hidden_b", "w", "b"]
    hidden = [f"std::array<ct::tensor<float, {shape}>, {max(1, layers - 1)}>" for shape in ("32, 32", "32")]
    types = ["ct::tensor<float, 50, 64>", "ct::tensor<std::int32_t, 50>", "ct::tensor<float, 64, 32>",
             "ct::tensor<float, 32>", *hidden, "ct::tensor<float, 32, 10>", "ct::tensor<float, 10>"]
    body = ["auto h = ct::tanh(ct::matmul(x, w0) + b0);",
            "for (std::size_t k = 0; k < hidden_w.size(); ++k) h = ct::tanh(ct::matmul(h, hidden_w[k]) + hidden_b[k]);"]
    return _source(names, types, body, "ct::mean(ct::cross_entropy(ct::matmul(h, w) + b, labels))", range(2, 8))


def _source(names, types, body, result, positions):
    parameters = ", ".join("auto " + name for name in names)
    wanted = ", ".join(str(p) for p in positions)
    variables = "".join(f"  {t} {n}{{}};\n" for t, n in zip(types, names))
    return f"""\
#include <cotangent/cotangent.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <tuple>

namespace ct = cotangent;

inline constexpr auto f = []({parameters}) {{
  {(chr(10) + '  ').join(body)}
  return {result};
}};

using gradient = decltype(ct::value_and_grad<{wanted}>(f));
using program = ct::program<gradient, {', '.join(types)}>;

int main() {{
#ifdef COUNT
  std::printf("%d\\n", static_cast<int>(program::differentiated_nodes));
#else
{variables}  auto const result = gradient()({', '.join(names)});
  return std::get<0>(result) == std::get<0>(result) ? 0 : 1;
#endif
}}
"""


FAMILIES = {"chain": chain, "wide": wide, "rows": rows, "loops": loops, "digits": digits}
