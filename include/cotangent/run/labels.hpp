// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_LABELS_HPP
#define COTANGENT_RUN_LABELS_HPP

#include <cotangent/kernels/simd.hpp>
#include <cotangent/ops/ops.hpp>

#include <cstdint>
#include <limits>

// Labels (op::label) are compared with positions at their use, where one out of range does no harm. This
// header checks labels that are arguments, so that a run can report them.

namespace cotangent::detail {
inline namespace COTANGENT_ABI {

/// An argument of labels, and its number of classes.
struct label_check {
  int input = none;
  element type = element::int32;
  dimension classes = 0;
};

/// The input that `t` is, possibly with another symbol or shape; none if `t` is computed.
constexpr int input_behind(graph_view const& g, symbol t) {
  while (node const* const n = g.producer(t)) {
    bool const same = n->op->kind == operation_kind::identity || n->op->kind == operation_kind::reshape ||
                      n->op->kind == operation_kind::permute || n->op->kind == operation_kind::broadcast;
    if (!same) return none;
    t = g.operand(*n, 0);
  }
  for (int k = 0; k < g.input_count(); ++k)
    if (g.input(k) == t) return k;
  return none;
}
constexpr label_check label_check_of(graph_view const& g, node const& n) {
  if (n.op != info_of<op::label>()) return {};
  symbol const labels = g.operand(n, 0);
  return {input_behind(g, labels), g.tensors[labels].type, g.attribute(n)};
}
constexpr int count_label_checks(graph_view const& g) {
  int count = 0;
  for (std::int32_t i = 0; i < g.node_count; ++i) count += label_check_of(g, g.nodes[i]).input != none ? 1 : 0;
  return count;
}
/// Writes all label checks to `to`.
constexpr void find_label_checks(graph_view const& g, label_check* to) {
  for (std::int32_t i = 0; i < g.node_count; ++i)
    if (label_check const c = label_check_of(g, g.nodes[i]); c.input != none) *to++ = c;
}

template <class T> bool are_labels(T const* x, std::int64_t count, std::int64_t classes) noexcept {
  using V = simd::pack<T, simd::width<T>>;
  using M = math::mask_t<V>;
  constexpr std::int64_t w = simd::width<T>;
  std::int64_t k = 0;
  bool good = true;
  if (count >= w) {
    constexpr std::int64_t highest = std::numeric_limits<T>::max();
    V const most = math::broadcast<V>(static_cast<T>(classes <= highest ? classes - 1 : highest)), zero{};
    M bad{};
    for (; k + w <= count; k += w) {
      V const v = simd::load<V>(x + k);
      bad = math::logical_or<M>(bad, math::logical_or<M>(v < zero, v > most));
    }
    good = !math::any(bad);
  }
  for (std::int64_t j = 0; j < w && k + j < count; ++j) good &= x[k + j] >= 0 && x[k + j] < classes; // (with a bound that g++ sees)
  return good;
}
inline bool are_labels(label_check const& c, void const* x, std::int64_t count, std::int64_t classes) noexcept {
  return c.type == element::int32 ? are_labels(static_cast<std::int32_t const*>(x), count, classes)
                                  : are_labels(static_cast<std::int64_t const*>(x), count, classes);
}

} // namespace COTANGENT_ABI
} // namespace cotangent::detail

#endif
