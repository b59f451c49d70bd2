// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cotangent/cotangent.hpp>

#include <limits>
#include <string>
#include <vector>

// Calls that say which line made a NaN or an infinity.

namespace ct = cotangent;

namespace watched {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The message of the exception that the call throws; empty if there is none.
template <class F, class... X> std::string message_of(F const& f, X const&... x) {
  try {
    (void)f(x...);
  } catch (ct::numeric_error const& e) {
    return e.what();
  }
  return {};
}
std::string at(int line) { return "debug_nans.cpp:" + std::to_string(line); }
bool has(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

// [debug]
inline constexpr auto entropy = [](auto p) {
  auto const inner = 2 * p;
  return -ct::sum(inner * ct::log(p));
};
// [/debug]
constexpr int line_of_log = __LINE__ - 3;

inline constexpr auto length = [](auto x) {
  return ct::sqrt(ct::sum(x * x));
};
constexpr int line_of_sqrt = __LINE__ - 2;

inline constexpr auto doubling = [](auto x) {
  return ct::for_loop(600, [](auto, auto y) {
    return y * 4;
  }, x);
};
constexpr int line_of_product = __LINE__ - 3;

using two = ct::tensor<double, 2>;

TEST_CASE("an infinity in the value is found with its line") {
  CHECK(message_of(ct::debug_nans(entropy), two{0.5, 0.25}).empty());
  std::string const text = message_of(ct::debug_nans(entropy), two{0.5, 0});
  CHECK(has(text, "cotangent: debug_nans: log made an infinity in the value, at "));
  CHECK(has(text, at(line_of_log)));
  CHECK(message_of(ct::debug_nans(ct::value_and_grad(entropy)), two{0.5, 0}) == text);
  std::vector<double> const some{0.5, 0};
  CHECK(message_of(ct::debug_nans(entropy), ct::view<double const, "n">(some)) == text);
}

TEST_CASE("a NaN of an argument outside of the domain is found") {
  CHECK(has(message_of(ct::debug_nans(entropy), two{-1, 1}), "log made a NaN in the value"));
}

TEST_CASE("a gradient that is not finite is found at the line of its operation, though the value is finite") {
  CHECK(message_of(ct::debug_nans(length), two{0, 0}).empty());
  std::string const text = message_of(ct::debug_nans(ct::grad(length)), two{0, 0});
  CHECK(has(text, " in the derivative, at "));
  CHECK(has(text, at(line_of_sqrt)));
  CHECK(message_of(ct::debug_nans(ct::value_and_grad(length)), two{0, 0}) == text);
  CHECK(message_of(ct::debug_nans(ct::value_and_grad(length)), two{3, 4}).empty());
}

TEST_CASE("bodies of loops are watched") {
  CHECK(message_of(ct::debug_nans(doubling), 0.0).empty());
  std::string const text = message_of(ct::debug_nans(doubling), 1.0);
  CHECK(has(text, "made an infinity in the value"));
  CHECK(has(text, at(line_of_product)));
  CHECK(has(message_of(ct::debug_nans(ct::value_and_grad(doubling)), 1.0), at(line_of_product)));
}

TEST_CASE("arguments and constants that are not finite are taken as they are") {
  CHECK(message_of(ct::debug_nans(entropy), two{infinity, 1}).empty());
  auto const masked = [](auto x) { return ct::max(ct::select(x > 0, x, -std::numeric_limits<double>::infinity())); };
  CHECK(ct::debug_nans(masked)(two{-1, 2}) == 2);
  auto const difference = [](auto x) { return x - x; };
  CHECK(has(message_of(ct::debug_nans(difference), infinity), "made a NaN"));
}

TEST_CASE("a watched function returns the value and the gradient") {
  auto const [y, dx] = ct::debug_nans(ct::value_and_grad(length))(two{3, 4});
  CHECK(y == Approx(5));
  CHECK(dx(1) == Approx(0.8));
}

} // namespace watched
