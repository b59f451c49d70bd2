// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_INTEROP_DLPACK_HPP
#define COTANGENT_INTEROP_DLPACK_HPP

#include <cotangent/core/element.hpp>
#include <cotangent/core/error.hpp>
#include <cotangent/core/strided_span.hpp>

#include <cstdint>
#include <type_traits>
#include <utility>

// Tensors that NumPy, JAX and PyTorch exchange by DLPack, without copies. The structs follow its public binary interface, so
// that `DLTensor` and `DLManagedTensor` of its own header can be used in their place.

namespace cotangent {
namespace dlpack {

struct device {
  std::int32_t device_type, device_id; // 1: the memory of the CPU
};
struct data_type {
  std::uint8_t code, bits; // codes: 0 signed, 2 floating, 4 bfloat16, 6 bool
  std::uint16_t lanes;
};
struct tensor {
  void* data;
  dlpack::device device;
  std::int32_t ndim;
  data_type dtype;
  std::int64_t *shape, *strides; // strides in elements; null: row-major
  std::uint64_t byte_offset;
};
struct managed_tensor {
  tensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(managed_tensor*);
};

} // namespace dlpack

namespace detail {
template <class T> inline constexpr std::uint8_t dlpack_code = 
    std::is_same_v<T, bool> ? 6 : std::is_same_v<T, bfloat16> ? 4 : is_floating_type<T> ? 2 : 0;

template <class Managed, class Held> struct dlpack_holder {
  Managed managed{};
  Held held;
  std::int64_t shape[max_rank + 1]{}, strides[max_rank + 1]{};
  explicit dlpack_holder(Held&& x) : held(std::move(x)) {}
  static void free(Managed* m) { delete static_cast<dlpack_holder*>(m->manager_ctx); }
};
} // namespace detail

/// The elements of a DLPack tensor, without a copy: valid until its deleter is called. `Element` may be const.
///
///     ct::strided_span<double const, "n", 3> const x = ct::from_dlpack<double const, "n", 3>(managed->dl_tensor);
///
/// Throws: `shape_error` if the tensor is not in the memory of the CPU, has elements of another type, elements that are not
/// aligned, another rank, or sizes that do not fit the extents. Without exceptions the span is null.
/// Checked: tests/runtime/dlpack.cpp
template <class Element, extent... Extents, class Tensor>
strided_span<Element, Extents...> from_dlpack(Tensor const& t) {
  using T = std::remove_const_t<Element>;
  constexpr int rank = sizeof...(Extents);
  auto const refuse = [](detail::message const& text) {
    detail::raise_if_offered<shape_error>(text);
    return strided_span<Element, Extents...>();
  };
  if (t.device.device_type != 1)
    return refuse(detail::message("cotangent: from_dlpack: the tensor must be in the memory of the CPU"));
  if (t.dtype.code != detail::dlpack_code<T> || t.dtype.bits != 8 * sizeof(T) || t.dtype.lanes != 1)
    return refuse(detail::message("cotangent: from_dlpack: the elements of the tensor must be those of the span"));
  if (t.ndim != rank)
    return refuse(detail::message("cotangent: from_dlpack: the rank of the tensor must be the number of extents"));
  std::int64_t sizes[rank + 1]{}, strides[rank + 1]{};
  std::int64_t dense = 1;
  for (int k = rank - 1; k >= 0; --k) {
    sizes[k] = t.shape[k];
    strides[k] = t.strides == nullptr ? dense : t.strides[k];
    dense *= sizes[k];
  }
  auto* const first = static_cast<char*>(const_cast<void*>(static_cast<void const*>(t.data)));
  if ((reinterpret_cast<std::uintptr_t>(first) + t.byte_offset) % alignof(T) != 0)
    return refuse(detail::message("cotangent: from_dlpack: the elements of the tensor must be aligned"));
  strided_span<Element, Extents...> seen;
  seen.set(first == nullptr ? nullptr : reinterpret_cast<Element*>(first + t.byte_offset), sizes, strides);
  return seen;
}

/// A DLPack tensor that owns a tensor moved into it; whoever receives it calls its deleter once.
///
///     ct::dlpack::managed_tensor* const m = ct::to_dlpack(std::move(gradient));
///
/// `Managed` may be `DLManagedTensor` of the header of DLPack.
/// Checked: tests/runtime/dlpack.cpp
template <class Managed = dlpack::managed_tensor, class T, extent... Extents>
Managed* to_dlpack(tensor<T, Extents...>&& x) {
  detail::check_for_memory(x);
  using holder = detail::dlpack_holder<Managed, tensor<T, Extents...>>;
  auto* const h = new holder(std::move(x));
  auto& t = h->managed.dl_tensor;
  constexpr int rank = sizeof...(Extents);
  std::int64_t stride = 1;
  for (int k = rank - 1; k >= 0; --k) {
    h->shape[k] = h->held.extent(k);
    h->strides[k] = stride;
    stride *= h->shape[k];
  }
  t.data = h->held.data();
  t.device.device_id = 0;
  t.device.device_type = static_cast<decltype(t.device.device_type)>(1);
  t.ndim = rank;
  t.dtype.code = detail::dlpack_code<T>;
  t.dtype.bits = 8 * sizeof(T);
  t.dtype.lanes = 1;
  t.shape = h->shape;
  t.strides = h->strides;
  t.byte_offset = 0;
  h->managed.manager_ctx = h;
  h->managed.deleter = &holder::free;
  return &h->managed;
}

} // namespace cotangent

#endif
