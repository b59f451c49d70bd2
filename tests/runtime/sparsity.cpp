// SPDX-License-Identifier: BSL-1.0
// Patterns of random graphs that move elements, against the elements of their Jacobians that are not zero; colors.
#include "catch.hpp"

#include "../reference.hpp"

#include <cotangent/ops/indexing.hpp>
#include <cotangent/run/reference/evaluate.hpp>
#include <cotangent/transform/batch/sparsity.hpp>
#include <cotangent/transform/differentiate/forward.hpp>

#include <cstdint>
#include <vector>

using namespace cotangent;

namespace {

/// One operation that moves, joins or adds elements, all with positive derivatives, so that no element vanishes by chance.
class mover {
  extend::builder& b_;
  reference::dice& d_;
  std::vector<term> pool_;

  std::int32_t shape(extend::dimensions const& d) { return b_.shape(d); }
  term any() { return pool_[static_cast<std::size_t>(d_.below(static_cast<int>(pool_.size())))]; }

public:
  mover(extend::builder& b, reference::dice& d, term x) : b_(b), d_(d), pool_{x} {}
  term last() const { return pool_.back(); }
  void add() {
    term const x = d_.below(3) == 0 ? any() : pool_.back(), y = moved(x);
    if (b_.count(y.dims()) <= 200) pool_.push_back(y);
  }

private:
  term moved(term x) {
    extend::dimensions const d = x.dims();
    int const axis = d.rank == 0 ? 0 : d_.below(d.rank);
    switch (d_.below(d.rank == 0 ? 3 : 12)) {
    case 0: return extend::apply<op::exp>(x * 0.01);
    case 1: { // with another of the shape
      term const y = any();
      return y.shape_id() == x.shape_id() ? x + y : x * x;
    }
    case 2: { // repeated along a new axis
      if (d.rank > 3) return x + 1;
      extend::dimensions to = d;
      int const at = d_.below(d.rank + 1);
      for (int a = to.rank++; a > at; --a) to.size[a] = to.size[a - 1];
      to.size[at] = 1 + d_.below(3);
      return op::sum::repeat(x, shape(to), 1u << at);
    }
    case 3:
    case 4: { // every second, or third, also backwards
      std::int64_t window[2 * max_rank]{};
      extend::dimensions to = d;
      for (int a = 0; a < d.rank; ++a) window[2 * a + 1] = 1;
      std::int64_t const n = d.size[axis], by = 1 + d_.below(3);
      if (n < 2) return x * 2;
      std::int64_t const start = d_.below(static_cast<int>(n)), most = (n - 1 - start) / by + 1, back = start / by + 1;
      bool const reverse = d_.below(3) == 0;
      window[2 * axis] = start;
      window[2 * axis + 1] = reverse ? -by : by;
      to.size[axis] = 1 + d_.below(static_cast<int>(reverse ? back : most));
      return op::slice::of(x, window, shape(to));
    }
    case 5: { // between zeros
      std::int64_t window[2 * max_rank]{};
      extend::dimensions to = d;
      for (int a = 0; a < d.rank; ++a) window[2 * a + 1] = 1;
      std::int64_t const by = 1 + d_.below(2), before = d_.below(3);
      window[2 * axis] = before;
      window[2 * axis + 1] = by;
      to.size[axis] = before + (d.size[axis] - 1) * by + 1 + d_.below(3);
      return op::pad::of(x, window, shape(to));
    }
    case 6: { // axes in another order
      std::int64_t axes[max_rank]{};
      for (int a = 0; a < d.rank; ++a) axes[a] = (a + axis) % d.rank;
      return op::permute::of(x, axes);
    }
    case 7:
    case 8: { // another shape
      std::int64_t n = b_.count(d);
      extend::dimensions to;
      while (to.rank < 3 && n > 1) {
        std::int64_t const by = n % 2 == 0 && d_.below(2) == 0 ? 2 : n % 3 == 0 ? 3 : n % 4 == 0 ? 4 : n;
        to.size[to.rank++] = by;
        n /= by;
      }
      if (n > 1 || d_.below(3) == 0) to.size[to.rank++] = n;
      return op::reshape::of(x, shape(to));
    }
    case 9: return extend::sum(x, 1u << axis, d_.below(2) == 0);
    case 10: { // joined with itself or another
      term const y = any();
      extend::dimensions const e = y.dims();
      bool fits = e.rank == d.rank;
      for (int a = 0; a < d.rank && fits; ++a) fits = a == axis || e.size[a] == d.size[a];
      term const parts[2]{x, fits ? y : x * 3};
      return {&b_, b_.push(info_of<op::concatenate>(), {parts[0].id, parts[1].id}, {axis})};
    }
    default: { // a product with constants
      if (d.rank != 2) return x + x * 0.5;
      term const c = 1 + extend::convert(op::sum::repeat(extend::iota(b_, element::int64, 2), shape({2, {d.size[1], 2}}), 1u), element::float64);
      return detail::push(info_of<op::matmul>(), {x, c}, {0, 0});
    }
    }
  }
};

} // namespace

TEST_CASE("patterns hold all elements of a Jacobian, and no others") {
  int graphs = 0, exact = 0, elements = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    reference::dice d(seed + 3);
    extend::builder b;
    extend::dimensions const from = seed % 3 == 0 ? extend::dimensions{1, {12}} : seed % 3 == 1 ? extend::dimensions{2, {4, 3}} : extend::dimensions{3, {2, 3, 2}};
    extend::symbol const x = b.symbol_of(element::float64, b.shape(from)), dx = b.symbol_of(element::float64, b.shape(from));
    extend::symbol const inputs[2]{x, dx};
    b.set_inputs(inputs, 2);
    mover m(b, d, {&b, x});
    for (int k = 3 + d.below(8); k > 0; --k) m.add();
    extend::symbol const y = m.last().id;
    b.set_outputs(&y, 1);
    REQUIRE(b.failed().why == nullptr);
    extend::dimensions const shape = b.dims(y);
    int const rows = static_cast<int>(b.count(shape));
    detail::dependences const all(b.get(), y, x);
    double const most = elements_of(all.groups().data(), all.groups().size(), shape);
    std::vector<std::int32_t> starts(static_cast<std::size_t>(rows) + 1), columns(static_cast<std::size_t>(most) + 1);
    int const found = find_pattern(all.groups().data(), all.groups().size(), shape, rows, starts.data(), columns.data());
    std::vector<char> has(static_cast<std::size_t>(rows) * 12);
    for (int r = 0; r < rows; ++r)
      for (std::int32_t k = starts[static_cast<std::size_t>(r)]; k < starts[static_cast<std::size_t>(r) + 1]; ++k) {
        std::int32_t const c = columns[static_cast<std::size_t>(k)];
        REQUIRE((c >= 0 && c < 12));
        REQUIRE((k == starts[static_cast<std::size_t>(r)] || c > columns[static_cast<std::size_t>(k) - 1]));
        has[static_cast<std::size_t>(12 * r + c)] = 1;
      }
    extend::symbol dy = extend::none;
    detail::tangents(b, &x, &dx, 1, &y, 1, &dy);
    REQUIRE(b.failed().why == nullptr);
    int nonzero = 0;
    if (dy != extend::none) {
      b.set_outputs(&dy, 1);
      for (int c = 0; c < 12; ++c) {
        std::vector<double> at(12), unit(12), column(static_cast<std::size_t>(rows));
        for (int k = 0; k < 12; ++k) at[static_cast<std::size_t>(k)] = 0.5 + 0.1 * k;
        unit[static_cast<std::size_t>(c)] = 1;
        double const* const in[2]{at.data(), unit.data()};
        double* const out[1]{column.data()};
        REQUIRE(detail::evaluate(b.get(), in, out).ok());
        for (int r = 0; r < rows; ++r) {
          if (column[static_cast<std::size_t>(r)] == 0) continue;
          ++nonzero;
          if (!has[static_cast<std::size_t>(12 * r + c)]) FAIL("element " << r << ", " << c << " is missing");
        }
      }
    }
    ++graphs;
    exact += nonzero == found;
    elements += found;
  }
  CHECK(graphs == 400);
  CHECK(exact == 400);
  CHECK(elements > 5000);
}

TEST_CASE("a value of too many groups counts as dense") {
  extend::builder b;
  extend::symbol const x = b.symbol_of(element::float64, b.shape({1, {20}})), at = b.symbol_of(element::int64, b.shape({1, {20}}));
  extend::symbol const inputs[2]{x, at};
  b.set_inputs(inputs, 2);
  term const y = extend::gather({&b, x}, {&b, at});
  b.set_outputs(&y.id, 1);
  REQUIRE(b.failed().why == nullptr);
  detail::known_numbers const squares{nullptr, [](void const*, extend::symbol, detail::array<std::int64_t>& all) {
    for (int k = 0; k < 20; ++k) all.push(k * k % 20);
    return true;
  }};
  auto const elements = [&](int most) {
    detail::dependences const found(b.get(), y.id, x, most, &squares);
    return elements_of(found.groups().data(), found.groups().size(), b.dims(y.id));
  };
  CHECK(elements(20) == 20);
  CHECK(elements(19) == 400);
}

TEST_CASE("columns of one color share no row") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    reference::dice d(seed + 9);
    int const rows = d.below(12), columns = d.below(12), most = 1 + d.below(6);
    std::vector<std::int32_t> starts{0}, of;
    for (int r = 0; r < rows; ++r) {
      for (std::int32_t c = 0; c < columns; ++c)
        if (d.below(most) == 0) of.push_back(c);
      starts.push_back(static_cast<std::int32_t>(of.size()));
    }
    std::vector<std::int32_t> turned(static_cast<std::size_t>(columns) + 1), rows_of(of.size() + 1), colors(static_cast<std::size_t>(columns) + 1), back(starts.size()),
        again(of.size() + 1);
    of.push_back(0);
    detail::transpose_pattern(starts.data(), of.data(), rows, columns, turned.data(), rows_of.data());
    detail::transpose_pattern(turned.data(), rows_of.data(), columns, rows, back.data(), again.data());
    CHECK(back == starts);
    int const count = detail::color_columns(starts.data(), of.data(), turned.data(), rows_of.data(), columns, colors.data());
    CHECK(count >= detail::longest_row(starts.data(), rows));
    for (int r = 0; r < rows; ++r) {
      std::vector<char> seen(static_cast<std::size_t>(columns) + 1);
      for (std::int32_t k = starts[static_cast<std::size_t>(r)]; k < starts[static_cast<std::size_t>(r) + 1]; ++k) {
        std::int32_t const c = colors[static_cast<std::size_t>(of[static_cast<std::size_t>(k)])];
        REQUIRE((c >= 0 && c < count));
        REQUIRE(!seen[static_cast<std::size_t>(c)]);
        seen[static_cast<std::size_t>(c)] = 1;
      }
    }
  }
}
