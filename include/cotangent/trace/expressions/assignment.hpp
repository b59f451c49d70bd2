// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_EXPRESSIONS_ASSIGNMENT_HPP
#define COTANGENT_TRACE_EXPRESSIONS_ASSIGNMENT_HPP

#include <cotangent/trace/expressions/indexing.hpp>
#include <cotangent/trace/expressions/movement.hpp>

#include <type_traits>

// x(i) = v: assigning to an indexed read assigns a new node to the variable that was read.

namespace cotangent::detail {

/// The variable at the end of a chain of indexed reads; null if the chain begins with another temporary.
constexpr origin const* variable_behind(origin const* from) {
  while (from != nullptr && from->is_temporary) from = from->outer;
  return from;
}

/// From the innermost read outward, replaces the read part of each variable in the chain by `y`.
constexpr void write_parts(builder& b, origin const* from, symbol y) {
  for (bool more = true; more; from = from->outer) {
    dimensions d;
    for (int k = 0; k < from->extents->rank; ++k) d.size[d.rank++] = b.size((*from->extents)[k]);
    standing& v = *from->variable;
    term const x{&b, v.b == &b ? b.inside(v.id, b.place) : detail::attach(v, b, from->type, b.shape(d))};
    y = indexed_part(x, from->places, from->at, from->count).replaced({&b, y}).id;
    v = {&b, y};
    more = from->is_temporary;
  }
}

template <class Part> struct repeat_to;
template <class T, extent... E> struct repeat_to<expr<T, E...>> {
  using type = broadcast_to_fn<E...>;
};

// Not constexpr: compilers print its name if a temporary outside of any function is assigned to.
inline void an_assignment_must_be_to_a_variable() {}

/// `value` has the type of the part.
template <class Part> constexpr Part write_value(Part const& part, origin const* from, Part const& value) {
  origin const* const target = variable_behind(from);
  builder* b = value.standing().b != nullptr ? value.standing().b : part.standing().b;
  if (b == nullptr && target != nullptr) b = target->variable->b;
  if (target == nullptr) {
    if (b == nullptr) an_assignment_must_be_to_a_variable();
    else b->refuse<refusals::assignment_target>(0, 0, place_of(part));
    return value;
  }
  if (b != nullptr) {
    b->place = from->where;
    symbol const y = value.attach(*b);
    detail::write_parts(*b, from, y);
    return Part(*b, y);
  }
  // detached, as in `on_detached`
  builder trial;
  symbol const said = target->variable->id == standing::refused ? standing::refused : value.standing().id;
  detail::write_parts(trial, from, value.attach(trial));
  *target->variable =
      said == standing::refused ? standing{nullptr, said} : detached_standing(trial, target->variable->id, from->where);
  return value;
}

template <class Part, class Y> constexpr auto assign_part(Part const& part, origin const* from, Y const& y) {
  using T = typename Part::value_type;
  if constexpr (std::is_same_v<Y, Part>) return detail::write_value(part, from, y);
  else if constexpr (std::is_same_v<Y, refused>) return part;
  else if constexpr (is_floating_type<Y> && !is_floating_type<T>)
    static_assert(refusals::fractional_literal::report<Y, T>());
  else if constexpr (literal<Y>) return detail::write_value(part, from, Part(standing_of<T>(y)));
  else if constexpr (!is_expr<Y>) static_assert(unlike_operands<Part, Y>::template report<Part, Y>());
  else if constexpr (!std::is_same_v<typename Y::value_type, T>)
    static_assert(refusals::elements_differ::report<T, typename Y::value_type>());
  else {
    using repeat = typename repeat_to<Part>::type;
    if constexpr (inferred<repeat, Y>::refuses)
      static_assert(refusals::part_shape::report<Part::extents, Y::extents>());
    else
      return detail::write_value(
          part, from, detail::lift_as<Part>(from == nullptr ? place_of(part) : from->where, repeat{}, y));
  }
  return part;
}

} // namespace cotangent::detail

#endif
