// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_GRAPH_VERIFY_SHAPES_HPP
#define COTANGENT_GRAPH_VERIFY_SHAPES_HPP

#include <cotangent/graph/builder.hpp>

#include <cstdint>

COTANGENT_COLD_BEGIN
namespace cotangent {

/// The defect of a graph, in words, and its location; true if there is none.
struct verification {
  char const* text = nullptr;
  std::int32_t node = extend::none;
  extend::symbol tensor = extend::none;
  std::int32_t region = extend::none;
  std::int32_t other = extend::none; // a second node

  constexpr explicit operator bool() const noexcept { return text == nullptr; }
};

namespace detail {

/// Checks one node's element type and shape against its operation. The graph's pools are valid already.
class shape_check {
  graph_view const& g_;
  builder& b_; // has the same shapes
  node const& n_;
  symbol const y_;
  dimensions const to_;

public:
  constexpr shape_check(graph_view const& g, builder& b, node const& n)
      : g_(g), b_(b), n_(n), y_(g.result(n)), to_(g.shape(y_)) {}

  /// The defect in words, or null.
  constexpr char const* run() const {
    switch (n_.op->kind) {
    case operation_kind::constant:
      return attributes(1) ? nullptr : "a constant needs one attribute, its bits";
    case operation_kind::iota:
      if (!attributes(1)) return "iota needs one attribute, its axis";
      return to_.rank == 1 && g_.attribute(n_) == 0 ? nullptr
                                                    : "an iota counts along the only axis of its shape";
    case operation_kind::size: return size();
    case operation_kind::broadcast: return same_type() ? broadcast() : "a broadcast changes the element type";
    case operation_kind::reshape:
      if (!same_type()) return "a reshape changes the element type";
      return b_.count(from(0)) == b_.count(to_) ? nullptr : "a reshape changes the number of elements";
    case operation_kind::slice:
      if (!same_type()) return "a slice changes the element type";
      return window(to_, from(0), "a slice reaches outside of its operand");
    case operation_kind::pad:
      if (!same_type()) return "a pad changes the element type";
      return window(from(0), to_, "a pad puts elements outside of its result");
    case operation_kind::scatter_add:
      return scatter();
    case operation_kind::input:
    case operation_kind::control: return nullptr;
    case operation_kind::elementwise:
      for (int k = 0; k < n_.operand_count; ++k)
        if (g_.tensors[g_.operand(n_, k)].shape != g_.tensors[y_].shape)
          return "the operands of an elementwise operation must have the shape of its result";
      break;
    case operation_kind::reduction:
    case operation_kind::arg_reduction:
      if (!attributes(1)) return "a reduction needs one attribute, its axes";
      break;
    case operation_kind::concatenate:
      if (!attributes(1)) return "a concatenation needs one attribute, its axis";
      break;
    case operation_kind::matmul:
      if (!attributes(2)) return "a matmul needs two attributes, which operands are transposed";
      break;
    case operation_kind::whole:
    case operation_kind::gather:
    case operation_kind::permute:
    case operation_kind::identity: break;
    }
    return inferred();
  }

private:
  constexpr dimensions const& from(int k) const noexcept { return g_.shape(g_.operand(n_, k)); }
  constexpr bool attributes(int count) const noexcept { return n_.attribute_count == count; }
  constexpr bool axis(std::int32_t at, int rank) const noexcept {
    return g_.numbers[at] >= 0 && g_.numbers[at] < rank;
  }
  constexpr bool same_type() const noexcept {
    return g_.tensors[g_.operand(n_, 0)].type == g_.tensors[y_].type;
  }

  constexpr char const* inferred() const {
    if (n_.op->infer == nullptr) return nullptr;
    array<std::int64_t> padded(
        n_.attribute_count < 1 ? 1 : n_.attribute_count); // a rule may read an attribute that is missing
    for (int k = 0; k < n_.attribute_count; ++k) padded[k] = g_.attribute(n_, k);
    array<symbol> operands(n_.operand_count);
    for (int k = 0; k < n_.operand_count; ++k) operands[k] = g_.operand(n_, k);
    inference rule{b_, operands.data(), n_.operand_count, padded.data(), n_.attribute_count};
    n_.op->infer(rule);
    if (b_.failed().why != nullptr) return b_.failed().why->text;
    if (rule.type != g_.tensors[y_].type)
      return "a result has another element type than its operation gives it";
    if (rule.shape != g_.tensors[y_].shape) return "a result has another shape than its operation gives it";
    return nullptr;
  }

  constexpr char const* size() const {
    if (n_.attribute_count < 1) return "a size needs the dimensions to multiply";
    for (int k = 0; k < n_.attribute_count; ++k)
      if (g_.attribute(n_, k) < -g_.extent_count)
        return "a size multiplies a dimension that is not in the graph";
    return nullptr;
  }

  constexpr char const* broadcast() const {
    dimensions const& d = from(0);
    if (!attributes(d.rank)) return "a broadcast needs a result axis for each operand axis";
    std::uint32_t seen = 0;
    for (int k = 0; k < d.rank; ++k) {
      if (!axis(n_.attribute + k, to_.rank)) return "a broadcast names an axis that its result does not have";
      std::int64_t const at = g_.attribute(n_, k);
      if ((seen >> at & 1u) != 0) return "a broadcast names an axis twice";
      seen |= 1u << at;
      if (d.size[k] != to_.size[at] && d.size[k] != 1)
        return "a broadcast repeats an axis that is not of size 1";
    }
    return nullptr;
  }

  /// Checks the window of `small` in `large`.
  constexpr char const* window(dimensions const& small, dimensions const& large, char const* outside) const {
    if (small.rank != large.rank) return "a window changes the number of axes";
    if (!attributes(2 * small.rank)) return "a window needs a start and a step for each axis";
    for (int k = 0; k < small.rank; ++k) {
      std::int64_t const start = g_.attribute(n_, 2 * k), step = g_.attribute(n_, 2 * k + 1);
      if (step == 0) return "a window has a step of 0";
      if (start < -g_.extent_count) return "a window starts at a dimension that is not in the graph";
      if (small.size[k] <= 0 || large.size[k] < 0 || start < 0)
        continue; // empty, or known at run time
      std::int64_t reach = 0, last = 0;
      if (start >= large.size[k] || __builtin_mul_overflow(small.size[k] - 1, step, &reach) ||
          __builtin_add_overflow(start, reach, &last) || last < 0 || last >= large.size[k])
        return outside;
    }
    return nullptr;
  }

  constexpr char const* scatter() const {
    int const last = n_.operand_count - 1;
    for (int k = 0; k < last; k += 2)
      if (char const* const text = scatter(k); text != nullptr) return text;
    if (last % 2 == 0 && (last == 0 || !(from(last) == to_) || type(last) != g_.tensors[y_].type))
      return "rows are added to a tensor of another type than the result";
    return nullptr;
  }
  constexpr element type(int k) const { return g_.tensors[g_.operand(n_, k)].type; }
  /// Checks two operands of a scatter_add.
  constexpr char const* scatter(int first) const {
    dimensions const &rows = from(first), &places = from(first + 1);
    element const e = type(first + 1);
    if (type(first) != g_.tensors[y_].type) return "a scatter_add changes the element type";
    if (e != element::int32 && e != element::int64) return "the places of a scatter_add must be integers";
    if (to_.rank < 1 || rows.rank != places.rank + to_.rank - 1)
      return "the rows of a scatter_add do not fit its places";
    for (int k = 0; k < rows.rank; ++k)
      if (rows.size[k] != (k < places.rank ? places.size[k] : to_.size[k - places.rank + 1]))
        return "the rows of a scatter_add do not fit its places";
    return nullptr;
  }
};

/// Checks element types and shapes of all results.
constexpr verification verify_shapes(graph_view const& g) {
  builder b(g);
  if (b.get().shapes.size() != g.shape_count) return {"two shapes of the graph are equal"};
  for (std::int32_t i = 0; i < g.node_count; ++i)
    if (g.nodes[i].op->kind != operation_kind::control)
      if (char const* const text = shape_check(g, b, g.nodes[i]).run(); text != nullptr)
        return {text, i, g.result(g.nodes[i])};
  return {};
}

} // namespace detail
} // namespace cotangent
COTANGENT_COLD_END

#endif
