// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cotangent/cotangent.hpp>
#include <cotangent/interop/dlpack.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace ct = cotangent;

namespace {
inline constexpr auto squares = [](auto x) { return ct::sum(ct::square(x)); };
} // namespace

TEST_CASE("tensors are exchanged by DLPack without copies") {
  ct::tensor<double, "n", 3> const x0{{1, 2, 3}, {4, 5, 6}};
  auto gradient = ct::grad(squares)(x0);
  double const* const address = gradient.data();
  // [exchange]
  // The consumer of a gradient calls the deleter once.
  ct::dlpack::managed_tensor* const shared = ct::to_dlpack(std::move(gradient));
  // A tensor of another library is read in place, by its strides.
  auto const x = ct::from_dlpack<double const, "n", 3>(shared->dl_tensor);
  double const norm = ct::compiled(squares)(x);
  shared->deleter(shared);
  // [/exchange]
  CHECK(x.data() == address);
  CHECK(norm == 4 * 91);
}

TEST_CASE("a tensor by DLPack has its sizes, strides and type") {
  auto* const m = ct::to_dlpack(ct::tensor<float, 2, 3>{{1, 2, 3}, {4, 5, 6}});
  auto const& t = m->dl_tensor;
  CHECK(t.device.device_type == 1);
  CHECK(t.ndim == 2);
  CHECK(t.shape[0] == 2);
  CHECK(t.shape[1] == 3);
  CHECK(t.strides[0] == 3);
  CHECK(t.strides[1] == 1);
  CHECK(t.dtype.code == 2);
  CHECK(t.dtype.bits == 32);
  CHECK(static_cast<float*>(t.data)[4] == 5);
  m->deleter(m);

  auto* const brain = ct::to_dlpack(ct::tensor<ct::bfloat16, 2>{1, 2});
  CHECK(brain->dl_tensor.dtype.code == 4);
  CHECK(brain->dl_tensor.dtype.bits == 16);
  CHECK(float(ct::from_dlpack<ct::bfloat16 const, 2>(brain->dl_tensor)(1)) == 2);
  CHECK_THROWS_AS((ct::from_dlpack<ct::float16 const, 2>(brain->dl_tensor)), ct::shape_error);
  brain->deleter(brain);
  auto* const half = ct::to_dlpack(ct::tensor<ct::float16, 1>{3});
  CHECK(half->dl_tensor.dtype.code == 2);
  CHECK(half->dl_tensor.dtype.bits == 16);
  CHECK(ct::grad(squares)(ct::from_dlpack<ct::float16 const, "n">(half->dl_tensor))(0) == 6);
  half->deleter(half);

  auto* const scalar = ct::to_dlpack(ct::tensor<std::int64_t>(7));
  CHECK(scalar->dl_tensor.ndim == 0);
  CHECK(scalar->dl_tensor.dtype.code == 0);
  CHECK(*ct::from_dlpack<std::int64_t const>(scalar->dl_tensor).data() == 7);
  scalar->deleter(scalar);
}

TEST_CASE("tensors by DLPack of any strides are arguments, and written by run") {
  double memory[]{9, 9, 1, 2, 3, 4, 5, 6};
  std::int64_t shape[]{2, 3}, strides[]{1, 2};
  ct::dlpack::tensor t{memory, {1, 0}, 2, {2, 64, 1}, shape, strides, 16};
  auto const x = ct::from_dlpack<double, "n", "m">(t);
  CHECK(x(1, 0) == 2);
  CHECK(x(0, 1) == 3);
  CHECK(ct::grad(squares)(x)(1, 2) == 12);
  t.strides = nullptr;
  CHECK(ct::from_dlpack<double, 2, "m">(t)(1, 0) == 4);
  shape[0] = 0;
  CHECK(ct::compiled(squares)(ct::from_dlpack<double, "n", "m">(t)) == 0);
}

TEST_CASE("tensors by DLPack that do not fit are refused") {
  double memory[6]{};
  std::int64_t shape[]{2, 3};
  ct::dlpack::tensor const good{memory, {1, 0}, 2, {2, 64, 1}, shape, nullptr, 0};
  CHECK_NOTHROW(ct::from_dlpack<double, 2, 3>(good));
  CHECK_THROWS_AS((ct::from_dlpack<double, 3, 3>(good)), ct::shape_error);
  CHECK_THROWS_AS((ct::from_dlpack<double, 6>(good)), ct::shape_error);
  CHECK_THROWS_AS((ct::from_dlpack<float, 2, 3>(good)), ct::shape_error);
  CHECK_THROWS_AS((ct::from_dlpack<std::int64_t, 2, 3>(good)), ct::shape_error);
  auto elsewhere = good;
  elsewhere.device.device_type = 2;
  CHECK_THROWS_AS((ct::from_dlpack<double, 2, 3>(elsewhere)), ct::shape_error);
  auto shifted = good;
  shifted.byte_offset = 4;
  std::int64_t no_shape[]{0, 3};
  CHECK_THROWS_AS((ct::from_dlpack<double, 2, 3>(shifted)), ct::shape_error);
  ct::dlpack::tensor const empty{nullptr, {1, 0}, 2, {2, 64, 1}, no_shape, nullptr, 0};
  CHECK_NOTHROW(ct::from_dlpack<double, "n", 3>(empty));
  auto nothing = good;
  nothing.data = nullptr;
  nothing.byte_offset = 8;
  CHECK(ct::from_dlpack<double, 2, 3>(nothing).data() == nullptr); // the call that reads it refuses it
}
