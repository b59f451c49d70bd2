// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_EAGER_PREPARE_HPP
#define COTANGENT_DYNAMIC_EAGER_PREPARE_HPP

#include <cotangent/dynamic/eager/state.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// Finds the prepared form of an operation, or creates it.

namespace cotangent::dynamic::inline COTANGENT_ABI::detail {

/// An operand: a value, or a number that is not a tensor.
struct eager_operand {
  held const* value = nullptr;
  std::string const* name = nullptr;
  std::int64_t bits = 0;
  std::int32_t shape = 0;
  element type = element::float64;
  bool constant = false; // part of the operation
};

/// Prepares an operation. `build(b, x, y)` appends it to a builder: its operands are x, and it adds its
/// results to y. Throws its refusals. Prepares nothing if `known(graph)` is true.
template <class Build, class Known>
std::unique_ptr<eager_code> new_code(eager_state& s, eager_operand const* x, int n, request r,
                                     Build const& build, Known const& known) {
  auto c = std::make_unique<eager_code>();
  builder b;
  b.place = r.where;
  std::vector<symbol> inputs, results;
  for (int k = 0; k < n; ++k) {
    inputs.push_back(b.symbol_of(x[k].type, b.shape(s.dims(x[k].shape))));
    c->operands.push_back(s.type_of(x[k].type, x[k].shape));
  }
  auto const check = [&](failure const& f) {
    if (f.why == nullptr) return;
    for (int k = 0; k < n; ++k)
      if (x[k].name != nullptr)
        b.edit().tensors[inputs[static_cast<std::size_t>(k)]].name =
            b.edit().add_name(x[k].name->data(), static_cast<int>(x[k].name->size()));
    r.operands = inputs.data();
    r.operand_count = n;
    raise(b, f, r);
  };
  build(b, inputs.data(), results);
  check(b.failed());
  b.set_inputs(inputs.data(), n);
  b.set_outputs(results.data(), static_cast<int>(results.size()));
  for (symbol const y : results) c->results.push_back(s.type_of(b.tensor(y).type, s.shape_id(b.dims(y))));
  c->g = b.get();
  if (known(c->g)) return nullptr;
  check(prepare(*c, s.kernels));
  return c;
}

/// The prepared operation of this key; `build` creates it if it is missing.
template <class Build>
eager_code& code_for(eager_state& s, eager_key const& key, eager_operand const* x, int n, request const& r,
                     Build const& build) {
  std::uint64_t const hash = key.hash();
  if (eager_code* const c = s.find(key, hash)) return *c;
  std::unique_ptr<eager_code> made =
      new_code(s, x, n, r, build, [](cotangent::graph const&) { return false; });
  s.make_room();
  s.codes.push_back(std::move(made));
  s.add(key, hash, s.codes.back().get());
  return *s.codes.back();
}

/// A graph as numbers: equal for graphs that were built alike.
inline std::vector<std::int64_t> words_of_graph(cotangent::graph const& g) {
  std::vector<std::int64_t> words;
  graph_view const v = g;
  auto const put_type = [&](symbol t) {
    words.push_back(static_cast<std::int64_t>(v.tensors[t].type));
    words.push_back(v.shape(t).rank);
    for (int k = 0; k < v.shape(t).rank; ++k) words.push_back(v.shape(t).size[k]);
    words.push_back(v.tensors[t].base);
    if (v.tensors[t].base != none)
      for (int k = 0; k <= v.shape(t).rank; ++k) words.push_back(v.numbers[v.tensors[t].window + k]);
  };
  for (int k = 0; k < v.input_count(); ++k) put_type(v.input(k));
  for (int k = 0; k < v.output_count(); ++k) words.push_back(v.output(k));
  for (std::int32_t t = 0; t < v.tensor_count; ++t) put_type(t);
  for (std::int32_t i = 0; i < v.node_count; ++i) {
    node const& n = v.nodes[i];
    words.push_back(static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(n.op)));
    words.push_back(n.operand_count);
    words.push_back(n.result_count);
    words.push_back(n.region);
    for (int k = 0; k < n.operand_count + n.result_count; ++k) words.push_back(v.ids[n.first + k]);
    for (int k = 0; k < n.attribute_count; ++k) words.push_back(v.attribute(n, k));
  }
  return words;
}

/// For a function of unknown state: it is built at every call, and found by the graph that it builds.
template <class Build>
eager_code& code_by_content(eager_state& s, eager_operand const* x, int n, request const& r,
                            Build const& build) {
  std::vector<std::int64_t> words;
  auto at = s.described.end();
  std::unique_ptr<eager_code> made = new_code(s, x, n, r, build, [&](cotangent::graph const& g) {
    words = words_of_graph(g);
    at = s.described.find(words);
    return at != s.described.end();
  });
  if (made == nullptr) return *at->second;
  s.make_room();
  s.codes.push_back(std::move(made));
  s.described.emplace(std::move(words), s.codes.back().get());
  return *s.codes.back();
}

} // namespace cotangent::dynamic::detail

#endif
