// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_SYMBOLIC_SCOPE_HPP
#define COTANGENT_DYNAMIC_SYMBOLIC_SCOPE_HPP

#include <cotangent/dynamic/symbolic/resolve.hpp>

#include <cstdint>
#include <source_location>
#include <string_view>
#include <vector>

// The graph or sub-graph that a `symbolic_graph` refers to, and checks of the handles that it is given.

COTANGENT_COLD_BEGIN
namespace cotangent::dynamic::inline COTANGENT_ABI::detail {

/// The request, with the symbols that its refusal names; they must outlive it.
inline request about(request r, symbol const& t) {
  r.operands = &t;
  r.operand_count = 1;
  return r;
}
inline request about(request r, symbol const (&pair)[2]) {
  r.operands = pair;
  r.operand_count = 2;
  return r;
}

/// A graph or a sub-graph. Its members check handles, and return the indices of their symbols and operations.
struct graph_scope {
  graph_state* s;
  std::int32_t region;

  graph_record& record() const { return graph_at(*s, region); }

  /// The request of a change; refused where none is allowed.
  request changing(std::string_view name, std::source_location where) const {
    request const r = request_of_words(name, where);
    if (!s->frames.empty()) raise_graph<refusals::symbolic_in_body>(s->b, r);
    keep_in_step(*s);
    if (record().sealed) raise_graph<refusals::symbolic_sealed>(s->b, r);
    return r;
  }
  /// The request of a change that only sub-graphs allow.
  request changing_body(std::string_view name, std::source_location where) const {
    request const r = changing(name, where);
    if (region == 0) raise_graph<refusals::symbolic_not_a_body>(s->b, r);
    return r;
  }
  /// The request of a query.
  request asking(std::string_view name, std::source_location where) const {
    keep_in_step(*s);
    return request_of_words(name, where);
  }

  /// The symbol or operation of a query: of any graph or sub-graph.
  template <class Symbol>
  std::int32_t asked(Symbol const& x, std::string_view name, std::source_location where) const {
    return checked(*s, x, asking(name, where));
  }

  /// A symbol of this sub-graph itself.
  symbol local(symbolic_tensor const& t, request const& r) const {
    symbol const id = checked(*s, t, r);
    if (s->b.tensor(id).region != region) raise_graph<refusals::symbolic_sub_graph>(s->b, r);
    return id;
  }
  std::vector<symbol> local(std::vector<symbolic_tensor> const& all, request const& r) const {
    std::vector<symbol> ids;
    for (symbolic_tensor const& t : all) ids.push_back(local(t, r));
    return ids;
  }
  /// The symbol in this sub-graph, also for one of an enclosing graph.
  symbol here(symbolic_tensor const& t, request const& r) const { return resolved(*s, region, checked(*s, t, r), r); }
  /// None for absent ones.
  std::vector<symbol> here(std::vector<symbolic_tensor> const& all, request const& r) const {
    for (symbolic_tensor const& t : all)
      if (t.present()) (void)checked(*s, t, r);
    std::vector<symbol> ids;
    for (symbolic_tensor const& t : all) ids.push_back(t.present() ? here(t, r) : none);
    return ids;
  }
  /// An operation, loop or choice of this sub-graph itself.
  std::int32_t here(symbolic_exec const& e, request const& r) const {
    std::int32_t const id = checked(*s, e, r);
    if (exec_at(*s, id).graph != region) raise_graph<refusals::symbolic_sub_graph>(s->b, r);
    return id;
  }
  std::vector<std::int32_t> here(std::vector<symbolic_exec> const& all, request const& r) const {
    std::vector<std::int32_t> ids;
    for (symbolic_exec const& e : all) ids.push_back(here(e, r));
    return ids;
  }
  /// One that is no loop or choice.
  std::int32_t operation(symbolic_exec const& e, request const& r) const {
    std::int32_t const id = here(e, r);
    if (exec_at(*s, id).kind != exec_kind::operation) raise_graph<refusals::symbolic_foreign>(s->b, r);
    return id;
  }
};

} // namespace cotangent::dynamic::detail
COTANGENT_COLD_END

#endif
