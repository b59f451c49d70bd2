// SPDX-License-Identifier: BSL-1.0
// What loops record: by coordinate, by thread; and where in the user's source a loop is that is refused.
#include <cotangent/dynamic.hpp>

#include "catch.hpp"

#include <cstring>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace {

namespace ct = cotangent;

/// A sequence of sequences of numbers, as a loop in a loop records them.
class by_coordinates {
  ct::detail::tape_stack tape_;
  ct::detail::tape_stack::sequence* outer_;

  ct::detail::tape_stack::sequence* inner(std::int64_t i) const {
    ct::detail::tape_stack::sequence* s = nullptr;
    if (char const* const at = outer_->at(i)) std::memcpy(&s, at, sizeof s);
    return s;
  }

public:
  by_coordinates() {
    tape_.begin();
    outer_ = tape_.make(sizeof(void*), 1);
  }
  char* write(std::int64_t i, std::int64_t j, double value) {
    ct::detail::tape_stack::sequence* s = inner(i);
    if (s == nullptr) {
      std::int64_t const before = outer_->end();
      char* const place = tape_.entry(*outer_, i);
      for (std::int64_t k = before; k < i; ++k) std::memset(outer_->at(k), 0, sizeof s);
      s = tape_.make(sizeof value, 1);
      std::memcpy(place, &s, sizeof s);
    }
    char* const to = tape_.entry(*s, j);
    std::memcpy(to, &value, sizeof value);
    return to;
  }
  double read(std::int64_t i, std::int64_t j) const {
    double value = -1;
    std::memcpy(&value, inner(i)->at(j), sizeof value);
    return value;
  }
  std::int64_t last() const { return outer_->end() - 1; }
  std::int64_t last(std::int64_t i) const { return inner(i)->end() - 1; }
};

} // namespace

TEST_CASE("a tape stores one version of a value for each pair of counts", "[tape]") {
  by_coordinates t;
  std::vector<std::tuple<int, int, double>> const all{{0, 0, .32}, {0, 2, .11},  {1, 1, .58},
                                                      {1, 2, .18}, {2, 3, 1.29}, {2, 2, .02}};
  std::vector<char*> places;
  for (auto const& [i, j, v] : all) places.push_back(t.write(i, j, v));
  for (std::size_t a = 0; a < places.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) CHECK(places[a] != places[b]);
  for (std::size_t const k : {3u, 0u, 5u, 1u, 4u, 2u})
    CHECK(t.read(std::get<0>(all[k]), std::get<1>(all[k])) == std::get<2>(all[k]));
  CHECK(t.last() == 2);
  CHECK(t.last(2) == 3);
  CHECK(t.last(1) == 2);
  (void)t.write(3, 4, 7.5);
  CHECK(t.last() == 3);
  CHECK(t.last(3) == 4);
  CHECK(t.last(2) == 3);
  for (auto const& [i, j, v] : all) CHECK(t.read(i, j) == v);
}

TEST_CASE("copies of a program run repeatedly in several threads, each with its own tape", "[tape]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x"), y = g.input<double>("y");
  auto const n = g.input<std::int64_t>("n");
  auto const u = ct::for_loop(n, [&](auto, auto s) { return ct::log(s * y); }, x) * 0.22;
  auto const d = g.gradient({u}, {x, y});
  auto const limited = g.gradient({u}, {x, y}, {}, {.tape = {.limit = 2400}});
  auto const program = g.compile({u, d[0], d[1], limited[0], limited[1]});
  auto const results = [&](std::int64_t times, int runs) {
    auto p = program;
    p.bind(x, 1.0);
    p.bind(y, 3.2);
    p.bind(n, times);
    std::vector<double> all;
    for (int k = 0; k < runs; ++k) {
      p.run();
      for (auto const& r : {d[0], d[1], limited[0], limited[1]}) all.push_back(p.value(r));
    }
    return all;
  };
  std::vector<std::vector<double>> found(4);
  std::vector<std::thread> threads;
  for (std::size_t k = 0; k < found.size(); ++k)
    threads.emplace_back([&, k] { found[k] = results(5 + static_cast<std::int64_t>(k % 2) * 40, 50); });
  for (std::thread& t : threads) t.join();
  CHECK(found[0][0] == Approx(.065682308));
  CHECK(found[0][1] == Approx(.18960059));
  for (std::size_t k = 0; k < found.size(); ++k) {
    CHECK(found[k] == found[k % 2]);
    for (std::size_t j = 0; j < found[k].size(); ++j) CHECK(found[k][j] == found[k][j % 4]);
    CHECK(found[k][2] == found[k][0]);
    CHECK(found[k][3] == found[k][1]);
  }
}

TEST_CASE("refused loops and branches name their source location", "[tape]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {3});
  auto const k = g.input<std::int64_t>("k");
  auto const place_of = [](auto const& make) {
    try {
      make();
    } catch (ct::error const& e) {
      std::string const words = e.what();
      auto const at = words.find("loop_records.cpp:");
      CAPTURE(words);
      REQUIRE(at != std::string::npos);
      return std::stoi(words.substr(at + 17));
    }
    FAIL("was not refused");
    return 0;
  };
  auto const longer = [](auto const& v) { return ct::concatenate<0>(v, v); };
  auto const body = [&](auto, auto v) { return longer(v); };
  auto const two = [&](auto, auto v, auto w) { return std::tuple(w, longer(v)); };
  auto const goes_on = [](auto i, auto) { return i < 5; };
  auto const same = [](auto v) { return v; };
  int line = __LINE__ + 1;
  CHECK(line == place_of([&] { (void)ct::while_loop(goes_on, body, x); }));
  line = __LINE__ + 1;
  CHECK(line == place_of([&] { (void)ct::for_loop(5, body, x); }));
  line = __LINE__ + 1;
  CHECK(line == place_of([&] { (void)ct::for_loop(5, two, x, x); }));
  line = __LINE__ + 1;
  CHECK(line == place_of([&] { (void)ct::case_of(k, same, longer)(x); }));
  // of longer lists only their bodies know a place
  auto const any = [](auto i, auto, auto, auto, auto, auto) { return i < 5; };
  line = __LINE__ + 1;
  auto const five = [&](auto, auto a, auto b, auto c, auto d, auto e) { return std::tuple(b, c, d, e, ct::concatenate<0>(a, a)); };
  CHECK(line == place_of([&] { (void)ct::while_loop(any, five, x, x, x, x, x); }));
  CHECK(line == place_of([&] { (void)ct::for_loop(5, five, x, x, x, x, x); }));
  line = __LINE__ + 1;
  auto const wide = [](auto v) { return ct::concatenate<0>(v, v, v); };
  CHECK(line == place_of([&] { (void)ct::case_of(k, same, same, same, same, wide)(x); }));
}
