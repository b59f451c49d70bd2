// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_EAGER_LIFT_HPP
#define COTANGENT_DYNAMIC_EAGER_LIFT_HPP

#include <cotangent/dynamic/eager/walk.hpp>
#include <cotangent/dynamic/expressions/functions.hpp>
#include <cotangent/dynamic/expressions/options.hpp>

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <source_location>
#include <string_view>
#include <type_traits>
#include <vector>

// Runs the library's functions over terms on variables of eager mode. Each is prepared once for the elements
// and shapes of its operands, then run at every call.

namespace cotangent::dynamic::inline COTANGENT_ABI {
class any_variable;
template <class T> class variable;

namespace detail {

template <class> inline constexpr bool is_variable = false;
template <class T> inline constexpr bool is_variable<variable<T>> = true;

constexpr int length_of(std::string_view s) noexcept { return static_cast<int>(s.size()); }

/// Throws, with the types of these variables.
template <class Refusal> [[noreturn]] void raise_about(std::initializer_list<eager_value const*> all,
                                                       request r) {
  builder b;
  std::vector<symbol> ids;
  for (eager_value const* const v : all) {
    if (v == nullptr) continue;
    ids.push_back(b.symbol_of(v->now.type, b.shape(v->now.s->dims(v->now.shape))));
    if (v->name == nullptr) continue;
    b.edit().tensors[ids.back()].name = b.edit().add_name(v->name->data(), static_cast<int>(v->name->size()));
  }
  r.operands = ids.data();
  r.operand_count = static_cast<int>(ids.size());
  raise(b, {why<Refusal>(), {}, {}, none, {}}, r);
}
template <class Refusal, class X> [[noreturn]] void raise_eager(X const& x, request r) {
  raise_about<Refusal>({x.value_held()}, r);
}
template <class Refusal, class X, class Y> [[noreturn]] void raise_eager(X const& x, Y const& y, request r) {
  raise_about<Refusal>({x.value_held(), y.value_held()}, r);
}

/// A view of a tensor that received a further piece depends on that piece, too.
inline void read_again(eager_value& v, std::source_location where) {
  eager_state& s = *v.now.s;
  recording_scope const now(s, true);
  eager_operand const x = operand_of(v.view->base->now);
  held y;
  apply_code(s, *v.view->code, &x, &y, where);
  if (v.now.from != nullptr && v.now.from->owner == &v) v.now.from->owner = nullptr;
  v.now = static_cast<held&&>(y);
  if (v.now.from != nullptr && v.now.from->owner == nullptr) v.now.from->owner = &v;
  v.view->seen = v.view->base->version;
  ++v.version;
}

/// Updates a view after its tensor changed.
inline void refresh(eager_value& v, std::source_location where) {
  if (v.view == nullptr || v.view->seen == v.view->base->version) return;
  eager_state& s = *v.now.s;
  if (v.view->base->written != nullptr) return read_again(v, where);
  storage* const to = s.storages.new_storage(v.view->code->results[0].bytes());
  void const* const in[]{elements_of(s, v.view->base->now.data, where)};
  void* const out[]{to->data()};
  run_code(s, *v.view->code, in, out, where);
  s.storages.release(std::exchange(v.now.data, to));
  v.view->seen = v.view->base->version;
  ++v.version;
}

template <class X> eager_value& value_of(X const& x, request const& r) {
  eager_value* const v = x.value_held();
  if (v == nullptr) raise<refusals::eager_no_value>(builder(), r);
  refresh(*v, r.where);
  return *v;
}

/// The value of an operand, updated for computing with it.
template <class X> eager_value& operand_value(eager_state const& s, X const& x, request const& r) {
  eager_value& v = value_of(x, r);
  if (v.now.s != &s) raise_eager<refusals::eager_other_recorder, X>(x, r);
  if (!s.open) raise_eager<refusals::eager_ended, X>(x, r);
  return v;
}

template <class A> eager_state* eager_state_of(A const& a) noexcept {
  if constexpr (is_variable<A>) return a.value_held() == nullptr ? nullptr : a.value_held()->now.s;
  else return nullptr;
}

// ---- the state of a function, as the key of its prepared operation

inline void put_sizes(sizes const& s, eager_key& key) {
  key.put(s.rank());
  for (std::int64_t const n : s) key.put(n);
}
template <class Kind> bool describe(along_value<Kind> const& fn, eager_key& key) {
  return key.put(fn.at), true;
}
inline bool describe(reshape_to_fn const& fn, eager_key& key) { return put_sizes(fn.to, key), true; }
template <class Fn>
  requires std::is_base_of_v<broadcast_to_sizes_fn, Fn>
bool describe(Fn const& fn, eager_key& key) { return put_sizes(fn.to, key), true; }
inline bool describe(take_some_fn const& fn, eager_key& key) {
  for (int k = 0; k < fn.count; ++k) {
    place_on_axis const& p = fn.places[k];
    key.put((p.drops ? 1 : 0) + (p.whole ? 2 : 0));
    if (p.drops) key.put(fn.at[k]);
    else if (!p.whole)
      for (std::int64_t const n : {p.start, p.stop, p.step}) key.put(n);
  }
  return true;
}
/// The state of a function without numbers is unknown: it is found by the graph that it builds.
template <class Fn> bool describe(Fn const& fn, eager_key& key) {
  if constexpr (!requires { fn.numbers.count; }) return (void)fn, (void)key, std::is_empty_v<Fn>;
  else {
    key.put(fn.numbers.count);
    for (int k = 0; k < fn.numbers.count; ++k) key.put(fn.numbers[k]);
    return true;
  }
}

// ---- operands

/// The bits of a number, as they are in memory.
template <class T> std::int64_t in_memory(std::int64_t bits) noexcept {
  T const v = cotangent::detail::scalar_of(element_of<T>, bits).template as<T>();
  std::int64_t m = 0;
  std::memcpy(&m, &v, sizeof v);
  return m;
}

/// The bits of a number that is not a tensor, in the form of graph constants.
template <class T, class A> std::int64_t number_bits(A const& a, request const& r) {
  if constexpr (is_variable<A>) return a.number_bits();
  else {
    cotangent::detail::standing const bits = standing_of<T>(a);
    if (bits.id == cotangent::detail::standing::too_large)
      raise<refusals::literal_out_of_range>(builder(), r, extent::of(bits.step), extent::of(bits.payload));
    return bits.payload;
  }
}

template <class Fn, class L, class A>
eager_operand operand_of(eager_state& s, A const& a, request const& r, eager_key& key, bool& described) {
  if constexpr (is_expr<A>) { // detached: ct::zeros<3>(), a literal operand of select
    if (a.standing().b != nullptr) raise<refusals::eager_other_recorder>(builder(), r);
    if (A::rank != 0 || a.standing().id != cotangent::detail::standing::uniform) described = false;
    key.put(-1 - static_cast<int>(A::type));
    key.put(a.standing().payload);
    return {.type = A::type, .constant = true};
  } else {
    bool number = !is_variable<A>;
    if constexpr (is_variable<A>) number = a.is_number();
    if (!number) {
      if constexpr (is_variable<A>) {
        eager_value const& v = operand_value(s, a, r);
        key.put(v.now.shape * 8 + static_cast<int>(v.now.type));
        return {&v.now, v.name, 0, v.now.shape, v.now.type, false};
      }
    }
    using T = typename element_taken<std::conditional_t<literal<A>, L, A>>::type;
    std::int64_t const bits = number_bits<T>(a, r);
    if (std::is_same_v<Fn, apply_fn<op::pow>>) { // x^2 becomes a square, whose gradient has no logarithm
      key.put(-1 - static_cast<int>(element_of<T>));
      key.put(bits);
      return {.type = element_of<T>, .constant = true};
    }
    key.put(static_cast<int>(element_of<T>));
    return {nullptr, nullptr, in_memory<T>(bits), 0, element_of<T>, false};
  }
}
template <class L, class A> symbol constant_symbol(builder& b, A const& a, request const& r) {
  if constexpr (is_expr<A>) return a.attach(b);
  else {
    using T = typename element_taken<std::conditional_t<literal<A>, L, A>>::type;
    std::int64_t const bits = number_bits<T>(a, r);
    return b.push(info_of<op::constant>(), nullptr, 0, &bits, 1, element_of<T>, b.shape(dimensions{}),
                  b.place);
  }
}

template <class L, class A> auto as_number(A const& a) {
  if constexpr (is_variable<A>) return expr<typename A::value_type>(standing::number(a.number_bits()));
  else return as_expr<L>(a);
}

// ---- functions

template <class Fn, class... A> auto eager_lift(std::source_location where, Fn const& fn, A const&... a) {
  static_assert(
      ((is_variable<A> || literal<A> || is_expr<A>) && ...),
      "cotangent: eager: a variable must not be combined with an expression of a graph; create it with the recorder");
  using L = element_met<A...>;
  using T = element_made<Fn, A...>;
  if constexpr (widens<Fn, A...>) return detail::eager_lift(where, fn, widened(where, a)...);
  else if constexpr (((is_floating_type<A> && !is_floating_type<L>) || ...)) {
    static_assert(fractions_fit<L, A...>());
    return variable<T>();
  } else {
    request const r = request_of<Fn>(where);
    eager_state* s = nullptr;
    ((s = s == nullptr ? eager_state_of(a) : s), ...);
    auto const check_empty = [&](auto const& x) {
      if constexpr (is_variable<std::remove_cvref_t<decltype(x)>>)
        if (x.empty() && !x.is_number()) raise<refusals::eager_no_value>(builder(), r);
    };
    (check_empty(a), ...);
    if (s == nullptr) {
      std::int64_t const bits =
          on_numbers<T>(where, fn, detail::as_number<L>(a)...).where_it_stands().payload;
      return variable<T>(cotangent::detail::scalar_of(element_of<T>, bits).template as<T>());
    }
    add_kernels<Fn, T, typename element_taken<std::conditional_t<literal<A>, L, A>>::type...>(s->kernels);
    constexpr int all = sizeof...(A);
    eager_key key{&function_tag<Fn>::here, {}, 0};
    bool described = true;
    eager_operand const given[]{detail::operand_of<Fn, L>(*s, a, r, key, described)...};
    described = detail::describe(fn, key) && described && key.fits();
    eager_operand x[all];
    int n = 0;
    for (eager_operand const& o : given)
      if (!o.constant) x[n++] = o;
    auto const build = [&](builder& b, symbol const* t, std::vector<symbol>& y) {
      int next = 0, at = 0;
      term const in[]{
          (given[at++].constant ? term{&b, detail::constant_symbol<L>(b, a, r)} : term{&b, t[next++]})...};
      y.push_back([&]<std::size_t... K>(std::index_sequence<K...>) {
        return fn(in[K]...);
      }(std::make_index_sequence<all>{})
                      .id);
    };
    eager_code& c = described ? code_for(*s, key, x, n, r, build) : code_by_content(*s, x, n, r, build);
    held y;
    apply_code(*s, c, x, &y, where);
    return variable<T>(s->new_value(static_cast<held&&>(y)));
  }
}

/// `fn` of a list of variables, of which there is at least one: `fn.of_list(builder, symbols, count)`.
template <class Fn, class X> X eager_lift_list(std::source_location where, Fn const& fn, std::vector<X> const& all) {
  request const r = request_of<Fn>(where);
  eager_state* s = nullptr;
  for (X const& x : all) s = s == nullptr ? eager_state_of(x) : s;
  if (all.empty()) raise<refusals::dynamic_no_parts>(builder(), r);
  if (s == nullptr) raise<refusals::dynamic_detached>(builder(), r);
  add_kernels<Fn, typename X::value_type>(s->kernels);
  eager_key key{&function_tag<Fn>::here, {}, 0};
  bool described = true;
  std::vector<eager_operand> given;
  for (X const& x : all) {
    if (x.empty() && !x.is_number()) raise<refusals::eager_no_value>(builder(), r);
    given.push_back(detail::operand_of<Fn, typename X::value_type>(*s, x, r, key, described));
  }
  described = detail::describe(fn, key) && described && key.fits();
  int const n = static_cast<int>(given.size());
  auto const build = [&](builder& b, symbol const* t, std::vector<symbol>& y) {
    std::vector<symbol> parts(t, t + n);
    y.push_back(fn.of_list(b, parts.data(), n).id);
  };
  eager_code& c = described ? code_for(*s, key, given.data(), n, r, build) : code_by_content(*s, given.data(), n, r, build);
  held y;
  apply_code(*s, c, given.data(), &y, where);
  return X(s->new_value(static_cast<held&&>(y)));
}

// ---- operations of variables

inline void retain_grad(eager_value& v, gradients use, std::source_location where) {
  request const r{"retain_grad", 11, nullptr, 0, where};
  eager_state& s = *v.now.s;
  if (v.now.from == nullptr) raise<refusals::eager_untracked>(builder(), r);
  // one of several results, or another name of it: record an identity of its own
  if (v.now.from->owner != &v) {
    eager_operand const x = operand_of(v.now);
    eager_key key{&function_tag<op::identity>::here, {}, 0};
    key.put(v.now.shape * 8 + static_cast<int>(v.now.type));
    eager_code& c = code_for(s, key, &x, 1, r,
                             [](builder&, symbol const* t, std::vector<symbol>& y) { y.push_back(t[0]); });
    held y;
    apply_code(s, c, &x, &y, where);
    v.now = static_cast<held&&>(y);
    if (v.now.from != nullptr) v.now.from->owner = &v;
  }
  v.wanted = use;
}

/// Writable elements: copied first if other owners need the old ones.
inline void* writable(eager_value& v, std::source_location where = {}) {
  eager_state& s = *v.now.s;
  storage* const before = v.now.data;
  void const* const elements = elements_of(s, before, where, before->users == 1);
  if (before->users == 1) return before->data();
  storage* const own = s.storages.new_storage(before->bytes);
  if (own->bytes > 0) std::memcpy(own->data(), elements, static_cast<std::size_t>(own->bytes));
  s.storages.release(before);
  v.now.data = own;
  return own->data();
}

template <class X> void set_elements(X const& x, memory_of const& m, std::source_location where) {
  request const r{"set", 3, nullptr, 0, where};
  eager_value& v = value_of(x, r);
  eager_state& s = *v.now.s;
  eager_record const* const from = v.now.from;
  if (v.view != nullptr || v.written != nullptr ||
      (from != nullptr && (from->code != nullptr || from->released)))
    raise_eager<refusals::eager_set, X>(x, r);
  tensor_type const t = s.type_of(v.now.type, v.now.shape);
  sizes own;
  for (int k = 0; k < s.dims(t.shape).rank; ++k) own.push(s.dims(t.shape).size[k]);
  if (!(own == m.shape) && !(m.shape.rank() == 1 && m.shape[0] == t.elements))
    raise_eager<refusals::eager_set_shape, X>(x, r);
  if (v.now.data->users != 1) // values computed from it may still need it
    s.storages.release(std::exchange(v.now.data, s.storages.new_storage(t.bytes())));
  if (t.bytes() > 0) std::memmove(v.now.data->data(), m.data, static_cast<std::size_t>(t.bytes()));
  ++v.version;
}

} // namespace detail
} // namespace cotangent::dynamic

#endif
