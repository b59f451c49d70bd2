// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_TRANSFORMATIONS_VJP_HPP
#define COTANGENT_TRACE_TRANSFORMATIONS_VJP_HPP

#include <cotangent/trace/transformations/partial_vjp.hpp>
#include <cotangent/trace/transformations/products.hpp>
#include <cotangent/trace/transformations/pullback.hpp>

#include <cstddef>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>

namespace cotangent {
namespace detail {
inline namespace COTANGENT_ABI {

/// Placeholder for a pullback to the positions I, after an error.
template <int... I> struct refused_pullback {
  template <class... Cotangent> constexpr auto operator()(Cotangent const&...) const {
    return typename packed<refused_part<I>...>::type();
  }
};

/// The symbols of the leaves of cotangents or tangents; none for absent ones.
struct seed_leaves {
  builder& b;
  array<symbol> ids{};
  template <class X> constexpr void operator()(X const& x) {
    if constexpr (is_expr<X> || graph_expr<X>) ids.push(x.attach(b));
    else if constexpr (std::is_same_v<X, absent_t>) ids.push(none);
    else ids.push(expr<X>(x).attach(b));
  }
};

/// The pullback inside a traced function: appends gradients to the same graph, so that they are planned
/// together.
template <class Expressions, class Gradients> struct traced_pullback {
  builder* b = nullptr;
  symbol without = standing::broken;
  array<symbol> wrt{}, outputs{};
  builder* tried = nullptr; // in a trial call, the graph that the function uses

  template <class Cotangent>
  constexpr Gradients operator()(Cotangent const& dy, std::source_location where = std::source_location::current()) const {
    if constexpr (!are_cotangents<Expressions, Cotangent>()) {
      refusals::pulled_of_kind::report<Cotangent>();
      return broken();
    } else {
      if (b == nullptr) return broken();
      auto const pulled = [&] {
        seed_leaves seeds{*b};
        visit_leaves(dy, seeds);
        return pull(seeds.ids);
      };
      if constexpr (in_graph<Expressions>) return front_end_of<Expressions>::changed(b->owner, where, pulled);
      else return pulled();
    }
  }
  constexpr Gradients operator()(std::source_location where = std::source_location::current()) const {
    if constexpr (!all_are_numbers<Expressions>()) {
      refusals::pulled_of_kind::report<Expressions>();
      return broken();
    } else {
      if (b == nullptr) return broken();
      auto const pulled = [&] {
        array<symbol> ones;
        for (symbol const y : outputs) {
          tensor_symbol const t = b->tensor(y);
          if (is_floating(t.type) && b->dims(y).rank != 0)
            b->refuse<refusals::pulled_of_kind>(0, 0, b->place);
          ones.push(is_floating(t.type) ? extend::constant(*b, t.type, t.shape, 1).id : none);
        }
        return pull(ones);
      };
      if constexpr (in_graph<Expressions>) return front_end_of<Expressions>::changed(b->owner, where, pulled);
      else return pulled();
    }
  }

private:
  constexpr Gradients broken() const {
    if (tried != nullptr) {
      trial_leaf constants{*tried};
      return build_tree<Gradients>(constants);
    }
    broken_leaf make{without};
    return build_tree<Gradients>(make);
  }
  constexpr Gradients pull(array<symbol> const& seeds) const {
    array<symbol> results(wrt.size() + 1, none);
    if (!detail::append_pulled<refusals::pulled_of_kind, Expressions>(*b, wrt, outputs, seeds, results.data())) return broken();
    for (symbol& s : results)
      if (s == none) s = b->refused();
    leaf_from_symbols make{*b, results.data()};
    return build_tree<Gradients>(make);
  }
};

/// The first N types of a list.
template <class Indices, class... X> struct first_of;
template <std::size_t... K, class... X> struct first_of<std::index_sequence<K...>, X...> {
  using type = parts<std::tuple_element_t<K, std::tuple<X...>>...>;
};
/// True if F takes exactly these expressions. A transformation takes what its function takes.
template <class F, class... X> consteval bool takes(parts<X...>) {
  if constexpr (!is_function<F> || sizeof...(X) == 0) return false;
  else if constexpr (requires { typename F::template rows_of<X...>; })
    return detail::takes<typename F::of>(typename F::template rows_of<X...>{});
  else if constexpr (requires { F::extra; }) {
    if constexpr (static_cast<int>(sizeof...(X)) <= F::extra) return false;
    else
      return detail::takes<typename F::of>(
          typename first_of<std::make_index_sequence<sizeof...(X) - static_cast<std::size_t>(F::extra)>,
                            X...>::type{});
  } else if constexpr (std::is_base_of_v<transformation<F>, F>)
    return detail::takes<typename F::function>(parts<X...>{});
  else
    return !std::is_same_v<
        decltype(std::declval<callable_with<F, X...> const&>()(std::declval<X const&>()...)), no_such_call>;
}

template <class F, int... I> struct vjp_function;
template <class F, int... I, class Result, class... Wrt>
struct product_result<vjp_function<F, I...>, Result, Wrt...> {
  using type = std::pair<Result, typename packed<Wrt...>::type>;
};
template <class F, int... I> struct vjp_function : product_function<vjp_function<F, I...>, F, I...> {
private:
  using one_shot = product_function<vjp_function, F, I...>;

  template <class... Args, std::size_t... K> static consteval bool takes_values(std::index_sequence<K...>) {
    if constexpr (!(is_argument<Args>() && ...)) return false;
    else return detail::takes<F>(parts<expr_tree<Args, first_leaf<K, Args...>>...>{});
  }

  template <class Result, class Cotangent> static consteval bool is_cotangent_of(parts<Cotangent>) {
    return std::is_same_v<wide_tree<Result>, wide_tree<Cotangent>>;
  }
  template <class Result, class... Args> static constexpr bool is_differentiable() {
    if constexpr (!takes_derivatives<F, Result, I...>(parts<Args...>{})) return false;
    else if constexpr (!has_floating<result_tree<Result>>())
      return refusals::output_not_floating::report<typename integer_in<result_tree<Result>>::type,
                                                   refusals::wanted>(),
             false;
    else return true;
  }
  template <class Expressions> static consteval bool has_floating() {
    kinds_of_leaves<Expressions> const kinds{};
    for (int k = 0; k < kinds.count; ++k)
      if (is_floating(kinds.of[k].type)) return true;
    return false;
  }

  template <class... Args, std::size_t... K>
  static COTANGENT_CHECKED_CALL auto run(std::index_sequence<K...>, Args const&... args) {
    using result = decltype(std::declval<callable<F> const&>()(
        std::declval<expr_tree<Args, first_leaf<K, Args...>> const&>()...));
    using nothing = std::pair<refused_tree<result, tensor>, refused_pullback<I...>>;
    using made = vjp_stages<F, std::integer_sequence<int, I...>, Args...>;
    constexpr unfit arguments = unfit_arguments<F, Args...>();
    if constexpr (arguments != unfit::nothing) return detail::report_unfit<arguments, F, Args...>(), nothing{};
    else if constexpr (!is_differentiable<result, Args...>()) return nothing{};
    else if constexpr (failure_of<typename made::traced>::exists) {
      using found = failure_of<typename made::traced>;
      return detail::line_of_your_source<found, found::value.where.line()>(), nothing{};
    } else if constexpr (failure_of<typename made::joint>::exists) {
      using found = failure_of<typename made::joint>;
      return detail::line_of_your_source<found, found::value.where.line()>(), nothing{};
    } else if constexpr (!has_planned_rows<typename made::in_workspace>()) {
      using found = tape_failure<typename made::in_workspace>;
      return detail::line_of_your_source<found, found::value.where.line()>(), nothing{};
    } else {
      using program = program_of<vjp_forward<F, I...>, typename made::forward, Args...>;
      kept_sizes<made::backward::view.extent_count> sizes;
      if constexpr (made::backward::view.extent_count > 0) program::find_sizes(sizes.get(), args...);
      auto r = program::call(args...);
      return std::pair<typename made::value_type, pullback<made>>(std::move(r.first),
                                                                  pullback<made>(r.second, sizes));
    }
  }

  template <class... Args>
  using partial = partial_vjp_function<F, argument_at<static_cast<int>(sizeof...(Args)) - 1, Args...>, I...>;
  // (no lambda: a call without exceptions is an immediate one)
  template <std::size_t... K, class All, class... Args>
  COTANGENT_CHECKED_CALL auto run_present(std::index_sequence<K...>, All const& all, parts<Args...>) const {
    return partial<Args...>(this->f)(std::get<K>(all)...);
  }

public:
  using one_shot::one_shot;
  static constexpr int extra = 1;
  template <class Result, class Wrt, class Directions>
  static constexpr bool directions_fit = vjp_function::template is_cotangent_of<Result>(Directions{});
  template <class... X> static constexpr void report_directions() {
    refusals::cotangent_of_kind::report<F>();
  }

  template <class... X>
  static constexpr void append(builder& b, array<symbol> const& wrt, array<symbol> const& out,
                               array<symbol> const& directions, array<symbol>& all) {
    array<symbol> seeds;
    for (int k = 0; k < out.size(); ++k) seeds.push(extend::convert({&b, directions[k]}, b.tensor(out[k]).type).id);
    detail::append_gradients<X...>(b, wrt, out, seeds, all);
  }

  /// With the function's arguments: returns the value and the pullback. With a cotangent after them: the
  /// value and the gradients.
  template <class... Args>
    requires(!(detail::holds_expressions<Args> || ...))
  COTANGENT_CHECKED_CALL auto operator()(Args const&... args) const {
    if constexpr (ends_absent<Args...>()) {
      auto const all = detail::with_present_parts(args...);
      return run_present(std::make_index_sequence<std::tuple_size_v<decltype(all)>>{}, all, parts<Args...>{});
    } else if constexpr (takes_values<Args...>(std::index_sequence_for<Args...>{}))
      return run(std::index_sequence_for<Args...>{}, args...);
    else return one_shot::operator()(args...);
  }
  template <class... Args>
    requires((detail::holds_expressions<Args> || ...) && !in_graph<Args...>)
  constexpr auto operator()(Args const&... args) const {
    if constexpr (ends_absent<Args...>())
      return std::apply([&](auto const&... x) { return partial<Args...>(this->f)(x...); }, detail::with_present_parts(args...));
    else if constexpr (!(is_traceable<Args> && ...)) return one_shot::operator()(args...);
    else if constexpr (detail::takes<F>(parts<traced_argument<Args>...>{}))
      return trace_pair(as_traced(args)...);
    else return one_shot::operator()(args...);
  }
  using calls_in_graph<vjp_function>::operator();
  template <class... Args> auto call_at(std::source_location where, Args const&... args) const {
    if constexpr (ends_absent<Args...>())
      return std::apply([&](auto const&... x) { return partial<Args...>(this->f).call_at(where, x...); },
                        detail::with_present_parts(args...));
    else
      return front_end_of<Args...>::transformed(
          where,
          [&](auto const&... x) {
            if constexpr (detail::takes<F>(parts<std::remove_cvref_t<decltype(x)>...>{}))
              return trace_pair(x...);
            else return this->trace(x...);
          },
          args...);
  }

private:
  template <class... X> constexpr auto trace_pair(X const&... x) const {
    using result = result_of_call<F, X...>;
    if constexpr (!is_differentiable<result, X...>()) return std::pair<refused_tree<result, expr>, refused_pullback<I...>>();
    else return trace_on<result>(std::index_sequence_for<X...>{}, x...);
  }
  template <class Result, std::size_t... K, class... X>
  constexpr auto trace_on(std::index_sequence<K...>, X const&... x) const {
    using expressions = result_tree<Result>;
    using back = traced_pullback<expressions, typename packed<argument_at<I, X...>...>::type>;
    found_builder found;
    (visit_leaves(x, found), ...);
    if (found.b == nullptr) {
      expressions const y = detail::without_graph<expressions>(found, [&] { return this->f(x...); });
      return std::pair<expressions, back>(y, back{nullptr, found.without, {}, {}, found.b});
    }
    argument_list<std::index_sequence<K...>, X...> own{{x}...};
    renamed_leaves wrt{*found.b};
    (visit_leaves(static_cast<held<I, argument_at<I, X...>>&>(own).value, wrt), ...);
    Result const y = detail::called(this->f, static_cast<held<K, X> const&>(own).value...);
    symbols_of_leaves out{*found.b};
    visit_leaves(y, out);
    leaf_from_symbols make{*found.b, out.ids.data()};
    return std::pair<expressions, back>(build_tree<expressions>(make),
                                        back{found.b, found.without, wrt.ids, out.ids});
  }
};

} // namespace COTANGENT_ABI
} // namespace detail

inline namespace COTANGENT_ABI {

/// The value of a function and its pullback: `auto [y, back] = ct::vjp(f)(x...)`. `back(dy)` returns the
/// gradients like `ct::grad<I...>`, any number of times. It owns the values that the gradients need, selected
/// for the fewest bytes; all others are freed when the call returns.
///
/// With the cotangent after the arguments, `auto [y, dx] = ct::vjp(f)(x..., dy)` is one program that saves nothing.
/// `ct::absent` in place of a leaf of dy counts as zeros, and is a cotangent of integers.
///
/// Refuses: a position without an argument; integer arguments; a function without a floating result.
template <int... I, class F> constexpr auto vjp(F f) {
  if constexpr (sizeof...(I) == 0) return detail::vjp_function<F, 0>(f);
  else return detail::vjp_function<F, I...>(f);
}

} // namespace COTANGENT_ABI
} // namespace cotangent

#endif
