// SPDX-License-Identifier: BSL-1.0
// Sparse Jacobians and Hessians: patterns, numbers of colors, and values against those that are dense.
#include <cotangent/sparse.hpp>

#include <type_traits>

namespace ct = cotangent;

namespace {

using vector = ct::tensor<double, 6>;
using matrix = ct::tensor<double, 2, 3>;
inline constexpr vector x{1, 2, -1, 3, 0.5, -2};
inline constexpr matrix m{{1, 2, -1}, {3, 0.5, -2}};

/// True if the elements are those of the dense Jacobian, which has no other ones.
template <class F, class X> bool agrees(F const& f, X const& at, int elements, int colors) {
  auto const sparse = ct::sparse_jacobian(f)(at);
  auto const all = sparse.dense();
  auto const dense = ct::jacobian(f)(at);
  if (all.size() != dense.size() || sparse.elements != elements || sparse.colors != colors) return false;
  for (int k = 0; k < all.size(); ++k)
    if (!(all.data()[k] - dense.data()[k] < 1e-12 && dense.data()[k] - all.data()[k] < 1e-12)) return false;
  // times(u) with u[k] = k + 1
  ct::tensor<double, ct::extent::of(decltype(sparse)::columns)> u;
  for (int k = 0; k < sparse.columns; ++k) u.data()[k] = k + 1;
  auto const product = sparse.times(u);
  for (int r = 0; r < sparse.rows; ++r) {
    double sum = 0;
    for (int k = 0; k < sparse.columns; ++k) sum += dense.data()[r * sparse.columns + k] * u.data()[k];
    if (!(product.data()[r] - sum < 1e-11 && sum - product.data()[r] < 1e-11)) return false;
  }
  return true;
}

// ---- patterns of moving elements (compared in main)

inline constexpr auto diagonal = [](auto v) { return ct::sin(v) * v; };
inline constexpr auto differences = [](auto v) { return ct::square(v(ct::range<1>)) - v(ct::range<0, -1>); };
inline constexpr auto three = [](auto v) { return v(ct::range<0, -2>) * v(ct::range<1, -1>) * v(ct::range<2>); };
inline constexpr auto turned = [](auto v) { return ct::reverse(v) * v; };
inline constexpr auto every_second = [](auto v) { return ct::reverse(v)(ct::range<0, 6, 2>) * v(ct::range<1, 6, 2>); };
inline constexpr auto transposed = [](auto v) { return ct::transpose(v) * ct::reshape<3, 2>(v); };
inline constexpr auto joined = [](auto v) { return ct::concatenate<0>(v * v, ct::exp(v)); };
inline constexpr auto padded = [](auto v) { return ct::pad<1, 2>(v * 2.0); };
inline constexpr auto rows = [](auto v) { return ct::sum(v * v, ct::axes<1>); };
inline constexpr auto columns = [](auto v) { return ct::sum(ct::exp(v), ct::axes<0>) + ct::sum(v(0)); };
inline constexpr auto softmax = [](auto v) { return ct::softmax<1>(v); };
inline constexpr auto weighted_rows = [](auto v) { return ct::matmul(v, ct::full<double, 3, 2>(2.0)); };
inline constexpr auto chosen = [](auto v) { return ct::gather(v, ct::expr<std::int64_t, 2>{1, 1}) + v; };
inline constexpr auto either = [](auto v) { return ct::select(v > 0.75, v * v, ct::reverse(v)); };

// a dense row beside a diagonal: cotangents, where columns need a color each
inline constexpr auto arrow = [](auto v) { return ct::concatenate<0>(v * v, ct::reshape<1>(ct::sum(v * v))); };
// axes of size 1 that are repeated
inline constexpr auto times_sum = [](auto v) { return v * ct::sum(v, ct::axes<0>, ct::keep); };
inline constexpr auto centered = [](auto v) { return v - ct::mean(v, ct::axes<1>, ct::keep); };
inline constexpr auto expanded = [](auto v) { return v * ct::expand<1>(v(ct::all, 1)); };
inline constexpr auto first_repeated = [](auto v) { return ct::broadcast_to<6>(v(ct::range<1, 2>)) * v; };
inline constexpr auto scaled = [](auto v) { return v / ct::reshape<2, 1>(ct::sum(v * v, ct::axes<1>)); };
inline constexpr auto one_of_none = [](auto v) { return ct::broadcast_to<6>(ct::floor(v(ct::range<1, 2>))) * v; };
// functions of whole tensors, loops and branches count as dense
inline constexpr auto looped = [](auto v) { return ct::for_loop(2, [](auto, auto s) { return s * s * 0.5; }, v); };

// ---- no elements, one, and other elements

inline constexpr auto constant = [](auto v) { return ct::floor(v); };
static_assert(ct::sparse_jacobian(constant)(x).elements == 0 && ct::sparse_jacobian(constant)(x).values.size() == 0);
static_assert(ct::sparse_jacobian(diagonal)(2.0).elements == 1 && ct::sparse_jacobian(ct::grad([](auto a) { return a * a * a; }))(2.0).values(0) == 12);
static_assert(ct::sparse_jacobian(diagonal)(ct::tensor<double, 0>{}).elements == 0);
static_assert(std::is_same_v<decltype(ct::sparse_jacobian(differences)(ct::tensor<float, 3>{}).values), ct::tensor<float, 4>>);
static_assert(ct::sparse_jacobian(differences)(ct::tensor<float, 3>{1, 2, 3}).values == ct::tensor<float, 4>{-1, 4, -1, 6});

// ---- the form

constexpr auto band = ct::sparse_jacobian(differences)(x);
static_assert(band.rows == 5 && band.columns == 6 && band.row_starts[1] == 2 && band.row_starts[5] == 10);
static_assert(band.row_indices[3] == 1 && band.column_indices[3] == 2 && band.values(3) == -2);

// ---- Hessians; another argument; in functions

inline constexpr auto rosenbrock = [](auto v) {
  auto const a = v(ct::range<0, -1>), b = v(ct::range<1>);
  return ct::sum(100 * ct::square(b - a * a) + ct::square(1 - a));
};
constexpr auto hessian = ct::sparse_hessian(rosenbrock)(x);
static_assert(hessian.elements == 16 && hessian.colors == 3); // no elements beside the diagonals
inline constexpr auto weighted = [](auto w, auto v) { return w * v * ct::reverse(v); };
static_assert(ct::sparse_jacobian<1>(weighted)(3.0, vector{1, 2, 3, 4, 5, 6}).values(0) == 18);
inline constexpr auto newton = [](auto v, auto u) {
  auto const h = ct::sparse_hessian(rosenbrock)(v);
  return h.times(u) + 0 * ct::sum(h.values);
};
static_assert(ct::compiled(newton)(x, x) == ct::hvp(rosenbrock)(x, x));
static_assert(ct::grad<1>([](auto v, auto u) { return ct::sum(newton(v, u) * u); })(x, x)(0) == 2 * ct::hvp(rosenbrock)(x, x)(0));
inline constexpr auto all_of_hessian = [](auto v) { return ct::sparse_hessian(rosenbrock)(v).dense(); };
static_assert(ct::compiled([](auto v, auto u) { return ct::matmul(all_of_hessian(v), u); })(x, x) == ct::hvp(rosenbrock)(x, x));
static_assert(ct::grad([](auto v) { return ct::sum(all_of_hessian(v)); })(x)(2) ==
              ct::grad([](auto v) { return ct::sum(ct::sparse_hessian(rosenbrock)(v).values); })(x)(2));
static_assert(ct::compiled([](auto v) { return ct::sparse_jacobian(constant)(v).dense(); })(ct::tensor<double, 2>{1, 2}) == ct::tensor<double, 2, 2>{});
inline constexpr auto sum_of_elements = [](auto v) { return ct::sum(ct::square(ct::sparse_jacobian(differences)(v).values)); };
static_assert(ct::grad(sum_of_elements)(x) == vector{0, 16, -8, 24, 4, -16});
static_assert(ct::vmap([](auto v) { return ct::sparse_jacobian(differences)(v).values; })(m) == ct::tensor<double, 2, 4>{{-1, 4, -1, -2}, {-1, 1, -1, -4}});

// Many groups: 12 columns of products of the 6 numbers of each of 4 rows. Each row is a block of its own, also in a line.
using rows_of_six = ct::tensor<double, 4, 6>;
inline constexpr rows_of_six six{{1, 2, 1, 1, 2, 1}, {1, 1, 2, 1, 1, 1}, {2, 1, 1, 1, 1, 2}, {1, 1, 1, 1, 1, 1}};
inline constexpr auto blocks = [](auto v) {
  auto const c = v(ct::all, 0) * v(ct::all, 1) * v(ct::all, 2) * v(ct::all, 3) * v(ct::all, 4) * v(ct::all, 5);
  return ct::stack<1>(c, 2.0 * c, 3.0 * c, 4.0 * c, 5.0 * c, 6.0 * c, 7.0 * c, 8.0 * c, 9.0 * c, 10.0 * c, 11.0 * c, 12.0 * c);
};
inline constexpr auto blocks_in_line = [](auto v) { return ct::flatten(blocks(v)); };

} // namespace

int main() {
  // (results of more than 256 bytes are no constants)
  bool const all[]{
      agrees(diagonal, x, 6, 1) && agrees(diagonal, m, 6, 1),
      agrees(differences, x, 10, 2),
      agrees(three, x, 12, 3),
      agrees(turned, x, 12, 2),
      agrees(every_second, x, 5, 2),
      agrees(transposed, m, 10, 2),
      agrees(joined, x, 12, 1),
      agrees(padded, x, 6, 1),
      agrees(rows, m, 6, 1),
      agrees(columns, m, 12, 4),
      agrees(softmax, m, 18, 3),
      agrees(weighted_rows, m, 12, 3),
      agrees(chosen, m, 9, 2),
      agrees(either, x, 12, 2),
      agrees(arrow, x, 12, 2),
      ct::sparse_jacobian(looped)(x).elements == 36 && agrees(looped, x, 36, 6),
      agrees(ct::grad(rosenbrock), x, 16, 3),
      agrees(times_sum, x, 36, 6),
      agrees(centered, m, 18, 3),
      agrees(expanded, m, 10, 2),
      agrees(first_repeated, x, 11, 2),
      agrees(scaled, m, 18, 3),
      agrees(one_of_none, x, 6, 1),
      agrees(blocks, six, 288, 6),
      agrees(blocks_in_line, six, 288, 6),
  };
  for (bool const good : all)
    if (!good) return 3;
  auto const j = ct::sparse_jacobian(differences)(x);
  auto const h = ct::sparse_hessian(rosenbrock)(x);
  for (int k = 0; k < h.elements; ++k)
    if (h.values(k) - hessian.values(k) > 1e-9 || hessian.values(k) - h.values(k) > 1e-9) return 2;
  return j.values == band.values ? 0 : 1;
}
