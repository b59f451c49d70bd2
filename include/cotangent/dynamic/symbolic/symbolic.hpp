// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_SYMBOLIC_SYMBOLIC_HPP
#define COTANGENT_DYNAMIC_SYMBOLIC_SYMBOLIC_HPP

#include <cotangent/dynamic/symbolic/edges.hpp>
#include <cotangent/dynamic/symbolic/programs.hpp>
#include <cotangent/dynamic/symbolic/sub_graphs.hpp>

#include <cstdint>
#include <functional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cotangent::dynamic::inline COTANGENT_ABI {

class graph;
/// A `ct::dynamic::graph`, or a sub-graph of it, as symbols: a small value that refers to it.
///
///     auto s = g.symbolic();
///     auto x = s.tensor<double>({3}, "x"), y = s.tensor<double>({3}, "y");
///     s.exec(ct::dynamic::command::of<ct::op::exp>(), {x}, {y}, "exp");
///     auto p = s.compile({.outputs = {y}});
///
/// Until it is compiled everything can be changed; compiling changes nothing. Operations run in the order of
/// their data dependencies and manual edges.
///
/// Throws: `graph_error`, `shape_error` and the like, with names and shapes. No error changes the graph.
class symbolic_graph {
  detail::graph_scope scope_;

public:
  explicit symbolic_graph(detail::graph_state& s, std::int32_t region = 0) : scope_{&s, region} {
    s.symbolic.used = true;
    detail::keep_in_step(s);
  }

  // ---- symbols

  /// A tensor symbol: element, shape, name; no memory. If no operation writes it, it is given at run time.
  symbolic_tensor tensor(element e, sizes const& shape, std::string_view name = {},
                         std::source_location where = std::source_location::current()) const {
    return detail::add_tensor(scope_, scope_.changing("tensor", where), e, shape, name);
  }
  /// With a shape that is set later, or inferred.
  symbolic_tensor tensor(element e, automatic_t, std::string_view name = {},
                         std::source_location where = std::source_location::current()) const {
    return detail::add_tensor(scope_, scope_.changing("tensor", where), e, automatic, name);
  }
  template <element_type T>
  symbolic_tensor tensor(sizes const& shape, std::string_view name = {},
                         std::source_location where = std::source_location::current()) const {
    return tensor(cotangent::element_of<T>, shape, name, where);
  }
  template <element_type T>
  symbolic_tensor tensor(automatic_t a, std::string_view name = {},
                         std::source_location where = std::source_location::current()) const {
    return tensor(cotangent::element_of<T>, a, name, where);
  }
  /// A window on a tensor or on an alias: aliases of aliases compose. It may be read and written.
  symbolic_tensor alias(symbolic_tensor const& of, window const& w, std::string_view name = {},
                        std::source_location where = std::source_location::current()) const {
    return detail::add_alias(scope_, scope_.changing("alias", where), of, w, name);
  }
  /// An operation: it reads the inputs and writes the outputs, which exist already. Both may be absent if the command
  /// allows it; symbols of enclosing graphs are resolved. It never merges with another one.
  symbolic_exec exec(command const& what, std::vector<symbolic_tensor> const& inputs,
                     std::vector<symbolic_tensor> const& outputs, std::string_view name = {},
                     std::source_location where = std::source_location::current()) const {
    return detail::add_exec(scope_, scope_.changing(what.name(), where), what, inputs, outputs, name);
  }

  // ---- hooks for new symbols, in the graph or any sub-graph: of this API, of expressions, of gradients

  [[nodiscard]] auto on_tensor(std::function<void(symbolic_tensor)> hook) const {
    return detail::hooked(*scope_.s, &detail::symbolic_hooks::tensor, std::move(hook));
  }
  [[nodiscard]] auto on_alias(std::function<void(symbolic_tensor)> hook) const {
    return detail::hooked(*scope_.s, &detail::symbolic_hooks::alias, std::move(hook));
  }
  [[nodiscard]] auto on_exec(std::function<void(symbolic_exec)> hook) const {
    return detail::hooked(*scope_.s, &detail::symbolic_hooks::exec, std::move(hook));
  }

  // ---- changes

  /// Sets other inputs and outputs of an operation.
  void set_io(symbolic_exec const& e, std::vector<symbolic_tensor> const& inputs, std::vector<symbolic_tensor> const& outputs,
              std::source_location where = std::source_location::current()) const {
    detail::set_io(scope_, scope_.changing("set_io", where), e, inputs, outputs);
  }
  /// Sets another command for an operation, and keeps its inputs and outputs.
  void set_command(symbolic_exec const& e, command const& what,
                   std::source_location where = std::source_location::current()) const {
    detail::set_command(scope_, scope_.changing("set_command", where), e, what);
  }
  /// Sets other attributes of an operation.
  void set_params(symbolic_exec const& e, std::vector<std::int64_t> attributes,
                  std::source_location where = std::source_location::current()) const {
    detail::set_params(scope_, scope_.changing("set_params", where), e, std::move(attributes));
  }
  void set_flags(symbolic_exec const& e, exec_flags const& flags,
                 std::source_location where = std::source_location::current()) const {
    std::int32_t const id = scope_.operation(e, scope_.changing("set_flags", where));
    detail::exec_at(*scope_.s, id).flags = flags;
  }
  /// Attaches a text to an operation, a loop or a choice: it stays in walks, drawings and files, and prevents merging. An
  /// empty text removes it.
  void set_hint(symbolic_exec const& e, std::string_view hint,
                std::source_location where = std::source_location::current()) const {
    detail::exec_at(*scope_.s, scope_.here(e, scope_.changing("set_hint", where))).hint = hint;
  }
  /// Sets the value of a tensor that no operation writes.
  void set_flags(symbolic_tensor const& t, unwritten fill,
                 std::source_location where = std::source_location::current()) const {
    detail::set_fill(scope_, scope_.changing("set_flags", where), t, fill);
  }
  /// Sets another shape; operations that it does not fit are refused when the graph is compiled or differentiated.
  void set_shape(symbolic_tensor const& t, sizes const& shape,
                 std::source_location where = std::source_location::current()) const {
    detail::set_shape(scope_, scope_.changing("set_shape", where), t, shape);
  }
  void set_shape(symbolic_tensor const& t, automatic_t, std::source_location where = std::source_location::current()) const {
    detail::set_shape(scope_, scope_.changing("set_shape", where), t, automatic);
  }
  /// Frees a tensor symbol without users. Its index may be reused; later uses of the old symbol are refused.
  void free(symbolic_tensor const& t, std::source_location where = std::source_location::current()) const {
    detail::free_tensor(scope_, scope_.changing("free", where), t);
  }
  /// Frees an operation, its edges and its role as source or destination; for a loop or choice also its sub-graphs. Its
  /// outputs then have no writer.
  void free(symbolic_exec const& e, std::source_location where = std::source_location::current()) const {
    detail::free_exec(*scope_.s, scope_.here(e, scope_.changing("free", where)));
  }

  // ---- queries

  /// The first symbol of that name in this graph; absent if there is none.
  symbolic_tensor find_tensor(std::string_view name) const { return detail::find_tensor(scope_, name); }
  symbolic_exec find_exec(std::string_view name) const { return detail::find_exec(scope_, name); }
  bool is_alive(symbolic_tensor const& t) const { return detail::is_alive(*scope_.s, t); }
  bool is_alive(symbolic_exec const& e) const { return detail::is_alive(*scope_.s, e); }
  /// The counterpart here of a symbol of the graph that this one is a duplicate of, directly or not; a symbol of this graph
  /// is its own. Throws: `graph_error` for all others, also for those created after the duplication.
  symbolic_tensor same(symbolic_tensor const& t, std::source_location where = std::source_location::current()) const {
    return detail::counterpart(scope_, t, &detail::graph_origin::tensors, where);
  }
  symbolic_exec same(symbolic_exec const& e, std::source_location where = std::source_location::current()) const {
    return detail::counterpart(scope_, e, &detail::graph_origin::execs, where);
  }
  cotangent::element element_of(symbolic_tensor const& t,
                                std::source_location where = std::source_location::current()) const {
    return scope_.s->b.tensor(scope_.asked(t, "element_of", where)).type;
  }
  /// Throws: `graph_error` if the shape is not known yet.
  cotangent::shape shape_of(symbolic_tensor const& t, std::source_location where = std::source_location::current()) const {
    return detail::known_shape(scope_, scope_.asking("shape_of", where), t);
  }
  bool is_automatic(symbolic_tensor const& t, std::source_location where = std::source_location::current()) const {
    return detail::is_unknown(*scope_.s, scope_.asked(t, "is_automatic", where));
  }
  std::string name_of(symbolic_tensor const& t, std::source_location where = std::source_location::current()) const {
    return detail::symbol_name(*scope_.s, scope_.asked(t, "name_of", where));
  }
  std::string name_of(symbolic_exec const& e, std::source_location where = std::source_location::current()) const {
    return detail::exec_at(*scope_.s, scope_.asked(e, "name_of", where)).name;
  }
  /// The tensor of an alias; absent for a tensor.
  symbolic_tensor base_of(symbolic_tensor const& t, std::source_location where = std::source_location::current()) const {
    return detail::handle_of(*scope_.s, scope_.s->b.tensor(scope_.asked(t, "base_of", where)).base);
  }
  /// The offset of its first element in that tensor, then one stride for each axis, in elements.
  std::vector<std::int64_t> window_of(symbolic_tensor const& t,
                                      std::source_location where = std::source_location::current()) const {
    return detail::window_numbers(*scope_.s, scope_.asked(t, "window_of", where));
  }
  unwritten flags_of(symbolic_tensor const& t, std::source_location where = std::source_location::current()) const {
    return detail::look(*scope_.s, scope_.asked(t, "flags_of", where)).fill;
  }
  /// True if a loop records its value for each iteration, for the backward sweep.
  bool is_taped(symbolic_tensor const& t, std::source_location where = std::source_location::current()) const {
    return detail::look(*scope_.s, scope_.asked(t, "is_taped", where)).taped;
  }
  exec_flags flags_of(symbolic_exec const& e, std::source_location where = std::source_location::current()) const {
    return detail::exec_at(*scope_.s, scope_.asked(e, "flags_of", where)).flags;
  }
  std::string hint_of(symbolic_exec const& e, std::source_location where = std::source_location::current()) const {
    return detail::exec_at(*scope_.s, scope_.asked(e, "hint_of", where)).hint;
  }
  command command_of(symbolic_exec const& e, std::source_location where = std::source_location::current()) const {
    return detail::exec_at(*scope_.s, scope_.asked(e, "command_of", where)).what;
  }
  std::vector<symbolic_tensor> inputs_of(symbolic_exec const& e,
                                         std::source_location where = std::source_location::current()) const {
    return detail::handles_of(*scope_.s, detail::io_of(*scope_.s, scope_.asked(e, "inputs_of", where)).in);
  }
  std::vector<symbolic_tensor> outputs_of(symbolic_exec const& e,
                                          std::source_location where = std::source_location::current()) const {
    return detail::handles_of(*scope_.s, detail::io_of(*scope_.s, scope_.asked(e, "outputs_of", where)).out);
  }

  // ---- edges

  /// Orders `before` before `after`. (A reader runs after its writers in any case.)
  void concat(symbolic_exec const& before, symbolic_exec const& after,
              std::source_location where = std::source_location::current()) const {
    detail::add_edge(scope_, scope_.changing("concat", where), before, after);
  }
  void disjoin(symbolic_exec const& before, symbolic_exec const& after,
               std::source_location where = std::source_location::current()) const {
    detail::remove_edge(scope_, scope_.changing("disjoin", where), before, after);
  }
  /// Adds an edge wherever an operation reads an element that another one writes. Operations without incoming edges become
  /// sources, those without outgoing edges destinations.
  ///
  /// Cost: n log n, also for tensors with many aliases, plus the number of edges.
  void autogen(autogen_of what = autogen_of::all, std::source_location where = std::source_location::current()) const {
    (void)scope_.changing("autogen", where);
    detail::autogen(scope_, scope_.record().execs, what);
  }
  /// Adds edges among these operations only. Sources and destinations are those of the whole graph.
  void autogen(std::vector<symbolic_exec> const& among, autogen_of what = autogen_of::all,
               std::source_location where = std::source_location::current()) const {
    detail::autogen(scope_, scope_.here(among, scope_.changing("autogen", where)), what);
  }
  /// The direct successors of an operation, in the order of creation: by data, by manual edges, or as its adjoint.
  std::vector<symbolic_exec> successors_of(symbolic_exec const& e,
                                           std::source_location where = std::source_location::current()) const {
    return detail::neighbors_of(scope_, scope_.asking("successors_of", where), e, true);
  }
  /// The direct predecessors.
  std::vector<symbolic_exec> predecessors_of(symbolic_exec const& e,
                                             std::source_location where = std::source_location::current()) const {
    return detail::neighbors_of(scope_, scope_.asking("predecessors_of", where), e, false);
  }
  /// The operation whose adjoint this is a part of, as created by `backward`. An edge orders the two, until `disjoin`
  /// removes it. Absent for sums of cotangents, and for operations outside of gradients.
  symbolic_exec forward_of(symbolic_exec const& e, std::source_location where = std::source_location::current()) const {
    return detail::exec_handle(*scope_.s, detail::forward_of(*scope_.s, scope_.asked(e, "forward_of", where)));
  }
  /// The begin of a walk: as set or generated, else the operations without predecessors.
  std::vector<symbolic_exec> sources() const { return detail::ends_of(scope_, true); }
  /// The end of a walk.
  std::vector<symbolic_exec> destinations() const { return detail::ends_of(scope_, false); }
  void set_sources(std::vector<symbolic_exec> const& all,
                   std::source_location where = std::source_location::current()) const {
    detail::set_sources(scope_, scope_.changing("set_sources", where), all);
  }
  void set_destinations(std::vector<symbolic_exec> const& all,
                        std::source_location where = std::source_location::current()) const {
    detail::set_destinations(scope_, scope_.changing("set_destinations", where), all);
  }
  /// For each candidate: true if it is on a path to `target` (or is `target`).
  std::vector<bool> reaches(std::vector<symbolic_exec> const& candidates, symbolic_exec const& target,
                            std::source_location where = std::source_location::current()) const {
    return detail::reaches(scope_, scope_.asking("reaches", where), candidates, target);
  }
  /// Calls `with(symbolic_node)` for each operation between the sources and the destinations, in a valid order. Throws:
  /// `graph_error` if edges form a cycle.
  template <class With> void visit(With with, std::source_location where = std::source_location::current()) const {
    detail::visit_execs(scope_, scope_.asking("visit", where), with);
  }
  /// The number of operations that `visit` visits.
  int size() const {
    int n = 0;
    visit([&](symbolic_node const&) { ++n; });
    return n;
  }

  // ---- expressions

  /// The expression of a tensor symbol of the graph itself.
  template <class T>
  expr<T> expression(symbolic_tensor const& t, std::source_location where = std::source_location::current()) const {
    return expression(t, where).template as<T>(where);
  }
  any_expr expression(symbolic_tensor const& t, std::source_location where = std::source_location::current()) const {
    return detail::expression_at(scope_, scope_.asking("expression", where), t);
  }
  /// The tensor symbol of an expression.
  symbolic_tensor symbol_of(any_expr const& e, std::source_location where = std::source_location::current()) const {
    return detail::symbol_of(*scope_.s, scope_.asking("symbol_of", where), e);
  }

  // ---- sub-graphs

  /// A new sub-graph: the body of a loop.
  symbolic_graph sub_graph(std::string_view name = {}, std::source_location where = std::source_location::current()) const {
    return symbolic_graph(*scope_.s, detail::add_sub_graph(scope_, scope_.changing("sub_graph", where), name));
  }
  /// The sub-graph with this number, see `symbolic_node::graphs`.
  symbolic_graph graph(std::int32_t number, std::source_location where = std::source_location::current()) const {
    return symbolic_graph(*scope_.s, detail::checked_graph(*scope_.s, number, scope_.asking("graph", where)));
  }
  std::int32_t number() const noexcept { return scope_.region; }
  /// The enclosing graph; the graph itself has none but itself.
  symbolic_graph outer() const { return symbolic_graph(*scope_.s, scope_.region == 0 ? 0 : scope_.record().parent); }
  /// Runs `body` while `condition`, one bool of the body, is true. It is evaluated before each iteration, or with `last`
  /// after each.
  symbolic_exec while_(symbolic_graph const& body, symbolic_tensor const& condition, bool last = false,
                       std::string_view name = {}, std::source_location where = std::source_location::current()) const {
    return detail::add_loop(scope_, scope_.changing("while_", where), body.scope_, condition, last, name);
  }
  /// Sets another condition for this body.
  void set_condition(symbolic_tensor const& condition, bool last = false,
                     std::source_location where = std::source_location::current()) const {
    detail::set_condition(scope_, scope_.changing_body("set_condition", where), condition, last);
  }
  /// The index of the iteration, from 0: one int64 of this body.
  symbolic_tensor count(std::source_location where = std::source_location::current()) const {
    return detail::iteration_count(scope_, scope_.changing_body("count", where));
  }
  /// In the next iteration `to` has the present value of `from`. In the first one it has the value of its outer symbol, or,
  /// without one, is given at run time.
  void carry(symbolic_tensor const& from, symbolic_tensor const& to,
             std::source_location where = std::source_location::current()) const {
    detail::add_carry(scope_, scope_.changing_body("carry", where), from, to);
  }
  /// Selects one of several branches by an integer scalar: see `branch` and `bypass`.
  symbolic_exec case_of(symbolic_tensor const& selector, std::string_view name = {},
                        std::source_location where = std::source_location::current()) const {
    return detail::add_choice(scope_, scope_.changing("case_of", where), selector, name);
  }
  /// Adds the next branch of a choice, numbered from 0: a sub-graph. All branches of a choice must write the same outer
  /// symbols.
  symbolic_graph branch(symbolic_exec const& choice, std::string_view name = {},
                        std::source_location where = std::source_location::current()) const {
    return symbolic_graph(*scope_.s, detail::add_branch(scope_, scope_.changing("branch", where), choice, name));
  }
  /// If the selector is no branch (-1), `to` is `from`. Without a bypass, `to` is then zero.
  void bypass(symbolic_exec const& choice, symbolic_tensor const& from, symbolic_tensor const& to,
              std::source_location where = std::source_location::current()) const {
    detail::add_bypass(scope_, scope_.changing("bypass", where), choice, from, to);
  }
  /// The local symbol of an outer symbol: always the same. For a symbol of a sub-graph of this graph: its outer value, or,
  /// if the sub-graph writes it, the symbol of its final value. It is created if needed. Absent for counts, and for
  /// internal symbols of a sub-graph that is sealed.
  symbolic_tensor resolve(symbolic_tensor const& t, std::source_location where = std::source_location::current()) const {
    return detail::resolve(scope_, scope_.asking("resolve", where), t);
  }
  /// Connects a symbol of this sub-graph with one of the enclosing graph: as an input, or, if this graph writes it, as a
  /// result.
  void hookup(symbolic_tensor const& inner, symbolic_tensor const& outer,
              std::source_location where = std::source_location::current()) const {
    detail::hook_up(scope_, scope_.changing("hookup", where), inner, outer);
  }
  /// The corresponding symbol of another graph, which `backward` sets for values that a loop records. Absent if there is
  /// none.
  symbolic_tensor peer_of(symbolic_tensor const& t, std::source_location where = std::source_location::current()) const {
    return detail::handle_of(*scope_.s, detail::look(*scope_.s, scope_.asked(t, "peer_of", where)).peer);
  }
  void set_peer(symbolic_tensor const& a, symbolic_tensor const& b,
                std::source_location where = std::source_location::current()) const {
    detail::set_peer(*scope_.s, scope_.asking("set_peer", where), a, b);
  }
  /// The number of the sub-graph that is the backward pass of this one, or the reverse; or none.
  std::int32_t peer() const { return scope_.record().peer; }

  // ---- gradients and programs

  /// Adds the gradients of the outputs with respect to each `wrt` to the graph. Without `seeds`, the cotangents of the
  /// outputs, scalars have 1. Sub-graphs of loops and branches are sealed afterwards.
  gradient_table backward(std::vector<symbolic_tensor> const& outputs, std::vector<symbolic_tensor> const& wrt,
                          std::vector<symbolic_tensor> const& seeds = {}, unreachable policy = unreachable::zeros,
                          std::source_location where = std::source_location::current()) const {
    return backward(outputs, wrt, seeds, gradient_options{policy, {}, {}}, where);
  }
  gradient_table backward(std::vector<symbolic_tensor> const& outputs, std::vector<symbolic_tensor> const& wrt,
                          std::vector<symbolic_tensor> const& seeds, gradient_options const& options,
                          std::source_location where = std::source_location::current()) const {
    return backward({outputs, wrt, seeds, {}, {}, options.policy, options.tape, options.sum}, where);
  }
  /// Differentiates a part of the graph: see `symbolic_backward`.
  gradient_table backward(symbolic_backward const& what, std::source_location where = std::source_location::current()) const {
    return detail::gradients_of(scope_, scope_.changing("backward", where), what);
  }
  /// The last gradient with respect to `t`, of symbols or of expressions, also in a loaded graph. Absent if there is none.
  symbolic_tensor gradient_of(symbolic_tensor const& t, std::source_location where = std::source_location::current()) const {
    auto const at = scope_.s->gradients.find(scope_.asked(t, "gradient_of", where));
    return at == scope_.s->gradients.end() ? symbolic_tensor{} : detail::handle_of(*scope_.s, at->second);
  }
  /// The program of some outputs. Bindings are for tensors and aliases, also of sub-graphs.
  program compile(symbolic_compile const& what, std::source_location where = std::source_location::current()) const {
    return detail::program_of(scope_, scope_.asking("compile", where), what);
  }
  /// See `graph::duplicate`.
  class graph duplicate(std::function<command(symbolic_exec, command const&)> const& substitution = {},
                        std::source_location where = std::source_location::current()) const;
  /// Replaces each command of this graph and of its sub-graphs by the result of `to`.
  void substitute(std::function<command(symbolic_exec, command const&)> const& to,
                  std::source_location where = std::source_location::current()) const {
    detail::substitute(*scope_.s, to, where);
  }
};

} // namespace cotangent::dynamic

#endif
