// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_DIFFERENTIATE_BACKWARD_SWEEP_HPP
#define COTANGENT_TRANSFORM_DIFFERENTIATE_BACKWARD_SWEEP_HPP

#include <cotangent/graph/builder_scope.hpp>
#include <cotangent/ops/broadcast.hpp>
#include <cotangent/ops/control.hpp>
#include <cotangent/transform/differentiate/activity.hpp>
#include <cotangent/transform/differentiate/backward_logs.hpp>
#include <cotangent/transform/differentiate/cotangents.hpp>
#include <cotangent/transform/differentiate/custom_rule.hpp>
#include <cotangent/transform/differentiate/tape_options.hpp>
#include <cotangent/transform/masked.hpp>
#include <cotangent/transform/refusals.hpp>

#include <cstdint>

// The reverse sweep over the nodes of one region. The adjoint of the graph itself is appended to it; that of
// a body goes to a region of its own.

COTANGENT_COLD_BEGIN
namespace cotangent {
/// The action for a `wrt` that no output depends on.
enum class unreachable : unsigned char { zeros, error };
} // namespace cotangent

namespace cotangent::detail {

struct sweep_scope;
struct gradient_request;

/// Replaces the sweep over the current region: `run` takes the same arguments and writes the results, `none`
/// for absent ones; it returns false after a failure.
struct gradient_walk {
  bool (*run)(void* with, detail::sweep_scope const&, gradient_request const&, symbol* result) = nullptr;
  void* with = nullptr;
};

/// Outputs, their cotangents (`none`: ones, for scalars only), and the symbols to differentiate with respect
/// to.
struct gradient_request {
  symbol const* outputs = nullptr;
  symbol const* seeds = nullptr; // null: none for all
  int output_count = 0;
  symbol const* wrt = nullptr;
  int wrt_count = 0;
  unreachable policy = unreachable::zeros;
  symbol const* inputs = nullptr; // of the graph, if `set_inputs` was not called for them yet
  int input_count = 0;
  tape_options tape = {};
  // receives, by node, the node whose adjoint it is a part of; none for sums and earlier nodes
  array<std::int32_t>* made_for = nullptr;
  aggregation sum = {};
  gradient_walk walk = {};
};

/// Reads of a region under construction from another region: for each value the symbol for it here.
/// Loop-invariant cheap values are emitted again instead.
class importer {
  builder& b_;
  array<std::int32_t> known_; // by symbol: 1 + its position in `there`
  open_region* body_ = nullptr;

public:
  array<symbol> there, here; // in the order of requests

  constexpr explicit importer(builder& b) : b_(b), known_(b.get().tensors.size()) {}
  /// For a body under construction, which captures the requested values.
  constexpr importer(builder& b, open_region* body) : b_(b), known_(b.get().tensors.size()), body_(body) {}
  constexpr importer(importer const&) = delete;

  constexpr void stands_for(symbol of, symbol t) {
    if (of >= known_.size()) known_.resize(of + 1);
    known_[of] = there.push(of) + 1;
    here.push(t);
  }
  constexpr symbol operator()(symbol of, int hops = 4) {
    if (of == none) return none;
    if (of < known_.size() && known_[of] != 0) return here[known_[of] - 1];
    tensor_symbol const t = b_.tensor(of);
    symbol const made = body_ != nullptr ? b_.taken(of, body_) : made_anew(t, hops);
    stands_for(of, made != none ? made : b_.symbol_of(t.type, t.shape, t.depth));
    return here.back();
  }

private:
  constexpr symbol made_anew(tensor_symbol const& t, int hops) {
    if (t.producer == none || t.base != none) return none;
    node const n = b_.get().nodes[t.producer];
    if (n.op == info_of<op::rows_to_sequence>()) // not recorded: the tensor is
      return extend::rows_to_sequence({&b_, (*this)(b_.get().ids[n.first], hops - 1)}).id;
    switch (n.op->kind) {
    case operation_kind::constant:
    case operation_kind::iota:
    case operation_kind::size: break;
    case operation_kind::broadcast:
    case operation_kind::reshape:
    case operation_kind::permute:
      if (hops > 0 && b_.tensor(b_.get().ids[n.first]).base == none) break;
      return none;
    default: return none;
    }
    symbol const x = n.operand_count > 0 ? (*this)(b_.get().ids[n.first], hops - 1) : none;
    array<std::int64_t> attributes(n.attribute_count);
    for (int k = 0; k < n.attribute_count; ++k) attributes[k] = b_.get().numbers[n.attribute + k];
    return b_.push(n.op, &x, n.operand_count, attributes.data(), n.attribute_count, t.type, t.shape, n.where);
  }
};

/// The differentiated region, and the access of new nodes to its values: direct if `in` is null.
struct sweep_scope {
  builder& b;
  region_index const& index;
  std::int32_t region;
  importer* in;
  /// The adjoint of the loop or branch `at`. `cotangent`: by result, none if absent; `wanted`, `given`: by
  /// operand.
  void (*control)(sweep_scope const& s, std::int32_t at, symbol const* cotangent, bool const* wanted,
                  symbol* given);
  tape_plan* tape = nullptr; // null: loops record everything that is read of them
  aggregation sum = {};

  constexpr symbol value(symbol t) const { return in == nullptr ? t : (*in)(t); }
};

/// The sweep; its steps are listed in the order of execution.
class backward_sweep {
  sweep_scope const& s_;
  builder& b_;
  std::int32_t const* nodes_; // of the region; null: all
  int count_;
  std::int32_t begin_; // nodes before it do not depend on a wrt
  symbol first_;       // nor do symbols before it
  symbol end_;         // symbols from it on are newer: values that another sweep made loops and branches save
  array<bool> depends_;
  viewed_tensors views_;
  int widest_ = 1, most_results_ = 1;
  std::int32_t outer_block_ = 0;

public:
  /// Of the nodes before `last`, which compute all outputs.
  constexpr backward_sweep(sweep_scope const& s, gradient_request const& r, std::int32_t last = INT32_MAX)
      : s_(s), b_(s.b), nodes_(s.index.nodes(s.region)), count_(s.index.count(s.region)), begin_(0),
        first_(s.index.high(s.region)), end_(s.index.high(s.region)),
        views_(s.b, s.region, s.index.low(s.region), s.index.high(s.region), s.sum) {
    while (last != INT32_MAX && !s.index.reordered && count_ > 0 && (nodes_ == nullptr ? count_ - 1 : nodes_[count_ - 1]) >= last) --count_;
    if (views_.any() || s.index.reordered) { // dependencies may be in any position
      region const& own = b_.get().regions[s.region];
      for (int k = 0; k < own.input_count; ++k) views_.is_input(b_.get().ids[own.first_input + k]);
      for (int k = 0; k < r.input_count; ++k) views_.is_input(r.inputs[k]);
      first_ = s.index.low(s.region);
      (void)find_dependent(r);
      return;
    }
    for (int k = 0; k < r.wrt_count; ++k)
      if (r.wrt[k] < first_) first_ = r.wrt[k];
    begin_ = b_.get().nodes.size();
    for (int k = 0; k < r.wrt_count; ++k)
      if (std::int32_t const p = b_.tensor(r.wrt[k]).producer; p < begin_) begin_ = p + 1;
    if (!find_dependent(r)) {
      first_ = s.index.low(s.region);
      (void)find_dependent(r);
    }
  }

  /// The gradients, `none` if absent; false after a failure.
  constexpr bool run(gradient_request const& r, symbol* result) {
    operation const *const log = info_of<op::log>(), *const select = info_of<op::select>(), *const broadcast = info_of<op::broadcast>(), *const sum = info_of<op::sum>();
    cotangents dy(b_, first_, s_.index.high(s_.region) - first_, views_.any() ? &views_ : nullptr, s_.sum);
    for (int k = 0; k < r.output_count; ++k)
      if (symbol const y = r.outputs[k]; y >= first_ && depends_[y - first_]) dy.add(y, r.seeds[k]);
    builder_scope const outer(b_);
    outer_block_ = outer.flags.block;
    b_.flags.of_gradient = true;
    array<symbol> given(widest_);
    array<bool> wanted(widest_);
    for (int p = count_; p-- > 0;) {
      std::int32_t const i = nodes_ == nullptr ? p : nodes_[p];
      if (i < begin_) break;
      node n = b_.get().nodes[i]; // a copy: rules append nodes
      symbol const* const ids = b_.get().ids.data() + n.first;
      if (n.result_count != 1 || n.op->kind == operation_kind::control) {
        if (!rare(i, dy, r)) return false;
        continue;
      }
      symbol const y = ids[n.operand_count];
      if (!dy.any(y)) continue;
      bool needed = false;
      for (int k = 0; k < n.operand_count; ++k) {
        given[k] = none;
        wanted[k] = ids[k] >= first_ && depends_[ids[k] - first_];
        needed = needed || wanted[k];
      }
      if (!needed) continue;
      b_.place = n.where;
      b_.flags.exact = n.flags.exact;
      b_.flags.block = block_of_adjoint(n);
      if (n.op->adjoint == nullptr || n.op->derivative == derivative_kind::none_) {
        if (n.op != info_of<op::custom>()) return refuse(i, n);
        if (!rare(i, dy, r)) return false;
        continue;
      }
      symbol const total = dy.sum(y);
      if (r.made_for != nullptr) note(r, none);
      std::int32_t const from = n.first;
      if (n.op == log && !n.flags.exact &&
          past_probability(b_.get().ids[from], total, r, dy)) // (the sum may have moved the array of `ids`)
        continue;
      if (s_.in != nullptr) import(n);
      std::int32_t const maker = b_.get().tensors[total].producer;
      operation const* const made_by = maker < 0 ? nullptr : b_.get().nodes[maker].op;
      // It may have a mask. (Nothing selects half-precision values: they are converted as they are.)
      if ((made_by == select || made_by == broadcast || made_by == sum) && n.op->kind == operation_kind::elementwise &&
          !is_half(b_.tensor(b_.get().ids[from]).type)) {
        cotangent_masks const masks(b_, total);
        adjoint_rule rule{{b_, n}, &masks.value(), wanted.data(), given.data()};
        n.op->adjoint(rule);
        for (int k = 0; k < n.operand_count; ++k)
          if (wanted[k]) given[k] = masks.apply(b_, given[k]);
      } else {
        adjoint_rule rule{{b_, n}, &total, wanted.data(), given.data()};
        n.op->adjoint(rule);
      }
      if (r.made_for != nullptr) note(r, i);
      if (b_.failed().why != nullptr) break;
      for (int k = 0; k < n.operand_count; ++k)
        if (wanted[k] && given[k] != none) dy.add(b_.get().ids[from + k], given[k]);
    }
    for (int k = 0; k < r.wrt_count; ++k) result[k] = dy.gradient(r.wrt[k]);
    return b_.failed().why == nullptr;
  }

private:
  /// Marks the nodes emitted since then as the adjoint of node i.
  constexpr void note(gradient_request const& r, std::int32_t i) const {
    if (r.made_for == nullptr) return;
    while (r.made_for->size() < b_.get().nodes.size()) r.made_for->push(i);
  }
  /// A gradient inside a block belongs to that block.
  constexpr std::int32_t block_of_adjoint(node const& n) const noexcept {
    return outer_block_ > 0 ? outer_block_ : n.flags.block > 0 ? -n.flags.block : n.flags.block;
  }
  /// If `x` is a probability under a logarithm, the cotangent goes to the probability's operand.
  constexpr bool past_probability(symbol x, symbol total, gradient_request const& r, cotangents& dy) {
    probability const found(b_.get(), x);
    if (found.is == probability::form::other) return false;
    for (symbol const t : found.between) // a cotangent in between is requested
      for (int k = 0; k < r.wrt_count; ++k)
        if (r.wrt[k] == t) return false;
    if (found.z >= first_ && depends_[found.z - first_])
      dy.add(found.z, cotangent_before(found.is, found.mask, {&b_, s_.value(found.p)}, {&b_, total}).id);
    return true;
  }

  constexpr bool refuse(std::int32_t i, node const& n) {
    b_.fail({why<refusals::not_differentiable>(), {}, {}, i, n.where});
    return false;
  }
  /// Replaces the node's operands and results by their symbols in the region under construction.
  constexpr void import(node& n) {
    int const all = n.operand_count + n.result_count;
    symbol few[4]{};
    array<symbol> many(all > 4 ? all : 0);
    symbol* const mapped = all > 4 ? many.data() : few;
    for (int k = 0; k < all; ++k) mapped[k] = (*s_.in)(b_.get().ids[n.first + k]);
    n.first = b_.edit().ids.append(mapped, all);
  }

  /// Finds the symbols that depend on a wrt. False if a symbol before `first_` does: symbols may have any
  /// order.
  constexpr bool find_dependent(gradient_request const& r) {
    depends_ = array<bool>(s_.index.high(s_.region) - first_);
    graph const& g = b_.get();
    for (int k = 0; k < r.wrt_count; ++k) depend(r.wrt[k]);
    for (int p = 0; p < count_; ++p) {
      std::int32_t const i = nodes_ == nullptr ? p : nodes_[p];
      if (i < begin_) continue;
      node const& n = g.nodes[i];
      if (n.operand_count > widest_) widest_ = n.operand_count; // (the value of an operation without derivative may be a wrt)
      if (n.op->derivative == derivative_kind::zero) continue;
      symbol const* const ids = g.ids.data() + n.first;
      if (views_.any()) look_through(ids, n.operand_count);
      if (n.result_count != 1 || n.op->kind == operation_kind::control) {
        if (!find_rare(n)) return false;
        continue;
      }
      symbol const y = ids[n.operand_count];
      bool any = false;
      for (int k = 0; k < n.operand_count && !any; ++k) any = ids[k] >= first_ && depends_[ids[k] - first_];
      if (!any || !is_floating(g.tensors[y].type)) continue;
      if (y < first_) return false;
      depend(y);
    }
    if (views_.any()) look_through(r.outputs, r.output_count);
    return true;
  }
  constexpr void depend(symbol y) {
    depends_[y - first_] = true;
    if (views_.any() && views_.has(y)) views_.mark(y);
  }
  /// A view depends on the values written to its elements.
  constexpr void look_through(symbol const* x, int count) {
    for (int k = 0; k < count; ++k)
      if (x[k] != none && views_.has(x[k]) && !depends_[x[k] - first_])
        depends_[x[k] - first_] = views_.depends(x[k]);
  }
  constexpr bool find_rare(node const& n) {
    graph const& g = b_.get();
    if (n.result_count > most_results_) most_results_ = n.result_count;
    array<bool> from(n.operand_count), to(n.result_count);
    for (int k = 0; k < n.operand_count; ++k) {
      symbol const x = g.ids[n.first + k];
      from[k] = x >= first_ && x < end_ && depends_[x - first_];
    }
    activity(g, s_.index).forward(n, from.data(), to.data());
    for (int k = 0; k < n.result_count; ++k)
      if (symbol const y = g.ids[n.first + n.operand_count + k]; to[k] && y < end_) {
        if (y < first_) return false;
        depend(y);
      }
    return true;
  }

  /// Loops, branches, values with rules of their own, and operations of several results.
  constexpr bool rare(std::int32_t i, cotangents& dy, gradient_request const& r) {
    node n = b_.get().nodes[i];
    array<symbol> total(n.result_count, none), given(n.operand_count, none);
    array<bool> wanted(n.operand_count);
    bool any = false, needed = false;
    auto const has = [&](symbol y) { return y < end_ && dy.any(y); };
    for (int k = 0; k < n.result_count; ++k) any = any || has(b_.get().ids[n.first + n.operand_count + k]);
    for (int k = 0; k < n.operand_count; ++k) {
      symbol const x = b_.get().ids[n.first + k];
      wanted[k] = x >= first_ && x < end_ && depends_[x - first_];
      needed = needed || wanted[k];
    }
    if (!any || !needed) return true;
    b_.place = n.where;
    b_.flags.exact = n.flags.exact;
    b_.flags.block = block_of_adjoint(n);
    bool const control = n.op == info_of<op::loop>() || n.op == info_of<op::case_of>() || n.op == info_of<op::custom>();
    if (!control && (n.op->adjoint == nullptr || n.op->derivative == derivative_kind::none_))
      return refuse(i, n);
    for (int k = 0; k < n.result_count; ++k)
      if (symbol const y = b_.get().ids[n.first + n.operand_count + k]; has(y)) total[k] = dy.sum(y);
    note(r, none);
    std::int32_t const from = n.first;
    if (control) {
      s_.control(s_, i, total.data(), wanted.data(), given.data());
    } else {
      if (s_.in != nullptr) import(n);
      adjoint_rule rule{{b_, n}, total.data(), wanted.data(), given.data()};
      n.op->adjoint(rule);
    }
    note(r, i);
    for (int k = 0; k < n.operand_count; ++k)
      if (wanted[k] && given[k] != none) dy.add(b_.get().ids[from + k], given[k]);
    return b_.failed().why == nullptr;
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
