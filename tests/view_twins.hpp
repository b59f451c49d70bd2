// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TESTS_VIEW_TWINS_HPP
#define COTANGENT_TESTS_VIEW_TWINS_HPP

#include "view_evaluate.hpp"

#include <vector>

// A random program as two graphs. One has views that are read and written anywhere. In the other one a view is a gather, and
// piecewise writes are a sum of scatters.

namespace view_graph {

/// One value in both graphs.
struct twin {
  extend::symbol viewed = extend::none, plain = extend::none;
};

class twins {
  struct root {
    twin value; // plain: what has been written up to now, flat; none where nothing has
    bool input = false, whole = false;
    std::vector<char> written, read; // by element
  };
  reference::dice& d_;
  std::vector<root> roots_;
  std::vector<twin> pool_;
  bool sliding_; // whether windows may hold an element twice

public:
  extend::builder v, p;
  std::vector<twin> inputs, wrt; // wrt: what gradients can be asked for

  twins(reference::dice& d, int steps, bool sliding) : d_(d), sliding_(sliding) {
    for (int k = 0; k < 4; ++k) input(sizes_drawn(), k % 2 == 0);
    for (int k = 0; k < steps; ++k) step();
    for (auto const& t : pool_)
      if (v.tensor(t.viewed).base != extend::none && v.tensor(t.viewed).producer != extend::none) wrt.push_back(t);
  }
  twin any() { return pool_[static_cast<unsigned>(below(static_cast<int>(pool_.size())))]; }
  /// A tensor that is read as a whole is not written later.
  twin input(extend::dimensions const& d, bool as_a_whole = true) {
    twin const t{v.symbol_of(element::float64, v.shape(d)), p.symbol_of(element::float64, p.shape(d))};
    inputs.push_back(t);
    wrt.push_back(t);
    add_root(t, true, true);
    if (as_a_whole) {
      pool_.push_back(t);
      for (char& e : roots_.back().read) e = 1;
    }
    return t;
  }
  /// Tells both graphs their inputs and outputs.
  void finish(std::vector<twin> const& outputs) {
    std::vector<extend::symbol> a, b;
    for (twin t : inputs) a.push_back(t.viewed), b.push_back(t.plain);
    v.set_inputs(a.data(), static_cast<int>(a.size()));
    p.set_inputs(b.data(), static_cast<int>(b.size()));
    a.clear(), b.clear();
    for (twin t : outputs) a.push_back(t.viewed), b.push_back(t.plain);
    v.set_outputs(a.data(), static_cast<int>(a.size()));
    p.set_outputs(b.data(), static_cast<int>(b.size()));
  }

private:
  int below(std::int64_t n) { return d_.below(static_cast<int>(n)); }
  extend::dimensions sizes_drawn() {
    extend::dimensions d;
    d.rank = below(4);
    for (int k = 0; k < d.rank; ++k) d.size[k] = 1 + below(d.rank == 1 ? 8 : 4);
    return d;
  }
  void add_root(twin t, bool is_input, bool whole) {
    root r;
    auto const n = static_cast<unsigned>(reference::count(v.dims(t.viewed)));
    r.value = t;
    r.input = is_input;
    r.whole = whole;
    r.written.assign(n, whole && !is_input);
    r.read.assign(n, 0);
    if (whole) r.value.plain = op::reshape::of({&p, t.plain}, flat(static_cast<int>(n))).id;
    roots_.push_back(r);
  }
  std::int32_t flat(std::int64_t n) { return p.shape({1, {n}}); }
  term places(detail::array<std::int64_t> const& e) { // as a sum, since the plain graph has no data
    term sum{};
    std::int32_t const shape = flat(e.size());
    for (int k = 0; k < e.size(); ++k) {
      std::int64_t const window[2]{k, 1};
      term const one = extend::constant(p, element::float64, flat(1), static_cast<double>(e[k]));
      term const at = op::pad::of(one, window, shape);
      sum = sum.present() ? sum + at : at;
    }
    return extend::convert(sum, element::int64);
  }

  extend::symbol window(extend::symbol x) {
    extend::dimensions const from = v.dims(x);
    for (;;) {
      std::int64_t start[max_rank]{}, stride[max_rank]{};
      extend::dimensions s;
      if (below(3) != 0 || from.rank == 0) {
        s.rank = from.rank;
        for (int k = 0; k < s.rank; ++k) {
          if (from.size[k] == 0) continue; // of an empty one there are empty ones only
          start[k] = below(from.size[k]);
          stride[k] = below(4) == 0 ? -1 : below(4) == 0 ? 2 : below(sliding_ ? 8 : 100) == 0 ? 0 : 1;
          std::int64_t const room = stride[k] < 0    ? start[k] + 1
                                    : stride[k] == 0 ? 3
                                                     : (from.size[k] - 1 - start[k]) / stride[k] + 1;
          s.size[k] = below(20) == 0 ? 0 : 1 + below(room);
        }
        return detail::range_view(v, x, start, stride, s);
      }
      // another rank: tried until it fits
      s.rank = below(4);
      std::int64_t const offset = below(4);
      std::int64_t last = offset, first = offset;
      for (int k = 0; k < s.rank; ++k) {
        stride[k] = below(8) - 2;
        s.size[k] = 1 + below(3);
        (stride[k] < 0 ? first : last) += stride[k] * (s.size[k] - 1);
      }
      detail::tensor_window w = detail::window_of(v.get(), x);
      extend::dimensions const behind = v.dims(w.root);
      detail::tensor_window inner = w;
      inner.offset += offset;
      inner.rank = s.rank;
      for (int k = 0; k < s.rank; ++k) inner.size[k] = s.size[k], inner.stride[k] = stride[k];
      if (inner.offset + first - offset < 0 || inner.offset + last - offset >= detail::elements_of(behind))
        continue;
      if (detail::within(behind, inner, w) != detail::answer::yes) continue;
      return detail::strided_view(v, x, offset, stride, s);
    }
  }
  root& root_of(extend::symbol t) {
    extend::symbol const base = v.tensor(t).base == extend::none ? t : v.tensor(t).base;
    for (root& r : roots_)
      if (r.value.viewed == base) return r;
    return roots_[0];
  }

  void read() {
    root const& from = roots_[static_cast<unsigned>(below(static_cast<int>(roots_.size())))];
    if (!from.whole && from.value.plain == extend::none) return; // a tensor without any assignment has no value
    twin const of = from.value;
    extend::symbol w = window(of.viewed);
    if (below(3) == 0) w = window(w);
    root& r = root_of(w);
    detail::array<std::int64_t> const e = elements(v.get(), w);
    for (std::int64_t k : e) r.read[static_cast<unsigned>(k)] = 1;
    std::int32_t const shape = p.shape(v.dims(w));
    extend::symbol plain = extend::none;
    if (e.size() == 0 || r.value.plain == extend::none) plain = extend::constant(p, element::float64, shape, 0).id;
    else plain = op::reshape::of(extend::gather({&p, r.value.plain}, places(e)), shape).id;
    pool_.push_back({w, plain});
  }

  /// A value of this shape made of what there is, computed by a last node into `to` where that is given.
  twin made(extend::dimensions const& d, extend::symbol to) {
    twin const a = like(d), b = like(d);
    operation const* const ops[]{info_of<op::multiply>(), info_of<op::add>(), info_of<op::sin>(),
                                 info_of<op::tanh>()};
    int const o = below(4), operands = o < 2 ? 2 : 1;
    extend::symbol const x[2]{a.viewed, b.viewed}, y[2]{a.plain, b.plain};
    p.flags.merges = to == extend::none; // its gradient may be asked for: it is its own
    twin t{to, p.push(ops[o], y, operands, nullptr, 0, {})};
    p.flags.merges = true;
    if (to == extend::none) t.viewed = v.push(ops[o], x, operands);
    else v.assign(ops[o], x, operands, &to, 1, nullptr, 0);
    return t;
  }
  twin like(extend::dimensions const& d) {
    for (int tries = 0; tries < 6; ++tries)
      if (twin const t = any(); v.dims(t.viewed) == d) return bounded(t);
    twin const t = any();
    term const a =
        extend::broadcast_to(extend::sum(extend::apply<op::tanh>(term{&v, t.viewed}), all(t)), v.shape(d));
    term const b =
        extend::broadcast_to(extend::sum(extend::apply<op::tanh>(term{&p, t.plain}), all(t)), p.shape(d));
    return bounded({a.id, b.id});
  }
  std::uint32_t all(twin t) const { return (1u << v.dims(t.viewed).rank) - 1; }
  twin bounded(twin t) {
    if (below(2) == 0) return t;
    return {extend::apply<op::tanh>(term{&v, t.viewed}).id, extend::apply<op::tanh>(term{&p, t.plain}).id};
  }

  void write() {
    if (below(2) == 0) {
      extend::dimensions const d = sizes_drawn();
      add_root({v.symbol_of(element::float64, v.shape(d)), extend::none}, false, false);
    }
    root& chosen = roots_[static_cast<unsigned>(below(static_cast<int>(roots_.size())))];
    if (chosen.whole && !chosen.input) return;
    for (int tries = 0; tries < 8; ++tries) {
      extend::symbol const w = window(chosen.value.viewed);
      if (repeats(detail::window_of(v.get(), w))) continue;
      detail::array<std::int64_t> const e = elements(v.get(), w);
      root& r = root_of(w);
      bool free = e.size() > 0;
      for (std::int64_t k : e)
        free = free && r.written[static_cast<unsigned>(k)] == 0 && r.read[static_cast<unsigned>(k)] == 0;
      if (!free) continue;
      twin const t = made(v.dims(w), w);
      root& to = root_of(w);
      for (std::int64_t k : e) to.written[static_cast<unsigned>(k)] = 1;
      term const rows = op::reshape::of({&p, t.plain}, flat(e.size())), at = places(e);
      std::int32_t const n = flat(static_cast<int>(to.written.size()));
      term const scattered = op::scatter_add::of(rows, at, n);
      if (to.value.plain == extend::none) {
        to.value.plain = scattered.id;
      } else {
        term const ones = op::scatter_add::of(extend::constant_like(rows, 1), at, n);
        to.value.plain = (term{&p, to.value.plain} * (1 - ones) + scattered).id;
      }
      pool_.push_back(t);
      return;
    }
  }
  void step() {
    switch (below(4)) {
    case 0:
    case 1: return read();
    case 2: return write();
    default: {
      twin const t = made(v.dims(any().viewed), extend::none);
      if (v.tensor(t.viewed).base != extend::none) return; // merged with the value written into a view
      for (root const& r : roots_)
        if (r.value.viewed == t.viewed) return;
      pool_.push_back(t);
      add_root(t, false, true);
    }
    }
  }
};

} // namespace view_graph

#endif
