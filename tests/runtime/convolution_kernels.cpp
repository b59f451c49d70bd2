// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cotangent/run/convolution.hpp>
#include <cotangent/run/pooling.hpp>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

// The kernels of convolution and pooling against the scalar code of their operations, bit by bit, and that code against
// sums in long double.

namespace {

using namespace cotangent;
using numbers = detail::stencil_numbers;
using std::int64_t;

/// Memory that ends where it says, with elements behind that must stay.
template <class T> struct memory {
  static constexpr std::size_t guard = 16;
  std::vector<int64_t> sizes;
  std::vector<T> all;

  memory(std::vector<int64_t> s, std::mt19937* random) : sizes(static_cast<std::vector<int64_t>&&>(s)) {
    std::size_t n = 1;
    for (int64_t const k : sizes) n *= static_cast<std::size_t>(k);
    all.assign(n + guard, T(77));
    std::uniform_int_distribution<int> few(-20, 20); // with ties
    std::uniform_real_distribution<double> any(-1, 1);
    bool const ties = random != nullptr && (*random)() % 2 == 0;
    for (std::size_t k = 0; k < n && random != nullptr; ++k)
      all[k] = static_cast<T>(ties ? few(*random) / 8. : any(*random));
  }
  std::size_t size() const { return all.size() - guard; }
  whole_tensor tensor() { return whole_tensor::of(all.data(), static_cast<int>(sizes.size()), sizes.data()); }
  bool intact() const {
    for (std::size_t k = size(); k < all.size(); ++k)
      if (all[k] != T(77)) return false;
    return true;
  }
};

template <class T> bool same_bits(memory<T> const& a, memory<T> const& b) {
  for (std::size_t k = 0; k < a.size(); ++k)
    if (std::memcmp(&a.all[k], &b.all[k], sizeof(T)) != 0 && !(a.all[k] != a.all[k] && b.all[k] != b.all[k]))
      return false;
  return true;
}

/// Runs the kernel and the scalar code of an operation.
template <class Op, class T>
memory<T> check_kernel(std::vector<memory<T>*> operands, numbers const& n,
                       std::vector<int64_t> const& result) {
  memory<T> fast(result, nullptr), plain(result, nullptr);
  whole_call call;
  for (std::size_t k = 0; k < operands.size(); ++k) call.operand[k] = operands[k]->tensor();
  call.attribute = n.value;
  call.result = fast.tensor();
  std::vector<double> scratch(static_cast<std::size_t>(run::whole_scratch_bytes<Op>(call)) / 8 + 2, 77);
  double& behind = scratch[scratch.size() - 1];
  call.scratch = reinterpret_cast<char*>(scratch.data());
  run::whole<Op>(call);
  CHECK(behind == 77);
  call.result = plain.tensor();
  Op::whole(call);
  if (math::is_fast) {
    for (std::size_t k = 0; k < fast.size(); ++k)
      CHECK(std::fabs(static_cast<double>(fast.all[k] - plain.all[k])) <=
            1e-4 * (1 + std::fabs(static_cast<double>(plain.all[k]))));
  } else CHECK(same_bits(fast, plain));
  CHECK(fast.intact());
  for (memory<T>* const x : operands) CHECK(x->intact());
  return plain;
}

/// <a, b> in long double.
template <class T> long double dot(memory<T> const& a, memory<T> const& b) {
  long double s = 0;
  for (std::size_t k = 0; k < a.size(); ++k)
    s += static_cast<long double>(a.all[k]) * static_cast<long double>(b.all[k]);
  return s;
}

struct sample {
  int64_t images, height, width, channels, results;
  numbers n;
};

template <class T> void check_convolution(sample const& s, std::mt19937& random) {
  numbers const& n = s.n;
  int64_t const groups = n[numbers::groups];
  INFO(s.images << " images [" << s.height << ", " << s.width << ", " << s.channels << "], window "
                << n[numbers::tall] << " x " << n[numbers::wide] << ", steps " << n[numbers::step_down]
                << ", " << n[numbers::step_right] << ", borders " << n[numbers::above] << ", "
                << n[numbers::left] << ", " << n[numbers::below] << ", " << n[numbers::right] << ", spread "
                << n[numbers::spread_down] << ", " << n[numbers::spread_right] << ", groups " << groups
                << ", results " << s.results);
  std::vector<int64_t> const image{s.images, s.height, s.width, s.channels};
  std::vector<int64_t> const weights{n[numbers::tall], n[numbers::wide], s.channels / groups, s.results};
  std::vector<int64_t> const result{s.images, n.rows(), n.columns(), s.results};
  memory<T> x(image, &random), w(weights, &random), dy(result, &random);
  memory<T> const y = check_kernel<op::conv2d, T>({&x, &w}, n, result);
  memory<T> const dx = check_kernel<op::conv2d_image, T>({&dy, &w}, n, image);
  memory<T> const dw = check_kernel<op::conv2d_weight, T>({&x, &dy}, n, weights);

  // each is linear in its operands: all three give the same number
  long double const by_y = dot(y, dy), by_x = dot(dx, x), by_w = dot(dw, w),
                    size = 1 + std::sqrt(dot(y, y) * dot(dy, dy));
  long double const near = (sizeof(T) == 4 ? 1e-5L : 1e-13L) * size;
  CHECK(std::fabs(by_y - by_x) <= near);
  CHECK(std::fabs(by_y - by_w) <= near);

  // the value itself
  detail::stencil const z = n.on(x.tensor());
  detail::stencil_position at;
  for (int64_t p = 0; p < z.positions(); ++p, at.next(z))
    for (int64_t o = 0; o < s.results; ++o) {
      long double sum = 0, sizes = 1;
      for (int64_t i = 0; i < z.tall; ++i)
        for (int64_t j = 0; j < z.wide; ++j)
          for (int64_t c = 0; c < s.channels / groups; ++c) {
            int64_t const r =
                at.row * n[numbers::step_down] - n[numbers::above] + i * n[numbers::spread_down];
            int64_t const q =
                at.column * n[numbers::step_right] - n[numbers::left] + j * n[numbers::spread_right];
            if (r < 0 || r >= s.height || q < 0 || q >= s.width) continue;
            int64_t const channel = o / (s.results / groups) * (s.channels / groups) + c;
            long double const product =
                static_cast<long double>(x.all[static_cast<std::size_t>(
                    ((at.image * s.height + r) * s.width + q) * s.channels + channel)]) *
                static_cast<long double>(w.all[static_cast<std::size_t>(
                    ((i * z.wide + j) * (s.channels / groups) + c) * s.results + o)]);
            sum += product;
            sizes += std::fabs(product);
          }
      long double const off =
          std::fabs(sum - static_cast<long double>(y.all[static_cast<std::size_t>(p * s.results + o)]));
      if (off > (sizeof(T) == 4 ? 1e-6L : 1e-15L) * sizes * 4) FAIL_CHECK("an element is wrong by " << off);
    }
}

template <class T> void check_pooling(sample const& s, std::mt19937& random, bool with_nan) {
  numbers const& n = s.n;
  INFO(s.images << " images [" << s.height << ", " << s.width << ", " << s.channels << "], window "
                << n[numbers::tall] << " x " << n[numbers::wide] << ", steps " << n[numbers::step_down]
                << ", " << n[numbers::step_right] << ", borders " << n[numbers::above] << ", "
                << n[numbers::left]);
  std::vector<int64_t> const image{s.images, s.height, s.width, s.channels};
  std::vector<int64_t> const result{s.images, n.rows(), n.columns(), s.channels};
  memory<T> x(image, &random), dx(image, &random), dy(result, &random);
  if (with_nan && x.size() > 0) x.all[random() % x.size()] = std::numeric_limits<T>::quiet_NaN();
  memory<T> const largest = check_kernel<op::max_pool2d, T>({&x}, n, result);
  memory<T> const back = check_kernel<op::max_pool2d_image, T>({&dy, &x}, n, image);
  memory<T> const along = check_kernel<op::max_pool2d_tangent, T>({&dx, &x}, n, result);
  memory<T> const mean = check_kernel<op::avg_pool2d, T>({&dx}, n, result);
  memory<T> const spread = check_kernel<op::avg_pool2d_image, T>({&dy}, n, image);
  long double const near = (sizeof(T) == 4 ? 1e-5L : 1e-13L) * (1 + static_cast<long double>(x.size()));
  CHECK(std::fabs(dot(back, dx) - dot(along, dy)) <= near);
  CHECK(std::fabs(dot(spread, dx) - dot(mean, dy)) <= near);
  if (with_nan) return;
  // what is chosen is there, and nothing in its window is larger
  detail::stencil const z = n.on(x.tensor());
  detail::stencil_position at;
  for (int64_t p = 0; p < z.positions(); ++p, at.next(z))
    for (int64_t c = 0; c < z.channels; ++c) {
      T const m = largest.all[static_cast<std::size_t>(p * z.channels + c)];
      bool there = false, larger = false;
      for (int64_t i = 0; i < z.tall; ++i)
        for (int64_t j = 0; j < z.wide; ++j) {
          int64_t const r = at.row * z.step_down - z.above + i, q = at.column * z.step_right - z.left + j;
          if (r < 0 || r >= z.height || q < 0 || q >= z.width) continue;
          T const v =
              x.all[static_cast<std::size_t>(((at.image * z.height + r) * z.width + q) * z.channels + c)];
          there = there || v == m;
          larger = larger || v > m;
        }
      if (!there || larger) FAIL_CHECK("a largest is none");
    }
}

/// Any window that fits.
sample drawn(std::mt19937& random, bool pools) {
  auto const upto = [&](int n) { return static_cast<int64_t>(random() % static_cast<unsigned>(n)); };
  for (;;) {
    sample s{upto(3), 1 + upto(9), 1 + upto(9), upto(20), upto(20), {}};
    numbers& n = s.n;
    n = {{1 + upto(4), 1 + upto(4), upto(3), upto(3), upto(3), upto(3), 1 + upto(pools ? 1 : 3),
          1 + upto(pools ? 1 : 3), 1, 1 + upto(4), 1 + upto(4), s.height, s.width}};
    if (n.rows() < 0 || n.columns() < 0) continue;
    if (pools && (n[numbers::above] >= n[numbers::tall] || n[numbers::below] >= n[numbers::tall] ||
                  n[numbers::left] >= n[numbers::wide] || n[numbers::right] >= n[numbers::wide]))
      continue;
    if (!pools && random() % 3 == 0) {
      n[numbers::groups] = 1 + upto(4);
      s.channels *= n[numbers::groups];
      s.results *= n[numbers::groups];
    }
    return s;
  }
}

} // namespace

TEST_CASE("convolutions with any windows agree with plain loops") {
  std::mt19937 random(5);
  for (int k = 0; k < 300; ++k) {
    check_convolution<float>(drawn(random, false), random);
    check_convolution<double>(drawn(random, false), random);
  }
}
TEST_CASE("convolutions of each channel by itself agree with plain loops") {
  std::mt19937 random(8);
  auto const upto = [&](int n) { return static_cast<int64_t>(random() % static_cast<unsigned>(n)); };
  for (int k = 0; k < 400; ++k) {
    int64_t const channels = random() % 2 == 0 ? 1 + upto(3) : upto(40);
    sample s{upto(3), 1 + upto(12), 1 + upto(random() % 4 == 0 ? 150 : 12), channels, channels, {}};
    bool const large = random() % 20 == 0; // more taps than a chain has
    s.n = {{1 + upto(2) * upto(3), 1 + upto(2) * upto(3), upto(4), upto(4), upto(4), upto(4), 1 + upto(2) * upto(3), 1 + upto(2) * upto(3), channels,
            large ? 12 : 1 + upto(6), large ? 11 + upto(3) : 1 + upto(6) * (1 + upto(2) * upto(5)), s.height, s.width}};
    if (s.n.rows() < 0 || s.n.columns() < 0 || channels == 0) continue;
    if (k % 2 == 0) check_convolution<float>(s, random);
    else check_convolution<double>(s, random);
  }
}
TEST_CASE("convolutions over several blocks agree with plain loops") {
  std::mt19937 random(6);
  numbers const three{{1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 21, 20}};
  check_convolution<float>({2, 21, 20, 40, 17, three}, random);
  check_convolution<double>({1, 21, 20, 40, 33, three}, random);
  check_convolution<float>({1, 21, 20, 260, 6, {{2, 1, 1, 0, 0, 2, 1, 2, 2, 3, 3, 21, 20}}}, random);
  check_convolution<double>({3, 21, 20, 40, 33, {{1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 21, 20}}},
                            random); // one tap
}
TEST_CASE("poolings with any windows agree with plain loops") {
  std::mt19937 random(7);
  for (int k = 0; k < 300; ++k) {
    check_pooling<float>(drawn(random, true), random, false);
    check_pooling<double>(drawn(random, true), random, false);
    if (!math::is_fast) check_pooling<double>(drawn(random, true), random, true);
  }
}
TEST_CASE("ties of a maximum share the cotangent equally") {
  numbers const n{{2, 2, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 4}};
  memory<double> x({1, 2, 4, 1}, nullptr), dy({1, 1, 2, 1}, nullptr);
  x.all = {3, 1, 2, 2, 3, 3, 2, 2};
  x.all.resize(8 + memory<double>::guard, 77);
  dy.all[0] = 6;
  dy.all[1] = 2;
  memory<double> const dx = check_kernel<op::max_pool2d_image, double>({&dy, &x}, n, {1, 2, 4, 1});
  double const expected[]{2, 0, .5, .5, 2, 2, .5, .5};
  for (std::size_t k = 0; k < 8; ++k) CHECK(dx.all[k] == expected[k]);
}
