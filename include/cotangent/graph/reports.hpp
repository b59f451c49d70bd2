// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_GRAPH_REPORTS_HPP
#define COTANGENT_GRAPH_REPORTS_HPP

#include <cotangent/core/error.hpp>
#include <cotangent/core/message.hpp>
#include <cotangent/graph/graph.hpp>
#include <cotangent/graph/operation.hpp>

#include <cstdint>
#include <initializer_list>
#include <source_location>

// The nodes of a graph that may report singular matrices, for the text of the error.

namespace cotangent::detail {

/// A line of the user's source, and the first function on it that may report.
struct report_site {
  char const* function = "";
  std::source_location where{};
  bool of_gradient = false; // only nodes of a gradient report: they have the line of the operation that they belong to

  constexpr bool is_at(node const& n) const { return where.line() == n.where.line() && where.column() == n.where.column(); }
};

/// The sites of a graph, up to `most`; a run does not tell which of them reported.
struct report_sites {
  static constexpr int most = 4;
  report_site of[most]{};
  int count = 0;
  bool more = false;

  constexpr report_sites() = default;
  constexpr explicit report_sites(graph_view const& g) {
    for (bool const of_gradient : {false, true})
      for (std::int32_t i = 0; i < g.node_count; ++i)
        if (node const& n = g.nodes[i]; n.op->reports != nullptr && n.flags.of_gradient == of_gradient) add(n);
  }
  constexpr message& put(message& text) const {
    for (int k = 0; k < count; ++k) {
      text.put(k == 0 ? ": " : k + 1 == count && !more ? " or " : ", ").put(of[k].function);
      if (of[k].of_gradient) text.put(" of a derivative");
      if (of[k].where.line() != 0) text.put(" at ").put(of[k].where.file_name()).put(":").put(of[k].where.line());
    }
    return more ? text.put(" or another operation") : text;
  }

private:
  constexpr void add(node const& n) {
    for (int k = 0; k < count; ++k)
      if (of[k].is_at(n)) return;
    if (count == most) more = true;
    else of[count++] = {n.op->reports, n.where, n.flags.of_gradient};
  }
};

/// Appends the sites of a frozen graph, if it has some and the status is theirs.
template <class Stage> message& put_reports([[maybe_unused]] status s, message& text) {
  static constexpr report_sites sites{Stage::view};
  if constexpr (sites.count > 0)
    if (s == status::singular_matrix) sites.put(text);
  return text;
}

} // namespace cotangent::detail

#endif
