// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_TERM_HPP
#define COTANGENT_OPS_TERM_HPP

#include <cotangent/graph/builder.hpp>

#include <bit>
#include <cstdint>
#include <initializer_list>

namespace cotangent {

/// A tensor symbol with its builder: the operands of derivative rules and composites. Its element and shape
/// are known when the graph is built, not by its type; `expr` is the typed form for users.
struct term {
  extend::builder* b = nullptr;
  extend::symbol id = extend::none;

  constexpr bool present() const noexcept { return id != extend::none; }
  constexpr element type() const noexcept { return b->tensor(id).type; }
  constexpr std::int32_t shape_id() const noexcept { return b->tensor(id).shape; }
  constexpr extend::dimensions const& dims() const noexcept { return b->dims(id); }
  constexpr int rank() const noexcept { return dims().rank; }
  constexpr extend::node const* producer() const noexcept { return b->producer(id); }
};

namespace detail {

constexpr term push(operation const* op, std::initializer_list<term> operands,
                    std::initializer_list<std::int64_t> attributes = {}) {
  symbol ids[8]{};
  int n = 0;
  for (term const& t : operands) ids[n++] = t.id;
  builder& b = *operands.begin()->b;
  return {&b, b.push(op, ids, n, attributes.begin(), static_cast<int>(attributes.size()), b.place)};
}

/// Emits a node whose result shape the shape rule cannot infer.
constexpr term push_as(operation const* op, builder& b, std::initializer_list<term> operands, std::int64_t const* attributes,
                       int attribute_count, element type, std::int32_t shape) {
  symbol ids[8]{};
  int n = 0;
  for (term const& t : operands) ids[n++] = t.id;
  return {&b, b.push(op, ids, n, attributes, attribute_count, type, shape, b.place)};
}

constexpr std::int64_t bits_of(element type, double value) noexcept {
  return is_floating(type) ? std::bit_cast<std::int64_t>(rounded_to(type, value))
                           : static_cast<std::int64_t>(value);
}

/// The value of a constant, from its attribute 0.
constexpr scalar scalar_of(element type, std::int64_t bits) noexcept {
  return is_floating(type) ? scalar{type, std::bit_cast<double>(bits), 0} : scalar{type, 0, bits};
}
constexpr std::int64_t bits_of(scalar const& s) noexcept {
  return is_floating(s.type) ? std::bit_cast<std::int64_t>(s.real) : s.integer;
}

} // namespace detail
} // namespace cotangent

#endif
