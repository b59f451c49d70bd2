// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_ARCHIVE_STATE_HPP
#define COTANGENT_DYNAMIC_ARCHIVE_STATE_HPP

#include <cotangent/io/archive/graph_reader.hpp>
#include <cotangent/io/archive/graph_writer.hpp>

#if COTANGENT_EXCEPTIONS

#  include <cotangent/dynamic/archive/symbols.hpp>

#  include <cstdint>
#  include <map>
#  include <string>
#  include <utility>
#  include <vector>

// Converts the state of a run-time graph to JSON and back.

namespace cotangent::dynamic::inline COTANGENT_ABI::detail {

namespace archived = cotangent::detail::archived;

inline constexpr int archive_version = 1;

/// Fails to compile if a graph gains members. `identity` and `origins` belong to one process, `written` follows
/// from the nodes, `frames` must be empty, `kernels` come from the list given to `load`, and `symbolic` is saved
/// by dynamic/archive/symbols.hpp.
inline void has_no_other_members(graph_state const& s) {
  [[maybe_unused]] auto const& [identity, origins, b, inputs, parameters, states, piecewise, written, gradients,
                                constants, frames, kernels, symbolic] = s;
}

/// The lists of symbols in a file.
struct archived_lists {
  std::vector<std::pair<symbol, std::string>> constants, binds; // with the names of their elements
  std::vector<std::pair<std::string, symbol>> results;
  std::vector<std::pair<symbol, symbol>> updates;
};

inline archived::json state_as_json(graph_state const& s, archived_lists const& lists) {
  archived::json j{{"version", archive_version},
                   {"graph", archived::graph_writer(s.b.get()).write()},
                   {"inputs", s.inputs},
                   {"parameters", s.parameters},
                   {"states", s.states},
                   {"pieces", s.piecewise},
                   {"gradients", archived::json::array()},
                   {"constants", lists.constants},
                   {"binds", lists.binds},
                   {"results", archived::json::object()},
                   {"updates", lists.updates}};
  for (auto const& [name, t] : lists.results) j["results"][name] = t;
  std::map<symbol, symbol> const sorted(s.gradients.begin(), s.gradients.end());
  for (auto const& [x, dx] : sorted) j["gradients"].push_back({x, dx});
  if (s.symbolic.used) j["symbols"] = symbols_as_json(s);
  return j;
}

/// Reads the state, and refuses everything that `ct::dynamic::graph` could not have built. Throws:
/// `io_error`.
class state_reader {
  using parts = archived::graph_parts;
  archived::json j_;
  archived::operation_names const& known_;
  std::int64_t count_ = 0;

public:
  state_reader(archived::json&& j, archived::operation_names const& known)
      : j_(std::move(j)), known_(known) {}

  archived_lists read(graph_state& s) {
    if (!j_.is_object() || parts::member_if(j_, "version") == nullptr ||
        j_["version"] != archived::json(archive_version))
      archived::refuse<refusals::archive_version>();
    parts::object(j_, {"version", "graph", "inputs", "parameters", "states", "pieces", "gradients",
                       "constants", "binds", "results", "updates", "symbols"});
    cotangent::graph const g = archived::graph_reader(known_).read(parts::member(j_, "graph"));
    if (g.extents.size() > 0) archived::refuse_graph("its sizes are not all numbers");
    count_ = g.tensors.size();
    s.b = builder(g);
    s.b.owner = &s;
    s.inputs = symbols("inputs");
    s.parameters = symbols("parameters");
    s.states = symbols("states");
    s.piecewise = symbols("pieces");
    for (auto const& [x, dx] : pairs("gradients"))
      if (!s.gradients.emplace(x, dx).second) archived::refuse_graph("two gradients are of one symbol");
    archived_lists lists;
    lists.updates = pairs("updates");
    lists.constants = names("constants");
    lists.binds = names("binds");
    archived::json const& all = parts::member(j_, "results");
    if (!all.is_object()) archived::refuse_graph("its results are no object");
    for (auto const& [name, t] : all.items()) lists.results.emplace_back(name, at(t));
    std::vector<bool> in_pieces(static_cast<std::size_t>(count_));
    for (symbol const t : s.piecewise) in_pieces[static_cast<std::size_t>(t)] = true;
    for (node const& n : g.nodes)
      for (int k = 0; k < n.result_count; ++k) {
        symbol const y = g.ids[n.first + n.operand_count + k], base = g.tensors[y].base;
        if (base != none) s.written[base].push_back(y);
        else if (in_pieces[static_cast<std::size_t>(y)]) s.written[y].push_back(y);
      }
    archived::json const* const beside = parts::member_if(j_, "symbols");
    archived_edges const edges = beside != nullptr ? edges_in(*beside, g.nodes.size()) : archived_edges();
    check(s, lists, edges.all);
    if (beside != nullptr) read_symbols(*beside, edges, s);
    return lists;
  }

private:
  symbol at(archived::json const& j) const { return static_cast<symbol>(parts::integer(j, 0, count_ - 1)); }
  std::vector<symbol> symbols(char const* key) const {
    std::vector<symbol> all;
    for (archived::json const& j : parts::list(parts::member(j_, key))) all.push_back(at(j));
    return all;
  }
  std::vector<std::pair<symbol, symbol>> pairs(char const* key) const {
    std::vector<std::pair<symbol, symbol>> all;
    for (archived::json const& j : parts::list(parts::member(j_, key))) {
      parts::list(j, 2);
      all.emplace_back(at(j[0]), at(j[1]));
    }
    return all;
  }
  std::vector<std::pair<symbol, std::string>> names(char const* key) const {
    std::vector<std::pair<symbol, std::string>> all;
    for (archived::json const& j : parts::list(parts::member(j_, key))) {
      parts::list(j, 2);
      all.emplace_back(at(j[0]), parts::text(j[1]));
    }
    return all;
  }

  void check(graph_state const& s, archived_lists const& lists, array<dependency> const& edges) const {
    graph_view const g = s.b.get();
    std::vector<bool> is_input(static_cast<std::size_t>(count_)),
        is_constant(static_cast<std::size_t>(count_));
    // given: inputs from outside; seen: symbols that may be requested
    std::vector<symbol> given = s.inputs, seen;
    for (symbol const t : s.inputs) is_input[static_cast<std::size_t>(t)] = true;
    for (auto const* const some : {&s.parameters, &s.states})
      for (symbol const t : *some)
        if (!is_input[static_cast<std::size_t>(t)]) archived::refuse_graph("a parameter is no input");
    for (symbol const t : s.piecewise) // unassigned tensors are zero
      if (g.tensors[t].producer == none && s.written.find(t) == s.written.end()) given.push_back(t);
    for (auto const& [x, dx] : s.gradients) {
      if (g.tensors[x].type != g.tensors[dx].type || g.tensors[x].shape != g.tensors[dx].shape ||
          !is_floating(g.tensors[x].type))
        archived::refuse_graph("a gradient has another element type or shape than its input");
      seen.push_back(x);
      seen.push_back(dx);
    }
    for (auto const& [of, to] : lists.updates) {
      if (!is_input[static_cast<std::size_t>(of)] || g.tensors[of].type != g.tensors[to].type ||
          g.tensors[of].shape != g.tensors[to].shape)
        archived::refuse_graph("an update has another element type or shape than its input");
      seen.push_back(to);
    }
    for (auto const& [t, name] : lists.constants) {
      if (!is_input[static_cast<std::size_t>(t)] || is_constant[static_cast<std::size_t>(t)])
        archived::refuse_graph("a constant is no input");
      is_constant[static_cast<std::size_t>(t)] = true;
    }
    for (auto const& [t, name] : lists.binds) seen.push_back(t);
    for (auto const& [name, t] : lists.results) seen.push_back(t);
    seen.insert(seen.end(), s.inputs.begin(), s.inputs.end());
    seen.insert(seen.end(), s.piecewise.begin(), s.piecewise.end());
    for (symbol const t : seen)
      if (g.tensors[t].depth != 0) archived::refuse_graph("a sequence is used as a tensor");
    for (symbol const t : s.piecewise)
      if (g.tensors[t].base != none) archived::refuse_graph("a tensor that is written in pieces is a view");
    for (symbol const t : s.inputs)
      if (g.tensors[t].base != none) archived::refuse_graph("an input is a view");
    archived::check_graph(s.b.get(), given, seen, edges);
  }
};

} // namespace cotangent::dynamic::detail

#endif
#endif
