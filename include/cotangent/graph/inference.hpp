// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_GRAPH_INFERENCE_HPP
#define COTANGENT_GRAPH_INFERENCE_HPP

#include <cotangent/graph/graph.hpp>

#include <cstdint>

namespace cotangent::extend {
class builder;
} // namespace cotangent::extend

namespace cotangent {

/// The argument of an operation's shape rule. The rule reads `operand` and `attribute`, and sets `type` and `shape` or records a
/// failure.
struct inference {
  extend::builder& b;
  extend::symbol const* operand = nullptr;
  int operand_count = 0;
  std::int64_t const* attribute = nullptr;
  int attribute_count = 0;
  element type = element::float32;
  std::int32_t shape = 0;

  constexpr extend::tensor_symbol const& tensor(int k) const noexcept;
  constexpr extend::dimensions const& dims(int k) const noexcept;
  /// Takes element and shape of operand `k`.
  constexpr void like(int k) noexcept;
  constexpr void result(element e, extend::dimensions const& d) noexcept;
  template <class Refusal> constexpr void refuse(extend::dimension a = 0, extend::dimension b = 0) noexcept;
};

} // namespace cotangent

#endif
