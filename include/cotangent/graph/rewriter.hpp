// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_GRAPH_REWRITER_HPP
#define COTANGENT_GRAPH_REWRITER_HPP

#include <cotangent/graph/builder.hpp>

#include <cstdint>

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// Copies a graph with changes. Extents, names and blocks are copied unchanged; symbols, shapes and sub-graphs are mapped from
/// the source to the copy. A pass decides which nodes it copies, in which order, and which other nodes it emits.
///
/// A symbol is copied on first use, with its base and its window. `graph::add` and `builder::assign` set its producer. A pass
/// that emits another value for a symbol writes it to `now`.
class rewriter {
  graph_view from_;
  graph& to_;
  bool within_ = false; // source and copy are one graph, so its pools may move
  array<symbol> numbering_;
  array<std::int32_t> shape_numbers_;

public:
  symbol* now = nullptr;                // by symbol: 1 + its copy, 0 while it has none; also for absent operands
  std::int32_t const* shapes = nullptr; // by shape: its copy; null where shapes keep their numbers
  array<std::int32_t> regions;          // by sub-graph: its copy

  /// Into an empty graph, in which shapes keep their numbers.
  constexpr rewriter(graph_view const& from, graph& to) : from_(from), to_(to) {
    for (std::int32_t k = 0; k < from.shape_count; ++k) to.shapes.push(from.shapes[k]);
    begin();
  }
  /// Into an empty builder, which finds equal shapes.
  constexpr rewriter(graph_view const& from, builder& to)
      : from_(from), to_(to.edit()), shape_numbers_(from.shape_count), shapes(shape_numbers_.data()) {
    begin();
    for (std::int32_t k = 0; k < from.shape_count; ++k) shape_numbers_[k] = to.shape(from.shapes[k]);
  }
  /// From a graph into itself.
  constexpr explicit rewriter(graph& g) : from_(g), to_(g), within_(true) { forget(); }
  constexpr rewriter(rewriter const&) = delete;

  /// Symbols have no copies from here on.
  constexpr void forget() {
    numbering_.assign((within_ ? to_.tensors.size() : from_.tensor_count) + 1, 0);
    now = numbering_.data() + 1;
  }
  /// The copy of a symbol; none for an absent operand.
  constexpr symbol operator()(symbol old) {
    if (now[old] != 0 || old == none) return now[old] - 1;
    symbol const base = source().tensors[old].base;
    symbol const made = declare(old, (*this)(base), regions[source().tensors[old].region]);
    now[old] = made + 1;
    return made;
  }
  /// A copy of the symbol `old` with this base, in this sub-graph. `now` does not change.
  constexpr symbol declare(symbol old, symbol base, std::int32_t region) {
    tensor_symbol t = source().tensors[old];
    if (base != none) {
      std::int32_t const window = to_.numbers.size();
      for (int k = 0; k <= source().shape(old).rank; ++k) to_.numbers.push(source().numbers[t.window + k]);
      t.window = window;
    }
    t.base = base;
    t.producer = none;
    t.region = region;
    if (shapes != nullptr) t.shape = shapes[t.shape];
    return to_.tensors.push(t);
  }

  // ---- lists of symbols

  constexpr array<symbol> copied(symbol const* old, int count) {
    array<symbol> all(count);
    for (int k = 0; k < count; ++k) all[k] = (*this)(old[k]);
    return all;
  }
  constexpr array<symbol> operands(node const& n) { return copied(from_.ids + n.first, n.operand_count); }
  constexpr array<symbol> results(node const& n) {
    return copied(from_.ids + n.first + n.operand_count, n.result_count);
  }

  // ---- sub-graphs that keep their numbers

  /// Copies all of them, with their inputs.
  constexpr void begin_regions() {
    to_.regions.clear();
    for (std::int32_t r = 0; r < from_.region_count; ++r) regions.push(to_.regions.push(from_.regions[r]));
    for (std::int32_t r = 0; r < from_.region_count; ++r) name_inputs(r);
  }
  /// Their outputs, after all nodes.
  constexpr void end_regions() {
    for (std::int32_t r = 0; r < from_.region_count; ++r) name_outputs(r);
  }
  /// The copy of node `i` runs the sub-graphs that `i` runs.
  constexpr void set_owner(std::int32_t i, std::int32_t copy) {
    for (std::int32_t r = 1; r < from_.region_count; ++r)
      if (from_.regions[r].owner == i && regions[r] != none) to_.regions[regions[r]].owner = copy;
  }
  constexpr void name_inputs(std::int32_t r) {
    array<symbol> const s = copied(from_.ids + from_.regions[r].first_input, from_.input_count(r));
    to_.set_inputs(s.data(), s.size(), regions[r]);
  }
  constexpr void name_outputs(std::int32_t r) {
    array<symbol> const s = copied(from_.ids + from_.regions[r].first_output, from_.output_count(r));
    to_.set_outputs(s.data(), s.size(), regions[r]);
  }

private:
  constexpr graph_view source() const { return within_ ? graph_view(to_) : from_; }
  constexpr void begin() {
    forget();
    for (std::int32_t k = 0; k < from_.extent_count; ++k) to_.extents.push(from_.extents[k]);
    for (std::int32_t k = 0; k < from_.name_count; ++k) to_.names.push(from_.names[k]);
    for (std::int32_t k = 0; k < from_.block_count; ++k) to_.blocks.push(from_.blocks[k]);
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
