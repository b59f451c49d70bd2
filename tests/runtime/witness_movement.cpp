// SPDX-License-Identifier: BSL-1.0
#include "witness.hpp"

// Functions that move elements, products of matrices, and choices by integers, by all witnesses.

using namespace witness;
namespace ct = cotangent;

namespace {
template <class T> using moved = group<functions::movements, false, drawn<ct::expr<T, "n", 4, "m">>,
                                       drawn<ct::expr<T, "m">>, drawn<ct::expr<T, "n", 4>>>;
template <class T> using random_ones =
    group<functions::random_numbers, false, drawn<ct::expr<T, "n", 4, "m">>, drawn<ct::expr<T, "m">>>;
template <class T> using multiplied =
    group<functions::products, false, drawn<ct::expr<T, "n", 4>>, drawn<ct::expr<T, 4, "m">>,
          drawn<ct::expr<T, "n", "m">>, drawn<ct::expr<T, 4>>>;
template <class T, class I> using chosen =
    group<functions::choices, false, drawn<ct::expr<T, 5, "m">>, drawn<ct::expr<T, "n", 5>>,
          drawn<ct::expr<T, "n", "m">>, drawn<ct::expr<I, "n">, domain::position>>;
} // namespace

TEST_CASE("movement operations agree with their witnesses") {
  for (std::int64_t const n : {1, 7, 65}) // a position is taken from the first axis
    for (std::int64_t const m : {0, 1, 7, 64}) {
      check_functions(moved<double>::view(), n, m);
      if (n < 8) check_functions(moved<float>::view(), n, m);
      check_program<moved<double>>(n, m);
    }
}
TEST_CASE("random numbers agree with their witnesses") {
  for (std::int64_t const n : {1, 3}) // a position is taken from the first axis
    for (std::int64_t const m : {0, 1, 7, 64}) {
      check_functions(random_ones<double>::view(), n, m);
      if (n == 1) check_functions(random_ones<float>::view(), n, m);
      check_program<random_ones<double>>(n, m);
      check_program<random_ones<float>>(n, m);
    }
}
TEST_CASE("products of matrices agree with their witnesses") {
  for (std::int64_t const n : {0, 1, 7, 65})
    for (std::int64_t const m : {1, 7, 64}) { // a position is taken from the last axis
      check_functions(multiplied<double>::view(), n, m);
      if (n < 8) check_functions(multiplied<float>::view(), n, m);
      check_program<multiplied<float>>(n, m);
    }
}
TEST_CASE("every operation that moves elements is in a function or its derivatives") {
  group_view const groups[]{moved<double>::view(), multiplied<double>::view(), chosen<double, std::int64_t>::view()};
  check_covered(ct::detail::repeat_operations{}, groups);
  check_covered(ct::detail::movement_operations{}, groups);
  check_covered(ct::detail::matmul_operations{}, groups);
  check_covered(ct::detail::indexing_operations{}, groups);
  check_covered(ct::detail::running_operations{}, groups);
  check_covered(ct::detail::integer_operations{}, groups);
}
TEST_CASE("indexing by integers agrees with its witnesses") {
  for (std::int64_t const n : {0, 1, 7, 65})
    for (std::int64_t const m : {0, 1, 7, 64}) {
      check_functions(chosen<double, std::int32_t>::view(), n, m);
      if (n < 8) check_functions(chosen<float, std::int64_t>::view(), n, m);
      check_program<chosen<double, std::int64_t>>(n, m);
    }
}

// What is wrong has to be seen: each of these fails, and passes by that.
namespace {
struct wrong_square : ct::extend::elementwise<1> {
  static constexpr char const* name = "wrong_square";
  template <class V> static constexpr V apply(V const& x) { return static_cast<V>(x * x); }
  static constexpr ct::term partial(ct::rule const& r, int) { return 3 * r.x(); }
};
inline constexpr std::tuple wrong_values{
    functions::function{"square", [](auto x) { return x * x; }, [](dual x) { return x * x * (1 + 1e-9); }}};
inline constexpr std::tuple wrong_derivatives{functions::function{
    "square", [](auto x) { return ct::extend::apply<wrong_square>({}, x); }, [](dual x) { return x * x; }}};
template <auto const& Table> using few = group<Table, true, drawn<ct::expr<double, "n">>>;
} // namespace
TEST_CASE("a wrong value is noticed", "[!shouldfail]") { check_functions(few<wrong_values>::view(), 3); }
TEST_CASE("a wrong derivative is noticed", "[!shouldfail]") { check_functions(few<wrong_derivatives>::view(), 3); }
