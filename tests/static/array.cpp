// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>

// Arrays that grow while one of their elements is read. A constant evaluation refuses to read freed memory.

namespace ct = cotangent;

namespace {

constexpr bool pushes_its_own_elements() {
  ct::detail::array<int> a(1, 7);
  for (int k = 0; k < 200; ++k) a.push(a[0]);
  for (int const e : a)
    if (e != 7) return false;
  return a.size() == 201;
}
static_assert(pushes_its_own_elements());

struct text {
  ct::detail::array<char> letters;
};
constexpr bool appends_its_own_elements() {
  ct::detail::array<text> a;
  a.push({ct::detail::array<char>(3, 'a')});
  a.push({ct::detail::array<char>(5, 'b')});
  int all = 2;
  for (; all < 500; all *= 2) // (in place and while it grows)
    if (a.append(a.data(), all) != all) return false;
  for (int k = 0; k < all; ++k)
    if (a[k].letters.size() != (k % 2 == 0 ? 3 : 5) || a[k].letters[0] != (k % 2 == 0 ? 'a' : 'b')) return false;
  return a.size() == all;
}
static_assert(appends_its_own_elements());

constexpr bool indexes_before_it_pushes() {
  ct::detail::array<int> a;
  for (int k = 0; k < 200; ++k)
    if (a[a.push(k)] != k) return false;
  return true;
}
static_assert(indexes_before_it_pushes());

/// Nodes on operands and attributes that stand in the pools of the graph itself.
constexpr bool builds_from_its_own_pools() {
  ct::extend::builder b;
  b.flags.merges = false;
  ct::extend::symbol x = b.symbol_of(ct::element::float64, b.shape({2, {3, 4}}));
  x = b.push(ct::info_of<ct::op::permute>(), {x}, {1, 0});
  for (int k = 0; k < 300; ++k) {
    ct::extend::node const& n = b.get().nodes.back();
    x = b.push(n.op, b.get().ids.data() + n.first, n.operand_count, b.get().numbers.data() + n.attribute,
               n.attribute_count);
  }
  return b.failed().why == nullptr && b.get().nodes.size() == 301 && b.dims(x).size[0] == 4 &&
         b.get().numbers[601] == 0;
}
static_assert(builds_from_its_own_pools());

/// The schedule of this gradient asks for more accesses than it has room for, while it reads one of them.
inline constexpr auto f = [](auto a, auto) { return ct::logsumexp(ct::matmul(ct::transpose(a), a)); };
inline constexpr auto h = [](auto a, auto b, auto...) {
  auto [of_a, of_b] = ct::grad<0, 1>(f)(a, b);
  return ct::sum(ct::sin(of_a)) + ct::sum(of_b * of_b);
};
using second = ct::program<decltype(ct::value_and_grad<0, 1, 2, 3, 4>(h)), ct::tensor<double, 1, 17>,
                           ct::tensor<double, 5, 32>, ct::tensor<double, 0, 17, 1>, ct::tensor<double, 3>,
                           ct::tensor<double, 2>>;
static_assert(second::workspace_bytes > 0);

} // namespace
