// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_BATCH_DEPENDENCES_HPP
#define COTANGENT_TRANSFORM_BATCH_DEPENDENCES_HPP

#include <cotangent/graph/order.hpp>
#include <cotangent/graph/window_index.hpp>
#include <cotangent/transform/batch/constant_numbers.hpp>
#include <cotangent/transform/batch/dependence_groups.hpp>

#include <cstdint>

// Finds the dependences of the values of a graph on one of them, without looking at single elements. The graph's extents are numbers.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// The dependences of one value of a region on another one. With more than `most` groups, or positions that are no affine
/// sequence, a value counts as dense along these axes.
class dependences {
  graph_view const& g_;
  array<array<dependence>> of_; // by symbol, until its last reader
  array<std::int32_t> readers_;
  symbol output_;
  std::int64_t inputs_;         // elements of the input
  int most_;
  known_numbers const* known_;

public:
  constexpr dependences(graph_view const& g, symbol output, symbol wrt, int most = usual_groups, known_numbers const* known = nullptr)
      : g_(g), of_(g.tensor_count), readers_(g.tensor_count), output_(output), inputs_(elements(g.shape(wrt))), most_(most), known_(known) {
    dependence own;
    dimensions const& d = g.shape(wrt);
    std::int64_t along = 1;
    for (int a = d.rank; a-- > 0; along *= d.size[a]) own.set(a, 0, 1, d.size[a], along);
    if (inputs_ > 0) of_[wrt].push(own);
    ordering const order = order_of(g);
    auto const each = [&](auto visit) {
      for (std::int32_t const i : order.nodes)
        if (g.nodes[i].region == g.tensors[wrt].region) visit(g.nodes[i]);
    };
    count(output);
    for (symbol t = 0; t < g.tensor_count; ++t) count(g.tensors[t].base);
    each([&](node const& n) {
      for (int k = 0; k < n.operand_count; ++k) count(g.operand(n, k));
    });
    each([&](node const& n) {
      visit(n);
      for (int k = 0; k < n.operand_count; ++k)
        if (symbol const t = g.operand(n, k); t != none && --readers_[t] == 0) of_[t] = {};
    });
    (void)read(output);
  }
  constexpr array<dependence> const& groups() const { return of_[output_]; }

private:
  constexpr void count(symbol t) {
    if (t != none) ++readers_[t];
  }
  static constexpr std::int64_t most_pairs = std::int64_t{1} << 22; // of groups and positions, which are tried one by one

  static constexpr std::int64_t elements(dimensions const& d) {
    std::int64_t n = 1;
    for (int a = 0; a < d.rank; ++a) n *= d.size[a];
    return n;
  }
  constexpr void add(array<dependence>& to, dependence const& d, dimensions const& shape) const {
    if (d.is_empty()) return;
    for (int a = 0; a < shape.rank; ++a)
      if (d.count[a] == 0) return;
    if (to.size() <= usual_groups)
      for (dependence const& other : to)
        if (other == d) return;
    to.push(d);
  }
  /// Every element depends on every input.
  constexpr void dense(symbol y) {
    dependence all;
    dimensions const& d = g_.shape(y);
    for (int a = 0; a < d.rank; ++a) all.set(a, 0, 1, d.size[a], 0);
    all.free = 1;
    all.free_count[0] = inputs_;
    all.free_stride[0] = 1;
    of_[y] = {};
    add(of_[y], all, d);
  }

  /// A view is written, or read, as a part of its tensor: both count as dense.
  constexpr bool read(symbol t) {
    if (t == none) return false;
    if (symbol const whole = g_.tensors[t].base; whole != none && of_[t].empty() && !of_[whole].empty()) dense(t);
    return !of_[t].empty();
  }
  constexpr void visit(node const& n) {
    bool any = false;
    for (int k = 0; k < n.operand_count; ++k) any = read(g_.operand(n, k)) || any;
    if (!any || n.op->derivative == derivative_kind::zero) return;
    for (int k = 0; k < n.result_count; ++k)
      if (symbol const y = g_.result(n, k); y != none && is_floating(g_.tensors[y].type)) result(n, y);
  }
  constexpr void result(node const& n, symbol y) {
    array<dependence> found;
    bool const is_tensor = n.result_count == 1 && g_.tensors[y].depth == 0 && g_.tensors[y].base == none;
    if (is_tensor && (passed_on(n, y, false, found) || passed_on(n, y, true, found))) of_[y] = found;
    else dense(y);
    if (symbol const whole = g_.tensors[y].base; whole != none) dense(whole);
  }

  /// The dependences that the operands pass on, in blocks if `widened`; false if these are not known, or too many.
  constexpr bool passed_on(node const& n, symbol y, bool widened, array<dependence>& found) {
    found = {};
    for (int k = 0; k < n.operand_count; ++k) {
      if (g_.operand(n, k) == none) continue;
      array<dependence> const* in = &of_[g_.operand(n, k)];
      array<dependence> wide;
      if (widened) {
        wide = *in;
        widen(wide, g_.shape(g_.operand(n, k)));
        in = &wide;
      }
      for (dependence const& d : *in)
        if (!moved(n, k, g_.shape(g_.operand(n, k)), g_.shape(y), d, found)) return false;
      unite(found);
      coarsen(found, g_.shape(y));
      if (widened && found.size() > most_) widen(found, g_.shape(y));
      if (found.size() > most_) return false;
    }
    return true;
  }

  /// The dependences that operand k passes on; false if these are not known.
  constexpr bool moved(node const& n, int k, dimensions const& from, dimensions const& to, dependence d, array<dependence>& found) {
    switch (n.op->kind) {
    case operation_kind::elementwise: add(found, d, to); return true;
    case operation_kind::identity:
      if (n.operand_count != 1) return false;
      add(found, d, to);
      return true;
    case operation_kind::broadcast: {
      dependence y = d;
      for (int a = 0; a < to.rank; ++a) y.set(a, 0, 1, to.size[a], 0);
      for (int a = 0; a < from.rank; ++a)
        if (int const at = static_cast<int>(g_.attribute(n, a)); from.size[a] == to.size[at]) copy_axis(d, a, y, at);
        else if (d.count[a] == 0) return true; // (an axis of size 1 is repeated like a new one)
      clear(y, to.rank);
      add(found, y, to);
      return true;
    }
    case operation_kind::permute: {
      dependence y = d;
      for (int a = 0; a < to.rank; ++a) copy_axis(d, static_cast<int>(g_.attribute(n, a)), y, a);
      add(found, y, to);
      return true;
    }
    case operation_kind::reduction: {
      std::uint32_t const mask = static_cast<std::uint32_t>(g_.attribute(n));
      dependence y = d;
      int rank = 0;
      for (int a = 0; a < from.rank; ++a)
        if ((mask >> a & 1u) == 0) copy_axis(d, a, y, rank++);
        else if (!release(y, d.count[a], d.stride[a])) return false;
      clear(y, rank);
      add(found, y, to);
      return true;
    }
    case operation_kind::concatenate: {
      int const axis = static_cast<int>(g_.attribute(n));
      for (int j = 0; j < k; ++j) d.first[axis] += g_.shape(g_.operand(n, j)).size[axis];
      add(found, d, to);
      return true;
    }
    case operation_kind::pad:
      for (int a = 0; a < from.rank; ++a) {
        std::int64_t const by = g_.attribute(n, 2 * a + 1);
        d.first[a] = g_.attribute(n, 2 * a) + by * d.first[a];
        d.step[a] *= by;
        crop(d, a, to.size[a]);
      }
      add(found, d, to);
      return true;
    case operation_kind::slice: return sliced(g_.numbers + n.attribute, to, d, 0, found);
    case operation_kind::reshape: return regrouped(from, to, d, found);
    case operation_kind::matmul: return in_product(n, k, from, to, d, found);
    case operation_kind::gather: return k == 0 && gathered(n, from, to, d, found);
    case operation_kind::scatter_add:
      if (n.operand_count != 2 && k == n.operand_count - 1) { // of update_rows, also the rows that are replaced
        add(found, d, to);
        return true;
      }
      return k % 2 == 0 && scattered(n, k, from, to, d, found);
    default: return false;
    }
  }
  static constexpr void copy_axis(dependence const& from, int a, dependence& to, int b) {
    to.set(b, from.first[a], from.step[a], from.count[a], from.stride[a]);
  }
  static constexpr void clear(dependence& d, int rank) {
    for (int a = rank; a < max_rank; ++a) d.set(a, 0, 0, 0, 0);
  }
  /// Drops positions outside of the axis.
  static constexpr void crop(dependence& d, int a, std::int64_t size) {
    if (d.count[a] == 0) return;
    keep(d, a, index_range(d.first[a], d.step[a] == 0 ? 1 : d.step[a], size, d.count[a]));
  }
  static constexpr void keep(dependence& d, int a, index_range const& r) {
    d.first[a] += d.step[a] * r.first;
    d.base += d.stride[a] * r.first;
    d.count[a] = r.count;
  }

  /// `window`: start and step of each axis, as in a slice.
  constexpr bool sliced(std::int64_t const* window, dimensions const& to, dependence d, int axis, array<dependence>& found) {
    for (int a = axis; a < to.rank; ++a) {
      std::int64_t const start = window[2 * a], by = window[2 * a + 1], step = d.step[a];
      if (d.count[a] == 0) return true;
      if (d.count[a] == 1) { // one position, perhaps between those that the slice takes
        std::int64_t const off = d.first[a] - start;
        if (off % by != 0 || off / by < 0 || off / by >= to.size[a]) return true;
        d.set(a, off / by, 1, 1, 0);
      } else if (by == 1 || by == -1 || (step != 0 && (step == by || step == -by))) {
        if ((d.first[a] - start) % by != 0) return true;
        d.first[a] = (d.first[a] - start) / by;
        d.step[a] = step / by;
        crop(d, a, to.size[a]);
      } else if (step == 1 || step == -1) { // position p of the slice is number (start - first + by p) step
        std::int64_t const at = (start - d.first[a]) * step, each = by * step;
        index_range const r(at, each, d.count[a], to.size[a]);
        d.base += d.stride[a] * (at + each * r.first);
        d.set(a, r.first, 1, r.count, d.stride[a] * each);
      } else { // one by one
        if (d.count[a] > most_) return false;
        for (std::int64_t i = 0; i < d.count[a]; ++i)
          if (!sliced(window, to, alone(d, a, i), a, found)) return false;
        return true;
      }
    }
    add(found, d, to);
    return true;
  }
  static constexpr dependence alone(dependence d, int a, std::int64_t i) {
    d.base += d.stride[a] * i;
    d.set(a, d.first[a] + d.step[a] * i, 1, 1, 0);
    return d;
  }

  /// Leading axes of the operand are free; leading axes of the result run over all their positions.
  constexpr bool in_rows(dependence const& d, int free_axes, int new_axes, dimensions const& from, dimensions const& to, array<dependence>& found) {
    dependence y = d;
    for (int a = 0; a < free_axes; ++a)
      if (!release(y, d.count[a], d.stride[a])) return false;
    for (int a = 0; a < new_axes; ++a) y.set(a, 0, 1, to.size[a], 0);
    for (int a = free_axes; a < from.rank; ++a) copy_axis(d, a, y, a - free_axes + new_axes);
    clear(y, to.rank);
    add(found, y, to);
    return true;
  }
  constexpr bool gathered(node const& n, dimensions const& from, dimensions const& to, dependence const& d, array<dependence>& found) {
    array<std::int64_t> rows;
    if (from.rank != to.rank || !constant_numbers(g_, g_.operand(n, 1), rows, known_)) return in_rows(d, 1, to.rank - from.rank + 1, from, to, found);
    std::int64_t window[2 * max_rank]{};
    for (int a = 0; a < to.rank; ++a) window[2 * a + 1] = 1;
    if (std::int64_t const by = step_of(rows); by != 0) {
      window[0] = rows[0];
      window[1] = by;
      return sliced(window, to, d, 0, found);
    }
    if (rows.size() > most_ || std::int64_t{rows.size()} * of_[g_.operand(n, 0)].size() > most_pairs) return in_rows(d, 1, 1, from, to, found);
    dimensions one = to;
    one.size[0] = 1;
    for (int k = 0; k < rows.size(); ++k) {
      array<dependence> row;
      window[0] = rows[k];
      if (!sliced(window, one, d, 0, row)) return false;
      for (dependence& r : row) {
        r.first[0] = k;
        add(found, r, to);
      }
    }
    return true;
  }
  constexpr bool scattered(node const& n, int k, dimensions const& from, dimensions const& to, dependence d, array<dependence>& found) {
    array<std::int64_t> rows;
    bool const known = from.rank == to.rank && constant_numbers(g_, g_.operand(n, k + 1), rows, known_);
    if (std::int64_t const by = known ? step_of(rows) : 0; by != 0) {
      d.first[0] = rows[0] + by * d.first[0];
      d.step[0] *= by;
      crop(d, 0, to.size[0]);
      add(found, d, to);
      return true;
    }
    if (!known || d.count[0] > most_) return in_rows(d, from.rank - to.rank + 1, 1, from, to, found);
    for (std::int64_t i = 0; i < d.count[0]; ++i) {
      dependence one = alone(d, 0, i);
      one.first[0] = rows[static_cast<int>(one.first[0])];
      crop(one, 0, to.size[0]);
      add(found, one, to);
    }
    return true;
  }
  constexpr bool in_product(node const& n, int k, dimensions const& from, dimensions const& to, dependence const& d, array<dependence>& found) {
    int const at = to.rank - 2; // the axis of rows, behind that of a stack
    if (from.rank != to.rank || at < 0 || at > 1 || n.operand_count != 2) return false;
    bool const turned = g_.attribute(n, k) != 0;
    int const kept = at + (k == 0 ? (turned ? 1 : 0) : (turned ? 0 : 1)), inner = 2 * at + 1 - kept;
    dependence y = d;
    if (!release(y, d.count[inner], d.stride[inner])) return false;
    copy_axis(d, kept, y, k == 0 ? at : at + 1);
    int const other = k == 0 ? at + 1 : at;
    y.set(other, 0, 1, to.size[other], 0);
    add(found, y, to);
    return true;
  }

  // ---- reshapes: axes whose products of extents agree are regrouped

  struct run {
    std::int64_t count, step, stride; // of positions in the group, and of inputs
  };
  constexpr bool regrouped(dimensions const& from, dimensions const& to, dependence const& d, array<dependence>& found) {
    array<dependence> all{};
    dependence y = d;
    clear(y, 0);
    all.push(y);
    int i = 0, j = 0;
    while (i < from.rank || j < to.rank) {
      int const i0 = i, j0 = j;
      std::int64_t left = i < from.rank ? from.size[i++] : 1, right = j < to.rank ? to.size[j++] : 1;
      while (left != right) {
        if (left < right && i < from.rank) left *= from.size[i++];
        else if (j < to.rank) right *= to.size[j++];
        else return false; // (extents of 0)
      }
      array<dependence> next;
      for (dependence const& part : all)
        if (!group(from, i0, i, to, j0, j, d, part, next) || next.size() > most_) return false;
      all = next;
    }
    for (dependence const& part : all) add(found, part, to);
    return true;
  }
  /// The axes [j0, j1) of the result, in `part`, from the axes [i0, i1) of d.
  constexpr bool group(dimensions const& from, int i0, int i1, dimensions const& to, int j0, int j1, dependence const& d,
                       dependence part, array<dependence>& next) {
    if (i1 - i0 == 1 && j1 - j0 == 1) {
      copy_axis(d, i0, part, j0);
      next.push(part);
      return true;
    }
    array<run> runs; // the innermost first, joined where they follow each other
    std::int64_t weight = 1, start = 0;
    for (int a = i1; a-- > i0; weight *= from.size[a]) {
      if (d.count[a] == 0) return true;
      start += weight * d.first[a];
      run const r{d.count[a], weight * d.step[a], d.stride[a]};
      if (r.count == 1) continue;
      if (!runs.empty() && r.step == runs.back().step * runs.back().count && r.stride == runs.back().stride * runs.back().count)
        runs.back().count *= r.count;
      else runs.push(r);
    }
    return along(to, j0, j1, start, runs, part, next);
  }
  constexpr bool along(dimensions const& to, int j0, int j1, std::int64_t start, array<run> const& runs, dependence const& before,
                       array<dependence>& next) {
    dependence part = before;
    std::int64_t rest = start;
    for (int a = j1; a-- > j0; rest /= to.size[a]) part.set(a, rest % to.size[a], 1, 1, 0);
    for (int k = 0; k < runs.size(); ++k) {
      if (on_axes(to, j0, j1, runs[k], part)) continue;
      if (runs[k].count > most_) return false; // one by one
      array<run> others;
      for (int j = 0; j < runs.size(); ++j)
        if (j != k) others.push(runs[j]);
      for (std::int64_t i = 0; i < runs[k].count; ++i) {
        dependence one = before;
        one.base += runs[k].stride * i;
        if (!along(to, j0, j1, start + runs[k].step * i, others, one, next) || next.size() > most_) return false;
      }
      return true;
    }
    next.push(part);
    return true;
  }
  /// Lets a run go along one axis, or several whole ones; false if it would turn from one axis into the next.
  static constexpr bool on_axes(dimensions const& to, int j0, int j1, run r, dependence& part) {
    for (;;) {
      std::int64_t weight = 1;
      int axis = j1 - 1;
      while (axis > j0 && (to.size[axis] == 1 || r.step % (weight * to.size[axis]) == 0)) weight *= to.size[axis--];
      std::int64_t const by = r.step / weight, size = to.size[axis], at = part.first[axis], last = at + by * (r.count - 1);
      if (r.step % weight != 0 || part.count[axis] != 1) return false;
      if (last >= 0 && last < size) return part.set(axis, at, by, r.count, r.stride), true;
      if (by != 1 || at != 0 || r.count % size != 0) return false;
      part.set(axis, 0, 1, size, r.stride);
      r = {r.count / size, r.step * size, r.stride * size};
    }
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END
#endif
