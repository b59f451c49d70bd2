// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_COMPILING_HPP
#define COTANGENT_DYNAMIC_COMPILING_HPP

#include <cotangent/dynamic/options.hpp>
#include <cotangent/dynamic/program.hpp>

#include <cotangent/graph/window_index.hpp>

#include <cstdint>
#include <vector>

// What is checked when a graph is compiled.

namespace cotangent::dynamic::detail {

/// No two nodes write one element, also where they were too many to compare as they came.
inline void check_writers(graph_state const& s, request r) {
  builder const& b = s.b;
  for (auto const& [root, writers] : s.written) {
    if (writers.size() <= compared_at_once) continue;
    array<tensor_window> windows;
    for (symbol const t : writers) windows.push(window_of(b.get(), t));
    cotangent::detail::window_index const index(b.dims(root), windows);
    for (int k = 0; k < windows.size(); ++k)
      index.visit(
          index.ask(windows[k]), [](std::int32_t, bool) { return false; },
          [&](std::int32_t other) {
            if (other == k) return;
            symbol const pair[]{writers[static_cast<std::size_t>(k)],
                                writers[static_cast<std::size_t>(other)]};
            r.operands = pair;
            r.operand_count = 2;
            raise<refusals::dynamic_write_twice>(b, r);
          });
  }
}

inline namespace COTANGENT_ABI {

/// A result more, which lies where an input does: `to` is the next value of `of`.
inline void add_update(graph_state const& s, symbol of, symbol to, compiled_code& code,
                       std::vector<symbol>& results, request r) {
  symbol const both[]{of, to};
  r.operands = both;
  r.operand_count = 2;
  auto const at = code.input_of.find(of);
  if (at == code.input_of.end()) raise<refusals::dynamic_update_input>(s.b, r);
  if (s.b.tensor(of).type != s.b.tensor(to).type || s.b.tensor(of).shape != s.b.tensor(to).shape)
    raise<refusals::dynamic_update_type>(s.b, r);
  port& in = code.inputs[static_cast<std::size_t>(at->second)];
  if (in.partner >= 0) raise<refusals::dynamic_update_twice>(s.b, r);
  in.partner = static_cast<std::int32_t>(results.size());
  results.push_back(to);
  code.outputs.push_back(port_of(s.b, to));
  code.outputs.back().partner = at->second;
}

/// Inputs and results that nobody has bound, and that are no constants, states or updated inputs, are the program's own.
inline void own_memory(compiled_code const& code, std::vector<binding> const& binds, interpreter_memory& to) {
  for (port const& p : code.inputs) to.own_inputs.push(p.constant < 0 && !p.state && p.partner < 0);
  for (port const& p : code.outputs) to.own_outputs.push(p.partner < 0);
  for (binding const& bound : binds) {
    symbol const t = bound.what.id();
    if (auto const in = code.input_of.find(t); in != code.input_of.end()) to.own_inputs[in->second] = false;
    if (auto const out = code.output_of.find(t); out != code.output_of.end()) to.own_outputs[out->second] = false;
  }
}

} // namespace COTANGENT_ABI
} // namespace cotangent::dynamic::detail

#endif
