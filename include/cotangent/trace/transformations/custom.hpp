// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_TRANSFORMATIONS_CUSTOM_HPP
#define COTANGENT_TRACE_TRANSFORMATIONS_CUSTOM_HPP

#include <cotangent/ops/movement.hpp>
#include <cotangent/trace/functions/control.hpp>
#include <cotangent/trace/transformations/products.hpp>
#include <cotangent/transform/differentiate/custom_rule.hpp>

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

// Functions with derivative rules of their own.

namespace cotangent {
namespace detail {
inline namespace COTANGENT_ABI {

/// Several floating symbols as one: flat, one after the other, in the widest of their elements. One alone is unchanged.
class flat_values {
  builder& b_;
  element type_ = element::float32;
  array<symbol> like_;

public:
  /// Symbols that are not floating are ignored.
  constexpr flat_values(builder& b, array<symbol> const& like) : b_(b), like_(like) {
    for (symbol const t : like)
      if (b.tensor(t).type == element::float64) type_ = element::float64;
  }
  constexpr bool floating(int k) const { return is_floating(b_.tensor(like_[k]).type); }
  constexpr int count() const {
    int n = 0;
    for (int k = 0; k < like_.size(); ++k) n += floating(k) ? 1 : 0;
    return n;
  }
  constexpr symbol joined(array<symbol> const& values) const {
    array<symbol> all;
    for (int k = 0; k < like_.size(); ++k)
      if (floating(k)) all.push(count() == 1 ? values[k] : flat(values[k]));
    std::int64_t const axis = 0;
    return all.size() == 1 ? all[0] : b_.push(info_of<op::concatenate>(), all.data(), all.size(), &axis, 1, b_.place);
  }
  /// `others[k]` where symbol k is not floating; zero if there are none.
  constexpr array<symbol> parts(symbol joined, array<symbol> const* others) const {
    array<symbol> all;
    dimension begin = 0;
    for (int k = 0; k < like_.size(); ++k) {
      tensor_symbol const t = b_.tensor(like_[k]);
      if (!floating(k)) all.push(others != nullptr ? (*others)[k] : extend::constant(b_, t.type, t.shape, 0).id);
      else if (count() == 1) all.push(joined);
      else {
        dimension const size = b_.count(b_.dims(like_[k]));
        std::int64_t const window[2]{begin, 1};
        term const own = op::slice::of({&b_, joined}, window, b_.shape({1, {size}}));
        all.push(extend::convert(op::reshape::of(own, t.shape), t.type).id);
        begin = b_.sum(begin, size);
      }
    }
    return all;
  }

private:
  constexpr symbol flat(symbol t) const {
    term const x = extend::convert({&b_, t}, type_);
    return op::reshape::of(x, b_.shape({1, {b_.count(b_.dims(t))}})).id;
  }
};

struct no_rule {};

/// With a rule for tangents, a rule for cotangents, or both. If there are both, the first one receives the result after the arguments.
template <class F, class Tangent, class Backward>
struct custom_function : transformation<custom_function<F, Tangent, Backward>> {
  using function = custom_function; // the whole transformation is traced
  using of = F;
  static constexpr int extra = 0;
  [[no_unique_address]] F f;
  [[no_unique_address]] Tangent tangent;
  [[no_unique_address]] Backward backward;
  static constexpr bool forward = !std::is_same_v<Tangent, no_rule>, reverse = !std::is_same_v<Backward, no_rule>;

  constexpr custom_function() : f(remade<F>()), tangent(remade<Tangent>()), backward(remade<Backward>()) {}
  constexpr custom_function(F const& g, Tangent const& t, Backward const& c) : f(g), tangent(t), backward(c) {}

  template <class Result, class... Args> static consteval bool refuses() { return false; }
  template <class Result, class... Args> static constexpr void report() {}
  template <class Result> using refused_expressions = refused_tree<Result, expr>;
  template <class Result, class...> using refused_result = refused_tree<Result, tensor>;

  template <class... X> constexpr auto trace(X const&... x) const {
    if constexpr ((tree_has<X, tree_kind::refusal> || ...)) return refused();
    else {
      using result = typename called_with<F, std::index_sequence_for<X...>, X...>::type;
      constexpr unfit why = unfit_result<F, result, sizeof...(X)>();
      if constexpr (why != unfit::nothing) {
        detail::report_unfit<why, F, X...>();
        return refused_tree<result, expr>();
      } else {
        using y = result_tree<result>;
        using checked = std::conditional_t<reverse, rule_types<Backward, std::tuple<X..., y, y>, typename one_or_tuple<X...>::type>,
                                           rule_types<Tangent, std::tuple<X..., X...>, y>>;
        if constexpr (checked::result::why != unfit::nothing) {
          if constexpr (reverse) detail::report_unfit<checked::result::why, Backward, X..., y, y>();
          else detail::report_unfit<checked::result::why, Tangent, X..., X...>();
          return refused_tree<result, expr>();
        } else if constexpr (constexpr bool fits = is_like<typename checked::like, typename checked::result::type>; !fits && can_widen<X...>) {
          return trace(detail::widened_tree(x)...);
        } else if constexpr (!fits) {
          using differs = misfit_of<typename checked::like, typename checked::result::type>;
          if constexpr (reverse) refusals::custom_cotangents::report<typename differs::like, typename differs::given>();
          else refusals::custom_tangents::report<typename differs::like, typename differs::given>();
          return refused_tree<result, expr>();
        } else return on<y>(x...);
      }
    }
  }

private:
  template <class Rule, class Values, class Like> struct rule_types {
    using result = body_result<Rule, Values>;
    using like = Like;
  };
  template <class Y, class... X> constexpr Y on(X const&... x) const {
    found_builder found;
    (visit_leaves(x, found), ...);
    if (found.b == nullptr) return detail::without_graph<Y>(found, [&] { return f(x...); });
    builder& b = *found.b;
    symbols_of_leaves in{b}, out{b};
    (visit_leaves(x, in), ...);
    std::int32_t const before = b.get().nodes.size();
    auto const y = detail::called(f, x...);
    visit_leaves(y, out);
    array<symbol> results = out.ids;
    if (b.failed().why == nullptr) {
      // (a node that was there already has the line of another call)
      if (std::int32_t const p = out.ids.size() > 0 ? b.tensor(out.ids[0]).producer : none; p >= before) b.place = b.get().nodes[p].where;
      flat_values const arguments(b, in.ids), values(b, out.ids);
      if (arguments.count() > 0 && values.count() > 0) results = with_rules<Y, X...>(b, in.ids, arguments, out.ids, values);
    }
    while (results.size() < leaf_count<Y>) results.push(b.refused());
    leaf_from_symbols make{b, results.data()};
    return build_tree<Y>(make);
  }

  template <class Y, class... X>
  constexpr array<symbol> with_rules(builder& b, array<symbol> const& in, flat_values const& arguments,
                                     array<symbol> const& out, flat_values const& values) const {
    std::source_location const where = b.place;
    array<symbol> all;
    all.push(values.joined(out));
    for (int k = 0; k < in.size(); ++k)
      if (arguments.floating(k)) all.push(in[k]);
    int const count = all.size() - 1;
    auto const placeholder = [&](symbol like) {
      array<symbol> operands;
      operands.push(like);
      for (int k = 0; k <= count; ++k) operands.push(all[k]);
      std::int64_t const unique = b.get().nodes.size(); // never merges with another one
      return b.push(info_of<op::placeholder>(), operands.data(), operands.size(), &unique, 1, where);
    };
    symbol const value = reverse ? placeholder(all[0]) : none;
    if constexpr (forward) {
      array<symbol> given = in;
      if constexpr (reverse)
        for (symbol const t : values.parts(value, &out)) given.push(t);
      for (int k = 0; k < in.size(); ++k) {
        tensor_symbol const t = b.tensor(in[k]);
        given.push(arguments.floating(k) ? placeholder(in[k]) : extend::constant(b, t.type, t.shape, 0).id);
        if (arguments.floating(k)) all.push(given.back());
      }
      using taken = std::conditional_t<reverse, std::tuple<X..., Y, X...>, std::tuple<X..., X...>>;
      array<symbol> const dy = detail::run_body<Y, taken>(b, given.data(), tangent);
      if (in_graph<X...>) (void)are_like<refusals::custom_tangents>(b, dy, out);
      if (b.failed().why != nullptr) return out;
      all.push(values.joined(dy));
    }
    if constexpr (reverse) {
      array<symbol> given = in;
      all.push(value);
      all.push(placeholder(all[0]));
      for (symbol const t : values.parts(value, &out)) given.push(t);
      for (symbol const t : values.parts(all.back(), nullptr)) given.push(t);
      using taken = std::tuple<X..., Y, Y>;
      array<symbol> const dx = detail::run_body<typename one_or_tuple<X...>::type, taken>(b, given.data(), backward);
      if (in_graph<X...>) (void)are_like<refusals::custom_cotangents>(b, dx, in);
      if (b.failed().why != nullptr) return out;
      for (int k = 0; k < in.size(); ++k)
        if (arguments.floating(k)) all.push(dx[k]);
    }
    std::int64_t const attributes[3]{count, forward ? 1 : 0, reverse ? 1 : 0};
    return values.parts(b.push(info_of<op::custom>(), all.data(), all.size(), attributes, 3, where), &out);
  }
};

} // namespace COTANGENT_ABI
} // namespace detail

inline namespace COTANGENT_ABI {

/// The function f, with `backward` as its adjoint. The rule is called with the arguments, the result, and the cotangent of the
/// result, as trees of expressions, and returns the cotangent of the argument: a tree like it; for several arguments a
/// `std::tuple`.
///
/// Value: that of f. Without a derivative the rule costs nothing.
/// Adjoint: `backward`, whatever the adjoint of f is. Second derivatives differentiate the rule. Expressions that f captures are
///   constants to derivatives. Cotangents of integers are ignored.
/// Tangent: the transposed rule, if it is linear in the cotangent.
/// Refuses: a rule that returns other types; forward mode through a rule that is not linear, or has a loop that computes from the cotangent.
/// Checked: tests/static/custom.cpp, tests/runtime/custom.cpp.
template <class F, class Rule> constexpr auto custom_vjp(F f, Rule backward) {
  return detail::custom_function<F, detail::no_rule, Rule>(f, {}, backward);
}

/// The function f, with `tangent` as its derivative. The rule is called with the arguments and their tangents, trees like the
/// arguments, and returns the tangent of the result. It must be linear in the tangents: reverse mode transposes it.
///
/// Value: that of f. Without a derivative the rule costs nothing.
/// Refuses: a rule that returns other types; in reverse mode, a rule with an operation that has no adjoint.
/// Checked: tests/static/custom.cpp, tests/runtime/custom.cpp.
template <class F, class Rule> constexpr auto custom_jvp(F f, Rule tangent) {
  return detail::custom_function<F, Rule, detail::no_rule>(f, tangent, {});
}

} // namespace COTANGENT_ABI
} // namespace cotangent

#endif
