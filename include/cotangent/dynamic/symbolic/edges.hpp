// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_SYMBOLIC_EDGES_HPP
#define COTANGENT_DYNAMIC_SYMBOLIC_EDGES_HPP

#include <cotangent/dynamic/symbolic/changes.hpp>
#include <cotangent/dynamic/symbolic/order.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

// Edges, sources and destinations, and walks over the operations.

namespace cotangent::dynamic::inline COTANGENT_ABI {

/// One operation, as shown by `visit`.
struct symbolic_node {
  symbolic_exec exec;
  std::string name;
  command what;
  std::vector<symbolic_tensor> inputs, outputs;
  int edges_in = 0, edges_out = 0;    // data dependencies and manual edges
  std::vector<std::int32_t> graphs{}; // the sub-graphs that it runs: see `symbolic_graph::graph`
  std::string hint{};                 // of `set_hint`
};

/// The scope of `autogen`.
enum class autogen_of : unsigned char { edges, ends, all };

class symbolic_edges : public symbolic_changes {
protected:
  using symbolic_changes::symbolic_changes;

public:
  /// Orders `before` before `after`. (A reader runs after its writers in any case.)
  void concat(symbolic_exec const& before, symbolic_exec const& after,
              std::source_location where = std::source_location::current()) const {
    detail::request const r = changing("concat", where);
    std::int32_t const a = here(before, r), b = here(after, r);
    if (a == b) detail::raise_graph<refusals::symbolic_edge>(s_->b, r);
    join(a, b);
  }
  void disjoin(symbolic_exec const& before, symbolic_exec const& after,
               std::source_location where = std::source_location::current()) const {
    detail::request const r = changing("disjoin", where);
    std::int32_t const a = here(before, r), b = here(after, r);
    bool const adjoint = detail::forward_of(*s_, b) == a;
    if (adjoint) detail::exec_at(*s_, b).forward = extend::none;
    if (std::erase(detail::exec_at(*s_, a).after, b) == 0 && !adjoint)
      detail::raise_graph<refusals::symbolic_no_edge>(s_->b, r);
    std::erase(detail::exec_at(*s_, b).before, a);
  }
  /// Adds an edge wherever an operation reads an element that another one writes. Operations without incoming
  /// edges become sources, those without outgoing edges destinations.
  ///
  /// Cost: n log n, also for tensors with many aliases, plus the number of edges.
  void autogen(autogen_of what = autogen_of::all,
               std::source_location where = std::source_location::current()) const {
    (void)changing("autogen", where);
    generate(detail::graph_at(*s_, region_).execs, what);
  }
  /// Adds edges among these operations only. Sources and destinations are those of the whole graph.
  void autogen(std::vector<symbolic_exec> const& among, autogen_of what = autogen_of::all,
               std::source_location where = std::source_location::current()) const {
    generate(here_all(among, changing("autogen", where)), what);
  }

  /// The direct successors of an operation, in the order of creation: by data, by manual edges, or as its
  /// adjoint.
  std::vector<symbolic_exec> successors_of(symbolic_exec const& e,
                                           std::source_location where = std::source_location::current()) const {
    return neighbors(e, true, asking("successors_of", where));
  }
  /// The direct predecessors.
  std::vector<symbolic_exec> predecessors_of(symbolic_exec const& e,
                                             std::source_location where = std::source_location::current()) const {
    return neighbors(e, false, asking("predecessors_of", where));
  }

private:
  std::vector<symbolic_exec> neighbors(symbolic_exec const& e, bool after, detail::request const& r) const {
    std::int32_t const id = detail::checked(*s_, e, r);
    detail::exec_order const order = detail::order_in(*s_, detail::exec_at(*s_, id).graph);
    auto const at = static_cast<std::size_t>(order.place.at(id));
    std::vector<std::int32_t> places = after ? order.after[at] : order.before[at];
    std::sort(places.begin(), places.end());
    std::vector<symbolic_exec> found;
    for (std::int32_t const k : places)
      found.push_back(detail::exec_handle(*s_, order.execs[static_cast<std::size_t>(k)]));
    return found;
  }
  void generate(std::vector<std::int32_t> const& among, autogen_of what) const {
    if (what != autogen_of::ends) {
      detail::exec_order const order = detail::order_in(*s_, region_, false, &among);
      auto const listed = [&](std::int32_t e) { return order.place.count(e) != 0; };
      for (std::int32_t const e : order.execs) {
        std::erase_if(detail::exec_at(*s_, e).after, listed);
        std::erase_if(detail::exec_at(*s_, e).before, listed);
      }
      for (std::size_t k = 0; k < order.execs.size(); ++k)
        for (std::int32_t const next : order.after[k]) {
          std::int32_t const e = order.execs[static_cast<std::size_t>(next)];
          detail::exec_at(*s_, order.execs[k]).after.push_back(e);
          detail::exec_at(*s_, e).before.push_back(order.execs[k]);
        }
    }
    if (what == autogen_of::edges) return;
    detail::graph_record& g = detail::graph_at(*s_, region_);
    g.sources.clear();
    g.destinations.clear();
    std::vector<bool> has_adjoint(s_->symbolic.execs.size());
    for (std::int32_t const e : g.execs)
      if (std::int32_t const f = detail::forward_of(*s_, e); f != extend::none) has_adjoint[static_cast<std::size_t>(f)] = true;
    for (std::int32_t const e : g.execs) {
      if (detail::exec_at(*s_, e).before.empty() && detail::forward_of(*s_, e) == extend::none) g.sources.push_back(e);
      if (detail::exec_at(*s_, e).after.empty() && !has_adjoint[static_cast<std::size_t>(e)])
        g.destinations.push_back(e);
    }
    g.sources_set = g.destinations_set = true;
  }

public:
  /// The operation whose adjoint this is a part of, as created by `backward`. An edge orders the two, until
  /// `disjoin` removes it. Absent for sums of cotangents, and for operations outside of gradients.
  symbolic_exec forward_of(symbolic_exec const& e,
                           std::source_location where = std::source_location::current()) const {
    return detail::exec_handle(*s_, detail::forward_of(*s_, detail::checked(*s_, e, asking("forward_of", where))));
  }

  /// The begin of a walk: as set or generated, else the operations without predecessors.
  std::vector<symbolic_exec> sources() const { return ends(true); }
  /// The end of a walk.
  std::vector<symbolic_exec> destinations() const { return ends(false); }
  void set_sources(std::vector<symbolic_exec> const& all,
                   std::source_location where = std::source_location::current()) const {
    detail::request const r = changing("set_sources", where);
    std::vector<std::int32_t> const ids = here_all(all, r);
    detail::graph_at(*s_, region_).sources = ids;
    detail::graph_at(*s_, region_).sources_set = true;
  }
  void set_destinations(std::vector<symbolic_exec> const& all,
                        std::source_location where = std::source_location::current()) const {
    detail::request const r = changing("set_destinations", where);
    std::vector<std::int32_t> const ids = here_all(all, r);
    detail::graph_at(*s_, region_).destinations = ids;
    detail::graph_at(*s_, region_).destinations_set = true;
  }

  /// For each candidate: true if it is on a path to `target` (or is `target`).
  std::vector<bool> reaches(std::vector<symbolic_exec> const& candidates, symbolic_exec const& target,
                            std::source_location where = std::source_location::current()) const {
    detail::request const r = asking("reaches", where);
    std::vector<std::int32_t> const from = here_all(candidates, r);
    std::int32_t const to = here(target, r);
    detail::exec_order const order = detail::order_in(*s_, region_);
    std::vector<bool> const seen = order.reach({order.place.at(to)}, false);
    std::vector<bool> found;
    for (std::int32_t const e : from) found.push_back(seen[static_cast<std::size_t>(order.place.at(e))]);
    return found;
  }

  /// Calls `with(symbolic_node)` for each operation between the sources and the destinations, in a valid
  /// order. Throws: `graph_error` if edges form a cycle.
  template <class With> void visit(With with,
                                   std::source_location where = std::source_location::current()) const {
    detail::request const r = asking("visit", where);
    detail::graph_record const& g = detail::graph_at(*s_, region_);
    detail::exec_order const order = detail::order_in(*s_, region_);
    std::vector<bool> const on = detail::between(order, g.sources_set ? &g.sources : nullptr,
                                                 g.destinations_set ? &g.destinations : nullptr);
    for (std::int32_t const at : detail::sorted(*s_, order, r)) {
      auto const k = static_cast<std::size_t>(at);
      if (!on[k]) continue;
      std::int32_t const e = order.execs[k];
      detail::exec_record const& x = detail::exec_at(*s_, e);
      detail::exec_io const io = detail::io_of(*s_, e);
      symbolic_node n{detail::exec_handle(*s_, e),
                      x.name,
                      x.what,
                      {},
                      {},
                      static_cast<int>(order.before[k].size()),
                      static_cast<int>(order.after[k].size()),
                      x.graphs,
                      x.hint};
      for (extend::symbol const t : io.in) n.inputs.push_back(detail::handle_of(*s_, t));
      for (extend::symbol const t : io.out) n.outputs.push_back(detail::handle_of(*s_, t));
      with(static_cast<symbolic_node const&>(n));
    }
  }
  /// The number of operations that `visit` visits.
  int size() const {
    int n = 0;
    visit([&](symbolic_node const&) { ++n; });
    return n;
  }
  std::vector<symbolic_tensor> inputs_of(symbolic_exec const& e,
                                         std::source_location where = std::source_location::current()) const {
    return handles(detail::io_of(*s_, detail::checked(*s_, e, asking("inputs_of", where))).in);
  }
  std::vector<symbolic_tensor>
  outputs_of(symbolic_exec const& e, std::source_location where = std::source_location::current()) const {
    return handles(detail::io_of(*s_, detail::checked(*s_, e, asking("outputs_of", where))).out);
  }

protected:
  void join(std::int32_t a, std::int32_t b) const {
    for (std::int32_t const known : detail::exec_at(*s_, a).after)
      if (known == b) return;
    detail::exec_at(*s_, a).after.push_back(b);
    detail::exec_at(*s_, b).before.push_back(a);
  }
  std::vector<std::int32_t> here_all(std::vector<symbolic_exec> const& all, detail::request const& r) const {
    std::vector<std::int32_t> ids;
    for (symbolic_exec const& e : all) ids.push_back(here(e, r));
    return ids;
  }
  /// By operation: true if it is on a path from a source to a destination; empty if neither are given.
  std::vector<bool> between(std::vector<symbolic_exec> const& sources, std::vector<symbolic_exec> const& destinations,
                            detail::request const& r) const {
    std::vector<bool> on;
    if (sources.empty() && destinations.empty()) return on;
    std::vector<std::int32_t> const from = here_all(sources, r), to = here_all(destinations, r);
    detail::exec_order const order = detail::order_in(*s_, region_, false);
    std::vector<bool> const runs =
        detail::between(order, from.empty() ? nullptr : &from, to.empty() ? nullptr : &to);
    on.resize(s_->symbolic.execs.size());
    for (std::size_t k = 0; k < runs.size(); ++k) on[static_cast<std::size_t>(order.execs[k])] = runs[k];
    return on;
  }
  std::vector<symbolic_tensor> handles(std::vector<extend::symbol> const& all) const {
    std::vector<symbolic_tensor> found;
    for (extend::symbol const t : all) found.push_back(detail::handle_of(*s_, t));
    return found;
  }

private:
  std::vector<symbolic_exec> ends(bool first) const {
    detail::keep_in_step(*s_);
    detail::graph_record const& g = detail::graph_at(*s_, region_);
    std::vector<symbolic_exec> found;
    if (first ? g.sources_set : g.destinations_set) {
      for (std::int32_t const e : first ? g.sources : g.destinations)
        found.push_back(detail::exec_handle(*s_, e));
      return found;
    }
    detail::exec_order const order = detail::order_in(*s_, region_);
    for (std::size_t k = 0; k < order.execs.size(); ++k)
      if ((first ? order.before[k] : order.after[k]).empty())
        found.push_back(detail::exec_handle(*s_, order.execs[k]));
    return found;
  }
};

} // namespace cotangent::dynamic

#endif
