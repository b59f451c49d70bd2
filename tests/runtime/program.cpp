// SPDX-License-Identifier: BSL-1.0
// No checked calls here: these tests are also built without exceptions.
#include "allocations.hpp"
#include "catch.hpp"

#include <cotangent/cotangent.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <random>
#include <thread>
#include <tuple>
#include <vector>

namespace ct = cotangent;

namespace {
inline constexpr auto loss = [](auto x, auto y) { return ct::mean(ct::square(ct::exp(x) - y)); };
inline constexpr auto doubled = [](auto x) { return x * 2; };

using gradient =
    ct::program<decltype(ct::value_and_grad(loss)), ct::tensor<double, 5>, ct::tensor<double, 5>>;
using twice = ct::program<decltype(doubled), ct::tensor<double, 4>>;
using named = ct::program<decltype(ct::compiled(loss)), ct::tensor<double, "n">, ct::tensor<double, "n">>;
} // namespace

TEST_CASE("run writes the results where it is told to") {
  ct::tensor<double, 5> const x{1, 2, 3, 4, 5}, y{5, 4, 3, 2, 1};
  static_assert(gradient::workspace_bytes <= 4096 && gradient::flops > 0 && gradient::graph.node_count > 0);
  gradient::workspace memory;
  double value = 0;
  ct::tensor<double, 5> dx;
  REQUIRE(gradient::run(memory, std::tie(x, y), std::tie(value, dx)) == ct::status::ok);
  double sum = 0;
  for (int i = 0; i < 5; ++i) {
    double const off = std::exp(x(i)) - y(i);
    sum += off * off / 5;
    CHECK(dx(i) == Approx(2 * off * std::exp(x(i)) / 5));
  }
  CHECK(value == Approx(sum));
  gradient::result all;
  REQUIRE(gradient::run(memory, std::tie(x, y), all) == ct::status::ok);
  CHECK(all == gradient::result(value, dx));
}

TEST_CASE("run takes whatever lies in memory") {
  std::array<double, 4> const x{1, 2, 3, 4};
  std::vector<double> y(4);
  alignas(64) std::byte memory[twice::workspace_bytes + 64];
  REQUIRE(twice::run(memory, std::tie(x), y) == ct::status::ok);
  CHECK(y == std::vector<double>{2, 4, 6, 8});
}

TEST_CASE("run says what is wrong, and changes nothing") {
  ct::tensor<double, 4> x{1, 2, 3, 4}, y;
  twice::workspace memory;
  std::vector<double> short_result(3);
  CHECK(twice::run(memory, std::tie(x), short_result) == ct::status::size_mismatch);
  using large = ct::program<decltype(ct::compiled([](auto v) { return v * 2.0; })), ct::tensor<double, 100>>;
  double buffer[101] = {1, 2};
  ct::view<double, 100> first(&buffer[0]), shifted(&buffer[1]);
  large::workspace room;
  CHECK(large::run(room, std::tie(first), shifted) == ct::status::overlap);
  ct::view<double, 4> nothing;
  CHECK(twice::run(memory, std::tie(nothing), y) == ct::status::null_argument);
  CHECK(buffer[1] == 2);
}

TEST_CASE("results must not overlap each other, wherever they lie") {
  using P = ct::program<decltype(ct::compiled([](auto v) { return std::tuple(v * 2.0, v * 3.0, ct::sum(v)); })), ct::tensor<double, 4>>;
  ct::tensor<double, 4> const x{1, 2, 3, 4};
  double to[20] = {};
  int refused = 0;
  for (int first = 0; first < 12; ++first)
    for (int second = 0; second < 12; ++second)
      for (int third = 0; third < 12; ++third) {
        ct::view<double, 4> a(&to[first]), b(&to[second]);
        bool const apart = (first + 4 <= second || second + 4 <= first) && (third < first || third >= first + 4) &&
                           (third < second || third >= second + 4);
        ct::status const s = P::run(nullptr, std::tie(x), std::tie(a, b, to[third]));
        if ((s == ct::status::ok) != apart) FAIL_CHECK(first << " " << second << " " << third);
        refused += s == ct::status::overlap;
      }
  CHECK(refused > 100);
}

namespace {
inline constexpr auto of_few = [](auto const& p) { return ct::sum(p[0][0] * p[0][1] + p[3][7] * p[19][19]); };
template <template <class, ct::extent...> class T> using square_of = std::array<std::array<T<double, 2>, 20>, 20>;
} // namespace

TEST_CASE("a tree of 20 x 20 tensors is looked at like a small one") {
  using P = ct::program<decltype(ct::grad(of_few)), square_of<ct::tensor>>;
  static square_of<ct::tensor> p;
  static square_of<ct::view> to, wrong;
  static double memory[2 * 400 + 1];
  for (int k = 0; k < 400; ++k) {
    p[std::size_t(k / 20)][std::size_t(k % 20)] = {k + 1.0, k + 0.5};
    to[std::size_t(k % 20)][std::size_t(k / 20)] = ct::view<double, 2>(&memory[2 * k]); // in no order
  }
  P::workspace space;
  REQUIRE(P::run(space, std::tie(p), to) == ct::status::ok);
  CHECK((to[0][0](1) == 1.5 && to[0][1](0) == 1 && to[3][7](0) == 400 && to[19][19](1) == 67.5));
  CHECK((to[5][5](0) == 0 && to[19][0](1) == 0));
  auto const said = [&](double* at) {
    wrong = to;
    wrong[7][3] = at == nullptr ? ct::view<double, 2>() : ct::view<double, 2>(at);
    return P::run(space, std::tie(p), wrong);
  };
  CHECK(said(nullptr) == ct::status::null_argument);
  CHECK(said(to[7][3].data() + 1) == ct::status::overlap);
  CHECK(said(to[12][9].data()) == ct::status::overlap);
  CHECK(said(p[11][2].data()) == ct::status::ok); // which nothing reads
  CHECK(p[11][2](0) == 0);
  bool const may_be = P::may_be_in_place_of(7 * 20 + 3, 0);
  CHECK(said(p[0][0].data()) == (may_be ? ct::status::ok : ct::status::overlap));
  CHECK(said(p[0][0].data() + 1) == ct::status::overlap);
}

TEST_CASE("what lies on what is found by sorting as by comparing all") {
  std::mt19937 random(7);
  int met = 0;
  for (int round = 0; round < 4000; ++round) {
    static char memory[200];
    constexpr int n = 4;
    ct::detail::byte_range at[2 * n];
    bool leave[n][n];
    for (ct::detail::byte_range& r : at) r = {memory + random() % 160, static_cast<std::int64_t>(random() % 6)};
    for (auto& row : leave)
      for (bool& l : row) l = random() % 2 == 0;
    for (int k = 0; k < n; k += 2) at[k] = at[n + static_cast<int>(random() % n)]; // some exactly
    auto const may_be = [&](int j, int k) { return leave[j][k]; };
    bool meet = false;
    for (int k = 0; k < n; ++k) {
      auto const on = [&](ct::detail::byte_range const& o) { return o.bytes > 0 && at[n + k].bytes > 0 && at[n + k].overlaps(o); };
      for (int j = 0; j < k; ++j) meet |= on(at[n + j]);
      for (int j = 0; j < n; ++j) meet |= on(at[j]) && !(at[n + k].is(at[j]) && leave[j][k]);
    }
    int order[n];
    if (ct::detail::any_collides(at, n, at + n, n, order, may_be) != meet) FAIL_CHECK(round);
    met += meet;
  }
  CHECK((met > 400 && met < 3600));
}

TEST_CASE("a result may be an argument exactly") {
  ct::tensor<double, 4> x{1, 2, 3, 4};
  twice::workspace memory;
  REQUIRE(twice::run(memory, std::tie(x), x) == ct::status::ok);
  CHECK(x == ct::tensor<double, 4>{2, 4, 6, 8});
}

TEST_CASE("a result must not be an argument that is still read when it is written") {
  using P = ct::program<decltype(ct::compiled([](auto x) { return ct::transpose(x) + x; })),
                        ct::tensor<double, 12, 12>>;
  static_assert(twice::may_be_in_place_of(0, 0) && !P::may_be_in_place_of(0, 0));
  ct::tensor<double, 12, 12> x;
  P::workspace memory;
  CHECK(P::run(memory, std::tie(x), x) == ct::status::overlap);
}

TEST_CASE("a small program loads everything before it stores, so that a result may be any argument") {
  using matrix = ct::tensor<double, 3, 3>;
  using P = ct::program<decltype(ct::compiled([](auto x) { return ct::transpose(x) + x; })), matrix>;
  static_assert(P::may_be_in_place_of(0, 0) && P::workspace_bytes == 0);
  matrix x{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
  REQUIRE(P::run(nullptr, std::tie(x), x) == ct::status::ok);
  CHECK(x == matrix{{2, 6, 10}, {6, 10, 14}, {10, 14, 18}});
  double buffer[6] = {1, 2, 3, 4, 5, 6};
  ct::view<double, 4> first(&buffer[0]), shifted(&buffer[1]);
  REQUIRE(twice::run(nullptr, std::tie(first), shifted) == ct::status::ok);
  CHECK(std::vector<double>(buffer, buffer + 6) == std::vector<double>{1, 2, 4, 6, 8, 6});
}

TEST_CASE("run allocates nothing") {
  ct::tensor<double, "n"> x(1000), y(1000);
  std::vector<std::byte> memory(named::workspace_for(x, y) + 64);
  void* aligned = memory.data();
  std::size_t room = memory.size();
  REQUIRE(std::align(64, named::workspace_for(x, y), aligned, room) != nullptr);
  double value = 0;
  long const before = allocations;
  ct::status const s = named::run(aligned, std::tie(x, y), value);
  long const after = allocations;
  CHECK(s == ct::status::ok);
  CHECK(after == before);
  { std::vector<double> const counted(10); }
  CHECK(allocations > after);
}

TEST_CASE("many threads run one program, each with its own workspace") {
  constexpr int threads = 4;
  ct::tensor<double, 5> const x{1, 2, 3, 4, 5}, y{5, 4, 3, 2, 1};
  gradient::result expected;
  gradient::workspace first;
  REQUIRE(gradient::run(first, std::tie(x, y), expected) == ct::status::ok);
  std::array<int, threads> wrong{};
  std::vector<std::thread> all;
  for (int k = 0; k < threads; ++k)
    all.emplace_back([&, k] {
      gradient::workspace memory;
      for (int i = 0; i < 500; ++i) {
        gradient::result r;
        if (gradient::run(memory, std::tie(x, y), r) != ct::status::ok || !(r == expected))
          ++wrong[static_cast<unsigned>(k)];
      }
    });
  for (std::thread& t : all) t.join();
  for (int const w : wrong) CHECK(w == 0);
}

TEST_CASE("a workspace that is too small or not aligned is refused") {
  using matrix = ct::tensor<double, 16, 16>;
  using P =
      ct::program<decltype(ct::grad([](auto a, auto b) { return ct::sum(ct::tanh(ct::matmul(a, b))); })),
                  matrix, matrix>;
  static_assert(P::workspace_bytes > 64);
  matrix a, b, g;
  std::vector<std::byte> small(64);
  CHECK(P::run(small, std::tie(a, b), g) == ct::status::workspace_too_small);
  P::workspace memory;
  CHECK(P::run(static_cast<void*>(memory.bytes + 8), std::tie(a, b), g) == ct::status::workspace_too_small);
  CHECK(P::run(memory, std::tie(a, b), g) == ct::status::ok);
}

TEST_CASE("where extents have names, the workspace follows from the arguments") {
  ct::tensor<double, "n"> x(100), y(100), z(99);
  std::vector<std::byte> memory(named::workspace_for(x, y) + 64);
  void* aligned = memory.data();
  std::size_t room = memory.size();
  REQUIRE(std::align(64, named::workspace_for(x, y), aligned, room) != nullptr);
  double value = 0;
  REQUIRE(named::run(aligned, std::tie(x, y), value) == ct::status::ok);
  CHECK(value == 1);
  CHECK(named::run(aligned, std::tie(x, z), value) == ct::status::size_mismatch);
}
