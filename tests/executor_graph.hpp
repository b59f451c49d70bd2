// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TESTS_EXECUTOR_GRAPH_HPP
#define COTANGENT_TESTS_EXECUTOR_GRAPH_HPP

#include "reference.hpp"

#include <cotangent/transform/differentiate/backward.hpp>
#include <cotangent/transform/pipeline.hpp>

#include <cstdint>

// Graphs for planner and executor: of every operation, of many shapes and elements, of moderate values.

namespace reference {

struct graph_options {
  int nodes = 24;
  extend::dimension sizes[4]{3, 4, 2, 1}; // of axes; negative: named, -1 is "n", -2 is "m"
  std::int64_t most = 3000;       // elements of a value
  bool gradients = false;
  bool mixed = true; // elements besides double
  bool nested = false; // all shapes are the first axes of one shape; few operations
};

class planned_graph {
  extend::builder& b_;
  dice& d_;
  graph_options const& o_;
  detail::array<term> pool_;
  detail::array<extend::symbol> inputs_;

  constexpr bool chance(int n) { return d_.below(n) == 0; }
  constexpr bool floats(term x) const { return is_floating(x.type()); }
  constexpr term any() {
    int const n = pool_.size(), recent = n < 5 ? n : 5;
    return pool_[chance(3) ? d_.below(n) : n - 1 - d_.below(recent)];
  }
  template <class Fits> constexpr term some(Fits fits, term otherwise) {
    int const start = d_.below(pool_.size());
    for (int k = 0; k < pool_.size(); ++k)
      if (term const t = pool_[(start + k) % pool_.size()]; fits(t)) return t;
    return otherwise;
  }
  constexpr term real() {
    return some([&](term t) { return t.type() == element::float64; }, pool_[0]);
  }
  constexpr term soft(term x) { return extend::apply<op::tanh>(x); }
  constexpr bool broadcasts(term x, term y) const {
    extend::dimensions const p = x.dims(), q = y.dims();
    for (int k = 1; k <= p.rank && k <= q.rank; ++k) {
      extend::dimension const m = p.size[p.rank - k], n = q.size[q.rank - k];
      if (m != n && m != 1 && n != 1) return false;
    }
    return true;
  }
  constexpr term with(term x) {
    for (int tries = 0; tries < 12; ++tries)
      if (term const y = any(); y.type() == x.type() && broadcasts(x, y)) return y;
    return x;
  }
  constexpr term alike(term x) {
    return some([&](term t) { return t.type() == x.type() && t.shape_id() == x.shape_id() && t.id != x.id; }, x);
  }
  constexpr std::uint32_t mask(term x) { return static_cast<std::uint32_t>(d_.below(1 << x.rank())); }
  constexpr bool known(term x) const {
    for (int k = 0; k < x.rank(); ++k)
      if (x.dims().size[k] < 0) return false;
    return true;
  }

  constexpr term unary(term x) {
    if (!floats(x)) return x.type() == element::boolean ? !x : chance(2) ? -x : extend::apply<op::square>(x) + 1;
    switch (d_.below(14)) {
    case 0: return extend::apply<op::exp>(soft(x));
    case 1: return extend::apply<op::log>(1.5 + soft(x));
    case 2: return extend::apply<op::sin>(x);
    case 3: return extend::apply<op::sigmoid>(x);
    case 4: return extend::apply<op::relu>(x);
    case 5: return extend::apply<op::square>(soft(x));
    case 6: return extend::apply<op::sqrt>(1 + extend::apply<op::square>(soft(x)));
    case 7: return -x;
    case 8: return x * 0.5;
    case 9: return extend::apply<op::softplus>(x);
    case 10: return extend::apply<op::abs>(x);
    case 11: return x + 0.25;
    case 12: return extend::stop_gradient(x);
    default: return soft(x);
    }
  }
  constexpr term binary(term x) {
    term const y = with(x);
    if (x.type() == element::boolean) return chance(2) ? x && y : x || y;
    switch (d_.below(floats(x) ? 8 : 4)) {
    case 0: return x + y;
    case 1: return x - y;
    case 2: return extend::apply<op::max>(x, y);
    case 3: return floats(x) ? soft(x) * y : extend::apply<op::min>(x, y);
    case 4: return x / (1.5 + soft(y));
    case 5: return extend::select(x > y, x, y * 2);
    case 6: return extend::apply<op::multiply_add>(soft(x), y, x);
    default: return extend::convert(x <= y, x.type()) * x;
    }
  }
  constexpr term reduction(term x) {
    if (x.type() == element::boolean) x = extend::convert(x, element::int32);
    bool const keep = chance(2);
    switch (d_.below(floats(x) ? 6 : 3)) {
    case 0: return extend::max(x, mask(x), keep);
    case 1: return extend::min(x, mask(x), keep);
    case 3: return extend::mean(x, mask(x), keep);
    case 4: return x.rank() > 0 ? extend::softmax(x, d_.below(x.rank())) : x;
    case 5: return extend::logsumexp(x, mask(x), keep);
    default: return extend::sum(x, mask(x), keep);
    }
  }
  /// Repeats x along a new axis anywhere, or between others; now and then with axes exchanged.
  constexpr term repeated(term x) {
    extend::dimensions const from = x.dims();
    if (from.rank > 3) return x;
    int const at = d_.below(from.rank + 1);
    extend::dimensions to;
    std::int64_t axes[max_rank]{};
    int order[max_rank]{0, 1, 2, 3, 4};
    if (from.rank > 1 && chance(4)) {
      order[0] = 1;
      order[1] = 0;
    }
    for (int k = 0; k <= from.rank; ++k) {
      if (k == at) to.size[to.rank++] = o_.sizes[d_.below(4)];
      if (k == from.rank) break;
      int const axis = order[k];
      axes[axis] = to.rank;
      to.size[to.rank++] = from.size[axis] == 1 && chance(2) ? o_.sizes[d_.below(4)] : from.size[axis];
    }
    return detail::push_as(info_of<op::broadcast>(), b_, {x}, axes, from.rank, x.type(), b_.shape(to));
  }
  constexpr term reshaped(term x) {
    extend::dimensions const from = x.dims();
    extend::dimensions to;
    int const way = d_.below(3);
    if (way == 0) { // some axes of size 1 more, others gone
      for (int k = 0; k < from.rank; ++k) {
        if (to.rank < 4 && chance(3)) to.size[to.rank++] = 1;
        if (from.size[k] != 1 || chance(2)) to.size[to.rank++] = from.size[k];
      }
      if (to.rank > 5) return x;
    } else if (way == 1 && from.rank > 1) { // two axes as one
      int const at = d_.below(from.rank - 1);
      for (int k = 0; k < from.rank; ++k)
        if (k != at + 1) to.size[to.rank++] = k == at ? b_.product(from.size[k], from.size[k + 1]) : from.size[k];
    } else { // one axis as two
      for (int k = 0; k < from.rank; ++k) {
        if (to.rank < 4 && from.size[k] > 2 && from.size[k] % 2 == 0) to.size[to.rank++] = 2;
        else if (to.rank < 4 && from.size[k] > 3 && from.size[k] % 3 == 0) to.size[to.rank++] = 3;
        else {
          to.size[to.rank++] = from.size[k];
          continue;
        }
        to.size[to.rank] = from.size[k] / to.size[to.rank - 1];
        ++to.rank;
      }
    }
    return op::reshape::of(x, b_.shape(to));
  }
  constexpr term sliced(term x) {
    if (x.rank() == 0) return x;
    int const axis = d_.below(x.rank());
    extend::dimension const n = x.dims().size[axis];
    if (n < 2) return x;
    std::int64_t const step = n > 3 && chance(2) ? 2 : 1;
    extend::dimension const start = d_.below(static_cast<int>(n)), most = (n - start + step - 1) / step;
    return extend::slice(x, axis, start, 1 + d_.below(static_cast<int>(most)), step);
  }
  constexpr term padded(term x) {
    if (x.rank() == 0 || x.type() == element::boolean) return x;
    std::int64_t window[2 * max_rank]{};
    extend::dimensions d = x.dims();
    for (int k = 0; k < d.rank; ++k) window[2 * k + 1] = 1;
    int const axes = chance(2) ? 1 : d.rank;
    for (int j = 0; j < axes; ++j) {
      int const k = axes == 1 ? d_.below(d.rank) : j;
      if (d.size[k] < 0) continue;
      window[2 * k] = d_.below(3);
      window[2 * k + 1] = chance(3) && d.size[k] > 0 ? 2 : 1;
      d.size[k] = window[2 * k] + (d.size[k] == 0 ? 0 : (d.size[k] - 1) * window[2 * k + 1] + 1) + d_.below(3);
    }
    return op::pad::of(x, window, b_.shape(d));
  }
  constexpr term joined(term x) {
    if (x.rank() == 0) return x;
    std::int64_t const axis = d_.below(x.rank());
    term const y = alike(x);
    return {&b_, b_.push(info_of<op::concatenate>(), {x.id, y.id}, {axis})};
  }
  constexpr term permuted(term x) {
    std::int64_t axes[max_rank]{};
    for (int k = 0; k < x.rank(); ++k) axes[k] = k;
    for (int k = x.rank() - 1; k > 0; --k) {
      int const j = d_.below(k + 1);
      std::int64_t const kept = axes[k];
      axes[k] = axes[j];
      axes[j] = kept;
    }
    return op::permute::of(x, axes);
  }
  constexpr term multiplied(term x) {
    if (x.rank() != 2 || !floats(x)) x = some([&](term t) { return t.rank() == 2 && floats(t); }, x);
    if (x.rank() != 2 || !floats(x)) return x;
    extend::dimensions const p = x.dims();
    bool const ta = chance(2);
    bool tb = false;
    term const y = some(
        [&](term t) {
          if (t.rank() != 2 || t.type() != x.type()) return false;
          tb = t.dims().size[0] != p.size[ta ? 0 : 1];
          return t.dims().size[tb ? 1 : 0] == p.size[ta ? 0 : 1];
        },
        term{});
    if (!y.present()) return op::matmul::of(soft(x), soft(x), false, true);
    return op::matmul::of(soft(x), chance(2) ? soft(y) : y, ta, tb);
  }
  constexpr term indexed(term x) {
    if (x.rank() == 0 || x.dims().size[0] == 0 || x.type() == element::boolean) return x;
    term const at = some([&](term t) { return t.type() == element::int32 || t.type() == element::int64; }, term{});
    if (!at.present() || at.rank() > 2 || x.rank() > 2) return x;
    if (chance(2)) return extend::gather(x, at);
    extend::dimensions const d = x.dims(), a = at.dims();
    if (a.rank > d.rank) return x;
    for (int k = 0; k < a.rank; ++k)
      if (a.size[k] != d.size[k]) return extend::gather(x, at);
    extend::dimensions to{1, {o_.sizes[0]}};
    for (int k = a.rank; k < d.rank; ++k) to.size[to.rank++] = d.size[k];
    return op::scatter_add::of(x, at, b_.shape(to));
  }
  constexpr term converted(term x) {
    constexpr element to[]{element::float64, element::float32, element::int32, element::int64, element::boolean};
    element const e = to[d_.below(o_.mixed ? 5 : 1)];
    if (floats(x) && (e == element::boolean || !is_floating(e))) return extend::convert(soft(x) * 3, e);
    return extend::convert(x, e);
  }
  /// Along further axes at the end.
  constexpr term extended(term x, term like) {
    std::int64_t const axes[max_rank]{0, 1, 2, 3, 4};
    if (x.rank() >= like.rank()) return x;
    return detail::push_as(info_of<op::broadcast>(), b_, {x}, axes, x.rank(), x.type(), like.shape_id());
  }
  constexpr term nested() {
    term const x = any(), y = any();
    term const a = extended(x, y), c = extended(y, x);
    std::uint32_t const all = (1u << x.rank()) - 1, last = all & ~((1u << d_.below(x.rank() + 1)) - 1);
    switch (d_.below(9)) {
    case 0: return soft(x);
    case 1: return extend::apply<op::square>(soft(x));
    case 2: return 0.5 - x;
    case 3: return extend::sum(x, last, false);
    case 4: return x.rank() > 0 ? extend::softmax(x, x.rank() - 1) : 1 / (2 + x * x);
    case 5: return a + c;
    case 6: return a - 0.5 * c;
    default: return a * c;
    }
  }
  constexpr term one() {
    if (o_.nested) return nested();
    term const x = any();
    switch (d_.below(28)) {
    case 0: case 1: case 2: case 3: return unary(x);
    case 4: case 5: case 6: case 7: case 8: return binary(x);
    case 9: case 10: case 11: case 12: return reduction(x);
    case 13: return repeated(x);
    case 14: return reshaped(x);
    case 15: case 16: return sliced(x);
    case 17: return padded(x);
    case 18: return joined(x);
    case 19: case 20: return permuted(x);
    case 21: return multiplied(x);
    case 22: return indexed(x);
    case 23: return converted(x);
    case 24: return extend::iota(b_, chance(2) ? element::float64 : element::int32, o_.sizes[d_.below(4)]);
    case 25: return extend::constant(b_, x.type(), x.shape_id(), d_.below(x.type() == element::boolean ? 2 : 3));
    case 26: return floats(x) && x.rank() > 0 && known(x) ? extend::convert(extend::argmax(x, d_.below(x.rank())), element::float64) : unary(x);
    default: return binary(repeated(x));
    }
  }
  constexpr bool small(term x) const {
    std::int64_t n = 1;
    for (int k = 0; k < x.rank(); ++k) n *= x.dims().size[k] < 0 ? 8 : x.dims().size[k];
    return n <= o_.most && x.rank() <= 5;
  }
  constexpr void input(element e, extend::dimensions const& d) {
    inputs_.push(b_.symbol_of(e, b_.shape(d)));
    pool_.push({&b_, inputs_.back()});
  }

public:
  constexpr planned_graph(extend::builder& b, dice& d, graph_options const& o) : b_(b), d_(d), o_(o) {
    extend::dimension const p = o.sizes[0], q = o.sizes[1], r = o.sizes[2], s = o.sizes[3];
    if (o.nested)
      for (int k = 0; k < 5; ++k) input(element::float64, {k < 3 ? k + 1 : 4 - k, {p, q, r}});
    else {
      input(element::float64, {2, {p, q}});
      input(element::float64, {1, {q}});
      input(element::float64, {3, {p, r, q}});
      input(element::float64, {2, {q, s}});
      input(element::float64, {});
    }
    if (o.mixed && !o.nested) {
      input(element::float32, {2, {p, q}});
      input(element::int64, {1, {p}});
      input(element::int32, {2, {p, q}});
    }
    b_.set_inputs(inputs_.data(), inputs_.size());
    for (int tries = 0; tries < 4 * o.nodes && b_.get().nodes.size() < o.nodes; ++tries)
      if (term const y = one(); small(y)) pool_.push(y);
    detail::array<extend::symbol> out;
    if (o.gradients) {
      term total = extend::constant(b_, element::float64, 0, 0);
      for (int k = pool_.size() - 1; k >= 0; k -= 3)
        if (pool_[k].type() == element::float64)
          total = total + (o.nested ? extend::sum(extend::apply<op::square>(pool_[k]), extend::all_axes(pool_[k]))
                                    : extend::mean(soft(pool_[k]), extend::all_axes(pool_[k])));
      out.push(total.id);
      for (int k = 0; k < 5; ++k) out.push(extend::none);
      detail::gradient(b_, {&total.id, nullptr, 1, inputs_.data(), 5}, out.data() + 1);
    }
    int const count = 1 + d_.below(4);
    for (int k = 0; k < count; ++k) out.push(any().id);
    if (out[0] >= 0 && chance(4)) out.push(out[0]);
    b_.set_outputs(out.data(), out.size());
  }
};

/// The same graph with numbers for its named sizes.
constexpr graph concrete(extend::graph_view const& v, std::int64_t const* known) {
  extend::builder copy(v);
  graph g = copy.get();
  auto const settle = [&](std::int64_t& n) {
    if (n < 0) n = known[-1 - n];
  };
  for (extend::dimensions& d : g.shapes)
    for (int k = 0; k < d.rank; ++k) settle(d.size[k]);
  for (extend::node const& n : g.nodes) {
    if (n.op == info_of<op::label>()) settle(g.numbers[n.attribute]);
    bool const moves = n.op->kind == operation_kind::slice || n.op->kind == operation_kind::pad;
    if (moves || n.op->kind == operation_kind::size)
      for (int k = 0; k < n.attribute_count; k += moves ? 2 : 1) settle(g.numbers[n.attribute + k]);
  }
  return g;
}

} // namespace reference

#endif
