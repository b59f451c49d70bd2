// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include "../reference.hpp"
#include "../view_graph.hpp"

#include <cotangent/transform/differentiate/views/coverage.hpp>

#include <chrono>
#include <set>

using namespace cotangent;
using namespace view_graph;

namespace {

/// A vector that is written in slices and read whole: whether it has to be zeroed.
bool zeroed(int slices, int length, int missing) {
  extend::builder b;
  extend::symbol const x = tensor(b, {slices * length}), y = tensor(b, {slices * length});
  b.set_inputs(&x, 1);
  for (int k = 0; k < slices; ++k)
    if (k != missing)
      write(b, info_of<op::exp>(), {range(b, x, {k * length}, {length})},
            range(b, y, {k * length}, {length}));
  extend::symbol const out = b.push(info_of<op::exp>(), {y});
  b.set_outputs(&out, 1);
  CHECK(detail::covered(b.get(), y) == !detail::zero_filled(b.get(), y));
  return detail::zero_filled(b.get(), y);
}

double seconds(void (*make)(extend::builder&), bool wanted) {
  extend::builder b;
  make(b);
  auto const start = std::chrono::steady_clock::now();
  detail::array<bool> const zero = detail::zero_filled(b.get());
  double const t = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  bool any = false;
  for (bool z : zero) any = any || z;
  CHECK(any == wanted);
  return t;
}

} // namespace

TEST_CASE("slices that cover a tensor need no zeros, however many there are") {
  CHECK_FALSE(zeroed(3, 3, extend::none));
  CHECK(zeroed(3, 3, 1));
  CHECK(zeroed(3, 3, 2));
  for (int n : {64, 900, 1024, 1025, 100000}) {
    CHECK_FALSE(zeroed(n, 1, extend::none));
    CHECK(zeroed(n, 1, n / 2));
  }
}

TEST_CASE("a tensor is zeroed only if an element is read that no node assigns") {
  extend::builder b;
  extend::symbol const x = tensor(b, {4, 6}), y = tensor(b, {4, 6}), z = tensor(b, {4, 6}), w = tensor(b, {4, 6});
  b.set_inputs(&x, 1);
  for (extend::symbol t : {y, z, w})
    write(b, info_of<op::exp>(), {range(b, x, {0, 0}, {4, 3})}, range(b, t, {0, 0}, {4, 3}));
  extend::symbol const fine = b.push(info_of<op::exp>(), {range(b, y, {1, 1}, {3, 2})});
  extend::symbol const more = b.push(info_of<op::exp>(), {range(b, z, {1, 1}, {3, 3})});
  extend::symbol const out[3]{fine, more, range(b, w, {0, 3}, {1, 1})};
  b.set_outputs(out, 3);
  CHECK_FALSE(detail::zero_filled(b.get(), y));
  CHECK(detail::zero_filled(b.get(), z));
  CHECK(detail::zero_filled(b.get(), w)); // as an output
  CHECK(detail::covered(b.get(), x));
  extend::symbol const written = range(b, y, {0, 0}, {4, 3}), beside = range(b, y, {0, 5}, {1, 1}), nothing = range(b, y, {0, 5}, {1, 0});
  CHECK(detail::covered(b.get(), written)); // (the graph is looked at when all views of it are there)
  CHECK_FALSE(detail::covered(b.get(), beside));
  CHECK(detail::covered(b.get(), nothing)); // nothing is all there
}

TEST_CASE("a tensor in which only empty pieces are written is zeroed") {
  extend::builder b;
  extend::symbol const x = tensor(b, {0}), y = tensor(b, {5}), z = tensor(b, {2, 3}), one = tensor(b, {1, 0}), full = tensor(b, {2}), of = tensor(b, {2});
  extend::symbol const inputs[]{x, one, of};
  b.set_inputs(inputs, 3);
  write(b, info_of<op::exp>(), {x}, range(b, y, {2}, {0}));
  write(b, info_of<op::exp>(), {one}, range(b, z, {1, 1}, {1, 0}));
  write(b, info_of<op::exp>(), {x}, range(b, full, {0}, {0})); // an empty piece beside one that is not
  write(b, info_of<op::exp>(), {of}, range(b, full, {0}, {2}));
  extend::symbol const out[]{b.push(info_of<op::exp>(), {y}), b.push(info_of<op::exp>(), {z}), b.push(info_of<op::exp>(), {full})};
  b.set_outputs(out, 3);
  CHECK(detail::zero_filled(b.get(), y));
  CHECK(detail::zero_filled(b.get(), z));
  CHECK_FALSE(detail::zero_filled(b.get(), full));
}

TEST_CASE("boxes that form tens of thousands of cells cover a tensor, and so do pieces with other strides") {
  for (int const side : {40, 137, 320}) // each row is cut in two, somewhere else in each
    for (bool const gap : {false, true}) {
      extend::builder b;
      extend::symbol const x = tensor(b, {side, side}), y = tensor(b, {side, side}), z = tensor(b, {side, side});
      b.set_inputs(&x, 1);
      for (int i = 0; i < side; ++i) {
        int const at = 1 + 7 * i % (side - 1), from = gap && i == side / 2 ? at + 1 : at;
        write(b, info_of<op::exp>(), {range(b, x, {i, 0}, {1, at})}, range(b, y, {i, 0}, {1, at}));
        if (from < side)
          write(b, info_of<op::exp>(), {range(b, x, {i, from}, {1, side - from})},
                range(b, y, {i, from}, {1, side - from}));
      }
      for (int k = 0; k < (gap ? 2 : 3); ++k) { // every third column
        extend::dimensions of;
        of.rank = 2;
        of.size[0] = side;
        of.size[1] = (side - k + 2) / 3;
        std::int64_t const start[]{0, k}, step[]{1, 3};
        extend::symbol const to = detail::range_view(b, z, start, step, of);
        write(b, info_of<op::exp>(), {range(b, x, {0, 0}, {side, static_cast<int>(of.size[1])})}, to);
      }
      extend::symbol const out[]{b.push(info_of<op::exp>(), {y}), b.push(info_of<op::exp>(), {z})};
      b.set_outputs(out, 2);
      CAPTURE(side, gap);
      CHECK(detail::zero_filled(b.get(), y) == (gap && 1 + 7 * (side / 2) % (side - 1) < side));
      CHECK(detail::zero_filled(b.get(), z) == gap);
    }
}

TEST_CASE("coverage agrees with counting elements") {
  reference::dice d(3);
  int yes = 0, no = 0;
  for (int round = 0; round < 6000; ++round) {
    extend::builder b;
    extend::dimensions of;
    of.rank = 1 + d.below(3);
    for (int k = 0; k < of.rank; ++k) of.size[k] = 1 + d.below(4);
    extend::symbol const x = b.symbol_of(element::float64, b.shape(of));
    auto const any = [&] {
      std::int64_t start[max_rank]{}, step[max_rank]{};
      extend::dimensions s;
      s.rank = of.rank;
      for (int k = 0; k < s.rank; ++k) {
        start[k] = d.below(static_cast<int>(of.size[k]));
        step[k] = d.below(4) == 0 ? 2 : 1;
        s.size[k] = 1 + d.below(static_cast<int>((of.size[k] - 1 - start[k]) / step[k] + 1));
      }
      return detail::range_view(b, x, start, step, s);
    };
    detail::array<detail::tensor_window> pieces;
    std::set<std::int64_t> has;
    for (int n = d.below(9); n > 0; --n) {
      extend::symbol const v = any();
      pieces.push(detail::window_of(b.get(), v));
      for (std::int64_t e : elements(b.get(), v)) has.insert(e);
    }
    extend::symbol const v = d.below(3) == 0 ? x : any();
    bool all = true;
    for (std::int64_t e : elements(b.get(), v)) all = all && has.count(e) != 0;
    ++(all ? yes : no);
    CHECK(detail::covers(of, pieces, detail::window_of(b.get(), v)) == all);
  }
  CHECK(yes > 500);
  CHECK(no > 500);
}

TEST_CASE("coverage of a hundred thousand views is computed at once") {
  constexpr int n = 100000, side = 317;
  CHECK(seconds(
            [](extend::builder& b) { // single elements, read in pairs
              extend::symbol const x = tensor(b, {n + 1});
              for (int i = 0; i <= n; ++i) write(b, info_of<op::constant>(), {}, range(b, x, {i}, {1}), {0});
              for (int i = 0; i < n; ++i) (void)b.push(info_of<op::exp>(), {range(b, x, {i}, {2})});
            },
            false) < 5);
  CHECK(seconds(
            [](extend::builder& b) { // half of a matrix, element by element; rows and columns of it are read
              extend::symbol const x = tensor(b, {side, side});
              for (int i = 0; i < side / 2; ++i)
                for (int k = 0; k < side; ++k)
                  write(b, info_of<op::constant>(), {}, range(b, x, {i, k}, {1, 1}), {0});
              for (int i = 0; i < n / 2; ++i)
                (void)b.push(info_of<op::exp>(),
                             {range(b, x, {i % (side / 2), i % 7},
                                    {1 + i % 3 % (side / 2 - i % (side / 2)), side - 7})});
            },
            false) < 5);
  // boxes that overlap: a sweep
  detail::array<detail::tensor_window> pieces;
  extend::builder b;
  extend::symbol const x = tensor(b, {side, side});
  reference::dice d(9);
  for (int i = 0; i < n; ++i) {
    int const r = d.below(side), c = d.below(side);
    extend::symbol const v = range(b, x, {r, c}, {1 + d.below(side - r), 1 + d.below(side - c)});
    pieces.push(detail::window_of(b.get(), v));
  }
  auto const start = std::chrono::steady_clock::now();
  (void)detail::covers(b.dims(x), pieces, detail::window_of(b.get(), x));
  CHECK(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < 5);
}
