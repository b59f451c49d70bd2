// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_TRANSFORMATIONS_MIRROR_HPP
#define COTANGENT_TRACE_TRANSFORMATIONS_MIRROR_HPP

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/trace/program/program.hpp>
#include <cotangent/trace/transformations/memory_budget_stages.hpp>
#include <cotangent/transform/rematerialize/mirror.hpp>

#include <cstdint>
#include <type_traits>

// Programs that rematerialize cheap values for their gradients. (Not part of cotangent.hpp.)

namespace cotangent {
namespace detail {
inline namespace COTANGENT_ABI {

template <class F, bool (*May)(node const&)>
struct mirror_function : like_function<mirror_function<F, May>, F> {
  using like_function<mirror_function, F>::like_function;
};
template <class F, bool (*May)(node const&)>
struct outermost<mirror_function<F, May>> : outermost<F> {};

/// Two candidates: all nodes that the mirroring rule selects, and these without nodes that lower no peak.
/// Takes the one with the smaller workspace, if that is smaller than the original.
template <class Before, bool (*May)(node const&)> struct mirrored_program_graph {
private:
  using problem = frozen_problem<Before, May>;
  struct decisions {
    frozen_schedule<problem> rule{{}}, reduced{{}};
  };
  template <class> struct decided {
    static constexpr decisions value = [] {
      memory_values values(Before::view, May);
      mirror_choices choices(mirror_problem_of(Before::view, values));
      decisions d;
      d.rule = frozen_schedule<problem>(choices.rule);
      d.reduced = frozen_schedule<problem>(choices.reduced);
      return d;
    }();
  };
  struct rule {
    static constexpr auto const& value = decided<problem>::value.rule;
  };
  struct reduced {
    static constexpr auto const& value = decided<problem>::value.reduced;
  };
  template <class Graph, class Schedule> struct choice {
    using type = Graph;
    static constexpr auto bytes = static_cast<std::int64_t>(run::executor<Graph>::workspace_bytes);
    static constexpr double again = [] {
      if constexpr (std::is_void_v<Schedule>) return 0.;
      else return Schedule::value.again;
    }();
  };
  template <class Schedule, class Best> static consteval auto better(Best best) {
    if constexpr (Schedule::value.copies == 0 || Schedule::value.again == Best::again) return best;
    else {
      using made = choice<typename scheduled_stage<Before, problem, Schedule>::type, Schedule>;
      if constexpr (made::bytes < Best::bytes) return made{};
      else return best;
    }
  }
  static consteval auto find() {
    if constexpr (run::executor<Before>::grows) {
      (void)detail::refuse_workspace<unbounded_loop<Before>>();
      return std::type_identity<Before>{};
    } else if constexpr (!run::executor<Before>::is_static) {
      refusals::mirror_extents::report<Before>();
      return std::type_identity<Before>{};
    } else return better<rule>(better<reduced>(choice<Before, void>{}));
  }
  using found = decltype(find());

public:
  using type = typename found::type;
  static constexpr run_prediction predicted = [] {
    if constexpr (!run::executor<Before>::is_static || run::executor<Before>::grows) return run_prediction{};
    else return run_prediction{found::bytes, problem::value.seconds + found::again, found::again};
  }();
};
template <bool (*May)(node const&)> struct mirrored_program_graph<refused, May> {
  using type = refused;
  static constexpr run_prediction predicted{};
};

} // namespace COTANGENT_ABI
} // namespace detail

inline namespace COTANGENT_ABI {

template <class F, bool (*May)(extend::node const&), class... Args>
struct program<detail::mirror_function<F, May>, Args...>
    : detail::program_of<
          detail::mirror_function<F, May>,
          typename detail::mirrored_program_graph<
              typename detail::stages<detail::mirror_function<F, May>, Args...>::simplified, May>::type,
          Args...> {
  /// The predicted cost of a run, by the model that compares candidates.
  static constexpr detail::run_prediction predicted = detail::mirrored_program_graph<
      typename detail::stages<detail::mirror_function<F, May>, Args...>::simplified, May>::predicted;
};
template <class F, bool (*May)(extend::node const&), class... Args>
struct program<detail::compiled_function<detail::mirror_function<F, May>>, Args...>
    : program<detail::mirror_function<F, May>, Args...> {};
template <class F, bool (*May)(extend::node const&), class... Args>
struct program<detail::exact_function<detail::mirror_function<F, May>>, Args...>
    : program<detail::mirror_function<detail::exact_function<F>, May>, Args...> {};

/// The function as a program whose gradients rematerialize cheap values, if that makes its workspace smaller:
/// `ct::mirror<>(ct::value_and_grad(loss))`. `May(node)` selects the operations that may be rematerialized,
/// and the mirroring rule which of them are, with the same bits. The predicate is that of the outermost
/// function; `ct::program<...>::predicted` is its cost.
///
/// Refuses: named extents.
/// Source: the rule of MXNet's gradient pass.
/// Checked: tests/runtime/memory_budget.cpp.
template <bool (*May)(extend::node const&) = &is_cheap, class F> constexpr auto mirror(F f) {
  return detail::mirror_function<F, May>(f);
}

} // namespace COTANGENT_ABI
} // namespace cotangent

COTANGENT_HEADER_END

#endif
