// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_SOURCE_HPP
#define COTANGENT_OPS_SOURCE_HPP

#include <cotangent/ops/rule.hpp>

#include <cstdint>
#include <type_traits>

namespace cotangent {

namespace op {

/// One number in all elements.
struct constant : extend::primitive<operation_kind::constant, 0> {
  static constexpr char const* name = "constant";
  static constexpr derivative_kind derivative = derivative_kind::zero;
};
/// The index of each element, from 0; of rank 1.
struct iota : extend::primitive<operation_kind::iota, 0> {
  static constexpr char const* name = "iota";
  static constexpr derivative_kind derivative = derivative_kind::zero;
};
/// The number of elements of a shape with named extents, as a scalar. Attributes: the dimensions to multiply.
struct size : extend::primitive<operation_kind::size, 0> {
  static constexpr char const* name = "size";
  static constexpr derivative_kind derivative = derivative_kind::zero;
};

} // namespace op

namespace detail {
using source_operations = operations<op::constant, op::iota, op::size>;
} // namespace detail

namespace extend {

constexpr term constant(builder& b, element type, std::int32_t shape, double value) {
  std::int64_t const bits = detail::bits_of(type, value);
  return detail::push_as(info_of<op::constant>(), b, {}, &bits, 1, type, shape);
}
/// A constant with the element and shape of `x`.
constexpr term constant_like(term x, double value) { return constant(*x.b, x.type(), x.shape_id(), value); }

/// 0, 1, ... count - 1, of rank 1; other shapes broadcast it.
constexpr term iota(builder& b, element type, dimension count) {
  std::int64_t const axis = 0;
  return detail::push_as(info_of<op::iota>(), b, {}, &axis, 1, type, b.shape(dimensions{1, {count}}));
}

/// The number of elements along the axes in `mask`, as a value of any element and shape: a constant if it is known.
constexpr term count_of(term x, std::uint32_t mask, element type, std::int32_t shape) {
  dimension number = 1;
  std::int64_t named[max_rank]{};
  int count = 0;
  dimensions const d = x.dims();
  for (int k = 0; k < d.rank; ++k)
    if ((mask >> k & 1u) != 0) {
      if (d.size[k] >= 0) number *= d.size[k];
      else named[count++] = d.size[k];
    }
  if (count == 0) return constant(*x.b, type, shape, static_cast<double>(number));
  if (number != 1) named[count++] = number;
  return detail::push_as(info_of<op::size>(), *x.b, {}, named, count, type, shape);
}
/// The number of elements that a reduction over the axes in `mask` combines.
constexpr term count_of(term x, std::uint32_t mask, std::int32_t shape) { return count_of(x, mask, x.type(), shape); }

} // namespace extend
} // namespace cotangent

#endif
