// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_SYMBOLIC_COMPILING_HPP
#define COTANGENT_DYNAMIC_SYMBOLIC_COMPILING_HPP

#include <cotangent/dynamic/expressions/options.hpp>
#include <cotangent/dynamic/program/program.hpp>
#include <cotangent/dynamic/symbolic/lower.hpp>

#include <cotangent/graph/window_index.hpp>
#include <cotangent/transform/differentiate/escaped_value.hpp>
#include <cotangent/transform/differentiate/record_bytes.hpp>
#include <cotangent/transform/pipeline.hpp>
#include <cotangent/transform/rematerialize/mirror.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

// From a graph that was built to a program.

COTANGENT_COLD_BEGIN
namespace cotangent::dynamic::inline COTANGENT_ABI::detail {

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
  code.outputs.push_back(port_of(s.b, to)); // in its input's memory: no result of its own
  code.outputs.back().partner = at->second;
}

/// The program owns inputs and results that are not bound, and that are no constants, states or updated inputs.
inline void own_memory(compiled_code const& code, std::vector<binding> const& binds, interpreter_memory& to) {
  for (port const& p : code.inputs) to.own_inputs.push(p.constant < 0 && !p.state && p.partner < 0);
  for (port const& p : code.outputs) to.own_outputs.push(p.partner < 0);
  for (binding const& bound : binds) {
    symbol const t = bound.what.id();
    if (int const in = code.input_to_bind(t); in >= 0) to.own_inputs[in] = false;
    else if (auto const out = code.output_of.find(t); out != code.output_of.end()) {
      int k = out->second;
      while (k >= 0 && !to.own_outputs[k]) k = code.outputs[static_cast<std::size_t>(k)].next;
      if (k >= 0) to.own_outputs[k] = false;
    }
  }
}

/// Every symbol that the graph computes, views included. (Values of one row, or of a derivative's rule, have no value of their own.)
inline std::vector<symbol> all_computed(graph_state const& s, std::unordered_map<symbol, int> const& input_of) {
  std::vector<symbol> found;
  array<bool> const of_placeholders = values_of_placeholders(s.b.get());
  for (symbol t = 0; t < s.b.get().tensors.size(); ++t) {
    tensor_symbol const& x = s.b.tensor(t);
    if (x.region != 0 || of_placeholders[t] || x.depth != 0 || look(s, t).dead || input_of.count(t) != 0) continue;
    symbol const root = root_of(s, t);
    if (is_written(s, root) || s.is_piecewise(root) || input_of.count(root) != 0) found.push_back(t);
  }
  return found;
}

/// A graph whose program takes at most `budget` bytes, and in `memory` the tiles that it needs for that. Shorter tiles cost
/// less than recomputation, so they are tried first.
template <class BytesOf>
budgeted_graph within_memory_budget(graph_view const& g, std::int64_t budget, bool (*may)(node const&),
                         interpreter_memory& memory, BytesOf const& bytes_of) {
  std::int64_t const usual = memory.tile_bytes;
  for (int halvings = 0; halvings < 5; ++halvings) {
    memory.tile_bytes = usual >> halvings;
    if (bytes_of(g) <= budget) break;
    if (halvings == 4) memory.tile_bytes = usual;
  }
  budgeted_graph fitted = within_budget(g, budget, bytes_of, may);
  if (fitted.fits) return fitted;
  memory.tile_bytes = 1; // the shortest
  return within_budget(g, budget, bytes_of, may);
}

/// The program that computes the wanted expressions, with its bindings.
template <class P>
P compiled_as(graph_state const& built, lowering const& wanted, std::vector<binding> const& binds,
              compile_options const& options, request const& r) {
  if (!built.frames.empty()) raise<refusals::dynamic_in_body>(built.b, r);
  lowering asked = wanted;
  asked.all = asked.all || options.keep_all;
  std::unique_ptr<graph_state> copy;
  lowered low;
  if (built.symbolic.used) {
    copy = std::make_unique<graph_state>(built);
    low = lower(*copy, asked, r);
  } else
    for (symbol const t : asked.bound) { // a view of an input may have memory of its own
      if (!is_given_part(copy == nullptr ? built : *copy, t, asked.bound)) continue;
      if (copy == nullptr) copy = std::make_unique<graph_state>(built);
      give_part(*copy, t, asked.bound, low, r);
    }
  graph_state const& s = copy == nullptr ? built : *copy;
  auto code = std::make_shared<compiled_code>();
  code->graph = built.identity;
  std::vector<symbol> ids;
  std::unordered_map<symbol, int> unbound; // how many of a result's places nothing is bound to
  auto const add = [&](symbol t) {
    ids.push_back(t);
    code->add_output(port_of(s.b, t));
    ++unbound[t];
  };
  for (symbol const t : asked.outputs) add(t);
  for (symbol const t : s.inputs) {
    code->input_of.emplace(t, static_cast<int>(code->inputs.size()));
    code->inputs.push_back(port_of(s.b, t));
  }
  for (auto const& [t, in] : low.stands_for) code->input_of.emplace(t, code->input_of.at(in));
  for (std::size_t k = 0; k < s.constants.size(); ++k)
    code->inputs[static_cast<std::size_t>(code->input_of.at(s.constants[k].id))].constant =
        static_cast<std::int32_t>(k);
  code->constants = s.constants;
  for (symbol const t : s.states) code->inputs[static_cast<std::size_t>(code->input_of.at(t))].state = true;
  std::vector<bool> given(code->inputs.size());
  for (std::size_t k = 0; k < asked.bound.size(); ++k) {
    symbol const t = asked.bound[k];
    if (int const in = code->input_to_bind(t); in >= 0) {
      if (given[static_cast<std::size_t>(in)])
        raise_graph<refusals::bind_twice>(s.b, {r.name, r.name_length, &t, 1, binds[k].where});
      given[static_cast<std::size_t>(in)] = true;
      continue;
    }
    if (unbound[t] == 0) add(t);
    --unbound[t];
  }
  if (options.keep_all)
    for (symbol const t : all_computed(s, code->input_of))
      if (code->output_of.find(t) == code->output_of.end()) add(t);
  for (auto const& [of, to] : asked.updates) add_update(s, of, to, *code, ids, r);
  for (symbol const t : ids)
    if (s.b.tensor(t).region != 0) raise<refusals::dynamic_left_body>(s.b, r);

  check_writers(s, r);
  cotangent::graph ready = s.b.get();
  ready.set_inputs(s.inputs.data(), static_cast<int>(s.inputs.size()));
  ready.set_outputs(ids.data(), static_cast<int>(ids.size()));
  interpreter_memory memory{true, {}, {}, {}, false};
  if (options.own_memory) own_memory(*code, binds, memory);
  for (port const& y : code->outputs) memory.updates.push(y.partner);
  auto const bytes_of = [&](graph_view const& g) {
    return interpreter(s.kernels, g, memory).workspace_bytes();
  };
  std::int64_t recorded = -1;
  auto const limited = [&](graph_view const& g) -> cotangent::detail::built {
    recorded = record_bytes(g).bytes;
    budgeted_graph fitted =
        options.memory_budget != 0
            ? within_memory_budget(g, options.memory_budget - recorded, options.mirror, memory, bytes_of)
            : mirrored(g, options.mirror, bytes_of);
    code->predicted = fitted.predicted;
    if (!fitted.fits)
      return {{}, {why<refusals::budget_too_small>(), extent::of(options.memory_budget),
                   extent::of(fitted.predicted.bytes + recorded), none, r.where}};
    if (fitted.changed) return {static_cast<cotangent::graph&&>(fitted.made), {}};
    return {cotangent::graph(g), {}};
  };
  pipeline_options<decltype(bytes_of), memory_limit<decltype(limited)>> passes{
      .simplify = simplify_options::of_interpreter(ready, options.exact),
      .recompute = recomputation::to_lower_peak,
      .measure = bytes_of,
      .budget = {options.mirror != nullptr, limited},
      .in_order = false,
      .extra = low.extra.data(),
      .extra_count = low.extra.size()};
  cotangent::detail::built simple = run_passes(ready, passes, pipeline{});
  if (options.memory_budget != 0 && !passes.budget.limits && simple.failed.why == nullptr) {
    recorded = record_bytes(simple.g).bytes;
    passes.budget.limits = bytes_of(simple.g) > options.memory_budget - recorded; // a limit changes rewrites
    simple = passes.budget.limits ? run_passes(ready, passes, pipeline{}) : limited(simple.g);
  }
  if (simple.failed.why != nullptr) raise(s.b, simple.failed, simple.failed.node == none ? r : request{});
  if (recorded < 0) recorded = record_bytes(simple.g).bytes;
  code->code = interpreter(s.kernels, simple.g, memory);
  code->predicted.bytes = code->code.workspace_bytes();
  code->predicted.tape = recorded;
  if (code->code.failed().why != nullptr) raise(s.b, code->code.failed(), r);
  for (int k = 0; k < code->code.input_count(); ++k)
    code->inputs[static_cast<std::size_t>(k)].read = code->code.reads_input(k);
  P p(code);
  for (binding const& one : binds) p.bind_memory(one.what, one.memory, false, one.where);
  return p;
}

} // namespace cotangent::dynamic::detail

#ifdef COTANGENT_SEPARATE
namespace cotangent::dynamic::inline COTANGENT_ABI::detail {
extern template program compiled_as<program>(graph_state const&, lowering const&, std::vector<binding> const&,
                                             compile_options const&, request const&);
} // namespace cotangent::dynamic::detail
#endif
COTANGENT_COLD_END

#endif
