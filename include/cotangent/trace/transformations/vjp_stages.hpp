// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_TRANSFORMATIONS_VJP_STAGES_HPP
#define COTANGENT_TRACE_TRANSFORMATIONS_VJP_STAGES_HPP

#include <cotangent/trace/program/call.hpp>
#include <cotangent/transform/rematerialize/parts.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

// From a function to two graphs, the second of which computes its gradient from what the first one saved.

namespace cotangent {
namespace detail {
inline namespace COTANGENT_ABI {

/// The function of the first program, which returns its value and the saved values. (`stages` only traces it; `vjp_stages` runs
/// the pipeline.)
template <class F, int... I> struct vjp_forward {
  template <class Result, class... Args> static consteval bool refuses() { return true; }
};

/// Appends cotangents for the floating outputs of a traced graph, and the gradients with respect to ranges of leaves.
template <class Traced, int... FirstAndCount> struct joint_stage {
  static constexpr built make() {
    bounded_builder b(Traced::view);
    b.place = {};
    constexpr int ranges[]{FirstAndCount..., 0};
    array<symbol> wrt, outputs, seeds, inputs, all;
    for (int k = 0; k < Traced::view.input_count(); ++k) inputs.push(Traced::view.input(k));
    for (int k = 0; k + 1 < static_cast<int>(sizeof...(FirstAndCount)); k += 2)
      for (int j = 0; j < ranges[k + 1]; ++j) wrt.push(Traced::view.input(ranges[k] + j));
    for (int k = 0; k < Traced::view.output_count(); ++k) {
      symbol const y = Traced::view.output(k);
      all.push(y);
      if (!is_floating(b.tensor(y).type)) continue;
      outputs.push(y);
      seeds.push(b.symbol_like(y));
      inputs.push(seeds.back());
    }
    array<symbol> results(wrt.size() + 1);
    gradient(b, {outputs.data(), seeds.data(), outputs.size(), wrt.data(), wrt.size()}, results.data());
    if (b.failed().why == nullptr) {
      for (int k = 0; k < wrt.size(); ++k) all.push(results[k]);
      b.set_inputs(inputs.data(), inputs.size());
      b.set_outputs(all.data(), all.size());
    }
    return b.finish();
  }
};

/// The saved values, as a constant.
template <int N> struct saved_table {
  saved_value of[N > 0 ? N : 1]{};
  int count = 0;
  constexpr explicit saved_table(joint_graph const& j) {
    saving_options o;
    o.records = false; // (a record has no type of its own that a saved tensor could have)
    array<saved_value> const chosen = choose_saved(j, o);
    count = chosen.size();
    for (int k = 0; k < count && k < N; ++k) of[k] = chosen[k];
  }
};
template <class Stages, int N> struct saved_with {
  static constexpr saved_table<N> value{Stages::whole};
};
template <class Stages> struct chosen_values {
  static constexpr auto const& value = []() -> auto const& {
    constexpr int guess = 128;
    if constexpr (saved_with<Stages, guess>::value.count <= guess) return saved_with<Stages, guess>::value;
    else return saved_with<Stages, saved_with<Stages, guess>::value.count>::value;
  }();
};

template <class Stages, bool Backward> struct part_stage {
  static constexpr built make() {
    array<saved_value> saved;
    for (int k = 0; k < Stages::saved.count; ++k) saved.push(Stages::saved.of[k]);
    if constexpr (Backward) return {backward_part(Stages::whole, saved), {}};
    else return {forward_part(Stages::whole, saved), {}};
  }
};

/// The stages of F, differentiated at positions I, for these arguments.
template <class F, class Positions, class... Args> struct vjp_stages;
template <class F, int... I, class... Args> struct vjp_stages<F, std::integer_sequence<int, I...>, Args...> {
  using function = vjp_forward<F, I...>;
  using first = stages<function, Args...>;
  using traced = typename first::traced;
  using expressions = result_tree<typename first::trace_of::returned>;
  using value_type = value_tree<expressions>;
  using gradients = typename packed<gradient_tree<argument_at<I, Args...>, first_leaf<I, Args...>>...>::type;

  template <class Ranges> struct joint_from;
  template <int... FirstAndCount> struct joint_from<std::integer_sequence<int, FirstAndCount...>> {
    using type = frozen<joint_stage<traced, FirstAndCount...>, capacity::of(traced::view).grown(4)>;
  };
  using joint = typename joint_from<typename outermost<gradient_function<F, false, I...>>::template joined<
      std::integer_sequence<int, first_leaf<I, Args...>, leaf_count<argument_at<I, Args...>>>...>::type>::
      type;
  using simplified = pipelined<joint, outermost<F>::rewrites, true>;
  struct in_workspace {
    using graph = simplified;
  };

  static constexpr int inputs = all_leaves<Args...>, outputs = leaf_count<expressions>;
  static constexpr int cotangents = joint::view.input_count() - inputs;
  static constexpr joint_graph whole{simplified::view, inputs, cotangents, outputs};
  static constexpr auto const& saved = chosen_values<vjp_stages>::value;
  using forward = with_formulas<frozen<part_stage<vjp_stages, false>, capacity::of(simplified::view).widened()>>;
  using backward = with_formulas<frozen<part_stage<vjp_stages, true>, capacity::of(simplified::view).widened()>>;
};

/// A saved value as the forward program returns it.
template <class Stages, int K> struct saved_leaf {
  static constexpr saved_value what = Stages::saved.of[K];
  static constexpr element type = Stages::simplified::view.tensors[what.of].type;
  static constexpr dimensions sizes = Stages::simplified::view.shape(what.of);
  static constexpr shape extents = [] {
    shape s;
    for (int k = 0; k < sizes.rank; ++k) s.push(Stages::simplified::view.extent_of(sizes.size[k]));
    return s;
  }();
  /// How many elements, where that is a number; else -1.
  static constexpr std::int64_t count = [] {
    std::int64_t n = 1;
    for (int k = 0; k < sizes.rank; ++k) n = n < 0 || sizes.size[k] < 0 ? -1 : n * sizes.size[k];
    return n;
  }();
  static constexpr bool is_narrow = what.bits != 8 * size_of(type);
  using element_type = element_t<type>;
  using value_type = typename leaf_as_value<
      typename made_of<expr, element_type, extents, std::make_index_sequence<extents.rank>>::type, 0>::type;
};

template <class Stages,
          class Indices = std::make_index_sequence<static_cast<std::size_t>(Stages::saved.count)>>
struct saved_tree;
template <class Stages, std::size_t... K> struct saved_tree<Stages, std::index_sequence<K...>> {
  using type = std::tuple<typename saved_leaf<Stages, static_cast<int>(K)>::value_type...>;
};

template <class F, int... I> struct outermost<vjp_forward<F, I...>> {
  using traced = F;
  static constexpr bool rewrites = outermost<F>::rewrites;
  template <class R, class... Args>
  using result =
      std::pair<value_tree<result_tree<R>>,
                typename saved_tree<vjp_stages<F, std::integer_sequence<int, I...>, Args...>>::type>;
};

} // namespace COTANGENT_ABI
} // namespace detail
} // namespace cotangent

#endif
