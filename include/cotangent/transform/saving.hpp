// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_SAVING_HPP
#define COTANGENT_TRANSFORM_SAVING_HPP

#include <cotangent/ops/control.hpp>
#include <cotangent/ops/ops.hpp>
#include <cotangent/transform/least_cut.hpp>

#include <cstdint>

// What a function leaves behind for its gradient: chosen so that it takes the fewest bytes.

namespace cotangent {

/// A graph that computes a function and its gradient. Its inputs are those of the function, then the cotangents, then
/// what both parts have without saving it; its outputs those of the function, then the gradients.
struct joint_graph {
  graph_view g;
  int inputs = 0, cotangents = 0, outputs = 0;
};

struct saving_options {
  bool move = true;      // false: nothing is computed ahead for the gradient's sake
  bool recompute = true; // false: nothing that the function computes is computed again
};

/// One value that is handed from the function to its gradient.
struct saved_value {
  symbol of = none;         // of the joint graph
  std::int32_t input = -1;  // of the function that it is, by position
  std::int32_t output = -1; // of the function that it is
  bool moved = false;       // only the gradient needs it, but it is smaller than what it is made of
  unsigned char bits = 0;   // an element takes: 1 for masks, 8, 16 or 32 for integers of a known range

  /// The bytes of so many elements.
  constexpr std::int64_t bytes(std::int64_t elements) const noexcept { return (elements * bits + 7) / 8; }
};

namespace detail {

/// The largest value that an element of an integer or a mask can have, where it is known and none is negative; else -1.
constexpr std::int64_t largest_value(graph_view const& g, symbol t, int hops = 12) {
  if (g.tensors[t].type == element::boolean) return 1;
  node const* const n = g.producer(t);
  if (is_floating(g.tensors[t].type) || n == nullptr || n->result_count != 1 || hops == 0 ||
      g.tensors[t].base != none)
    return -1;
  auto const of = [&](int k) { return largest_value(g, g.operand(*n, k), hops - 1); };
  auto const of_any = [&](int from) {
    std::int64_t most = 0;
    for (int k = from; k < n->operand_count; ++k) {
      std::int64_t const one = of(k);
      if (one < 0) return one;
      if (one > most) most = one;
    }
    return most;
  };
  switch (n->op->kind) {
  case operation_kind::constant: return g.attribute(*n);
  case operation_kind::iota:
  case operation_kind::arg_reduction: {
    bool const counts = n->op->kind == operation_kind::iota;
    dimension const d = g.shape(counts ? t : g.operand(*n, 0)).size[g.attribute(*n)];
    return d < 0 ? -1 : d == 0 ? 0 : d - 1;
  }
  case operation_kind::broadcast:
  case operation_kind::reshape:
  case operation_kind::permute:
  case operation_kind::slice:
  case operation_kind::pad:
  case operation_kind::gather: return of(0);
  case operation_kind::concatenate: return n->operand_count > 4 ? -1 : of_any(0);
  case operation_kind::elementwise:
    if (n->op == info_of<op::convert>()) return is_floating(g.tensors[g.operand(*n, 0)].type) ? -1 : of(0);
    if (n->op == info_of<op::select>()) return of_any(1);
    if (n->op == info_of<op::max>() || n->op == info_of<op::min>()) return of_any(0);
    return -1;
  default: return -1;
  }
}

/// The bits that an element takes where it is kept.
constexpr int saved_bits(graph_view const& g, symbol t) {
  int const whole = 8 * static_cast<int>(size_of(g.tensors[t].type));
  if (is_floating(g.tensors[t].type)) return whole;
  std::int64_t const most = largest_value(g, t);
  int const enough = most < 0          ? whole
                     : most < 2        ? 1
                     : most < 256      ? 8
                     : most < 65536    ? 16
                     : most >> 31 == 0 ? 32
                                       : whole;
  return enough < whole ? enough : whole;
}

/// Cheap enough to be computed twice, if that saves memory. Random numbers are: they are functions of their key.
constexpr bool is_cheap(operation const* op) noexcept {
  return op->kind != operation_kind::matmul && op->kind != operation_kind::whole &&
         op->kind != operation_kind::control;
}

/// Who computes what, and the network of values in which the least cut is what is saved. Views count as the tensor behind
/// them.
class saving {
  graph_view const& g_;
  joint_graph const& j_;
  saving_options const& o_;
  region_nodes nodes_;
  array<std::int32_t> input_of_; // by symbol: the input of the function that it is, or -1
  array<bool> late_;             // depends on a cotangent
  array<bool> early_;            // the function needs it
  array<bool> live_;             // depends on a cotangent, and a gradient needs it
  array<bool> wanted_;           // does not depend on one, and may be computed for a gradient
  array<bool> read_;             // read there, in any case
  array<bool> fixed_;            // never computed by the gradient's part
  array<bool> free_;             // made from nothing, wherever it is read
  array<std::int32_t> vertex_;
  int vertices_ = 0;

public:
  constexpr saving(joint_graph const& j, saving_options const& o)
      : g_(j.g), j_(j), o_(o), nodes_(j.g), input_of_(j.g.tensor_count, -1), late_(j.g.tensor_count),
        early_(j.g.tensor_count), live_(j.g.tensor_count), wanted_(j.g.tensor_count), read_(j.g.tensor_count),
        fixed_(j.g.tensor_count), free_(j.g.tensor_count), vertex_(j.g.tensor_count, -1) {
    for (int k = 0; k < g_.input_count(); ++k) {
      symbol const x = g_.input(k);
      if (k < j.inputs) {
        input_of_[x] = k;
        early_[x] = fixed_[x] = true;
      } else if (k < j.inputs + j.cotangents) late_[x] = true;
      else free_[x] = true;
    }
    for (int k = 0; k < j.outputs; ++k) early_[root(g_.output(k))] = true;
    find_late();
    find_early();
    find_wanted();
  }

  constexpr array<saved_value> choose() {
    array<saved_value> saved;
    least_cut cut(2 + 2 * vertices_);
    join(cut);
    cut.find();
    for (symbol t = 0; t < g_.tensor_count; ++t) {
      if (vertex_[t] < 0 || !cut.before(entry(t)) || cut.before(entry(t) + 1)) continue;
      saved_value v{t, input_of_[t], -1, !early_[t], static_cast<unsigned char>(saved_bits(g_, t))};
      for (int k = j_.outputs; k-- > 0;)
        if (g_.output(k) == t) v.output = k;
      saved.push(v);
    }
    return saved;
  }

private:
  constexpr symbol root(symbol t) const { return g_.tensors[t].base == none ? t : g_.tensors[t].base; }
  constexpr int entry(symbol t) const { return 2 + 2 * vertex_[t]; }
  template <class Visit> constexpr void operands(node const& n, Visit visit) const {
    for (int k = 0; k < n.operand_count; ++k)
      if (symbol const x = g_.operand(n, k); x != none) visit(root(x));
  }
  template <class Visit> constexpr void results(node const& n, Visit visit) const {
    for (int k = 0; k < n.result_count; ++k) visit(root(g_.result(n, k)));
  }
  constexpr bool any_result(node const& n, array<bool> const& marks) const {
    bool any = false;
    results(n, [&](symbol y) { any = any || marks[y]; });
    return any;
  }

  constexpr void find_late() {
    for (int p = 0; p < nodes_.count(0); ++p) {
      node const& n = g_.nodes[nodes_.at(0, p)];
      bool late = false;
      operands(n, [&](symbol x) { late = late || late_[x]; });
      if (late) results(n, [&](symbol y) { late_[y] = true; });
    }
  }
  constexpr void find_early() {
    for (int p = nodes_.count(0); p-- > 0;) {
      node const& n = g_.nodes[nodes_.at(0, p)];
      if (any_result(n, early_)) operands(n, [&](symbol x) { early_[x] = true; });
    }
  }
  /// From the gradients backward, as far as something may be computed for them.
  constexpr void find_wanted() {
    auto const want = [&](symbol t, bool read) {
      if (late_[t]) return void(live_[t] = true);
      if (free_[t]) return;
      wanted_[t] = true;
      read_[t] = read_[t] || read;
    };
    for (int k = j_.outputs; k < g_.output_count(); ++k) want(root(g_.output(k)), true);
    for (int p = nodes_.count(0); p-- > 0;) {
      node const& n = g_.nodes[nodes_.at(0, p)];
      if (any_result(n, live_)) operands(n, [&](symbol x) { want(x, true); });
      if (!any_result(n, wanted_)) continue;
      if (n.operand_count == 0) {
        results(n, [&](symbol y) { free_[y] = g_.tensors[g_.result(n)].base == none; });
        continue;
      }
      bool replayed = false; // what loops record is not saved: they run again
      results(n, [&](symbol y) { replayed = replayed || (wanted_[y] && g_.tensors[y].depth > 0); });
      if (!replayed && any_result(n, early_) && (!o_.recompute || !is_cheap(n.op)))
        results(n, [&](symbol y) { fixed_[y] = true; });
      else operands(n, [&](symbol x) { want(x, false); });
    }
    for (symbol t = 0; t < g_.tensor_count; ++t)
      if (wanted_[t] && !(free_[t] && g_.producer(t) != nullptr)) vertex_[t] = vertices_++;
  }

  /// Bits, with named extents taken to be 256.
  constexpr std::int64_t size_in_bits(symbol t) const {
    constexpr std::int64_t most = std::int64_t{1} << 43;
    std::int64_t n = saved_bits(g_, t);
    dimensions const& d = g_.shape(t);
    for (int k = 0; k < d.rank; ++k) {
      std::int64_t const size = d.size[k] < 0 ? 256 : d.size[k];
      n = size != 0 && n > most / size ? most : n * size;
    }
    return (n + 7) / 8 * 8;
  }
  constexpr std::int64_t effort(symbol t) const { // of computing it twice, where bytes are equal
    node const* const n = g_.producer(t);
    return n == nullptr ? 2 : 2 + static_cast<std::int64_t>(n->op->cost);
  }

  /// Each value is an arc as wide as its bytes, so that the least cut is what to save. Where bytes are equal, the one with
  /// the least work twice is taken, and of these one that the function computes anyway.
  constexpr void join(least_cut& cut) const {
    std::int64_t efforts = 1, bits = 1;
    for (symbol t = 0; t < g_.tensor_count; ++t)
      if (vertex_[t] >= 0) {
        efforts += early_[t] ? effort(t) : 1;
        bits += size_in_bits(t);
      }
    std::int64_t const scale = efforts < least_cut::endless / 4 / bits ? efforts : 1;
    for (symbol t = 0; t < g_.tensor_count; ++t) {
      if (vertex_[t] < 0) continue;
      bool const stays = g_.tensors[t].depth > 0 || (!early_[t] && !o_.move);
      cut.join(entry(t), entry(t) + 1,
               stays ? least_cut::endless : size_in_bits(t) * scale + (early_[t] || scale == 1 ? 0 : 1));
      if (fixed_[t]) cut.join(0, entry(t), least_cut::endless);
      else if (early_[t] && scale > 1) cut.join(0, entry(t), effort(t));
      if (read_[t]) cut.join(entry(t) + 1, 1, least_cut::endless);
    }
    for (int p = 0; p < nodes_.count(0); ++p) {
      node const& n = g_.nodes[nodes_.at(0, p)];
      results(n, [&](symbol y) {
        if (vertex_[y] < 0 || fixed_[y]) return;
        operands(n, [&](symbol x) {
          if (vertex_[x] >= 0 && x != y) cut.join(entry(x) + 1, entry(y), least_cut::endless);
        });
      });
    }
  }
};

} // namespace detail

/// What of a function's values is saved for its gradient: the fewest bytes from which all that the gradient reads can be
/// had again by cheap operations. What is computed and smaller than what it is made of is saved in its place, masks as
/// bits, integers of a known range as narrow ones. Matrix products, convolutions and loops run once; what a loop records
/// is no value that could be saved, so a loop whose gradient is taken runs again.
///
/// Nodes must stand in an order in which they can run.
/// Cost: linear, and a least cut among what the gradient reads.
/// Checked: tests/runtime/saving.cpp.
constexpr array<saved_value> choose_saved(joint_graph const& j, saving_options const& o = {}) {
  return detail::saving(j, o).choose();
}

} // namespace cotangent

#endif
