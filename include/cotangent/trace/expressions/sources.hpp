// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_EXPRESSIONS_SOURCES_HPP
#define COTANGENT_TRACE_EXPRESSIONS_SOURCES_HPP

#include <cotangent/trace/expressions/lift.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

// Expressions without operands, and of elements in braces: ct::expr<double, 2, 2>{{a, b}, {c, d}}. The former are detached: they
// join the graph of the first operand they meet, or of the function's result.

namespace cotangent {

namespace detail {
/// Malformed extents are refused once: operations on the result are silent.
template <class T, extent... E> constexpr auto detached(standing const& s) {
  if constexpr (well_formed_extents<E...>) return expr<T, E...>(s);
  else {
    static_assert(detail::refuse_malformed<T, E...>());
    return refused{};
  }
}
/// The step of `count` numbers at equal distances, of which the last is `last` where a step within two units of rounding allows it.
template <class T> constexpr T even_step(std::int64_t count, T first, T last) {
  if (count < 2) return T(0);
  T const steps = static_cast<T>(count - 1), step = (last - first) / steps, unit = step * std::numeric_limits<T>::epsilon() / 2;
  for (T const k : {T(0), T(1), T(-1), T(2), T(-2)})
    if (first + (step + k * unit) * steps == last) return step + k * unit;
  return step;
}
} // namespace detail

/// `value` in all elements.
template <element_type T, extent... E, detail::literal L> constexpr auto full(L value) {
  return detail::detached<T, E...>(detail::as_expr<T>(value).standing());
}
/// `value` in all elements, in double.
template <extent... E, detail::literal L>
  requires(sizeof...(E) != 0)
constexpr auto full(L value) {
  return full<double, E...>(value);
}

template <element_type T, extent... E> constexpr auto zeros() { return full<T, E...>(0); }
template <extent... E> constexpr auto zeros() { return full<double, E...>(0); }
template <element_type T, extent... E> constexpr auto ones() { return full<T, E...>(1); }
template <extent... E> constexpr auto ones() { return full<double, E...>(1); }

/// start, start + step, ... along one axis.
template <element_type T, extent N> constexpr auto iota(T start = T(0), T step = T(1)) {
  return detail::detached<T, N>(detail::standing{nullptr, detail::standing::counted, detail::literal_bits<T>(start),
                                                 detail::literal_bits<T>(step)});
}
/// Ones on the diagonal, zeros elsewhere; N rows and, if M is left out, as many columns.
template <element_type T, extent N, extent M = N> constexpr auto eye() {
  detail::position_condition on_diagonal{detail::position_condition::equal, 0, 1, 1, 1};
  return detail::detached<T, N, M>(
      detail::standing{nullptr, detail::standing::chosen, detail::literal_bits<T>(1), 0, on_diagonal});
}
template <extent N, extent M = N> constexpr auto eye() { return eye<double, N, M>(); }

/// The indices 0, 1, ... as int64.
template <extent N> constexpr auto iota() { return iota<std::int64_t, N>(); }

} // namespace cotangent

namespace cotangent::detail {

struct every_row {
  template <class X, class Visit> static constexpr void visit(X const& x, Visit& each) { each(x); }
  template <class X, std::size_t N, class Visit> static constexpr void visit(X const (&rows)[N], Visit& each) {
    for (X const& row : rows) visit(row, each);
  }
};

/// Concatenates the elements along one axis, then reshapes; equal literals become one constant.
template <class X, brace_sizes... Size, class... Row> constexpr X braced(Row const&... row) {
  constexpr brace_misfit misfit = find_misfit(X::extents, {Size...});
  if constexpr (misfit.given != misfit.wanted) {
    refusals::brace_count::report<extent::of(misfit.given), extent::of(misfit.wanted)>();
    return X(standing{nullptr, standing::refused});
  } else {
    builder* b = nullptr;
    standing first{nullptr, standing::broken};
    bool any = false, same = true;
    auto look = [&](auto const& x) {
      standing const& s = x.standing();
      if (b == nullptr) b = s.b;
      if (!any) first = s;
      same = same && s.id == first.id && s.payload == first.payload && s.step == first.step;
      any = true;
    };
    (every_row::visit(row, look), ...);
    if (b == nullptr) return X(same && first.id != standing::broken ? first : standing{nullptr, standing::broken});
    dimensions one, all, to;
    one.size[one.rank++] = 1;
    all.size[all.rank++] = X::extents.size().number;
    for (int k = 0; k < X::rank; ++k) to.size[to.rank++] = X::extents[k].number;
    std::int32_t const single = b->shape(one);
    array<symbol> elements;
    auto collect = [&](auto const& x) {
      elements.push(op::reshape::of({b, x.attach(*b)}, single).id);
    };
    (every_row::visit(row, collect), ...);
    std::int64_t const axis = 0;
    symbol const joined = b->push(info_of<op::concatenate>(), elements.data(), elements.size(), &axis, 1, X::type,
                                  b->shape(all), b->place);
    return X(*b, op::reshape::of({b, joined}, b->shape(to)).id);
  }
}

} // namespace cotangent::detail

#endif
