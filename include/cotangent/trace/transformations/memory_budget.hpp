// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_TRANSFORMATIONS_MEMORY_BUDGET_HPP
#define COTANGENT_TRACE_TRANSFORMATIONS_MEMORY_BUDGET_HPP

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/trace/program/program.hpp>
#include <cotangent/trace/transformations/memory_budget_stages.hpp>

#include <cstdint>
#include <type_traits>
#include <utility>

// Programs within a memory budget. Constant evaluations choose which values are recomputed, one for each step
// of the search, and the chosen graph is measured after layout. (Not part of cotangent.hpp.)

namespace cotangent {
namespace detail {
inline namespace COTANGENT_ABI {

template <class F, std::int64_t Bytes>
struct memory_budget_function : like_function<memory_budget_function<F, Bytes>, F> {
  using like_function<memory_budget_function, F>::like_function;
};
template <class F, std::int64_t Bytes> struct outermost<memory_budget_function<F, Bytes>> : outermost<F> {};

/// The result of a search: a graph and its workspace bytes, or the least bytes of any graph tried.
template <class Graph, bool Fits, std::int64_t Bytes> struct budget_found {
  using type = Graph;
  static constexpr bool fits = Fits;
  static constexpr std::int64_t bytes = Bytes;
  double again = 0;
};

/// Bisects the limit of the model until the layout just fits.
template <class Before, std::int64_t Budget> struct budget_search {
  using problem = frozen_problem<Before, any_again>;
  static constexpr auto const& plain = problem::value;
  static constexpr auto bytes_before = static_cast<std::int64_t>(run::executor<Before>::workspace_bytes);
  static constexpr std::int64_t within(std::int64_t limit, std::int64_t low, std::int64_t high) {
    return limit < low ? low : limit >= high ? high - 1 : limit;
  }

  template <std::int64_t Limit> struct attempt {
    static constexpr auto const& schedule = schedule_stage<problem, Limit>::value;
    using made = typename scheduled_stage<Before, problem, schedule_stage<problem, Limit>>::type;
    static constexpr auto bytes = static_cast<std::int64_t>(run::executor<made>::workspace_bytes);
    static consteval auto fitting() {
      budget_found<made, true, bytes> f;
      f.again = schedule.again;
      return f;
    }
  };

  /// Limits below `Low` have no schedule, and none from `High` on fits.
  template <std::int64_t Low, std::int64_t High, std::int64_t Limit, int Left, class Best>
  static consteval auto next(Best best) {
    if constexpr (Left == 0 || Low >= High) return best;
    else {
      using now = attempt<Limit>;
      if constexpr (now::schedule.peak < 0)
        return next<Limit + 1, High, within(Limit + 1 + (High - Limit) / 2, Limit + 1, High), Left - 1>(best);
      else if constexpr (now::bytes > Budget) {
        constexpr std::int64_t high = now::schedule.peak < Limit ? now::schedule.peak : Limit;
        constexpr std::int64_t limit = Left % 3 == 0 ? Low + (high - Low) / 2 : high - (now::bytes - Budget);
        if constexpr (Best::fits || Best::bytes <= now::bytes)
          return next<Low, high, within(limit, Low, high), Left - 1>(best);
        else return next<Low, high, within(limit, Low, high), Left - 1>(budget_found<Before, false, now::bytes>{});
      } else if constexpr (now::bytes > Budget - Budget / 16) return now::fitting();
      else
        return next<Limit + 1, High, within(Limit + Budget - now::bytes, Limit + 1, High), (Left < 3 ? Left - 1 : 2)>(now::fitting());
    }
  }
  /// The lowest limit that has a schedule, of which `High` is one.
  template <std::int64_t Low, std::int64_t High, int Left> static consteval std::int64_t smallest() {
    if constexpr (Left == 0 || Low >= High) return High;
    else {
      constexpr std::int64_t limit = Low + (High - Low) / 2, peak = schedule_stage<problem, limit>::value.peak;
      if constexpr (peak < 0) return smallest<limit + 1, High, Left - 1>();
      else return smallest<Low, (peak < limit ? peak : limit), Left - 1>();
    }
  }
  /// The layout does not grow with the limit everywhere: the smallest schedule, and some with a little more room.
  template <std::int64_t Smallest, int Part, class Best> static consteval auto smaller(Best best) {
    if constexpr (Part == 4) return best;
    else {
      using now = attempt<Smallest + Smallest / 24 * Part>;
      if constexpr (now::schedule.peak < 0) return smaller<Smallest, Part + 1>(best); // (greedy rules may find one for less only)
      else if constexpr (now::bytes <= Budget) return now::fitting();
      else if constexpr (Best::bytes <= now::bytes) return smaller<Smallest, Part + 1>(best);
      else return smaller<Smallest, Part + 1>(budget_found<Before, false, now::bytes>{});
    }
  }
  static consteval auto find() {
    using first = budget_found<Before, (bytes_before <= Budget), bytes_before>;
    if constexpr (first::fits) return first{};
    else {
      constexpr auto best = next<plain.least, plain.peak, within(Budget - (bytes_before - plain.peak), plain.least, plain.peak), 10>(first{});
      if constexpr (best.fits) return best;
      else return smaller<smallest<plain.least, plain.peak, 12>(), 0>(best);
    }
  }
  static constexpr auto found = find();
};

/// The graph of a program within a budget; the original graph after a refusal.
template <class Before, std::int64_t Budget> struct budgeted_program_graph {
  static consteval auto find() {
    if constexpr (run::executor<Before>::grows) {
      (void)detail::refuse_workspace<unbounded_loop<Before>>();
      return std::type_identity<Before>{};
    } else if constexpr (!run::executor<Before>::is_static) {
      refusals::budget_extents::report<Before>();
      return std::type_identity<Before>{};
    } else {
      using search = budget_search<Before, Budget>;
      using found = std::remove_cvref_t<decltype(search::found)>;
      if constexpr (!found::fits)
        refusals::budget_too_small::report<extent::of(Budget), extent::of(found::bytes)>();
      return std::type_identity<typename found::type>{};
    }
  }
  using type = typename decltype(find())::type;
  static constexpr run_prediction predicted = [] {
    if constexpr (!run::executor<Before>::is_static || run::executor<Before>::grows) return run_prediction{};
    else {
      double const again = budget_search<Before, Budget>::found.again;
      return run_prediction{static_cast<std::int64_t>(run::executor<type>::workspace_bytes),
                            frozen_problem<Before, any_again>::value.seconds + again, again};
    }
  }();
};
template <std::int64_t Budget> struct budgeted_program_graph<refused, Budget> {
  using type = refused;
  static constexpr run_prediction predicted{};
};

} // namespace COTANGENT_ABI
} // namespace detail

inline namespace COTANGENT_ABI {

template <class F, std::int64_t Bytes, class... Args>
struct program<detail::memory_budget_function<F, Bytes>, Args...>
    : detail::program_of<
          detail::memory_budget_function<F, Bytes>,
          typename detail::budgeted_program_graph<
              typename detail::stages<detail::memory_budget_function<F, Bytes>, Args...>::simplified, Bytes>::type,
          Args...> {
  /// The predicted cost of a run, by the model that chose the recomputed values.
  static constexpr detail::run_prediction predicted = detail::budgeted_program_graph<
      typename detail::stages<detail::memory_budget_function<F, Bytes>, Args...>::simplified, Bytes>::predicted;
};
template <class F, std::int64_t Bytes, class... Args>
struct program<detail::compiled_function<detail::memory_budget_function<F, Bytes>>, Args...>
    : program<detail::memory_budget_function<F, Bytes>, Args...> {};
template <class F, std::int64_t Bytes, class... Args>
struct program<detail::exact_function<detail::memory_budget_function<F, Bytes>>, Args...>
    : program<detail::memory_budget_function<detail::exact_function<F>, Bytes>, Args...> {};

/// The function as a program whose workspace is at most `Bytes`: `ct::memory_budget<65536>(ct::value_and_grad(loss))`.
/// Values that do not fit are recomputed when they are read, as few as possible, with the same bits. The budget is that of
/// the outermost function; `ct::program<...>::predicted` is its cost.
///
/// Refuses: a budget that no graph found fits, with the least bytes of those found; named extents.
template <std::int64_t Bytes, class F> constexpr auto memory_budget(F f) {
  return detail::memory_budget_function<F, Bytes>(f);
}

} // namespace COTANGENT_ABI
} // namespace cotangent

COTANGENT_HEADER_END

#endif
