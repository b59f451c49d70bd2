// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_VIEW_TERMS_HPP
#define COTANGENT_TRANSFORM_VIEW_TERMS_HPP

#include <cotangent/ops/control_builder.hpp>
#include <cotangent/transform/shares.hpp>

#include <cstdint>

// Terms of the cotangent of a tensor, made of those of its views.

namespace cotangent::detail {

/// The sum of two cotangents of one symbol.
constexpr symbol cotangent_sum(builder& b, symbol x, symbol y) {
  term const s{&b, x}, t{&b, y};
  return b.tensor(x).depth > 0 ? extend::sequence_add(s, t).id : push(info_of<op::add>(), {s, t}).id;
}

/// Axes of stride 0 leave out of a window, one for each bit of `repeated`.
constexpr tensor_window without_repeats(tensor_window const& w, std::uint32_t& repeated) {
  tensor_window r = w;
  r.rank = 0;
  repeated = 0;
  for (int k = 0; k < w.rank; ++k) {
    if (w.stride[k] == 0 && w.size[k] > 1) {
      repeated |= 1u << k;
      continue;
    }
    r.size[r.rank] = w.size[k];
    r.stride[r.rank++] = w.stride[k];
  }
  for (int k = r.rank; k < w.rank; ++k) r.size[k] = r.stride[k] = 0;
  return r;
}

/// A tensor like the root of a window, with these values there and zeros elsewhere.
constexpr symbol spread(builder& b, tensor_window w, symbol value) {
  tensor_symbol const root = b.tensor(w.root);
  w.root = b.symbol_of(root.type, root.shape);
  symbol const to = push_view(b, w, sizes_of(w));
  (void)b.assign(info_of<op::identity>(), &value, 1, &to, 1, nullptr, 0, b.place);
  return w.root;
}

/// The same where elements stand at several positions: they add up.
constexpr symbol scattered(builder& b, tensor_window const& w, symbol value) {
  std::int32_t const shape = b.shape(sizes_of(w));
  term places = extend::constant(b, element::int64, shape, static_cast<double>(w.offset));
  for (int k = 0; k < w.rank; ++k) {
    std::int64_t const axis = k;
    term const counted = extend::iota(b, element::int64, w.size[k]);
    term const along = push_as(info_of<op::broadcast>(), b, {counted}, &axis, 1, element::int64, shape);
    places = places + along * w.stride[k];
  }
  std::int32_t const flat = b.shape({1, {w.count()}}), all = b.shape({1, {elements_of(b.dims(w.root))}});
  term const rows = op::reshape::of({&b, value}, flat);
  term const sum = op::scatter_add::of(rows, op::reshape::of(places, flat), all);
  return op::reshape::of(sum, b.tensor(w.root).shape).id;
}

/// A tensor like `root` that is true where these views of it look.
constexpr symbol mask_of(builder& b, symbol root, array<symbol> const& views) {
  symbol const mask = b.symbol_of(element::boolean, b.tensor(root).shape);
  for (symbol y : views) {
    tensor_window w = cotangent::window_of(b.get(), y);
    w.root = mask;
    symbol const part = push_view(b, w, sizes_of(w));
    std::int64_t const yes = 1;
    (void)b.assign(info_of<op::constant>(), nullptr, 0, &part, 1, &yes, 1, b.place);
  }
  return mask;
}

} // namespace cotangent::detail

#endif
