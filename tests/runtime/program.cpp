// SPDX-License-Identifier: BSL-1.0
// No checked calls here: these tests are also built without exceptions.
#include "allocations.hpp"
#include "catch.hpp"

#include <cotangent/cotangent.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
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

TEST_CASE("run writes the results to the given memory") {
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

TEST_CASE("run accepts every kind of memory") {
  std::array<double, 4> const x{1, 2, 3, 4};
  std::vector<double> y(4);
  alignas(64) std::byte memory[twice::workspace_bytes + 64];
  REQUIRE(twice::run(memory, std::tie(x), y) == ct::status::ok);
  CHECK(y == std::vector<double>{2, 4, 6, 8});
}

TEST_CASE("run reports invalid arguments, and changes nothing") {
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

TEST_CASE("results must not overlap each other, at any address") {
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

TEST_CASE("arguments and results of loop nests must be disjoint or equal, at any address and size") {
  using row = ct::view<float const, "n">;
  using P = ct::program<decltype(ct::compiled([](auto v, auto s) { return std::tuple(v * 2.0, ct::sum(v), s * 3.0); })), row, double>;
  static_assert(P::may_be_in_place_of(0, 0) && P::graph.extent_count == 1);
  alignas(64) unsigned char room[256];
  int refused = 0, taken = 0;
  for (std::int64_t n = 0; n < 4; ++n)
    for (int number = 0; number < 4; ++number)
      for (int row_at = 0; row_at < 8; ++row_at)
        for (int sum_at = 0; sum_at < 8; ++sum_at)
          for (int product_at = 0; product_at < 4; ++product_at) {
            alignas(8) float at[12] = {1, 2, 3, 4, 5, 6, 7, 8};
            struct bytes {
              std::int64_t from, count;
              bool is_argument;
            } const leaf[]{{8, 4 * n, true}, {8 * number, 8, true}, {4 * row_at, 4 * n, false}, {4 * sum_at, 4, false}, {8 * product_at, 8, false}};
            bool good = true;
            for (int k = 2; k < 5; ++k)
              for (int j = 0; j < k; ++j) {
                bytes const &a = leaf[j], &b = leaf[k];
                bool const same = a.is_argument && a.from == b.from && a.count == b.count;
                good &= a.count == 0 || b.count == 0 || same || a.from + a.count <= b.from || b.from + b.count <= a.from;
              }
            auto const as_double = [&](int k) { return reinterpret_cast<double*>(&at[2 * k]); };
            ct::status const s =
                P::run(room, std::tuple<row, double const&>(row(&at[2], n), *as_double(number)),
                       std::tuple<ct::view<float, "n">, float&, double&>(ct::view<float, "n">(&at[row_at], n), at[sum_at], *as_double(product_at)));
            if (s != (good ? ct::status::ok : ct::status::overlap)) FAIL_CHECK(n << " " << number << " " << row_at << " " << sum_at << " " << product_at);
            (good ? taken : refused) += 1;
          }
  CHECK((refused > 1000 && taken > 200));
  double number = 1;
  float sum = 0;
  float const x[2] = {1, 2};
  CHECK(P::run(room, std::tuple<row, double&>(row(x, 2), number), std::tuple<ct::view<float, "n">, float&, double&>(ct::view<float, "n">(static_cast<float*>(nullptr), 2), sum, number)) ==
        ct::status::null_argument);
}

namespace {
template <class T> void find_nan_anywhere() {
  using row = ct::view<T const, "n">;
  using P = ct::program<decltype(ct::compiled([](auto v) { return std::tuple(ct::max(v), ct::min(v)); })), row>;
  T largest{}, smallest{};
  auto const nan = ct::math::bits_t<T>{-1}; // as bits: there is no such number for clang with -ffast-math
  for (std::int64_t n = 1; n < 140; n += n < 70 ? 1 : 23) {
    std::vector<T> x(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(i * 7 % x.size()) - 3;
    auto const run = [&] { return P::run(nullptr, std::tuple<row>(row(x.data(), n)), std::tie(largest, smallest)); };
    REQUIRE(run() == ct::status::ok);
    CHECK((largest == *std::max_element(x.begin(), x.end()) && smallest == *std::min_element(x.begin(), x.end())));
    int missed = 0;
    for (T& here : x) {
      T const before = here;
      std::memcpy(&here, &nan, sizeof here);
      REQUIRE(run() == ct::status::ok);
      missed += !ct::math::is_nan(largest) + !ct::math::is_nan(smallest);
      here = before;
    }
    CHECK(missed == 0);
  }
}
} // namespace

TEST_CASE("a NaN anywhere in a row is its maximum and its minimum") {
  find_nan_anywhere<float>();
  find_nan_anywhere<double>();
}

namespace {
inline constexpr auto of_few = [](auto const& p) { return ct::sum(p[0][0] * p[0][1] + p[3][7] * p[19][19]); };
template <template <class, ct::extent...> class T> using square_of = std::array<std::array<T<double, 100>, 20>, 20>;
} // namespace

TEST_CASE("a tree of 20 x 20 tensors is checked like a small one") {
  using P = ct::program<decltype(ct::grad(of_few)), square_of<ct::tensor>>;
  static square_of<ct::tensor> p;
  static square_of<ct::view> to, wrong;
  static double memory[100 * 400 + 1];
  for (int k = 0; k < 400; ++k) {
    p[std::size_t(k / 20)][std::size_t(k % 20)](0) = k + 1.0;
    p[std::size_t(k / 20)][std::size_t(k % 20)](1) = k + 0.5;
    to[std::size_t(k % 20)][std::size_t(k / 20)] = ct::view<double, 100>(&memory[100 * k]); // in no order
  }
  P::workspace space;
  REQUIRE(P::run(space, std::tie(p), to) == ct::status::ok);
  CHECK((to[0][0](1) == 1.5 && to[0][1](0) == 1 && to[3][7](0) == 400 && to[19][19](1) == 67.5));
  CHECK((to[5][5](0) == 0 && to[19][0](1) == 0));
  auto const said = [&](double* at) {
    wrong = to;
    wrong[7][3] = at == nullptr ? ct::view<double, 100>() : ct::view<double, 100>(at);
    return P::run(space, std::tie(p), wrong);
  };
  CHECK(said(nullptr) == ct::status::null_argument);
  CHECK(said(to[7][3].data() + 1) == ct::status::overlap);
  CHECK(said(to[12][9].data()) == ct::status::overlap);
  CHECK(said(p[11][2].data()) == ct::status::ok); // which nothing reads
  CHECK(p[11][2](0) == 0);
  bool const may_be = P::may_be_in_place_of(7 * 20 + 3, 0);
  CHECK(said(p[0][0].data()) == (may_be ? ct::status::ok : ct::status::workspace_too_small));
  CHECK(said(p[0][0].data() + 1) == ct::status::overlap);
}

namespace {
inline constexpr auto neighbors = [](auto first, auto... rest) {
  auto sum = first * first;
  auto last = first;
  ((sum = sum + last * rest, last = rest), ...);
  return sum;
};

/// The gradient of `neighbors` written to to[place[0]], to[place[1]], ...
template <std::size_t... K>
ct::status scatter_gradient(double const* x, double* to, std::size_t const* place, std::index_sequence<K...>) {
  using P = ct::program<decltype(ct::grad<static_cast<int>(K)...>(neighbors)), std::remove_const_t<decltype(x[K] * 1)>...>;
  return P::run(nullptr, std::tie(x[K]...), std::tie(to[place[K]]...));
}

template <std::size_t Count> void scatter_in_every_order() {
  double x[Count];
  std::size_t place[Count];
  for (std::size_t k = 0; k < Count; ++k) x[k] = 1.0 + static_cast<double>(k % 5);
  std::mt19937 random(3);
  int wrong = 0;
  for (int round = 0; round < 300; ++round) {
    for (std::size_t k = 0; k < Count; ++k) place[k] = k;
    if (round % 3 == 1) std::reverse(place, place + Count);
    if (round % 3 == 2) std::shuffle(place, place + Count, random);
    std::rotate(place, place + random() % Count, place + Count);
    std::size_t const one = random() % Count, other = random() % Count;
    bool const twice_there = round % 2 == 1 && one != other;
    if (twice_there) place[one] = place[other];
    double to[Count] = {};
    ct::status const s = scatter_gradient(x, to, place, std::make_index_sequence<Count>{});
    wrong += s != (twice_there ? ct::status::overlap : ct::status::ok);
    for (std::size_t k = 0; k < Count && s == ct::status::ok; ++k) {
      double const left = k == 0 ? 2 * x[0] : x[k - 1], right = k + 1 < Count ? x[k + 1] : 0;
      wrong += to[place[k]] != left + right;
    }
  }
  CHECK(wrong == 0);
}
} // namespace

TEST_CASE("many numbers are written upwards, downwards and in any order, but no two to one place") {
  scatter_in_every_order<3>();
  scatter_in_every_order<20>();
  scatter_in_every_order<64>();
  scatter_in_every_order<101>(); // more than are checked in a row
}

TEST_CASE("overlaps found by sorting agree with comparing all pairs") {
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

TEST_CASE("a result may alias an argument exactly") {
  ct::tensor<double, 4> x{1, 2, 3, 4};
  twice::workspace memory;
  REQUIRE(twice::run(memory, std::tie(x), x) == ct::status::ok);
  CHECK(x == ct::tensor<double, 4>{2, 4, 6, 8});
}

TEST_CASE("an argument that is read after its result is written is copied first") {
  using matrix = ct::tensor<double, 12, 12>;
  using P = ct::program<decltype(ct::compiled([](auto x) { return ct::transpose(x) + x; })), matrix>;
  static_assert(twice::may_be_in_place_of(0, 0) && !P::may_be_in_place_of(0, 0));
  static_assert(P::workspace_bytes_in_place == P::workspace_bytes + 12 * 12 * 8 && twice::workspace_bytes_in_place == 0);
  matrix x;
  for (int i = 0; i < 144; ++i) x.data()[i] = i * i;
  matrix const before = x;
  P::workspace small;
  CHECK(P::run(small, std::tie(x), x) == ct::status::workspace_too_small);
  P::workspace_in_place memory;
  CHECK(P::run(static_cast<void*>(&memory), std::tie(x), x) == ct::status::workspace_too_small); // of unknown size
  CHECK(x == before);
  REQUIRE(P::run(memory, std::tie(x), x) == ct::status::ok);
  for (int i = 0; i < 12; ++i)
    for (int j = 0; j < 12; ++j) REQUIRE(x(i, j) == before(i, j) + before(j, i));
}

namespace {

/// Runs with each result in place of each argument of its size, and compares with results that lie apart.
template <class P, int Results, class Tree, class... X>
int in_place_of_every_argument(ct::view<Tree const, "n", 16> const& first_argument, X const&... more) {
  using rows = ct::view<Tree const, "n", 16>;
  constexpr int count = 1 + static_cast<int>(sizeof...(X));
  std::vector<std::vector<Tree>> arguments{std::vector<Tree>(first_argument.begin(), first_argument.end()), std::vector<Tree>(more.begin(), more.end())...};
  std::size_t const n = arguments[0].size(), plain = P::workspace_for(first_argument, more...), with_copies = P::workspace_in_place_for(first_argument, more...);
  auto const run = [&](int result, int argument, bool enough) {
    auto in = arguments;
    std::vector<std::vector<Tree>> out(Results, std::vector<Tree>(n, Tree(-7)));
    auto const place = [&](int k) { return k == result ? in[static_cast<std::size_t>(argument)].data() : out[static_cast<std::size_t>(k)].data(); };
    bool const copied = result >= 0 && !P::may_be_in_place_of(result, argument);
    std::size_t const room = copied && enough ? with_copies : plain;
    std::vector<unsigned char> block(room + 64);
    void* first = block.data();
    std::size_t all = block.size();
    static_cast<void>(std::align(64, room, first, all));
    std::span<unsigned char> const workspace(static_cast<unsigned char*>(first), room);
    auto const m = static_cast<std::ptrdiff_t>(n);
    auto const lines = m / 16;
    ct::status s{};
    if constexpr (count == 1 && Results == 1)
      s = P::run(workspace, std::tuple(rows(in[0].data(), lines)), std::tuple(ct::view<Tree, "n", 16>(place(0), lines)));
    else
      s = P::run(workspace, std::tuple(rows(in[0].data(), lines), rows(in[1].data(), lines)),
                 std::tuple(ct::view<Tree, "n", 16>(place(0), lines), ct::view<Tree, "n", 16>(place(1), lines)));
    if (copied && !enough) CHECK(s == ct::status::workspace_too_small);
    else REQUIRE(s == ct::status::ok);
    for (int k = 0; k < static_cast<int>(in.size()); ++k)
      if (k != argument || result < 0) CHECK(in[static_cast<std::size_t>(k)] == arguments[static_cast<std::size_t>(k)]);
    std::vector<std::vector<Tree>> found;
    for (int k = 0; k < Results; ++k) found.emplace_back(place(k), place(k) + n);
    return found;
  };
  auto const wanted = run(-1, -1, true);
  int without_copy = 0;
  for (int r = 0; r < Results; ++r)
    for (int a = 0; a < count; ++a) {
      CAPTURE(r, a);
      CHECK(run(r, a, true) == wanted);
      if (P::may_be_in_place_of(r, a)) ++without_copy;
      else static_cast<void>(run(r, a, false));
    }
  return without_copy;
}

template <class T> void several_stages_in_place() {
  using rows = ct::view<T const, "n", 16>;
  std::vector<T> a(21 * 16), b(21 * 16);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<T>(std::sin(0.7 * static_cast<double>(i))), b[i] = static_cast<T>(std::cos(1.3 * static_cast<double>(i)));
  rows const x(a.data(), 21), y(b.data(), 21);
  using softmax = ct::program<decltype(ct::compiled([](auto u) { return ct::softmax(u); })), rows>;
  using normalized = ct::program<decltype(ct::compiled([](auto u) {
                                   auto const centered = u - ct::mean(u, ct::axes<1>, ct::keep);
                                   return centered / ct::sqrt(ct::mean(centered * centered, ct::axes<1>, ct::keep) + 0.125);
                                 })), rows>;
  using over_columns = ct::program<decltype(ct::compiled([](auto u) { return ct::softmax<0>(u); })), rows>;
  using gradients = ct::program<decltype(ct::grad<0, 1>([](auto u, auto v) { return ct::sum(ct::logsumexp(u * v, ct::axes<1>)); })), rows, rows>;
  using late = ct::program<decltype(ct::compiled([](auto u) { return u - ct::sum(ct::softmax(u), ct::axes<0>); })), rows>;
  CHECK(in_place_of_every_argument<softmax, 1, T>(x) == 1);
  CHECK(in_place_of_every_argument<normalized, 1, T>(x) == 1);
  static_cast<void>(in_place_of_every_argument<over_columns, 1, T>(x));
  static_cast<void>(in_place_of_every_argument<gradients, 2, T>(x, y));
  static_cast<void>(in_place_of_every_argument<late, 1, T>(x));
}

} // namespace

TEST_CASE("rows that are reduced and then changed are updated in place, in double and in float") {
  several_stages_in_place<double>();
  several_stages_in_place<float>();
}

TEST_CASE("a long row is updated in place by several stages") {
  using row = ct::tensor<double, 300>;
  using P = ct::program<decltype(ct::compiled([](auto u) { return ct::softmax(u); })), row>;
  using Q = ct::program<decltype(ct::compiled([](auto u) { return ct::exp(u) / ct::sum(ct::exp(u)) + u; })), row>;
  static_assert(P::may_be_in_place_of(0, 0));
  row u, p, q;
  for (int i = 0; i < 300; ++i) u(i) = std::sin(i);
  auto const check = [&]<class Program>(Program, row& apart) {
    typename Program::workspace_in_place memory;
    REQUIRE(Program::run(memory, std::tie(u), apart) == ct::status::ok);
    row in_place = u;
    REQUIRE(Program::run(memory, std::tie(in_place), in_place) == ct::status::ok);
    CHECK(in_place == apart);
  };
  check(P(), p);
  check(Q(), q);
  double sum = 0;
  for (int i = 0; i < 300; ++i) {
    sum += p(i);
    CHECK(q(i) == Approx(p(i) + u(i)));
  }
  CHECK(sum == Approx(1));
}

TEST_CASE("a result may alias two equal arguments, even if one of them must be copied") {
  using matrix = ct::tensor<double, 12, 12>;
  using P = ct::program<decltype(ct::compiled([](auto x, auto y) { return std::tuple(ct::transpose(x) + y, ct::sum(x)); })), matrix, matrix>;
  static_assert(!P::may_be_in_place_of(0, 0));
  matrix x, apart;
  for (int i = 0; i < 144; ++i) x.data()[i] = i;
  double sums[2] = {};
  P::workspace_in_place memory;
  REQUIRE(P::run(memory, std::tie(x, x), std::tie(apart, sums[0])) == ct::status::ok);
  matrix together = x;
  REQUIRE(P::run(memory, std::tie(together, together), std::tie(together, sums[1])) == ct::status::ok);
  CHECK(together == apart);
  CHECK(sums[0] == 144 * 143 / 2);
  CHECK(sums[1] == sums[0]);
  matrix const before = x;
  double room[288] = {};
  ct::view<double, 12, 12> first(&room[0]), second(&room[100]);
  CHECK(P::run(memory, std::tie(first, x), std::tie(second, sums[0])) == ct::status::overlap);
  CHECK(x == before);
}

TEST_CASE("a small program loads everything before it stores, so a result may alias any argument") {
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

TEST_CASE("with named extents, the size of the workspace follows from the arguments") {
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
