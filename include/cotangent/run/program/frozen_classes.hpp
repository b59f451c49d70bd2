// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_PROGRAM_FROZEN_CLASSES_HPP
#define COTANGENT_RUN_PROGRAM_FROZEN_CLASSES_HPP

#include <cotangent/graph/freeze.hpp>
#include <cotangent/plan/layout.hpp>

// The first half of planning as constants: the classes of symbols, then their loop levels.

namespace cotangent::detail {

struct classes_capacity {
  int domains = 0, views = 0, repeats = 0, windows = 0, derived = 0;

  constexpr bool holds(classes_capacity const& c) const noexcept {
    return domains >= c.domains && views >= c.views && repeats >= c.repeats && windows >= c.windows && derived >= c.derived;
  }
  /// Room enough for most graphs with such nodes.
  static constexpr classes_capacity guess(graph_view const& g) noexcept {
    classes_capacity c{g.shape_count + 4, 8, 8, 8, 64};
    for (std::int32_t i = 0; i < g.node_count; ++i) {
      operation_kind const kind = g.nodes[i].op->kind;
      if (kind == operation_kind::constant || kind == operation_kind::elementwise || kind == operation_kind::matmul) continue;
      c.views += kind == operation_kind::concatenate ? g.nodes[i].operand_count : 1;
      ++c.repeats;
      c.windows += kind == operation_kind::pad ? 2 : 0;
    }
    return c;
  }
};

template <class Stage, classes_capacity C> struct frozen_classes {
  pool<domain, C.domains> domains;
  pool<std::int32_t, Stage::view.shape_count> domain_of, nest_domain_of;
  pool<symbol_plan, Stage::view.tensor_count> at;
  pool<memory_view, C.views> views;
  pool<resolved, C.repeats> repeats;
  pool<symbol, Stage::view.output_count()> results;
  pool<window, C.windows> windows;
  pool<derived_size, C.derived> derived;
  bool has_pads = false, hosted = false;
  classes_capacity size;
};

template <class T, int N> constexpr array<T> thaw(pool<T, N> const& from, int count) {
  array<T> to(count);
  for (int k = 0; k < count; ++k) to[k] = from.data[k];
  return to;
}

template <class Stage, classes_capacity C> struct classes_with {
  static constexpr frozen_classes<Stage, C> freeze(classification const& c) {
    frozen_classes<Stage, C> f;
    f.size = {c.domains.size(), c.views.size(), c.repeats.size(), c.windows.size(), c.derived.size()};
    if (!C.holds(f.size)) return f;
    fill(f.domains, c.domains.data(), c.domains.size());
    fill(f.domain_of, c.domain_of.data(), c.domain_of.size());
    fill(f.nest_domain_of, c.nest_domain_of.data(), c.nest_domain_of.size());
    fill(f.at, c.at.data(), c.at.size());
    fill(f.views, c.views.data(), c.views.size());
    fill(f.repeats, c.repeats.data(), c.repeats.size());
    fill(f.results, c.results.data(), c.results.size());
    fill(f.windows, c.windows.data(), c.windows.size());
    fill(f.derived, c.derived.data(), c.derived.size());
    f.has_pads = c.has_pads;
    f.hosted = c.hosted;
    return f;
  }
  static constexpr frozen_classes<Stage, C> value = freeze(detail::classified(Stage::view));
};

/// The classes of the symbols of the graph `Stage::view`, and their loop levels: one constant evaluation
/// each.
template <class Stage> struct classes_of {
private:
  static constexpr classes_capacity guess = classes_capacity::guess(Stage::view);
  static constexpr auto const& classified = []() -> auto const& {
    if constexpr (guess.holds(classes_with<Stage, guess>::value.size)) return classes_with<Stage, guess>::value;
    else return classes_with<Stage, classes_with<Stage, guess>::value.size>::value;
  }();
  using symbols = pool<symbol_plan, Stage::view.tensor_count>;

  static constexpr classification thawed(symbols const& at) {
    auto const& f = classified;
    graph_view const& g = Stage::view;
    return {thaw(f.domains, f.size.domains),
            thaw(f.domain_of, g.shape_count),
            thaw(f.nest_domain_of, g.shape_count),
            thaw(at, g.tensor_count),
            thaw(f.views, f.size.views),
            thaw(f.repeats, f.size.repeats),
            thaw(f.results, g.output_count()),
            thaw(f.windows, f.size.windows),
            thaw(f.derived, f.size.derived),
            f.has_pads,
            f.hosted};
  }
  static constexpr symbols levelled = [] {
    symbols s;
    graph_view g = Stage::view; // a variable: see frozen
    placements done(g, thawed(classified.at));
    fuse(done);
    fill(s, done.at, Stage::view.tensor_count);
    return s;
  }();

public:
  static constexpr classification fused() { return thawed(levelled); }
};

} // namespace cotangent::detail

#endif
