// SPDX-License-Identifier: BSL-1.0
#include <cotangent/core/extent.hpp>
#include <cotangent/core/names.hpp>

#include <concepts>

namespace {

using cotangent::detail::bindings;
using cotangent::detail::broadcast_extents;
using cotangent::detail::divide;
using cotangent::detail::evaluate;
using cotangent::extent;
using cotangent::detail::is_name;

constexpr bool reads(extent const& e, char const* text) {
  return e.is_symbol() && cotangent::detail::compare_names(e.text, text) == 0;
}

// Numbers.
static_assert(extent(3).is_number() && extent(3).number == 3 && extent(3).hash == 0 &&
              extent(3).text[0] == '\0');
static_assert(extent(0).is_valid() && extent() == extent(0));
static_assert(extent(3) == extent(3u) && extent(3) == extent(3ll) && extent(3) != extent(4));
static_assert(extent(3) + extent(4) == extent(7));
static_assert(extent(3) * extent(4) == extent(12));
static_assert(extent(4) - extent(3) == extent(1));
static_assert(extent::of(5) == extent(5));

// Numbers that are refused.
static_assert(extent(-1).number == extent::negative && extent::of(-7).number == extent::negative);
static_assert(!extent(-1).is_valid() && !extent(-1).is_symbol());
static_assert((extent(3) - extent(4)).number == extent::negative);
static_assert(extent(~0ull).number == extent::too_large);
static_assert((extent(INT64_MAX) + extent(1)).number == extent::too_large);
static_assert((extent(INT64_MAX) * extent(2)).number == extent::too_large);
static_assert(!(extent(-1) + extent("n")).is_valid() && !(extent("n") * extent(-1)).is_valid());

// Names.
static_assert(extent("n").is_symbol() && reads("n", "n"));
static_assert(extent("n") == extent("n") && extent("n") != extent("m") && extent("n") != extent(3));
static_assert(reads("a_long_name_15c", "a_long_name_15c"));
static_assert(extent("sixteen_letters_").number == extent::malformed);
static_assert(extent("").number == extent::malformed && extent("n m").number == extent::malformed);
static_assert(extent("n-").number == extent::malformed && extent("n/2").number == extent::malformed);
static_assert(extent("99999999999999999999").number == extent::too_large);
static_assert(is_name("n") && is_name("n1") && is_name("?0") && is_name("_"));
static_assert(!is_name("2*n") && !is_name(3) && !is_name("n+1") && !is_name("n*n"));

// Formulas have one normal form.
static_assert(reads(extent("n") + extent("m"), "m+n"));
static_assert(reads(extent("n") * extent(3), "3*n") && extent("3*n") == extent("n+n+n"));
static_assert(reads(extent("n") * extent("m") * extent(2) + extent(4), "2*m*n+4"));
static_assert(reads("4 + 2 * n * m", "2*m*n+4"));
static_assert(reads("b + a*a + a + b*b", "a*a+b*b+a+b"));
static_assert(reads("n - m", "-m+n"));
static_assert(extent("(n)").number == extent::malformed);
static_assert(extent("n - n") == extent(0) && extent("0*n + 2 * 3") == extent(6));
static_assert(extent("n+1").hash != extent("n+2").hash && extent("n+1") != extent("n+2"));
static_assert(extent("n") + extent(0) == extent("n") && extent("n") * extent(1) == extent("n"));
static_assert(extent("n") * extent(0) == extent(0) && extent("n") - extent("n") == extent(0));
static_assert((extent("n") + extent("m")) * (extent("n") - extent("m")) == extent("n*n - m*m"));
static_assert((extent("n") + extent(1)) * (extent("n") + extent(1)) == extent("n*n + 2*n + 1"));
static_assert((extent("9223372036854775807*n") + extent("n")).number == extent::too_large);
static_assert((extent("9223372036854775807*n") * extent(2)).number == extent::too_large);

// A number times a monomial takes a short way, which must lead to the same place.
static_assert(reads(extent("3*n") * extent(14), "42*n") && extent("3*n") * extent(14) == extent("42*n"));
static_assert(reads(extent(10) * extent("m*n"), "10*m*n") && reads(extent("?0") * extent(120), "120*?0"));
static_assert(extent("n+1") * extent(3) == extent("3*n+3") && extent(3) * extent("-n") == extent("-3*n"));
static_assert((extent("12*n1") * extent(100)).hash == extent("1200*n1").hash);

// What arithmetic makes and what is written are the same type.
template <extent> struct type {};
static_assert(std::same_as<type<extent("n") * extent(3)>, type<"3*n">>);
static_assert(std::same_as<type<extent(2) + extent(1)>, type<3>>);
static_assert(!std::same_as<type<"n">, type<"m">>);

// Formulas that are too long to be kept still compare, however they were made.
constexpr extent long_sum = extent("alphaalpha") + extent("betabeta") + extent("gammagamma") +
                            extent("deltadelta") + extent("epsilonepsilon");
constexpr extent the_same_sum = extent("epsilonepsilon") + (extent("deltadelta") + extent("betabeta")) +
                                (extent("gammagamma") + extent("alphaalpha"));
static_assert(long_sum.is_symbol() && long_sum.overflow() && long_sum == the_same_sum);
static_assert(long_sum * extent(2) == the_same_sum + long_sum && long_sum + extent(1) != long_sum);
static_assert(long_sum - the_same_sum == extent(0));
static_assert(std::same_as<type<long_sum * extent("n")>, type<extent("n") * the_same_sum>>);
static_assert(evaluate(long_sum, bindings{}) == extent::too_large);

// Anonymous extents meet only themselves.
static_assert(extent::anonymous(0) == extent("?0") && extent::anonymous(12) == extent("?12"));
static_assert(extent::anonymous(0) != extent::anonymous(1) && extent::anonymous(3, 1) == extent("?3b"));
static_assert(extent::anonymous(0).is_anonymous() && !extent("n").is_anonymous());

// Division, as for polynomials.
static_assert(divide(12, 3) == extent(4) && !divide(12, 5).is_valid() && !divide(12, 0).is_valid());
static_assert(divide(0, 3) == extent(0));
static_assert(divide("12*n", 3) == extent("4*n") && divide("12*n", "n") == extent(12) &&
              divide("n", "n") == extent(1));
static_assert(divide("12*m*n + 6*n", "3*n") == extent("4*m + 2"));
static_assert(divide("n*n - m*m", "n + m") == extent("n - m"));
static_assert(divide("n*n + 2*n + 1", "n + 1") == extent("n + 1"));
static_assert(!divide("n", "m").is_valid() && !divide("n+1", "n").is_valid() && !divide("3*n", 2).is_valid());
static_assert(!divide(12, "n").is_valid() && !divide("n", 0).is_valid());

// Broadcasting.
static_assert(broadcast_extents(3, 3) == extent(3) && broadcast_extents(1, 3) == extent(3));
static_assert(broadcast_extents(3, 1) == extent(3) && broadcast_extents("n", 1) == extent("n"));
static_assert(broadcast_extents(1, "n") == extent("n") && broadcast_extents("n", "n") == extent("n"));
static_assert(broadcast_extents(0, 1) == extent(0));
static_assert(!broadcast_extents(3, 4).is_valid() && !broadcast_extents("n", 3).is_valid());
static_assert(!broadcast_extents("n", "m").is_valid() && !broadcast_extents("?0", "?1").is_valid());

// Evaluation.
constexpr bindings sizes = [] {
  bindings b;
  b.bind("n", 5);
  b.bind("m", 7);
  return b;
}();
static_assert(evaluate(3, sizes) == 3 && evaluate("n", sizes) == 5 && evaluate("2*m*n + 4", sizes) == 74);
static_assert(evaluate("m - n", sizes) == 2 && evaluate("n - m", sizes) == extent::negative);
static_assert(evaluate("k", sizes) == extent::malformed &&
              evaluate("9223372036854775807*n", sizes) == extent::too_large);
static_assert(bindings(sizes).bind("n", 5) == bindings::agrees &&
              bindings(sizes).bind("n", 6) == bindings::conflicts);

} // namespace

int main() {}
