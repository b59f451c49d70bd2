// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

#include <limits>
#include <tuple>

// Statistics, norms and the functions that arrange elements, in constant evaluations: values, gradients, and edges.

namespace ct = cotangent;

namespace {
using matrix = ct::tensor<double, 2, 3>;
using vector = ct::tensor<double, 3>;

constexpr matrix a() { return {{1, 2, 3}, {4, 5, 6}}; }

// products: the gradient at one zero, at two, and of no elements
constexpr auto prod = [](auto x) { return ct::prod(x); };
static_assert(ct::compiled(prod)(a()) == 720 && ct::compiled(prod)(ct::tensor<double, 0>()) == 1);
static_assert(ct::grad(prod)(vector{2, 3, 5}) == vector{15, 10, 6} && ct::grad(prod)(vector{2, 0, 5}) == vector{0, 10, 0});
static_assert(ct::grad(prod)(vector{0, 0, 5}) == vector{0, 0, 0} && ct::jvp(prod)(vector{2, 0, 5}, vector{1, 3, 1}).second == 30);
static_assert(ct::compiled([](auto x) { return ct::prod(x, ct::axes<0>); })(a()) == vector{4, 10, 18});
static_assert(ct::compiled([](auto x) { return ct::prod(x, ct::axes<1>, ct::keep); })(a()) == ct::tensor<double, 2, 1>{{6}, {120}});
static_assert(ct::compiled(prod)(ct::tensor<std::int32_t, 3>{2, 3, 7}) == 42);
static_assert(ct::grad(ct::grad([](auto x) { return ct::prod(ct::stack<0>(x, x, x)); }))(2.0) == 12);
static_assert(ct::compiled([](auto x) { return ct::concatenate(ct::stack(x, 2.0 * x), ct::stack(std::array{x, x})); })(3.0) == ct::tensor<double, 4>{3, 6, 3, 3}); // axis 0

// bools
constexpr auto above = [](auto x) { return std::tuple(ct::any(x > 5), ct::all(x > 0), ct::count(x > 2), ct::all(x > 3, ct::axes<1>)); };
static_assert(std::get<0>(ct::compiled(above)(a())) && std::get<1>(ct::compiled(above)(a())) && std::get<2>(ct::compiled(above)(a())) == 4);
static_assert(!std::get<3>(ct::compiled(above)(a()))(0) && std::get<3>(ct::compiled(above)(a()))(1));
static_assert(!ct::compiled([](auto x) { return ct::any(x > 5); })(ct::tensor<double, 0>()) && ct::compiled([](auto x) { return ct::all(x > 5); })(ct::tensor<double, 0>()));

// variances and norms: the gradient of a root at 0 is 0
static_assert(ct::compiled([](auto x) { return ct::var(x); })(vector{1, 3, 8}) - 26. / 3 < 1e-14);
static_assert(ct::grad([](auto x) { return ct::var(x); })(vector{0, 3, 6}) == vector{-2, 0, 2});
static_assert(ct::compiled([](auto x) { return ct::std(x, ct::axes<1>); })(ct::tensor<double, 2, 2>{{1, 3}, {2, 2}}) == ct::tensor<double, 2>{1, 0});
static_assert(ct::grad([](auto x) { return ct::std(x); })(vector{2, 2, 2}) == vector{0, 0, 0});
static_assert(ct::compiled([](auto x) { return ct::norm(x); })(vector{2, 3, 6}) == 7 && ct::compiled([](auto x) { return ct::norm<1>(x); })(vector{2, -3, 6}) == 11);
static_assert(ct::compiled([](auto x) { return ct::norm<ct::max_norm>(x, ct::axes<1>); })(ct::tensor<double, 2, 2>{{1, -3}, {2, 1}}) == ct::tensor<double, 2>{3, 2});
static_assert(ct::grad([](auto x) { return ct::norm(x); })(vector{0, 0, 0}) == vector{0, 0, 0} && ct::grad([](auto x) { return ct::norm(x) * 5; })(vector{0, 3, 4}) == vector{0, 3, 4});
static_assert(ct::grad([](auto x) { return ct::norm<4>(x); })(vector{0, 0, 0}) == vector{0, 0, 0} && ct::grad([](auto x) { return ct::norm<1>(x); })(vector{-1, 0, 4}) == vector{-1, 0, 1});
static_assert(ct::compiled([](auto x) { return ct::norm<3>(x); })(vector{3, -4, 5}) - 6 < 1e-14);
static_assert(ct::compiled([](auto x) { return ct::argmin(x); })(a()) == ct::tensor<std::int64_t, 2>{0, 0});
static_assert(ct::compiled([](auto x) { return ct::argmin<0>(-x); })(a()) == ct::tensor<std::int64_t, 3>{1, 1, 1});

// arrangement
static_assert(ct::compiled([](auto x) { return ct::squeeze(ct::expand<1>(ct::expand<0>(x))); })(vector{1, 2, 3}) == vector{1, 2, 3});
static_assert(ct::compiled([](auto x) { return ct::squeeze<1>(ct::expand<-1>(x)); })(vector{1, 2, 3}) == vector{1, 2, 3});
static_assert(ct::compiled([](auto x) { return ct::swap_axes<0, -1>(x); })(a()) == ct::tensor<double, 3, 2>{{1, 4}, {2, 5}, {3, 6}});
static_assert(ct::compiled([](auto x) { return ct::roll<1>(x); })(a()) == matrix{{3, 1, 2}, {6, 4, 5}} && ct::compiled([](auto x) { return ct::roll<-4>(x); })(a()) == matrix{{2, 3, 1}, {5, 6, 4}});
static_assert(ct::compiled([](auto x) { return ct::roll<1, 0>(x); })(a()) == matrix{{4, 5, 6}, {1, 2, 3}});
static_assert(ct::compiled([](auto x) { return ct::reverse(x); })(a()) == matrix{{3, 2, 1}, {6, 5, 4}} && ct::compiled([](auto x) { return ct::reverse<0>(x); })(a()) == matrix{{4, 5, 6}, {1, 2, 3}});
static_assert(ct::grad([](auto x) { return ct::dot(ct::reverse(x), ct::roll<1>(x)); })(vector{1, 2, 3}) == vector{4, 2, 6});
// Numbers as arguments, where the result has the shape of x.
static_assert(ct::compiled([](auto x) { return ct::roll(x, 1); })(a()) == matrix{{3, 1, 2}, {6, 4, 5}});
static_assert(ct::compiled([](auto x) { return ct::roll(x, std::int64_t(1), 0); })(a()) == matrix{{4, 5, 6}, {1, 2, 3}});
static_assert(ct::grad([](auto x) { return ct::dot(ct::reverse(x), ct::roll(x, -2)); })(vector{1, 2, 3}) == vector{4, 2, 6});
static_assert(ct::compiled([](auto x) { return ct::tril(x, -1); })(a()) == matrix{{0, 0, 0}, {4, 0, 0}});
static_assert(ct::compiled([](auto x) { return ct::triu(x, 1); })(a()) == matrix{{0, 2, 3}, {0, 0, 6}});
static_assert(ct::compiled([](auto x) { return ct::repeat<2>(x); })(vector{1, 2, 3}) == ct::tensor<double, 6>{1, 1, 2, 2, 3, 3});
static_assert(ct::compiled([](auto x) { return ct::repeat<2, 0>(x); })(a()) == ct::tensor<double, 4, 3>{{1, 2, 3}, {1, 2, 3}, {4, 5, 6}, {4, 5, 6}});
static_assert(ct::compiled([](auto x) { return ct::tile<2>(x); })(vector{1, 2, 3}) == ct::tensor<double, 6>{1, 2, 3, 1, 2, 3});
static_assert(ct::compiled([](auto x) { return ct::tile<2, 1>(x); })(vector{1, 2, 3}) == matrix{{1, 2, 3}, {1, 2, 3}});
static_assert(ct::compiled([](auto x) { return ct::tril(x); })(a()) == matrix{{1, 0, 0}, {4, 5, 0}} && ct::compiled([](auto x) { return ct::triu<1>(x); })(a()) == matrix{{0, 2, 3}, {0, 0, 6}});
static_assert(ct::compiled([](auto x) { return ct::tril<-1>(x); })(a()) == matrix{{0, 0, 0}, {4, 0, 0}});
static_assert(ct::compiled([](auto x) { return ct::diagonal(x); })(a()) == ct::tensor<double, 2>{1, 5} && ct::compiled([](auto x) { return ct::trace(x); })(a()) == 6);
static_assert(ct::compiled([](auto x) { return ct::diagonal(ct::transpose(x)); })(a()) == ct::tensor<double, 2>{1, 5});
static_assert(ct::compiled([](auto x) { return ct::diag(x); })(ct::tensor<double, 2>{3, 4}) == ct::tensor<double, 2, 2>{{3, 0}, {0, 4}});
static_assert(ct::compiled([](auto x) { return ct::diag(x); })(ct::tensor<double, 0>()) == ct::tensor<double, 0, 0>());
static_assert(ct::grad([](auto x) { return ct::trace(ct::matmul(x, x)); })(ct::tensor<double, 2, 2>{{1, 2}, {3, 4}}) == ct::tensor<double, 2, 2>{{2, 6}, {4, 8}});
static_assert(ct::compiled([](auto x) { return ct::pad<1, 0, 0, 1>(x, 7); })(ct::tensor<double, 1, 2>{{1, 2}}) == matrix{{7, 7, 7}, {1, 2, 7}});
static_assert(ct::compiled([](auto x) { return ct::pad<1, 2>(x); })(vector{1, 2, 3}) == ct::tensor<double, 6>{0, 1, 2, 3, 0, 0});
static_assert(ct::grad<1>([](auto x, auto v) { return ct::sum(ct::square(ct::pad<1, 2>(x, v))); })(vector{1, 2, 3}, 2.0) == 12);
static_assert(ct::compiled([](auto x) { return ct::linspace<5>(x, 2); })(0.0) == ct::tensor<double, 5>{0, 0.5, 1, 1.5, 2});
static_assert(ct::compiled([](auto x) { return ct::linspace<1>(x, 2); })(0.5) == ct::tensor<double, 1>{0.5});
static_assert(ct::compiled([](auto x) { return x + ct::linspace<5>(0, 2); })(0.0) == ct::tensor<double, 5>{0, 0.5, 1, 1.5, 2});
static_assert(ct::compiled([](auto x) { return ct::linspace<50>(x, 1.0)(49); })(0.0) == 1); // 49 * (1. / 49) is below 1
static_assert(ct::compiled([](auto x) { return x + ct::linspace<4>(0.0, 0.3); })(0.0)(3) == 0.3);
static_assert(ct::compiled([](auto x) { return x + ct::linspace<float, 3>(2, 1); })(0.0F) == ct::tensor<float, 3>{2, 1.5F, 1});
static_assert(ct::compiled([](auto x) { return x + ct::linspace<1>(2, 1); })(0.0) == ct::tensor<double, 1>{2});
static_assert(ct::compiled([](auto x, auto y) { return ct::outer(x, y); })(ct::tensor<double, 2>{1, 2}, vector{1, 2, 3}) == matrix{{1, 2, 3}, {2, 4, 6}});
static_assert(ct::compiled([](auto x, auto y) { return ct::cross(x, y); })(vector{1, 2, 3}, vector{4, 5, 7}) == vector{-1, 5, -3});
static_assert(ct::grad([](auto x, auto y) { return ct::sum(ct::cross(x, y)); })(vector{1, 2, 3}, vector{4, 5, 7}) == vector{-2, 3, -1});

static_assert(ct::compiled([](auto x) { return ct::argmin(x); })(ct::tensor<std::int32_t, 4>{0, 7, std::numeric_limits<std::int32_t>::min(), -5}) == 2);
static_assert(ct::compiled([](auto x) { return ct::argmin(x); })(ct::tensor<double, 4>{1, -0.5, 3, -0.5}) == 1);
// the lowest integer, which has no negative
using integers = ct::tensor<std::int32_t, 4>;
constexpr integers lowest{0, 7, std::numeric_limits<std::int32_t>::min(), -5};
static_assert(ct::compiled([](auto x) { return ct::top_k<2>(x).first; })(lowest) == ct::tensor<std::int32_t, 2>{7, 0});
static_assert(ct::compiled([](auto x) { return ct::cummin(x); })(lowest) == integers{0, 0, lowest(2), lowest(2)});
static_assert(ct::compiled([](auto x, auto s) { return ct::segment_min<2>(x, s); })(lowest, integers{0, 1, 0, 1}) == ct::tensor<std::int32_t, 2>{lowest(2), -5});

// orders: equal elements in their order, NaN last
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
static_assert(ct::compiled([](auto x) { return ct::argsort(x); })(ct::tensor<double, 6>{3, nan, 1, 3, -7, 1}) == ct::tensor<std::int64_t, 6>{4, 2, 5, 0, 3, 1});
static_assert(ct::compiled([](auto x) { return ct::sort<0>(x); })(matrix{{4, 2, 9}, {1, 5, 9}}) == matrix{{1, 2, 9}, {4, 5, 9}});
static_assert(ct::grad([](auto x) { return ct::dot(ct::sort(x), ct::iota<double, 3>()); })(vector{5, 1, 3}) == vector{2, 0, 1});
static_assert(ct::compiled([](auto x) { return ct::top_k<2>(x).first; })(matrix{{4, 2, 9}, {1, 5, 9}}) == ct::tensor<double, 2, 2>{{9, 4}, {9, 5}});
static_assert(ct::compiled([](auto x) { return ct::top_k<2>(x).second; })(vector{4, 2, 9}) == ct::tensor<std::int64_t, 2>{2, 0});
static_assert(ct::compiled([](auto x) { return ct::sort(x); })(ct::tensor<std::int32_t, 3>{3, 1, 2}) == ct::tensor<std::int32_t, 3>{1, 2, 3});
static_assert(ct::compiled([](auto x) { return ct::sort(x); })(ct::tensor<double, 0>()) == ct::tensor<double, 0>());

// An axis is a template argument, ct::axes<K> or, where the shape is kept, a number.
constexpr matrix lines{{3, 1, 2}, {6, 5, -4}};
template <class F, class G> constexpr bool are_alike(F, G) { return ct::compiled(F{})(lines) == ct::compiled(G{})(lines); }
static_assert(are_alike([](auto x) { return ct::softmax<0>(x) + ct::log_softmax<0>(x); },
                        [](auto x) { return ct::softmax(x, ct::axes<0>) + ct::log_softmax(x, 0); }));
static_assert(are_alike([](auto x) { return ct::cumsum<0>(x) * ct::cumprod<1>(x); },
                        [](auto x) { return ct::cumsum(x, ct::axes<0>) * ct::cumprod(x, ct::axes<-1>); }));
static_assert(are_alike([](auto x) { return ct::cummax<0>(x) - ct::cummin<0>(x) + ct::reverse<0>(x); },
                        [](auto x) { return ct::cummax(x, ct::axes<0>) - ct::cummin(x, 0) + ct::reverse(x, -2); }));
static_assert(are_alike([](auto x) { return ct::logcumsumexp<0>(x) + ct::sort<0>(x); },
                        [](auto x) { return ct::logcumsumexp(x, 0) + ct::sort(x, ct::axes<-2>); }));
static_assert(are_alike([](auto x) { return ct::argsort<0>(x); }, [](auto x) { return ct::argsort(x, 0); }));
static_assert(are_alike([](auto x) { return ct::argmax<0>(x) - ct::argmin<0>(x); },
                        [](auto x) { return ct::argmax(x, ct::axes<0>) - ct::argmin(x, ct::axes<0>); }));
static_assert(ct::compiled([](auto x) { return ct::norm<ct::max_norm>(x); })(ct::tensor<double, 0>{}) == 0); // the largest of nothing is -infinity
static_assert(ct::select(true, 1.5, 2) == 1.5 && ct::select(false, 1, 2) == 2);

} // namespace

int main() {}
