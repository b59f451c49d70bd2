// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TESTS_VERIFY_CASES_HPP
#define COTANGENT_TESTS_VERIFY_CASES_HPP

#include <cotangent/graph/verify.hpp>
#include <cotangent/ops/ops.hpp>

#include <cstdint>
#include <initializer_list>

// A sound graph, and each way to damage it with what verify says then. Read by the static and by the runtime test.

namespace verify_cases {

using namespace cotangent;

/// Stands for the loops and branches of later days: runs regions.
struct runs_regions : extend::primitive<operation_kind::control, -1> {
  static constexpr char const* name = "runs_regions";
  static constexpr derivative_kind derivative = derivative_kind::none_;
};

constexpr std::int32_t shape_of(extend::builder& b, std::initializer_list<extend::dimension> sizes) {
  extend::dimensions d;
  for (extend::dimension n : sizes) d.size[d.rank++] = n;
  return b.shape(d);
}

/// Where things stand in `sound()`.
enum place : std::int32_t { x_symbol, i_symbol, view_symbol, body_input_symbol, first_result };
enum node_place : std::int32_t {
  constant_node,
  iota_node,
  broadcast_node,
  add_node,
  reshape_node,
  slice_node,
  pad_node,
  gather_node,
  scatter_node,
  permute_node,
  matmul_node,
  sum_node,
  argmax_node,
  concatenate_node,
  convert_node,
  square_node,
  write_node,
  body_node,
  owner_node,
  named_node,
  size_node,
  node_total
};

constexpr graph sound() {
  extend::builder b;
  std::int32_t const table = shape_of(b, {4, 3});
  extend::symbol const x = b.symbol_of(element::float64, table), i = b.symbol_of(element::int32, shape_of(b, {4}));
  // a view of the first two rows of x
  extend::symbol const view = b.symbol_of(element::float64, shape_of(b, {2, 3}));
  b.edit().tensors[view].base = x;
  b.edit().tensors[view].window = b.get().numbers.size();
  for (std::int64_t n : {0, 3, 1}) b.edit().numbers.push(n);
  // a region with one input
  b.edit().regions.push({.owner = owner_node, .parent = 0});
  extend::symbol const inside = b.symbol_of(element::float64, table);
  b.edit().tensors[inside].region = 1;

  extend::symbol const in[2]{x, i};
  b.set_inputs(in, 2);
  b.set_inputs(&inside, 1, 1);
  term const tx{&b, x}, ti{&b, i};
  term const c = extend::constant(b, element::float64, shape_of(b, {3}), 2);
  (void)extend::iota(b, element::int32, 4);
  std::int64_t const last[1]{1};
  term const repeated = detail::push_as(info_of<op::broadcast>(), b, {c}, last, 1, element::float64, table);
  term const sum = tx + repeated;
  term const flat = op::reshape::of(sum, shape_of(b, {12}));
  std::int64_t const window[2]{2, 3};
  term const part = op::slice::of(flat, window, shape_of(b, {4}));
  (void)op::pad::of(part, window, shape_of(b, {12}));
  term const rows = extend::gather(tx, ti);
  (void)op::scatter_add::of(rows, ti, table);
  term const turned = extend::transpose(tx);
  term const product = extend::matmul(tx, turned);
  (void)extend::sum(product, 3);
  (void)extend::argmax(tx, 1);
  (void)b.push(info_of<op::concatenate>(), {x, sum.id}, {0});
  (void)extend::convert(ti, element::float64);
  extend::symbol const square = b.push(info_of<op::square>(), {view}); // reads the view
  // writes another view, of the square
  extend::symbol const target = b.symbol_of(element::float64, shape_of(b, {2, 3})),
               made = b.symbol_of(element::float64, table);
  b.edit().tensors[target].base = made;
  b.edit().tensors[target].window = b.get().numbers.size();
  for (std::int64_t n : {6, 3, 1}) b.edit().numbers.push(n);
  (void)b.assign(info_of<op::negate>(), &square, 1, &target, 1, nullptr, 0);
  b.region = 1;
  extend::symbol const body = b.push(info_of<op::add>(), {inside, inside});
  b.set_outputs(&body, 1, 1);
  b.region = 0;
  extend::symbol const result = b.symbol_of(element::float64, table);
  (void)b.assign(info_of<runs_regions>(), &made, 1, &result, 1, nullptr, 0);
  extend::dimensions named;
  named.rank = 1;
  named.size[0] = b.size(extent::named("n", 1));
  extend::symbol const all[2]{x, i};
  b.set_inputs(all, 2);
  extend::symbol const one = extend::constant(b, element::float64, b.shape(named), 1).id;
  (void)extend::count_of({&b, one}, 1, 0);
  extend::symbol const out[2]{result, product.id};
  b.set_outputs(out, 2);
  return b.get();
}

constexpr extend::tensor_symbol& result_of(graph& g, std::int32_t n, int k = 0) {
  return g.tensors[g.ids[g.nodes[n].first + g.nodes[n].operand_count + k]];
}
constexpr std::int32_t& operand_of(graph& g, std::int32_t n, int k = 0) {
  return g.ids[g.nodes[n].first + k];
}
constexpr std::int64_t& attribute_of(graph& g, std::int32_t n, int k = 0) {
  return g.numbers[g.nodes[n].attribute + k];
}
constexpr std::int32_t shape_like(graph& g, std::initializer_list<extend::dimension> sizes) {
  extend::dimensions d;
  for (extend::dimension n : sizes) d.size[d.rank++] = n;
  for (int k = 0; k < g.shapes.size(); ++k)
    if (g.shapes[k] == d) return k;
  return g.shapes.push(d);
}

struct damage {
  void (*to)(graph&);
  char const* text;
};

inline constexpr damage damages[]{
    // pools
    {[](graph& g) { g.regions.clear(); }, "the graph has no region"},
    {[](graph& g) { g.regions[0].input_count = 1000; },
     "inputs or outputs of a region lie outside of the graph's ids"},
    {[](graph& g) { g.regions[0].first_output = -1; },
     "inputs or outputs of a region lie outside of the graph's ids"},
    {[](graph& g) { g.ids[g.regions[0].first_input] = 1000; }, "an input of a region is not a symbol"},
    {[](graph& g) { g.ids[g.regions[0].first_output] = -2; }, "an output of a region is not a symbol"},
    {[](graph& g) { g.tensors[0].shape = 100; }, "a symbol's shape is not in the graph"},
    {[](graph& g) { g.shapes[1].rank = max_rank + 1; }, "a symbol has too many axes"},
    {[](graph& g) { g.shapes[1].size[0] = -7; }, "a symbol has a size that is not in the graph"},
    {[](graph& g) { g.tensors[0].type = static_cast<element>(9); }, "a symbol has an unknown element type"},
    {[](graph& g) { g.tensors[0].producer = 100; }, "a symbol's producer is not a node"},
    {[](graph& g) { g.tensors[0].region = 2; }, "a symbol lives in no region"},
    {[](graph& g) { g.tensors[0].name = 5; }, "a symbol's name is not in the graph"},
    {[](graph& g) { g.nodes[0].op = nullptr; }, "a node has no operation"},
    {[](graph& g) { g.nodes[0].first = 1000; },
     "a node's operands or results lie outside of the graph's ids"},
    {[](graph& g) { g.nodes[0].attribute = 1000; }, "a node's attributes lie outside of the graph's numbers"},
    {[](graph& g) { g.nodes[0].region = -1; }, "a node lives in no region"},
    {[](graph& g) { operand_of(g, add_node) = 1000; }, "an operand is not a symbol"},
    {[](graph& g) { operand_of(g, add_node, 2) = -1; }, "a result is not a symbol"},
    {[](graph& g) { operand_of(g, add_node) = extend::none; }, "an operand is missing"},
    {[](graph& g) { g.nodes[square_node].op = info_of<op::add>(); },
     "an operation has the wrong number of operands"},
    {[](graph& g) {
       g.nodes[add_node].operand_count = 1;
       g.nodes[add_node].result_count = 2;
       g.nodes[add_node].op = info_of<op::negate>();
     },
     "an operation has the wrong number of results"},
    // views
    {[](graph& g) { g.tensors[view_symbol].base = 1000; }, "a view is of something that is not a symbol"},
    {[](graph& g) { g.tensors[x_symbol].base = view_symbol; },
     "a view is of a view; it must be of the tensor behind it"},
    {[](graph& g) { g.tensors[view_symbol].base = i_symbol; },
     "a view has another element type than its tensor"},
    {[](graph& g) { g.tensors[view_symbol].window = 1000; }, "a view's window is not in the graph"},
    {[](graph& g) { g.numbers[g.tensors[view_symbol].window] = 7; },
     "a view reaches outside of its tensor"},
    {[](graph& g) { g.numbers[g.tensors[view_symbol].window + 1] = -3; },
     "a view reaches outside of its tensor"},
    // regions
    {[](graph& g) { g.regions[0].parent = 1; }, "the graph itself has a parent"},
    {[](graph& g) { g.regions[1].parent = extend::none; }, "a region has no parent"},
    {[](graph& g) { g.regions[1].owner = extend::none; }, "a region has no owner"},
    {[](graph& g) { g.regions[1].owner = add_node; },
     "a region's owner is not an operation that runs regions"},
    {[](graph& g) { g.nodes[owner_node].region = 1; }, "a region's owner does not live in its parent"},
    {[](graph& g) {
       g.regions[1].parent = 1;
       g.nodes[owner_node].region = 1;
     },
     "a region is inside itself"},
    {[](graph& g) { g.tensors[body_input_symbol].region = 0; }, "an input lives in another region"},
    {[](graph& g) { g.ids[g.regions[0].first_input + 1] = x_symbol; }, "a symbol is an input twice"},
    {[](graph& g) { g.tensors[x_symbol].producer = 0; }, "an input has a producer"},
    {[](graph& g) { operand_of(g, owner_node) = body_input_symbol; },
     "an operand lives in another region than its node; it must be passed in"},
    {[](graph& g) { g.ids[g.regions[0].first_output] = body_input_symbol; },
     "an output of a region lives in another region"},
    // order
    {[](graph& g) { operand_of(g, add_node) = operand_of(g, matmul_node, 2); },
     "an operand is defined after its use"},
    {[](graph& g) { operand_of(g, add_node) = operand_of(g, add_node, 2); },
     "an operand is defined after its use"},
    {[](graph& g) {
       extend::node const first = g.nodes[reshape_node];
       g.nodes[reshape_node] = g.nodes[slice_node];
       g.nodes[slice_node] = first;
     },
     "an operand is defined after its use"},
    {[](graph& g) {
       g.tensors.push(g.tensors[x_symbol]);
       operand_of(g, add_node) = g.tensors.size() - 1;
     },
     "an operand is defined by nothing"},
    {[](graph& g) {
       g.tensors.push(g.tensors[x_symbol]);
       g.ids[g.regions[0].first_output] = g.tensors.size() - 1;
     },
     "an output is defined by nothing"},
    {[](graph& g) { operand_of(g, reshape_node, 1) = operand_of(g, add_node, 2); },
     "a symbol is assigned twice"},
    {[](graph& g) { result_of(g, add_node).producer = 0; }, "a result names another node as its producer"},
    {[](graph& g) { result_of(g, add_node).region = 1; }, "a result lives in another region than its node"},
    {[](graph& g) {
       g.tensors.push(g.tensors[x_symbol]);
       g.tensors.back().producer = add_node;
     },
     "a symbol names a producer that does not have it as a result"},
    // element types and shapes
    {[](graph& g) { g.shapes.push(g.shapes[1]); }, "two shapes of the graph are equal"},
    {[](graph& g) { g.nodes[constant_node].attribute_count = 0; },
     "a constant needs one attribute, its bits"},
    {[](graph& g) { g.nodes[iota_node].attribute_count = 0; }, "iota needs one attribute, its axis"},
    {[](graph& g) { attribute_of(g, iota_node) = 1; }, "an iota counts along the only axis of its shape"},
    {[](graph& g) { result_of(g, iota_node).shape = shape_like(g, {4, 3}); },
     "an iota counts along the only axis of its shape"},
    {[](graph& g) { g.nodes[size_node].attribute_count = 0; }, "a size needs the dimensions to multiply"},
    {[](graph& g) { attribute_of(g, size_node) = -2; },
     "a size multiplies a dimension that is not in the graph"},
    {[](graph& g) { result_of(g, broadcast_node).type = element::float32; },
     "a broadcast changes the element type"},
    {[](graph& g) { g.nodes[broadcast_node].attribute_count = 0; },
     "a broadcast needs a result axis for each operand axis"},
    {[](graph& g) { attribute_of(g, broadcast_node) = 2; },
     "a broadcast names an axis that its result does not have"},
    {[](graph& g) { attribute_of(g, broadcast_node) = 0; },
     "a broadcast repeats an axis that is not of size 1"},
    {[](graph& g) { result_of(g, reshape_node).type = element::int32; },
     "a reshape changes the element type"},
    {[](graph& g) { result_of(g, reshape_node).shape = shape_like(g, {11}); },
     "a reshape changes the number of elements"},
    {[](graph& g) { result_of(g, slice_node).type = element::int32; }, "a slice changes the element type"},
    {[](graph& g) { attribute_of(g, slice_node) = 3; }, "a slice reaches outside of its operand"},
    {[](graph& g) { attribute_of(g, slice_node, 1) = 0; }, "a window has a step of 0"},
    {[](graph& g) { attribute_of(g, slice_node, 1) = -3; }, "a slice reaches outside of its operand"},
    {[](graph& g) { attribute_of(g, slice_node) = -9; },
     "a window starts at a dimension that is not in the graph"},
    {[](graph& g) { g.nodes[slice_node].attribute_count = 1; },
     "a window needs a start and a step for each axis"},
    {[](graph& g) { result_of(g, pad_node).shape = shape_like(g, {4, 3}); },
     "a window changes the number of axes"},
    {[](graph& g) { result_of(g, pad_node).type = element::int32; }, "a pad changes the element type"},
    {[](graph& g) { attribute_of(g, pad_node) = 3; }, "a pad puts elements outside of its result"},
    {[](graph& g) { result_of(g, scatter_node).type = element::float32; },
     "a scatter_add changes the element type"},
    {[](graph& g) { operand_of(g, scatter_node, 1) = operand_of(g, slice_node, 1); },
     "the places of a scatter_add must be integers"},
    {[](graph& g) { result_of(g, scatter_node).shape = shape_like(g, {5, 2}); },
     "the rows of a scatter_add do not fit its places"},
    {[](graph& g) { operand_of(g, add_node, 1) = operand_of(g, constant_node); },
     "the operands of an elementwise operation must have the shape of its result"},
    {[](graph& g) { result_of(g, convert_node).type = element::float32; },
     "a result has another element type than its operation gives it"},
    {[](graph& g) { attribute_of(g, sum_node) = 1; },
     "a result has another shape than its operation gives it"},
    {[](graph& g) { attribute_of(g, sum_node) = 7; }, refusals::axis_out_of_range::text},
    {[](graph& g) { attribute_of(g, argmax_node) = 0; },
     "a result has another shape than its operation gives it"},
    {[](graph& g) { g.nodes[sum_node].attribute_count = 0; }, "a reduction needs one attribute, its axes"},
    {[](graph& g) { g.nodes[concatenate_node].attribute_count = 0; },
     "a concatenation needs one attribute, its axis"},
    {[](graph& g) { g.nodes[matmul_node].attribute_count = 1; },
     "a matmul needs two attributes, which operands are transposed"},
    {[](graph& g) { attribute_of(g, matmul_node) = 1; }, refusals::matmul_inner::text},
    {[](graph& g) { attribute_of(g, concatenate_node) = 1; },
     "a result has another shape than its operation gives it"},
    {[](graph& g) { g.nodes[permute_node].attribute_count = 1; }, refusals::permute_rank::text},
    {[](graph& g) { operand_of(g, gather_node, 1) = x_symbol; }, refusals::index_not_integer::text},
    {[](graph& g) { operand_of(g, square_node) = i_symbol; },
     "the operands of an elementwise operation must have the shape of its result"},
};
inline constexpr int damage_count = static_cast<int>(sizeof(damages) / sizeof(damages[0]));

constexpr bool says(char const* a, char const* b) {
  if (a == nullptr || b == nullptr) return a == b;
  while (*a != 0 && *a == *b) ++a, ++b;
  return *a == *b;
}
constexpr bool is_found(damage const& d) {
  graph g = sound();
  d.to(g);
  return says(verify(g).text, d.text);
}

} // namespace verify_cases

#endif
