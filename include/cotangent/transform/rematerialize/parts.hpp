// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_REMATERIALIZE_PARTS_HPP
#define COTANGENT_TRANSFORM_REMATERIALIZE_PARTS_HPP

#include <cotangent/transform/rematerialize/saving.hpp>
#include <cotangent/transform/simplify/prune.hpp>

#include <cstdint>

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// The function with its saved values: from the inputs and shared values to the outputs and the saved values.
constexpr graph forward_part(joint_graph const& j, array<saved_value> const& saved) {
  graph made(j.g);
  array<symbol> inputs, outputs;
  for (int k = 0; k < j.g.input_count(); ++k)
    if (k < j.inputs || k >= j.inputs + j.cotangents) inputs.push(j.g.input(k));
  for (int k = 0; k < j.outputs; ++k) outputs.push(j.g.output(k));
  for (saved_value const& v : saved) outputs.push(v.of);
  made.set_inputs(inputs.data(), inputs.size());
  made.set_outputs(outputs.data(), outputs.size());
  return prune(made);
}

/// Its gradient: from the saved values, the cotangents and shared values to the gradients.
constexpr graph backward_part(joint_graph const& j, array<saved_value> const& saved) {
  graph_view const& g = j.g;
  graph made(g);
  array<symbol> now(g.tensor_count, none), inputs, outputs;
  for (saved_value const& v : saved) {
    tensor_symbol t = g.tensors[v.of];
    t.producer = none;
    inputs.push(now[v.of] = made.tensors.push(t));
  }
  auto const read = [&](symbol t) { // a view of a saved value is a view of the input
    if (t == none) return t;
    symbol const base = g.tensors[t].base;
    if (now[t] == none && base != none && now[base] != none) {
      tensor_symbol v = g.tensors[t];
      v.producer = none;
      v.base = now[base];
      now[t] = made.tensors.push(v);
    }
    return now[t] == none ? t : now[t];
  };
  for (std::int32_t i = 0; i < g.node_count; ++i)
    if (node const& n = g.nodes[i]; n.region == 0)
      for (int k = 0; k < n.operand_count; ++k) made.ids[n.first + k] = read(g.operand(n, k));
  for (int k = j.inputs; k < g.input_count(); ++k) inputs.push(g.input(k));
  for (int k = j.outputs; k < g.output_count(); ++k) outputs.push(read(g.output(k)));
  made.set_inputs(inputs.data(), inputs.size());
  made.set_outputs(outputs.data(), outputs.size());
  return prune(made);
}

/// The inputs, outputs and cotangents that a function's gradient needs, by position, and the number of other
/// values.
struct gradient_needs {
  array<bool> inputs, outputs, cotangents;
  int others = 0;
};
/// The needs for a given choice of saved values.
constexpr gradient_needs needs_of(joint_graph const& j, array<saved_value> const& saved) {
  gradient_needs n{array<bool>(j.inputs), array<bool>(j.outputs), array<bool>(j.cotangents), 0};
  for (saved_value const& v : saved)
    if (v.input >= 0) n.inputs[v.input] = true;
    else if (v.output >= 0) n.outputs[v.output] = true;
    else ++n.others;
  graph const back = backward_part(j, saved);
  detail::liveness const live(back);
  graph_view const g = back;
  for (int k = 0; k < j.cotangents; ++k) n.cotangents[k] = live[g.input(saved.size() + k)];
  return n;
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
