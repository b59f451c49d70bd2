// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_DIFFERENTIATE_FORWARD_SWEEP_HPP
#define COTANGENT_TRANSFORM_DIFFERENTIATE_FORWARD_SWEEP_HPP

#include <cotangent/graph/builder_scope.hpp>
#include <cotangent/transform/differentiate/activity.hpp>
#include <cotangent/transform/differentiate/custom_rule.hpp>
#include <cotangent/transform/differentiate/forward_views.hpp>
#include <cotangent/transform/refusals.hpp>

#include <cstdint>

// The sweep of forward mode over the nodes of one region. Tangents belong to the region of their symbol.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// The requested tangents: of the outputs, given those of each `wrt` (`none`: zero).
struct tangent_request {
  symbol const* wrt = nullptr;
  symbol const* seeds = nullptr;
  int wrt_count = 0;
  symbol const* outputs = nullptr; // none if there is nothing to compute
  int output_count = 0;
};

struct forward_scope {
  builder& b;
  region_index const& index;
  std::int32_t region;
  /// Lets the loop or branch `at` compute tangents as well. `tangent`: by operand, none if zero; `wanted`,
  /// `given`: by result.
  void (*control)(forward_scope const& s, std::int32_t at, symbol const* tangent, bool const* wanted,
                  symbol* given);
};

class forward_sweep {
  forward_scope const& s_;
  std::int32_t outer_block_ = 0;
  builder& b_;
  region_index const& index_;
  std::int32_t const* nodes_; // of the region; null: all
  int count_;
  symbol low_;
  viewed_tangents views_;
  array<symbol> dx_;           // by symbol - low_
  array<bool> moves_, needed_; // depends on a wrt; leads to an output

public:
  constexpr explicit forward_sweep(forward_scope const& s)
      : s_(s), b_(s.b), index_(s.index), nodes_(s.index.nodes(s.region)), count_(s.index.count(s.region)),
        low_(s.index.low(s.region)), views_(s.b, s.index, s.region), dx_(s.index.high(s.region) - low_, none),
        moves_(dx_.size()), needed_(dx_.size()) {}

  /// The tangents, none if always zero; false after a failure.
  constexpr bool run(tangent_request const& r, symbol* result) {
    for (int k = 0; k < r.output_count; ++k) result[k] = none;
    std::int32_t begin = index_.reordered ? 0 : b_.get().nodes.size();
    for (int k = 0; k < r.wrt_count; ++k) {
      symbol const x = r.wrt[k];
      if (r.seeds[k] == none) continue;
      if (symbol const root = b_.tensor(x).base; root == none) {
        dx_[x - low_] = sum(dx_[x - low_], r.seeds[k]);
        if (b_.tensor(x).producer < begin) begin = b_.tensor(x).producer + 1;
      } else {
        dx_[root - low_] = sum(dx_[root - low_], views_.alone(x, r.seeds[k]));
        begin = 0;
      }
      move(x);
    }
    for (int p = 0; p < count_; ++p)
      if (std::int32_t const i = node_at(p); i >= begin) find_moving(b_.get().nodes[i]);
    for (int k = 0; k < r.output_count; ++k) need(r.outputs[k]);
    for (int p = count_; p-- > 0;)
      if (std::int32_t const i = node_at(p); i >= begin) find_needed(b_.get().nodes[i]);

    builder_scope const outer(b_);
    outer_block_ = outer.flags.block;
    for (int p = 0; p < count_; ++p)
      if (std::int32_t const i = node_at(p); i >= begin && !visit(i)) return false;
    for (int k = 0; k < r.output_count; ++k) result[k] = tangent_of(r.outputs[k]);
    return true;
  }

private:
  constexpr std::int32_t node_at(int p) const { return nodes_ == nullptr ? p : nodes_[p]; }
  constexpr symbol id(int k) const { return b_.get().ids[k]; }
  constexpr bool moving(symbol t) const {
    return t != none && (moves_[t - low_] || (is_view(t) && moves_[b_.tensor(t).base - low_]));
  }
  constexpr bool is_view(symbol t) const { return views_.any() && b_.tensor(t).base != none; }
  constexpr void move(symbol t) {
    moves_[t - low_] = true;
    if (is_view(t)) moves_[b_.tensor(t).base - low_] = true;
  }
  constexpr void need(symbol t) {
    if (t == none) return;
    needed_[t - low_] = true;
    if (is_view(t)) needed_[b_.tensor(t).base - low_] = true;
  }
  constexpr symbol sum(symbol x, symbol y) {
    return x == none ? y : push(info_of<op::add>(), {term{&b_, x}, term{&b_, y}}).id;
  }
  constexpr symbol tangent_of(symbol t) {
    if (t == none || !views_.any()) return t == none ? none : dx_[t - low_];
    symbol const root = is_view(t) ? b_.tensor(t).base : t;
    return moves_[root - low_] ? views_.read(t, dx_[root - low_]) : none;
  }
  constexpr void store(symbol t, symbol dy) {
    if (is_view(t)) views_.write(t, dy);
    else dx_[t - low_] = dy;
  }
  static constexpr bool is_rare(node const& n) {
    return n.result_count != 1 || n.op->kind == operation_kind::control;
  }

  constexpr void find_moving(node const& n) {
    if (n.op->derivative == derivative_kind::zero) return;
    if (is_rare(n)) {
      array<bool> from(n.operand_count), to(n.result_count);
      for (int k = 0; k < n.operand_count; ++k) from[k] = moving(id(n.first + k));
      activity(b_.get(), index_).forward(n, from.data(), to.data());
      for (int k = 0; k < n.result_count; ++k)
        if (to[k]) move(id(n.first + n.operand_count + k));
      return;
    }
    symbol const* const ids = b_.get().ids.data() + n.first;
    symbol const y = ids[n.operand_count];
    if (!is_floating(b_.tensor(y).type)) return;
    bool moves = false;
    for (int k = 0; k < n.operand_count && !moves; ++k) moves = moving(ids[k]);
    if (moves) move(y);
  }
  constexpr void find_needed(node const& n) {
    symbol const* const ids = b_.get().ids.data() + n.first;
    if (is_rare(n)) {
      array<bool> from(n.result_count), to(n.operand_count);
      for (int k = 0; k < n.result_count; ++k) from[k] = wanted(ids[n.operand_count + k]);
      activity(b_.get(), index_).backward(n, from.data(), to.data());
      for (int k = 0; k < n.operand_count; ++k)
        if (to[k] && moving(ids[k])) need(ids[k]);
      return;
    }
    if (!wanted(ids[n.operand_count])) return;
    int const last = n.op == info_of<op::custom>() ? 1 + custom_layout::of(b_, n).arguments : n.operand_count;
    for (int k = last == n.operand_count ? 0 : 1; k < last; ++k)
      if (moving(ids[k])) need(ids[k]);
  }
  /// True if a tangent of this symbol is to be computed.
  constexpr bool wanted(symbol y) const {
    bool const asked = needed_[y - low_] || (is_view(y) && needed_[b_.tensor(y).base - low_]);
    return asked && moving(y) && dx_[y - low_] == none;
  }

  constexpr bool visit(std::int32_t i) {
    node const n = b_.get().nodes[i]; // a copy: rules append nodes
    bool any = false;
    for (int k = 0; k < n.result_count && !any; ++k) any = wanted(id(n.first + n.operand_count + k));
    if (!any) return true;
    b_.place = n.where;
    b_.flags.exact = n.flags.exact;
    b_.flags.block = n.flags.block != 0 ? n.flags.block : outer_block_;
    array<symbol> tangent(n.operand_count, none);
    any = false;
    for (int k = 0; k < n.operand_count; ++k) {
      tangent[k] = tangent_of(id(n.first + k));
      any = any || tangent[k] != none;
    }
    if (n.op == info_of<op::loop>() || n.op == info_of<op::case_of>() || n.op == info_of<op::custom>()) {
      if (any) control(i, n, tangent.data());
      return b_.failed().why == nullptr;
    }
    if (n.op->tangent == nullptr || n.op->derivative == derivative_kind::none_ || n.result_count != 1) {
      b_.fail({why<refusals::not_differentiable>(), {}, {}, i, n.where});
      return false;
    }
    if (!any) return true;
    tangent_rule rule{{b_, n}, tangent.data()};
    n.op->tangent(rule);
    store(id(n.first + n.operand_count), rule.given);
    return true;
  }
  constexpr void control(std::int32_t i, node const& n, symbol const* tangent) {
    array<bool> asked(n.result_count);
    array<symbol> given(n.result_count, none);
    for (int k = 0; k < n.result_count; ++k) asked[k] = wanted(id(n.first + n.operand_count + k));
    s_.control(s_, i, tangent, asked.data(), given.data());
    for (int k = 0; k < n.result_count; ++k)
      if (given[k] != none) store(id(n.first + n.operand_count + k), given[k]);
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
