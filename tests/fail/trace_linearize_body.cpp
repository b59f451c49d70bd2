// SPDX-License-Identifier: BSL-1.0
// EXPECT: cotangent: linearize: a linear map must not be called in the body of a loop or in a branch that begins after it; call ct::jvp there
// ERRORS: 2
#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

inline constexpr auto square = [](auto x) { return x * x; };
#ifdef REFUSED
inline constexpr auto in_loop = [](auto x) {
  auto const map = ct::linearize(square)(x).second;
  return ct::for_loop(3, [&](auto, auto s) { return map(s); }, x);
};
inline constexpr auto in_branch = [](auto x) {
  auto const map = ct::linearize(square)(x).second;
  return ct::cond(x > 0.0, [&](auto s) { return map(s); }, [](auto s) { return s; })(x);
};
#else
inline constexpr auto in_loop = [](auto x) {
  return ct::for_loop(3, [&](auto, auto s) { return ct::jvp(square)(x, s).second; }, x);
};
inline constexpr auto in_branch = [](auto x) {
  return ct::cond(x > 0.0, [&](auto s) { return ct::linearize(square)(x).second(s); }, [](auto s) { return s; })(x);
};
#endif

int main() { return ct::compiled(in_loop)(1.0) == 8 && ct::compiled(in_branch)(3.0) == 18 ? 0 : 1; }
