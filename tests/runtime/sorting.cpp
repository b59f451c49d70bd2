// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cotangent/run/sorting.hpp>

#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

// The kernel of argsort against the scalar code of the operation.

namespace {

using namespace cotangent;
using std::int64_t;

template <class T> std::vector<T> drawn(int64_t n, int kind, std::mt19937& random) {
  std::vector<T> x(static_cast<std::size_t>(n));
  for (std::size_t k = 0; k < x.size(); ++k) {
    auto const r = static_cast<int64_t>(random());
    if (kind == 0) x[k] = static_cast<T>(static_cast<double>(r) / 1e5 - 2e4);
    else if (kind == 1) x[k] = static_cast<T>(r % 5 - 2); // ties
    else if (kind == 2) x[k] = static_cast<T>(k / 3);     // in order
    else if (kind == 3) x[k] = static_cast<T>(-static_cast<int64_t>(k));
    else {
      using limits = std::numeric_limits<T>;
      T const edges[]{limits::lowest(), limits::max(), limits::min(), T{}, static_cast<T>(-T{}), T(1), limits::infinity(), -limits::infinity(), limits::denorm_min(),
                      -limits::denorm_min(), limits::quiet_NaN(), -limits::quiet_NaN()};
      x[k] = edges[r % (math::is_fast ? 6 : 12)];
    }
  }
  return x;
}

template <class T> void check(int64_t rows, int64_t n, int kind, std::mt19937& random) {
  INFO(rows << " rows of " << n << " elements of " << sizeof(T) << " bytes, kind " << kind);
  std::vector<T> x = drawn<T>(rows * n, kind, random);
  std::vector<int64_t> fast(x.size() + 1, 77), plain(x.size() + 1, 77);
  int64_t const sizes[]{rows, n};
  whole_call call;
  call.operand[0] = whole_tensor::of(x.data(), 2, sizes);
  call.result = whole_tensor::of(fast.data(), 2, sizes);
  std::vector<int64_t> scratch(static_cast<std::size_t>(run::whole_scratch_bytes<op::argsort>(call)) / 8 + 1, 77);
  call.scratch = reinterpret_cast<char*>(scratch.data());
  run::whole<op::argsort>(call);
  CHECK(scratch.back() == 77);
  call.result = whole_tensor::of(plain.data(), 2, sizes);
  op::argsort::whole(call);
  CHECK(fast == plain);
}

} // namespace

TEMPLATE_TEST_CASE("argsort agrees with its scalar code", "", float, double, std::int32_t, std::int64_t) {
  std::mt19937 random(3);
  for (int kind = 0; kind < 5; ++kind)
    for (int64_t const n : {0, 1, 2, 15, 16, 17, 127, 128, 129, 255, 256, 257, 3000})
      for (int64_t const rows : {1, 3}) check<TestType>(rows, n, kind, random);
}
