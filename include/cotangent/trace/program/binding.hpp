// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_PROGRAM_BINDING_HPP
#define COTANGENT_TRACE_PROGRAM_BINDING_HPP

#include <cotangent/core/error.hpp>
#include <cotangent/core/names.hpp>
#include <cotangent/graph/graph.hpp>
#include <cotangent/graph/operation.hpp>
#include <cotangent/trace/program/axis_formula.hpp>

#include <cstdint>

// Binds the names in extents to the sizes of a call's arguments, and computes the sizes of the graph's
// extents.

namespace cotangent::detail {

/// Two axes that must have one size, or an axis whose size contradicts its formula.
struct size_conflict {
  enum kind_type : unsigned char { nothing, two_sizes, formula, not_a_size, range } kind = nothing;
  int leaf = 0, axis = 0, other_leaf = 0, other_axis = 0;
  std::int64_t size = 0, wanted = 0;
  extent what{};
};

/// The bindings and comparisons of a call, found at compile time. `Axes` and `Extents` are their numbers.
template <int Axes, int Extents> struct binding_table {
  static constexpr int axis_count = Axes, extent_count = Extents;
  symbolic_axis axes[Axes + 1]{};
  int source[Extents + 1]{}; // by extent of the graph: the axis that has it, or -1
  bool formulas = false;     // some sizes are formulas, not names
  bool quick = true;         // no text needs parsing
  axis_formula of_axis[Axes + 1]{}, of_extent[Extents + 1]{};

  constexpr binding_table(shape const* leaves, int leaf_count, extent const* extents) {
    int n = 0;
    for (int l = 0; l < leaf_count; ++l)
      for (int a = 0; a < leaves[l].rank; ++a) {
        if (leaves[l].extents[a].is_number()) continue;
        int first = 0;
        while (first < n && !(leaves[axes[first].leaf].extents[axes[first].axis] == leaves[l].extents[a]))
          ++first;
        axes[n] = {l, a, first};
        formulas = formulas || !is_name(leaves[l].extents[a]);
        ++n;
      }
    for (int k = 0; k < Extents; ++k) {
      source[k] = -1;
      for (int i = Axes - 1; i >= 0; --i)
        if (leaves[axes[i].leaf].extents[axes[i].axis] == extents[k]) source[k] = axes[i].first;
      formulas = formulas || source[k] < 0;
    }
    if (!formulas) return;
    for (int i = 0; i < Axes; ++i)
      if (extent const& e = leaves[axes[i].leaf].extents[axes[i].axis]; !is_name(e) && axes[i].first == i) {
        of_axis[i] = axis_formula(e, leaves, axes, Axes);
        quick = quick && of_axis[i].kind != axis_formula::too_long;
      }
    for (int k = 0; k < Extents; ++k)
      if (source[k] < 0) {
        of_extent[k] = axis_formula(extents[k], leaves, axes, Axes);
        quick = quick && of_extent[k].kind == axis_formula::kept;
      }
  }

  /// `leaf_sizes` has `max_rank` sizes for each leaf; writes one size for each extent of the graph to
  /// `sizes`.
  constexpr size_conflict bind(shape const* leaves, extent const* extents, std::int64_t const* leaf_sizes,
                               std::int64_t* sizes) const noexcept {
    auto const size_of_axis = [&](int i) { return leaf_sizes[axes[i].leaf * max_rank + axes[i].axis]; };
    for (int i = 0; i < Axes; ++i)
      if (int const f = axes[i].first; f != i && size_of_axis(i) != size_of_axis(f))
        return {size_conflict::two_sizes,
                axes[i].leaf,
                axes[i].axis,
                axes[f].leaf,
                axes[f].axis,
                size_of_axis(i),
                size_of_axis(f),
                leaves[axes[i].leaf].extents[axes[i].axis]};
    for (int k = 0; k < Extents; ++k)
      if (source[k] >= 0) sizes[k] = size_of_axis(source[k]);
    if (!formulas) return {};
    bindings known;
    for (int i = 0; i < Axes; ++i)
      if (extent const& e = leaves[axes[i].leaf].extents[axes[i].axis]; is_name(e))
        known.bind(e.text, size_of_axis(i));
    for (int i = 0; i < Axes; ++i) {
      extent const& e = leaves[axes[i].leaf].extents[axes[i].axis];
      if (is_name(e) || axes[i].first != i) continue;
      std::int64_t const wanted = evaluate(e, known);
      if (wanted == extent::malformed || wanted == size_of_axis(i)) continue;
      if (wanted < 0) return {size_conflict::not_a_size, 0, 0, 0, 0, 0, 0, e};
      return {size_conflict::formula, axes[i].leaf, axes[i].axis, 0, 0, size_of_axis(i), wanted, e};
    }
    for (int k = 0; k < Extents; ++k)
      if (source[k] < 0) {
        sizes[k] = evaluate(extents[k], known);
        if (sizes[k] < 0) return {size_conflict::not_a_size, 0, 0, 0, 0, 0, 0, extents[k]};
      }
    return {};
  }
};

/// A range along an axis whose size is known at run time only.
struct range_check {
  dimension size = 0, start = 0, count = 0;
  std::int64_t step = 1;
};
template <class Note> constexpr void visit_range_checks(graph_view const& g, Note note) {
  for (std::int32_t i = 0; i < g.node_count; ++i) {
    node const& n = g.nodes[i];
    if (n.op->kind != operation_kind::slice) continue;
    for (int k = 0; k < g.shape(g.operand(n, 0)).rank; ++k) {
      range_check const r{g.shape(g.operand(n, 0)).size[k], g.attribute(n, 2 * k),
                          g.shape(g.result(n)).size[k], g.attribute(n, 2 * k + 1)};
      if ((r.size < 0 || r.start < 0 || r.count < 0) && r.size != r.count) note(r);
    }
  }
}
constexpr int count_range_checks(graph_view const& g) {
  int n = 0;
  visit_range_checks(g, [&](range_check const&) { ++n; });
  return n;
}
template <int N> struct range_checks {
  range_check of[N + 1]{};
  constexpr explicit range_checks(graph_view const& g) {
    int n = 0;
    visit_range_checks(g, [&](range_check const& r) { of[n++] = r; });
  }
  constexpr size_conflict find(std::int64_t const* sizes) const noexcept {
    auto const value = [&](dimension d) { return d >= 0 ? d : sizes[-1 - d]; };
    for (int k = 0; k < N; ++k) {
      std::int64_t const past = value(of[k].start) + (value(of[k].count) - 1) * of[k].step + 1;
      if (value(of[k].count) > 0 && past > value(of[k].size))
        return {size_conflict::range, 0, 0, 0, 0, past, value(of[k].size), {}};
    }
    return {};
  }
};

constexpr int count_symbolic(shape const* leaves, int count) noexcept {
  int n = 0;
  for (int l = 0; l < count; ++l)
    for (int a = 0; a < leaves[l].rank; ++a) n += leaves[l].extents[a].is_number() ? 0 : 1;
  return n;
}

/// The error message of a conflict; `argument_of` maps leaves to arguments.
inline message words_for(size_conflict const& c, int const* argument_of) {
  message text("cotangent: call: ");
  if (c.kind == size_conflict::not_a_size)
    return text.put("the extent ").put(c.what).put(" must be at least 0 and fit 64 bits");
  if (c.kind == size_conflict::range)
    return text.put("the end ")
        .put(c.size)
        .put(" of a range must be at most the extent of its axis, which is ")
        .put(c.wanted);
  text.put("the size ")
      .put(c.size)
      .put(" of axis ")
      .put(c.axis)
      .put(" of argument ")
      .put(argument_of[c.leaf]);
  text.put(" must equal the extent ").put(c.what);
  if (c.kind == size_conflict::formula) return text.put(", which is ").put(c.wanted);
  return text.put(", which axis ")
      .put(c.other_axis)
      .put(" of argument ")
      .put(argument_of[c.other_leaf])
      .put(" binds to ")
      .put(c.wanted);
}

/// A range of bytes, to find overlapping memory.
struct byte_range {
  char const* first = nullptr;
  std::int64_t bytes = 0;
  bool overlaps(byte_range const& other) const noexcept {
    return first < other.first + other.bytes && other.first < first + bytes;
  }
  bool is(byte_range const& other) const noexcept { return first == other.first && bytes == other.bytes; }
};

} // namespace cotangent::detail

#endif
