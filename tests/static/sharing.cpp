// SPDX-License-Identifier: BSL-1.0
#include <cotangent/graph/freeze.hpp>
#include <cotangent/ops/ops.hpp>
#include <cotangent/run/program/frozen_sharing.hpp>

// Equal layers are one function each, and equal stages of a nest; what differs in anything but memory is not shared.

using namespace cotangent;

namespace {

constexpr term input(extend::builder& b, extend::dimensions const& d) { return {&b, b.symbol_of(element::float32, b.shape(d))}; }

/// h = tanh(h w) so many times, of `width` columns; after the layer `odd` twice that number of times 2.
template <int Layers, int Odd> struct network {
  static constexpr detail::built make() {
    extend::builder b;
    extend::symbol in[Layers + 1]{};
    term h = input(b, {2, {8, 16}});
    in[0] = h.id;
    for (int k = 0; k < Layers; ++k) {
      term const w = input(b, {2, {16, 16}});
      in[k + 1] = w.id;
      h = extend::apply<op::tanh>(extend::matmul(h, w));
      if (k == Odd) h = h * 2.0;
    }
    b.set_inputs(in, Layers + 1);
    b.set_outputs(&h.id, 1);
    return {b.get(), b.failed()};
  }
};
template <class Make> constexpr auto const& plan_of = detail::planned<detail::frozen<Make>, 32>::value;
template <class Make> constexpr auto const& code_of = detail::shared_code<detail::frozen<Make>, 32>::value;

template <class Make> constexpr int different = [] {
  int n = 0;
  for (int k = 0; k < plan_of<Make>.size.nests; ++k) n += code_of<Make>.count.data[k] > 0;
  return n;
}();
static_assert(plan_of<network<8, extend::none>>.size.nests == 16);
static_assert(different<network<8, extend::none>> == 2);
static_assert(different<network<8, 3>> == 3);
static_assert(different<network<1, extend::none>> == 2);

/// Its own buffers, in the order of their use: two operands and the result of a product; what tanh reads and writes.
static_assert([] {
  auto const& c = code_of<network<8, extend::none>>;
  auto const& p = plan_of<network<8, extend::none>>;
  for (int k = 0; k < p.size.nests; ++k) {
    bool const product = p.nests.data[k].kind == detail::nest_kind::kernel;
    if (c.first_buffer.data[k + 1] - c.first_buffer.data[k] != (product ? 3 : 2)) return false;
    detail::nest const& n = p.nests.data[k];
    for (int j = 0; j < (product ? 3 : n.instance_count); ++j) {
      std::int32_t const a = product ? p.kernel_accesses.data[n.first_instance + j] : p.instances.data[n.first_instance + j].access;
      if (a != extend::none && c.buffers.data[c.first_buffer.data[k] + c.own.data[a]] != p.accesses.data[a].buffer) return false;
    }
  }
  return true;
}());

/// h = tanh(h w), h = h - mean of its rows, so many times; after the layer `odd` twice that.
template <int Layers, int Odd> struct centered {
  static constexpr detail::built make() {
    extend::builder b;
    term const x = input(b, {2, {16, 64}}), w = input(b, {1, {64}});
    extend::symbol const in[]{x.id, w.id};
    term h = x;
    for (int k = 0; k < Layers; ++k) {
      h = extend::apply<op::tanh>(h * w);
      h = h - extend::mean(h, 2, true);
      if (k == Odd) h = h * 2.0;
    }
    b.set_inputs(in, 2);
    b.set_outputs(&h.id, 1);
    return {b.get(), b.failed()};
  }
};
/// How many stages the first nest has, and how many different ones.
struct stage_count {
  int all = 0, kinds = 0;
};
template <class Make> constexpr stage_count stages_of = [] {
  auto const& s = detail::shared_stages<detail::frozen<Make>, 32, 0>::value;
  stage_count c{plan_of<Make>.nests.data[0].stages, 0};
  for (int k = 0; k < c.all; ++k) c.kinds += s.like.data[k] == k;
  return c;
}();
// The first one loads x, the last one stores: all between them are one.
static_assert(plan_of<centered<12, extend::none>>.size.nests == 1);
static_assert(stages_of<centered<12, extend::none>>.all == 13);
static_assert(stages_of<centered<12, extend::none>>.kinds == 3);
static_assert(stages_of<centered<24, extend::none>>.all == 25);
static_assert(stages_of<centered<24, extend::none>>.kinds == 3);
static_assert(stages_of<centered<12, 6>>.kinds == 4);

/// What a stage takes from outside is that of the first of its kind in kind, number and order, and its own in place.
static_assert([] {
  using stages = detail::shared_stages<detail::frozen<centered<12, extend::none>>, 32, 0>;
  auto const& s = stages::value;
  bool moved = false;
  for (int k = 0; k < 13; ++k) {
    int const like = s.like.data[k], from = s.first.data[k], first = s.first.data[like];
    if (s.first.data[k + 1] - from != s.first.data[like + 1] - first) return false;
    for (int j = 0; from + j < s.first.data[k + 1]; ++j) {
      detail::outer_value const &mine = s.values.data[from + j], &theirs = s.values.data[first + j];
      if (mine.what != theirs.what || mine.type != theirs.type) return false;
      if (s.buffers.data[from + j] != (mine.what == detail::outer_kind::buffer ? mine.place : 0)) return false;
      moved = moved || mine.place != theirs.place;
    }
  }
  return moved;
}());

} // namespace
