// SPDX-License-Identifier: BSL-1.0
// Linear algebra: shapes, and values by the compiler.
#include <cotangent/cotangent.hpp>
#include <cotangent/linalg.hpp>

#include <tuple>
#include <type_traits>
#include <utility>

namespace {

namespace ct = cotangent;

template <class F, class... A> using result =
    std::remove_cvref_t<decltype(ct::compiled(F{})(std::declval<A const&>()...))>;
template <class T, ct::extent... E> using tensor = ct::tensor<T, E...>;

constexpr auto product = [](auto a, auto b) { return ct::matmul(a, b); };
using product_type = decltype(product);
static_assert(std::is_same_v<result<product_type, tensor<double, 3, 4>, tensor<double, 4>>, tensor<double, 3>>);
static_assert(std::is_same_v<result<product_type, tensor<double, 3>, tensor<double, 3, 4>>, tensor<double, 4>>);
static_assert(std::is_same_v<result<product_type, tensor<double, 7, 3, 4>, tensor<double, 4, 2>>, tensor<double, 7, 3, 2>>);
static_assert(
    std::is_same_v<result<product_type, tensor<double, "n", 3, 4>, tensor<double, "n", 4, 2>>, tensor<double, "n", 3, 2>>);
static_assert(
    std::is_same_v<result<product_type, tensor<double, 5, 1, 3, 4>, tensor<double, 6, 4, "k">>, tensor<double, 5, 6, 3, "k">>);

constexpr auto scores = [](auto q, auto k) { return ct::einsum<"bihd, bjhd -> bhij">(q, k); };
static_assert(std::is_same_v<result<decltype(scores), tensor<float, "b", 5, 2, 3>, tensor<float, "b", 7, 2, 3>>,
                             tensor<float, "b", 2, 5, 7>>);
constexpr auto chain = [](auto a, auto b, auto c, auto d) { return ct::einsum<"ij,jk,kl,l">(a, b, c, d); };
static_assert(std::is_same_v<result<decltype(chain), tensor<float, 2, 3>, tensor<float, 3, 4>, tensor<float, 4, 5>,
                                    tensor<float, 5>>,
                             tensor<float, 2>>);

constexpr tensor<double, 2, 2> m{{1, 2}, {3, 4}};
constexpr tensor<double, 2, 2, 2> stack{{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}};
constexpr tensor<double, 2> v{10, 100};

template <class F, class... A> consteval auto at(F f, A const&... a) { return ct::compiled(f)(a...); }
template <class A, class B> consteval bool same(A const& a, B const& b) {
  auto const* p = a.data();
  auto const* q = b.data();
  for (std::int64_t k = 0; k < a.size(); ++k)
    if (p[k] != q[k]) return false;
  return true;
}
static_assert(same(at(product, m, v), tensor<double, 2>{210, 430}));
static_assert(same(at(product, v, m), tensor<double, 2>{310, 420}));
static_assert(same(at(product, stack, m), tensor<double, 2, 2, 2>{{{7, 10}, {15, 22}}, {{23, 34}, {31, 46}}}));
static_assert(same(at(product, m, stack), tensor<double, 2, 2, 2>{{{7, 10}, {15, 22}}, {{19, 22}, {43, 50}}}));
static_assert(same(at(product, stack, stack), tensor<double, 2, 2, 2>{{{7, 10}, {15, 22}}, {{67, 78}, {91, 106}}}));

static_assert(at([](auto x) { return ct::trace(x); }, m) == 5);
static_assert(same(at([](auto x) { return ct::trace(x); }, stack), tensor<double, 2>{5, 13}));
static_assert(same(at([](auto a, auto b) { return ct::outer(a, b); }, v, v), tensor<double, 2, 2>{{100, 1000}, {1000, 10000}}));
static_assert(same(at([](auto a, auto b) { return ct::cross(a, b); }, tensor<double, 3>{1, 2, 3}, tensor<double, 3>{5, 7, 11}),
                   tensor<double, 3>{2 * 11 - 3 * 7, 3 * 5 - 1 * 11, 1 * 7 - 2 * 5}));

static_assert(at([](auto x) { return ct::einsum<"ii">(x); }, m) == 5);
static_assert(same(at([](auto x) { return ct::einsum<"ii->i">(x); }, m), tensor<double, 2>{1, 4}));
static_assert(same(at([](auto x) { return ct::einsum<"ij->ji">(x); }, m), tensor<double, 2, 2>{{1, 3}, {2, 4}}));
static_assert(same(at([](auto x) { return ct::einsum<"bij->j">(x); }, stack), tensor<double, 2>{16, 20}));
static_assert(same(at([](auto a, auto b) { return ct::einsum<"ij,jk->ik">(a, b); }, m, m), tensor<double, 2, 2>{{7, 10}, {15, 22}}));
static_assert(same(at([](auto a, auto b) { return ct::einsum<"ij,kj->ki">(a, b); }, m, m), tensor<double, 2, 2>{{5, 11}, {11, 25}}));
static_assert(same(at([](auto a, auto b) { return ct::einsum<"bij,bjk->bik">(a, b); }, stack, stack),
                   tensor<double, 2, 2, 2>{{{7, 10}, {15, 22}}, {{67, 78}, {91, 106}}}));
static_assert(same(at([](auto a, auto b) { return ct::einsum<"i,ij->ij">(a, b); }, v, m), tensor<double, 2, 2>{{10, 20}, {300, 400}}));
static_assert(at([](auto a, auto b, auto c) { return ct::einsum<"i,ij,j">(a, b, c); }, v, m, v) == 10 * 210 + 100 * 430);
static_assert(at([](auto a, auto b) { return ct::einsum<"i,j->">(a, b); }, v, v) == 110. * 110);

constexpr auto quadratic = [](auto a, auto x) { return ct::einsum<"bi,ij,bj->">(x, a, x); };
consteval bool slopes() {
  tensor<double, 2, 2> const x{{1, 2}, {0, 3}};
  auto const [da, dx] = ct::grad<0, 1>(quadratic)(m, x);
  return same(da, tensor<double, 2, 2>{{1, 2}, {2, 13}}) && same(dx, tensor<double, 2, 2>{{12, 21}, {15, 24}});
}
static_assert(slopes());

// Linear systems: named extents, leading axes that broadcast, and values.
constexpr auto solved = [](auto a, auto b) { return ct::solve(a, b); };
static_assert(std::is_same_v<result<decltype(solved), tensor<float, "s", "n", "n">, tensor<float, "n", 2>>, tensor<float, "s", "n", 2>>);
static_assert(std::is_same_v<result<decltype(solved), tensor<float, 5, 3, 3>, tensor<float, 3>>, tensor<float, 5, 3>>);
constexpr auto logarithm = [](auto a) { return std::get<1>(ct::slogdet(a)); };
static_assert(std::is_same_v<result<decltype(logarithm), tensor<float, 5, "n", "n">>, tensor<float, 5>>);

constexpr bool is_small(double x) { return x < 1e-12 && x > -1e-12; }
constexpr tensor<double, 3, 3> definite{{4, 1, 0.5}, {1, 3, 0.2}, {0.5, 0.2, 2}};
constexpr tensor<double, 4, 4> regular{{0, 1, 2, 3}, {2, 1, 5, 1}, {4, 4, 1, 7}, {1, 2, 3, 9}};
constexpr tensor<double, 3> right{1, 2, 3};
constexpr auto residual = [](auto a, auto b) { return ct::sum(ct::square(ct::matmul(a, ct::solve(a, b)) - b)); };
static_assert(is_small(at(residual, definite, right)));
constexpr auto squared = [](auto a) {
  auto const l = ct::cholesky(a);
  return ct::sum(ct::square(ct::matmul(l, ct::transpose(l)) - a));
};
static_assert(is_small(at(squared, definite)));
constexpr auto factored = [](auto a) {
  auto const [p, l, u] = ct::lu(a);
  return ct::sum(ct::square(ct::matmul(p, ct::matmul(l, u)) - a));
};
static_assert(is_small(at(factored, regular)));
constexpr auto rows = [](auto a) { return ct::trace(ct::matmul(ct::inverse(a), a)); };
static_assert(is_small(at(rows, regular) - 4));
static_assert(is_small(at([](auto a) { return ct::determinant(a); }, regular) - 109));


// Decompositions: named extents, and values.
constexpr auto orthogonal = [](auto a) { return ct::qr(a); };
static_assert(std::is_same_v<result<decltype(orthogonal), tensor<float, "s", 5, 3>>, std::tuple<tensor<float, "s", 5, 3>, tensor<float, "s", 3, 3>>>);
static_assert(std::is_same_v<result<decltype(orthogonal), tensor<float, "n", "n">>, std::tuple<tensor<float, "n", "n">, tensor<float, "n", "n">>>);
constexpr auto eigenvalues = [](auto a) { return ct::eigvalsh(a); };
static_assert(std::is_same_v<result<decltype(eigenvalues), tensor<double, "s", "n", "n">>, tensor<double, "s", "n">>);
constexpr auto singular = [](auto a) { return ct::svd(a); };
static_assert(std::is_same_v<result<decltype(singular), tensor<double, 2, 5, 3>>,
                             std::tuple<tensor<double, 2, 5, 3>, tensor<double, 2, 3>, tensor<double, 2, 3, 3>>>);
static_assert(std::is_same_v<result<decltype(singular), tensor<double, 3, 5>>,
                             std::tuple<tensor<double, 3, 3>, tensor<double, 3>, tensor<double, 3, 5>>>);
constexpr auto fitted = [](auto a, auto b) { return ct::lstsq(a, b); };
static_assert(std::is_same_v<result<decltype(fitted), tensor<double, 7, 5, 3>, tensor<double, 5>>, tensor<double, 7, 3>>);
static_assert(std::is_same_v<result<decltype(fitted), tensor<double, 3, 5>, tensor<double, 3, 2>>, tensor<double, 5, 2>>);

constexpr auto decomposed = [](auto a) {
  auto const [q, r] = ct::qr(a);
  auto const [u, s, vt] = ct::svd(a);
  auto const [w, columns] = ct::eigh(ct::matmul(a, ct::transpose(a)));
  return ct::sum(ct::square(ct::matmul(q, r) - a)) + ct::sum(ct::square(ct::matmul(u * s, vt) - a)) +
         ct::sum(ct::square(ct::matmul(columns * w, ct::transpose(columns)) - ct::matmul(a, ct::transpose(a)))) +
         ct::sum(ct::square(ct::matmul(ct::expm(a * 0.1), ct::expm(a * -0.1)) - ct::eye<double, 4>()));
};
static_assert(is_small(at(decomposed, regular)));
constexpr tensor<double, 4, 2> line{{1, 0}, {1, 1}, {1, 2}, {1, 3}};
static_assert(is_small(at([](auto a, auto b) { return ct::sum(ct::square(ct::lstsq(a, b) - (2 + ct::iota<double, 2>()))); }, line,
                          tensor<double, 4>{2, 5, 8, 11})));
static_assert(is_small(ct::grad([](auto a) { return ct::sum(ct::eigvalsh(a)); })(definite)(0, 1)));

} // namespace

int main() {}
