// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_SYMBOLIC_QUERIES_HPP
#define COTANGENT_DYNAMIC_SYMBOLIC_QUERIES_HPP

#include <cotangent/dynamic/symbolic/scope.hpp>

#include <cotangent/graph/window.hpp>

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

// Finds symbols, and their properties.

COTANGENT_COLD_BEGIN
namespace cotangent::dynamic::inline COTANGENT_ABI::detail {

inline symbolic_tensor find_tensor(graph_scope const& scope, std::string_view name) {
  graph_state& s = *scope.s;
  keep_in_step(s);
  graph const& g = s.b.get();
  for (symbol t = 0; t < g.tensors.size(); ++t)
    if (g.tensors[t].region == scope.region && g.tensors[t].name != none && !look(s, t).dead &&
        name == std::string_view(g.names.data() + g.tensors[t].name))
      return handle_of(s, t);
  return {};
}
inline symbolic_exec find_exec(graph_scope const& scope, std::string_view name) {
  graph_state& s = *scope.s;
  keep_in_step(s);
  for (std::int32_t const e : scope.record().execs)
    if (exec_at(s, e).name == name) return exec_handle(s, e);
  return {};
}

inline tensor_record const& record_of(graph_state const& s, symbolic_tensor const& t) { return look(s, t.id); }
inline exec_record const& record_of(graph_state const& s, symbolic_exec const& e) { return exec_at(s, e.id); }

template <class Symbol> bool is_alive(graph_state const& s, Symbol const& x) {
  return x.graph == s.identity->number && !record_of(s, x).dead && record_of(s, x).generation == x.generation;
}
/// The counterpart of a symbol of the graph that this one is a duplicate of. Since a duplication, an index may have been
/// freed and reused here, there, or in both graphs.
template <class Symbol>
Symbol counterpart(graph_scope const& scope, Symbol x, std::int32_t graph_origin::* count, std::source_location where) {
  graph_state& s = *scope.s;
  if (!x.present()) return x;
  request const r = scope.asking("same", where);
  bool found = x.graph == s.identity->number;
  for (std::size_t k = 0; k < s.origins.size() && !found; ++k) {
    if (x.graph != s.origins[k].number || x.id >= s.origins[k].*count) continue;
    auto const& at = record_of(s, x);
    bool const older = !at.dead && at.reused <= k;
    found = x.generation < at.generation || (older && x.generation == at.generation);
  }
  if (!found) raise_graph<refusals::dynamic_other_graph>(s.b, r);
  x.s = &s;
  x.graph = s.identity->number;
  return x;
}

inline std::string symbol_name(graph_state const& s, symbol t) {
  std::int32_t const n = s.b.tensor(t).name;
  return n == none ? std::string() : std::string(s.b.get().names.data() + n);
}
inline shape known_shape(graph_scope const& scope, request const& r, symbolic_tensor const& t) {
  graph_state& s = *scope.s;
  symbol const id = checked(s, t, r);
  if (is_unknown(s, id)) raise_graph<refusals::symbolic_shape_unknown>(s.b, about(r, id));
  return shape_of(s.b, id);
}
/// The offset of its first element in its tensor, then one stride for each axis.
inline std::vector<std::int64_t> window_numbers(graph_state const& s, symbol t) {
  tensor_window const w = window_of(s.b.get(), t);
  std::vector<std::int64_t> numbers{w.offset};
  for (int k = 0; k < w.rank; ++k) numbers.push_back(w.stride[k]);
  return numbers;
}
inline std::vector<symbolic_tensor> handles_of(graph_state& s, std::vector<symbol> const& all) {
  std::vector<symbolic_tensor> found;
  for (symbol const t : all) found.push_back(handle_of(s, t));
  return found;
}

} // namespace cotangent::dynamic::detail
COTANGENT_COLD_END

#endif
