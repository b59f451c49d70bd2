// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_DIFFERENTIATE_FORWARD_VIEWS_HPP
#define COTANGENT_TRANSFORM_DIFFERENTIATE_FORWARD_VIEWS_HPP

#include <cotangent/graph/window.hpp>
#include <cotangent/ops/broadcast.hpp>
#include <cotangent/ops/compare.hpp>
#include <cotangent/transform/differentiate/activity.hpp>

#include <cstdint>

// Tangents of tensors that are read and written through views: through the same windows.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

class viewed_tangents {
  builder& b_;
  symbol low_ = 0;
  array<symbol> written_; // by symbol - low_: the tangent of a tensor in pieces, zero where unassigned
  array<array<symbol>> writers_; // by index of the tensor: views that nodes assign
  array<std::int32_t> number_;   // by symbol - low_, of tensors with writers

public:
  constexpr viewed_tangents(builder& b, region_index const& index, std::int32_t region) : b_(b) {
    graph const& g = b.get();
    symbol const low = index.low(region), high = index.high(region);
    bool any = false;
    for (symbol t = low; t < high && !any; ++t)
      any = g.tensors[t].base != none && g.tensors[t].region == region;
    if (!any) return;
    low_ = low;
    written_.assign(high - low, none);
    number_.assign(high - low, none);
    for (symbol t = low; t < high; ++t) {
      symbol const root = g.tensors[t].base;
      if (root == none || g.tensors[t].region != region || g.tensors[t].producer == none) continue;
      if (number_[root - low] == none) number_[root - low] = writers_.push({});
      writers_[number_[root - low]].push(t);
    }
  }
  constexpr bool any() const noexcept { return written_.size() > 0; }

  /// The tangent of `t`, a view or a tensor that is written in pieces. `whole`: that of its tensor, if it is
  /// one symbol.
  constexpr symbol read(symbol t, symbol whole) {
    symbol const root = root_of(t), pieces = written_[root - low_];
    if (number_[root - low_] == none) return whole == none ? none : window(whole, t);
    if (whole == none) return pieces == none ? none : window(pieces, t);
    // An input that nodes write to: written elements have the written tangent, others the input's.
    bool apart = true;
    for (symbol w : writers_[number_[root - low_]]) {
      tensor_window const inner = window_of(b_.get(), t), outer = window_of(b_.get(), w);
      if (detail::within(b_.dims(root), inner, outer) == answer::yes)
        return pieces == none ? none : window(pieces, t);
      apart = apart && !overlap(b_.get(), t, w);
    }
    return window(apart ? whole : both(root, whole), t);
  }
  /// `dy` is the tangent of the view `t`, which a node assigns.
  constexpr void write(symbol t, symbol dy) {
    if (dy == none) return;
    symbol& pieces = written_[root_of(t) - low_];
    if (pieces == none) pieces = like(root_of(t));
    copy(dy, window(pieces, t));
  }
  /// A tensor that is zero except for this tangent of one of its views.
  constexpr symbol alone(symbol t, symbol dx) {
    symbol const all = like(root_of(t));
    copy(dx, window(all, t));
    return all;
  }

private:
  constexpr symbol root_of(symbol t) const { return b_.tensor(t).base == none ? t : b_.tensor(t).base; }
  constexpr symbol like(symbol t) {
    return b_.symbol_like(t);
  }
  constexpr void copy(symbol from, symbol to) {
    (void)b_.assign(info_of<op::identity>(), &from, 1, &to, 1, nullptr, 0, b_.place);
  }
  /// The window of `t` on another tensor of the same shape.
  constexpr symbol window(symbol on, symbol t) {
    if (b_.tensor(t).base == none) return on;
    if (b_.tensor(on).base != none) {
      symbol const all = like(on);
      copy(on, all);
      on = all;
    }
    tensor_window w = window_of(b_.get(), t);
    w.root = on;
    return push_view(b_, w, dimensions(b_.dims(t)));
  }
  constexpr symbol both(symbol root, symbol whole) {
    symbol const mask = like(root), pieces = written_[root - low_];
    for (symbol w : array<symbol>(writers_[number_[root - low_]])) {
      tensor_symbol const t = b_.tensor(w);
      copy(extend::constant(b_, t.type, t.shape, 1).id, window(mask, w));
    }
    tensor_symbol const t = b_.tensor(root);
    term const one = extend::constant(b_, t.type, t.shape, 1), came{&b_, whole};
    term const left =
        push(info_of<op::multiply>(), {came, push(info_of<op::subtract>(), {one, term{&b_, mask}})});
    return pieces == none ? left.id : push(info_of<op::add>(), {left, term{&b_, pieces}}).id;
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
