// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cotangent/kernels/accumulate.hpp>
#include <cotangent/kernels/arg_max.hpp>
#include <cotangent/kernels/interleave.hpp>
#include <cotangent/kernels/movement.hpp>
#include <cotangent/kernels/transpose.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <type_traits>
#include <vector>

namespace {

namespace kernels = cotangent::kernels;
using std::int64_t;

/// An array that is exactly as long as it says, also of bool.
template <class T>
struct block {
  std::unique_ptr<T[]> all;
  int64_t size;
  explicit block(int64_t n, T fill = T(0)) : all(new T[static_cast<std::size_t>(n)]), size(n) {
    std::fill(begin(), end(), fill);
  }
  T* begin() { return all.get(); }
  T* end() { return all.get() + size; }
  T& operator[](int64_t i) { return all[static_cast<std::size_t>(i)]; }
};

template <class T>
T some(std::mt19937& random) {
  return static_cast<T>(static_cast<int>(random() % 200) - 100);
}

struct shape {
  int rank;
  int64_t extents[8], from[8], to[8];
  int64_t from_size = 1, to_size = 1, from_start = 0, to_start = 0;
};

/// Both sides with axes in an order of their own, gaps, some reversed, some of the source broadcast.
shape random_shape(std::mt19937& random) {
  shape s{static_cast<int>(random() % 9), {}, {}, {}};
  int order_from[8], order_to[8];
  int64_t elements = 1;
  for (int k = 0; k < s.rank; ++k) {
    s.extents[k] = static_cast<int64_t>(random() % (s.rank <= 3 ? 40 : 5)) + (random() % 40 != 0);
    if (random() % 4 == 0) s.extents[k] = 1;
    if (elements * s.extents[k] > 20000) s.extents[k] = 1;
    elements *= s.extents[k];
    order_from[k] = order_to[k] = k;
  }
  if (random() % 4 != 0) std::shuffle(order_from, order_from + s.rank, random);
  if (random() % 4 != 0) std::shuffle(order_to, order_to + s.rank, random);
  for (int k = 0; k < s.rank; ++k) {
    int const f = order_from[k], t = order_to[k];
    bool const repeated = random() % 8 == 0;
    s.from[f] = repeated ? 0 : s.from_size;
    s.to[t] = s.to_size;
    if (!repeated && s.extents[f] > 0) s.from_size *= s.extents[f];
    if (s.extents[t] > 0) s.to_size *= s.extents[t];
    if (random() % 6 == 0) s.from_size += static_cast<int64_t>(random() % 3);
    if (random() % 6 == 0) s.to_size += static_cast<int64_t>(random() % 3);
  }
  for (int k = 0; k < s.rank; ++k)
    for (auto [strides, start] : {std::pair{s.from, &s.from_start}, std::pair{s.to, &s.to_start}})
      if (random() % 8 == 0 && s.extents[k] > 0) {
        *start += strides[k] * (s.extents[k] - 1);
        strides[k] = -strides[k];
      }
  return s;
}

template <class T>
void naive_copy(shape const& s, int axis, T const* from, T* to) {
  if (axis == s.rank) *to = *from;
  else
    for (int64_t i = 0; i < s.extents[axis]; ++i)
      naive_copy(s, axis + 1, from + i * s.from[axis], to + i * s.to[axis]);
}

} // namespace

TEMPLATE_TEST_CASE("copy moves every element of every strided view, and nothing else", "", float, double,
                   std::int32_t, int64_t, bool) {
  using T = TestType;
  std::mt19937 random(1);
  for (int trial = 0; trial < 1500; ++trial) {
    shape const s = random_shape(random);
    block<T> from(s.from_size), to(s.to_size, T(1)), expected(s.to_size, T(1));
    for (T& x : from) x = some<T>(random);
    naive_copy(s, 0, from.begin() + s.from_start, expected.begin() + s.to_start);
    kernels::copy(s.rank, s.extents, from.begin() + s.from_start, s.from, to.begin() + s.to_start, s.to);
    CAPTURE(trial, s.rank);
    REQUIRE(std::equal(to.begin(), to.end(), expected.begin()));
  }
}

TEMPLATE_TEST_CASE("transpose is right for every size, at any alignment",
                   "", float, double, std::int32_t, int64_t, bool) {
  using T = TestType;
  std::mt19937 random(2);
  for (int64_t rows = 0; rows <= 37; ++rows)
    for (int64_t columns = 0; columns <= 37; ++columns) {
      int64_t const shift = static_cast<int64_t>(random() % 3), gap = static_cast<int64_t>(random() % 3);
      block<T> from(shift + rows * (columns + gap)), to(shift + columns * (rows + gap), T(1)),
          expected(to.size, T(1));
      for (T& x : from) x = some<T>(random);
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
          expected[shift + j * (rows + gap) + i] = from[shift + i * (columns + gap) + j];
      kernels::transpose(rows, columns, from.begin() + shift, columns + gap, to.begin() + shift, rows + gap);
      CAPTURE(rows, columns);
      REQUIRE(std::equal(to.begin(), to.end(), expected.begin()));
    }
}

template <class T, int W, std::size_t N> void check_columns_of_lanes() {
  using V = cotangent::simd::pack<T, W>;
  block<T> x(W * static_cast<int64_t>(N)), y(W * static_cast<int64_t>(N));
  for (int64_t k = 0; k < x.size; ++k) x[k] = static_cast<T>(k + 1);
  V columns[N];
  kernels::load_columns(columns, x.begin());
  int wrong = 0;
  for (int i = 0; i < W; ++i)
    for (std::size_t j = 0; j < N; ++j) wrong += columns[j][i] != x[i * static_cast<int64_t>(N) + static_cast<int64_t>(j)];
  kernels::store_columns(columns, y.begin());
  for (int64_t k = 0; k < x.size; ++k) wrong += y[k] != x[k];
  for (int64_t count = 0; count <= W; ++count) {
    block<T> part(count * static_cast<int64_t>(N), T(-1));
    kernels::store_columns(columns, part.begin(), count);
    for (int64_t k = 0; k < part.size; ++k) wrong += part[k] != x[k];
    V some[N];
    kernels::load_columns(some, part.begin(), count);
    for (int i = 0; i < W; ++i)
      for (std::size_t j = 0; j < N; ++j) wrong += some[j][i] != (i < count ? columns[j][i] : T(0));
  }
  CHECK(wrong == 0);
}
/// Rows `apart` elements from each other, whose first 16 bytes are turned, and turned back.
template <class T, int W> void check_turned_rows(int64_t apart) {
  using V = cotangent::simd::pack<T, W>;
  constexpr int n = 16 / static_cast<int>(sizeof(T));
  block<T> x((W - 1) * apart + n), y((W - 1) * apart + n, T(-1));
  for (int64_t k = 0; k < x.size; ++k) x[k] = static_cast<T>(k + 1);
  V columns[static_cast<std::size_t>(n)];
  kernels::turn(columns, x.begin(), apart);
  int wrong = 0;
  for (int i = 0; i < W; ++i)
    for (int j = 0; j < n; ++j) wrong += columns[j][i] != x[i * apart + j];
  kernels::turn_back<n>(columns, y.begin(), apart);
  for (int i = 0; i < W; ++i)
    for (int j = 0; j < apart && i * apart + j < y.size; ++j) wrong += y[i * apart + j] != (j < n ? x[i * apart + j] : T(-1));
  if constexpr (n == 4) {
    block<T> z(3 * W);
    kernels::turn_back<3>(columns, z.begin(), 3);
    for (int i = 0; i < W; ++i)
      for (int j = 0; j < 3; ++j) wrong += z[3 * i + j] != columns[j][i];
  }
  CHECK(wrong == 0);
}
TEMPLATE_TEST_CASE("columns of consecutive rows become vectors, and rows again", "", float, double, std::int32_t, int64_t) {
  using T = TestType;
  constexpr int n = 16 / static_cast<int>(sizeof(T)), most = cotangent::simd::width<T> > n ? cotangent::simd::width<T> : n;
  check_columns_of_lanes<T, n, 2>(), check_columns_of_lanes<T, most, 2>();
  check_columns_of_lanes<T, n, 3>(), check_columns_of_lanes<T, most, 3>();
  check_columns_of_lanes<T, n, 4>(), check_columns_of_lanes<T, most, 4>();
  for (int64_t const apart : {4, 5, 9, 16}) check_turned_rows<T, n>(apart), check_turned_rows<T, most>(apart);
}

TEMPLATE_TEST_CASE("rows are gathered by clamped indices, and added back by them",
                   "", float, double, std::int32_t, int64_t) {
  using T = TestType;
  std::mt19937 random(3);
  for (int64_t size : {1, 2, 3, 4, 7, 8, 10, 15, 16, 17, 33, 200})
    for (int64_t count : {0, 1, 5, 40})
      for (int outside : {0, -3, 9}) { // an index that is out of range, or none
        int64_t const rows = 9, gap = size % 3;
        block<std::int32_t> index(count);
        for (auto& i : index) i = static_cast<std::int32_t>(random() % 9);
        if (outside != 0 && count > 0) index[count / 2] = outside;
        block<T> from(rows * (size + gap)), to(count * (size + gap), T(1)), back(rows * (size + gap), T(2));
        for (T& x : from) x = some<T>(random);
        bool const fits = outside == 0 || count == 0;
        REQUIRE(kernels::gather_rows(count, index.begin(), rows, size, from.begin(), size + gap, to.begin(),
                                     size + gap) == fits);
        block<T> sums(back.size, T(2));
        for (int64_t i = 0; i < count; ++i)
          for (int64_t j = 0; j < size + gap; ++j) {
            int64_t const row = std::clamp<int64_t>(index[i], 0, rows - 1);
            REQUIRE(to[i * (size + gap) + j] == (j < size ? from[row * (size + gap) + j] : T(1)));
            if (j < size) sums[row * (size + gap) + j] += to[i * (size + gap) + j];
          }
        REQUIRE(kernels::scatter_rows<false>(count, index.begin(), rows, size, to.begin(), size + gap,
                                          back.begin(), size + gap) == fits);
        REQUIRE(std::equal(back.begin(), back.end(), sums.begin()));
      }
}

namespace {

template <class T>
void naive_accumulate(int rank, int64_t const* extents, T const* from, int64_t const* from_step, T* to,
                      int64_t const* to_step) {
  if (rank == 0) *to = static_cast<T>(*to + *from);
  else
    for (int64_t i = 0; i < *extents; ++i)
      naive_accumulate(rank - 1, extents + 1, from + i * *from_step, from_step + 1, to + i * *to_step,
                       to_step + 1);
}

/// Terms whose sums depend on the order in which they are added.
template <class T>
T term_of_sum(std::mt19937& random) {
  if constexpr (std::is_integral_v<T>) return some<T>(random);
  else return static_cast<T>(random() % 1000) * (random() % 3 == 0 ? T(1e5) : T(1e-3));
}

} // namespace

TEMPLATE_TEST_CASE("a row of any length, stride and alignment is added as by scalar code",
                   "", float, double, std::int32_t, int64_t) {
  using T = TestType;
  constexpr int64_t w = cotangent::simd::width<T>;
  std::mt19937 random(5);
  struct way {
    int64_t from, to;
  };
  for (int64_t n = 0; n <= 3 * w + 1; ++n)
    for (way const s :
         {way{1, 1}, way{0, 1}, way{3, 1}, way{-1, 1}, way{1, 2}, way{2, 2}, way{0, 2}, way{5, 2}, way{1, 3},
          way{3, 3}, way{1, 4}, way{4, 4}, way{2, -3}, way{1, 5}, way{1, 0}, way{1, -1}})
      for (int64_t shift = 0; shift < w; ++shift) { // from where a line begins, each on its own
        int64_t const other = (3 * shift + n) % w, length = 5 * (3 * w + 2) + w;
        alignas(64) T from[5 * 50 + 17], to[5 * 50 + 17], expected[5 * 50 + 17];
        for (int64_t i = 0; i < length; ++i) {
          from[i] = term_of_sum<T>(random);
          to[i] = expected[i] = term_of_sum<T>(random);
        }
        if constexpr (!std::is_integral_v<T>)
          for (int64_t i = 0; i < length; i += 7) // what stands between keeps its sign
            to[i] = expected[i] = -T(0);
        T const* const x = from + shift + (s.from < 0 ? (n > 0 ? n - 1 : 0) * -s.from : 0);
        int64_t const start = other + (s.to < 0 ? (n > 0 ? n - 1 : 0) * -s.to : 0);
        naive_accumulate(1, &n, x, &s.from, expected + start, &s.to);
        kernels::accumulate(1, &n, x, &s.from, to + start, &s.to);
        CAPTURE(n, s.from, s.to, shift);
        REQUIRE(std::memcmp(to, expected, static_cast<std::size_t>(length) * sizeof(T)) == 0);
        // exactly as much memory as there is: sanitizers see whoever reaches beyond
        if (shift != 0 || n == 0) continue;
        int64_t const far = s.to < 0 ? -s.to : s.to, back = s.from < 0 ? -s.from : s.from;
        block<T> x_only((n - 1) * back + 1, T(1)), to_only((n - 1) * far + 1, T(2));
        kernels::accumulate(1, &n, s.from < 0 ? x_only.end() - 1 : x_only.begin(), &s.from,
                            s.to < 0 ? to_only.end() - 1 : to_only.begin(), &s.to);
        for (int64_t i = 0; i < to_only.size; ++i)
          REQUIRE(to_only[i] == (far == 0 ? T(2 + n) : i % far == 0 ? T(3) : T(2)));
      }
}

TEMPLATE_TEST_CASE("blocks of every rank are added to windows, also to windows that overlap themselves",
                   "", float, double, std::int32_t, int64_t) {
  using T = TestType;
  std::mt19937 random(6);
  int overlapping = 0;
  for (int trial = 0; trial < 1500; ++trial) {
    shape s = random_shape(random);
    int64_t room = s.to_size;
    if (trial % 2 == 0) // rows that slide, or stand still
      for (int k = 0; k < s.rank; ++k) {
        if (random() % 2 == 0) continue;
        ++overlapping;
        if (s.to[k] < 0) s.to_start += s.to[k] * (s.extents[k] - 1); // back to where it began
        s.to[k] = static_cast<int64_t>(random() % 3);
        room += s.to[k] * s.extents[k];
      }
    block<T> from(s.from_size), to(room), expected(room);
    for (T& x : from) x = term_of_sum<T>(random);
    for (int64_t i = 0; i < room; ++i) to[i] = expected[i] = term_of_sum<T>(random);
    naive_accumulate(s.rank, s.extents, from.begin() + s.from_start, s.from, expected.begin() + s.to_start, s.to);
    kernels::accumulate(s.rank, s.extents, from.begin() + s.from_start, s.from, to.begin() + s.to_start, s.to);
    CAPTURE(trial, s.rank);
    REQUIRE(std::equal(to.begin(), to.end(), expected.begin()));
  }
  REQUIRE(overlapping > 500);
}

TEST_CASE("columns are added to rows through squares of every size") {
  std::mt19937 random(7);
  for (int64_t rows = 0; rows <= 35; ++rows)
    for (int64_t columns = 0; columns <= 35; ++columns) {
      int64_t const extents[] = {rows, columns}, down[] = {1, rows + 1}, across[] = {columns + 2, 1};
      block<float> from(columns * (rows + 1) + 1), to(rows * (columns + 2) + 1), expected(to.size);
      for (float& x : from) x = term_of_sum<float>(random);
      for (int64_t i = 0; i < to.size; ++i) to[i] = expected[i] = some<float>(random);
      naive_accumulate(2, extents, from.begin(), down, expected.begin(), across);
      kernels::accumulate(2, extents, from.begin(), down, to.begin(), across);
      CAPTURE(rows, columns);
      REQUIRE(std::equal(to.begin(), to.end(), expected.begin()));
    }
}

TEST_CASE("no index is in range if there are no rows") {
  int64_t const index[2] = {0, -1};
  double from = 3, to[4] = {1, 1, 1, 1};
  REQUIRE(kernels::gather_rows(0, index, 0, 2, &from, 2, to, 2));
  REQUIRE(to[0] == 1);
  REQUIRE_FALSE(kernels::gather_rows(2, index, 0, 2, &from, 2, to, 2));
  for (double x : to) REQUIRE(x == 0);
  REQUIRE(kernels::scatter_rows<false>(0, index, 0, 2, &from, 2, to, 2));
  REQUIRE_FALSE(kernels::scatter_rows<false>(2, index, 0, 2, to, 2, &from, 2));
  REQUIRE(from == 3);
}

TEST_CASE("an index that would overflow when multiplied is clamped first") {
  int64_t const index[2] = {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
  float const from[2] = {5, 6};
  float to[2] = {};
  REQUIRE_FALSE(kernels::gather_rows(2, index, 2, 1, from, 1, to, 1));
  REQUIRE((to[0] == 6 && to[1] == 5));
}

TEST_CASE("gathered booleans stay booleans") {
  std::int32_t const index[3] = {2, 0, 1};
  bool const from[3] = {true, false, true};
  bool to[3] = {};
  REQUIRE(kernels::gather_rows(3, index, 3, 1, from, 1, to, 1));
  REQUIRE((to[0] && to[1] && !to[2]));
}

namespace {

/// The specification, one element after the other.
template <class T>
int64_t first_largest(int64_t axis, T const* x, int64_t stride) {
  for (int64_t p = 0; p < axis; ++p)
    if (cotangent::math::is_nan(x[p * stride])) return p;
  int64_t at = 0;
  for (int64_t p = 1; p < axis; ++p)
    if (x[p * stride] > x[at * stride]) at = p;
  return at;
}

/// Compares a whole [outer, axis, inner] search, the axes stored in the order that is asked for.
template <class T, class Index>
bool agrees(int64_t outer, int64_t axis, int64_t inner, bool inner_last, T* x) {
  int64_t const x_outer = axis * inner, x_axis = inner_last ? inner : 1, x_inner = inner_last ? 1 : axis;
  std::vector<Index> y(static_cast<std::size_t>(outer * inner), Index(-1));
  kernels::arg_max(outer, axis, inner, x, x_outer, x_axis, x_inner, y.data(), inner, int64_t(1));
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i)
      if (y[static_cast<std::size_t>(o * inner + i)] !=
          first_largest(axis, x + o * x_outer + i * x_inner, x_axis))
        return false;
  return true;
}

} // namespace

TEMPLATE_TEST_CASE("arg_max finds the first maximum along any axis",
                   "", float, double, std::int32_t, int64_t, bool) {
  using T = TestType;
  std::mt19937 random(4);
  for (int64_t axis : {0, 1, 2, 3, 10, 16, 31, 32, 33, 64, 100, 257})
    for (int64_t inner : {1, 2, 7, 8, 16, 17, 40})
      for (int spread : {1, 3, 200}) {
        block<T> x(3 * axis * inner);
        for (T& v : x)
          v = static_cast<T>(static_cast<int>(random() % static_cast<unsigned>(spread)) - spread / 2);
        CAPTURE(axis, inner, spread);
        REQUIRE(agrees<T, std::int32_t>(3, axis, inner, true, x.begin()));
        REQUIRE(agrees<T, int64_t>(3, axis, inner, false, x.begin()));
      }
  // an empty axis, whose elements have no memory: no pointer into it is formed
  std::vector<int64_t> y(6, 9);
  kernels::arg_max(2, 0, 3, static_cast<T const*>(nullptr), 0, 3, 1, y.data(), 3, int64_t(1));
  CHECK(y == std::vector<int64_t>(6, 0));
}

#if !COTANGENT_ABI_FAST
TEMPLATE_TEST_CASE("arg_max finds the first NaN, and is right for infinities and zeros", "", float, double) {
  using T = TestType;
  T const inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  T const values[] = {T(-0.0), T(0), inf, -inf, T(1), T(-1), nan};
  std::mt19937 random(5);
  for (unsigned kinds : {2u, 4u, 6u, 7u}) // the last with nan
    for (int64_t axis : {1, 5, 33, 90})
      for (int64_t inner : {1, 17})
        for (int trial = 0; trial < 20; ++trial) {
          block<T> x(axis * inner);
          for (T& v : x) v = values[random() % kinds];
          REQUIRE(agrees<T, int64_t>(1, axis, inner, true, x.begin()));
          REQUIRE(agrees<T, int64_t>(1, axis, inner, false, x.begin()));
        }
  block<T> x(70, -inf);
  REQUIRE(agrees<T, int64_t>(1, 70, 1, true, x.begin()));
  x[69] = nan;
  REQUIRE(agrees<T, int64_t>(1, 70, 1, true, x.begin()));
}
#endif
