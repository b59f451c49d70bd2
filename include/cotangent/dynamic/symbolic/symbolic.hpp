// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_SYMBOLIC_SYMBOLIC_HPP
#define COTANGENT_DYNAMIC_SYMBOLIC_SYMBOLIC_HPP

#include <cotangent/dynamic/symbolic/backward.hpp>
#include <cotangent/dynamic/symbolic/compiling.hpp>
#include <cotangent/dynamic/symbolic/edges.hpp>
#include <cotangent/dynamic/symbolic/options.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <source_location>
#include <string_view>
#include <utility>
#include <vector>

namespace cotangent::dynamic::inline COTANGENT_ABI {

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
class symbolic_graph : public symbolic_edges {
public:
  explicit symbolic_graph(detail::graph_state& s, std::int32_t region = 0) : symbolic_edges(s, region) {}

  // ---- expressions

  /// The expression of a tensor symbol of the graph itself.
  template <class T>
  expr<T> expression(symbolic_tensor const& t,
                     std::source_location where = std::source_location::current()) const {
    return expression(t, where).template as<T>(where);
  }
  any_expr expression(symbolic_tensor const& t,
                      std::source_location where = std::source_location::current()) const {
    detail::request r = asking("expression", where);
    extend::symbol const id = local(t, r);
    if (region_ != 0) detail::raise_graph<refusals::symbolic_not_root>(s_->b, r);
    r.operands = &id;
    r.operand_count = 1;
    if (detail::is_unknown(*s_, id)) detail::raise_graph<refusals::symbolic_shape_unknown>(s_->b, r);
    detail::record(*s_, id).exposed = true;
    return any_expr(detail::standing(*s_, id), s_->b.tensor(id).type);
  }
  /// The tensor symbol of an expression.
  symbolic_tensor symbol_of(any_expr const& e,
                            std::source_location where = std::source_location::current()) const {
    detail::request const r = asking("symbol_of", where);
    if (e.where_it_stands().s == nullptr) detail::raise_graph<refusals::dynamic_detached>(s_->b, r);
    if (!e.where_it_stands().is_in(*s_)) detail::raise_graph<refusals::dynamic_other_graph>(s_->b, r);
    detail::record(*s_, e.id()).exposed = true;
    return detail::handle_of(*s_, detail::checked(*s_, detail::handle_of(*s_, e.id()), r));
  }

  // ---- sub-graphs

  /// A new sub-graph: the body of a loop.
  symbolic_graph sub_graph(std::string_view name = {},
                           std::source_location where = std::source_location::current()) const {
    (void)changing("sub_graph", where);
    return symbolic_graph(*s_, open(name));
  }
  /// The sub-graph with this number, see `symbolic_node::graphs`.
  symbolic_graph graph(std::int32_t number, std::source_location where = std::source_location::current()) const {
    return symbolic_graph(*s_, detail::checked_graph(*s_, number, asking("graph", where)));
  }
  std::int32_t number() const noexcept { return region_; }
  /// The enclosing graph; the graph itself has none but itself.
  symbolic_graph outer() const {
    return symbolic_graph(*s_, region_ == 0 ? 0 : detail::graph_at(*s_, region_).parent);
  }
  /// Runs `body` while `condition`, one bool of the body, is true. It is evaluated before each iteration, or
  /// with `last` after each.
  symbolic_exec while_(symbolic_graph const& body, symbolic_tensor const& condition, bool last = false,
                       std::string_view name = {},
                       std::source_location where = std::source_location::current()) const {
    detail::request const r = changing("while_", where);
    if (body.s_ != s_ || detail::graph_at(*s_, body.region_).parent != region_ ||
        detail::graph_at(*s_, body.region_).owner != extend::none || detail::graph_at(*s_, body.region_).sealed)
      detail::raise_graph<refusals::symbolic_has_owner>(s_->b, r);
    extend::symbol const asked = body.bool_of(condition, r);
    detail::exec_record e;
    e.kind = detail::exec_kind::loop;
    e.graphs.push_back(body.region_);
    std::int32_t const id = run(std::move(e), "while", name, where);
    detail::graph_record& g = detail::graph_at(*s_, body.region_);
    g.owner = id;
    g.condition = asked;
    g.condition_last = last;
    symbolic_exec const made = detail::exec_handle(*s_, id);
    detail::tell_made(*s_);
    return made;
  }
  /// Sets another condition for this body.
  void set_condition(symbolic_tensor const& condition, bool last = false,
                     std::source_location where = std::source_location::current()) const {
    extend::symbol const asked = bool_of(condition, body_request("set_condition", where));
    detail::graph_at(*s_, region_).condition = asked;
    detail::graph_at(*s_, region_).condition_last = last;
  }
  /// The index of the iteration, from 0: one int64 of this body.
  symbolic_tensor count(std::source_location where = std::source_location::current()) const {
    (void)body_request("count", where);
    if (detail::graph_at(*s_, region_).count == extend::none) {
      extend::symbol const t =
          detail::new_tensor(*s_, region_, element::int64, s_->b.shape(extend::dimensions{}), false, "count");
      detail::graph_at(*s_, region_).count = t;
      detail::tell_made(*s_);
    }
    return detail::handle_of(*s_, detail::graph_at(*s_, region_).count);
  }
  /// In the next iteration `to` has the present value of `from`. In the first one it has the value of its
  /// outer symbol, or, without one, is given at run time.
  void carry(symbolic_tensor const& from, symbolic_tensor const& to,
             std::source_location where = std::source_location::current()) const {
    detail::request r = body_request("carry", where);
    detail::symbolic_undo back(*s_);
    extend::symbol const pair[]{here(from, r), here(to, r)};
    r.operands = pair;
    r.operand_count = 2;
    detail::graph_record& g = detail::graph_at(*s_, region_);
    extend::tensor_symbol const a = s_->b.tensor(pair[0]), b = s_->b.tensor(pair[1]);
    if (a.type != b.type ||
        (a.shape != b.shape && !detail::is_unknown(*s_, pair[0]) && !detail::is_unknown(*s_, pair[1])))
      detail::raise_graph<refusals::symbolic_carry>(s_->b, r);
    bool taken = b.base != extend::none || pair[1] == g.count || detail::gets_written(*s_, pair[1]) ||
                 detail::look(*s_, pair[1]).writer != extend::none;
    for (auto const& known : g.carries) taken = taken || known.second == pair[1];
    if (taken) detail::raise_graph<refusals::symbolic_carry_twice>(s_->b, r);
    back.keep();
    g.carries.emplace_back(pair[0], pair[1]);
    detail::tell_made(*s_);
  }

  /// Selects one of several branches by an integer scalar: see `branch` and `bypass`.
  symbolic_exec case_of(symbolic_tensor const& selector, std::string_view name = {},
                        std::source_location where = std::source_location::current()) const {
    detail::request r = changing("case_of", where);
    detail::symbolic_undo back(*s_);
    extend::symbol const t = here(selector, r);
    r.operands = &t;
    r.operand_count = 1;
    element const e = s_->b.tensor(t).type;
    if ((e != element::int32 && e != element::int64) || s_->b.dims(t).rank != 0)
      detail::raise_graph<refusals::case_index>(s_->b, r);
    back.keep();
    detail::exec_record x;
    x.kind = detail::exec_kind::choice;
    x.selector = t;
    symbolic_exec const made = detail::exec_handle(*s_, run(std::move(x), "case_of", name, where));
    detail::tell_made(*s_);
    return made;
  }
  /// Adds the next branch of a choice, numbered from 0: a sub-graph. All branches of a choice must write the
  /// same outer symbols.
  symbolic_graph branch(symbolic_exec const& choice, std::string_view name = {},
                        std::source_location where = std::source_location::current()) const {
    detail::request const r = changing("branch", where);
    std::int32_t const id = choice_of(choice, r);
    std::int32_t const region = open(name);
    detail::exec_at(*s_, id).graphs.push_back(region);
    detail::graph_at(*s_, region).owner = id;
    return symbolic_graph(*s_, region);
  }
  /// If the selector is no branch (-1), `to` is `from`. Without a bypass, `to` is then zero.
  void bypass(symbolic_exec const& choice, symbolic_tensor const& from, symbolic_tensor const& to,
              std::source_location where = std::source_location::current()) const {
    detail::request r = changing("bypass", where);
    std::int32_t const id = choice_of(choice, r);
    detail::symbolic_undo back(*s_);
    extend::symbol const pair[]{here(from, r), here(to, r)};
    r.operands = pair;
    r.operand_count = 2;
    extend::tensor_symbol const a = s_->b.tensor(pair[0]), b = s_->b.tensor(pair[1]);
    bool fits = a.type == b.type &&
                (a.shape == b.shape || detail::is_unknown(*s_, pair[0]) || detail::is_unknown(*s_, pair[1]));
    for (auto const& known : detail::exec_at(*s_, id).bypasses) fits = fits && known.second != pair[1];
    if (!fits) detail::raise_graph<refusals::symbolic_bypass>(s_->b, r);
    back.keep();
    detail::exec_at(*s_, id).bypasses.emplace_back(pair[0], pair[1]);
    detail::tell_made(*s_);
  }

  /// The local symbol of an outer symbol: always the same. For a symbol of a sub-graph of this graph: its
  /// outer value, or, if the sub-graph writes it, the symbol of its final value. It is created if needed.
  /// Absent for counts, and for internal symbols of a sub-graph that is sealed.
  symbolic_tensor resolve(symbolic_tensor const& t,
                          std::source_location where = std::source_location::current()) const {
    detail::request const r = asking("resolve", where);
    extend::symbol const id = detail::checked(*s_, t, r);
    bool inside = false;
    for (std::int32_t up = s_->b.tensor(id).region; up != extend::none; up = detail::graph_at(*s_, up).parent)
      inside = inside || up == region_;
    extend::symbol const found =
        inside ? detail::resolved_outwards(*s_, region_, id, r) : detail::resolved(*s_, region_, id, r);
    symbolic_tensor const t_here = detail::handle_of(*s_, found);
    detail::tell_made(*s_);
    return t_here;
  }
  /// Connects a symbol of this sub-graph with one of the enclosing graph: as an input, or, if this graph
  /// writes it, as a result.
  void hookup(symbolic_tensor const& inner, symbolic_tensor const& outer,
              std::source_location where = std::source_location::current()) const {
    detail::request r = changing("hookup", where);
    if (region_ == 0) detail::raise_graph<refusals::symbolic_hookup>(s_->b, r);
    detail::symbolic_undo back(*s_);
    extend::symbol const in = local(inner, r);
    detail::graph_record const& around = detail::graph_at(*s_, detail::graph_at(*s_, region_).parent);
    extend::symbol const out = detail::resolved(*s_, around.region, detail::checked(*s_, outer, r), r);
    extend::symbol const pair[]{in, out};
    r.operands = pair;
    r.operand_count = 2;
    extend::tensor_symbol const a = s_->b.tensor(in), b = s_->b.tensor(out);
    bool fits = a.type == b.type &&
                (a.shape == b.shape || detail::is_unknown(*s_, in) || detail::is_unknown(*s_, out)) &&
                detail::look(*s_, in).outer == extend::none && in != detail::graph_at(*s_, region_).count;
    for (auto const& known : detail::graph_at(*s_, region_).outer_inner) fits = fits && known.first != out;
    if (!fits) detail::raise_graph<refusals::symbolic_hookup>(s_->b, r);
    back.keep();
    detail::record(*s_, in).outer = out;
    detail::graph_at(*s_, region_).outer_inner.emplace_back(out, in);
    detail::tell_made(*s_);
  }

  /// The corresponding symbol of another graph, which `backward` sets for values that a loop records. Absent
  /// if there is none.
  symbolic_tensor peer_of(symbolic_tensor const& t,
                          std::source_location where = std::source_location::current()) const {
    return detail::handle_of(*s_, detail::look(*s_, detail::checked(*s_, t, asking("peer_of", where))).peer);
  }
  void set_peer(symbolic_tensor const& a, symbolic_tensor const& b,
                std::source_location where = std::source_location::current()) const {
    detail::request const r = asking("set_peer", where);
    extend::symbol const x = detail::checked(*s_, a, r), y = detail::checked(*s_, b, r);
    detail::record(*s_, x).peer = y;
    detail::record(*s_, y).peer = x;
  }
  /// The number of the sub-graph that is the backward pass of this one, or the reverse; or none.
  std::int32_t peer() const { return detail::graph_at(*s_, region_).peer; }

  // ---- gradients and programs

  /// Adds the gradients of the outputs with respect to each `wrt` to the graph. Without `seeds`, the
  /// cotangents of the outputs, scalars have 1. Sub-graphs of loops and branches are sealed afterwards.
  gradient_table backward(std::vector<symbolic_tensor> const& outputs,
                          std::vector<symbolic_tensor> const& wrt,
                          std::vector<symbolic_tensor> const& seeds = {},
                          unreachable policy = unreachable::zeros,
                          std::source_location where = std::source_location::current()) const {
    return backward(outputs, wrt, seeds, gradient_options{policy, {}, {}}, where);
  }
  gradient_table backward(std::vector<symbolic_tensor> const& outputs,
                          std::vector<symbolic_tensor> const& wrt, std::vector<symbolic_tensor> const& seeds,
                          gradient_options const& options,
                          std::source_location where = std::source_location::current()) const {
    return backward({outputs, wrt, seeds, {}, {}, options.policy, options.tape, options.sum}, where);
  }
  /// Differentiates a part of the graph: see `symbolic_backward`.
  gradient_table backward(symbolic_backward const& what,
                          std::source_location where = std::source_location::current()) const {
    detail::request const r = changing("backward", where);
    if (region_ != 0) detail::raise_graph<refusals::symbolic_not_root>(s_->b, r);
    std::vector<extend::symbol> y, dy, x;
    for (symbolic_tensor const& t : what.outputs) y.push_back(local(t, r));
    for (symbolic_tensor const& t : what.seeds) dy.push_back(local(t, r));
    for (symbolic_tensor const& t : what.wrt) x.push_back(local(t, r));
    std::vector<bool> const part = between(what.sources, what.destinations, r);
    gradient_table table = detail::table_of_gradients(*s_, y, std::move(dy), x,
                                                      {what.policy, what.tape, what.sum}, r, part.empty() ? nullptr : &part);
    detail::tell_made(*s_);
    return table;
  }

  /// The last gradient with respect to `t`, of symbols or of expressions, also in a loaded graph. Absent if
  /// there is none.
  symbolic_tensor gradient_of(symbolic_tensor const& t,
                              std::source_location where = std::source_location::current()) const {
    auto const at = s_->gradients.find(detail::checked(*s_, t, asking("gradient_of", where)));
    return at == s_->gradients.end() ? symbolic_tensor{} : detail::handle_of(*s_, at->second);
  }

  /// The program of some outputs. Bindings are for tensors and aliases, also of sub-graphs.
  program compile(symbolic_compile const& what,
                  std::source_location where = std::source_location::current()) const {
    detail::request const r = asking("compile", where);
    if (region_ != 0) detail::raise_graph<refusals::symbolic_not_root>(s_->b, r);
    std::vector<extend::symbol> outputs, bound;
    for (symbolic_tensor const& t : what.outputs) outputs.push_back(local(t, r));
    for (binding const& one : what.binds) {
      detail::standing const& at = one.what.where_it_stands();
      std::uint32_t const generation = at.is_in(*s_) ? generation_of(one, at.id) : 0;
      bound.push_back(detail::checked(*s_, symbolic_tensor{at.s, at.id, generation, at.graph}, r));
    }
    std::vector<std::pair<extend::symbol, extend::symbol>> updates;
    for (auto const& [of, to] : what.updates) {
      extend::symbol const from = local(of, r), next = local(to, r);
      updates.emplace_back(from, next);
    }
    std::vector<std::int32_t> const sources = here_all(what.sources, r),
                                    destinations = here_all(what.destinations, r);
    return detail::compiled_as<program>(*s_,
                                        {.outputs = outputs,
                                         .bound = bound,
                                         .updates = updates,
                                         .sources = sources.empty() ? nullptr : &sources,
                                         .destinations = destinations.empty() ? nullptr : &destinations,
                                         .all = false},
                                        what.binds,
                                        {.exact = what.exact,
                                         .own_memory = what.own_memory,
                                         .memory_budget = what.memory_budget,
                                         .mirror = what.mirror,
                                         .keep_all = what.keep_all},
                                        r);
  }

  /// Replaces each command of this graph and of its sub-graphs by the result of `to`.
  void substitute(std::function<command(symbolic_exec, command const&)> const& to,
                  std::source_location where = std::source_location::current()) const {
    detail::keep_in_step(*s_);
    detail::whole_undo back(*s_);
    for (std::int32_t e = 0; e < static_cast<std::int32_t>(s_->symbolic.execs.size()); ++e) {
      detail::exec_record const x = detail::exec_at(*s_, e);
      if (x.dead || x.kind != detail::exec_kind::operation) continue;
      command const now = to(detail::exec_handle(*s_, e), x.what);
      if (!(now == x.what)) graph(x.graph).set_command(detail::exec_handle(*s_, e), now, where);
    }
    back.keep();
  }

private:
  static std::uint32_t generation_of(binding const& one, extend::symbol t) {
    return one.generation_known ? one.generation : detail::look(*one.what.where_it_stands().s, t).generation;
  }
  std::int32_t open(std::string_view name) const {
    std::int32_t const before = s_->b.region;
    s_->b.region = region_;
    std::int32_t const r = s_->b.open_region();
    s_->b.region = before;
    s_->b.edit().regions[r].owner =
        s_->b.assign(info_of<op::nothing>(), nullptr, 0, nullptr, 0, nullptr, 0, {});
    s_->b.edit().nodes[s_->b.get().regions[r].owner].region = region_;
    detail::keep_in_step(*s_);
    detail::graph_at(*s_, r).sealed = false;
    detail::graph_at(*s_, r).name = name;
    return r;
  }
  std::int32_t run(detail::exec_record&& e, char const* what, std::string_view name,
                   std::source_location where) const {
    e.what = command(what, detail::gives_back{});
    e.name = name;
    e.where = where;
    e.graph = region_;
    e.pending = true;
    std::int32_t const id = detail::new_exec(*s_, std::move(e));
    return id;
  }
  detail::request body_request(std::string_view name, std::source_location where) const {
    detail::request const r = changing(name, where);
    if (region_ == 0) detail::raise_graph<refusals::symbolic_not_a_body>(s_->b, r);
    return r;
  }
  extend::symbol bool_of(symbolic_tensor const& t, detail::request r) const {
    detail::symbolic_undo back(*s_);
    extend::symbol const id = here(t, r);
    r.operands = &id;
    r.operand_count = 1;
    if (s_->b.tensor(id).type != element::boolean || s_->b.dims(id).rank != 0)
      detail::raise_graph<refusals::symbolic_condition>(s_->b, r);
    back.keep();
    return id;
  }
  std::int32_t choice_of(symbolic_exec const& e, detail::request const& r) const {
    std::int32_t const id = here(e, r);
    if (detail::exec_at(*s_, id).kind != detail::exec_kind::choice)
      detail::raise_graph<refusals::symbolic_not_a_choice>(s_->b, r);
    if (!detail::exec_at(*s_, id).pending) detail::raise_graph<refusals::symbolic_sealed>(s_->b, r);
    return id;
  }
};

} // namespace cotangent::dynamic

#endif
