// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include "../reference.hpp"
#include "../view_graph.hpp"

#include <set>
#include <string>
#include <vector>

using namespace cotangent;
using namespace view_graph;

namespace {

std::vector<std::int64_t> seen_by(extend::builder const& b, extend::symbol t) {
  detail::array<std::int64_t> const all = elements(b.get(), t);
  return {all.begin(), all.end()};
}
std::string why_not(extend::builder const& b) { return b.failed().why == nullptr ? "" : b.failed().why->text; }

/// A view of a tensor or of a view, drawn by dice: sometimes one that is refused.
extend::symbol drawn(extend::builder& b, extend::symbol x, reference::dice& d) {
  extend::dimensions const from = b.dims(x);
  std::int64_t start[max_rank]{}, step[max_rank]{};
  extend::dimensions s;
  if (d.below(2) == 0) {
    s.rank = from.rank;
    for (int k = 0; k < s.rank; ++k) {
      start[k] = d.below(static_cast<int>(from.size[k]) + 1);
      step[k] = d.below(5) - 2;
      s.size[k] = d.below(4);
    }
    return detail::range_view(b, x, start, step, s);
  }
  s.rank = d.below(4);
  for (int k = 0; k < s.rank; ++k) {
    step[k] = d.below(13) - 4;
    s.size[k] = d.below(4) == 0 ? d.below(8) : d.below(3);
  }
  return detail::strided_view(b, x, d.below(20) - 2, step, s);
}

} // namespace

TEST_CASE("views of views are composed") {
  extend::builder b;
  extend::symbol const x = tensor(b, {6}), a = range(b, x, {2}, {4}), c = range(b, a, {1}, {2});
  CHECK(seen_by(b, c) == std::vector<std::int64_t>{3, 4});
  CHECK(b.tensor(c).base == x);
  extend::symbol const odd = range(b, x, {1}, {3}, {2});
  CHECK(seen_by(b, range(b, odd, {2}, {2}, {-1})) == std::vector<std::int64_t>{5, 3});
  extend::symbol const m = tensor(b, {2, 3}), row = strided(b, m, 3, {3, 1}, {1, 3});
  CHECK(seen_by(b, row) == std::vector<std::int64_t>{3, 4, 5});
  CHECK(seen_by(b, strided(b, row, 1, {1}, {2})) == std::vector<std::int64_t>{4, 5});
  CHECK(why_not(b).empty());
}

TEST_CASE("a view that leaves its tensor is refused") {
  auto const refused = [](auto make) {
    extend::builder b;
    extend::symbol const x = tensor(b, {4}), m = tensor(b, {3, 4}), columns = range(b, m, {0, 1}, {3, 2});
    make(b, x, m, columns);
    return why_not(b);
  };
  std::string const outside = refusals::view_out_of_range::text, before = refusals::view_before_start::text;
  CHECK(refused([](extend::builder& b, extend::symbol x, extend::symbol, extend::symbol) { strided(b, x, 3, {1}, {4}); }) == outside);
  CHECK(refused([](extend::builder& b, extend::symbol x, extend::symbol, extend::symbol) { range(b, x, {3}, {2}); }) == outside);
  CHECK(refused([](extend::builder& b, extend::symbol x, extend::symbol, extend::symbol) { range(b, x, {3}, {1}); }).empty());
  CHECK(refused([](extend::builder& b, extend::symbol x, extend::symbol, extend::symbol) { range(b, x, {4}, {0}); }).empty());
  CHECK(refused([](extend::builder& b, extend::symbol x, extend::symbol, extend::symbol) { range(b, x, {5}, {0}); }) == outside);
  CHECK(refused([](extend::builder& b, extend::symbol x, extend::symbol, extend::symbol) { range(b, x, {1}, {3}, {-1}); }) == before);
  CHECK(refused([](extend::builder& b, extend::symbol x, extend::symbol, extend::symbol) { strided(b, x, -1, {1}, {2}); }) == before);
  CHECK(refused([](extend::builder& b, extend::symbol x, extend::symbol, extend::symbol) { strided(b, x, 5, {1}, {0}); }) == outside);
  CHECK(refused([](extend::builder& b, extend::symbol, extend::symbol m, extend::symbol) { strided(b, m, 5, {1, 4}, {3, 2}); }).empty());
  CHECK(refused([](extend::builder& b, extend::symbol, extend::symbol m, extend::symbol) { strided(b, m, 5, {1, 4}, {3, 3}); }) == outside);
  // within the tensor, but between the columns of the view
  CHECK(refused([](extend::builder& b, extend::symbol, extend::symbol, extend::symbol c) { strided(b, c, 1, {1}, {2}); }) == outside);
  CHECK(refused([](extend::builder& b, extend::symbol, extend::symbol, extend::symbol c) { strided(b, c, 1, {4}, {3}); }).empty());
  CHECK(refused([](extend::builder& b, extend::symbol, extend::symbol m, extend::symbol) { range(b, m, {0}, {3}); }) ==
        refusals::view_rank::text);
  CHECK(refused([](extend::builder& b, extend::symbol x, extend::symbol, extend::symbol) {
          strided(b, x, std::int64_t{1} << 62, {std::int64_t{1} << 62}, {1000});
        }) == outside);
  CHECK(refused([](extend::builder& b, extend::symbol, extend::symbol, extend::symbol) {
          extend::dimensions named;
          named.rank = 1;
          named.size[0] = b.size(extent::named("n", 1));
          range(b, b.symbol_of(element::float64, b.shape(named)), {0}, {1});
        }) == refusals::view_named_extent::text);
}

TEST_CASE("overlaps of two views are found exactly") {
  reference::dice d(11);
  int exact = 0, unknown = 0;
  for (int round = 0; round < 20000; ++round) {
    extend::builder b;
    extend::dimensions of;
    of.rank = 1 + d.below(3);
    for (int k = 0; k < of.rank; ++k) of.size[k] = 1 + d.below(5);
    extend::symbol const x = b.symbol_of(element::float64, b.shape(of));
    extend::symbol v = drawn(b, x, d), w = drawn(b, x, d);
    if (b.failed().why != nullptr) continue;
    auto const p = seen_by(b, v), q = seen_by(b, w);
    std::set<std::int64_t> const first(p.begin(), p.end()), second(q.begin(), q.end());
    bool shares = false, inside = true;
    for (std::int64_t e : first) {
      shares = shares || second.count(e) != 0;
      inside = inside && second.count(e) != 0;
    }
    detail::tensor_window const vw = detail::window_of(b.get(), v), ww = detail::window_of(b.get(), w);
    CHECK(repeats(vw) == (first.size() != p.size()));
    if (!p.empty()) CHECK((*first.begin() >= 0 && *first.rbegin() < detail::elements_of(of)));
    auto const overlaps = detail::overlap(of, vw, ww), within = detail::within(of, vw, ww);
    unknown += (overlaps == detail::answer::unknown) + (within == detail::answer::unknown);
    ++exact;
    if (overlaps != detail::answer::unknown) CHECK((overlaps == detail::answer::yes) == shares);
    if (within != detail::answer::unknown) CHECK((within == detail::answer::yes) == inside);
    CHECK((detail::overlap(b.get(), v, w) || !shares));
    // a view of a view is made of what it is a view of, and refused exactly where it is not
    extend::symbol const inner = drawn(b, v, d);
    if (b.failed().why == nullptr)
      for (std::int64_t e : seen_by(b, inner)) CHECK(first.count(e) != 0);
  }
  CHECK(exact > 2000);
  CHECK(100 * unknown < exact);
}

TEST_CASE("the intersection of two progressions is a progression") {
  for (std::int64_t s = 1; s < 7; ++s)
    for (std::int64_t t = 1; t < 7; ++t)
      for (std::int64_t from = -3; from < 9; ++from)
        for (std::int64_t n = 1; n < 6; ++n) {
          detail::progression const p{2, s, 5}, q{from, t, n}, both = meet(p, q);
          std::int64_t count = 0;
          for (std::int64_t x = -20; x < 60; ++x) {
            bool const in = p.has(x) && q.has(x);
            count += in;
            CHECK((both.count > 0 && both.has(x)) == in);
          }
          CHECK(both.count == count);
        }
}
