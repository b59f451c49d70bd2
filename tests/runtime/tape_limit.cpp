// SPDX-License-Identifier: BSL-1.0
// Loops that run parts of themselves again for their gradients: the same bits, in less memory.
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>
#include <cotangent/graph/verify.hpp>
#include <cotangent/transform/rematerialize/checkpoint.hpp>

#include "catch.hpp"

#include "../random_nest.hpp"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace {

namespace ct = cotangent;
using ct::detail::tape_options;
using ct::dynamic::checkpoints;
using ct::dynamic::expr;

struct outcome {
  std::vector<double> all;
  std::int64_t tape = 0, workspace = 0;
  int nodes = 0; // more than without blocks
};

template <class... E> outcome run(ct::dynamic::program p, E const&... outputs) {
  p.run();
  p.run(); // a tape that was used before
  outcome r;
  auto const take = [&](auto const& y) {
    for (double const v : p.value(y)) r.all.push_back(v);
  };
  (take(outputs), ...);
  r.tape = p.tape_bytes();
  r.workspace = p.workspace_bytes();
  return r;
}

bool same_bits(std::vector<double> const& a, std::vector<double> const& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

constexpr int width = 64;

std::vector<double> numbers(int count, int seed) {
  std::vector<double> v;
  reference::dice d(static_cast<std::uint64_t>(seed));
  for (int k = 0; k < count; ++k) v.push_back(d.between(-1, 1));
  return v;
}

/// h <- tanh(w h + b) + h/2, `times` times; the value, and gradients by all three.
outcome layers(int times, tape_options const& tape, bool counted_at_run = false) {
  ct::dynamic::graph g;
  auto const w = g.input<double>("w", {width}), b = g.input<double>("b", {width}),
             h0 = g.input<double>("h", {width});
  auto const count = g.input<std::int64_t>("count");
  auto const body = [&](auto, auto h) { return ct::tanh(w * h + b) + 0.5 * h; };
  auto const h = counted_at_run ? ct::for_loop(count, body, h0) : ct::for_loop(times, body, h0);
  auto const y = ct::sum(h * h);
  auto const d = g.gradient({y}, {w, b, h0}, {}, {.tape = tape});
  auto p = g.compile({y, d[0], d[1], d[2]});
  auto const at_w = numbers(width, 1), at_b = numbers(width, 2), at_h = numbers(width, 3);
  p.bind(w, at_w);
  p.bind(b, at_b);
  p.bind(h0, at_h);
  p.bind(count, std::int64_t{times});
  return run(p, y, d[0], d[1], d[2]);
}

} // namespace

TEST_CASE("with a tape limit gradients of loops keep their bits, within the limit", "[tape_limit]") {
  int const times = GENERATE(0, 1, 2, 7, 100, 1000);
  outcome const whole = layers(times, {}), least = layers(1, {});
  for (bool const counted_at_run : {false, true})
    for (auto const schedule : {checkpoints::automatic, checkpoints::equally_spaced, checkpoints::binomial})
      for (std::int64_t const limit : {7000, 20000, 80000}) {
        CAPTURE(times, counted_at_run, static_cast<int>(schedule), limit);
        outcome const again = layers(times, {.limit = limit, .schedule = schedule}, counted_at_run);
        CHECK(same_bits(whole.all, again.all));
        // an iteration records two tensors of 512 bytes
        if (schedule == checkpoints::equally_spaced)
          CHECK(static_cast<double>(again.tape) <= 2 * 512 * std::sqrt(2.0 * times) + 8 * 512);
        else CHECK(again.tape + again.workspace <= limit + least.workspace + 8 * 1024);
      }
}

TEST_CASE("with a tape limit while loops rerun as often as they ran", "[tape_limit]") {
  auto const newton = [](double start, tape_options const& tape) {
    ct::dynamic::graph g;
    auto const a = g.input<double>("a"), x0 = g.input<double>("x0");
    auto const x =
        ct::while_loop([&](auto, auto s) { return ct::abs(s * s - a) > 1e-9; },
                       [&](auto i, auto s) { return 0.5 * (s + a / s) + 0 * ct::convert<double>(i); }, x0);
    auto const d = g.gradient({x}, {a, x0}, {}, {.tape = tape});
    auto p = g.compile({x, d[0], d[1]});
    p.bind(a, 2.0);
    p.bind(x0, start);
    return run(p, x, d[0], d[1]);
  };
  for (double const start : {1.0, 30.0, 1e8, std::sqrt(2.0)}) { // the last one: no iteration
    outcome const whole = newton(start, {});
    for (auto const schedule : {checkpoints::automatic, checkpoints::equally_spaced, checkpoints::binomial})
      for (std::int64_t const limit : {3000, 4000}) {
        CAPTURE(start, static_cast<int>(schedule), limit);
        CHECK(same_bits(whole.all, newton(start, {.limit = limit, .schedule = schedule}).all));
      }
  }
  CHECK(newton(30, {}).all[1] == Approx(0.5 / std::sqrt(2.0)));
}

TEST_CASE("with a tape limit nested loops, loops in branches, and second gradients agree", "[tape_limit]") {
  auto const nest = [](double at, tape_options const& first, tape_options const& second) {
    ct::dynamic::graph g;
    auto const x = g.input<double>("x"), w = g.input<double>("w");
    auto const inner = [&](auto y) {
      return ct::for_loop(
          6, [&](auto j, auto z) { return ct::sin(z * w) + 0.1 * ct::convert<double>(j); }, y);
    };
    auto const y = ct::for_loop(
        9,
        [&](auto i, auto v) {
          return ct::cond(
                     v > 0.2, [&](auto u) { return inner(u); },
                     [&](auto u) { return ct::exp(u * w) + u; })(v) +
                 0.01 * ct::convert<double>(i);
        },
        x);
    auto const d = g.gradient({y}, {x, w}, {}, {.tape = first});
    auto const e = g.gradient({d[0] * d[0] + d[1]}, {x, w}, {}, {.tape = second});
    auto p = g.compile({y, d[0], d[1], e[0], e[1]});
    p.bind(x, at);
    p.bind(w, 0.9);
    return run(p, y, d[0], d[1], e[0], e[1]).all;
  };
  for (double const at : {-0.4, 0.3}) {
    auto const whole = nest(at, {}, {});
    for (auto const first : {checkpoints::automatic, checkpoints::equally_spaced, checkpoints::binomial})
      for (auto const second : {checkpoints::automatic, checkpoints::equally_spaced, checkpoints::binomial}) {
        CAPTURE(at, static_cast<int>(first), static_cast<int>(second));
        auto const again =
            nest(at, {.limit = 20000, .schedule = first}, {.limit = 40000, .schedule = second});
        for (std::size_t k = 0; k < 3; ++k) CHECK(whole[k] == again[k]);
        for (std::size_t k = 3; k < 5; ++k) CHECK(again[k] == Approx(whole[k]).epsilon(1e-12));
      }
  }
}

TEST_CASE("second gradients of nests with a tape limit grow no faster than the nest", "[tape_limit]") {
  struct grown {
    std::vector<double> values;
    int nodes = 0;
  };
  auto const twice = [](int depth, int times, tape_options const& first, tape_options const& second) {
    ct::dynamic::graph g;
    auto const x = g.input<double>("x", {width}), w = g.input<double>("w", {width});
    auto const layer = [&](auto const& self, int left, expr<double> const& v) -> expr<double> {
      if (left == 0) return ct::sin(v * w) + 0.1 * v;
      return ct::for_loop(times, [&](auto, auto u) { return self(self, left - 1, u) + 0.01 * u; }, v);
    };
    auto const d = g.gradient({ct::sum(layer(layer, depth, x))}, {x, w}, {}, {.tape = first});
    auto const e = g.gradient({ct::sum(d[0] * d[0]) + ct::sum(d[1])}, {x, w}, {}, {.tape = second});
    grown r;
    r.nodes = g.get().nodes.size();
    auto p = g.compile({e[0], e[1]});
    auto const at_x = numbers(width, 5), at_w = numbers(width, 6);
    p.bind(x, at_x);
    p.bind(w, at_w);
    r.values = run(p, e[0], e[1]).all;
    return r;
  };
  for (auto const schedule : {checkpoints::automatic, checkpoints::equally_spaced, checkpoints::binomial}) {
    for (int depth = 1; depth <= 4; ++depth) {
      CAPTURE(depth, static_cast<int>(schedule));
      grown const whole = twice(depth, 4, {}, {});
      grown const again =
          twice(depth, 4, {.limit = 20000, .schedule = schedule}, {.limit = 40000, .schedule = schedule});
      CHECK(again.nodes <= 800 * depth);
      REQUIRE(whole.values.size() == again.values.size());
      for (std::size_t k = 0; k < whole.values.size(); ++k)
        CHECK(again.values[k] == Approx(whole.values[k]).epsilon(1e-9).margin(1e-9));
    }
    // room for many places makes no more nodes
    CHECK(
        twice(1, 30, {.limit = 30000, .schedule = schedule}, {.limit = 60000, .schedule = schedule}).nodes <=
        600);
  }
}

TEST_CASE("a tape limit below the record of one iteration is refused with its size", "[tape_limit]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {100});
  auto const y = ct::sum(ct::for_loop(50, [](auto, auto v) { return ct::sin(v) * v; }, x));
  auto const nodes = g.get().nodes.size();
  try {
    (void)g.gradient({y}, {x}, {}, {.tape = {.limit = 2000}});
    FAIL("was not refused");
  } catch (ct::shape_error const& e) {
    std::string const words = e.what();
    CAPTURE(words);
    CHECK(words.find("the tape limit must hold") != std::string::npos);
    CHECK(words.find("2000") != std::string::npos);
    CHECK(words.find("tape_limit.cpp") != std::string::npos);
  }
  CHECK(g.get().nodes.size() == nodes);
  auto const dx = g.gradient({y}, {x}, {}, {.tape = {.limit = 20000}}).front(); // and it can be asked again
  auto p = g.compile({dx});
  p.bind(x, numbers(100, 4));
  p.run();
  CHECK(p.tape_bytes() <= 20000);
}

/// A random nest of loops and branches: its value and its gradients up to an order; with marks some statements are in
/// checkpointed blocks.
outcome nested(std::uint64_t seed, int orders, tape_options const& options, std::uint64_t marks = 0,
               bool always = false) {
  using namespace ct;
  int const elements = 1 + static_cast<int>(seed / 3 % 2);
  std::vector<double> at;
  reference::dice d(seed + 31);
  for (int k = 0; k < reference::nest_slots * elements; ++k) at.push_back(d.between(-1, 1));
  reference::nest<reference::nest_in_graph> const drawn(seed + 5000, 1 + static_cast<int>(seed % 3), elements,
                                                        element::float64, at.data(), orders, options,
                                                        reference::few_codes, marks);
  if (drawn.b.failed().why != nullptr) FAIL(drawn.b.failed().why->text);
  REQUIRE(verify(drawn.b.get()));
  graph simple = simplify(drawn.b.get());
  outcome r;
  r.nodes = -simple.nodes.size();
  if (marks != 0) simple = detail::recompute_blocks(simple, always);
  r.nodes += simple.nodes.size();
  REQUIRE(verify(simple));
  interpreter const p(simple);
  std::vector<std::vector<double>> out;
  std::vector<void const*> from;
  std::vector<void*> to;
  for (int k = 0; k < p.input_count(); ++k) from.push_back(at.data() + k * elements);
  for (int k = 0; k < p.output_count(); ++k)
    to.push_back(out.emplace_back(static_cast<std::size_t>(p.output_elements(k)), -7).data());
  dynamic::detail::block memory(static_cast<std::size_t>(p.workspace_bytes() + 64));
  ct::detail::tape kept;
  REQUIRE(p.run(from.data(), to.data(), memory.data(), &kept) == status::ok);
  for (auto const& y : out) r.all.insert(r.all.end(), y.begin(), y.end());
  r.tape = kept.bytes();
  return r;
}

TEST_CASE("random nests of loops and branches have the same gradients with a tape limit", "[tape_limit]") {
  auto const schedule = GENERATE(checkpoints::automatic, checkpoints::equally_spaced, checkpoints::binomial);
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(static_cast<int>(schedule), seed);
    std::int64_t const limit = 60000;
    CHECK(same_bits(nested(seed, 1, {}).all, nested(seed, 1, {limit, schedule}).all));
    if (seed % 6 != 0) continue;
    auto const twice = nested(seed, 2, {}).all, again = nested(seed, 2, {5 * limit, schedule}).all;
    REQUIRE(twice.size() == again.size());
    for (std::size_t k = 0; k < twice.size(); ++k)
      CHECK(again[k] == Approx(twice[k]).epsilon(1e-9).margin(1e-9));
  }
}

TEST_CASE("random nests with checkpointed blocks have the same gradients of all orders, bit by bit",
          "[tape_limit]") {
  auto const schedule = GENERATE(checkpoints::automatic, checkpoints::equally_spaced, checkpoints::binomial);
  int changed = 0;
  std::int64_t with = 0, without = 0;
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    tape_options const options{schedule == checkpoints::automatic ? 0 : 400000, schedule};
    int const orders = options.limit > 0 ? 1 + (seed % 6 == 0) : seed % 6 == 0 ? 3 : 2;
    outcome const marked = nested(seed, orders, options, seed + 77, seed % 4 > 1),
                  plain = nested(seed, orders, options);
    CAPTURE(static_cast<int>(schedule), seed, orders);
    CHECK(same_bits(marked.all, plain.all));
    changed += marked.nodes != 0;
    with += marked.tape;
    without += plain.tape;
  }
  CHECK(changed > 8);
  CHECK(with < without);
}

TEST_CASE("a small tape limit over many iterations costs a few runs, not one run for each slot",
          "[tape_limit]") {
  using namespace ct::detail;
  // one number is carried and recorded: 4,096 bytes hold 8 bytes a place to go on from and 8 of sums
  tape_sizes const bytes{.state = 8, .place = 16, .record = 8, .fixed = 2 * sequence_bytes};
  for (std::int64_t const trips : {std::int64_t{10000}, std::int64_t{100000}, std::int64_t{1000000}}) {
    tape_schedule const s = schedule_of({.limit = 4096}, bytes, -1, false);
    std::int64_t const units = (trips + s.segment - 1) / s.segment;
    CAPTURE(trips, s.segment, s.places);
    CHECK(s.segment > 300); // blocks of iterations are recorded at once
    CHECK(double(s.segment) * fewest_runs(units, s.places) < 9 * double(trips));
  }
  ct::dynamic::graph g;
  auto const a = g.input<double>("a");
  auto const n = g.input<std::int64_t>("n");
  auto const y = ct::for_loop(n, [](auto, auto s) { return ct::sin(s) + 0.5; }, a);
  std::vector<double> results;
  for (std::int64_t const limit : {std::int64_t{0}, std::int64_t{4096}}) {
    auto const d = g.gradient({y}, {a}, {}, {.tape = {.limit = limit}}).front();
    auto p = g.compile({y, d});
    double const at = 1;
    std::int64_t const trips = 20000;
    p.bind(a, at);
    p.bind(n, trips);
    p.run();
    results.push_back(double(p.value(d)));
    if (limit > 0) CHECK(p.tape_bytes() <= limit);
  }
  CHECK(std::memcmp(&results[0], &results[1], 8) == 0);
}

TEST_CASE("slots and segments are chosen for the least work within the bytes, and for the fewest slots",
          "[tape_limit]") {
  using namespace ct::detail;
  for (int places = 1; places <= 4; ++places) { // by search: where the next place stands, and both parts
    std::vector<std::vector<double>> least(std::size_t(places) + 1, std::vector<double>(61, 0));
    for (std::size_t s = 0; s < least.size(); ++s)
      for (std::size_t u = 2; u < least[s].size(); ++u) {
        least[s][u] = 1e18;
        for (std::size_t a = 1; a < u && s > 0; ++a)
          least[s][u] = std::fmin(least[s][u], double(a) + least[s - 1][u - a] + least[s][a]);
      }
    for (std::size_t u = 0; u <= 60; ++u)
      CHECK(fewest_runs(std::int64_t(u), places) == least[std::size_t(places)][u]);
  }
  // 10,000 iterations: 8 KiB to go on from, 16 KiB of sums, 16 KiB a record
  tape_sizes const bytes{.state = 8192, .place = 25600, .record = 16384, .fixed = 768};
  auto const chosen = [&](std::int64_t kib, std::int64_t trips = 10000) {
    return schedule_of({.limit = kib * 1024, .schedule = checkpoints::binomial}, bytes, trips, false);
  };
  auto const runs = [&](tape_schedule const& s) {
    std::int64_t const units = (10000 + s.segment - 1) / s.segment;
    return double(s.segment) * fewest_runs(units, s.places);
  };
  double before = 1e18;
  for (std::int64_t const kib : {64, 80, 96, 128, 192, 256, 512, 1024}) {
    tape_schedule const s = chosen(kib);
    CAPTURE(kib, s.segment, s.places);
    REQUIRE(s.by == tape_schedule::binomial);
    CHECK(s.segment * bytes.record + s.places * bytes.place + bytes.state + bytes.fixed <= kib * 1024);
    CHECK(runs(s) <= before);
    double const all = 3 * 10000; // recorded and reversed
    for (int places = 1; places <= most_places; ++places)
      if (std::int64_t const left = kib * 1024 - bytes.fixed - bytes.state - places * bytes.place;
          left >= bytes.record) {
        double const other = runs({tape_schedule::binomial, left / bytes.record, places, 0});
        CHECK(runs(s) + all <= work_for_fewer_places * (other + all));
        if (places < s.places) { // each place saves work
          bool needed = false;
          for (int more = places + 1; more <= most_places; ++more)
            if (std::int64_t const rest = kib * 1024 - bytes.fixed - bytes.state - more * bytes.place;
                rest >= bytes.record)
              needed =
                  needed ||
                  other + all > work_for_fewer_places *
                                    (runs({tape_schedule::binomial, rest / bytes.record, more, 0}) + all);
          CHECK(needed);
        }
      }
    before = runs(s) * work_for_fewer_places + (work_for_fewer_places - 1) * all;
  }
  CHECK(runs(chosen(128)) < 30 * 10000);
  for (std::int64_t const kib : {64, 128, 1024}) { // an unknown number of iterations
    tape_schedule const s = chosen(kib, -1);
    for (std::int64_t const trips : trips_of_schedules) {
      auto const work = [&](tape_schedule const& of) {
        return double(of.segment) * fewest_runs((trips + of.segment - 1) / of.segment, of.places) +
               3 * double(trips);
      };
      for (int places = 1; places <= most_places; ++places)
        if (std::int64_t const left = kib * 1024 - bytes.fixed - bytes.state - places * bytes.place;
            left >= bytes.record)
          CHECK(work(s) <= work_for_unknown_trips * work({tape_schedule::binomial, left / bytes.record, places, 0}));
    }
  }
  CHECK(chosen(32).by == tape_schedule::impossible);
}
