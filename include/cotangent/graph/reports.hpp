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

// The nodes of a graph that may report singular matrices, or indices out of range, for the text of the error.

namespace cotangent::detail {

/// A line of the user's source, and the first node on it that may report: the name of its function, or the word for its index.
struct report_site {
  char const* what = "";
  std::source_location where{};
  bool of_gradient = false; // only nodes of a gradient report: they have the line of the operation that they belong to

  constexpr bool is_at(node const& n) const { return where.line() == n.where.line() && where.column() == n.where.column(); }
};

/// The sites of a graph whose operations have this word, up to `most`; a run does not tell which of them reported.
struct report_sites {
  static constexpr int most = 4;
  report_site of[most]{};
  int count = 0;
  bool more = false;

  constexpr report_sites() = default;
  constexpr report_sites(graph_view const& g, char const* operation::*word) {
    for (bool const of_gradient : {false, true})
      for (std::int32_t i = 0; i < g.node_count; ++i)
        if (node const& n = g.nodes[i]; n.op->*word != nullptr && n.flags.of_gradient == of_gradient) add(n, n.op->*word);
  }
  constexpr message& put(message& text) const {
    for (int k = 0; k < count; ++k) {
      text.put(k == 0 ? ": " : k + 1 == count && !more ? " or " : ", ").put(of[k].what);
      if (of[k].of_gradient) text.put(" of a derivative");
      if (of[k].where.line() != 0) text.put(" at ").put(of[k].where.file_name()).put(":").put(of[k].where.line());
    }
    return more ? text.put(" or another operation") : text;
  }

private:
  constexpr void add(node const& n, char const* what) {
    for (int k = 0; k < count; ++k)
      if (of[k].is_at(n)) return;
    if (count == most) more = true;
    else of[count++] = {what, n.where, n.flags.of_gradient};
  }
};

/// The sites of a graph by the status that they report.
struct status_sites {
  report_sites singular, out_of_range;

  constexpr status_sites() = default;
  constexpr explicit status_sites(graph_view const& g) : singular(g, &operation::reports), out_of_range(g, &operation::looks_up) {}
  /// The status in words, and its sites.
  message& put(message& text, status s) const {
    text.put(text_of(s));
    return s == status::singular_matrix ? singular.put(text) : s == status::index_out_of_range ? out_of_range.put(text) : text;
  }
};

/// The same of a frozen graph.
template <class Stage> message& put_status(message& text, status s) {
  static constexpr status_sites sites{Stage::view};
  if constexpr (sites.singular.count + sites.out_of_range.count > 0) return sites.put(text, s);
  else return text.put(text_of(s));
}

} // namespace cotangent::detail

#endif
