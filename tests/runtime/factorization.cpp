// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cotangent/cotangent.hpp>
#include <cotangent/linalg.hpp>
#include <cotangent/memory_budget.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

// Blocked decompositions and solves against the scalar code of the same operations: all bits are equal.

namespace {

namespace ct = cotangent;

/// Numbers in [-1, 1].
template <class T> std::vector<T> blocked_entries(std::int64_t count, std::uint64_t seed) {
  std::vector<T> x(static_cast<std::size_t>(count));
  std::uint64_t state = 88172645463325252u + seed;
  for (T& v : x) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    v = static_cast<T>(static_cast<double>(state >> 11) * 0x1p-52 - 1);
  }
  return x;
}

using stack_sizes = std::array<std::int64_t, 3>;
template <class T> using stacks_of = std::vector<std::pair<std::vector<T>, stack_sizes>>;

/// True if the kernel of Op and its scalar code have the same bits for stacks of matrices, and the same status, which is stored in `status`.
template <class Op, class T>
bool stacks_agree(stacks_of<T> operands, stack_sizes const& sizes, std::vector<std::int64_t> const& attributes, ct::status* status = nullptr) {
  std::vector<T> y[2];
  ct::status found[2]{};
  for (int way = 0; way < 2; ++way) {
    ct::whole_call c;
    for (std::size_t k = 0; k < operands.size(); ++k) c.operand[k] = ct::whole_tensor::of(operands[k].first.data(), 3, operands[k].second.data());
    y[way].assign(static_cast<std::size_t>(sizes[0] * sizes[1] * sizes[2]), std::numeric_limits<T>::infinity());
    c.result = ct::whole_tensor::of(y[way].data(), 3, sizes.data());
    c.attribute = attributes.data();
    c.found = &found[way];
    std::vector<double> scratch(static_cast<std::size_t>(ct::run::whole_scratch_bytes<Op>(c)) / 8 + 1);
    c.scratch = reinterpret_cast<char*>(scratch.data());
    if (way == 0) ct::run::whole<Op>(c);
    else Op::whole(c);
  }
  if (status != nullptr) *status = found[0];
  bool equal = found[0] == found[1];
  for (std::size_t k = 0; k < y[0].size(); ++k) // (the sign of a NaN is arbitrary)
    equal = equal && (std::memcmp(&y[0][k], &y[1][k], sizeof(T)) == 0 || (std::isnan(y[0][k]) && std::isnan(y[1][k])));
  return equal;
}
/// The same for one matrix, with the status that is expected.
template <class Op, class T> bool blocked_agrees(std::vector<std::vector<T>> const& operands, std::vector<std::int64_t> const& rows, std::int64_t n,
                                        std::int64_t result_rows, std::int64_t columns, std::vector<std::int64_t> const& attributes,
                                        ct::status expected = ct::status::ok) {
  stacks_of<T> stacks;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    bool const is_right_side = k > 0 && k + 1 == operands.size();
    stacks.push_back({operands[k], {1, rows[k], is_right_side ? columns : n}});
  }
  ct::status found{};
  return stacks_agree<Op, T>(stacks, {1, result_rows, columns}, attributes, &found) && found == expected;
}

template <class T> std::vector<T> blocked_definite(std::int64_t n) {
  std::vector<T> a = blocked_entries<T>(n * n, 1);
  for (std::int64_t i = 0; i < n; ++i) a[static_cast<std::size_t>(i * n + i)] = static_cast<T>(2 + std::sqrt(static_cast<double>(4 * n)));
  return a;
}

template <class F> void each_blocked_size(F const& f) {
  for (std::int64_t n = 1; n < 60; ++n) f(n);
  for (std::int64_t const n : {63, 64, 96, 97, 150, 261, 300}) f(n);
}

TEMPLATE_TEST_CASE("Blocked Cholesky decompositions have the bits of scalar ones", "", float, double) {
  using T = TestType;
  if (ct::math::is_fast) return;
  each_blocked_size([](std::int64_t n) {
    CAPTURE(n);
    auto a = blocked_definite<T>(n);
    auto const check = [&](ct::status expected) { return blocked_agrees<ct::op::cholesky, T>({a}, {n}, n, n, n, {}, expected); };
    CHECK(check(ct::status::ok));
    T& last = a.back();
    last = T{-1};
    CHECK(check(ct::status::singular_matrix));
    last = std::numeric_limits<T>::quiet_NaN();
    CHECK(check(ct::status::ok));
    a[static_cast<std::size_t>(n / 2 * (n + 1))] = 0;
    CHECK(check(ct::status::singular_matrix));
  });
}

TEMPLATE_TEST_CASE("Blocked adjoints of Cholesky decompositions have the bits of scalar ones", "", float, double) {
  using T = TestType;
  if (ct::math::is_fast) return;
  each_blocked_size([](std::int64_t n) {
    CAPTURE(n);
    auto const a = blocked_definite<T>(n);
    std::vector<T> l(a.size());
    ct::detail::cholesky_of(a.data(), l.data(), n);
    auto const dl = blocked_entries<T>(n * n, 6); // (above the diagonal, too: it is not read)
    CHECK(blocked_agrees<ct::op::cholesky_adjoint, T>({l, dl}, {n, n}, n, n, n, {}));
    l[static_cast<std::size_t>(n / 2 * (n + 1))] = std::numeric_limits<T>::quiet_NaN();
    CHECK(blocked_agrees<ct::op::cholesky_adjoint, T>({l, dl}, {n, n}, n, n, n, {}));
  });
}

TEMPLATE_TEST_CASE("Blocked LU decompositions have the bits of scalar ones, pivots of 0 and NaN included", "", float, double) {
  using T = TestType;
  if (ct::math::is_fast) return;
  each_blocked_size([](std::int64_t n) {
    CAPTURE(n);
    auto a = blocked_entries<T>(n * n, 2);
    auto const check = [&] { return blocked_agrees<ct::op::lu, T>({a}, {n}, n, n + 1, n, {}); };
    CHECK(check());
    for (std::int64_t i = 0; i < n; ++i) a[static_cast<std::size_t>(i * n + n / 3)] = 0;
    CHECK(check());
    a[static_cast<std::size_t>((n - 1) * n + n / 3)] = std::numeric_limits<T>::quiet_NaN();
    CHECK(check());
  });
}

TEMPLATE_TEST_CASE("Blocked triangular solves have the bits of scalar ones", "", float, double) {
  using T = TestType;
  each_blocked_size([](std::int64_t n) {
    for (std::int64_t const m : {std::int64_t{1}, std::int64_t{7}, n})
      for (std::int64_t const which : {0, 1, 2, 3, 4, 5, 6, 7}) {
        CAPTURE(n, m, which);
        if (ct::math::is_fast || (n > 100 && which > 3)) continue;
        auto a = blocked_definite<T>(n);
        auto const b = blocked_entries<T>(n * m, 3);
        std::vector<std::int64_t> const attributes{which & 1, which / 2 % 2, which / 4};
        for (T& x : a) x = x / static_cast<T>(n); // with a unit diagonal, solutions grow
        CHECK(blocked_agrees<ct::op::triangular_solve, T>({a, b}, {n, n}, n, n, m, attributes));
        a[static_cast<std::size_t>(n / 2 * (n + 1))] = 0;
        CHECK(blocked_agrees<ct::op::triangular_solve, T>({a, b}, {n, n}, n, n, m, attributes,
                                                 which / 4 == 0 ? ct::status::singular_matrix : ct::status::ok));
      }
  });
}

TEMPLATE_TEST_CASE("Blocked solutions of linear systems have the bits of scalar ones", "", float, double) {
  using T = TestType;
  if (ct::math::is_fast) return;
  each_blocked_size([](std::int64_t n) {
    for (std::int64_t const m : {std::int64_t{1}, std::int64_t{5}, n})
      for (std::int64_t const transposed : {0, 1}) {
        CAPTURE(n, m, transposed);
        auto a = blocked_entries<T>(n * n, 4);
        auto const b = blocked_entries<T>(n * m, 5);
        std::vector<T> factors(static_cast<std::size_t>((n + 1) * n));
        ct::detail::lu_of(a.data(), factors.data(), n);
        CHECK(blocked_agrees<ct::op::lu_solve, T>({a, factors, b}, {n, n + 1, n}, n, n, m, {transposed}));
        factors[static_cast<std::size_t>(n / 2 * (n + 1))] = 0;
        CHECK(blocked_agrees<ct::op::lu_solve, T>({a, factors, b}, {n, n + 1, n}, n, n, m, {transposed}, ct::status::singular_matrix));
      }
  });
}

TEMPLATE_TEST_CASE("Small matrices of a stack have the bits of single ones, whatever they contain", "", float, double) {
  using T = TestType;
  if (ct::math::is_fast) return;
  for (std::int64_t n = 1; n < 11; ++n)
    for (std::int64_t const count : {0, 1, 7, 16, 37})
      for (bool const regular : {true, false}) {
        CAPTURE(n, count, regular);
        auto a = blocked_entries<T>(count * n * n, 5);
        auto const entry = [&](std::int64_t k, std::int64_t i, std::int64_t j) -> T& { return a[static_cast<std::size_t>((k * n + i) * n + j)]; };
        for (std::int64_t k = 0; k < count; ++k)
          for (std::int64_t i = 0; i < n; ++i) {
            if (k % 5 == 1) entry(k, i, 0) = T{1};                       // pivots of one size
            if (k % 5 == 2) entry(k, i, (i + 1) % n) += T{3};            // rows out of place
            if (!regular && k % 5 == 3) entry(k, i, n / 2) = T{};        // a pivot of 0
            if (!regular && k % 7 == 4) entry(k, n - 1, i) = std::numeric_limits<T>::quiet_NaN();
          }
        stack_sizes const square{count, n, n}, factors{count, n + 1, n};
        CHECK(stacks_agree<ct::op::lu, T>({{a, square}}, factors, {}));
        std::vector<T> lu(static_cast<std::size_t>(count * n * (n + 1)));
        for (std::int64_t k = 0; k < count; ++k) ct::detail::lu_of(a.data() + k * n * n, lu.data() + k * n * (n + 1), n);
        for (std::int64_t const columns : {0, 1, 3, 4}) {
          stack_sizes const sides{count, n, columns};
          auto const b = blocked_entries<T>(count * n * columns, 6);
          for (std::int64_t const transposed : {0, 1}) {
            CHECK(stacks_agree<ct::op::lu_solve, T>({{a, square}, {lu, factors}, {b, sides}}, sides, {transposed}));
            for (std::int64_t const lower : {0, 1})
              for (std::int64_t const unit : {0, 1})
                CHECK(stacks_agree<ct::op::triangular_solve, T>({{a, square}, {b, sides}}, sides, {lower, transposed, unit}));
          }
        }
      }
}

// ---- small systems in straight-line code

constexpr auto solutions = [](auto a, auto b) { return ct::solve(a, b); };
constexpr auto transposed_solutions = [](auto a, auto b, auto w) { return ct::sum(ct::solve(a, b) * w); };
constexpr auto decompositions = [](auto a) { return ct::lu(a); };
template <int K> constexpr auto triangles = [](auto a, auto b) {
  return ct::triangular_solve<ct::triangle{.lower = (K & 4) != 0, .transposed = (K & 2) != 0, .unit = (K & 1) != 0}>(a, b);
};

/// Runs a program without a workspace: only straight-line code needs none.
template <class F, class... X, class Y> ct::status run_straight(F, Y results, X const&... x) {
  using program = ct::program<F, X...>;
  static_assert(program::workspace_bytes == 0);
  typename program::workspace memory;
  return program::run(memory, std::tie(x...), results);
}
template <class T> bool same_bits(T const* x, T const* y, int count) {
  bool equal = true;
  for (int k = 0; k < count; ++k) equal = equal && (std::memcmp(x + k, y + k, sizeof(T)) == 0 || (std::isnan(x[k]) && std::isnan(y[k])));
  return equal;
}
template <int N, int M, class T, int... K>
bool triangles_agree(ct::tensor<T, N, N> const& a, ct::tensor<T, N, M> const& b, std::integer_sequence<int, K...>) {
  bool singular = false;
  for (int i = 0; i < N; ++i) singular = singular || a(i, i) == 0;
  auto const one = [&]<int Which>(std::integral_constant<int, Which>) {
    ct::tensor<T, N, M> x, expected = b;
    auto const s = run_straight(ct::compiled(triangles<Which>), std::tie(x), a, b);
    ct::detail::triangular_solve_of(a.data(), expected.data(), N, M, (Which & 4) != 0, (Which & 2) != 0, (Which & 1) != 0);
    return s == (singular && (Which & 1) == 0 ? ct::status::singular_matrix : ct::status::ok) && same_bits(x.data(), expected.data(), N * M);
  };
  return (one(std::integral_constant<int, K>{}) && ...);
}
template <int N, int M, class T> void check_small_systems() {
  int volatile const rows = N; // (g++ warns of exchanges that a matrix of one row does not have)
  for (int which = 0; which < 60; ++which) {
    CAPTURE(N, M, which);
    auto const entries = blocked_entries<T>(N * N, static_cast<std::uint64_t>(which)), sides = blocked_entries<T>(N * M, 8);
    ct::tensor<T, N, N> a;
    ct::tensor<T, N, M> b;
    for (int k = 0; k < N * N; ++k) a.data()[k] = entries[static_cast<std::size_t>(k)];
    for (int k = 0; k < N * M; ++k) b.data()[k] = sides[static_cast<std::size_t>(k)];
    int const at = which % N;
    for (int i = 0; i < N; ++i) {
      if (which % 6 == 1) a(i, 0) = i % 2 == 0 ? T{1} : T{-1};  // pivots of one size
      if (which % 6 == 2) a(i, (i + 1) % N) += T{3};            // rows out of place
      if (which % 6 == 3) a(i, at) = which % 4 == 3 ? -T{} : T{}; // a pivot of 0
      if (which % 6 == 4) a(at, i) = a((at + 1) % N, i);        // equal rows
    }
    if (which % 12 == 5) a(at, (which / 12) % N) = std::numeric_limits<T>::quiet_NaN();
    if (which % 12 == 11) a(at, (which / 12) % N) = std::numeric_limits<T>::infinity();

    if constexpr (N <= 4) {
      std::vector<T> lu(N * (N + 1)), expected(N * M);
      ct::detail::lu_of(a.data(), lu.data(), N);
      ct::tensor<T, N, N> p, l, u;
      CHECK(run_straight(ct::compiled(decompositions), std::tie(p, l, u), a) == ct::status::ok);
      for (int i = 0; i < N; ++i)
        for (int j = 0; j < N; ++j) {
          auto const entry = [&](int r, int c) { return lu[static_cast<std::size_t>(r * N + c)]; };
          T const below = j < i ? entry(i, j) : static_cast<T>(j == i ? 1 : 0), above = j < i ? T{} : entry(i, j),
                  of_p = static_cast<T>(std::abs(entry(N, j)) == static_cast<T>(i + 1) ? 1 : 0);
          CHECK((l(i, j) == below || (std::isnan(l(i, j)) && std::isnan(below)))); // (zeros are added to L)
          CHECK((same_bits(&u(i, j), &above, 1) && p(i, j) == of_p));
        }
      ct::tensor<T, N, M> x;
      bool const singular = ct::detail::lu_solve_of(lu.data(), b.data(), expected.data(), rows, M, false);
      ct::status const good = singular ? ct::status::singular_matrix : ct::status::ok;
      CHECK(run_straight(ct::compiled(solutions), std::tie(x), a, b) == good);
      CHECK(same_bits(x.data(), expected.data(), N * M));
      (void)ct::detail::lu_solve_of(lu.data(), b.data(), expected.data(), rows, M, true);
      CHECK(run_straight(ct::grad<1>(transposed_solutions), std::tie(x), a, b, b) == good);
      CHECK(same_bits(x.data(), expected.data(), N * M));
    }
    CHECK(triangles_agree<N, M>(a, b, std::make_integer_sequence<int, 8>{}));
  }
}

TEMPLATE_TEST_CASE("Small systems in straight-line code have the bits of scalar ones, whatever they contain", "", float, double) {
  if (ct::math::is_fast) return;
  check_small_systems<4, 3, TestType>();
  if constexpr (std::is_same_v<TestType, float>) return check_small_systems<1, 1, float>();
  check_small_systems<2, 4, TestType>();
  check_small_systems<8, 2, TestType>();
}

#if COTANGENT_EXCEPTIONS
TEST_CASE("Small systems in a memory budget, which are kernels, have the same gradients") {
  ct::tensor<double, 3, 3> const a{{0, 2, 3}, {2, 5, 1}, {3, 1, 10}};
  ct::tensor<double, 3> const b{1, 2, 3};
  auto const gradient = ct::value_and_grad<0, 1>([](auto m, auto y) { return ct::sum(ct::solve(m, y) * y); });
  auto const [y, d] = ct::memory_budget<100000>(gradient)(a, b);
  auto const [z, e] = gradient(a, b);
  if (!ct::math::is_fast) {
    CHECK((y == z && d == e));
    return;
  }
  CHECK(y == Approx(z)); // compilers reassociate
  for (int k = 0; k < 9; ++k) CHECK(std::get<0>(d).data()[k] == Approx(std::get<0>(e).data()[k]).margin(1e-12));
  for (int k = 0; k < 3; ++k) CHECK(std::get<1>(d).data()[k] == Approx(std::get<1>(e).data()[k]).margin(1e-12));
}
#endif

} // namespace
