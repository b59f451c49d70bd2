// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_EXPRESSIONS_LINALG_HPP
#define COTANGENT_TRACE_EXPRESSIONS_LINALG_HPP

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/ops/linalg/decompositions.hpp>
#include <cotangent/ops/linalg/einsum.hpp>
#include <cotangent/run/linear_systems.hpp>
#include <cotangent/trace/expressions/lift.hpp>

#include <cstddef>
#include <source_location>
#include <string_view>
#include <tuple>
#include <type_traits>

// Functions of linear algebra. (Not part of cotangent.hpp.)
//
// A matrix is singular if a pivot is exactly 0, and not positive definite if a pivot is 0 or below; a pivot that is NaN is neither.
// Then results are NaN or infinite, `P::run` returns `status::singular_matrix`, and checked calls throw `numeric_error`.

namespace cotangent {

/// The options of `triangular_solve`: the triangle that is read; whether it is transposed; whether its diagonal is taken to be 1.
struct triangle {
  bool lower = true, transposed = false, unit = false;
};

namespace detail {

/// Subscripts as a template argument: ct::einsum<"ij,jk->ik">.
template <std::size_t N> struct subscripts {
  char text[N]{};
  consteval subscripts(char const (&from)[N]) {
    for (std::size_t k = 0; k < N; ++k) text[k] = from[k];
  }
};
template <subscripts S> struct einsum_fn {
  static constexpr char const* name = "einsum";
  using emits = operations<>;
  template <class... Term> constexpr term operator()(term first, Term... rest) const {
    term const x[]{first, rest...};
    return extend::einsum(std::string_view(S.text, sizeof(S.text) - 1), x, sizeof...(Term) + 1);
  }
};
struct cholesky_fn {
  static constexpr char const* name = "cholesky";
  using uses = linalg_operations;
  constexpr term operator()(term a) const { return extend::cholesky(a); }
};
template <triangle Which> struct triangular_solve_fn {
  static constexpr char const* name = "triangular_solve";
  using uses = linalg_operations;
  constexpr term operator()(term a, term b) const {
    return extend::triangular_solve(a, b, Which.lower, Which.transposed, Which.unit);
  }
};
struct solve_fn {
  static constexpr char const* name = "solve";
  using uses = linalg_operations;
  constexpr term operator()(term a, term b) const { return extend::solve(a, b); }
};
struct inverse_fn {
  static constexpr char const* name = "inverse";
  using uses = linalg_operations;
  constexpr term operator()(term a) const { return extend::inverse(a); }
};
struct determinant_fn {
  static constexpr char const* name = "determinant";
  using uses = linalg_operations;
  constexpr term operator()(term a) const { return extend::determinant(a); }
};
template <bool Sign> struct slogdet_fn {
  static constexpr char const* name = "slogdet";
  using uses = linalg_operations;
  constexpr term operator()(term a) const { return extend::slogdet(a, Sign); }
};
template <int Part> struct lu_fn {
  static constexpr char const* name = "lu";
  using uses = linalg_operations;
  constexpr term operator()(term a) const { return extend::lu(a, Part); }
};
template <int Part> struct qr_fn {
  static constexpr char const* name = "qr";
  using uses = linalg_operations;
  constexpr term operator()(term a) const { return extend::qr(a, Part); }
};
template <int Part> struct eigh_fn {
  static constexpr char const* name = "eigh";
  using uses = linalg_operations;
  constexpr term operator()(term a) const { return extend::eigh(a, Part); }
};
template <int Part> struct svd_fn {
  static constexpr char const* name = "svd";
  using uses = linalg_operations;
  constexpr term operator()(term a) const { return extend::svd(a, Part); }
};
struct lstsq_fn {
  static constexpr char const* name = "lstsq";
  using uses = linalg_operations;
  constexpr term operator()(term a, term b) const { return extend::lstsq(a, b); }
};
struct expm_fn {
  static constexpr char const* name = "expm";
  using uses = linalg_operations;
  constexpr term operator()(term a) const { return extend::expm(a); }
};

} // namespace detail

/// The sum of products that the subscripts describe, with a letter for each axis: `ct::einsum<"bij,bjk->bik">(a, b)`.
template <detail::subscripts S, detail::operand A>
constexpr auto einsum(A const& a, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::einsum_fn<S>{}, a);
}
template <detail::subscripts S, detail::operand A, detail::operand B>
constexpr auto einsum(A const& a, B const& b, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::einsum_fn<S>{}, a, b);
}
template <detail::subscripts S, detail::operand A, detail::operand B, detail::operand C>
constexpr auto einsum(A const& a, B const& b, C const& c, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::einsum_fn<S>{}, a, b, c);
}
// A source location cannot follow a pack.
template <detail::subscripts S, detail::operand A, detail::operand B, detail::operand C, detail::operand D,
          detail::operand... X>
constexpr auto einsum(A const& a, B const& b, C const& c, D const& d, X const&... x) {
  return detail::lift({}, detail::einsum_fn<S>{}, a, b, c, d, x...);
}

/// The lower triangle L with L L' = A, for the symmetric part of each matrix. A checked call throws
/// `numeric_error` if a pivot is 0 or below.
template <detail::operand A>
constexpr auto cholesky(A const& a, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::cholesky_fn{}, a);
}
/// Solves A X = B for triangular A: `ct::triangular_solve<ct::triangle{.transposed = true}>(l, b)`.
/// A checked call throws `numeric_error` if the diagonal has a 0.
template <triangle Which = triangle{}, detail::operand A, detail::operand B>
constexpr auto triangular_solve(A const& a, B const& b, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::triangular_solve_fn<Which>{}, a, b);
}
/// Solves A X = B. A checked call throws `numeric_error` if a pivot is 0.
template <detail::operand A, detail::operand B>
constexpr auto solve(A const& a, B const& b, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::solve_fn{}, a, b);
}
/// The inverse of each matrix. A checked call throws `numeric_error` if a pivot, or the determinant of at most 4 rows, is 0.
template <detail::operand A>
constexpr auto inverse(A const& a, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::inverse_fn{}, a);
}
/// The determinant of each matrix.
template <detail::operand A>
constexpr auto determinant(A const& a, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::determinant_fn{}, a);
}
/// The sign of the determinant, and the logarithm of its magnitude: `auto [sign, logarithm] = ct::slogdet(a)`.
template <detail::operand A>
constexpr auto slogdet(A const& a, std::source_location where = std::source_location::current()) {
  return detail::lift_parts<detail::slogdet_fn<true>, detail::slogdet_fn<false>>(where, a);
}
/// A = P L U with partial pivoting: `auto [p, l, u] = ct::lu(a)`.
template <detail::operand A>
constexpr auto lu(A const& a, std::source_location where = std::source_location::current()) {
  return detail::lift_parts<detail::lu_fn<0>, detail::lu_fn<1>, detail::lu_fn<2>>(where, a);
}
/// A = Q R for matrices with at least as many rows as columns: `auto [q, r] = ct::qr(a)`.
template <detail::operand A>
constexpr auto qr(A const& a, std::source_location where = std::source_location::current()) {
  return detail::lift_parts<detail::qr_fn<0>, detail::qr_fn<1>>(where, a);
}
/// The eigenvalues, which rise, and eigenvectors (columns) of symmetric matrices: `auto [w, v] = ct::eigh(a)`.
template <detail::operand A>
constexpr auto eigh(A const& a, std::source_location where = std::source_location::current()) {
  return detail::lift_parts<detail::eigh_fn<0>, detail::eigh_fn<1>>(where, a);
}
/// The eigenvalues of symmetric matrices, which rise.
template <detail::operand A>
constexpr auto eigvalsh(A const& a, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::eigh_fn<0>{}, a);
}
/// A = U S V' with the singular values S, which fall: `auto [u, s, vt] = ct::svd(a)`.
template <detail::operand A>
constexpr auto svd(A const& a, std::source_location where = std::source_location::current()) {
  return detail::lift_parts<detail::svd_fn<0>, detail::svd_fn<1>, detail::svd_fn<2>>(where, a);
}
/// The X with the least |A X - B|, for A of full rank; the shortest, if A has fewer rows than columns.
template <detail::operand A, detail::operand B>
constexpr auto lstsq(A const& a, B const& b, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::lstsq_fn{}, a, b);
}
/// The exponential of each matrix, 1 + A + A A / 2 + ....
template <detail::operand A>
constexpr auto expm(A const& a, std::source_location where = std::source_location::current()) {
  return detail::lift(where, detail::expm_fn{}, a);
}

} // namespace cotangent

COTANGENT_HEADER_END

#endif
