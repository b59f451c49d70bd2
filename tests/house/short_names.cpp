// SPDX-License-Identifier: BSL-1.0
// A user whose unit has short names at global scope: no header may shadow them, also where its templates are made.
// clang-format off
int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z;
int A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P, Q, R, S, T, U, V, W, X, Y, Z;
int at, axis, axes, begin, bits, bytes, call, constant, count, data, end, extent, first, from, given, graph, id, in, indices,
    input, kind, last, lanes, left, length, name, next, node, none, number, op, out, output, place, range, rank, result,
    right, rows, scalar, shape, size, start, step, stop, sum, symbol, tensor, term, to, type, value, view, wanted, where,
    width, work, workspace;
// clang-format on

#include <cotangent/all.hpp>

#include <tuple>

namespace {

constexpr auto loss = [](auto weights, auto rows_given, auto labels) {
  auto const hidden = cotangent::tanh(cotangent::matmul(rows_given, weights));
  auto const chosen = cotangent::concatenate<1>(hidden(cotangent::all, cotangent::range<0, 2>), hidden);
  return cotangent::mean(cotangent::cross_entropy(chosen, labels)) + cotangent::sum(cotangent::softmax(weights) * 2.0);
};
using program = cotangent::program<decltype(cotangent::value_and_grad<0, 1>(loss)), cotangent::tensor<float, 4, 3>,
                                   cotangent::tensor<float, "n", 4>, cotangent::tensor<int, "n">>;

} // namespace

int main() {
  cotangent::tensor<float, 4, 3> weights;
  cotangent::tensor<float, "n", 4> given_rows(5);
  cotangent::tensor<int, "n"> labels(5);
  auto const [v1, gradients] = program::call(weights, given_rows, labels);
  auto const [along, tangent] = cotangent::jvp([](auto q1) { return cotangent::sum(q1 * q1); })(weights, weights);
  return v1 > 0 && std::get<1>(gradients).size() == 20 && along + tangent == 0 ? 0 : 1;
}
