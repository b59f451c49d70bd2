// SPDX-License-Identifier: BSL-1.0
#include <cotangent/core/argument.hpp>
#include <cotangent/core/array.hpp>
#include <cotangent/core/element.hpp>
#include <cotangent/core/names.hpp>
#include <cotangent/core/shape.hpp>

namespace {

using cotangent::detail::array;
using cotangent::detail::bind_axes;
using cotangent::detail::bindings;
using cotangent::detail::broadcast_shapes;
using cotangent::extent;
using cotangent::detail::axis_fit;
using cotangent::detail::names_in;
using cotangent::detail::row_major;
using cotangent::shape;
using cotangent::shape_of;

// Elements.
using cotangent::element;
static_assert(cotangent::element_of<float> == element::float32 && cotangent::size_of(element::boolean) == 1);
static_assert(cotangent::element_type<double> && !cotangent::element_type<double const> &&
              !cotangent::element_type<char>);
static_assert(cotangent::is_floating(element::float64) && !cotangent::is_floating(element::int32));
static_assert(cotangent::name_of(element::int64)[3] == '6');

// Shapes are values.
static_assert(shape{} == shape_of<> && shape{}.size() == extent(1) && shape{}.is_static());
static_assert(shape_of<3, 4>.size() == extent(12) && shape_of<3, 4>.is_static() && shape_of<3, 4>.rank == 2);
static_assert(shape_of<3, "n">.size() == extent("3*n") && !shape_of<3, "n">.is_static());
static_assert(shape_of<"n", 0>.size() == extent(0));
static_assert(shape_of<INT64_MAX, 2>.size().number == extent::too_large);
static_assert(shape_of<3, 4> != shape_of<4, 3> && shape_of<3> != shape_of<3, 1> &&
              shape_of<3, "n"> == shape_of<3, "n">);
static_assert(shape_of<3, 4>.hash() == shape_of<3, 4>.hash() &&
              shape_of<3, 4>.hash() != shape_of<4, 3>.hash());
static_assert(shape_of<3>.hash() != shape_of<3, 1>.hash() && shape_of<"n">.hash() != shape_of<"m">.hash());
static_assert(shape_of<3, -1>.is_valid() == false && shape_of<3, "n">.is_valid());

// Few shapes share the low bits of their hashes: a table of twice as many places keeps its probes short.
constexpr int longest_probe = [] {
  array<int> table(1024, 0);
  int longest = 0;
  for (int i = 0; i < 512; ++i) {
    shape s;
    s.push(extent::of(i / 16));
    s.push(extent::of(i % 16));
    auto at = s.hash() & 1023u;
    int probe = 0;
    while (table[static_cast<int>(at)] != 0) {
      at = (at + 1) & 1023u;
      ++probe;
    }
    table[static_cast<int>(at)] = 1;
    if (probe > longest) longest = probe;
  }
  return longest;
}();
static_assert(longest_probe <= 16);

// Strides and products.
static_assert(row_major(shape_of<2, 3, 4>) == cotangent::strides{{12, 4, 1}});
static_assert(row_major(shape{}) == cotangent::strides{});
constexpr std::int64_t huge[]{std::int64_t{1} << 40, std::int64_t{1} << 40, 0};
static_assert(cotangent::detail::checked_product(huge, 1) == std::int64_t{1} << 40);
static_assert(cotangent::detail::checked_product(huge, 2) == -1 && cotangent::detail::checked_product(huge, 3) == 0);
static_assert(cotangent::detail::checked_product(huge, 0) == 1);

// Broadcasting.
static_assert(broadcast_shapes(shape_of<3, 4>, shape_of<4>) == shape_of<3, 4>);
static_assert(broadcast_shapes(shape_of<4>, shape_of<3, 1>) == shape_of<3, 4>);
static_assert(broadcast_shapes(shape_of<>, shape_of<"n", 2>) == shape_of<"n", 2>);
static_assert(broadcast_shapes(shape_of<"n", 1>, shape_of<5>) == shape_of<"n", 5>);
static_assert(!broadcast_shapes(shape_of<"n">, shape_of<5>).is_valid());
static_assert(!broadcast_shapes(shape_of<2, 3>, shape_of<3, 2>).is_valid());

// Binding names to sizes.
constexpr axis_fit bound(shape const& s, std::int64_t a, std::int64_t b) {
  bindings known;
  std::int64_t const sizes[]{a, b};
  return bind_axes(known, s, sizes);
}
static_assert(bound(shape_of<"n", "n">, 4, 4).failed == axis_fit::nothing);
static_assert(bound(shape_of<"n", "n">, 4, 5).failed == axis_fit::name &&
              bound(shape_of<"n", "n">, 4, 5).wanted == 4);
static_assert(bound(shape_of<"n", 3>, 4, 5).failed == axis_fit::number && bound(shape_of<"n", 3>, 4, 5).axis == 1);
static_assert(bound(shape_of<"2*n", "n">, 8, 4).failed == axis_fit::nothing);
static_assert(bound(shape_of<"2*n", "n">, 9, 4).failed == axis_fit::formula &&
              bound(shape_of<"2*n", "n">, 9, 4).wanted == 8);
static_assert(bound(shape_of<"2*n", "m">, 9, 4).failed == axis_fit::nothing); // n is not known
static_assert(bound(shape_of<"n-3", "n">, 0, 2).failed == axis_fit::formula && bound(shape_of<"n-3", "n">, 5, 2).wanted < 0); // -1 is no size
static_assert(names_in(shape_of<"m*n", 3, "k">).count == 3 &&
              names_in(shape_of<"m*n", 3, "k">).find("k") == 2);

// The array of constant evaluations.
constexpr int sum_of_array() {
  array<int> a;
  for (int i = 0; i < 100; ++i)
    if (a.push(i) != i) return -1;
  array<int> b = a;
  b.pop();
  b.resize(120);
  array<int> c = static_cast<array<int>&&>(a);
  c = b;
  a.swap(c);
  a.push(a.back() + a[1]);
  array<array<int>> nested;
  nested.push(a);
  nested.push(nested[0]);
  int sum = 0;
  for (int i : nested[1]) sum += i;
  return nested[0] == nested[1] && c.empty() ? sum + b.size() : -1;
}
static_assert(sum_of_array() == 99 * 49 + 1 + 120);

// What arguments look like.
template <class A, int Position> constexpr shape extents_of =
    cotangent::detail::argument_traits<A, Position>::extents;
struct bytes {
  unsigned char* data();
  unsigned size() const;
};
struct bag {
  double* data() const;
  double* begin() const;
  unsigned size() const;
};
struct gaps { // perhaps: its elements may lie anywhere behind data()
  double* data() const;
  unsigned size() const;
};
struct triple {
  using element_type = double;
  static constexpr std::size_t extent = 3;
  double* data() const;
  double* begin() const;
  std::size_t size() const;
};
static_assert(!cotangent::detail::contiguous<gaps> && cotangent::detail::contiguous<bag>);
static_assert(extents_of<double, 0> == shape_of<> && extents_of<float[2][3], 1> == shape_of<2, 3>);
static_assert(extents_of<bag, 2> == shape_of<"?2"> && extents_of<triple, 2> == shape_of<3>);
static_assert(extents_of<cotangent::tensor<double, "n", 3>, 4> == shape_of<"n", 3>);
static_assert(!cotangent::detail::argument_type<bytes> && !cotangent::detail::argument_type<double*> &&
              !cotangent::detail::argument_type<void>);
static_assert(!cotangent::detail::argument_type<char> && !cotangent::detail::argument_type<unsigned>);
static_assert(cotangent::detail::argument_traits<float, 0>::is_scalar &&
              !cotangent::detail::argument_traits<bag, 0>::is_scalar);

} // namespace

int main() {}
