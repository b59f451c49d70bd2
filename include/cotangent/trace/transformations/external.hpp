// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_TRANSFORMATIONS_EXTERNAL_HPP
#define COTANGENT_TRACE_TRANSFORMATIONS_EXTERNAL_HPP

#include <cotangent/core/view.hpp>
#include <cotangent/graph/whole.hpp>
#include <cotangent/trace/expressions/indexing.hpp>
#include <cotangent/trace/expressions/movement.hpp>
#include <cotangent/trace/transformations/custom.hpp>

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

// C++ functions that are called as they are: a table, a simulator, another library.

namespace cotangent {

namespace refusals {
// clang-format off: one line each, since compilers show the lines
COTANGENT_REFUSAL_OF(external_arguments, allowed, "cotangent: external: the arguments must be tensors or numbers of one element, float or double, with extents that are numbers")
COTANGENT_REFUSAL_OF(external_result, allowed, "cotangent: external: the function must take a ct::view for each tensor and a number for each number, and return a tensor or a number of the same element; its rule returns one like the argument, or a std::tuple for several")
// clang-format on
} // namespace refusals

namespace detail {

/// Elements of a leaf, one after the other: the function takes `given(p)`, and `put` stores its results.
template <class X> struct external_leaf {
  using element = void;
  static constexpr bool fits = false;
  static constexpr std::int64_t count = 0;
};
template <class T> struct external_number {
  using element = T;
  static constexpr bool fits = std::is_floating_point_v<T>;
  static constexpr std::int64_t count = 1;
  static constexpr T given(T const* x) { return *x; }
  static constexpr void put(T value, T* y) { *y = value; }
  template <class Y> static constexpr auto part(Y const& y, std::int64_t) { return y; }
};
template <class T, extent... E> struct external_tensor {
  using element = T;
  static constexpr bool fits = std::is_floating_point_v<T> && ((E.number >= 0) && ...);
  static constexpr std::int64_t count = (std::int64_t{1} * ... * E.number);
  static constexpr view<T const, E...> given(T const* x) { return view<T const, E...>(x); }
  template <class Value> static constexpr void put(Value const& value, T* y) {
    for (std::int64_t k = 0; k < count; ++k) y[k] = value.data()[k];
  }
};
template <class T, extent... E> struct external_leaf<expr<T, E...>> : std::conditional_t<sizeof...(E) == 0, external_number<T>, external_tensor<T, E...>> {};
template <class T, extent... E> struct external_leaf<tensor<T, E...>> : std::conditional_t<sizeof...(E) == 0, external_number<T>, external_tensor<T, E...>> {};
template <> struct external_leaf<float> : external_number<float> {};
template <> struct external_leaf<double> : external_number<double> {};

template <class R> struct external_results {
  using leaves = parts<external_leaf<R>>;
};
template <class... R> struct external_results<std::tuple<R...>> {
  using leaves = parts<external_leaf<R>...>;
};
template <class T, class... Leaf> consteval bool external_fits(parts<Leaf...>) {
  return ((Leaf::fits && std::is_same_v<typename Leaf::element, T>) && ...);
}
template <class... Leaf> consteval std::int64_t external_count(parts<Leaf...>) { return (std::int64_t{0} + ... + Leaf::count); }

/// Calls `one(x, y)` for rows of `taken` elements, which become rows of `given` elements.
template <class T, class One> constexpr void each_external_row(whole_call const& c, std::int64_t taken, std::int64_t given, One const& one) {
  T const* const x = c.operand[0].template data<T>();
  T* const y = c.result.template data<T>();
  std::int64_t rows = 1;
  for (int k = 0; k + 1 < c.result.rank; ++k) rows *= c.result.size[k];
  for (std::int64_t k = 0; k < rows; ++k) one(x + k * taken, y + k * given);
}
/// The result: rows of `given` elements.
template <class T> constexpr void gives_external_rows(inference& r, std::int64_t given) {
  r.like(0);
  dimensions d = r.dims(0);
  if (d.rank == 0 || r.type != element_of<T>) return r.refuse<refusals::element_not_floating>();
  d.size[d.rank - 1] = given;
  r.result(r.type, d);
}

} // namespace detail

namespace op {

/// A function of views, on rows of elements: those of its arguments, one after the other, become those of its results.
template <class F, class T, class In, class Out> struct external : extend::primitive<operation_kind::whole, 1> {
  static constexpr char const* name = "external";
  static constexpr float cost = 1000;
  static constexpr derivative_kind derivative = derivative_kind::none_;
  static constexpr std::int64_t taken = detail::external_count(In{}), given = detail::external_count(Out{});

  template <class... X, class... R, std::size_t... I>
  static constexpr void one(T const* x, T* y, detail::parts<X...>, detail::parts<R...>, std::index_sequence<I...>) {
    std::int64_t at[sizeof...(X) + 1]{};
    std::int64_t const counts[]{X::count..., 0};
    for (std::size_t k = 0; k < sizeof...(X); ++k) at[k + 1] = at[k] + counts[k];
    auto const result = detail::remade<F>()(X::given(x + at[I])...);
    if constexpr (requires { std::tuple_size<std::remove_cvref_t<decltype(result)>>::value; } && sizeof...(R) != 1)
      std::apply([&](auto const&... r) { ((R::put(r, y), y += R::count), ...); }, result);
    else (R::put(result, y), ...);
  }
  static constexpr void whole(whole_call const& c) {
    detail::each_external_row<T>(c, taken, given, [](T const* x, T* y) { one(x, y, In{}, Out{}, std::make_index_sequence<parts_in(In{})>{}); });
  }
  static constexpr void infer(inference& r) { detail::gives_external_rows<T>(r, given); }
  static constexpr void batch(batch_rule& r) { r.give(detail::push(info_of<external>(), {r.each(0)})); }

private:
  template <class... P> static consteval std::size_t parts_in(detail::parts<P...>) { return sizeof...(P); }
};

} // namespace op

namespace detail {

template <class Op> struct external_fn {
  static constexpr char const* name = "external";
  constexpr term operator()(auto x) const { return push(info_of<Op>(), {x}); }
};

/// A part of the flat result, like leaf `X`.
template <class X> struct external_shape;
template <class T, extent... E> struct external_shape<tensor<T, E...>> {
  template <class Y> static constexpr auto of(Y const& y) { return cotangent::reshape<E...>(y); }
};
template <class T> struct external_shape_of_number {
  template <class Y> static constexpr auto of(Y const& y) { return cotangent::reshape<>(y); }
};
template <> struct external_shape<float> : external_shape_of_number<float> {};
template <> struct external_shape<double> : external_shape_of_number<double> {};

template <class X> constexpr auto as_line(X const& x) { return cotangent::flatten(x); }

/// The call of F in a graph.
template <class F> struct external_call {
  template <class First, class... X> constexpr auto operator()(First const& first, X const&... x) const {
    using T = typename external_leaf<First>::element;
    using in = parts<external_leaf<First>, external_leaf<X>...>;
    if constexpr (std::is_void_v<T> || !detail::external_fits<T>(in{})) {
      static_assert(refusals::external_arguments::report<First, X...>());
      return refused{};
    } else if constexpr (!std::is_invocable_v<F, decltype(external_leaf<First>::given(nullptr)), decltype(external_leaf<X>::given(nullptr))...>) {
      static_assert(refusals::external_result::report<F, First, X...>());
      return refused{};
    } else {
      using result = std::remove_cvref_t<std::invoke_result_t<F, decltype(external_leaf<First>::given(nullptr)), decltype(external_leaf<X>::given(nullptr))...>>;
      using out = typename external_results<result>::leaves;
      if constexpr (!detail::external_fits<T>(out{})) {
        static_assert(refusals::external_result::report<F, First, X...>());
        return refused{};
      } else {
        using operation = op::external<F, T, in, out>;
        auto const call = [](auto const& line) { return detail::lift({}, external_fn<operation>{}, line); };
        if constexpr (sizeof...(X) == 0) return split<result>(call(as_line(first)));
        else return split<result>(call(cotangent::concatenate<0>(as_line(first), as_line(x)...)));
      }
    }
  }

private:
  template <class R, class Y> static constexpr auto split(Y const& y) {
    if constexpr (tuple_sized<R> && !argument_type<R>)
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return std::tuple(part<R, I>(y)...);
      }(std::make_index_sequence<std::tuple_size<R>::value>{});
    else return external_shape<R>::of(y);
  }
  template <class R, std::size_t I, class Y> static constexpr auto part(Y const& y) {
    constexpr std::int64_t begin = []<std::size_t... K>(std::index_sequence<K...>) {
      return (std::int64_t{0} + ... + external_leaf<std::tuple_element_t<K, R>>::count);
    }(std::make_index_sequence<I>{});
    using leaf = std::tuple_element_t<I, R>;
    return external_shape<leaf>::of(y(cotangent::range<begin, begin + external_leaf<leaf>::count>));
  }
};

} // namespace detail

inline namespace COTANGENT_ABI {

/// A C++ function without captures, called as it is: `ct::external(function, vjp)(x...)`. It takes a `ct::view<T const, E...>` for each tensor, a
/// number for each number, and returns a tensor or a number. `vjp` takes the same, then the result and its cotangent, and returns the
/// cotangent of the argument, or a `std::tuple` for several. Both may be called more often, less often and in another order than
/// written, on rows of a batch one after the other.
///
/// Value: that of the function; in constant evaluations, too, if it is constexpr.
/// Adjoint: `vjp`. It has no derivative itself: forward mode and second derivatives are refused.
/// Refuses: captures, named extents, integers, arguments of different elements; structs and tuples as arguments.
/// Checked: tests/runtime/external.cpp, tests/fail/trace_external.cpp.
template <class F, class Rule> constexpr auto external(F, Rule) {
  if constexpr (!detail::is_captureless<F>) static_assert(refusals::used_capture::report<F>());
  else if constexpr (!detail::is_captureless<Rule>) static_assert(refusals::used_capture::report<Rule>());
  return custom_vjp(detail::external_call<F>{}, detail::external_call<Rule>{});
}

} // namespace COTANGENT_ABI
} // namespace cotangent

#endif
