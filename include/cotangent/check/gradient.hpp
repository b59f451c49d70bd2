// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CHECK_GRADIENT_HPP
#define COTANGENT_CHECK_GRADIENT_HPP

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/kernels/strided_copy.hpp>
#include <cotangent/trace/expressions/functions.hpp>
#include <cotangent/trace/expressions/reductions.hpp>
#include <cotangent/trace/expressions/sources.hpp>
#include <cotangent/trace/program/program.hpp>
#include <cotangent/trace/transformations/products.hpp>

#include <cstdint>
#include <cstdio>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

namespace cotangent {

namespace refusals {
COTANGENT_REFUSAL_OF(check_of_integers, allowed, "cotangent: check_gradient: an argument and a result must hold numbers that are not integers")
} // namespace refusals

/// Options of a gradient check. Zero selects a default by the coarsest element type among the arguments: a
/// step of 6e-6 for double, 5e-3 for float, 1/32 for float16 and 1/8 for bfloat16, relative to elements above 1; tolerances of
/// 1e-6, 5e-3, 0.02 and 0.1. Along a direction they are 1e-10, 1e-3, 0.01 and 0.05, or the given one if that is larger.
struct check_options {
  double step = 0;
  double tolerance = 0;
};

/// The result of a check. Errors are relative to the largest of 1, the value of the function and the two
/// derivatives.
struct gradient_check {
  bool passed = true;
  double worst = -1;         // the largest error
  int argument = -1;         // the location: the argument (-1: along a direction, against forward mode),
  std::int64_t element = -1; // counted through the argument's leaves, each in row-major order
  double gradient = 0;       // the derivative by backward
  double expected = 0;       // the derivative by central differences, or by forward mode
  double step = 0, tolerance = 0;

  explicit operator bool() const noexcept { return passed; }

  /// The result in words.
  detail::message words() const {
    char text[400];
    if (argument < 0)
      std::snprintf(
          text, sizeof text,
          "along a direction the gradient gives %.9g and forward mode %.9g: an error of %.3g, tolerance %.3g",
          gradient, expected, worst, tolerance);
    else
      std::snprintf(text, sizeof text,
                    "argument %d, element %lld: the gradient is %.9g and central differences with step %.3g "
                    "give %.9g: an error of "
                    "%.3g, tolerance %.3g",
                    argument, static_cast<long long>(element), gradient, step, expected, worst, tolerance);
    return detail::message(text);
  }
  template <class Stream>
    requires requires(Stream& s) { s.flush(); }
  friend Stream& operator<<(Stream& s, gradient_check const& c) {
    s << (c.passed ? "passed: " : "failed: ") << c.words().text();
    return s;
  }
};

namespace detail {
inline namespace COTANGENT_ABI {

/// The sum of a tensor with weights in [0.5, 1.5) that differ from element to element, and from leaf to leaf: multiples of the golden
/// ratio without their integers.
template <int Leaf> struct weighed_leaf {
  static constexpr char const* name = "check_gradient";
  using emits = operations<>;
  constexpr term operator()(auto y) const { // (half precision comes as float)
    auto const numbers = 0.61803398874989485 * (extend::convert(extend::positions(*y.b, y.shape_id()), element::float64) + Leaf * 0.7548776662466927);
    auto const weights = 0.5 + (numbers - extend::apply<op::floor>(numbers));
    return extend::sum(y * extend::convert(weights, y.type()), extend::all_axes(y));
  }
};

/// The function as a scalar: the weighed sum of its outputs; a single number is itself.
template <class F> struct weighed_function {
  template <int Leaf, class X> static constexpr auto weigh(X const& y) {
    if constexpr (is_inner<X>)
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        using std::get;
        return (... + weigh<Leaf * 8 + 1 + static_cast<int>(I)>(get<I>(y)));
      }(std::make_index_sequence<std::tuple_size<X>::value>{});
    else if constexpr (!is_expr<X>) return y;
    else if constexpr (!is_floating(X::type)) return typename X::value_type{} * 0.;
    else if constexpr (Leaf == 0 && X::rank == 0 && !is_half(X::type)) return y;
    else return detail::lift(std::source_location::current(), weighed_leaf<Leaf>{}, y);
  }
  template <class... X> constexpr auto operator()(X const&... x) const { return weigh<0>(remade<F>()(x...)); }
};

/// True for a result without numbers that have a derivative.
template <class R> consteval bool only_integers() {
  if constexpr (is_inner<R>)
    return []<class... Part>(parts<Part...>) { return (only_integers<Part>() && ...); }(typename parts_of<R>::type{});
  else if constexpr (is_expr<R>) return !is_floating(R::type);
  else return std::is_integral_v<R>;
}

template <class A> inline constexpr bool is_differentiable =
    (tree_kind_of<A> == tree_kind::memory || is_inner<A>) && std::is_void_v<typename integer_in<A>::type>;

template <class... A> struct differentiable_positions {
  template <class Indices> struct of;
  template <std::size_t... I> struct of<std::index_sequence<I...>> {
    static constexpr int count = (0 + ... + (is_differentiable<A> ? 1 : 0));
    struct list {
      int at[sizeof...(A) + 1]{};
      constexpr list() {
        int n = 0;
        ((is_differentiable<A> ? void(at[n++] = static_cast<int>(I)) : void()), ...);
      }
    };
    static constexpr list positions{};
    template <class Counted> struct sequence;
    template <std::size_t... K> struct sequence<std::index_sequence<K...>> {
      using type = std::integer_sequence<int, positions.at[K]...>;
    };
    using type = typename sequence<std::make_index_sequence<count>>::type;
  };
  using type = typename of<std::index_sequence_for<A...>>::type;
};

/// The coarsest elements of a tree: the spacing of its numbers at 1; 0 for integers.
template <class A> consteval double spacing_of() {
  if constexpr (is_inner<A>)
    return []<class... Part>(parts<Part...>) {
      double most = 0;
      for (double const one : {0., spacing_of<Part>()...})
        if (most < one) most = one;
      return most;
    }(typename parts_of<A>::type{});
  else {
    using T = typename memory_traits<A>::element;
    return std::is_same_v<T, float>      ? 0x1p-23
           : std::is_same_v<T, float16>  ? 0x1p-10
           : std::is_same_v<T, bfloat16> ? 0x1p-7
           : std::is_same_v<T, double>   ? 0x1p-52
                                         : 0;
  }
}
/// The defaults of a check: those of its options, and the tolerance along a direction.
struct check_limits {
  double step, tolerance, along;
};
template <class... A> consteval check_limits limits_for() {
  double most = 0;
  for (double const one : {0., spacing_of<A>()...})
    if (most < one) most = one;
  if (most > 0x1p-9) return {0x1p-3, 0.1, 0.05}; // bfloat16
  if (most > 0x1p-20) return {0x1p-5, 0.02, 0.01};
  if (most > 0x1p-40) return {5e-3, 5e-3, 1e-3};
  return {6e-6, 1e-6, 1e-10};
}

/// The type of a leaf's copy: elements and rows of elements keep theirs, other memory becomes a tensor, whose anonymous
/// sizes have a name, since directions must have the sizes of arguments.
template <class A, int K> struct leaf_as_copy {
  static consteval auto find() {
    if constexpr (element_type<A> || tuple_sized<A>) return std::type_identity<A>{};
    else
      return made_of<tensor, typename argument_traits<A, K>::element, argument_traits<A, K>::extents,
                     std::make_index_sequence<argument_traits<A, K>::extents.rank>>{};
  }
  using type = typename decltype(find())::type;
};
struct leaves_to_copy {
  strided_leaf* next;
  template <class X> void operator()(X const& x) {
    detail::check_for_memory(x);
    *next++ = strided_leaf_of(x);
  }
};
/// Creates the leaves of a copy, in row-major order.
struct copied_leaf {
  strided_leaf const* next;
  template <class X> static X sized(strided_leaf const& from) {
    if constexpr (requires(shape const& s) { X(uninitialized, s); }) {
      shape s;
      for (int k = 0; k < from.rank; ++k) s.push(extent::of(from.size[k]));
      return X(uninitialized, s);
    } else return X{};
  }
  template <class X> X leaf() {
    strided_leaf const& from = *next++;
    X to = copied_leaf::sized<X>(from);
    copy_strided<true>(from, static_cast<char*>(static_cast<void*>(data_of_leaf(to))));
    return to;
  }
};

/// A mutable copy of an argument that is differentiated, which is read through its strides. Other arguments are
/// returned as they are.
template <int First, class A> decltype(auto) owned_copy(A const& a) {
  if constexpr (!is_differentiable<A>) return (a);
  else {
    strided_leaf leaves[leaf_count<A>];
    leaves_to_copy note{leaves};
    visit_leaves(a, note);
    copied_leaf make{leaves};
    return build_tree<typename mapped_tree<A, leaf_as_copy, tensor, First>::type>(make);
  }
}

struct leaf_count_of_elements {
  std::int64_t count = 0;
  template <class X> void operator()(X const& x) {
    std::int64_t sizes[max_rank + 1]{};
    memory_traits<X>::sizes(x, sizes);
    count = checked_product(sizes, memory_traits<X>::extents.rank);
  }
};
template <class X> std::int64_t elements_in_leaf(X const& x) {
  leaf_count_of_elements n;
  n(x);
  return n.count;
}

/// Calls `f` with every element of every leaf.
template <class F> struct each_element {
  F& f;
  template <class X> void operator()(X& x) {
    auto* const p = data_of_leaf(x);
    std::int64_t const n = elements_in_leaf(x);
    for (std::int64_t i = 0; i < n; ++i) f(p[i]);
  }
};
template <class Tree, class F> void for_each_element(Tree& tree, F f) {
  each_element<F> each{f};
  visit_leaves(tree, each);
}

inline double magnitude(double x) noexcept { return x < 0 ? -x : x; }

/// Compares two derivatives, and keeps the worst error. NaN is the worst of all.
inline void compare(gradient_check& c, double gradient, double expected, double value, double tolerance,
                    int argument, std::int64_t element) {
  double scale = 1;
  for (double const v : {gradient, expected, value})
    if (magnitude(v) > scale) scale = magnitude(v);
  // -ffast-math may compare NaN arbitrarily
  bool const number = !math::is_nan(gradient) && !math::is_nan(expected);
  double error = gradient == expected ? 0 : magnitude(gradient - expected) / scale;
  if (!number || math::is_nan(error)) error = math::detail::infinity<double>;
  bool const bad = !number || !(error <= tolerance);
  if (c.passed ? !bad && error <= c.worst : !bad || error <= c.worst) return;
  c.passed = !bad;
  if (bad) c.tolerance = tolerance;
  c.worst = error;
  c.argument = argument;
  c.element = element;
  c.gradient = gradient;
  c.expected = expected;
}

/// True if an operation or a rule of the function has a derivative in reverse mode only, as `ct::external` has.
template <class Stages> consteval bool lacks_forward_mode() {
  if constexpr (!Stages::failed) return false;
  else {
    constexpr auto found = Stages::found::value.why;
    return found == why<refusals::not_differentiable>() || found == why<refusals::custom_forward>();
  }
}

template <class F, int... I, class... Args>
// copies, to be stepped
gradient_check check_at(check_options o, std::integer_sequence<int, I...>, Args&&... args) {
  using weighed = weighed_function<F>;
  constexpr check_limits limits = limits_for<std::remove_cvref_t<Args>...>();
  gradient_check c;
  c.step = o.step != 0 ? o.step : limits.step;
  c.tolerance = o.tolerance != 0 ? o.tolerance : limits.tolerance;
  gradient_function<weighed, true, I...> const backward{};
  compiled_function<weighed> const forward{};
  auto const both = backward(static_cast<Args const&>(args)...);
  double const value = static_cast<double>(both.first);
  std::tuple<Args&...> const all(args...);
  auto gradients = [&] {
    if constexpr (sizeof...(I) == 1) return std::make_tuple(both.second);
    else return both.second;
  }();

  auto const one_argument = [&](auto position, auto& gradient) {
    auto& x = std::get<decltype(position)::value>(all);
    array<double> exact;
    for_each_element(gradient, [&](auto const& g) { exact.push(static_cast<double>(g)); });
    std::int64_t at = 0;
    for_each_element(x, [&](auto& element) {
      using T = std::remove_reference_t<decltype(element)>;
      T const before = element;
      double const least = 4 * spacing_of<T>(), step = c.step > least ? c.step : least, // (elements must differ)
          h = step * (magnitude(static_cast<double>(before)) > 1 ? magnitude(static_cast<double>(before)) : 1);
      T const above = static_cast<T>(static_cast<double>(before) + h),
              below = static_cast<T>(static_cast<double>(before) - h);
      element = above;
      double const up = static_cast<double>(forward(static_cast<Args const&>(args)...));
      element = below;
      double const down = static_cast<double>(forward(static_cast<Args const&>(args)...));
      element = before;
      compare(c, exact[static_cast<int>(at)],
              (up - down) / (static_cast<double>(above) - static_cast<double>(below)), value, c.tolerance,
              decltype(position)::value, at);
      ++at;
    });
  };
  [&]<std::size_t... K>(std::index_sequence<K...>) {
    (one_argument(std::integral_constant<int, I>{}, std::get<K>(gradients)), ...);
  }(std::make_index_sequence<sizeof...(I)>{});

  // Along one direction, against forward mode: neither has truncation errors.
  auto directions = gradients;
  double along = 0;
  [&]<std::size_t... K>(std::index_sequence<K...>) {
    using forward_mode = stages<jvp_function<weighed, I...>, std::remove_cvref_t<Args>...,
                                std::remove_cvref_t<decltype(std::get<K>(directions))>...>;
    if constexpr (!lacks_forward_mode<forward_mode>()) {
      int n = 0;
      auto const fill = [&](auto& d) {
        d = static_cast<std::remove_reference_t<decltype(d)>>((n % 2 == 0 ? 1. : -0.75) / (1 + n % 7)), ++n;
      };
      (for_each_element(std::get<K>(directions), fill), ...);
      array<double> d;
      (for_each_element(std::get<K>(directions), [&](auto const& x) { d.push(static_cast<double>(x)); }), ...);
      int k = 0;
      (for_each_element(std::get<K>(gradients),
                        [&](auto const& g) { along += static_cast<double>(g) * d[k++]; }),
       ...);
      auto const pushed =
          jvp_function<weighed, I...>{}(static_cast<Args const&>(args)..., std::get<K>(directions)...);
      compare(c, along, static_cast<double>(pushed.second), value,
              o.tolerance > limits.along ? o.tolerance : limits.along, -1, -1);
    }
  }(std::make_index_sequence<sizeof...(I)>{});
  return c;
}

template <class F, std::size_t... K, class... Args>
gradient_check check_copies(check_options o, std::index_sequence<K...>, Args const&... args) {
  if constexpr (constexpr unfit why = unfit_arguments<F, Args...>(); why != unfit::nothing) {
    detail::report_unfit<why, F, Args...>();
    return {};
  } else {
    using positions = typename differentiable_positions<Args...>::type;
    using result = std::remove_cvref_t<decltype(remade<F>()(std::declval<expr_tree<Args, first_leaf<K, Args...>> const&>()...))>;
    if constexpr (positions::size() == 0 || only_integers<result>()) {
      refusals::check_of_integers::report<F>();
      return {};
    } else return check_at<F>(o, positions{}, owned_copy<first_leaf<K, Args...>>(args)...);
  }
}

} // namespace COTANGENT_ABI
} // namespace detail

inline namespace COTANGENT_ABI {

/// Compares the gradient of a function with central differences, for every element of every argument that is
/// not integer, and along one direction with forward mode, unless the function has reverse mode only, as with `ct::external`.
/// A function whose result is not a scalar is checked as the sum of its outputs with weights.
///
///     ct::gradient_check const c = ct::check_gradient(loss, parameters, x);
///     if (!c) std::puts(c.words().text());
///
/// Refuses: arguments or results that are all integers.
/// Cost: two evaluations for each element. Domain: elements within a step of a kink (relu at 0) fail, since
/// the function is not differentiable there.
/// Checked: tests/runtime/check.cpp, which also checks wrong gradients
template <class F, class... Args> gradient_check check_gradient(check_options options, F const&,
                                                                Args const&... args) {
  return detail::check_copies<F>(options, std::index_sequence_for<Args...>{}, args...);
}
template <class F, class... Args>
  requires(!std::is_same_v<F, check_options>)
gradient_check check_gradient(F const&, Args const&... args) {
  return detail::check_copies<F>(check_options{}, std::index_sequence_for<Args...>{}, args...);
}

} // namespace COTANGENT_ABI
} // namespace cotangent

COTANGENT_HEADER_END

#endif
