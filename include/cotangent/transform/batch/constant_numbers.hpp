// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_BATCH_CONSTANT_NUMBERS_HPP
#define COTANGENT_TRANSFORM_BATCH_CONSTANT_NUMBERS_HPP

#include <cotangent/ops/arithmetic.hpp>
#include <cotangent/ops/broadcast.hpp>
#include <cotangent/ops/movement.hpp>
#include <cotangent/ops/source.hpp>

#include <cstdint>

// Indices that are constants.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// The difference of successive numbers, if it is constant, or 0.
constexpr std::int64_t step_of(array<std::int64_t> const& rows) {
  if (rows.size() < 2) return rows.size();
  std::int64_t const by = rows[1] - rows[0];
  for (int k = 2; k < rows.size(); ++k)
    if (rows[k] - rows[k - 1] != by) return 0;
  return by;
}
/// Inputs that stand for constants: of graphs that are built at run time.
struct known_numbers {
  void const* self = nullptr;
  /// The elements of an integer input; false if it is no constant.
  bool (*find)(void const* self, symbol t, array<std::int64_t>& all) = nullptr;
};

/// The elements of an integer value of at most one axis; false if these are not constants.
constexpr bool constant_numbers(graph_view const& g, symbol t, array<std::int64_t>& all, known_numbers const* known = nullptr) {
  node const* const n = g.producer(t);
  dimensions const& d = g.shape(t);
  if (d.rank > 1 || is_floating(g.tensors[t].type)) return false;
  if (n == nullptr) return known != nullptr && known->find(known->self, t, all);
  if (n->result_count != 1) return false;
  int const count = d.rank == 0 ? 1 : static_cast<int>(d.size[0]);
  array<std::int64_t> x, y;
  if (n->op == info_of<op::constant>() || n->op == info_of<op::iota>()) {
    bool const is_iota = n->op == info_of<op::iota>();
    for (int k = 0; k < count; ++k) all.push(is_iota ? k : g.attribute(*n));
    return true;
  }
  if (n->op == info_of<op::concatenate>()) {
    for (int k = 0; k < n->operand_count; ++k)
      if (!constant_numbers(g, g.operand(*n, k), all, known)) return false;
    return true;
  }
  if (n->operand_count < 1 || !constant_numbers(g, g.operand(*n, 0), x, known) || x.empty() != (count == 0)) return false;
  operation_kind const kind = n->op->kind;
  if (n->op == info_of<op::convert>() || kind == operation_kind::reshape || kind == operation_kind::identity ||
      kind == operation_kind::broadcast) {
    for (int k = 0; k < count; ++k) all.push(x[x.size() == 1 ? 0 : k]);
    return x.size() == 1 || x.size() == count;
  }
  if (n->operand_count != 2 || !constant_numbers(g, g.operand(*n, 1), y, known) || y.size() != x.size()) return false;
  for (int k = 0; k < count; ++k)
    if (n->op == info_of<op::add>()) all.push(x[k] + y[k]);
    else if (n->op == info_of<op::subtract>()) all.push(x[k] - y[k]);
    else if (n->op == info_of<op::multiply>()) all.push(x[k] * y[k]);
    else return false;
  return true;
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
