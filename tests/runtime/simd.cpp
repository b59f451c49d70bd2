// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"

#include <cotangent/core/math/roots.hpp>
#include <cotangent/kernels/simd.hpp>
#include <cotangent/kernels/simd_join.hpp>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <source_location>
#include <type_traits>

// Packs against loops over elements: every width up to four registers of 16 bytes more than the target has,
// every tail, every misalignment. Buffers end where their elements end, so that a sanitizer sees what is
// touched beyond.

namespace math = cotangent::math;
namespace simd = cotangent::simd;

namespace {

// One CHECK for all of them: Catch2 takes long to compile.
void expect(bool holds, std::source_location where = std::source_location::current()) {
  INFO("line " << where.line());
  CHECK(holds);
}

template <class T>
struct buffer {
  explicit buffer(std::ptrdiff_t size) : elements(new T[static_cast<std::size_t>(size)]) {
    for (std::ptrdiff_t i = 0; i < size; ++i)
      elements[static_cast<std::size_t>(i)] = static_cast<T>(i * 7 % 23 - 5);
  }
  T* at(std::ptrdiff_t i) { return elements.get() + i; }
  T operator[](std::ptrdiff_t i) const { return elements[static_cast<std::size_t>(i)]; }
  std::unique_ptr<T[]> elements;
};

template <class V, class F>
bool each_lane(V const& v, F expected) {
  bool equal = true;
  for (int i = 0; i < math::lanes<V>; ++i)
    equal = equal && math::get(v, i) == static_cast<math::lane_t<V>>(expected(i));
  return equal;
}

template <class T>
constexpr T not_a_number =
    math::bit_cast<T>(static_cast<math::bits_t<T>>(sizeof(T) == 4 ? 0x7fc00000 : 0x7ff8000000000000));

template <class T, class F>
void every_width(F f) {
  f.template operator()<simd::pack<T, 1>>();
  f.template operator()<simd::pack<T, 2>>();
  f.template operator()<simd::pack<T, 4>>();
  f.template operator()<simd::pack<T, 8>>();
  f.template operator()<simd::pack<T, 16>>();
  f.template operator()<simd::pack<T, simd::width<T>>>();
}

} // namespace

TEMPLATE_TEST_CASE("packs are loaded and stored at any address, with any tail",
                   "[simd]", float, double, std::int32_t, std::int64_t) {
  using T = TestType;
  every_width<T>([]<class V>() {
    constexpr int w = math::lanes<V>;
    for (int offset = 0; offset < 3; ++offset) {
      buffer<T> const source(offset + w);
      buffer<T> whole(offset + w);
      T const* const p = source.elements.get() + offset;
      V const v = simd::load<V>(p);
      expect(each_lane(v, [&](int i) { return p[i]; }));
      simd::store(whole.at(offset), static_cast<V>(v + v));
      for (int i = 0; i < w; ++i) expect(whole[offset + i] == p[i] + p[i]);
      for (int count = 0; count <= w; ++count) {
        buffer<T> few(offset + count), untouched(offset + w);
        V const part = simd::load<V>(few.at(offset), count);
        expect(each_lane(part, [&](int i) { return i < count ? few[offset + i] : T(0); }));
        simd::store(few.at(offset), static_cast<V>(v + v), count);
        simd::store(untouched.at(offset), static_cast<V>(v + v), count);
        for (int i = 0; i < count; ++i) expect(few[offset + i] == p[i] + p[i]);
        for (int i = 0; i < w; ++i) expect(untouched[offset + i] == (i < count ? p[i] + p[i] : p[i]));
      }
    }
  });
}

TEMPLATE_TEST_CASE("strided and indexed loads take the right elements",
                   "[simd]", float, double, std::int32_t, std::int64_t) {
  using T = TestType;
  every_width<T>([]<class V>() {
    constexpr int w = math::lanes<V>;
    buffer<T> source(3 * w);
    expect(each_lane(simd::load_strided<V>(source.at(0), 3), [&](int i) { return source[3 * i]; }));
    expect(each_lane(simd::load_strided<V>(source.at(3 * w - 1), -2),
                     [&](int i) { return source[3 * w - 1 - 2 * i]; }));
    for (int count = 0; count <= w; ++count) {
      buffer<T> few(count == 0 ? 0 : 3 * (count - 1) + 1);
      expect(each_lane(simd::load_strided<V>(few.at(0), 3, count),
                       [&](int i) { return i < count ? few[3 * i] : T(0); }));
    }
    auto const both = [&]<class Index>() {
      Index index{};
      if constexpr (w == 1) index = 2;
      else
        for (int i = 0; i < w; ++i) index[i] = (i * 5 + 2) % (3 * w);
      expect(each_lane(simd::gather<V>(source.at(0), index),
                       [&](int i) { return source[(i * 5 + 2) % (3 * w)]; }));
    };
    both.template operator()<math::with_lane<V, std::int32_t>>();
    both.template operator()<math::with_lane<V, std::int64_t>>();
  });
}

TEMPLATE_TEST_CASE("masks are stored and loaded as bools",
                   "[simd]", float, double, std::int32_t, std::int64_t) {
  every_width<TestType>([]<class V>() {
    using M = math::mask_t<V>;
    constexpr int w = math::lanes<V>;
    for (unsigned pattern : {0u, ~0u, 0x5a5au, 1u, 1u << (w - 1)}) {
      std::unique_ptr<bool[]> source(new bool[w]), copy(new bool[w]);
      for (int i = 0; i < w; ++i) source[static_cast<std::size_t>(i)] = (pattern >> i & 1) != 0;
      M const m = simd::load_mask<M>(source.get());
      V const chosen = math::select(m, math::broadcast<V>(3), math::broadcast<V>(4));
      expect(each_lane(chosen, [&](int i) { return (pattern >> i & 1) != 0 ? 3 : 4; }));
      simd::store_mask(copy.get(), m);
      expect(std::memcmp(copy.get(), source.get(), w) == 0);
      simd::store_mask(copy.get(), math::logical_not(m));
      for (int i = 0; i < w; ++i)
        expect(copy[static_cast<std::size_t>(i)] != source[static_cast<std::size_t>(i)]);
      unsigned const bits = pattern & ((1u << w) - 1);
      expect(math::any(m) == (bits != 0));
      expect(math::all(m) == (bits == (1u << w) - 1));
      using narrow = math::mask_t<math::with_lane<V, float>>;
      using wide = math::mask_t<math::with_lane<V, double>>;
      simd::store_mask(copy.get(), math::mask_cast<narrow>(m));
      expect(std::memcmp(copy.get(), source.get(), w) == 0);
      simd::store_mask(copy.get(), math::mask_cast<wide>(m));
      expect(std::memcmp(copy.get(), source.get(), w) == 0);
      for (int count = 0; count <= w; ++count) {
        std::unique_ptr<bool[]> few(new bool[static_cast<std::size_t>(count)]);
        simd::store_mask(few.get(), m, count);
        expect(std::memcmp(few.get(), source.get(), static_cast<std::size_t>(count)) == 0);
        V const part = math::select(simd::load_mask<M>(few.get(), count), math::broadcast<V>(1), V{});
        expect(each_lane(part, [&](int i) { return i < count && (pattern >> i & 1) != 0 ? 1 : 0; }));
      }
    }
    for (int count = -1; count <= w + 1; ++count)
      expect(each_lane(math::select(simd::first<M>(count), math::broadcast<V>(1), V{}),
                       [&](int i) { return i < count ? 1 : 0; }));
    expect(each_lane(simd::iota<V>(5), [](int i) { return 5 + i; }));
  });
}

TEMPLATE_TEST_CASE("sums, products and extremes reduce all lanes",
                   "[simd]", float, double, std::int32_t, std::int64_t) {
  using T = TestType;
  every_width<T>([]<class V>() {
    constexpr int w = math::lanes<V>;
    buffer<T> source(w);
    V const v = simd::load<V>(source.at(0));
    T sum = 0, highest = source[0], lowest = source[0];
    for (int i = 0; i < w; ++i) {
      sum = static_cast<T>(sum + source[i]);
      highest = highest < source[i] ? source[i] : highest;
      lowest = lowest > source[i] ? source[i] : lowest;
    }
    expect(simd::sum(v) == sum);
    expect(simd::max(v) == highest);
    expect(simd::min(v) == lowest);
    expect(simd::prod(
               math::select(v > math::broadcast<V>(12), math::broadcast<V>(2), math::broadcast<V>(1))) > 0);
    expect(simd::prod(math::broadcast<V>(1) + math::broadcast<V>(1)) == static_cast<T>(1 << w));
    V rows[static_cast<std::size_t>(w)];
    for (int i = 0; i < w; ++i) rows[i] = simd::iota<V>(static_cast<T>(100 * i));
    simd::transpose(rows);
    for (int j = 0; j < w; ++j) expect(each_lane(rows[j], [&](int i) { return 100 * i + j; }));
  });
}

TEMPLATE_TEST_CASE("a NaN in any lane is the maximum and the minimum", "[simd]", float, double) {
  // -ffast-math keeps this promise too, by looking at bits
  every_width<TestType>([]<class V>() {
    constexpr int w = math::lanes<V>;
    for (int at = 0; at < w; ++at) {
      TestType lane[w] = {};
      lane[at] = not_a_number<TestType>;
      V const v = simd::load<V>(lane);
      expect(math::is_nan(simd::max(v)));
      expect(math::is_nan(simd::min(v)));
      expect(each_lane(math::select(math::is_nan(v), math::broadcast<V>(1), V{}),
                       [&](int i) { return i == at; }));
      if (math::is_fast) continue;
      expect(math::is_nan(math::get(math::at_most(v, math::broadcast<V>(1)), at)));
      expect(math::is_nan(math::get(math::at_least(v, math::broadcast<V>(1)), at)));
    }
  });
}

TEMPLATE_TEST_CASE("arithmetic on packs is arithmetic on their lanes", "[simd]", float, double) {
  using T = TestType;
  every_width<T>([]<class V>() {
    constexpr int w = math::lanes<V>;
    for (int round = 0; round < 9; ++round) {
      T a[w], b[w], c[w];
      for (int i = 0; i < w; ++i) {
        a[i] = static_cast<T>((i * 37 + round * 11) % 41 - 20) / T(4);
        b[i] = static_cast<T>((i * 17 + round * 5) % 29 - 14) / T(3);
        c[i] = round == 8 ? -a[i] * b[i] : T(0.1) * static_cast<T>(i);
      }
      V const x = simd::load<V>(a), y = simd::load<V>(b), z = simd::load<V>(c);
      expect(each_lane(math::floor(x), [&](int i) { return std::floor(a[i]); }));
      expect(each_lane(math::round_to_even(x), [&](int i) { return std::nearbyint(a[i]); }));
      expect(each_lane(math::abs(x), [&](int i) { return std::fabs(a[i]); }));
      expect(each_lane(math::copysign(x, y), [&](int i) { return std::copysign(a[i], b[i]); }));
      expect(each_lane(math::select(x < z, y, math::copysign(x, y)), [&](int i) { return a[i] < c[i] ? b[i] : std::copysign(a[i], b[i]); }));
      expect(each_lane(math::max(x, y), [&](int i) { return a[i] < b[i] ? b[i] : a[i]; }));
      expect(each_lane(math::min(x, y), [&](int i) { return a[i] > b[i] ? b[i] : a[i]; }));
      expect(each_lane(math::at_most(x, y), [&](int i) { return a[i] > b[i] ? b[i] : a[i]; }));
      expect(each_lane(math::at_least(x, y), [&](int i) { return a[i] < b[i] ? b[i] : a[i]; }));
      auto const truncated = math::convert<math::with_lane<V, std::int64_t>>(x);
      expect(each_lane(truncated, [&](int i) { return static_cast<std::int64_t>(a[i]); }));
      auto const back = math::convert<V>(math::convert<math::with_lane<V, std::int32_t>>(x));
      expect(each_lane(back, [&](int i) { return std::trunc(a[i]); }));
      if (math::is_fast) continue;
      expect(each_lane(math::fmod(x, V(math::abs(z) + 1)), [&](int i) { return std::fmod(a[i], std::fabs(c[i]) + 1); }));
      V const any = math::select(x < V{}, math::broadcast<V>(not_a_number<T>), x * math::broadcast<V>(T(1e9)));
      expect(each_lane(math::to_integer<math::with_lane<V, std::int32_t>>(any),
                       [&](int i) { return math::to_integer<std::int32_t>(math::get(any, i)); }));
      expect(each_lane(math::to_integer<math::with_lane<V, std::int64_t>>(any),
                       [&](int i) { return math::to_integer<std::int64_t>(math::get(any, i)); }));
      expect(each_lane(math::sqrt(math::abs(x)), [&](int i) { return std::sqrt(std::fabs(a[i])); }));
      expect(each_lane(math::fma(x, y, z), [&](int i) { return math::fma(a[i], b[i], c[i]); }));
      // A product and a sum of their own: never contracted, however they are written.
      V const apart = math::mul(x, y) + z;
      expect(each_lane(apart, [&](int i) {
        T const volatile product = a[i] * b[i];
        return product + c[i];
      }));
      if (math::has_fma)
        expect(each_lane(math::fma(x, y, z), [&](int i) { return std::fma(a[i], b[i], c[i]); }));
    }
  });
}

namespace {
template <int... I, class T> bool shuffles(T const* elements) {
  using V = simd::pack<T, 8>;
  auto const r = simd::shuffle<I...>(simd::load<V>(elements), simd::load<V>(elements + 8));
  int const from[]{I...};
  bool equal = true;
  for (int k = 0; k < static_cast<int>(sizeof...(I)); ++k) equal = equal && (from[k] < 0 || r[k] == elements[from[k]]);
  return equal;
}
} // namespace

// Among them those of eight lanes, and of four of them, that g++ 12 takes for others.
TEMPLATE_TEST_CASE("shuffles take the requested lanes", "[simd]", float, double, std::int32_t, std::int64_t) {
  TestType x[16];
  for (int k = 0; k < 16; ++k) x[k] = static_cast<TestType>(k * k + 1);
  expect(shuffles<1, 1, 4, 4>(x));
  expect(shuffles<0, 1, 6, 3>(x));
  expect(shuffles<1, 0, 7, 3>(x));
  expect(shuffles<0, 0, 3, 6>(x));
  expect(shuffles<0, 1, 2, 3>(x));
  expect(shuffles<4, 5, 6, 7>(x));
  expect(shuffles<1, 1, 4, -1>(x));
  expect(shuffles<9, 9, 12, 12>(x));
  expect(shuffles<1, 9, 12, 4>(x));
  expect(shuffles<0, 1, 4, 4, 4, 5, 6, 7>(x));
  expect(shuffles<1, 1, 6, 2, 5, 4, 6, 7>(x));
  expect(shuffles<0, 0, 2, 4, 5, 5, 7, 6>(x));
  expect(shuffles<0, 9, 5, 13, 4, 12, 6, 15>(x));
  expect(shuffles<-1, 1, 5, -1, -1, 5, 6, -1>(x));
  expect(shuffles<0, 1, 2, 3, 4, 5, 6, 7>(x));
  expect(shuffles<7, 6, 5, 4, 3, 2, 1, 0>(x));
  expect(shuffles<0, 8, 1, 9, 2, 10, 3, 11>(x));
}
