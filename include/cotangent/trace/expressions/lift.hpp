// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_EXPRESSIONS_LIFT_HPP
#define COTANGENT_TRACE_EXPRESSIONS_LIFT_HPP

#include <cotangent/ops/along.hpp>
#include <cotangent/trace/expressions/detached.hpp>
#include <cotangent/trace/expressions/expr.hpp>
#include <cotangent/trace/expressions/inferred.hpp>

#include <cstdint>
#include <source_location>
#include <tuple>
#include <type_traits>

// Lifts functions over terms, which know elements and shapes at run time, to functions over expressions,
// which have them in their types.

namespace cotangent::detail {

template <class A>
concept operand_of_expr = is_expr<A> || literal<A> || open_expr<A>;

/// The first operand of a run-time graph: its type decides.
template <class... A> struct open_among;
template <class First, class... Rest> struct open_among<First, Rest...> : open_among<Rest...> {};
template <open_expr First, class... Rest> struct open_among<First, Rest...> {
  using type = First;
};

/// The element type of literals among these operands: that of the first expression. Literals alone have their common type.
template <class First, class... Rest> consteval auto element_among() {
  if constexpr (is_expr<First> || open_expr<First>) return std::type_identity<typename First::value_type>{};
  else if constexpr (sizeof...(Rest) != 0 && ((is_expr<Rest> || open_expr<Rest>) || ...))
    return element_among<Rest...>();
  else {
    using T = std::common_type_t<arithmetic_type<First>, arithmetic_type<Rest>...>;
    if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, float>) return std::type_identity<T>{};
    else if constexpr (std::is_floating_point_v<T>) return std::type_identity<double>{};
    else return std::type_identity<std::conditional_t<(sizeof(T) > sizeof(std::int32_t)), std::int64_t, std::int32_t>>{};
  }
}

/// True if one operand is an expression, and all others can be combined with it.
template <class... A> inline constexpr bool are_operands = (is_expr<A> || ...) && (operand_of_expr<A> && ...);

/// The reason if not; nothing is reported twice.
struct said_before {
  template <class... Any> static constexpr bool report() noexcept { return true; }
};
template <class... A> using unlike_operands =
    std::conditional_t<(std::is_same_v<A, refused> || ...), said_before,
    std::conditional_t<(literal<A> && ...), refusals::plain_numbers,
    std::conditional_t<((is_expr<A> || open_expr<A>) || ...), refusals::tensor_meets_expression, refusals::plain_operands>>>;

/// True if no operand is a fraction that meets integers; else a report.
template <class T, class... A> constexpr bool fractions_fit() {
  constexpr auto fits = []<class B>(std::type_identity<B>) {
    if constexpr (is_floating_type<B> && !is_floating_type<T>) return refusals::fractional_literal::report<B, T>();
    else return true;
  };
  return (fits(std::type_identity<A>{}) && ...);
}

/// An expression unchanged; a literal as a detached expression of element T.
template <class T, class A> constexpr auto as_expr(A const& a) {
  if constexpr (is_expr<A> || open_expr<A>) return a;
  else {
    if constexpr (is_floating_type<A> && !is_floating_type<T>)
      static_assert(refusals::fractional_literal::report<A, T>());
    return expr<T>(standing_of<T>(a));
  }
}

template <class... X> constexpr builder* builder_of(X const&... x) {
  builder* b = nullptr;
  ((b = b == nullptr ? x.standing().b : b), ...);
  return b;
}

/// The value of a symbol computed by nodes without operands, if it is constant-folded (see detached.hpp).
constexpr standing detached_standing(builder const& b, symbol y, std::source_location where) {
  counted_number const n = b.failed().why == nullptr ? detail::detached_value(b, y) : counted_number{};
  if (!n.known) return {nullptr, standing::broken, 0, 0, {}, where};
  if (n.is_chosen()) return {nullptr, standing::chosen, bits_of(n.value), bits_of(n.step), n.when};
  if (n.axis < 0) return {nullptr, standing::uniform, bits_of(n.value)};
  return {nullptr, standing::counted - n.axis, bits_of(n.value), bits_of(n.step)};
}

/// An operation on detached values.
template <class Result, class Fn, class... X>
constexpr Result on_detached(std::source_location where, Fn const& fn, X const&... x) {
  builder b;
  term const y = fn(term{&b, x.attach(b)}...);
  if (((x.standing().id == standing::refused) || ...)) return Result(standing{nullptr, standing::refused});
  // the location of an unknown value
  ((where = x.standing().where.line() != 0 ? x.standing().where : where), ...);
  return Result(detail::detached_standing(b, y.id, where));
}

template <element To> struct convert_fn {
  static constexpr char const* name = "convert";
  static constexpr bool takes_half = true;
  using emits = operations<>;
  constexpr term operator()(term x) const { return extend::convert(x, To); }
};
template <class A> inline constexpr bool is_half_expr = false;
template <class A>
  requires(is_expr<A> || open_expr<A>)
inline constexpr bool is_half_expr<A> = is_half_type<typename A::value_type>;
/// True if `Fn` gets float for operands of half precision: all functions but conversions.
template <class Fn, class... A> inline constexpr bool widens = !requires { Fn::takes_half; } && (is_half_expr<A> || ...);

template <class Op> struct apply_fn {
  static constexpr char const* name = Op::name;
  template <class... Term> constexpr term operator()(Term... x) const { return extend::apply<Op>(x...); }
};
// Equality of bools, by logical operations.
template <> struct apply_fn<op::equal> {
  static constexpr char const* name = op::equal::name;
  constexpr term operator()(term a, term b) const {
    if (a.type() != element::boolean || b.type() != element::boolean) return extend::apply<op::equal>(a, b);
    term const both = extend::apply<op::logical_and>(a, b);
    if (both.b->failed().why != nullptr) return both;
    return extend::apply<op::logical_or>(
        both, extend::apply<op::logical_not>(extend::apply<op::logical_or>(a, b)));
  }
};
template <> struct apply_fn<op::not_equal> {
  static constexpr char const* name = op::not_equal::name;
  constexpr term operator()(term a, term b) const {
    if (a.type() != element::boolean || b.type() != element::boolean) return extend::apply<op::not_equal>(a, b);
    term const both = extend::apply<op::logical_and>(a, b);
    if (both.b->failed().why != nullptr) return both;
    return extend::apply<op::logical_and>(extend::apply<op::logical_or>(a, b),
                                          extend::apply<op::logical_not>(both));
  }
};

template <class Result, class Fn, class... X>
constexpr Result lift_as(std::source_location where, Fn const& fn, X const&... x) {
  builder* const b = builder_of(x...);
  if (b == nullptr) return detail::on_detached<Result>(where, fn, x...);
  b->place = where;
  return Result(*b, fn(term{b, x.attach(*b)}...).id);
}

template <class T, class X> struct element_changed;
template <class T, class X> using as_element = typename element_changed<T, X>::type;
template <class T, class Old, extent... E> struct element_changed<T, expr<Old, E...>> {
  using type = expr<T, E...>;
};
template <class T, template <class> class Open, class Old>
  requires open_expr<Open<Old>>
struct element_changed<T, Open<Old>> {
  using type = Open<T>;
};
/// True if `inner` is inside the sub-graph `outer`, or is it.
constexpr bool is_inside(builder const& b, std::int32_t inner, std::int32_t outer) {
  while (inner > outer) inner = b.get().regions[inner].parent;
  return inner == outer;
}
/// Expressions of half precision as float, others unchanged. Bodies of loops get the float, so that its cotangents are added as float.
template <class A> constexpr auto widened(std::source_location where, A const& a) {
  if constexpr (!is_half_expr<A>) return a;
  else {
    using result = as_element<float, A>;
    if constexpr (requires(builder& b, symbol y) { result(b, y); })
      if (standing const s = a.standing(); s.b != nullptr && s.id >= 0) {
        std::int32_t const here = s.b->region, home = s.b->tensor(s.id).region;
        if (detail::is_inside(*s.b, here, home)) {
          s.b->place = where;
          s.b->region = home;
          symbol const y = extend::convert({s.b, s.id}, element::float32).id;
          s.b->region = here;
          return result(*s.b, y);
        }
      }
    if constexpr (open_expr<A>) return result(A::lift(where, convert_fn<element::float32>{}, a));
    else return result(detail::lift_as<result>(where, convert_fn<element::float32>{}, a));
  }
}

/// True for half precision where float is wanted: it is widened, as by an operation.
template <class Wanted, class Given> inline constexpr bool is_half_for = std::is_same_v<Wanted, float> && is_half_expr<Given>;

/// `fn` of literals only is a number, as `std::exp` of one is.
template <class Fn, class... A> constexpr auto lift_numbers(std::source_location where, Fn const& fn, A const&... a) {
  if constexpr ((is_element_number<A> && ...) && requires { Fn{}; }) {
    using T = typename decltype(element_among<A...>())::type;
    constexpr bool refuses = inferred<Fn, number_operand<T, A>...>::refuses;
    if constexpr (refuses) return detail::lift(where, fn, expr<T>(standing_of<T>(a))...);
    else if constexpr (folds_numbers<T, Fn, A...>()) {
      auto const y = detail::lift(where, fn, expr<T>(standing_of<T>(a))...);
      return scalar_of(y.type, y.standing().payload).template as<typename decltype(y)::value_type>();
    } else {
      static_assert(refusals::plain_numbers::report<A...>());
      return refused{};
    }
  } else {
    static_assert(refusals::plain_numbers::report<A...>());
    return refused{};
  }
}

/// `fn` of expressions and literals. The element and extents of the result follow from a trial run with these
/// types, on a temporary builder.
template <class Fn, class... A> constexpr auto lift(std::source_location where, Fn const& fn, A const&... a) {
  if constexpr (widens<Fn, A...>) return detail::lift(where, fn, detail::widened(where, a)...);
  else if constexpr ((open_expr<A> || ...) && (operand_of_expr<A> && ...))
    return open_among<A...>::type::lift(where, fn, a...);
  else if constexpr ((is_expr<A> && ...)) {
    using trial = inferred<Fn, A...>;
    if constexpr (trial::refuses) {
      using why = reason_of<trial>;
      if constexpr (says_extents<why>)
        static_assert(why::template report<trial::value.left, trial::value.right>());
      else static_assert(why::template report<typename sides<why, A...>::left, typename sides<why, A...>::right>());
      return refused{};
    } else return detail::lift_as<typename trial::type>(where, fn, a...);
  } else if constexpr (are_operands<A...>) return detail::lift(where, fn, as_expr<typename decltype(element_among<A...>())::type>(a)...);
  else if constexpr ((literal<A> && ...)) return detail::lift_numbers(where, fn, a...);
  else {
    static_assert(unlike_operands<A...>::template report<A...>());
    return refused{};
  }
}

template <class Kind, class X> struct along_result : std::type_identity<X> {};
template <class Kind, class X>
  requires requires { Kind::gives; }
struct along_result<Kind, X> : element_changed<element_t<Kind::gives>, X> {};
template <int Axis> constexpr std::integral_constant<int, Axis> number_of(axes_t<Axis>) { return {}; }

/// `fn`, a function of kind `Kind` with numbers that are arguments: the result has the shape of x. `Example` is one with constants.
template <class Kind, class Example, class X, class Fn> constexpr auto lift_like(std::source_location where, X const& x, Fn const& fn) {
  if constexpr (is_half_expr<X>) return detail::lift_like<Kind, Example>(where, detail::widened(where, x), fn);
  else if constexpr (open_expr<X>) return X::lift(where, fn, x);
  else if constexpr (inferred<Example, X>::refuses) return detail::lift(where, Example{}, x);
  else return detail::lift_as<typename along_result<Kind, X>::type>(where, fn, x);
}
/// Along an axis that is an argument.
template <class Kind, class X, one_axis A> constexpr auto lift_along(std::source_location where, X const& x, A axis) {
  if constexpr (names_one_axis<A>) return detail::lift(where, along_axis<Kind, decltype(detail::number_of(axis))::value>{}, x);
  else return detail::lift_like<Kind, along_axis<Kind, -1>>(where, x, along_value<Kind>{static_cast<std::int64_t>(axis)});
}

// ---- common cases, whose types need no trial

template <class Op, class T> inline constexpr bool keeps_type = requires {
  Op::operands;
  Op::result;
} && Op::arity <= 2 && accepts(Op::operands, element_of<T>);

template <class Op, class X> struct elementwise_result {
  using type = X;
};
template <class Op, class T, extent... E>
  requires(Op::result == extend::yields::boolean)
struct elementwise_result<Op, expr<T, E...>> {
  using type = expr<bool, E...>;
};

template <class Op, class A> constexpr auto unary(std::source_location where, A const& a) {
  if constexpr (is_half_expr<A>) return detail::unary<Op>(where, detail::widened(where, a));
  else if constexpr (open_expr<A>) return A::template apply<Op>(where, a);
  else if constexpr (is_expr<A>) {
    if constexpr (keeps_type<Op, typename A::value_type>) {
      using result = typename elementwise_result<Op, A>::type;
      standing const& s = a.standing();
      if (s.b == nullptr) return detail::on_detached<result>(where, apply_fn<Op>{}, a);
      symbol const id = s.b->inside(s.id, where);
      return result(*s.b, s.b->push(info_of<Op>(), &id, 1, nullptr, 0, result::type,
                                    s.b->get().tensors[id].shape, where));
    } else {
      using trial = inferred<apply_fn<Op>, A>;
      if constexpr (trial::refuses) {
        using why = reason_of<trial>;
        if constexpr (says_extents<why>)
          static_assert(why::template report<trial::value.left, trial::value.right>());
        else static_assert(why::template report<typename sides<why, A>::left, typename sides<why, A>::right>());
        return refused{};
      } else return detail::lift_as<typename trial::type>(where, apply_fn<Op>{}, a);
    }
  } else if constexpr (std::is_same_v<A, float> || std::is_same_v<A, double>) return Op::template apply<A>(a);
  else if constexpr (literal<A>) return detail::lift_numbers(where, apply_fn<Op>{}, a);
  else {
    static_assert(unlike_operands<A>::template report<A>());
    return refused{};
  }
}

template <class Op, class X> constexpr symbol push_same(builder& b, symbol const (&ids)[2],
                                                        std::source_location where) {
  return b.push(info_of<Op>(), ids, 2, nullptr, 0, elementwise_result<Op, X>::type::type,
                b.get().tensors[ids[0]].shape, where);
}

/// The source location of an expression.
template <class A> constexpr std::source_location place_of(A const& a) {
  builder const* const b = a.standing().b;
  node const* const made = b == nullptr ? nullptr : b->producer(a.standing().id);
  return made == nullptr ? std::source_location{} : made->where;
}

/// The symbol of a literal with the shape of `like`.
template <class T, class L>
constexpr symbol literal_like(builder& b, symbol like, L value, std::source_location where) {
  std::int64_t const bits = literal_bits<T>(value);
  if constexpr (!is_floating_type<T>)
    if (!literal_fits<T>(value)) {
      b.place = where;
      return detail::attach(standing_of<T>(value), b, element_of<T>, b.get().tensors[like].shape);
    }
  return b.push(info_of<op::constant>(), nullptr, 0, &bits, 1, element_of<T>, b.get().tensors[like].shape,
                where);
}

/// `Op` of two expressions, one of which has the extents of the result already: no shape rule has to run.
template <class Op, class Result, class A, class B>
constexpr Result broadcast_binary(std::source_location where, A const& a, B const& b) {
  builder* const g = builder_of(a, b);
  if (g == nullptr) return detail::on_detached<Result>(where, apply_fn<Op>{}, a, b);
  g->place = where;
  symbol ids[2]{a.attach(*g), b.attach(*g)};
  constexpr bool is_left = Result::extents == A::extents;
  std::int32_t const shape = g->get().tensors[ids[is_left ? 0 : 1]].shape;
  ids[is_left ? 1 : 0] = extend::broadcast_to(term{g, ids[is_left ? 1 : 0]}, shape).id;
  return Result(*g, g->push(info_of<Op>(), ids, 2, nullptr, 0, Result::type, shape, where));
}

template <class Op, class A, class B> constexpr auto binary(std::source_location where, A const& a,
                                                            B const& b) {
  if constexpr (is_half_expr<A> || is_half_expr<B>) return detail::binary<Op>(where, detail::widened(where, a), detail::widened(where, b));
  else if constexpr ((open_expr<A> || open_expr<B>) && operand_of_expr<A> && operand_of_expr<B>)
    return open_among<A, B>::type::template apply<Op>(where, a, b);
  else if constexpr (is_expr<A> && std::is_same_v<A, B> &&
                keeps_type<Op, typename decltype(element_among<A>())::type>) {
    using result = typename elementwise_result<Op, A>::type;
    builder* const g = a.standing().b != nullptr ? a.standing().b : b.standing().b;
    if (g == nullptr) return detail::on_detached<result>(where, apply_fn<Op>{}, a, b);
    g->place = where;
    symbol const ids[2]{a.attach(*g), b.attach(*g)};
    return result(*g, push_same<Op, A>(*g, ids, where));
  } else if constexpr ((is_expr<A> && literal<B>) || (literal<A> && is_expr<B>)) {
    using X = std::conditional_t<is_expr<A>, A, B>;
    using T = typename X::value_type;
    using L = std::conditional_t<is_expr<A>, B, A>;
    if constexpr (is_floating_type<L> && !is_floating_type<T>) {
      static_assert(refusals::fractional_literal::report<L, T>());
      return refused{};
    } else if constexpr (!keeps_type<Op, T>) return detail::lift(where, apply_fn<Op>{}, a, b);
    else {
      using result = typename elementwise_result<Op, X>::type;
      builder* g = nullptr;
      if constexpr (is_expr<A>) g = a.standing().b;
      else g = b.standing().b;
      if (g == nullptr) return detail::on_detached<result>(where, apply_fn<Op>{}, as_expr<T>(a), as_expr<T>(b));
      symbol ids[2]{};
      if constexpr (is_expr<A>) {
        ids[0] = g->inside(a.standing().id, where);
        ids[1] = literal_like<T>(*g, ids[0], b, where);
      } else {
        ids[1] = g->inside(b.standing().id, where);
        ids[0] = literal_like<T>(*g, ids[1], a, where);
      }
      return result(*g, push_same<Op, X>(*g, ids, where));
    }
  } else if constexpr ((std::is_same_v<A, float> || std::is_same_v<A, double>) && std::is_same_v<A, B>)
    return Op::template apply<A>(a, b);
  else if constexpr (literal<A> && literal<B>) return detail::lift_numbers(where, apply_fn<Op>{}, a, b);
  else if constexpr (is_expr<A> && is_expr<B>) {
    // As in `lift`, but with fewer frames between an error and the user's line.
    using trial = inferred<apply_fn<Op>, A, B>;
    if constexpr (trial::refuses) {
      using why = reason_of<trial>;
      if constexpr (says_extents<why>)
        static_assert(why::template report<trial::value.left, trial::value.right>());
      else static_assert(why::template report<typename sides<why, A, B>::left, typename sides<why, A, B>::right>());
      return refused{};
    } else if constexpr (keeps_type<Op, typename A::value_type> &&
                         (trial::type::extents == A::extents || trial::type::extents == B::extents))
      return detail::broadcast_binary<Op, typename trial::type>(where, a, b);
    else return detail::lift_as<typename trial::type>(where, apply_fn<Op>{}, a, b);
  } else {
    static_assert(unlike_operands<A, B>::template report<A, B>());
    return refused{};
  }
}

/// Several results of the same operands, as a tuple; after a mistake all are `refused`, since one mistake is one error.
template <class First, class... Rest, class... A> constexpr auto lift_parts(std::source_location where, A const&... a) {
  auto const first = detail::lift(where, First{}, a...);
  if constexpr (std::is_same_v<decltype(first), refused const>) return std::tuple{refused{}, (static_cast<void>(Rest{}), refused{})...};
  else return std::tuple{first, detail::lift(where, Rest{}, a...)...};
}

} // namespace cotangent::detail

#endif
