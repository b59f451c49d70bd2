// SPDX-License-Identifier: BSL-1.0
#include <cotangent/core/view.hpp>

#include <type_traits>

namespace {

namespace ct = cotangent;

// Small tensors are values of constant expressions.
constexpr ct::tensor<double, 2, 2> square{{1, 2}, {3, 4}};
static_assert(square(0, 0) == 1 && square(0, 1) == 2 && square(1, 0) == 3 && square(1, 1) == 4);
static_assert(square.size() == 4 && square.rank == 2 && square.extent(0) == 2 &&
              square.shape() == ct::shape_of<2, 2>);
static_assert(square == ct::tensor<double, 2, 2>{{1, 2}, {3, 4}} && square != ct::tensor<double, 2, 2>{});
constexpr ct::tensor<float, 3> three = {1, 2.5, 3};
static_assert(three(1) == 2.5f);
constexpr ct::tensor<bool, 2> truths{true, false};
static_assert(truths(0) && !truths(1) && sizeof(truths) == 2);
constexpr ct::tensor<std::int32_t, 2, 1, 3> deep{{{1, 2, 3}}, {{4, 5, 6}}};
static_assert(deep(1, 0, 2) == 6);
constexpr ct::tensor<std::int64_t, 1, 2, 1> thin{{{1}, {2}}};
static_assert(thin(0, 1, 0) == 2);
constexpr ct::tensor<float, 2, 1, 2, 1> deeper{{{{1}, {2}}}, {{{3}, {4}}}};
static_assert(deeper(1, 0, 0, 0) == 3);
constexpr ct::tensor<float, 1> one{5};
static_assert(one(0) == 5 && !std::is_convertible_v<double, ct::tensor<float, 1>>);
constexpr ct::tensor<double, 0> none;
static_assert(none.empty() && none.begin() == none.end() && none == none);

// Rank 0 converts both ways.
constexpr ct::tensor<double> scalar = 1.5;
static_assert(scalar == 1.5 && scalar + 1 == 2.5 && scalar() == 1.5 && ct::tensor<double>() == 0 &&
              scalar.size() == 1);
static_assert(std::is_convertible_v<ct::tensor<double>, double> &&
              std::is_convertible_v<double, ct::tensor<double>>);
static_assert(!std::is_convertible_v<ct::tensor<double, 1>, double>);

// They lie inside, where alignment follows from the size alone; larger ones and those with names do not.
static_assert(sizeof(ct::tensor<double>) == 8 && sizeof(ct::tensor<double, 2, 2>) == 32);
static_assert(alignof(ct::tensor<double, 3>) == 32 && alignof(ct::tensor<double, 32>) == 64);
static_assert(sizeof(ct::tensor<double, 32>) == 256 && sizeof(ct::tensor<double, 33>) == 16);
static_assert(std::is_trivially_copyable_v<ct::tensor<double, 32>> &&
              !std::is_trivially_copyable_v<ct::tensor<double, 33>>);
static_assert(std::is_nothrow_move_constructible_v<ct::tensor<double, "n">>);
static_assert(std::is_trivially_copyable_v<ct::view<double, "n", 3>> &&
              sizeof(ct::view<double, 3, 4>) == sizeof(void*));

// Parentheses are sizes, braces are elements; on the heap too, while the evaluation lasts.
constexpr bool sizes_and_elements() {
  ct::tensor<double, "n", 3> const x(100);
  ct::tensor<double, "n"> const hundred(100), single{100}, several{1, 2, 3};
  ct::tensor<double, "n", 2> const rows{{1, 2}, {3, 4}, {5, 6}};
  ct::tensor<double, "n", 1> const column{{1}, {2}};
  ct::tensor<double, "n", "n+1"> const formula(4);
  return x.extent(0) == 100 && x.size() == 300 && x(99, 2) == 0 && hundred.size() == 100 &&
         single.size() == 1 && single(0) == 100 && several.extent(0) == 3 && several(2) == 3 &&
         rows.extent(0) == 3 && rows(2, 1) == 6 && column.shape() == ct::shape_of<2, 1> &&
         column(1, 0) == 2 && formula.shape() == ct::shape_of<4, 5>;
}
static_assert(sizes_and_elements());

constexpr bool copies_and_moves() {
  ct::tensor<double, "n"> x{1, 2, 3};
  ct::tensor<double, "n"> y = x;
  y(0) = 5;
  ct::tensor<double, "n"> const z = static_cast<ct::tensor<double, "n">&&>(y);
  bool const emptied = y.empty() && y.begin() == y.end();
  y = x;
  x = z;
  return emptied && y(0) == 1 && x(0) == 5 && x == z && x != y && ct::tensor<double, "n+2">().empty();
}
static_assert(copies_and_moves());

// Views are made silently of what has the same extents.
constexpr double corner(ct::view<double const, 2, 2> v) { return v(1, 1); }
static_assert(corner(square) == 4);
static_assert(std::is_convertible_v<ct::tensor<double, 2, 2>&, ct::view<double, 2, 2>>);
static_assert(std::is_convertible_v<ct::view<double, "n">, ct::view<double const, "n">>);
static_assert(!std::is_convertible_v<ct::view<double const, "n">, ct::view<double, "n">>);
static_assert(!std::is_convertible_v<ct::tensor<double, 2, 2>&, ct::view<double, "n", 2>>);
static_assert(!std::is_convertible_v<ct::tensor<double, 2, 2> const&, ct::view<double, 2, 2>>);
constexpr ct::view<double const, "n", 2> named(square);
static_assert(named.extent(0) == 2 && named(1, 0) == 3 && ct::tensor<double, "n", 2>(named)(1, 0) == 3);
constexpr double numbers[]{1, 2, 3, 4, 5, 6};
static_assert(ct::view<double const, 2, 3>(numbers)(1, 0) == 4 &&
              ct::view<double const, "n", 2>(numbers).extent(0) == 3);

} // namespace

int main() {}
