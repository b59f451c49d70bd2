// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_BACKWARD_HPP
#define COTANGENT_TRANSFORM_BACKWARD_HPP

#include <cotangent/ops/broadcast.hpp>
#include <cotangent/transform/refusals.hpp>

#include <cstdint>

namespace cotangent {

/// What to do about a `wrt` that no output depends on.
enum class unreachable : unsigned char { zeros, error };

/// Outputs, the cotangents that arrive at them (`none`: ones, for a scalar only), and what to differentiate for.
struct gradient_request {
  symbol const* outputs = nullptr;
  symbol const* seeds = nullptr; // null: none for all
  int output_count = 0;
  symbol const* wrt = nullptr;
  int wrt_count = 0;
  unreachable policy = unreachable::zeros;
};

namespace detail {

/// The contributions to the cotangents of the symbols from `first` on, in the order in which they came.
class cotangents {
  builder& b_;
  symbol first_;
  array<std::int32_t> head_, tail_; // by symbol - first_, into the lists; 0: nothing
  array<symbol> value_;
  array<std::int32_t> next_;

public:
  constexpr cotangents(builder& b, symbol first, int count) : b_(b), first_(first), head_(count), tail_(count) {
    value_.push(none);
    next_.push(0);
  }
  constexpr bool any(symbol t) const noexcept { return t >= first_ && head_[t - first_] != 0; }
  constexpr void add(symbol t, symbol contribution) {
    std::int32_t const at = value_.push(contribution), k = t - first_;
    next_.push(0);
    if (head_[k] == 0) head_[k] = at;
    else next_[tail_[k]] = at;
    tail_[k] = at;
  }
  /// The sum, built once, when it is first asked for.
  constexpr symbol sum(symbol t) {
    std::int32_t const at = head_[t - first_];
    for (std::int32_t k = next_[at]; k != 0; k = next_[k])
      value_[at] = push(info_of<op::add>(), {term{&b_, value_[at]}, term{&b_, value_[k]}}).id;
    next_[at] = 0;
    tail_[t - first_] = at;
    return value_[at];
  }
};

} // namespace detail

/// Appends to `b` the gradients of the outputs, weighted by the seeds, with respect to each `wrt`: one symbol each in
/// `result`. Only nodes on a path from a `wrt` to an output get adjoints; contributions to one cotangent are summed
/// when all are known, in the order of a reverse walk. What goes wrong is recorded in the builder.
constexpr void gradient(builder& b, gradient_request const& r, symbol* result) {
  symbol const symbols = b.get().tensors.size();
  std::int32_t const nodes = b.get().nodes.size();
  symbol first = symbols;
  std::int32_t begin = nodes;
  for (int k = 0; k < r.wrt_count; ++k) {
    if (r.wrt[k] < first) first = r.wrt[k];
    symbol const p = b.tensor(r.wrt[k]).producer;
    if (p < begin) begin = p + 1;
  }
  // which symbols depend on a wrt
  array<bool> depends(symbols - first);
  for (int k = 0; k < r.wrt_count; ++k) depends[r.wrt[k] - first] = true;
  int widest = 1;
  for (std::int32_t i = begin; i < nodes; ++i) {
    node const& n = b.get().nodes[i];
    std::int32_t const* const ids = b.get().ids.data() + n.first;
    symbol const y = ids[n.operand_count];
    if (n.op->derivative == derivative_kind::zero || y < first || !is_floating(b.tensor(y).type)) continue;
    if (n.operand_count > widest) widest = n.operand_count;
    for (int k = 0; k < n.operand_count && !depends[y - first]; ++k)
      depends[y - first] = ids[k] >= first && depends[ids[k] - first];
  }

  detail::cotangents dy(b, first, symbols - first);
  for (int k = 0; k < r.output_count; ++k) {
    symbol const y = r.outputs[k];
    symbol seed = r.seeds == nullptr ? none : r.seeds[k];
    if (seed == none) {
      if (b.dims(y).rank != 0) return b.refuse<refusals::seed_missing>(b.dims(y).rank, 0, b.place);
      seed = extend::constant(b, b.tensor(y).type, b.tensor(y).shape, 1).id;
    } else if (b.tensor(seed).shape != b.tensor(y).shape)
      return b.refuse<refusals::seed_shape>(b.count(b.dims(seed)), b.count(b.dims(y)), b.place);
    if (y >= first && depends[y - first]) dy.add(y, seed);
  }

  std::source_location const outer = b.place;
  array<symbol> given(widest);
  array<bool> wanted(widest);
  for (std::int32_t i = nodes - 1; i >= begin; --i) {
    node const n = b.get().nodes[i];
    symbol const y = b.get().ids[n.first + n.operand_count];
    if (!dy.any(y)) continue;
    bool needed = false;
    for (int k = 0; k < n.operand_count; ++k) {
      symbol const x = b.get().ids[n.first + k];
      given[k] = none;
      wanted[k] = x >= first && depends[x - first];
      needed = needed || wanted[k];
    }
    if (!needed) continue;
    b.place = n.where;
    if (n.op->adjoint == nullptr || n.op->derivative == derivative_kind::none_)
      return b.fail({why<refusals::not_differentiable>(), {}, {}, i, n.where});
    symbol const total = dy.sum(y);
    adjoint_rule rule{{b, n}, &total, wanted.data(), given.data()};
    n.op->adjoint(rule);
    for (int k = 0; k < n.operand_count; ++k)
      if (wanted[k] && given[k] != none) dy.add(b.get().ids[n.first + k], given[k]);
  }
  b.place = outer;

  for (int k = 0; k < r.wrt_count; ++k) {
    symbol const x = r.wrt[k];
    if (!dy.any(x) && r.policy == unreachable::error)
      return b.fail({why<refusals::unreachable_wrt>(), b.extent_of(k), {}, none, outer});
    result[k] = dy.any(x) ? dy.sum(x) : extend::constant(b, b.tensor(x).type, b.tensor(x).shape, 0).id;
  }
}

} // namespace cotangent

#endif
