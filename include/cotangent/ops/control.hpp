// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_CONTROL_HPP
#define COTANGENT_OPS_CONTROL_HPP

#include <cotangent/ops/rule.hpp>

#include <cstdint>

// Loops, branches, and the sequences that loops produce. Their bodies are sub-graphs (regions): a node refers
// to symbols of its own region only, and values from outside are passed in as captures. `control/`
// builds them; their derivatives are in transform/differentiate/backward_control.hpp and transform/differentiate/forward_control.hpp.

namespace cotangent::detail {

/// The positions of operands, results and attributes of a loop:
///     operands   limit (int64 scalar, or none) | carried: initial values | captured | scanned: sequences | start
///     results    carried: final values | stacked: sequences | trips (int64 scalar)
///     attributes carried, captured, scanned, stacked, flags, tape limit, condition region or -1, body region
///     condition  (count, carried, captured) -> one bool
///     body       (count, carried, captured, slices of the scanned) -> next carried | entries of the stacked
/// The loop ends if the count (int64, from 0) reaches the limit, or if the condition, evaluated before each
/// iteration, is false. Without an iteration, the final values are the initial ones. Sequences are read and
/// written at the index `count`. A loop that is part of another one has a start (int64 scalar), at which its
/// count begins instead of 0. Gradients record at most `tape_limit` bytes; 0: no limit.
struct loop_layout {
  enum flag : std::int64_t {
    runs_first = 1, // the condition is not evaluated before the first iteration
    reverse = 2,    // the count runs from limit - 1 down to the start; needs a limit, has no condition
    starts = 4,     // there is a start; needs a limit, has no condition
  };
  /// The bits above the flags: the largest number of iterations, 0 if unknown. Only the amount of recorded
  /// values depends on it.
  static constexpr int flag_bits = 8;
  static constexpr std::int64_t at_most(std::int64_t n) noexcept {
    return n <= 0 || n >= std::int64_t{1} << 40 ? 0 : n << flag_bits;
  }
  constexpr std::int64_t most() const noexcept { return flags >> flag_bits; }
  static constexpr int first_region = 6, attribute_count = 8;

  int carried = 0, captured = 0, scanned = 0, stacked = 0;
  std::int64_t flags = 0, tape_limit = 0;
  std::int32_t condition = extend::none, body = extend::none; // regions

  static constexpr loop_layout of(std::int64_t const* a) noexcept {
    auto const number = [a](int k) { return static_cast<std::int32_t>(a[k]); };
    return {number(0), number(1), number(2), number(3), a[4], a[5], number(6), number(7)};
  }
  static constexpr loop_layout of(extend::graph_view const& g, extend::node const& n) noexcept {
    return of(g.numbers + n.attribute);
  }
  static constexpr loop_layout of(extend::builder const& b, extend::node const& n) noexcept {
    return of(b.get().numbers.data() + n.attribute);
  }
  constexpr void write(std::int64_t* a) const noexcept {
    a[0] = carried;
    a[1] = captured;
    a[2] = scanned;
    a[3] = stacked;
    a[4] = flags;
    a[5] = tape_limit;
    a[6] = condition;
    a[7] = body;
  }

  constexpr bool is_reverse() const noexcept { return (flags & reverse) != 0; }
  constexpr bool has_start() const noexcept { return (flags & starts) != 0; }

  // positions among the operands
  static constexpr int limit() noexcept { return 0; }
  constexpr int init(int k) const noexcept { return 1 + k; }
  constexpr int capture(int k) const noexcept { return 1 + carried + k; }
  constexpr int scan(int k) const noexcept { return 1 + carried + captured + k; }
  constexpr int operand_count() const noexcept {
    return 1 + carried + captured + scanned;
  } // without the start
  constexpr int start() const noexcept { return operand_count(); }
  constexpr int all_operands() const noexcept { return operand_count() + (has_start() ? 1 : 0); }
  // positions among the results
  static constexpr int last(int k) noexcept { return k; }
  constexpr int stack(int k) const noexcept { return carried + k; }
  constexpr int trips() const noexcept { return carried + stacked; }
  constexpr int result_count() const noexcept { return carried + stacked + 1; }
  // Positions among the inputs of the body; carried and captured have the same positions in the condition.
  // The input of an operand other than the limit has the operand's position.
  static constexpr int count() noexcept { return 0; }
  constexpr int input_count() const noexcept { return operand_count(); }
  constexpr int condition_input_count() const noexcept { return 1 + carried + captured; }
  // positions among the outputs of the body
  static constexpr int next(int k) noexcept { return k; }
  constexpr int entry(int k) const noexcept { return carried + k; }
  constexpr int output_count() const noexcept { return carried + stacked; }
};

/// The positions of operands, results and attributes of a branch:
///     operands   index (integer scalar) | values
///     results    one for each output of a branch
///     attributes results, values, branches, bypass: for each result a position among the values or -1, regions
///     branch     (values) -> results; `none` if no node reads the result after this branch: then any value is valid, and a
///                sequence has no entries
/// If the index selects no branch, result k is value `bypass[k]`, or zero.
struct case_layout {
  int results = 0, values = 0, branches = 0;
  std::int64_t const* bypasses = nullptr; // points into the graph's numbers: invalid once they grow
  std::int64_t const* regions = nullptr;

  static constexpr case_layout of(std::int64_t const* a) noexcept {
    int const results = static_cast<int>(a[0]);
    return {results, static_cast<int>(a[1]), static_cast<int>(a[2]), a + 3, a + first_region(results)};
  }
  static constexpr case_layout of(extend::graph_view const& g, extend::node const& n) noexcept {
    return of(g.numbers + n.attribute);
  }
  static constexpr case_layout of(extend::builder const& b, extend::node const& n) noexcept {
    return of(b.get().numbers.data() + n.attribute);
  }

  static constexpr int index() noexcept { return 0; } // among the operands
  static constexpr int value(int k) noexcept { return 1 + k; }
  constexpr int bypass(int k) const noexcept { return static_cast<int>(bypasses[k]); }
  constexpr std::int32_t branch(int k) const noexcept { return static_cast<std::int32_t>(regions[k]); }
  static constexpr int first_region(int results) noexcept { return 3 + results; } // among the attributes
  constexpr int attribute_count() const noexcept { return first_region(results) + branches; }
};

/// True if element and shape are equal and the depth of `b` is that of `a` plus `deeper`.
constexpr bool same_value_type(tensor_symbol const& a, tensor_symbol const& b, int deeper = 0) noexcept {
  return a.type == b.type && a.shape == b.shape && a.depth + deeper == b.depth;
}
constexpr bool is_scalar(graph_view const& g, symbol t, element e) noexcept {
  return g.tensors[t].type == e && g.tensors[t].depth == 0 && g.shape(t).rank == 0;
}
/// True if node `n` owns region `r`, and the region has these numbers of inputs and outputs.
constexpr bool runs(graph_view const& g, node const& n, std::int64_t r, int inputs, int outputs) noexcept {
  return r > 0 && r < g.region_count && g.regions[r].owner == &n - g.nodes &&
         g.regions[r].input_count == inputs && g.regions[r].output_count == outputs;
}

/// True if the entries of a sequence are like the rows of a tensor.
constexpr bool are_rows(graph_view const& g, symbol tensor, symbol sequence) noexcept {
  tensor_symbol const &x = g.tensors[tensor], &s = g.tensors[sequence];
  dimensions const &all = g.shape(tensor), &row = g.shape(sequence);
  if (x.depth != 0 || s.depth != 1 || x.type != s.type || all.rank != row.rank + 1) return false;
  for (int k = 0; k < row.rank; ++k)
    if (all.size[k + 1] != row.size[k]) return false;
  return true;
}

} // namespace cotangent::detail

namespace cotangent {
namespace op {

/// A loop: see `loop_layout`.
///
/// Adjoint: a loop in the other direction with the same number of iterations. Cotangents of carried values
/// are carried; those of captured values are summed. Values that it reads of the forward iterations become
/// further stacked results of this loop.
struct loop : extend::primitive<operation_kind::control, -1> {
  static constexpr char const* name = "loop";
  static constexpr char const* check(extend::graph_view const& g, extend::node const& n) {
    constexpr char const* region =
        "a loop's region has other inputs or outputs than the loop needs, or another owner";
    if (n.attribute_count != detail::loop_layout::attribute_count) return "a loop needs eight attributes";
    for (int k = 0; k < 4; ++k)
      if (g.attribute(n, k) < 0 || g.attribute(n, k) > g.id_count)
        return "a loop has a negative or absurd count";
    detail::loop_layout const at = detail::loop_layout::of(g, n);
    if (at.flags < 0 || (at.flags & ((1 << detail::loop_layout::flag_bits) - 1)) > 7)
      return "a loop has an unknown flag";
    if (at.tape_limit < 0) return "a loop has a negative tape limit";
    if (n.operand_count != at.all_operands() || n.result_count != at.result_count())
      return "a loop has other operands or results than its attributes say";
    if (!detail::runs(g, n, at.body, at.input_count(), at.output_count())) return region;
    extend::symbol const limit = g.operand(n, 0);
    if (limit != extend::none && !detail::is_scalar(g, limit, element::int64))
      return "a loop's limit must be an int64 scalar";
    if (limit == extend::none && at.condition == extend::none) return "a loop without a limit must have a condition";
    if (at.is_reverse() && (limit == extend::none || at.condition != extend::none))
      return "a loop in reverse needs a limit, and can have no condition";
    if (at.has_start() && (limit == extend::none || at.condition != extend::none))
      return "a loop with a start needs a limit, and can have no condition";
    if (at.has_start() &&
        (g.operand(n, at.start()) == extend::none || !detail::is_scalar(g, g.operand(n, at.start()), element::int64)))
      return "a loop's start must be an int64 scalar";
    if (at.condition != extend::none) {
      if (!detail::runs(g, n, at.condition, at.condition_input_count(), 1)) return region;
      extend::symbol const goes_on = g.output(0, at.condition);
      if (goes_on == extend::none || !detail::is_scalar(g, goes_on, element::boolean))
        return "the condition of a loop must be one bool";
    }
    for (std::int32_t const r : {at.condition, at.body})
      if (r != extend::none && !detail::is_scalar(g, g.input(0, r), element::int64))
        return "the count of a loop must be an int64 scalar";
    if (!detail::is_scalar(g, g.result(n, at.trips()), element::int64))
      return "the number of iterations of a loop must be an int64 scalar";
    return values(g, n, at);
  }

private:
  static constexpr char const* values(extend::graph_view const& g, extend::node const& n, detail::loop_layout const& at) {
    extend::tensor_symbol const* const t = g.tensors;
    for (int k = 1; k < at.operand_count(); ++k) {
      if (g.operand(n, k) == extend::none) return "an operand is missing";
      int const slice = k >= at.scan(0) ? 1 : 0;
      if (!detail::same_value_type(t[g.input(k, at.body)], t[g.operand(n, k)], slice))
        return "an input of a loop's body has another type than the value passed to it";
      if (slice == 0 && at.condition != extend::none &&
          !detail::same_value_type(t[g.input(k, at.condition)], t[g.operand(n, k)]))
        return "an input of a loop's condition has another type than the value passed to it";
    }
    for (int k = 0; k < at.output_count(); ++k)
      if (g.output(k, at.body) == extend::none) return "the body of a loop lacks an output";
    for (int k = 0; k < at.carried; ++k) {
      if (!detail::same_value_type(t[g.output(k, at.body)], t[g.operand(n, at.init(k))]))
        return "a carried value must keep its element type and shape";
      if (!detail::same_value_type(t[g.output(k, at.body)], t[g.result(n, k)]))
        return "a result of a loop has another type than its body gives it";
    }
    for (int k = 0; k < at.stacked; ++k)
      if (!detail::same_value_type(t[g.output(at.entry(k), at.body)], t[g.result(n, at.stack(k))], 1))
        return "a result of a loop has another type than its body gives it";
    return nullptr;
  }
};

/// Runs one of several branches: see `case_layout`.
///
/// Adjoint: the adjoints of the branches, selected by the same index; the index itself has no derivative.
/// Values that they read of the branches become further results. A value that a branch does not depend on
/// gets zeros from it.
struct case_of : extend::primitive<operation_kind::control, -1> {
  static constexpr char const* name = "case_of";
  static constexpr char const* check(extend::graph_view const& g, extend::node const& n) {
    if (n.attribute_count < 3 || g.attribute(n, 0) < 0 || g.attribute(n, 1) < 0 || g.attribute(n, 2) < 0 ||
        g.attribute(n, 0) > g.id_count || g.attribute(n, 1) > g.id_count || g.attribute(n, 2) > g.id_count)
      return "a case_of has a negative or absurd count";
    detail::case_layout const at = detail::case_layout::of(g, n);
    if (n.attribute_count != at.attribute_count() || n.operand_count != 1 + at.values ||
        n.result_count != at.results)
      return "a case_of has other operands or results than its attributes say";
    for (int k = 0; k < n.operand_count; ++k)
      if (g.operand(n, k) == extend::none) return "an operand is missing";
    extend::symbol const index = g.operand(n, 0);
    if (!detail::is_scalar(g, index, element::int64) && !detail::is_scalar(g, index, element::int32))
      return "the index of a case_of must be an integer scalar";
    extend::tensor_symbol const* const t = g.tensors;
    for (int k = 0; k < at.results; ++k)
      if (at.bypass(k) < -1 || at.bypass(k) >= at.values ||
          (at.bypass(k) >= 0 &&
           !detail::same_value_type(t[g.operand(n, 1 + at.bypass(k))], t[g.result(n, k)])))
        return "a value passed through by a case_of must have the type of its result";
    for (int j = 0; j < at.branches; ++j) {
      std::int32_t const r = at.branch(j);
      if (!detail::runs(g, n, at.regions[j], at.values, at.results))
        return "a branch has other inputs or outputs than its case_of needs, or another owner";
      for (int k = 0; k < at.values; ++k)
        if (!detail::same_value_type(t[g.input(k, r)], t[g.operand(n, 1 + k)]))
          return "an input of a branch has another type than the value passed to it";
      for (int k = 0; k < at.results; ++k)
        if (g.output(k, r) != extend::none && !detail::same_value_type(t[g.output(k, r)], t[g.result(n, k)]))
          return "all branches must give the same types";
    }
    return nullptr;
  }
};

/// No operation, operand or result: the remains of a deleted node, which keep the indices of the others.
struct nothing : extend::primitive<operation_kind::control, 0> {
  static constexpr char const* name = "nothing";
  static constexpr derivative_kind derivative = derivative_kind::zero;
  static constexpr char const* check(extend::graph_view const&, extend::node const& n) {
    return n.operand_count == 0 && n.result_count == 0 ? nullptr : "a nothing has no operands and no results";
  }
};

/// The entrywise sum of two sequences of one type, as long as the longer one.
struct sequence_add : extend::primitive<operation_kind::control, 2> {
  static constexpr char const* name = "sequence_add";
  static constexpr void adjoint(adjoint_rule& r) {
    if (r.wanted(0)) r.give(0, r.dy());
    if (r.wanted(1)) r.give(1, r.dy());
  }
  static constexpr void tangent(tangent_rule& r);
  static constexpr char const* check(extend::graph_view const& g, extend::node const& n) {
    if (n.operand_count != 2 || n.result_count != 1) return "an operation has the wrong number of operands";
    for (int k = 0; k < 2; ++k)
      if (g.operand(n, k) == extend::none ||
          !detail::same_value_type(g.tensors[g.operand(n, k)], g.tensors[g.result(n)]))
        return "only sequences of the same type can be added";
    return g.tensors[g.result(n)].depth > 0 ? nullptr : "only sequences of the same type can be added";
  }
};

/// A sequence of zeros: it has no entries.
struct sequence_zero : extend::primitive<operation_kind::control, 0> {
  static constexpr char const* name = "sequence_zero";
  static constexpr derivative_kind derivative = derivative_kind::zero;
  static constexpr char const* check(extend::graph_view const& g, extend::node const& n) {
    return n.operand_count == 0 && n.result_count == 1 && g.tensors[g.result(n)].depth > 0
               ? nullptr
               : "a sequence_zero has no operands and gives one sequence";
  }
};

/// The sequence of the rows of a tensor along axis 0. Adjoint: sequence_to_rows.
struct rows_to_sequence : extend::primitive<operation_kind::control, 1> {
  static constexpr char const* name = "rows_to_sequence";
  static constexpr void adjoint(adjoint_rule& r);
  static constexpr void tangent(tangent_rule& r);
  static constexpr char const* check(extend::graph_view const& g, extend::node const& n) {
    if (n.operand_count != 1 || n.result_count != 1) return "an operation has the wrong number of operands";
    if (g.operand(n, 0) == extend::none || !detail::are_rows(g, g.operand(n, 0), g.result(n)))
      return "a sequence of rows has entries like the rows of a tensor";
    return nullptr;
  }
};

/// The tensor whose rows along axis 0 are the entries of a sequence; rows without an entry are zero. Adjoint: rows_to_sequence.
struct sequence_to_rows : extend::primitive<operation_kind::control, 1> {
  static constexpr char const* name = "sequence_to_rows";
  static constexpr void adjoint(adjoint_rule& r);
  static constexpr void tangent(tangent_rule& r);
  static constexpr char const* check(extend::graph_view const& g, extend::node const& n) {
    if (n.operand_count != 1 || n.result_count != 1) return "an operation has the wrong number of operands";
    if (g.operand(n, 0) == extend::none || !detail::are_rows(g, g.result(n), g.operand(n, 0)))
      return "a sequence of rows has entries like the rows of a tensor";
    return nullptr;
  }
};

} // namespace op

namespace detail {
using control_operations = operations<op::loop, op::case_of, op::sequence_add, op::sequence_zero, op::rows_to_sequence,
                                      op::sequence_to_rows, op::nothing>;
} // namespace detail

namespace detail {

/// The index of the first region among the attributes `a` of a node; the regions are the last attributes.
/// `attribute_count` if there are none.
constexpr int first_region(node const& n, std::int64_t const* a) noexcept {
  if (n.op == info_of<op::loop>()) return loop_layout::first_region;
  return n.op == info_of<op::case_of>() ? case_layout::first_region(static_cast<int>(a[0]))
                                        : n.attribute_count;
}

} // namespace detail

namespace extend {

constexpr term sequence_add(term x, term y) {
  builder& b = *x.b;
  symbol const operands[2]{x.id, y.id};
  symbol const sum = b.symbol_of(x.type(), x.shape_id(), b.tensor(x.id).depth);
  (void)b.assign(info_of<op::sequence_add>(), operands, 2, &sum, 1, nullptr, 0, b.place);
  return {&b, sum};
}
constexpr term sequence_zero(builder& b, element type, std::int32_t shape, int depth) {
  symbol const y = b.symbol_of(type, shape, depth);
  (void)b.assign(info_of<op::sequence_zero>(), nullptr, 0, &y, 1, nullptr, 0, b.place);
  return {&b, y};
}
constexpr term rows_to_sequence(term x) {
  builder& b = *x.b;
  dimensions const all = x.dims();
  dimensions row{all.rank - 1, {}};
  for (int k = 0; k < row.rank; ++k) row.size[k] = all.size[k + 1];
  symbol const y = b.symbol_of(x.type(), b.shape(row), 1);
  (void)b.assign(info_of<op::rows_to_sequence>(), &x.id, 1, &y, 1, nullptr, 0, b.place);
  return {&b, y};
}
/// `shape`: that of the result.
constexpr term sequence_to_rows(term x, std::int32_t shape) {
  builder& b = *x.b;
  symbol const y = b.symbol_of(x.type(), shape);
  (void)b.assign(info_of<op::sequence_to_rows>(), &x.id, 1, &y, 1, nullptr, 0, b.place);
  return {&b, y};
}

} // namespace extend

constexpr void op::sequence_add::tangent(tangent_rule& r) {
  r.give(!r.has(0) ? r.dx(1) : !r.has(1) ? r.dx(0) : extend::sequence_add(r.dx(0), r.dx(1)));
}

constexpr void op::rows_to_sequence::adjoint(adjoint_rule& r) {
  r.give(0, extend::sequence_to_rows(r.dy(), r.x().shape_id()));
}
constexpr void op::rows_to_sequence::tangent(tangent_rule& r) { r.give(extend::rows_to_sequence(r.dx())); }
constexpr void op::sequence_to_rows::adjoint(adjoint_rule& r) { r.give(0, extend::rows_to_sequence(r.dy())); }
constexpr void op::sequence_to_rows::tangent(tangent_rule& r) {
  r.give(extend::sequence_to_rows(r.dx(), r.y().shape_id()));
}

} // namespace cotangent

#endif
