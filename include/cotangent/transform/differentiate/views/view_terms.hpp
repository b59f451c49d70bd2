// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_DIFFERENTIATE_VIEWS_VIEW_TERMS_HPP
#define COTANGENT_TRANSFORM_DIFFERENTIATE_VIEWS_VIEW_TERMS_HPP

#include <cotangent/ops/indexing.hpp>
#include <cotangent/transform/differentiate/views/shares.hpp>
#include <cotangent/transform/masked.hpp>
#include <cotangent/transform/refusals.hpp>

#include <cstdint>

// Terms of the cotangent of a tensor, from those of its views.

COTANGENT_COLD_BEGIN
namespace cotangent {

/// A user's summation of contributions to one cotangent. `sum` gets `with` and at least two symbols, in order
/// of arrival, and appends their sum to the open region. Null: they are added one after another. It is not
/// called for sequences, whose entries are added.
struct aggregation {
  extend::symbol (*sum)(void* with, extend::builder& b, extend::symbol const* contributions, int count) = nullptr;
  void* with = nullptr;
};

} // namespace cotangent

namespace cotangent::detail {

/// The sum of two cotangents of one symbol. Those that `select` masked keep their mask.
/// Cotangents of half precision are added as float; an intermediate sum that is one conversion is read before its rounding.
constexpr symbol cotangent_sum(builder& b, symbol x, symbol y) {
  term const s{&b, x}, t{&b, y};
  if (b.tensor(x).depth > 0) return extend::sequence_add(s, t).id;
  if (element const e = b.tensor(x).type; is_half(e)) {
    auto const before_rounding = [&](symbol z) {
      node const* const p = b.producer(z);
      bool const converts = p != nullptr && p->op == info_of<op::convert>() && b.tensor(b.get().ids[p->first]).type == arithmetic_of(e);
      return converts ? b.inside(b.get().ids[p->first], b.place) : extend::convert({&b, z}, arithmetic_of(e)).id;
    };
    return extend::convert({&b, cotangent_sum(b, before_rounding(x), before_rounding(y))}, e).id;
  }
  if (symbol const sum = masked_sum(b, x, y); sum != none) return sum;
  return push(info_of<op::add>(), {s, t}).id;
}
/// The sum of several, by `how`.
constexpr symbol cotangent_sum(builder& b, aggregation const& how, symbol const* x, int count) {
  symbol total = x[0];
  if (how.sum == nullptr || b.tensor(total).depth > 0) {
    for (int k = 1; k < count; ++k) total = cotangent_sum(b, total, x[k]);
    return total;
  }
  if (count < 2 || b.failed().why != nullptr) return total;
  symbol const y = how.sum(how.with, b, x, count);
  tensor_symbol const &made = b.tensor(y), &like = b.tensor(total);
  if (made.shape == like.shape && made.type == like.type && made.depth == 0) return y;
  b.refuse<refusals::gradient_sum>(b.count(b.dims(y)), b.count(b.dims(total)), b.place);
  return total;
}
constexpr symbol cotangent_sum(builder& b, aggregation const& how, symbol x, symbol y) {
  symbol const both[]{x, y};
  return cotangent_sum(b, how, both, 2);
}

/// Lists of contributions to many cotangents, in one array, by their first indices; 0 is no index.
class contribution_lists {
  builder& b_;
  aggregation how_;
  array<symbol> value_;
  array<std::int32_t> next_;

public:
  constexpr contribution_lists(builder& b, aggregation const& how) : b_(b), how_(how) {
    value_.push(none);
    next_.push(0);
  }
  constexpr aggregation const& how() const noexcept { return how_; }
  constexpr void add(std::int32_t& head, std::int32_t& tail, symbol contribution) {
    std::int32_t const at = value_.push(contribution);
    next_.push(0);
    if (head == 0) head = at;
    else next_[tail] = at;
    tail = at;
  }
  /// The sum, which replaces the list.
  constexpr symbol sum(std::int32_t head, std::int32_t& tail) {
    if (how_.sum == nullptr) {
      for (std::int32_t k = next_[head]; k != 0; k = next_[k])
        value_[head] = cotangent_sum(b_, value_[head], value_[k]);
    } else if (next_[head] != 0) {
      array<symbol> all;
      for (std::int32_t k = head; k != 0; k = next_[k]) all.push(value_[k]);
      value_[head] = cotangent_sum(b_, how_, all.data(), all.size());
    }
    next_[head] = 0;
    tail = head;
    return value_[head];
  }
};

/// Drops axes of stride 0 from a window, and sets their bits in `repeated`.
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

/// A tensor like the root of a window, with these values in the window and zeros elsewhere.
constexpr symbol spread(builder& b, tensor_window w, symbol value) {
  tensor_symbol const root = b.tensor(w.root);
  w.root = b.symbol_of(root.type, root.shape);
  symbol const to = push_view(b, w, sizes_of(w));
  (void)b.assign(info_of<op::identity>(), &value, 1, &to, 1, nullptr, 0, b.place);
  return w.root;
}

/// The least number of slices of a window without repeated elements: along the axes with a bit in `along`.
constexpr std::int64_t slices_apart(tensor_window const& w, std::uint32_t& along) {
  constexpr auto magnitude = [](std::int64_t stride) { return stride < 0 ? -stride : stride; };
  std::int64_t fewest = INT64_MAX;
  int order[max_rank]{};
  for (int k = 0; k < w.rank; ++k) {
    int at = k;
    for (; at > 0 && magnitude(w.stride[order[at - 1]]) > magnitude(w.stride[k]); --at)
      order[at] = order[at - 1];
    order[at] = k;
  }
  for (std::uint32_t cut = 0; cut < 1u << w.rank; ++cut) {
    std::int64_t slices = 1, reach = 0;
    bool apart = true;
    for (int j = 0; j < w.rank && apart && slices < fewest; ++j) {
      int const k = order[j];
      if ((cut >> k & 1u) != 0) {
        if (__builtin_mul_overflow(slices, w.size[k], &slices)) slices = INT64_MAX;
        continue;
      }
      apart = w.size[k] == 1 || magnitude(w.stride[k]) > reach;
      reach += (w.size[k] - 1) * magnitude(w.stride[k]);
    }
    if (!apart || slices >= fewest) continue;
    fewest = slices;
    along = cut;
  }
  return fewest;
}

/// Windows with more slices than this are summed by scatter.
inline constexpr std::int64_t most_slices = 16;

/// The sum of the slices of a cotangent along these axes, each in place. Slices that begin last come first,
/// so that elements get their terms in the order of the rows.
constexpr symbol summed_slices(builder& b, tensor_window const& w, symbol value, std::uint32_t along) {
  tensor_window const from = detail::window_of(b.get(), value);
  std::int64_t index[max_rank]{};
  for (int k = 0; k < w.rank; ++k)
    if ((along >> k & 1u) != 0) index[k] = w.size[k] - 1;
  symbol total = none;
  for (bool more = true; more;) {
    tensor_window to = w, part = from;
    to.rank = part.rank = 0;
    for (int k = 0; k < w.rank; ++k) {
      to.offset += index[k] * w.stride[k];
      part.offset += index[k] * from.stride[k];
      if ((along >> k & 1u) != 0) continue;
      to.size[to.rank] = part.size[to.rank] = w.size[k];
      to.stride[to.rank] = w.stride[k];
      part.stride[to.rank++] = from.stride[k];
      ++part.rank;
    }
    for (int k = to.rank; k < max_rank; ++k) to.size[k] = to.stride[k] = part.size[k] = part.stride[k] = 0;
    symbol const one = spread(b, to, push_view(b, part, sizes_of(part)));
    total = total == none ? one : cotangent_sum(b, total, one);
    more = false;
    for (int k = w.rank; k-- > 0 && !more;)
      if ((along >> k & 1u) != 0) {
        more = index[k] > 0;
        index[k] = more ? index[k] - 1 : w.size[k] - 1;
      }
  }
  return total;
}

/// For windows with repeated elements: contributions are summed.
constexpr symbol scattered(builder& b, tensor_window const& w, symbol value) {
  std::uint32_t cut = 0;
  if (slices_apart(w, cut) <= most_slices) return summed_slices(b, w, value, cut);
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

/// A mask like `root`, true for elements of these views.
constexpr symbol mask_of(builder& b, symbol root, array<symbol> const& views) {
  symbol const mask = b.symbol_of(element::boolean, b.tensor(root).shape);
  for (symbol y : views) {
    tensor_window w = detail::window_of(b.get(), y);
    w.root = mask;
    symbol const part = push_view(b, w, sizes_of(w));
    std::int64_t const yes = 1;
    (void)b.assign(info_of<op::constant>(), nullptr, 0, &part, 1, &yes, 1, b.place);
  }
  return mask;
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
