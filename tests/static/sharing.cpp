// SPDX-License-Identifier: BSL-1.0
#include <cotangent/graph/freeze.hpp>
#include <cotangent/ops/ops.hpp>
#include <cotangent/run/frozen_sharing.hpp>

// Equal layers are one function each; what differs in anything but memory is not shared.

using namespace cotangent;

namespace {

constexpr term input(builder& b, dimensions const& d) { return {&b, b.symbol_of(element::float32, b.shape(d))}; }

/// h = tanh(h w) so many times, of `width` columns; after the layer `odd` twice that number of times 2.
template <int Layers, int Odd> struct network {
  static constexpr built make() {
    builder b;
    symbol in[Layers + 1]{};
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
template <class Make> constexpr auto const& plan_of = planned<frozen<Make>, 32>::value;
template <class Make> constexpr auto const& code_of = shared_code<frozen<Make>, 32>::value;

template <class Make> constexpr int different = [] {
  int n = 0;
  for (int k = 0; k < plan_of<Make>.size.nests; ++k) n += code_of<Make>.count.data[k] > 0;
  return n;
}();
static_assert(plan_of<network<8, none>>.size.nests == 16);
static_assert(different<network<8, none>> == 2);
static_assert(different<network<8, 3>> == 3);
static_assert(different<network<1, none>> == 2);

/// Its own buffers, in the order of their use: two operands and the result of a product; what tanh reads and writes.
static_assert([] {
  auto const& c = code_of<network<8, none>>;
  auto const& p = plan_of<network<8, none>>;
  for (int k = 0; k < p.size.nests; ++k) {
    bool const product = p.nests.data[k].kind == nest_kind::kernel;
    if (c.first_buffer.data[k + 1] - c.first_buffer.data[k] != (product ? 3 : 2)) return false;
    nest const& n = p.nests.data[k];
    for (int j = 0; j < (product ? 3 : n.instance_count); ++j) {
      std::int32_t const a = product ? p.kernel_accesses.data[n.first_instance + j] : p.instances.data[n.first_instance + j].access;
      if (a != none && c.buffers.data[c.first_buffer.data[k] + c.own.data[a]] != p.accesses.data[a].buffer) return false;
    }
  }
  return true;
}());

} // namespace

