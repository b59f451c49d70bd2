// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include "../words.hpp"

#include <cotangent/cotangent.hpp>
#include <cotangent/dynamic.hpp>
#include <cotangent/eager.hpp>
#include <cotangent/linalg.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

// Singular and indefinite matrices: NaN and a status from `run`, `ct::numeric_error` from checked calls.

namespace {

namespace ct = cotangent;

/// True if the text names the function, on a line of this file.
bool names(std::string const& text, std::string const& function) {
  return has(text, "a matrix is singular, or not positive definite: ") && has(text, (function + " at ").c_str()) &&
         has(text, "singular_matrices.cpp:");
}
template <class F, class... X> std::string numeric_words(F const& f, X const&... x) {
  return words_of<ct::numeric_error>([&] { (void)f(x...); });
}

template <class F, class... X> bool is_quiet(F const& f, X const&... x) {
  return has(numeric_words(f, x...), "nothing was thrown");
}

/// An operation of the user: the elements, of which those of 0 or below are reported.
struct checked_positive : ct::extend::primitive<ct::operation_kind::whole, 1> {
  static constexpr char const *name = "checked_positive", *reports = name;
  static constexpr void infer(ct::inference& r) { r.like(0); }
  static constexpr void adjoint(ct::adjoint_rule& r) { r.give(0, r.dy()); }
  static constexpr void tangent(ct::tangent_rule& r) { r.give(r.dx()); }
  static constexpr void batch(ct::batch_rule& r) { r.give(of(r.each())); }
  static constexpr ct::term of(ct::term x) { return {x.b, x.b->push(ct::info_of<checked_positive>(), {x.id}, {}, x.b->place)}; }
  static constexpr ct::term regular(ct::term x) { return ct::extend::constant_like(x, 1); }
  static constexpr void whole(ct::whole_call const& call) {
    double const* const x = call.operand[0].data<double>();
    double* const y = call.result.data<double>();
    for (std::int64_t k = 0, n = call.result.count(); k < n; ++k) {
      y[k] = x[k];
      if (x[k] <= 0) call.report(ct::status::singular_matrix);
    }
  }
};

struct checked_positive_fn {
  static constexpr char const* name = "checked_positive";
  using uses = ct::operations<checked_positive>;
  constexpr ct::term operator()(ct::term x) const { return checked_positive::of(x); }
};

template <class T, int N> struct samples {
  using matrix = ct::tensor<T, N, N>;
  matrix regular, indefinite, singular, missing, infinite;
  samples() {
    for (int i = 0; i < N; ++i)
      for (int k = 0; k < N; ++k) {
        regular(i, k) = i == k ? T(N) : T(1) / T(1 + i + k);
        indefinite(i, k) = i == k ? T(1) : T(2);
        singular(i, k) = T(1);
        missing(i, k) = infinite(i, k) = regular(i, k);
      }
    missing(N - 1, N - 1) = std::numeric_limits<T>::quiet_NaN();
    infinite(N - 1, N - 1) = std::numeric_limits<T>::infinity();
  }
};

constexpr auto decomposed = [](auto m) { return ct::cholesky(m); };
constexpr auto inverted = [](auto m) { return ct::inverse(m); };
constexpr auto solved = [](auto m) { return ct::solve(m, ct::sum(m, ct::axes<0>)); };
constexpr auto forward_solved = [](auto m) { return ct::triangular_solve(m, ct::sum(m, ct::axes<0>)); };

template <class T, int N> void check_size() {
  CAPTURE(N);
  samples<T, N> const s;
  auto zero_below = s.regular;
  zero_below(N - 1, N - 1) = 0;
  auto const check = [&]<class F>(F, auto const& bad, char const* function) {
    CAPTURE(function);
    CHECK(is_quiet(ct::compiled(F{}), s.regular));
    CHECK(names(numeric_words(ct::compiled(F{}), bad), function));
    CHECK(is_quiet(ct::compiled(F{}), s.missing));
    CHECK(is_quiet(ct::compiled(F{}), s.infinite));
    constexpr auto summed = [](auto m) { return ct::sum(F{}(m)); };
    CHECK(is_quiet(ct::grad(summed), s.regular));
    CHECK(names(numeric_words(ct::grad(summed), bad), function));
    if constexpr (N == 2) {
      CHECK(names(numeric_words(ct::jvp(summed), bad, s.regular), function));
      CHECK(names(numeric_words(ct::vjp(summed), bad), function));
      CHECK(is_quiet(ct::grad(summed), s.missing));
    }
  };
  check(decomposed, s.indefinite, "cholesky");
  check(decomposed, s.singular, "cholesky");
  check(forward_solved, zero_below, "triangular_solve");
  check(inverted, s.singular, N <= 4 ? "inverse" : "solve");
  check(solved, s.singular, "solve");
}

TEST_CASE("Checked calls report singular and indefinite matrices of every size, with their line") {
  check_size<double, 2>();
  check_size<float, 3>();
  check_size<double, 7>();
}

TEST_CASE("A stack is reported if one of its matrices is singular") {
  constexpr int most = 19;
  auto const invert = ct::compiled(inverted);
  auto const decompose = ct::compiled(decomposed);
  for (int n = 0; n <= most; ++n) {
    CAPTURE(n);
    std::vector<double> rows(static_cast<std::size_t>(9 * n)); // (of ones: a tail that reads zeros would be singular)
    for (std::size_t k = 0; k < rows.size(); ++k) rows[k] = k % 9 % 4 == 0 ? 3 : 1;
    ct::view<double const, "n", 3, 3> const stack(rows.data(), n);
    CHECK(is_quiet(invert, stack));
    CHECK(is_quiet(decompose, stack));
    for (int bad = 0; bad < n; ++bad) {
      auto const kept = rows;
      for (std::size_t k = 0; k < 9; ++k) rows[static_cast<std::size_t>(9 * bad) + k] = 1;
      CHECK(names(numeric_words(invert, stack), "inverse"));
      CHECK(names(numeric_words(decompose, stack), "cholesky"));
      rows = kept;
    }
  }
}

/// A stack of regular 2 x 2 matrices, [n, 2, 2].
template <int N> ct::tensor<double, N, 2, 2> regular_stack() {
  ct::tensor<double, N, 2, 2> x;
  for (int k = 0; k < N; ++k) x(k, 0, 0) = 2 + k, x(k, 1, 1) = 3, x(k, 0, 1) = x(k, 1, 0) = 1;
  return x;
}

TEST_CASE("Positions outside a matrix's stack are not reported") {
  auto const check = [](auto f) {
    auto x = regular_stack<5>();
    CHECK(is_quiet(ct::compiled(f), x));
    x(4, 0, 0) = x(4, 1, 1) = 1;
    CHECK(names(numeric_words(ct::compiled(f), x), "inverse"));
  };
  check([](auto x) { return ct::concatenate<0>(ct::inverse(x), x, ct::inverse(x)); });
  check([](auto x) { return ct::concatenate<0>(x, ct::inverse(x) * 2); });
  check([](auto x) { return ct::pad<3, 4, 0, 0, 0, 0>(ct::inverse(x)); });
  check([](auto x) { return ct::pad<2, 0, 0, 0, 0, 0>(ct::inverse(x)) + 1; });
  check([](auto x) { return ct::sum(ct::inverse(x), ct::axes<0>); });
  check([](auto x) { return ct::roll<1, 0>(ct::inverse(x)) - ct::inverse(x); });
  check([](auto x) { return ct::sum(ct::inverse(x), ct::axes<1, 2>); });
  check([](auto x) { return ct::vmap([](auto m) { return ct::inverse(m); })(x); });
  check([](auto x) { return ct::map([](auto m) { return ct::sum(ct::inverse(m)); }, x); });
}

TEST_CASE("Positions around a slice are not reported in its gradient") {
  // The gradient of the slice and that of the inverses are one loop over all 480 positions.
  constexpr auto inner = [](auto x) { return ct::sum(ct::inverse(ct::reshape<475, 1, 1>(x(ct::range<2, 477>)))); };
  auto x = ct::compiled([] { return ct::ones<double, 480>(); })();
  CHECK(is_quiet(ct::grad(inner), x));
  for (int const k : {0, 1, 2, 20, 476, 477, 479}) {
    CAPTURE(k);
    x(k) = 0;
    std::string const text = numeric_words(ct::grad(inner), x);
    CHECK((k >= 2 && k < 477 ? names(text, "inverse") : has(text, "nothing was thrown")));
    x(k) = 1;
  }
}

constexpr auto chosen_small = [](auto x) {
  return ct::cond(x(0, 0) > 0, [](auto a) { return ct::sum(ct::inverse(a)); }, [](auto a) { return ct::sum(a); })(x);
};

TEST_CASE("Singular matrices in loops and branches are reported if they are reached") {
  // The matrix of the last iteration is singular.
  constexpr auto shrunk = [](auto m, auto n) {
    return ct::for_loop(n, [=](auto k, auto s) { return s + ct::sum(ct::inverse(m - ct::convert<double>(k) * ct::eye<double, 2>())); }, 0.0);
  };
  ct::tensor<double, 2, 2> const m{{3, 0}, {0, 4}};
  CHECK(is_quiet(ct::compiled(shrunk), m, std::int64_t{3}));
  CHECK(names(numeric_words(ct::compiled(shrunk), m, std::int64_t{4}), "inverse"));
  CHECK(names(numeric_words(ct::grad(shrunk), m, std::int64_t{4}), "inverse"));

  constexpr auto chosen = [](auto x) {
    return ct::cond(x(0, 0) > 0, [](auto a) { return ct::sum(ct::solve(a, a)); }, [](auto a) { return ct::sum(a); })(x);
  };
  ct::tensor<double, 2, 2> const positive{{1, 1}, {1, 1}}, negative{{-1, 1}, {1, -1}};
  CHECK(names(numeric_words(ct::compiled(chosen), positive), "solve"));
  CHECK(is_quiet(ct::compiled(chosen), negative));
  CHECK(names(numeric_words(ct::compiled(chosen_small), positive), "inverse"));
  CHECK(is_quiet(ct::compiled(chosen_small), negative));
  // Batched, both branches run, but report nothing of rows that select the other one.
  ct::tensor<double, 2, 2, 2> const both{{{-1, 1}, {1, -1}}, {{-1, 1}, {1, -1}}};
  constexpr auto for_each = [](auto x) { return ct::map(chosen_small, x); };
  CHECK(is_quiet(ct::compiled(for_each), both));
  constexpr auto batched = [](auto x) { return ct::vmap(chosen_small)(x); };
  CHECK(is_quiet(ct::compiled(batched), both));
  ct::tensor<double, 2, 2, 2> const one{{{-1, 1}, {1, -1}}, {{1, 1}, {1, 1}}};
  CHECK(names(numeric_words(ct::compiled(batched), one), "inverse"));
}

TEST_CASE("Rows of a batch report no matrix of a branch or an iteration that they do not run") {
  // Each row ends before its matrix is singular. 2 rows: small matrices as formulas; of 7: whole.
  auto const check = [&]<std::int64_t N>(std::integral_constant<std::int64_t, N>, auto of, char const* name) {
    constexpr auto until = [](auto m) {
      return ct::while_loop([](auto, auto s) { return s(0, 0) > 0.5; },
                            [](auto, auto s) { return s - ct::eye<double, N>() * ct::select(ct::sum(decltype(of){}(s)) < -1e300, 2.0, 1.0); }, m);
    };
    constexpr auto rows = [](auto m) { return ct::vmap(decltype(until){})(m); };
    ct::tensor<double, 3, N, N> m;
    for (std::int64_t k = 0; k < 3; ++k)
      for (std::int64_t i = 0; i < N; ++i) m(k, i, i) = static_cast<double>(k + 1);
    CAPTURE(N, name);
    CHECK(is_quiet(ct::compiled(rows), m));
    constexpr auto total = [](auto a) { return ct::sum(decltype(rows){}(a)); };
    CHECK(is_quiet(ct::grad(total), m));
    for (std::int64_t i = 0; i < N; ++i) m(1, i, i) = i == N - 1 ? 0 : 1;
    CHECK(names(numeric_words(ct::compiled(rows), m), name));
  };
  constexpr auto solved_by = [](auto s) { return ct::solve(s, s); };
  constexpr auto inverse_of = [](auto s) { return ct::inverse(s); };
  constexpr auto root_of = [](auto s) { return ct::cholesky(s); };
  check(std::integral_constant<std::int64_t, 2>(), solved_by, "solve");
  check(std::integral_constant<std::int64_t, 7>(), solved_by, "solve");
  check(std::integral_constant<std::int64_t, 3>(), inverse_of, "inverse");
  check(std::integral_constant<std::int64_t, 2>(), root_of, "cholesky");
  check(std::integral_constant<std::int64_t, 7>(), root_of, "cholesky");
  // A matrix of all rows, in a branch that none takes.
  constexpr auto shared = [](auto x, auto a) {
    return ct::vmap<0, ct::unmapped>([](auto r, auto m) {
      return ct::cond(r > 0, [](auto s, auto n) { return s * ct::sum(ct::inverse(n)); }, [](auto s, auto) { return -s; })(r, m);
    })(x, a);
  };
  ct::tensor<double, 2, 2> const singular{{1, 1}, {1, 1}};
  CHECK(is_quiet(ct::compiled(shared), ct::tensor<double, 2>{-1, -2}, singular));
  CHECK(names(numeric_words(ct::compiled(shared), ct::tensor<double, 2>{-1, 2}, singular), "inverse"));
}

TEST_CASE("Rows that do not run an operation of the user give it a value that it does not report") {
  constexpr auto rows = [](auto x) {
    return ct::vmap([](auto r) {
      return ct::cond(r > 0, [](auto s) { return ct::extend::lift({}, checked_positive_fn{}, s); }, [](auto s) { return -s; })(r);
    })(x);
  };
  CHECK(is_quiet(ct::compiled(rows), ct::tensor<double, 3>{1, -2, 3}));
  constexpr auto plain = [](auto x) { return ct::extend::lift({}, checked_positive_fn{}, x); };
  CHECK(has(numeric_words(ct::compiled(plain), ct::tensor<double, 3>{1, -2, 3}), "not positive definite: checked_positive"));
}

TEST_CASE("A run gives NaN and a status, and does not throw") {
  using matrix = ct::tensor<double, 6, 6>;
  samples<double, 6> const s;
  auto const check = [&]<class F>(F, matrix const& bad) {
    using P = ct::program<F, matrix>;
    typename P::workspace memory;
    typename P::result y;
    CHECK(P::run(memory, std::tie(s.regular), y) == ct::status::ok);
    CHECK(P::run(memory, std::tie(bad), y) == ct::status::singular_matrix);
    if (!ct::math::is_fast) CHECK(std::isnan(*(y.data() + y.size() - 1)));
    CHECK(P::run(memory, std::tie(s.missing), y) == ct::status::ok);
    if (!ct::math::is_fast) CHECK(std::isnan(*(y.data() + y.size() - 1)));
  };
  check(decomposed, s.indefinite);
  check(ct::grad([](auto a) { return ct::sum(ct::cholesky(a)); }), s.indefinite);
  check(inverted, s.singular);
  check(solved, s.singular);
}

TEST_CASE("The gradient of a determinant is reported by its own operations") {
  constexpr auto size = [](auto m) { return ct::determinant(m); };
  samples<double, 5> const s;
  CHECK(ct::compiled(size)(s.singular) == 0);
  CHECK(names(numeric_words(ct::grad(size), s.singular), ": solve of a derivative"));
  auto const back = ct::vjp(size)(s.singular);
  CHECK(names(numeric_words([&] { return back.second(); }), ": solve of a derivative"));
}

TEST_CASE("All operations that may have reported are named") {
  constexpr auto both = [](auto a, auto b) {
    auto const l = ct::cholesky(a);
    return ct::sum(l) + ct::sum(ct::inverse(b));
  };
  samples<double, 3> const s;
  std::string const text = numeric_words(ct::compiled(both), s.regular, s.singular);
  CHECK(names(text, "cholesky"));
  CHECK(names(text, " or inverse"));
}

TEST_CASE("Run-time graphs and variables report singular matrices") {
  for (int const n : {2, 3, 7}) {
    CAPTURE(n);
    std::vector<double> good(static_cast<std::size_t>(3 * n * n)), bad = good;
    for (std::size_t k = 0; k < good.size(); ++k) good[k] = k % static_cast<std::size_t>(n * n) % static_cast<std::size_t>(n + 1) == 0 ? 3 : 1;
    bad = good;
    for (std::size_t k = 0; k < static_cast<std::size_t>(n * n); ++k) bad[static_cast<std::size_t>(n * n) + k] = 1;
    ct::dynamic::graph g;
    auto const a = g.input<double>("a", {3, n, n});
    auto const check = [&](auto const& y, char const* function) {
      CAPTURE(function);
      auto p = g.compile({y});
      p.bind(a, good);
      p.run();
      p.bind(a, bad);
      CHECK(names(words_of<ct::numeric_error>([&] { p.run(); }), function));
      p.bind(a, good);
      p.run();
      auto of_gradient = g.gradient<double>({ct::sum(y)}, {a});
      auto q = g.compile({of_gradient[0]});
      q.bind(a, bad);
      CHECK(names(words_of<ct::numeric_error>([&] { q.run(); }), function));
    };
    check(ct::cholesky(a), "cholesky");
    check(ct::inverse(a), n <= 4 ? "inverse" : "solve");
    check(ct::solve(a, a), "solve");
    check(ct::map([](auto m) { return ct::sum(ct::inverse(m)); }, a), n <= 4 ? "inverse" : "solve");
  }
  ct::dynamic::eager e;
  auto const x = e.constant(std::vector<double>{1, 1, 1, 1}, {2, 2});
  CHECK(names(words_of<ct::numeric_error>([&] { (void)ct::inverse(x); }), "inverse"));
  CHECK(names(words_of<ct::numeric_error>([&] { (void)ct::solve(x, x); }), "solve"));
}

template <class F> concept is_constant = requires { typename std::bool_constant<(F{}(), true)>; };

TEST_CASE("A singular matrix ends a constant evaluation") {
  constexpr auto call = []<int Corner>(std::integral_constant<int, Corner>) {
    return [] { return ct::compiled(inverted)(ct::tensor<double, 2, 2>{{Corner, 1}, {1, 1}}); };
  };
  STATIC_REQUIRE(is_constant<decltype(call(std::integral_constant<int, 2>{}))>);
  STATIC_REQUIRE(!is_constant<decltype(call(std::integral_constant<int, 1>{}))>);
  constexpr auto solve = []<int Corner>(std::integral_constant<int, Corner>) {
    return [] { return ct::compiled(solved)(ct::tensor<double, 2, 2>{{Corner, 1}, {1, 1}}); };
  };
  STATIC_REQUIRE(is_constant<decltype(solve(std::integral_constant<int, 2>{}))>);
  STATIC_REQUIRE(!is_constant<decltype(solve(std::integral_constant<int, 1>{}))>);
}

} // namespace
