// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_PARTS_HPP
#define COTANGENT_TRANSFORM_PARTS_HPP

#include <cotangent/transform/prune.hpp>
#include <cotangent/transform/saving.hpp>

#include <cstdint>

namespace cotangent {
namespace detail {

/// A graph with other inputs and outputs, and other operands, in pools of its own.
struct regraphed {
  array<std::int32_t> ids;
  array<tensor_symbol> tensors;
  array<std::int64_t> numbers;
  array<region> regions;
  graph_view g;

  constexpr explicit regraphed(graph_view const& from) : g(from) {
    for (std::int32_t k = 0; k < from.id_count; ++k) ids.push(from.ids[k]);
    for (std::int32_t k = 0; k < from.region_count; ++k) regions.push(from.regions[k]);
  }
  constexpr void own_tensors() {
    for (std::int32_t k = 0; k < g.tensor_count; ++k) tensors.push(g.tensors[k]);
    for (std::int32_t k = 0; k < g.number_count; ++k) numbers.push(g.numbers[k]);
  }
  constexpr void name(array<symbol> const& inputs, array<symbol> const& outputs) {
    regions[0].first_input = ids.size();
    regions[0].input_count = inputs.size();
    for (symbol const t : inputs) ids.push(t);
    regions[0].first_output = ids.size();
    regions[0].output_count = outputs.size();
    for (symbol const t : outputs) ids.push(t);
  }
  constexpr graph_view const& view() {
    g.ids = ids.data();
    g.id_count = ids.size();
    g.regions = regions.data();
    if (tensors.size() != 0) {
      g.tensors = tensors.data();
      g.tensor_count = tensors.size();
      g.numbers = numbers.data();
      g.number_count = numbers.size();
    }
    return g;
  }
};

} // namespace detail

/// The function with what it saves: from the inputs and what is shared to the outputs and the saved values.
constexpr graph forward_part(joint_graph const& j, array<saved_value> const& saved) {
  detail::regraphed made(j.g);
  array<symbol> inputs, outputs;
  for (int k = 0; k < j.g.input_count(); ++k)
    if (k < j.inputs || k >= j.inputs + j.cotangents) inputs.push(j.g.input(k));
  for (int k = 0; k < j.outputs; ++k) outputs.push(j.g.output(k));
  for (saved_value const& v : saved) outputs.push(v.of);
  made.name(inputs, outputs);
  return prune(made.view());
}

/// Its gradient: from the saved values, the cotangents and what is shared to the gradients.
constexpr graph backward_part(joint_graph const& j, array<saved_value> const& saved) {
  graph_view const& g = j.g;
  detail::regraphed made(g);
  made.own_tensors();
  array<symbol> now(g.tensor_count, none), inputs, outputs;
  for (saved_value const& v : saved) {
    tensor_symbol t = g.tensors[v.of];
    t.producer = none;
    inputs.push(now[v.of] = made.tensors.push(t));
  }
  auto const read = [&](symbol t) { // a view of what was saved is a view of what comes in
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
  made.name(inputs, outputs);
  return prune(made.view());
}

/// Which inputs, outputs and cotangents the gradient of a function needs, by position, and how many values besides.
struct gradient_needs {
  array<bool> inputs, outputs, cotangents;
  int others = 0;
};
/// The same for what was saved by some choice.
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

} // namespace cotangent

#endif
