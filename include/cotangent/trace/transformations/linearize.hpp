// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_TRANSFORMATIONS_LINEARIZE_HPP
#define COTANGENT_TRACE_TRANSFORMATIONS_LINEARIZE_HPP

#include <cotangent/trace/transformations/vjp.hpp>
#include <cotangent/transform/differentiate/forward.hpp>

#include <cstddef>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>

// The value of a function and its linear map of tangents, by forward mode. Called with tensors there are two programs, like those of
// pullbacks: the second one computes the tangent from the values that the first one saved.

namespace cotangent {
namespace refusals {
COTANGENT_REFUSAL_OF(linear_tangents, allowed, "cotangent: linearize: the linear map must be given a tangent for each position, of the same elements and extents as the argument there")
} // namespace refusals

namespace detail {
inline namespace COTANGENT_ABI {

template <class F, int... I> struct linear_forward : vjp_forward<F, I...> {};

/// Appends tangents for ranges of leaves of a traced graph, and the tangents of all outputs.
template <class Traced, int... FirstAndCount> struct tangent_stage {
  static constexpr built make() {
    bounded_builder b(Traced::view);
    b.place = {};
    constexpr int ranges[]{FirstAndCount..., 0};
    array<symbol> wrt, seeds, inputs, all;
    for (int k = 0; k < Traced::view.input_count(); ++k) inputs.push(Traced::view.input(k));
    for (int k = 0; k + 1 < static_cast<int>(sizeof...(FirstAndCount)); k += 2)
      for (int j = 0; j < ranges[k + 1]; ++j) {
        wrt.push(Traced::view.input(ranges[k] + j));
        seeds.push(b.symbol_like(wrt.back()));
        inputs.push(seeds.back());
      }
    for (int k = 0; k < Traced::view.output_count(); ++k) all.push(Traced::view.output(k));
    array<symbol> results(all.size() + 1);
    tangents(b, wrt.data(), seeds.data(), wrt.size(), all.data(), all.size(), results.data());
    if (b.failed().why == nullptr) {
      for (int k = 0; k < Traced::view.output_count(); ++k)
        all.push(results[k] != none ? results[k] : extend::constant(b, b.tensor(all[k]).type, b.tensor(all[k]).shape, 0).id);
      b.set_inputs(inputs.data(), inputs.size());
      b.set_outputs(all.data(), all.size());
    }
    return b.finish();
  }
};

/// The stages of F, linearized at positions I, for these arguments: like `vjp_stages`, with tangents in place of cotangents.
template <class F, class Positions, class... Args> struct linear_stages;
template <class F, int... I, class... Args> struct linear_stages<F, std::integer_sequence<int, I...>, Args...> {
  static constexpr bool takes_tangents = true;
  using traced = typename stages<linear_forward<F, I...>, Args...>::traced;
  using results = result_tree<typename stages<linear_forward<F, I...>, Args...>::trace_of::returned>;
  using value_type = value_tree<results>;
  using gradients = value_type;
  // tangents have the elements of arguments: half precision where these have it
  using expressions = typename packed<gradient_tree<argument_at<I, Args...>, first_leaf<I, Args...>>...>::type;

  template <class Ranges> struct joint_from;
  template <int... FirstAndCount> struct joint_from<std::integer_sequence<int, FirstAndCount...>> {
    using type = frozen<tangent_stage<traced, FirstAndCount...>, capacity::of(traced::view).grown(4)>;
  };
  using joint = typename joint_from<typename outermost<gradient_function<F, false, I...>>::template joined<
      std::integer_sequence<int, first_leaf<I, Args...>, leaf_count<argument_at<I, Args...>>>...>::type>::type;
  using simplified = pipelined<joint, outermost<F>::rewrites, true>;
  struct in_workspace {
    using graph = simplified;
  };

  static constexpr int inputs = all_leaves<Args...>, outputs = leaf_count<results>;
  static constexpr int cotangents = joint::view.input_count() - inputs;
  static constexpr joint_graph whole{simplified::view, inputs, cotangents, outputs};
  static constexpr auto const& saved = chosen_values<linear_stages>::value;
  using forward = with_formulas<frozen<part_stage<linear_stages, false>, capacity::of(simplified::view).widened()>>;
  using backward = with_formulas<frozen<part_stage<linear_stages, true>, capacity::of(simplified::view).widened()>>;
};

template <class F, int... I> struct outermost<linear_forward<F, I...>> {
  using traced = F;
  static constexpr bool rewrites = outermost<F>::rewrites;
  template <class R, class... Args>
  using result = std::pair<value_tree<result_tree<R>>, typename saved_tree<linear_stages<F, std::integer_sequence<int, I...>, Args...>>::type>;
};

/// One tangent alone, several as a tuple.
template <class... Tangent> constexpr auto one_tangent(Tangent const&... d) {
  if constexpr (sizeof...(Tangent) == 1) return (d, ...);
  else return std::tuple<Tangent...>(d...);
}
template <class Expressions, class... Tangent> consteval bool are_tangents() {
  if constexpr (sizeof...(Tangent) == 0) return false;
  else return are_cotangents<Expressions, decltype(detail::one_tangent(std::declval<Tangent const&>()...))>();
}

/// The linear map returned by `ct::linearize(f)(x...)`, which owns the saved values.
template <class Stages> class linear_map {
  pullback<Stages> map_;

public:
  constexpr explicit linear_map(pullback<Stages>&& map) : map_(std::move(map)) {}
  /// The bytes saved.
  constexpr std::int64_t bytes() const noexcept { return map_.bytes(); }
  /// The tangent of the value, for a tangent at each position: trees like the arguments, with `ct::absent` for zeros.
  template <class... Tangent> COTANGENT_CHECKED_CALL auto operator()(Tangent const&... d) const {
    if constexpr (!are_tangents<typename Stages::expressions, Tangent...>()) {
      refusals::linear_tangents::report<Tangent...>();
      return refused_tree<typename Stages::results, tensor>();
    } else return map_(detail::one_tangent(d...));
  }
};

/// The linear map inside a traced function: appends tangents to the same graph.
template <class Wrt, class Result> struct traced_linear_map : calls_in_graph<traced_linear_map<Wrt, Result>> {
  builder* b = nullptr;
  symbol without = standing::broken;
  array<symbol> wrt{}, outputs{};
  builder* tried = nullptr; // in a trial call, the graph that the function uses

  constexpr traced_linear_map(builder* in, symbol absent, array<symbol> const& of, array<symbol> const& to, builder* on_trial = nullptr)
      : b(in), without(absent), wrt(of), outputs(to), tried(on_trial) {}

  using calls_in_graph<traced_linear_map>::operator();
  template <class... Tangent>
    requires(!in_graph<Tangent...>)
  constexpr Result operator()(Tangent const&... d) const {
    return call_at({}, d...);
  }
  template <class... Tangent> constexpr Result call_at(std::source_location where, Tangent const&... d) const {
    if constexpr (!are_tangents<Wrt, Tangent...>()) {
      refusals::linear_tangents::report<Tangent...>();
      return broken();
    } else {
      if (b == nullptr) return broken();
      auto const mapped = [&] {
        seed_leaves seeds{*b};
        (visit_leaves(d, seeds), ...);
        return map(seeds.ids);
      };
      if constexpr (in_graph<Result>) return front_end_of<Result>::changed(b->owner, where, mapped);
      else return mapped();
    }
  }

private:
  constexpr Result map(array<symbol> const& seeds) const {
    array<symbol> results(outputs.size() + 1, none);
    if (in_graph<Result> && !are_like<refusals::linear_tangents>(*b, seeds, wrt)) return broken();
    for (int k = 0; k < wrt.size() && b->failed().why == nullptr; ++k)
      if (std::int32_t const home = b->tensor(wrt[k]).region; home != b->region && detail::is_inside(*b, b->region, home))
        b->fail({why<refusals::linear_map_in_body>(), {}, {}, none, b->place});
    if (b->failed().why == nullptr) detail::append_tangents<Result>(*b, wrt, seeds, outputs, results.data());
    for (int k = 0; k < outputs.size(); ++k)
      if (results[k] == none) {
        tensor_symbol const t = b->tensor(outputs[k]);
        results[k] = extend::constant(*b, t.type, t.shape, 0).id;
      }
    leaf_from_symbols make{*b, results.data()};
    return build_tree<Result>(make);
  }
  constexpr Result broken() const {
    if (tried != nullptr) {
      trial_leaf constants{*tried};
      return build_tree<Result>(constants);
    }
    broken_leaf make{without};
    return build_tree<Result>(make);
  }
};

template <class F, int... I> struct linearize_function : calls_in_graph<linearize_function<F, I...>> {
  [[no_unique_address]] F f;

  constexpr explicit linearize_function(F const& g) : f(g) {}

  template <class... Args>
    requires(!(detail::holds_expressions<Args> || ...))
  COTANGENT_CHECKED_CALL auto operator()(Args const&... args) const {
    return run(std::index_sequence_for<Args...>{}, args...);
  }
  template <class... Args>
    requires((detail::holds_expressions<Args> || ...) && !in_graph<Args...>)
  constexpr auto operator()(Args const&... args) const {
    if constexpr (!(is_traceable<Args> && ...)) {
      static_assert(refusals::tensor_meets_expression::report<Args...>());
      return std::pair<refused, refused_pullback<I...>>();
    } else return trace(std::index_sequence_for<Args...>{}, as_traced(args)...);
  }
  using calls_in_graph<linearize_function>::operator();
  template <class... Args> auto call_at(std::source_location where, Args const&... args) const {
    return front_end_of<Args...>::transformed(
        where, [&](auto const&... x) { return this->trace(std::index_sequence_for<Args...>{}, x...); }, args...);
  }

private:
  template <std::size_t... K, class... Args>
  static COTANGENT_CHECKED_CALL auto run(std::index_sequence<K...>, Args const&... args) {
    constexpr unfit arguments = unfit_arguments<F, Args...>();
    using nothing = std::pair<refused, refused_pullback<I...>>;
    if constexpr (arguments != unfit::nothing) return detail::report_unfit<arguments, F, Args...>(), nothing{};
    else {
      using result = decltype(std::declval<callable<F> const&>()(std::declval<expr_tree<Args, first_leaf<K, Args...>> const&>()...));
      using made = linear_stages<F, std::integer_sequence<int, I...>, Args...>;
      if constexpr (!takes_derivatives<F, result, I...>(parts<Args...>{})) return nothing{};
      else if constexpr (failure_of<typename made::traced>::exists) return report<typename made::traced>(), nothing{};
      else if constexpr (failure_of<typename made::joint>::exists) return report<typename made::joint>(), nothing{};
      else if constexpr (!has_planned_rows<typename made::in_workspace>()) {
        using found = tape_failure<typename made::in_workspace>;
        return detail::line_of_your_source<found, found::value.where.line()>(), nothing{};
      } else {
        using program = program_of<linear_forward<F, I...>, typename made::forward, Args...>;
        kept_sizes<made::backward::view.extent_count> sizes;
        if constexpr (made::backward::view.extent_count > 0) program::find_sizes(sizes.get(), args...);
        auto r = program::call(args...);
        return std::pair<typename made::value_type, linear_map<made>>(std::move(r.first), linear_map<made>(pullback<made>(r.second, sizes)));
      }
    }
  }
  template <class Stage> static constexpr void report() {
    using found = failure_of<Stage>;
    detail::line_of_your_source<found, found::value.where.line()>();
  }

  template <std::size_t... K, class... X> constexpr auto trace(std::index_sequence<K...>, X const&... x) const {
    using result = result_of_call<F, X...>;
    if constexpr (!takes_derivatives<F, result, I...>(parts<X...>{})) return std::pair<refused_tree<result, expr>, refused_pullback<I...>>();
    else {
      using expressions = result_tree<result>;
      using map = traced_linear_map<typename packed<argument_at<I, X...>...>::type, expressions>;
      found_builder found;
      (visit_leaves(x, found), ...);
      if (found.b == nullptr) {
        expressions const y = detail::without_graph<expressions>(found, [&] { return this->f(x...); });
        return std::pair<expressions, map>(y, map{nullptr, found.without, {}, {}, found.b});
      }
      argument_list<std::index_sequence<K...>, X...> own{{x}...};
      renamed_leaves wrt{*found.b};
      (visit_leaves(static_cast<held<I, argument_at<I, X...>>&>(own).value, wrt), ...);
      result const y = detail::called(this->f, static_cast<held<K, X> const&>(own).value...);
      symbols_of_leaves out{*found.b};
      visit_leaves(y, out);
      leaf_from_symbols make{*found.b, out.ids.data()};
      return std::pair<expressions, map>(build_tree<expressions>(make), map{found.b, found.without, wrt.ids, out.ids});
    }
  }
};

} // namespace COTANGENT_ABI
} // namespace detail

inline namespace COTANGENT_ABI {

/// The value of a function and its linear map of tangents: `auto [y, map] = ct::linearize(f)(x...)`. `map(dx)` is the tangent of the
/// value, J dx, like that of `ct::jvp<I...>(f)(x..., dx)`, any number of times; one tangent for each position.
///
/// Called with tensors, the map owns the values that tangents need, selected as those of pullbacks are, and does not compute the value
/// again. Loops run again, since their tangents are computed together with their values.
/// Refuses: what `ct::jvp` refuses; tangents that differ from the arguments at the positions.
/// Cost: the value once; for each call of the map, the operations of the tangent.
/// Checked: tests/static/linearize.cpp, tests/runtime/linearize.cpp.
template <int... I, class F> constexpr auto linearize(F f) {
  if constexpr (sizeof...(I) == 0) return detail::linearize_function<F, 0>(f);
  else return detail::linearize_function<F, I...>(f);
}

} // namespace COTANGENT_ABI
} // namespace cotangent

#endif
