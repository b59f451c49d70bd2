// SPDX-License-Identifier: BSL-1.0
// Elements and rows that loops replace at computed positions, against plain loops.
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>
#include <cotangent/numeric.hpp>

#include "catch.hpp"

#include "../checked_matrix.hpp"

#include <cotangent/transform/pipeline.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace {

namespace ct = cotangent;
using namespace checked_matrix;

inline constexpr auto total = [](auto t) { return ct::sum(ct::sin(t)); };
double plain_total(numbers const& t) {
  double sum = 0;
  for (double const v : t) sum += std::sin(v);
  return sum;
}

// [table]
inline constexpr auto table = [](auto x) { // each cell from three others
  auto const t = ct::for_loop(4, [&](auto i, auto u) {
    return ct::for_loop(3, [&](auto j, auto v) {
      return ct::at(v, i + 1, j + 1).set(x(i, j) + 0.5 * v(i, j) * v(i, j + 1) - v(i + 1, j));
    }, u);
  }, x);
  return total(t);
};
// [/table]
inline constexpr auto flat = [](auto x) { // positions of one counter
  auto const t = ct::for_loop(20, [&](auto k, auto u) { return ct::at(u, k / 4, k % 4).set(u((k + 3) % 5, k / 5) * u(k / 4, k % 4)); }, x);
  return total(t);
};
inline constexpr auto swapped = [](auto x) { // two updates in an iteration; the second one sees the first
  auto const t = ct::for_loop(4, [&](auto i, auto u) {
    auto const first = u(i), second = u(i + 1);
    return ct::at(ct::at(u, i).set(second * first), i + 1).set(first + u(4 - i));
  }, x);
  return total(t);
};
inline constexpr auto mixed = [](auto x) { // a row is replaced, then added to, then one of its elements replaced
  auto const t = ct::for_loop(4, [&](auto i, auto u) {
    auto const replaced = ct::at(u, i + 1).set(u(i) * x(i + 1, 2));
    auto const added = ct::at(replaced, i + 1, ct::range<1, 3>).add(u(i, 3));
    return ct::at(added, i, 0).set(added(i + 1, 1));
  }, x);
  return total(t);
};
inline constexpr auto kept = [](auto x) { // the old value is read afterwards
  auto const [t, sum] = ct::for_loop(4, [&](auto i, auto u, auto s) {
    auto const next = ct::at(u, i + 1, 2).set(s * u(i, 1));
    return std::tuple(next, s + ct::sum(u(i + 1)) * next(i + 1, 2));
  }, x, 0.1 * x(0, 0));
  return total(t) + sum;
};
inline constexpr auto conditional = [](auto x) {
  auto const t = ct::for_loop(4, [&](auto i, auto u) {
    return ct::cond(u(i, 0) > 0.5, [=](auto v) { return ct::at(v, i + 1, 1).set(v(i, 1) * v(i, 0)); }, [=](auto v) { return ct::at(v, i).set(v(i + 1) * 0.5); })(u);
  }, x);
  return total(t);
};
inline constexpr auto by_rows = [](auto x) { // one loop for each row of a batch
  auto const t = ct::vmap([](auto row, auto k) {
    return ct::for_loop(3, [=](auto i, auto r) { return ct::at(r, (i + k) % 4).set(r(i) * r(i + 1)); }, row);
  })(x, ct::convert<std::int64_t>(10.0 * x(ct::all, 0) + 0.5));
  return total(t);
};
inline constexpr auto scattered = [](auto x) { // several rows at a time, one of them twice
  auto const places = ct::convert<std::int64_t>(ct::floor(x(0) * 0 + 3.5));
  auto const few = ct::range<0, 2>;
  auto const t = ct::scatter_set(x, places(few), x(few) * x(ct::range<2, 4>));
  return total(ct::scatter_set(t, places(few) - 3, t(few) * t(ct::range<3, 5>)));
};

} // namespace

TEST_CASE("A loop fills a table, each cell from others of it") {
  check(table, [](numbers const& x) {
    numbers t = x;
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t j = 0; j < 3; ++j)
        t[columns * (i + 1) + j + 1] = at(x, i, j) + 0.5 * at(t, i, j) * at(t, i, j + 1) - at(t, i + 1, j);
    return plain_total(t);
  });
  check(flat, [](numbers const& x) {
    numbers t = x;
    for (std::size_t k = 0; k < 20; ++k) t[k] *= at(t, (k + 3) % 5, k / 5);
    return plain_total(t);
  });
}

TEST_CASE("Several updates in an iteration, one after the other") {
  check(swapped, [](numbers const& x) {
    numbers t = x;
    for (std::size_t i = 0; i < 4; ++i) {
      numbers const before = t;
      for (std::size_t j = 0; j < columns; ++j) {
        t[columns * i + j] = at(before, i + 1, j) * at(before, i, j);
        t[columns * (i + 1) + j] = at(before, i, j) + at(before, 4 - i, j);
      }
    }
    return plain_total(t);
  });
  check(mixed, [](numbers const& x) {
    numbers t = x;
    for (std::size_t i = 0; i < 4; ++i) {
      double const last = at(t, i, 3);
      for (std::size_t j = 0; j < columns; ++j) t[columns * (i + 1) + j] = at(t, i, j) * at(x, i + 1, 2);
      for (std::size_t j = 1; j < 3; ++j) t[columns * (i + 1) + j] += last;
      t[columns * i] = at(t, i + 1, 1);
    }
    return plain_total(t);
  });
}

TEST_CASE("A value whose rows are replaced may be read afterwards, and in branches") {
  check(kept, [](numbers const& x) {
    numbers t = x;
    double s = 0.1 * x[0], sum = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      double row = 0;
      for (std::size_t j = 0; j < columns; ++j) row += at(t, i + 1, j);
      t[columns * (i + 1) + 2] = s * at(t, i, 1);
      s += row * at(t, i + 1, 2);
    }
    for (double const v : t) sum += std::sin(v);
    return sum + s;
  });
  check(conditional, [](numbers const& x) {
    numbers t = x;
    for (std::size_t i = 0; i < 4; ++i)
      if (at(t, i, 0) > 0.5) t[columns * (i + 1) + 1] = at(t, i, 1) * at(t, i, 0);
      else
        for (std::size_t j = 0; j < columns; ++j) t[columns * i + j] = 0.5 * at(t, i + 1, j);
    return plain_total(t);
  });
}

TEST_CASE("Updates of the rows of a batch, and of several rows at a time") {
  check(by_rows, [](numbers const& x) {
    double sum = 0;
    for (std::size_t b = 0; b < rows; ++b) {
      numbers r(x.begin() + static_cast<std::ptrdiff_t>(columns * b), x.begin() + static_cast<std::ptrdiff_t>(columns * (b + 1)));
      std::size_t const k = static_cast<std::size_t>(10 * r[0] + 0.5);
      for (std::size_t i = 0; i < 3; ++i) r[(i + k) % 4] = r[i] * r[i + 1];
      for (double const v : r) sum += std::sin(v);
    }
    return sum;
  });
  check(scattered, [](numbers const& x) {
    numbers t = x;
    for (std::size_t k = 0; k < 2; ++k)
      for (std::size_t j = 0; j < columns; ++j) t[columns * 3 + j] = at(x, k, j) * at(x, k + 2, j);
    numbers const u = t;
    for (std::size_t k = 0; k < 2; ++k)
      for (std::size_t j = 0; j < columns; ++j) t[j] = at(u, k, j) * at(u, k + 3, j);
    return plain_total(t);
  });
}

TEST_CASE("The bodies of a loop that fills a table, and of its gradient, change rows without a pass over the table") {
  using program = ct::program<decltype(ct::grad(table)), ct::tensor<double, rows, columns>>;
  int updates = 0;
  for (std::int32_t i = 0; i < program::graph.node_count; ++i) {
    ct::extend::node const& n = program::graph.nodes[i];
    if (n.region == 0 || n.op->kind == ct::operation_kind::reshape || n.op->kind == ct::operation_kind::control) continue;
    CAPTURE(n.op->name);
    if (std::string_view(n.op->name) == "update_rows") ++updates;
    else
      for (int k = 0; k < n.result_count; ++k) CHECK(program::graph.shape(program::graph.result(n, k)).rank <= 1);
  }
  CHECK(updates == 3); // the table, its cotangent with four pairs, and the row of the gradient
}

TEST_CASE("An index out of range of one axis is reported, though the element is in the table") {
  auto const read = [](auto x, auto i, auto j) { return x(i, j); };
  auto const set = [](auto x, auto i, auto j) { return ct::at(x, i, j).set(1.0); };
  ct::tensor<double, 2, 3> const x{{1, 2, 3}, {4, 5, 6}};
  CHECK(ct::compiled(read)(x, 1, 2) == 6);
  std::int64_t const wraps = std::numeric_limits<std::int64_t>::max() / 3 * 2 + 2; // times the columns it is small
  CHECK_THROWS_AS(ct::compiled(read)(x, wraps, std::int64_t{0}), ct::shape_error);
  CHECK_THROWS_AS(ct::compiled(read)(x, std::int64_t{1} << 62, std::int64_t{1}), ct::shape_error);
  for (auto const& [i, j] : {std::pair(0, 3), std::pair(1, -1), std::pair(2, 0), std::pair(-1, 5)}) {
    CAPTURE(i, j);
    CHECK_THROWS_AS(ct::compiled(read)(x, i, j), ct::shape_error);
    CHECK_THROWS_AS(ct::compiled(set)(x, i, j), ct::shape_error);
    ct::dynamic::graph g;
    auto const in = g.input<double>("x", {2, 3});
    auto const a = g.input<std::int32_t>("i"), b = g.input<std::int32_t>("j");
    auto p = g.compile({read(in, a, b)}), q = g.compile({set(in, a, b)});
    for (auto* const one : {&p, &q}) {
      one->bind(in, x);
      one->bind(a, i);
      one->bind(b, j);
      CHECK_THROWS_AS(one->run(), ct::shape_error);
    }
  }
}
