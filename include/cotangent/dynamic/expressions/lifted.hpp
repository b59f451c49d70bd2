// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_EXPRESSIONS_LIFTED_HPP
#define COTANGENT_DYNAMIC_EXPRESSIONS_LIFTED_HPP

#include <cotangent/dynamic/state/symbolic_store.hpp>

#include <cotangent/trace/expressions/functions.hpp>
#include <cotangent/trace/expressions/indexing.hpp>
#include <cotangent/trace/expressions/movement.hpp>
#include <cotangent/trace/expressions/reductions.hpp>
#include <cotangent/trace/expressions/refusals.hpp>
#include <cotangent/trace/expressions/sources.hpp>

#include <cstdint>
#include <source_location>
#include <string_view>
#include <type_traits>
#include <vector>

// Runs the library's functions over terms on expressions of a graph under construction; a failure becomes an
// exception.

COTANGENT_COLD_BEGIN
namespace cotangent::dynamic::inline COTANGENT_ABI {

template <class T> class expr;

/// Positions start, start + step, ... below `stop` along an axis: `x(ct::dynamic::between(1, n))`.
struct between {
  std::int64_t start = 0, stop = cotangent::end, step = 1;
  constexpr between(std::int64_t first, std::int64_t past = cotangent::end, std::int64_t by = 1)
      : start(first), stop(past), step(by) {}
};

} // namespace cotangent::dynamic

namespace cotangent::detail {
template <> inline constexpr bool is_place_at_run_time<dynamic::between> = true;
} // namespace cotangent::detail

namespace cotangent::dynamic::inline COTANGENT_ABI {
namespace detail {

using namespace cotangent::detail;

/// The location of an expression: a symbol of a graph; or a number without a graph. Default constructed it is
/// neither.
struct standing {
  graph_state* s = nullptr;
  symbol id = none;
  bool is_number = false;
  std::int64_t payload = 0; // the bits of the number
  std::uint64_t graph = 0;  // the number of the graph, which may have ended

  standing() = default;
  standing(graph_state& of, symbol t) : s(&of), id(t), graph(of.identity->number) {}
  static standing number(std::int64_t bits) noexcept {
    standing n;
    n.is_number = true;
    n.payload = bits;
    return n;
  }
  bool is_in(graph_state const& of) const noexcept { return graph == of.identity->number; }
};

// ---- names and result types of functions

/// The name of a function over terms, for messages.
template <class Fn> constexpr std::string_view name_of_fn() {
  if constexpr (requires { Fn::name; }) return Fn::name;
  else return "this operation";
}

/// Adds the kernels of all operations that a function and its derivatives may emit. A function of the library names those of
/// `named_operations` as `emits`, any other function may emit them all; those of users are listed as `using uses = ct::operations<...>`.
template <class Fn> struct operations_needed {
  static void add_to(interpret::kernel_list& k) {
    if constexpr (requires { typename Fn::uses; }) k.add(typename Fn::uses{});
    if constexpr (interpret::emits_others<Fn>) k.add(typename Fn::emits{});
    else k.template add_named<Fn>();
  }
};
template <class Op> struct operations_needed<apply_fn<Op>> {
  static void add_to(interpret::kernel_list& k) { k.template add_applied<Op>(); }
};

/// The same, and the kernels for values of these element types; literals have the type of other operands.
template <class Fn, class... T> void add_kernels(interpret::kernel_list& k) {
  operations_needed<Fn>::add_to(k);
  (k.template add_element<T>(), ...);
}

/// The element type of the result, for operands of these element types.
template <class Fn, class First, class... Rest> struct result_element {
  using type = First;
};
template <class Fn, class First, class... Rest>
  requires requires { Fn::gives; }
struct result_element<Fn, First, Rest...> {
  using type = element_t<Fn::gives>;
};
template <class Op, class First, class... Rest> struct result_element<apply_fn<Op>, First, Rest...> {
  using type =
      std::conditional_t<Op::result == extend::yields::boolean, bool, typename last_of<First, Rest...>::type>;
};
template <class C, class A, class B> struct result_element<select_fn, C, A, B> {
  using type = A;
};
template <element To, class X> struct result_element<convert_fn<To>, X> {
  using type = element_t<To>;
};

// ---- operands

template <class A> graph_state* state_of(A const& a) {
  if constexpr (open_expr<A>) return a.where_it_stands().s;
  else return nullptr;
}
template <class... A> graph_state* state_among(A const&... a) {
  graph_state* s = nullptr;
  ((s = s == nullptr ? state_of(a) : s), ...);
  return s;
}

template <class T> struct element_taken {
  using type = T;
};
template <class A>
  requires(open_expr<A> || is_expr<A>)
struct element_taken<A> {
  using type = typename A::value_type;
};

/// A number as a scalar constant of the graph.
inline symbol scalar_symbol(graph_state& s, element e, std::int64_t bits, std::source_location where) {
  return s.b.push(info_of<op::constant>(), nullptr, 0, &bits, 1, e, s.b.shape(dimensions{}), where);
}

/// The symbol of an operand in the region under construction.
template <class T, class A> symbol symbol_of(graph_state& s, A const& a, request const& r) {
  if constexpr (open_expr<A>) {
    standing const& at = a.where_it_stands();
    if (at.is_number) return scalar_symbol(s, A::type, at.payload, r.where);
    if (at.s == nullptr) raise<refusals::dynamic_no_value>(s.b, r);
    if (!at.is_in(s)) raise<refusals::dynamic_other_graph>(s.b, r);
    return s.inside(at.id, r);
  } else if constexpr (is_expr<A>) { // detached: ct::zeros<3>()
    if (a.standing().b != nullptr && a.standing().b != &s.b) raise<refusals::dynamic_other_graph>(s.b, r);
    return a.attach(s.b);
  } else {
    cotangent::detail::standing const bits = standing_of<T>(a);
    if (bits.id == cotangent::detail::standing::too_large)
      raise<refusals::literal_out_of_range>(s.b, r, extent::of(bits.step), extent::of(bits.payload));
    return scalar_symbol(s, element_of<T>, bits.payload, r.where);
  }
}

template <class Fn> constexpr request request_of(std::source_location where) {
  constexpr std::string_view name = name_of_fn<Fn>();
  return {name.data(), static_cast<int>(name.size()), nullptr, 0, where};
}

// ---- functions

/// The symbol of a function's result. One that has nothing to do for these sizes gives an input or constant as a view: memory bound
/// to the result is not that of the input.
inline symbol made_symbol(graph_state& s, term y) {
  if (y.b->tensor(y.id).producer == none)
    for (symbol const input : s.inputs)
      if (input == y.id) return push_as(info_of<op::reshape>(), s.b, {y}, nullptr, 0, y.type(), y.shape_id()).id;
  return y.id;
}

/// Numbers only: computed at once.
template <class T, class Fn, class... A> expr<T> on_numbers(std::source_location where, Fn const& fn,
                                                            A const&... a) {
  graph_state trial;
  request const r = request_of<Fn>(where);
  term const y = fn(term{&trial.b, symbol_of<typename element_taken<A>::type>(trial, a, r)}...);
  if (failure const f = trial.b.failed(); f.why != nullptr) raise(trial.b, f, r);
  counted_number const n = detached_value(trial.b, y.id);
  if (!n.known || n.is_chosen() || y.rank() != 0) raise<refusals::dynamic_detached>(trial.b, r);
  return expr<T>(standing::number(bits_of(n.value)));
}

/// The element type of literals among such operands, and that of the result of `Fn`.
template <class... A> using element_met = typename decltype(element_among<A...>())::type;
template <class Fn, class... A>
using element_made = typename result_element<
    Fn, typename element_taken<std::conditional_t<literal<A>, element_met<A...>, A>>::type...>::type;

template <class Fn, class... A> auto lift(std::source_location where, Fn const& fn, A const&... a) {
  using L = element_met<A...>;
  using T = element_made<Fn, A...>;
  if constexpr (widens<Fn, A...>) return detail::lift(where, fn, widened(where, a)...);
  else if constexpr (((is_floating_type<A> && !is_floating_type<L>) || ...)) {
    static_assert(fractions_fit<L, A...>());
    return expr<T>();
  } else {
    graph_state* const s = state_among(a...);
    if (s == nullptr) return on_numbers<T>(where, fn, as_expr<L>(a)...);
    request r = request_of<Fn>(where);
    undo back(*s);
    s->b.place = where;
    add_kernels<Fn, T, typename element_taken<std::conditional_t<literal<A>, L, A>>::type...>(s->kernels);
    symbol const ids[]{symbol_of<L>(*s, a, r)...};
    back.check(r); // a detached operand may have no symbol
    r.operands = ids;
    r.operand_count = sizeof...(A);
    int next = 0;
    term const x[]{((void)a, term{&s->b, ids[next++]})...};
    term const y = [&]<std::size_t... K>(std::index_sequence<K...>) {
      return fn(x[K]...);
    }(std::index_sequence_for<A...>{});
    back.check(r);
    symbol const made = made_symbol(*s, y);
    back.keep();
    tell_made(*s);
    return expr<T>(standing(*s, made));
  }
}

/// `fn` of a list of expressions, of which there is at least one: `fn.of_list(builder, symbols, count)`.
template <class Fn, class X> X lift_list(std::source_location where, Fn const& fn, std::vector<X> const& all) {
  request r = request_of<Fn>(where);
  graph_state* s = nullptr;
  for (X const& x : all) s = s == nullptr ? state_of(x) : s;
  if (all.empty()) raise<refusals::dynamic_no_parts>(builder(), r);
  if (s == nullptr) raise<refusals::dynamic_detached>(builder(), r);
  undo back(*s);
  s->b.place = where;
  add_kernels<Fn, typename X::value_type>(s->kernels);
  std::vector<symbol> ids;
  for (X const& x : all) ids.push_back(symbol_of<typename X::value_type>(*s, x, r));
  back.check(r);
  std::vector<symbol> parts = ids; // (overwritten)
  r.operands = ids.data();
  r.operand_count = static_cast<int>(ids.size());
  term const y = fn.of_list(s->b, parts.data(), r.operand_count);
  back.check(r);
  symbol const made = made_symbol(*s, y);
  back.keep();
  tell_made(*s);
  return X(standing(*s, made));
}

/// An elementwise operation: like `lift`, but a literal immediately takes the shape of the other operand.
template <class Op, class... A> auto apply(std::source_location where, A const&... a) {
  return detail::lift(where, apply_fn<Op>{}, a...);
}

template <class Op, class X> X updated(std::source_location where, X const& a, X const& y) {
  if (a.attached() && a.shape() != y.shape()) {
    symbol const ids[]{a.id(), y.id()};
    raise<refusals::update_type>(
        a.where_it_stands().s->b,
        {Op::name, static_cast<int>(std::string_view(Op::name).size()), ids, 2, where});
  }
  return y;
}

// ---- x(i, ct::all, ...)

/// One index as a value: its effect on its axis.
template <class Index> place_on_axis place_of_index(Index const& i) {
  if constexpr (std::is_same_v<Index, dynamic::between>) return {.start = i.start, .stop = i.stop, .step = i.step};
  else return (void)i, place_traits<Index>::place;
}
struct take_some_fn {
  static constexpr char const* name = "x(i, j, ...)";
  using emits = operations<>;
  place_on_axis const* places;
  std::int64_t const* at;
  int count;

  term operator()(term x) const {
    return indexed_part(x, places, at, count).read();
  }
};

template <class X, class... Index>
as_element<arithmetic_type<typename X::value_type>, X> take(std::source_location where, X const& x, Index const&... index);

template <class X, class... Index>
as_element<arithmetic_type<typename X::value_type>, X> take(std::source_location where, X const& x, Index const&... index) {
  static_assert(
      ((place_traits<Index>::known || is_place_at_run_time<Index> || is_computed_index<Index>) && ...),
      "cotangent: x(i, j, ...): an index must be an integer, ct::all, ct::range<start, stop, step> or "
      "ct::dynamic::between(start, stop, step)");
  if constexpr (sizeof...(Index) > 1 && count_of_first_computed<Index...>() > 0) // the others read a row alone
    if (x.rank() >= static_cast<int>(sizeof...(Index)))
      return take_by_first_computed(where, x, [&](auto const& part, auto const&... rest) { return detail::take(where, part, rest...); }, index...);
  if constexpr ((is_computed_index<Index> || ...))
    return index_list<X>::template take_rows<0>(where, detail::take(where, x, without_computed(index)...), index...);
  else {
    place_on_axis const places[]{place_of_index(index)...};
    std::int64_t const at[]{position_of_index(index)...};
    return X::lift(where, take_some_fn{places, at, sizeof...(Index)}, x);
  }
}

/// Elements, rows and windows. An integer, or an integer expression, selects a position and drops the axis; `ct::all` keeps the axis;
/// `ct::range<0, 8, 2>` or `ct::dynamic::between(0, n, 2)` keeps a part of it. Omitted axes are kept.
/// Negative integers count from the end.
template <class X> struct indexed {
  template <class A> auto operator()(A a,
                                     std::source_location where = std::source_location::current()) const {
    return take(where, static_cast<X const&>(*this), a);
  }
  template <class A, class B>
  auto operator()(A a, B b, std::source_location where = std::source_location::current()) const {
    return take(where, static_cast<X const&>(*this), a, b);
  }
  template <class A, class B, class C>
  auto operator()(A a, B b, C c, std::source_location where = std::source_location::current()) const {
    return take(where, static_cast<X const&>(*this), a, b, c);
  }
  template <class A, class B, class C, class D>
  auto operator()(A a, B b, C c, D d, std::source_location where = std::source_location::current()) const {
    return take(where, static_cast<X const&>(*this), a, b, c, d);
  }
  /// `x[i]` is `x(i)` of an integer.
  auto operator[](cotangent::detail::subscript&& i) const { return take(i.here, static_cast<X const&>(*this), i.index); }

  /// The rows (or elements), in order: `for (auto row : x)`. Throws: `shape_error` for a scalar.
  auto begin() const { return cotangent::detail::row_iterator<X>{static_cast<X const&>(*this), 0}; }
  auto end() const {
    X const& x = static_cast<X const&>(*this);
    return cotangent::detail::row_iterator<X>{x, x.extent(0)};
  }
};

} // namespace detail
} // namespace cotangent::dynamic
COTANGENT_COLD_END

#endif
