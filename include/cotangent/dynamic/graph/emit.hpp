// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_GRAPH_EMIT_HPP
#define COTANGENT_DYNAMIC_GRAPH_EMIT_HPP

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/dynamic/graph/graph_access.hpp>

#if COTANGENT_EXCEPTIONS

#  include <cotangent/dynamic/symbolic/compiling.hpp>
#  include <cotangent/io/emit.hpp>

#  include <cstddef>
#  include <cstdint>
#  include <cstring>
#  include <memory>
#  include <source_location>
#  include <string>
#  include <utility>
#  include <vector>

namespace cotangent {

namespace dynamic::inline COTANGENT_ABI::detail {

template <class T> std::string cpp_elements_as(held_constant const& c) {
  std::string text;
  for (std::size_t at = 0; at + sizeof(T) <= c.bytes.size(); at += sizeof(T)) {
    T one;
    std::memcpy(&one, c.bytes.data() + at, sizeof one);
    text += (at == 0 ? "" : ", ") + cotangent::detail::cpp_literal(extend::scalar::of(one));
  }
  return text.empty() ? "0" : text;
}
/// The elements of a constant, as C++ literals.
inline std::string cpp_elements(held_constant const& c, element type) {
  switch (type) {
  case element::float32: return cpp_elements_as<float>(c);
  case element::float64: return cpp_elements_as<double>(c);
  case element::int32: return cpp_elements_as<std::int32_t>(c);
  case element::int64: return cpp_elements_as<std::int64_t>(c);
  case element::boolean: return cpp_elements_as<bool>(c);
  case element::float16:
  case element::bfloat16: break; // refused
  }
  return "0";
}

} // namespace dynamic::inline COTANGENT_ABI::detail

/// Writes the program of these expressions as a C++ function of all inputs of the graph, in the order of their creation, and
/// of these results: `name(sizes..., inputs..., results..., workspace)`. Constants are written out.
///
///     ct::emit(std::ofstream("step.hpp"), g, {{"loss", loss}, {"dw", dw}}, {.name = "step"});
///
/// Refuses: as `ct::emit` of a program, and graphs that write through views.
/// Throws: `graph_error`.
/// Checked: tests/emit/write.cpp
template <class Stream>
void emit(Stream&& out, dynamic::graph const& g, std::vector<std::pair<std::string, dynamic::any_expr>> const& results,
          emit_options options = {}, std::source_location where = std::source_location::current()) {
  namespace dd = dynamic::detail;
  dd::request const r{"emit", 4, nullptr, 0, where};
  std::vector<extend::symbol> ids;
  options.results.clear();
  for (auto const& [name, y] : results) {
    ids.push_back(dd::graph_access::symbol_of(g, y, r));
    options.results.push_back(name);
  }
  dd::graph_state const* s = &dd::graph_access::state(g);
  if (!s->frames.empty()) dd::raise<refusals::dynamic_in_body>(s->b, r);
  std::unique_ptr<dd::graph_state> copy;
  dd::lowered low;
  if (s->symbolic.used) {
    copy = std::make_unique<dd::graph_state>(*s);
    low = dd::lower(*copy, {.outputs = ids, .all = false}, r);
    s = copy.get();
  }
  extend::graph ready = s->b.get();
  ready.set_inputs(s->inputs.data(), static_cast<int>(s->inputs.size()));
  ready.set_outputs(ids.data(), static_cast<int>(ids.size()));
  std::vector<std::string> given(s->inputs.size());
  for (std::size_t k = 0; k < s->inputs.size(); ++k) {
    extend::symbol const t = s->inputs[k];
    if (options.inputs.size() <= k) options.inputs.push_back(dd::name_in(s->b, t));
    for (dd::held_constant const& c : s->constants)
      if (c.id == t) given[k] = dd::cpp_elements(c, s->b.tensor(t).type);
  }
  detail::built const simple = detail::run_passes(
      ready, detail::pipeline_options<>{.in_order = false, .extra = low.extra.data(), .extra_count = low.extra.size()}, detail::pipeline{});
  if (simple.failed.why != nullptr) dd::raise(s->b, simple.failed, simple.failed.node == extend::none ? r : dd::request{});
  out << detail::cpp_program(simple.g, options, given).text();
}

} // namespace cotangent

#endif
COTANGENT_HEADER_END

#endif
