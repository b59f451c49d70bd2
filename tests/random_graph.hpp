// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TESTS_RANDOM_GRAPH_HPP
#define COTANGENT_TESTS_RANDOM_GRAPH_HPP

#include "reference.hpp"

#include <cstdint>

// Graphs of many operations drawn by dice, smooth and of moderate values, for passes to be compared on.

namespace reference {

class random_graph {
  extend::builder& b_;
  dice& d_;
  bool stops_;  // whether there may be a border for gradients
  bool images_; // whether there may be convolutions, pooling and random numbers
  detail::array<term> pool_;

  constexpr std::int32_t shape(std::initializer_list<extend::dimension> sizes) {
    extend::dimensions d;
    for (extend::dimension n : sizes) d.size[d.rank++] = n;
    return b_.shape(d);
  }
  constexpr term any() {
    int const n = pool_.size(), recent = n < 6 ? n : 6; // mostly what is new, so that little is dead
    return pool_[d_.below(3) == 0 ? d_.below(n) : n - 1 - d_.below(recent)];
  }
  /// One that broadcasts with `x`.
  constexpr term with(term x) {
    for (int tries = 0; tries < 20; ++tries) {
      term const y = any();
      extend::dimensions const p = x.dims(), q = y.dims();
      bool fits = true;
      for (int k = 1; k <= p.rank && k <= q.rank; ++k) {
        extend::dimension const m = p.size[p.rank - k], n = q.size[q.rank - k];
        fits = fits && (m == n || m == 1 || n == 1);
      }
      if (fits) return y;
    }
    return x;
  }
  constexpr term bounded(term x) { return extend::apply<op::tanh>(x); }

  /// A matrix as an image of one channel, and back.
  template <class F> constexpr term as_image(term x, F f) {
    extend::dimensions const m = x.dims();
    term const y = f(op::reshape::of(x, shape({m.size[0], m.size[1], 1})));
    return op::reshape::of(y, shape({y.dims().size[0], y.dims().size[1]}));
  }
  constexpr term image(term x) {
    term const key = extend::constant(b_, element::int64, shape({}), d_.below(3));
    int const what = x.rank() == 2 ? d_.below(5) : 3 + d_.below(2);
    switch (what) {
    case 0:
    case 1: {
      int const h = 1 + d_.below(2), w = 1 + d_.below(3), apart = 1 + d_.below(2);
      term taps = any();
      taps = extend::broadcast_to(extend::sum(bounded(taps), extend::all_axes(taps)), shape({h, w, 1, 1})) *
             (1 + extend::random_uniform(key, shape({h, w, 1, 1}), element::float64));
      return as_image(x, [&](term i) {
        return bounded(extend::conv2d(i, taps,
                                      {.stride = 1 + d_.below(2),
                                       .padding = {apart * (h - 1), apart * (w - 1)},
                                       .dilation = apart}));
      });
    }
    case 2:
      return as_image(x, [&](term i) {
        int const high = 1 + d_.below(2), rows = static_cast<int>(x.dims().size[0]);
        pooling const how{.window = {rows < high ? 1 : high, 2}, .stride = 1, .padding = {0, 1}};
        return extend::avg_pool2d(i, how);
      });
    case 3: return extend::dropout(x, 0.25, key);
    default: return x * (0.5 + extend::random_uniform(key, x.shape_id(), x.type()));
    }
  }

  constexpr term one() {
    term const x = any();
    switch (d_.below(images_ ? 32 : 26)) {
    case 0: return x + with(x);
    case 1: return x - with(x);
    case 2: return bounded(x) * with(x);
    case 3: return x / (1.5 + bounded(with(x)));
    case 4: return -x;
    case 5: return x * d_.between(-2, 2);
    case 6: return x + d_.below(3);
    case 7: return d_.below(3) * x;
    case 8: return extend::apply<op::exp>(bounded(x));
    case 9: return extend::apply<op::log>(1.5 + bounded(x));
    case 10: return extend::apply<op::square>(bounded(x));
    case 11: return extend::apply<op::sin>(x);
    case 12: return extend::apply<op::sigmoid>(x);
    case 13: return extend::apply<op::pow>(1.5 + bounded(x), extend::constant_like(x, d_.below(5) - 1));
    case 14: return extend::sum(x, static_cast<std::uint32_t>(d_.below(1 << x.rank())), d_.below(2) == 0);
    case 15: return extend::mean(x, static_cast<std::uint32_t>(d_.below(1 << x.rank())), d_.below(2) == 0);
    case 16: return extend::transpose(x);
    case 17:
      return x.rank() == 2 && x.dims().size[0] == 4 && x.dims().size[1] == 3
                 ? op::reshape::of(x, shape({3, 4}))
                 : op::reshape::of(x, x.shape_id());
    case 18: return x.rank() == 2 ? extend::matmul(bounded(x), extend::transpose(bounded(x))) : x * x;
    case 19:
      return x.rank() > 0 && x.dims().size[0] > 1 ? extend::slice(x, 0, 1, x.dims().size[0] - 1) : x - 1;
    case 20:
      return extend::select(extend::convert(extend::convert(x > 0.25, element::int32), element::boolean), x,
                            with_shape(x));
    case 21: return extend::broadcast_to(x, x.rank() == 0 ? shape({4, 3}) : x.shape_id());
    case 22:
      return x.rank() == 1 ? extend::broadcast_to(x, shape({4, x.dims().size[0]}))
             : stops_       ? extend::stop_gradient(x) + x
                            : bounded(x) + x;
    case 23: return x.rank() > 0 ? term{&b_, b_.push(info_of<op::concatenate>(), {x.id, x.id}, {0})} : x + x;
    case 24: return extend::apply<op::sqrt>(1 + extend::apply<op::square>(bounded(x)));
    case 25: return x / d_.between(1, 3);
    default: return image(x);
    }
  }
  constexpr term with_shape(term x) {
    for (int k = pool_.size() - 1; k >= 0; --k)
      if (pool_[k].shape_id() == x.shape_id() && pool_[k].id != x.id) return pool_[k];
    return 2 * x;
  }

public:
  constexpr random_graph(extend::builder& b, dice& d, int size, bool scalar_output = true, bool stops = true,
                         bool images = false)
      : b_(b), d_(d), stops_(stops), images_(images) {
    std::int32_t const shapes[]{shape({4, 3}), shape({3}), shape({4, 1}), 0};
    extend::symbol inputs[4]{};
    for (int k = 0; k < 4; ++k) pool_.push({&b_, inputs[k] = b_.symbol_of(element::float64, shapes[k])});
    b_.set_inputs(inputs, 4);
    while (b_.get().nodes.size() < size) {
      term const y = one();
      if (count(y.dims()) <= 200) pool_.push(y);
    }
    term total = extend::constant(b_, element::float64, 0, 0);
    for (int k = pool_.size() - 1; k >= 0; k -= 4) {
      term const y = bounded(pool_[k]);
      total = total + extend::sum(y, extend::all_axes(y));
    }
    extend::symbol const outputs[2]{total.id, any().id};
    b_.set_outputs(outputs, scalar_output ? 1 : 2);
  }
};

} // namespace reference

#endif
