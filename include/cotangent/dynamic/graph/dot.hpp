// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_GRAPH_DOT_HPP
#define COTANGENT_DYNAMIC_GRAPH_DOT_HPP

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/dynamic/graph/graph_access.hpp>

#if COTANGENT_EXCEPTIONS

#  include <cotangent/io/dot.hpp>

#  include <cstddef>
#  include <memory>
#  include <source_location>
#  include <string>
#  include <utility>
#  include <vector>

namespace cotangent {

/// Draws a run-time graph: the nodes of the results, the first `options.values` results as values, the others
/// as gradients; without results the whole graph.
///
///     ct::dot(std::ofstream("graph.dot"), g, {{"loss", loss}, {"d w", dw}});
///
/// Throws: `graph_error` for expressions of another graph, and if the nodes have no valid order.
/// Checked: tests/runtime/dot_regions.cpp
template <class Stream>
void dot(Stream&& out, dynamic::graph const& g,
         std::vector<std::pair<std::string, dynamic::any_expr>> const& results = {}, dot_options options = {},
         std::source_location where = std::source_location::current()) {
  std::vector<extend::symbol> ids;
  std::vector<char const*> names;
  for (auto const& [name, y] : results) {
    ids.push_back(dynamic::detail::graph_access::symbol_of(g, y, {"dot", 3, nullptr, 0, where}));
    names.push_back(name.c_str());
  }
  dynamic::detail::graph_state const* s = &dynamic::detail::graph_access::state(g);
  std::unique_ptr<dynamic::detail::graph_state> copy; // with sub-graphs lowered to loops and branches
  if (s->symbolic.used) {
    copy = std::make_unique<dynamic::detail::graph_state>(*s);
    (void)dynamic::detail::lower(*copy, {.outputs = ids, .all = results.empty()},
                                 {"dot", 3, nullptr, 0, where});
    s = copy.get();
  }
  std::vector<std::string> texts(
      static_cast<std::size_t>(s->b.get().nodes.size())); // hints; in the long form names too
  for (dynamic::detail::exec_record const& e : s->symbolic.execs)
    if (!e.dead && !e.nodes.empty()) {
      std::string& text = texts[static_cast<std::size_t>(e.nodes.back())];
      if (options.details) text = e.name;
      if (!e.hint.empty()) text += (text.empty() ? "" : ": ") + e.hint;
    }
  std::vector<char const*> notes;
  for (std::string const& text : texts) notes.push_back(text.c_str());
  extend::builder b(s->b.get());
  if (!detail::in_order(b.get())) {
    detail::ordering const order = detail::order_of(b.get());
    if (!order) throw graph_error(detail::message(refusals::order_cycle::text));
    b = extend::builder(reordered(b.get(), order));
    for (std::size_t k = 0; k < notes.size(); ++k)
      notes[k] = texts[static_cast<std::size_t>(order.nodes[static_cast<int>(k)])].c_str();
  }
  b.set_inputs(s->inputs.data(), static_cast<int>(s->inputs.size()));
  b.set_outputs(ids.data(), static_cast<int>(ids.size()));
  if (options.notes == nullptr) options.notes = notes.data();
  if (!results.empty() && options.outputs == nullptr) options.outputs = names.data();
  dot(out, extend::graph_view(b.get()), options);
}

} // namespace cotangent

#endif
COTANGENT_HEADER_END

#endif
