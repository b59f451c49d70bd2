// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_EXPRESSIONS_STANDING_HPP
#define COTANGENT_TRACE_EXPRESSIONS_STANDING_HPP

#include <cotangent/ops/ops.hpp>
#include <cotangent/trace/expressions/refusals.hpp>

#include <cstdint>
#include <limits>
#include <source_location>
#include <type_traits>

namespace cotangent {

namespace detail {

/// A comparison of positions: first * position along `axis` + offset (is equal to, less than, at most) second
/// * position along `other`. A side without an axis is a number.
struct position_condition {
  enum relations : unsigned char { always, equal, less, less_equal };
  relations relation = always;
  int axis = -1, other = -1;
  std::int64_t first = 0, second = 0, offset = 0;
  friend constexpr bool operator==(position_condition const&, position_condition const&) = default;
};

/// The location of an expression: a symbol of a builder; or, if detached, its constant value.
struct standing {
  static constexpr symbol uniform = -2;   // `payload`: the bits of one number
  static constexpr symbol broken = -3;    // an operation on detached values that was not constant-folded
  // a literal that does not fit its element type; `payload` is the largest one
  static constexpr symbol too_large = -4;
  static constexpr symbol refused = -5;   // the result of a refused expression: never refused again
  static constexpr symbol chosen = -6;    // payload where `when` is true, else step
  static constexpr symbol counted = -7;   // this id minus the axis: payload + step * position along it

  builder* b = nullptr;
  symbol id = uniform;
  std::int64_t payload = 0;
  std::int64_t step = 0;
  position_condition when{};
  std::source_location where{}; // of an operation that was not folded
};

constexpr symbol attach(standing const& s, builder& b, element type, std::int32_t shape) {
  if (s.id == standing::broken) {
    b.refuse<refusals::detached_operation>(0, 0, s.where.line() != 0 ? s.where : b.place);
    return b.refused();
  }
  if (s.id == standing::too_large) {
    b.fail({why<refusals::literal_out_of_range>(), extent::of(s.step), extent::of(s.payload), none, b.place});
    return b.refused();
  }
  auto const number = [&](element t, std::int64_t bits, std::int32_t like) {
    return term{&b, b.push(info_of<op::constant>(), nullptr, 0, &bits, 1, t, like, b.place)};
  };
  if (s.id == standing::uniform || s.id == standing::refused) return number(type, s.payload, shape).id;
  auto const counted = [&](element t, std::int64_t axis, std::int64_t first, std::int64_t step) {
    term y = extend::iota(b, t, b.get().shapes[shape].size[axis]);
    scalar const one = is_floating(t) ? scalar{t, 1, 0} : scalar{t, 0, 1};
    if (step != bits_of(one)) y = y * number(t, step, y.shape_id());
    if (first != 0) y = y + number(t, first, y.shape_id());
    if (y.shape_id() != shape) y.id = b.push(info_of<op::broadcast>(), &y.id, 1, &axis, 1, t, shape, b.place);
    return y;
  };
  if (is_half(type)) return extend::convert({&b, detail::attach(s, b, arithmetic_of(type), shape)}, type).id;
  if (s.id != standing::chosen) return counted(type, standing::counted - s.id, s.payload, s.step).id;
  auto const side = [&](int axis, std::int64_t first, std::int64_t step) {
    return axis < 0 ? number(element::int64, first, shape) : counted(element::int64, axis, first, step);
  };
  term const left = side(s.when.axis, s.when.offset, s.when.first), right = side(s.when.other, 0, s.when.second);
  term const holds = s.when.relation == position_condition::equal  ? left == right
                     : s.when.relation == position_condition::less ? left < right
                                                                   : left <= right;
  if (type == element::boolean && s.payload != 0 && s.step == 0) return holds.id;
  return extend::select(holds, number(type, s.payload, shape), number(type, s.step, shape)).id;
}

/// The bits of a literal as an element of type T.
template <class T, class L> constexpr std::int64_t literal_bits(L value) {
  if constexpr (is_floating_type<T>) return bits_of(element_of<T>, static_cast<double>(value));
  else return static_cast<std::int64_t>(static_cast<T>(value));
}
template <class T, class L> constexpr bool literal_fits(L value) {
  if constexpr (is_floating_type<T> || std::is_same_v<L, bool> || std::is_same_v<T, bool>)
    return true;
  else if (value < L{})
    return std::is_signed_v<L> && static_cast<std::int64_t>(value) >= std::numeric_limits<T>::min();
  else return static_cast<std::uint64_t>(value) <= static_cast<std::uint64_t>(std::numeric_limits<T>::max());
}

template <class T, class L> constexpr standing standing_of(L value) {
  if (literal_fits<T>(value)) return {nullptr, standing::uniform, literal_bits<T>(value)};
  return {nullptr, standing::too_large, static_cast<std::int64_t>(std::numeric_limits<T>::max()),
          static_cast<std::int64_t>(value)};
}

} // namespace detail
} // namespace cotangent

#endif
