// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_REMATERIALIZE_SAVING_HPP
#define COTANGENT_TRANSFORM_REMATERIALIZE_SAVING_HPP

#include <cotangent/ops/control.hpp>
#include <cotangent/ops/ops.hpp>
#include <cotangent/transform/differentiate/record_bytes.hpp>
#include <cotangent/transform/rematerialize/least_cut.hpp>

#include <cstdint>
#include <type_traits>

// Chooses the values that a function saves for its gradient, in the fewest bytes.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// A graph that computes a function and its gradient. Its inputs are those of the function, then the
/// cotangents, then values that both parts share without saving; its outputs those of the function, then the
/// gradients.
struct joint_graph {
  graph_view g;
  int inputs = 0, cotangents = 0, outputs = 0;
};

struct saving_options {
  bool move = true;          // false: nothing is computed ahead for the gradient
  bool recompute = true;     // false: no value of the function is recomputed
  bool records = true;       // false: records of loops are not saved, so loops with gradients rerun
  bool fewest_bytes = false; // true: small values of functions such as sin are recomputed, too, where that saves bytes
};

/// One value that is passed from the function to its gradient.
struct saved_value {
  symbol of = none;         // of the joint graph
  std::int32_t input = -1;  // the function's input that it is, by position
  std::int32_t output = -1; // the function's output that it is
  bool moved = false;       // only the gradient needs it, but it is smaller than its operands
  unsigned char bits = 0;   // per element: 1 for masks, 8, 16 or 32 for integers of a known range

  /// The bytes of this many elements.
  constexpr std::int64_t bytes(std::int64_t elements) const noexcept { return (elements * bits + 7) / 8; }
};

/// The largest possible element of an integer or a mask, if known and none is negative; else -1.
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

/// The bits of a saved element.
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

/// Cheap enough to be computed twice, if that saves memory. Random numbers are: they are functions of their
/// key.
constexpr bool is_cheap(operation const* op) noexcept {
  return op->kind != operation_kind::matmul && op->kind != operation_kind::whole &&
         op->kind != operation_kind::control;
}

/// The network of values whose least cut is the set of saved values. Views count as their tensor.
class saving {
  enum mark : unsigned char {
    late = 1,    // depends on a cotangent
    early = 2,   // the function needs it
    live = 4,    // late, and a gradient needs it
    wanted = 8,  // not late, and may be computed for a gradient
    read = 16,   // read by the gradient in any case
    fixed = 32,  // never computed by the gradient's part
    shared = 64, // available without saving, or a constant
    laid = 128,  // summed in the order of its memory: a view of a saved value, never a copy
  };
  graph_view const& g_;
  joint_graph const& j_;
  saving_options const& o_;
  region_nodes nodes_;
  array<symbol> roots_; // by symbol, if there are views
  array<unsigned char> marks_;
  array<std::int32_t> vertex_; // by symbol
  array<symbol> of_;           // by vertex
  array<std::int64_t> bits_;   // by vertex

public:
  constexpr saving(joint_graph const& j, saving_options const& o)
      : g_(j.g), j_(j), o_(o), nodes_(j.g), marks_(j.g.tensor_count), vertex_(j.g.tensor_count, -1) {
    bool views = false;
    for (symbol t = 0; t < g_.tensor_count && !views; ++t) views = g_.tensors[t].base != none;
    for (symbol t = 0; t < g_.tensor_count && views; ++t)
      roots_.push(g_.tensors[t].base == none ? t : g_.tensors[t].base);
    for (int k = 0; k < g_.input_count(); ++k)
      marks_[g_.input(k)] = k < j.inputs ? early | fixed : k < j.inputs + j.cotangents ? late : shared;
    symbol const* const outputs = g_.ids + g_.regions[0].first_output;
    put(outputs, j.outputs, early);
    for (int p = 0; p < nodes_.count(0); ++p) {
      node const& n = g_.nodes[nodes_.at(0, p)];
      if ((any(operands(n), n.operand_count) & late) != 0) put(results(n), n.result_count, late);
    }
    want(outputs + j.outputs, g_.output_count() - j.outputs, read);
    for (int p = nodes_.count(0); p-- > 0;) visit(g_.nodes[nodes_.at(0, p)]);
    for (symbol t = 0; t < g_.tensor_count; ++t)
      if ((marks_[t] & wanted) != 0 &&
          !((marks_[t] & shared) != 0 && g_.producer(t) != nullptr)) {
        vertex_[t] = of_.push(t);
        bits_.push(size_in_bits(t));
      }
  }

  /// The number of candidate values.
  constexpr int size() const { return of_.size(); }
  /// The least cut, or a quicker choice.
  constexpr array<saved_value> choose(bool quickly = false) {
    array<saved_value> saved;
    array<bool> chosen;
    if (quickly) chosen = chosen_quickly();
    else chosen = chosen_exactly();
    for (int v = 0; v < of_.size(); ++v)
      if (chosen[v]) saved.push(described(of_[v]));
    return saved;
  }

private:
  constexpr symbol root(symbol t) const { return roots_.size() == 0 ? t : roots_[t]; }
  constexpr symbol const* operands(node const& n) const { return g_.ids + n.first; }
  constexpr symbol const* results(node const& n) const { return g_.ids + n.first + n.operand_count; }
  constexpr unsigned any(symbol const* s, int count) const {
    unsigned marks = 0;
    for (int k = 0; k < count; ++k)
      if (s[k] != none) marks |= marks_[root(s[k])];
    return marks;
  }
  constexpr void put(symbol const* s, int count, mark m) {
    for (int k = 0; k < count; ++k)
      if (s[k] != none) marks_[root(s[k])] |= m;
  }
  constexpr void want(symbol const* s, int count, unsigned m) {
    for (int k = 0; k < count; ++k) {
      if (s[k] == none) continue;
      unsigned char& marks = marks_[root(s[k])];
      if ((marks & late) != 0) marks |= live;
      else if ((marks & shared) == 0) marks = static_cast<unsigned char>(marks | wanted | m);
    }
  }

  /// Backward from the gradients, as far as nodes may be computed for them.
  constexpr void visit(node const& n) {
    unsigned const made = any(results(n), n.result_count);
    int const read_by_it = read_count(n);
    if ((made & early) != 0) put(operands(n), read_by_it, early);
    if ((made & live) != 0) want(operands(n), read_by_it, read);
    if ((made & (live | wanted)) != 0 && n.op->kind == operation_kind::reduction)
      put(operands(n), read_by_it, laid);
    if ((made & wanted) == 0) return;
    if (n.operand_count == 0) {
      if (g_.tensors[g_.result(n)].base == none) put(results(n), n.result_count, shared);
    } else if (is_view(n) && (made & laid) != 0) {
      put(operands(n), read_by_it, laid);
      want(operands(n), read_by_it, 0);
    } else if ((made & early) != 0 && (!o_.recompute || !is_cheap(n.op)) && !is_replayed(n))
      put(results(n), n.result_count, fixed);
    else want(operands(n), read_by_it, 0);
  }
  /// True if its result has the elements of its operand in memory order.
  static constexpr bool is_view(node const& n) {
    switch (n.op->kind) {
    case operation_kind::broadcast:
    case operation_kind::reshape:
    case operation_kind::permute:
    case operation_kind::slice:
    case operation_kind::identity: return true;
    default: return false;
    }
  }
  /// True for a loop that reruns because its record is not saved.
  constexpr bool is_replayed(node const& n) const {
    for (int k = 0; k < n.result_count && !o_.records; ++k)
      if (symbol const y = root(g_.result(n, k)); (marks_[y] & wanted) != 0 && g_.tensors[y].depth > 0)
        return true;
    return false;
  }

  /// In whole bytes for named extents; unknown numbers of iterations count as 256.
  constexpr std::int64_t size_in_bits(symbol t) const {
    constexpr std::int64_t most = std::int64_t{1} << 43;
    int const depth = g_.tensors[t].depth;
    record_size const r = depth > 0 ? bytes_of_record(g_, t) : record_size{};
    if (depth > 0 && r.known) return r.bytes < most / 8 ? 8 * (8 + r.bytes) : most;
    std::int64_t n =
        depth > 0 ? 8 * static_cast<std::int64_t>(size_of(g_.tensors[t].type)) : saved_bits(g_, t);
    auto const times = [&](std::int64_t size) { n = size != 0 && n > most / size ? most : n * size; };
    dimensions const& d = g_.shape(t);
    for (int k = 0; k < d.rank; ++k) times(d.size[k] < 0 ? 256 : d.size[k]);
    for (int k = 0; k < depth; ++k) times(256);
    return (n + 7) / 8 * 8;
  }
  constexpr bool has(int v, mark m) const { return (marks_[of_[v]] & m) != 0; }
  /// Never saved.
  constexpr bool passes(int v) const {
    if (g_.tensors[of_[v]].depth > 0 && !o_.records) return true;
    if (node const* const n = g_.producer(of_[v]); has(v, laid) && n != nullptr && is_view(*n)) return true;
    return !o_.move && !has(v, early) && !has(v, fixed);
  }
  constexpr saved_value described(symbol t) const {
    int const bits =
        g_.tensors[t].depth > 0 ? 8 * static_cast<int>(size_of(g_.tensors[t].type)) : saved_bits(g_, t);
    saved_value v{t, -1, -1, (marks_[t] & (early | fixed)) == 0, static_cast<unsigned char>(bits)};
    for (int k = j_.inputs; k-- > 0;)
      if (g_.input(k) == t) v.input = k;
    for (int k = j_.outputs; k-- > 0;)
      if (g_.output(k) == t) v.output = k;
    return v;
  }
  /// Calls `visit(vertex, operands)` for the nodes that the gradient's part may run, in order.
  template <class Visit> constexpr void visit_made(Visit visit) const {
    for (int p = 0; p < nodes_.count(0); ++p) {
      node const& n = g_.nodes[nodes_.at(0, p)];
      for (int k = 0; k < n.result_count; ++k)
        if (int const v = vertex_[root(results(n)[k])]; v >= 0 && !has(v, fixed)) visit(v, n);
    }
  }
  template <class Visit> constexpr void visit_operands(node const& n, Visit visit) const {
    for (int k = 0, count = read_count(n); k < count; ++k)
      if (symbol const x = operands(n)[k]; x != none && vertex_[root(x)] >= 0)
        visit(vertex_[root(x)]);
  }

  /// The bits that take as long to save as the value takes to be recomputed: of functions such as sin, about 80 an element.
  /// Zero for cheap operations, which wait for memory anyway, and for large tensors, whose bytes leave the caches.
  constexpr std::int64_t bits_of_time(int v) const {
    constexpr std::int64_t in_cache = 4096;
    constexpr float least_cost = 10, bits_per_addition = 4.5f;
    node const* const n = g_.producer(of_[v]);
    if (o_.fewest_bytes || n == nullptr || n->op->kind != operation_kind::elementwise || n->op->cost < least_cost ||
        n->op->derivative == derivative_kind::zero) // (random numbers: of a key)
      return 0;
    std::int64_t elements = 1;
    dimensions const& d = g_.shape(of_[v]);
    for (int k = 0; k < d.rank; ++k) {
      if (d.size[k] < 0 || d.size[k] > in_cache) return 0;
      elements *= d.size[k];
      if (elements > in_cache) return 0;
    }
    return elements * static_cast<std::int64_t>(n->op->cost * bits_per_addition);
  }

  /// Each value is an arc with its bytes as capacity, so that the least cut is the saved set. Expensive work on small tensors
  /// counts like bytes. Among equal sums, the least repeated work is chosen, then values that the function computes anyway.
  constexpr array<bool> chosen_exactly() const {
    int const count = of_.size();
    array<std::int64_t> effort(count);
    std::int64_t efforts = 1, bits = 1;
    array<std::int64_t> time(count);
    for (int v = 0; v < count; ++v) {
      node const* const n = g_.producer(of_[v]);
      effort[v] = !has(v, early) ? 1 : n == nullptr ? 2 : 2 + static_cast<std::int64_t>(n->op->cost);
      efforts += effort[v];
      if (has(v, early)) time[v] = bits_of_time(v);
      bits += bits_[v] + time[v];
    }
    std::int64_t const scale = efforts < least_cut::endless / 4 / bits ? efforts : 1;
    least_cut cut(2 + 2 * count); // the source, the sink, and the entry and exit of each value
    for (int v = 0; v < count; ++v) {
      bool const again = has(v, early) && !has(v, fixed);
      cut.join(2 + 2 * v, 3 + 2 * v,
               passes(v) ? least_cut::endless : bits_[v] * scale + (has(v, early) || scale == 1 ? 0 : 1));
      if (has(v, fixed)) cut.join(0, 2 + 2 * v, least_cut::endless);
      else if (again && scale > 1) cut.join(0, 2 + 2 * v, time[v] * scale + effort[v]);
      if (has(v, read)) cut.join(3 + 2 * v, 1, least_cut::endless);
    }
    visit_made([&](int v, node const& n) {
      visit_operands(n, [&](int x) {
        if (x != v) cut.join(3 + 2 * x, 2 + 2 * v, least_cut::endless);
      });
    });
    cut.find();
    array<bool> chosen(count);
    for (int v = 0; v < count; ++v) chosen[v] = cut.before(2 + 2 * v) && !cut.before(3 + 2 * v);
    return chosen;
  }

  /// The saved values among those needed, and their bits.
  constexpr std::int64_t needed_of(array<bool> const& saves, array<bool>& chosen) const {
    int const count = of_.size();
    array<bool> needed(count);
    for (int v = 0; v < count; ++v) needed[v] = has(v, read);
    for (int p = nodes_.count(0); p-- > 0;) {
      node const& n = g_.nodes[nodes_.at(0, p)];
      bool makes = false;
      for (int k = 0; k < n.result_count; ++k)
        if (int const v = vertex_[root(results(n)[k])]; v >= 0) makes = makes || (needed[v] && !saves[v]);
      if (makes) visit_operands(n, [&](int x) { needed[x] = true; });
    }
    std::int64_t bits = 0;
    chosen = array<bool>(count);
    for (int v = 0; v < count; ++v) {
      chosen[v] = needed[v] && saves[v];
      if (chosen[v]) bits += bits_[v];
    }
    return bits;
  }
  /// Saves a value if its operands would take more, counting only values saved anyway as shared; or the
  /// values of the function that the gradient reads, if these take less.
  constexpr array<bool> chosen_quickly() const {
    constexpr std::int64_t most = std::int64_t{1} << 60;
    array<std::int64_t> made(of_.size()); // the bits of a value's operands
    auto const saves = [&](int v) {
      return has(v, fixed) || (!passes(v) && (bits_[v] < made[v] || (bits_[v] == made[v] && has(v, early))));
    };
    auto const price = [&](int v) { return !saves(v) ? made[v] : has(v, read) ? 0 : bits_[v]; };
    visit_made([&](int v, node const& n) {
      visit_operands(n, [&](int x) {
        if (x != v && made[v] < most) made[v] += price(x);
      });
    });
    array<bool> marked(of_.size()), smaller, as_read;
    for (int v = 0; v < of_.size(); ++v) marked[v] = saves(v);
    std::int64_t const bits = needed_of(marked, smaller);
    for (int v = 0; v < of_.size(); ++v)
      marked[v] = has(v, fixed) || (!passes(v) && has(v, early) && made[v] > 0);
    if (bits < needed_of(marked, as_read)) return smaller;
    return as_read;
  }
};

/// Chooses the values that a function saves for its gradient: the fewest bytes from which cheap operations
/// restore everything that the gradient reads. Functions such as sin are cheap for large tensors only, where saved bytes leave
/// the caches. A computed value that is smaller than its operands is saved instead of them, masks as bits, integers of a known range as narrow ones. Matrix products, convolutions
/// and loops run once; without `records`, a loop with a gradient reruns.
///
/// Precondition: nodes are in a valid order.
/// Cost: linear, plus a least cut among the values that the gradient reads. Constant evaluations, whose steps
/// are limited, make a linear choice for more than 600 such values, never worse than saving all that is read.
/// Checked: tests/runtime/saving.cpp.
constexpr array<saved_value> choose_saved(joint_graph const& j, saving_options const& o = {}) {
  detail::saving values(j, o);
  return values.choose(std::is_constant_evaluated() && values.size() > 600);
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
