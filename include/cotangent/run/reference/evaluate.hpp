// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_REFERENCE_EVALUATE_HPP
#define COTANGENT_RUN_REFERENCE_EVALUATE_HPP

#include <cotangent/core/array.hpp>
#include <cotangent/core/error.hpp>
#include <cotangent/core/math/arithmetic.hpp>
#include <cotangent/graph/builder.hpp>
#include <cotangent/graph/order.hpp>
#include <cotangent/ops/ops.hpp>
#include <cotangent/run/reference/control.hpp>
#include <cotangent/run/reference/nodes.hpp>

#include <cstdint>
#include <source_location>

// The reference evaluation: evaluates a graph element by element, also in a constant evaluation.

namespace cotangent::refusals {
COTANGENT_REFUSAL_OF(evaluate_control, allowed, "cotangent: evaluate: only loops and branches run regions")
COTANGENT_REFUSAL_OF(evaluate_operation, allowed,
                     "cotangent: evaluate: an operation must say how its value is computed")
COTANGENT_REFUSAL_OF(evaluate_sizes, allowed,
                     "cotangent: evaluate: every extent of the graph must have a size")
} // namespace cotangent::refusals

namespace cotangent::detail {

/// A node whose result had a NaN, or an infinity, that no operand had.
struct not_finite {
  char const* operation = nullptr; // null: there is none
  bool is_nan = false;
  bool of_gradient = false;
  std::source_location where{};
};

inline namespace COTANGENT_ABI {

class evaluation {
  graph_view g_;
  std::int64_t const* sizes_;
  node_evaluation values_;
  failure failed_;
  not_finite* watched_; // set to the first one, if not null
  array<bool> needed_;
  array<symbol> pieces_; // tensors that are read or written in pieces only, and inputs that are written to
  bool views_ = false;
  region_nodes nodes_;
  sequences tape_;

  template <class Refusal> constexpr bool refuse(std::int32_t node_index) {
    failed_.why = why<Refusal>();
    failed_.node = node_index;
    if (node_index >= 0) failed_.where = g_.nodes[node_index].where;
    return false;
  }

  static constexpr bool is_known(operation const* op) noexcept {
    return op == info_of<op::loop>() || op == info_of<op::case_of>() || op == info_of<op::sequence_add>() ||
           op == info_of<op::sequence_zero>() || op == info_of<op::rows_to_sequence>() ||
           op == info_of<op::sequence_to_rows>();
  }
  constexpr bool check() {
    for (std::int32_t k = 0; k < g_.extent_count; ++k)
      if (sizes_ == nullptr || sizes_[k] < 0) return refuse<refusals::evaluate_sizes>(none);
    for (std::int32_t k = 0; k < g_.node_count; ++k) {
      node const& n = g_.nodes[k];
      if (n.op->kind == operation_kind::control ? !is_known(n.op) : n.result_count != 1)
        return refuse<refusals::evaluate_control>(k);
      bool const computes =
          n.op->kind == operation_kind::elementwise || n.op->kind == operation_kind::reduction;
      if (computes && n.op->evaluate == nullptr && n.op != info_of<op::convert>())
        return refuse<refusals::evaluate_operation>(k);
    }
    return true;
  }

  constexpr symbol root(symbol t) const { return g_.tensors[t].base == none ? t : g_.tensors[t].base; }
  constexpr bool is_view(symbol t) const { return t != none && g_.tensors[t].base != none; }
  constexpr bool needed(node const& n) const {
    for (int k = 0; k < n.result_count; ++k)
      if (needed_[g_.result(n, k)] || needed_[root(g_.result(n, k))]) return true;
    return false;
  }
  constexpr void need(symbol t) {
    if (t == none) return;
    needed_[t] = true;
    needed_[root(t)] = true;
  }
  constexpr void find_needed() {
    needed_.assign(g_.tensor_count, false);
    for (std::int32_t r = 0; r < g_.region_count; ++r)
      for (int k = 0; k < g_.output_count(r); ++k) need(g_.output(k, r));
    for (std::int32_t i = g_.node_count; i-- > 0;)
      if (node const& n = g_.nodes[i]; needed(n))
        for (int k = 0; k < n.operand_count; ++k) need(g_.operand(n, k));
  }

  /// Finds tensors that have no producer and are not inputs, and inputs that a node writes to.
  constexpr void find_pieces() {
    for (symbol t = 0; t < g_.tensor_count && !views_; ++t) views_ = is_view(t);
    if (!views_) return;
    array<bool> is_input(g_.tensor_count), written(g_.tensor_count);
    for (std::int32_t r = 0; r < g_.region_count; ++r)
      for (int k = 0; k < g_.input_count(r); ++k) is_input[g_.input(k, r)] = true;
    for (std::int32_t i = 0; i < g_.node_count; ++i)
      for (int k = 0; k < g_.nodes[i].result_count; ++k) written[root(g_.result(g_.nodes[i], k))] = true;
    for (symbol t = 0; t < g_.tensor_count; ++t)
      if (needed_[t] && g_.tensors[t].base == none && g_.tensors[t].producer == none &&
          (written[t] || !is_input[t]))
        pieces_.push(is_input[t] ? t : -1 - t);
  }

  struct control_access {
    evaluation& self;
    graph_view const& g;
    element_pools& pools;
    sequences& tape;
    constexpr place_in_pool& place(symbol t) { return self.values_.place(t); }
    constexpr std::int64_t count(symbol t) const { return self.values_.count(t); }
    constexpr void run_region(std::int32_t r) { self.run_region(r); }
  };
  constexpr void compute_control(node const& n) {
    control_access access{*this, g_, values_.pools(), tape_};
    control_evaluation<control_access>(access, n).run();
  }

  // ---- views

  /// Allocates this run's memory for tensors written in pieces, initialized from the input, or with zeros.
  constexpr void begin_pieces(std::int32_t r) {
    for (symbol const piece : pieces_) {
      symbol const t = piece < 0 ? -1 - piece : piece;
      if (g_.tensors[t].region != r) continue;
      element_pools& pools = values_.pools();
      place_in_pool const to = pools.add(g_.tensors[t].type, values_.count(t));
      if (piece < 0) pools.fill(to, scalar{element::int64}, values_.count(t));
      else pools.copy(to, pools, values_.place(t), values_.count(t));
      values_.place(t) = to;
    }
  }

  /// 0: all elements are finite; 1: there is an infinity; 2: there is a NaN.
  constexpr int worst_element(symbol t) {
    if (t == none || !is_floating(g_.tensors[t].type)) return 0;
    int worst = 0;
    for (std::int64_t i = 0, n = values_.count(t); i < n && worst < 2; ++i) {
      double const x = values_.pools().get(values_.place(t), i).template as<double>();
      worst = x != x ? 2 : x - x != 0 ? 1 : worst;
    }
    return worst;
  }
  constexpr void watch(node const& n) {
    if (watched_->operation != nullptr || n.op->kind == operation_kind::constant) return;
    int const made = worst_element(g_.result(n));
    for (int k = 0; k < n.operand_count && made != 0; ++k)
      if (worst_element(g_.operand(n, k)) >= made) return;
    if (made != 0) *watched_ = {n.op->name, made == 2, n.flags.of_gradient, n.where};
  }

  constexpr void run_region(std::int32_t r) {
    if (views_) begin_pieces(r);
    for (int p = 0; p < nodes_.count(r); ++p) {
      node const& n = g_.nodes[nodes_.at(r, p)];
      if (!needed(n)) continue;
      for (int k = 0; views_ && k < n.operand_count; ++k)
        if (is_view(g_.operand(n, k))) values_.read_view(g_.operand(n, k));
      if (n.op->kind == operation_kind::control) compute_control(n);
      else {
        values_.compute(n);
        if (watched_ != nullptr) watch(n);
      }
      for (int k = 0; views_ && k < n.result_count; ++k)
        if (is_view(g_.result(n, k))) values_.write_view(g_.result(n, k));
    }
    for (int k = 0; views_ && k < g_.output_count(r); ++k)
      if (is_view(g_.output(k, r))) values_.read_view(g_.output(k, r));
  }

public:
  constexpr evaluation(graph_view const& g, std::int64_t const* sizes, not_finite* watched = nullptr)
      : g_(g), sizes_(sizes), values_(g, sizes), watched_(watched), nodes_(g) {}

  constexpr evaluated run(elements_in const* inputs, elements_out const* outputs) {
    if (!check()) return {values_.state(), failed_};
    find_needed();
    find_pieces();
    for (int k = 0; k < g_.input_count(); ++k)
      if (symbol const t = g_.input(k); needed_[t]) values_.place(t) = values_.pools().copy_in(inputs[k], values_.count(t));
    run_region(0);
    for (int k = 0; k < g_.output_count() && outputs != nullptr; ++k)
      values_.pools().copy_out(values_.place(g_.output(k)), outputs[k], values_.count(g_.output(k)));
    return {values_.state(), failed_};
  }
};

} // namespace COTANGENT_ABI

inline namespace COTANGENT_ABI {

/// Computes the outputs of a graph for these inputs, all contiguous. `sizes`: the sizes of the graph's
/// extents. Loops, branches and views are supported: an element that no node assigns is zero.
///
/// Value: the same bits as the SIMD programs if no sum is reordered; sums are in the order of the elements.
/// Cost: about 30 of clang's constexpr steps for an element of an elementwise node, 5 for a product in a
/// matmul.
constexpr evaluated evaluate(graph_view const& g, std::int64_t const* sizes, elements_in const* inputs,
                             elements_out const* outputs) {
  bool views = false;
  for (symbol t = 0; t < g.tensor_count && !views; ++t) views = g.tensors[t].base != none;
  if (views && !in_order(g))
    if (ordering const order = order_of(g)) {
      graph const ordered = reordered(g, order);
      return detail::evaluation(ordered, sizes).run(inputs, outputs);
    }
  return detail::evaluation(g, sizes).run(inputs, outputs);
}

/// The first node, in the order of evaluation, whose result has a NaN or an infinity that no operand has. Inputs and constants
/// may have any value.
constexpr not_finite first_not_finite(graph_view const& g, std::int64_t const* sizes, elements_in const* inputs) {
  not_finite first;
  if (!in_order(g))
    if (ordering const order = order_of(g)) {
      graph const ordered = reordered(g, order);
      (void)detail::evaluation(ordered, sizes, &first).run(inputs, nullptr);
      return first;
    }
  (void)detail::evaluation(g, sizes, &first).run(inputs, nullptr);
  return first;
}

/// For inputs and outputs of one element type.
template <class T>
constexpr evaluated evaluate(graph_view const& g, T const* const* inputs, T* const* outputs) {
  array<elements_in> in;
  array<elements_out> out;
  for (int k = 0; k < g.input_count(); ++k) in.push(elements_in(inputs[k]));
  for (int k = 0; k < g.output_count(); ++k) out.push(elements_out(outputs[k]));
  return evaluate(g, nullptr, in.data(), out.data());
}

} // namespace COTANGENT_ABI
} // namespace cotangent::detail

#endif
