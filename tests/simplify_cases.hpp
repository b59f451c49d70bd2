// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TESTS_SIMPLIFY_CASES_HPP
#define COTANGENT_TESTS_SIMPLIFY_CASES_HPP

#include <cotangent/transform/pipeline.hpp>

#include "reference.hpp"

#include <cstdint>

// One line for each rewrite: the formula, and the operations after simplification. The static and the runtime test read it.

namespace simplify_cases {

using namespace cotangent;

constexpr std::int32_t shape_of(extend::builder& b, std::initializer_list<extend::dimension> sizes) {
  extend::dimensions d;
  for (extend::dimension n : sizes) d.size[d.rank++] = n;
  return b.shape(d);
}

/// The tensors of the cases: tables [4, 3], a row [3], a column [4, 1], a scalar, a square [3, 3], integers [4, 3],
/// a condition [4, 3], and a tensor [2, 1, 3, 2].
struct given {
  term x, y, row, column, s, square, i, c, t;
  constexpr term as_table(term small) const { return extend::broadcast_to(small, x.shape_id()); }
};

struct sample {
  char const* sentence;
  term (*write)(given const&);
  char const* left; // names of operations, each followed by a space
  bool fuses = false;
};

constexpr void write(extend::builder& b, sample const& c) {
  std::int32_t const table = shape_of(b, {4, 3});
  auto const input = [&](element e, std::int32_t shape) { return term{&b, b.symbol_of(e, shape)}; };
  given const g{input(element::float64, table),
                input(element::float64, table),
                input(element::float64, shape_of(b, {3})),
                input(element::float64, shape_of(b, {4, 1})),
                input(element::float64, 0),
                input(element::float64, shape_of(b, {3, 3})),
                input(element::int32, table),
                input(element::boolean, table),
                input(element::float64, shape_of(b, {2, 1, 3, 2}))};
  extend::symbol const all[]{g.x.id, g.y.id, g.row.id, g.column.id, g.s.id, g.square.id, g.i.id, g.c.id, g.t.id};
  b.set_inputs(all, 9);
  extend::symbol const y = c.write(g).id;
  b.set_outputs(&y, 1);
}

/// Whether the operations of a graph, in order, are those in a list of names.
constexpr bool consists_of(extend::graph_view const& g, char const* names) {
  for (std::int32_t i = 0; i < g.node_count; ++i) {
    for (char const* n = g.nodes[i].op->name; *n != 0; ++n, ++names)
      if (*names != *n) return false;
    if (*names++ != ' ') return false;
  }
  return *names == 0;
}

constexpr bool holds(sample const& c) {
  extend::builder b;
  write(b, c);
  graph const less = detail::simplify(b.get(), {.rewrite = true, .fuse_multiply_add = c.fuses});
  return b.failed().why == nullptr && extend::graph_view(less).input_count() == 9 && consists_of(less, c.left);
}

namespace e = extend;

constexpr term permuted(term x, std::initializer_list<std::int64_t> axes) {
  return op::permute::of(x, axes.begin());
}
constexpr term shaped(term x, std::initializer_list<extend::dimension> sizes) {
  return op::reshape::of(x, shape_of(*x.b, sizes));
}
constexpr term number(given const& g, double v) { return e::constant_like(g.x, v); }
constexpr term power(term x, double p) { return e::apply<op::pow>(x, e::constant_like(x, p)); }
constexpr term padded(term x, std::initializer_list<std::int64_t> window,
                      std::initializer_list<extend::dimension> to) {
  return op::pad::of(x, window.begin(), shape_of(*x.b, to));
}
constexpr term sliced(term x, std::initializer_list<std::int64_t> window,
                      std::initializer_list<extend::dimension> to) {
  return op::slice::of(x, window.begin(), shape_of(*x.b, to));
}

constexpr term joined(std::initializer_list<term> all, std::int64_t axis) {
  extend::symbol x[4]{};
  int n = 0;
  for (term const& t : all) x[n++] = t.id;
  return {all.begin()->b, all.begin()->b->push(info_of<op::concatenate>(), x, n, &axis, 1)};
}

using G = given const&;

inline constexpr sample cases[]{
    // constants
    {"an elementwise operation on constants is a constant",
     [](G g) { return g.x - (number(g, 2) * 3 + 1) / 2; }, "constant sub "},
    {"a comparison of constants is a constant", [](G g) { return e::select(number(g, 2) < 3, g.x, g.y); },
     ""},
    {"a division by a constant zero stays", [](G g) { return g.x + number(g, 2) / 0; },
     "constant constant div broadcast add "},
    {"a converted constant is a constant",
     [](G g) { return g.x + e::convert(e::convert(number(g, 2.5), element::int32), element::float64); },
     "constant add "},
    {"a constant keeps being one when it moves",
     [](G g) { return g.x + permuted(shaped(number(g, 2), {3, 4}), {1, 0}); }, "constant add "},
    {"the sum of a constant is counted", [](G g) { return e::sum(number(g, 2), 3) * g.s; }, "constant mul "},
    {"the largest of a constant is the constant", [](G g) { return e::max(number(g, 2), 3) + g.s; },
     "constant add "},
    // neutral elements
    {"x + 0", [](G g) { return g.x + 0; }, ""},
    {"0 + x", [](G g) { return 0 + g.x; }, ""},
    {"x - 0", [](G g) { return g.x - 0; }, ""},
    {"0 - x", [](G g) { return 0 - g.x; }, "neg "},
    {"x * 1", [](G g) { return g.x * 1; }, ""},
    {"1 * x", [](G g) { return 1 * g.x; }, ""},
    {"x / 1", [](G g) { return g.x / 1; }, ""},
    {"x * 0", [](G g) { return g.x * 0; }, "constant "},
    {"0 / x", [](G g) { return 0 / g.x; }, "constant "},
    {"x - x stays: it tells infinities and NaN from numbers", [](G g) { return g.x - g.x; }, "sub "},
    {"integers too", [](G g) { return (g.i + 0) * 1 - 0; }, ""},
    {"x + x is 2 x", [](G g) { return g.x + g.x; }, "constant mul "},
    // signs
    {"-(-x)", [](G g) { return -(-g.x); }, ""},
    {"x - (-y)", [](G g) { return g.x - (-g.y); }, "add "},
    {"x + (-y)", [](G g) { return g.x + (-g.y); }, "sub "},
    {"(-x) + y", [](G g) { return -g.x + g.y; }, "sub "},
    {"(-x) - y", [](G g) { return -g.x - g.y; }, "add neg "},
    {"-(x - y)", [](G g) { return -(g.x - g.y); }, "sub "},
    {"x * -1", [](G g) { return g.x * -1; }, "neg "},
    {"x / -1", [](G g) { return g.x / -1; }, "neg "},
    {"(-x) (-y)", [](G g) { return -g.x * -g.y; }, "mul "},
    {"(-x) y", [](G g) { return e::apply<op::exp>(g.y - (-g.x * g.y)); }, "mul add exp "},
    {"(-x) 2", [](G g) { return -g.x * 2; }, "constant mul "},
    {"-(x 2)", [](G g) { return -(g.x * 2); }, "constant mul "},
    {"-(x s)", [](G g) { return -(g.x * g.s); }, "neg broadcast mul "},
    {"(-x) / y", [](G g) { return g.x - -g.x / g.y; }, "div add "},
    {"x / (-y)", [](G g) { return g.x - g.x / -g.y; }, "div add "},
    // powers
    {"x to the power 2", [](G g) { return power(g.x, 2); }, "mul "},
    {"x to the power 3", [](G g) { return power(g.x, 3); }, "mul mul "},
    {"x to the power 1", [](G g) { return power(g.x, 1); }, ""},
    {"x to the power 0", [](G g) { return power(g.x, 0); }, "constant "},
    {"x to the power -1", [](G g) { return power(g.x, -1); }, "reciprocal "},
    {"x to the power 1/2", [](G g) { return power(g.x, 0.5); }, "sqrt "},
    {"x to another power", [](G g) { return power(g.x, 2.5); }, "constant pow "},
    {"a square is a product", [](G g) { return e::apply<op::square>(g.x); }, "mul "},
    // choosing
    {"a choice by a constant", [](G g) { return e::select(number(g, 1) == 2, g.x, g.y); }, ""},
    {"a choice between equals", [](G g) { return e::select(g.c, g.x, g.x); }, ""},
    {"a choice by the contrary", [](G g) { return e::select(!g.c, g.x, g.y); }, "select "},
    {"not not", [](G g) { return e::select(!!g.c, g.x, g.y); }, "select "},
    {"a conversion to the same",
     [](G g) { return term{g.x.b, g.x.b->push(info_of<op::convert>(), {g.x.id}, {1})}; }, ""},
    {"identity and the border for gradients vanish",
     [](G g) { return e::apply<op::identity>(e::stop_gradient(g.x)); }, ""},
    // movement
    {"reshapes meet", [](G g) { return shaped(shaped(g.x, {6, 2}), {2, 6}); }, "reshape "},
    {"a reshape back", [](G g) { return shaped(shaped(g.x, {6, 2}), {4, 3}); }, ""},
    {"permutations meet", [](G g) { return permuted(permuted(g.t, {3, 1, 0, 2}), {1, 3, 2, 0}); },
     "permute "},
    {"a permutation back", [](G g) { return permuted(permuted(g.t, {3, 1, 0, 2}), {2, 1, 3, 0}); }, ""},
    {"broadcasts meet",
     [](G g) { return e::broadcast_to(e::broadcast_to(g.s, g.row.shape_id()), g.x.shape_id()); },
     "broadcast "},
    {"axes of size 1 are not repeated but left out", [](G g) { return g.x + g.as_table(g.column); },
     "reshape broadcast add "},
    {"a broadcast that repeats nothing is a reshape",
     [](G g) { return e::broadcast_to(g.row, shape_of(*g.x.b, {1, 3})); }, "reshape "},
    {"a permuted broadcast", [](G g) { return permuted(g.as_table(g.row), {1, 0}); }, "broadcast "},
    {"a reshaped broadcast", [](G g) { return shaped(g.as_table(g.row), {4, 1, 3}); }, "broadcast "},
    {"the window of all", [](G g) { return sliced(g.x, {0, 1, 0, 1}, {4, 3}); }, ""},
    {"windows meet", [](G g) { return sliced(sliced(g.x, {1, 1, 0, 2}, {3, 2}), {1, 1, 1, 1}, {2, 1}); },
     "slice "},
    {"pads meet", [](G g) { return padded(padded(g.x, {1, 1, 0, 2}, {6, 5}), {1, 2, 1, 1}, {12, 7}); },
     "pad "},
    {"a window takes back what a pad put",
     [](G g) { return sliced(padded(g.x, {1, 2, 0, 1}, {9, 4}), {1, 2, 0, 1}, {4, 3}); }, ""},
    {"a pad of zeros", [](G g) { return padded(number(g, 0), {1, 1, 0, 1}, {5, 3}); }, "constant "},
    {"a window of a constant", [](G g) { return sliced(number(g, 7), {1, 1, 0, 1}, {2, 3}); }, "constant "},
    {"what was joined is joined once", [](G g) { return joined({joined({g.x, g.y}, 0), g.x}, 0); },
     "concatenate "},
    {"what was joined along another axis stays",
     [](G g) { return joined({joined({g.x, g.y}, 0), joined({g.y, g.x}, 0)}, 1); },
     "concatenate concatenate concatenate "},
    {"a window of a join that lies in one operand",
     [](G g) { return sliced(joined({g.x, g.y}, 0), {5, 1, 1, 1}, {2, 2}); }, "slice "},
    {"an operand of a join",
     [](G g) { return sliced(joined({g.x, g.y}, 0), {4, 1, 0, 1}, {4, 3}); }, ""},
    {"a window of a join that cuts two operands",
     [](G g) { return sliced(joined({g.x, g.y}, 0), {2, 1, 0, 1}, {4, 3}); }, "slice slice concatenate "},
    {"a window with a step over two operands stays",
     [](G g) { return sliced(joined({g.x, g.y}, 0), {0, 2, 0, 1}, {4, 3}); }, "concatenate slice "},
    {"pads next to each other are joined",
     [](G g) { return padded(g.x, {0, 1, 0, 1}, {9, 3}) + padded(g.y, {4, 1, 0, 1}, {9, 3}); },
     "concatenate pad "},
    {"pads that fill everything are one tensor",
     [](G g) { return padded(g.x, {4, 1, 0, 1}, {8, 3}) + padded(g.y, {0, 1, 0, 1}, {8, 3}); },
     "concatenate "},
    {"of three pads the outer ones may come first",
     [](G g) {
       return padded(g.x, {0, 1, 0, 1}, {12, 3}) + padded(g.y, {8, 1, 0, 1}, {12, 3}) +
              padded(g.x * g.y, {4, 1, 0, 1}, {12, 3});
     },
     "mul concatenate "},
    {"pads tile in two directions",
     [](G g) {
       return padded(g.x, {0, 1, 0, 1}, {8, 6}) + padded(g.y, {0, 1, 3, 1}, {8, 6}) +
              padded(g.x, {4, 1, 0, 1}, {8, 6}) + padded(g.y, {4, 1, 3, 1}, {8, 6});
     },
     "concatenate concatenate "},
    {"pads that overlap stay",
     [](G g) { return padded(g.x, {0, 1, 0, 1}, {7, 3}) + padded(g.y, {3, 1, 0, 1}, {7, 3}); },
     "pad pad add "},
    {"pads with a gap stay",
     [](G g) { return padded(g.x, {0, 1, 0, 1}, {9, 3}) + padded(g.y, {5, 1, 0, 1}, {9, 3}); },
     "pad pad add "},
    {"pads between each other stay",
     [](G g) { return padded(g.x, {0, 2, 0, 1}, {8, 3}) + padded(g.y, {1, 2, 0, 1}, {8, 3}); },
     "pad pad add "},
    {"a pad that is read elsewhere stays",
     [](G g) {
       term const p = padded(g.x, {4, 1, 0, 1}, {8, 3});
       return p * (p + padded(g.y, {0, 1, 0, 1}, {8, 3}));
     },
     "pad pad add mul "},
    {"one tensor joined with nothing",
     [](G g) { return term{g.x.b, g.x.b->push(info_of<op::concatenate>(), {g.x.id}, {0})}; }, ""},
    // matrices
    {"transposed operands are flags",
     [](G g) { return e::matmul(permuted(g.square, {1, 0}), permuted(g.x, {1, 0})); }, "matmul "},
    {"a transposed product", [](G g) { return permuted(e::matmul(g.x, g.square), {1, 0}); }, "matmul "},
    // hoisting
    {"a division by a scalar", [](G g) { return g.x / g.s; }, "reciprocal broadcast mul "},
    {"a division by a row", [](G g) { return g.x / g.row; }, "reciprocal broadcast mul "},
    {"a division by a number", [](G g) { return g.x / 3; }, "constant mul "},
    {"divisions by a scalar share one reciprocal",
     [](G g) {
       term const one = e::apply<op::log>(g.s + 1) / g.s, other = e::sum(g.x, 3) / g.s;
       return one + other;
     },
     "constant add log reciprocal mul sum mul add "},
    {"a scalar and what repeats it share one reciprocal",
     [](G g) {
       term const large = g.x / g.s;
       return large - g.as_table(-3 / g.s);
     },
     "reciprocal broadcast mul constant mul broadcast sub "},
    {"one division by a scalar stays", [](G g) { return e::sum(g.x, 3) / g.s; }, "sum div "},
    {"divisions by what is as large stay", [](G g) { return (g.x / g.y + 1) / g.y; },
     "div constant add div "},
    {"a division by a product", [](G g) { return g.x / (g.y * g.s); }, "div reciprocal broadcast mul "},
    {"a number divided", [](G g) { return 1 / g.x; }, "reciprocal "},
    {"work on a scalar is done once", [](G g) { return g.x - e::apply<op::exp>(g.as_table(g.s) * 2 + 1); },
     "constant mul constant add exp broadcast sub "},
    {"work on a row and a scalar is done on the row",
     [](G g) { return g.x - g.as_table(g.row) * g.as_table(g.s); }, "broadcast mul broadcast sub "},
    {"work on a row and a column is done on the table",
     [](G g) {
       term const column = g.as_table(g.column);
       return g.as_table(g.row) * column;
     },
     "reshape broadcast broadcast mul "},
    // products
    {"numbers meet", [](G g) { return 2 * (3 * g.x); }, "constant mul "},
    {"small factors meet", [](G g) { return g.x * g.s * g.row; }, "broadcast mul broadcast mul "},
    {"small factors of both", [](G g) { return (g.x * 2) * (g.y * g.s); }, "mul constant mul broadcast mul "},
    {"a small factor comes last", [](G g) { return g.x * g.s * g.y; }, "broadcast mul mul "},
    {"work happens before axes of size 1 are given",
     [](G g) { return shaped(e::apply<op::exp>(shaped(g.row, {1, 3}) * 2 + 1), {3}); },
     "constant mul constant add exp "},
    {"work happens before both are given axes of size 1",
     [](G g) { return shaped(g.row, {1, 3}) * shaped(e::sum(g.x, 1), {1, 3}); }, "sum mul reshape "},
    // sums
    {"a small factor leaves a sum", [](G g) { return e::sum(g.x * g.s, 3); }, "sum mul "},
    {"a number leaves a sum", [](G g) { return e::sum(2 * g.x, 1); }, "sum constant mul "},
    {"a row leaves a sum over columns", [](G g) { return e::sum(g.x * g.row, 1); }, "sum mul "},
    {"a row does not leave a sum over rows", [](G g) { return e::sum(g.x * g.row, 2); },
     "broadcast mul sum "},
    {"a square of a scaled one leaves it scaled by the square",
     [](G g) { return e::sum(e::apply<op::square>(g.x * g.s), 3); }, "mul mul sum mul "},
    {"a small factor inside a product leaves its sum, though the product is read elsewhere",
     [](G g) {
       term const scaled = g.x * g.s, z = e::sum(scaled * g.y, 3);
       return z + e::max(scaled, 3);
     },
     "broadcast mul mul sum mul reduce_max add "},
    {"a sign leaves a sum", [](G g) { return e::sum(-g.x, 3); }, "sum neg "},
    {"a sum of scaled terms is the scaled sums",
     [](G g) {
       term const left = g.x * g.row, right = g.y * g.s;
       return e::sum(left - right, 1);
     },
     "sum mul sum broadcast mul sub "},
    {"a sum of scaled terms that are read elsewhere is the scaled sums",
     [](G g) {
       term const left = g.x * g.s, right = g.y * 2, both = left + right, most = e::max(both, 3);
       return e::sum(both, 3) + most;
     },
     "broadcast mul constant mul add reduce_max sum mul sum constant mul add add "},
    {"a sum of two products is two sums",
     [](G g) {
       term const left = g.x * g.y, right = g.y * g.y;
       return e::sum(left - right, 3);
     },
     "mul mul sum sum sub "},
    {"a sum of two products that is read elsewhere stays",
     [](G g) {
       term const left = g.x * g.y, right = g.y * g.y, both = left - right, most = e::max(both, 3);
       return e::sum(both, 3) + most;
     },
     "mul mul sub reduce_max sum add "},
    {"a sum of terms that are no products stays", [](G g) { return e::sum(g.x + g.as_table(g.s), 3); },
     "broadcast add sum "},
    {"what is added to a product everywhere is counted",
     [](G g) { return e::sum(g.x * g.y + g.as_table(g.s), 3); }, "mul sum constant mul add "},
    {"what is subtracted from a product everywhere is counted",
     [](G g) { return e::sum(g.x * g.y - g.as_table(g.s) - 3, 3); },
     "mul constant add sum constant mul sub "},
    {"what a product is subtracted from is counted",
     [](G g) { return e::sum(g.as_table(g.s) - (g.x * g.y - 3), 3); },
     "mul constant add sum constant mul sub "},
    {"what stands between products is counted",
     [](G g) { return e::sum(3 - (g.as_table(g.s) - g.x * g.y), 3); },
     "mul constant sub sum constant mul add "},
    {"a row that is added everywhere is counted by rows",
     [](G g) { return e::sum(g.x * g.y + g.as_table(g.row), 1); }, "mul sum constant mul add "},
    {"a row that is added stays in a sum over its axis",
     [](G g) {
       term const product = g.x * g.y;
       return e::sum(product + g.as_table(g.row), 2);
     },
     "mul broadcast add sum "},
    {"what is added to a product stays where the sum is read elsewhere",
     [](G g) {
       term const product = g.x * g.y, both = product + g.as_table(g.s), z = e::sum(both, 3);
       return z + e::max(both, 3);
     },
     "mul broadcast add sum reduce_max add "},
    {"sums meet", [](G g) { return e::sum(e::sum(g.t, 5), 2); }, "sum "},
    {"what repeats is counted", [](G g) { return e::sum(g.as_table(g.row), 3); }, "sum constant mul "},
    {"the largest of what repeats", [](G g) { return e::max(g.as_table(g.row), 3); }, "reduce_max "},
    {"the largest of the largest", [](G g) { return e::max(e::max(g.x, 1), 1); }, "reduce_max "},
    {"a sum over axes of size 1", [](G g) { return e::sum(g.column, 2); }, "reshape "},
    {"a mean multiplies", [](G g) { return e::mean(g.x, 3); }, "sum constant mul "},
    {"the largest over axes that were kept", [](G g) { return e::max(e::max(g.x, 2, true), 3); },
     "reduce_max "},
    {"the sum over axes that were kept", [](G g) { return e::sum(e::sum(g.x, 2, true), 3); }, "sum "},
    // what is not needed
    {"nothing is left of what nobody reads",
     [](G g) {
       (void)(g.x * g.y + 1);
       return g.x;
     },
     ""},
    {"what is equal is done once",
     [](G g) {
       term const top = e::apply<op::exp>(g.x * g.y);
       return top / e::apply<op::log>(g.y * g.x);
     },
     "mul exp log div "},
    // fused multiply-adds
    {"x y + c", [](G g) { return g.x * g.y + g.as_table(g.row); }, "broadcast fma ", true},
    {"c + x y", [](G g) { return g.as_table(g.row) + g.x * g.y; }, "broadcast fma ", true},
    {"x y - c", [](G g) { return g.x * g.y - g.as_table(g.row); }, "neg broadcast fma ", true},
    {"x y - 1", [](G g) { return g.x * g.y - 1; }, "constant fma ", true},
    {"x y - c of the same size", [](G g) { return g.x * g.y - g.x; }, "neg fma ", true},
    {"c - x y", [](G g) { return g.y - g.x * g.y; }, "neg fma ", true},
    {"c - s x", [](G g) { return g.y - g.s * g.x; }, "neg broadcast fma ", true},
    {"c - 2 x", [](G g) { return g.y - 2 * g.x; }, "constant fma ", true},
    {"the later of two products", [](G g) { return g.x * g.x + g.y * g.y; }, "mul fma ", true},
    {"a product that is read elsewhere stays", [](G g) { return (g.x * g.y + g.y) / (g.x * g.y); },
     "mul add div ", true},
    {"a product that is only added", [](G g) { return (g.x * g.y + g.y) / (g.x * g.y + g.x); },
     "fma fma div ", true},
    {"2 x y + 2 x", [](G g) { return 2 * (g.x * g.y) + 2 * g.x; }, "constant fma mul ", true},
    {"2 x y - 2 x", [](G g) { return 2 * (g.x * g.y) - 2 * g.x; }, "constant neg fma mul ", true},
    {"-2 x y - 2 x", [](G g) { return -2 * (g.x * g.y) - 2 * g.x; }, "constant fma mul ", true},
    {"2 x y + 3 x",
     [](G g) {
       term const p = 2 * (g.x * g.y), q = 3 * g.x;
       return p + q;
     },
     "mul constant constant mul fma ", true},
    {"2 x y + 2 x, read twice",
     [](G g) {
       term const p = 2 * (g.x * g.y), q = e::apply<op::exp>(p);
       return q + (p + 2 * g.x);
     },
     "mul constant mul exp fma add ", true},
    {"2 i j + 3 i",
     [](G g) {
       term const p = 2 * (g.i * g.i), q = 3 * g.i;
       return p + q;
     },
     "mul constant mul constant mul add ", true},
    {"integers are not fused", [](G g) { return g.i * g.i + g.i; }, "mul add ", true},
    {"a chain of products", [](G g) { return g.x * g.x + g.y * g.y + g.x * g.y; }, "mul fma fma ", true},
};

inline constexpr int case_count = static_cast<int>(sizeof(cases) / sizeof(cases[0]));

} // namespace simplify_cases

#endif
