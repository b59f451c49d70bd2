// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_TRANSFORMATIONS_MEMORY_BUDGET_STAGES_HPP
#define COTANGENT_TRACE_TRANSFORMATIONS_MEMORY_BUDGET_STAGES_HPP

#include <cotangent/graph/freeze.hpp>
#include <cotangent/transform/rematerialize/memory_budget.hpp>

#include <cstdint>

// The search for values to recompute, split into constant evaluations, since compilers limit the steps of
// each.

namespace cotangent::detail {
inline namespace COTANGENT_ABI {

constexpr bool any_again(node const&) noexcept { return true; }

/// The values of a graph as constants; `May` selects nodes that may be recomputed.
template <class Before, bool (*May)(node const&)> struct frozen_problem {
  static constexpr graph_view const& g = Before::view;
  struct found {
    pool<std::int64_t, g.node_count> bytes;
    pool<double, g.node_count> cost;
    pool<std::int32_t, g.node_count + 1> first, first_node;
    pool<std::int32_t, g.id_count> reads;
    pool<std::int32_t, g.node_count> nodes;
    pool<bool, g.node_count> once, stays;
    int values = 0;
    // least: the lower bound of any schedule's peak; peak: that without recomputation
    std::int64_t least = 0, peak = 0;
    double seconds = 0;
  };
  static constexpr found value = [] {
    memory_values values(g, May); // (clang would evaluate a `const` variable twice)
    memory_problem const& p = values.problem;
    found f;
    fill(f.bytes, p.bytes.data(), p.size());
    fill(f.cost, p.cost.data(), p.size());
    fill(f.first, p.first.data(), p.first.size());
    fill(f.first_node, values.groups.first.data(), values.groups.first.size());
    fill(f.reads, p.reads.data(), p.reads.size());
    fill(f.nodes, values.groups.nodes.data(), values.groups.nodes.size());
    fill(f.once, p.once.data(), p.size());
    fill(f.stays, p.stays.data(), p.size());
    f.values = p.size();
    f.least = memory_bound(p);
    f.peak = computed_once(p).peak;
    for (double const c : p.cost) f.seconds += c;
    return f;
  }();

  static constexpr memory_problem problem() {
    memory_problem p;
    for (int v = 0; v < value.values; ++v)
      (void)p.add(value.bytes.data[v], value.cost.data[v], value.reads.data + value.first.data[v],
                  value.first.data[v + 1] - value.first.data[v], value.once.data[v], value.stays.data[v]);
    return p;
  }
  static constexpr memory_nodes nodes() {
    memory_nodes n(g);
    for (int v = 0; v <= value.values; ++v) n.first.push(value.first_node.data[v]);
    for (int k = 0; k < n.first.back(); ++k) n.nodes.push(value.nodes.data[k]);
    return n;
  }
};

/// A schedule as a constant.
template <class Problem> struct frozen_schedule {
  static constexpr int most_steps = 4 * Problem::value.values + 64;
  pool<std::int32_t, most_steps> steps;
  int count = 0, copies = 0; // copies: of nodes, for recomputation
  std::int64_t peak = -1;
  double again = 0;

  constexpr explicit frozen_schedule(memory_schedule const& s) {
    if (!s || s.steps.size() > most_steps) return;
    fill(steps, s.steps.data(), s.steps.size());
    count = s.steps.size();
    peak = s.peak;
    again = s.again;
    array<bool> known(Problem::value.values);
    for (std::int32_t const v : s.steps) {
      if (known[v]) copies += Problem::value.first_node.data[v + 1] - Problem::value.first_node.data[v];
      known[v] = true;
    }
  }
};

/// The exact schedule of a graph with few values.
template <class Problem, std::int64_t Limit> struct exact_stage {
  struct found {
    bool finished = false;
    frozen_schedule<Problem> schedule{{}};
  };
  static constexpr found value = [] {
    found f;
    if (Problem::value.values > most_exact_values_constant) return f;
    memory_problem p = Problem::problem();
    exact_schedule s(p, Limit, most_exact_ways_constant);
    f.finished = s.finished;
    if (!s.steps.empty()) f.schedule = frozen_schedule<Problem>(measured(p, s.steps));
    return f;
  }();
};

/// The schedule of a chain, in as many evaluations as needed: each continues where the previous one stopped.
template <class Problem> struct chain_of {
  static constexpr int links = [] {
    memory_chain c(Problem::problem());
    return c.length == 0 ? 0 : c.links.size();
  }();
};
template <class Problem, std::int64_t Limit, int K> struct chain_stage;
template <class Problem, std::int64_t Limit> struct chain_stage<Problem, Limit, -1> {
  static constexpr chain_schedule::progress known() { return {}; }
};
template <class Problem, std::int64_t Limit, int K> struct chain_stage {
  template <int Points, int Parts> struct found {
    pool<chain_schedule::point, Points> points;
    pool<std::int32_t, Parts> first;
    int point_count = 0, part_count = 0;
    bool finished = false;
    frozen_schedule<Problem> schedule{{}};
  };
  template <int Points, int Parts> struct within {
    static constexpr found<Points, Parts> value = [] {
      found<Points, Parts> f;
      memory_problem p = Problem::problem();
      memory_chain c(p);
      chain_schedule s(p, c, Limit, chain_work_constant, chain_stage<Problem, Limit, K - 1>::known());
      f.finished = s.finished;
      if (!s.steps.empty())
        if (memory_schedule m = measured(p, needless_steps(p, s.steps, Limit).steps); m && m.peak <= Limit)
          f.schedule = frozen_schedule<Problem>(m);
      if (s.finished) return f;
      f.point_count = s.known().points.size();
      f.part_count = s.known().first.size();
      if (f.point_count > Points || f.part_count > Parts) return f;
      fill(f.points, s.known().points.data(), f.point_count);
      fill(f.first, s.known().first.data(), f.part_count);
      return f;
    }();
  };
  static constexpr auto const& value = []() -> auto const& {
    using guess = within<4096, 1024>;
    if constexpr (guess::value.point_count <= 4096 && guess::value.part_count <= 1024) return guess::value;
    else return within<guess::value.point_count, guess::value.part_count>::value;
  }();
  static constexpr chain_schedule::progress known() {
    chain_schedule::progress to;
    for (int k = 0; k < value.point_count; ++k) to.points.push(value.points.data[k]);
    for (int k = 0; k < value.part_count; ++k) to.first.push(value.first.data[k]);
    return to;
  }
};
/// The schedule of the stage that finished; empty if no stage did, or none was found.
template <class Problem, std::int64_t Limit, int K = 0> consteval auto const& chain_schedule_of() {
  using stage = chain_stage<Problem, Limit, K>;
  if constexpr (stage::value.finished || K + 1 == most_chain_stages) return stage::value.schedule;
  else return chain_schedule_of<Problem, Limit, K + 1>();
}

/// The schedule of a greedy rule, or a better one of another rule.
template <class Problem, std::int64_t Limit, int Rule> struct rule_stage {
  static constexpr frozen_schedule<Problem> value = [] {
    memory_problem p = Problem::problem();
    evicting_schedule s(p, Limit, Rule);
    if (!s.fits) return frozen_schedule<Problem>({});
    memory_schedule m = measured(p, needless_steps(p, s.steps, Limit).steps);
    if (!m || m.peak > Limit) m = {}; // (g++ 12 destroys the choice of a conditional expression twice)
    return frozen_schedule<Problem>(m);
  }();
};
template <class Problem, std::int64_t Limit, int Rule = 0> consteval auto const& rule_schedule_of() {
  constexpr auto const& here = rule_stage<Problem, Limit, Rule>::value;
  // (Each rule costs one more evaluation: large graphs get a single rule.)
  if constexpr (Rule + 1 == evicting_schedule::rules || Problem::value.values > 64) return here;
  else {
    constexpr auto const& other = rule_schedule_of<Problem, Limit, Rule + 1>();
    if constexpr (here.peak < 0 || (other.peak >= 0 && other.again < here.again)) return other;
    else return here;
  }
}

/// The cheapest schedule found within a limit.
template <class Problem, std::int64_t Limit> struct schedule_stage {
  static constexpr auto const& value = []() -> auto const& {
    if constexpr (exact_stage<Problem, Limit>::value.finished)
      return exact_stage<Problem, Limit>::value.schedule;
    else if constexpr (chain_of<Problem>::links == 0 || chain_of<Problem>::links > most_chain_links)
      return rule_schedule_of<Problem, Limit>();
    else {
      constexpr auto const& of_chain = chain_schedule_of<Problem, Limit>();
      if constexpr (of_chain.peak >= 0) return of_chain;
      else return rule_schedule_of<Problem, Limit>();
    }
  }();
};

/// The graph in the order of a schedule.
template <class Before, class Problem, class Schedule> struct scheduled_stage {
  static constexpr auto const& schedule = Schedule::value;
  static constexpr built make() {
    memory_nodes nodes = Problem::nodes();
    memory_schedule s;
    for (int k = 0; k < schedule.count; ++k) s.steps.push(schedule.steps.data[k]);
    return {recomputed(Before::view, nodes, s), {}};
  }
  static constexpr capacity room = [] {
    capacity c = capacity::of(Before::view);
    int const more =
        3 * schedule.copies + 32; // a copy, further views of its operands, and the values it waits for
    c.tensors += more;
    c.nodes += more;
    c.ids += 4 * more;
    c.ids += Before::view.output_count();
    return c;
  }();
  using type = frozen<scheduled_stage, room>;
};

} // namespace COTANGENT_ABI
} // namespace cotangent::detail

#endif
