// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_PROGRAM_PROGRAM_MEMORY_HPP
#define COTANGENT_DYNAMIC_PROGRAM_PROGRAM_MEMORY_HPP

#include <cotangent/dynamic/program/compiled_code.hpp>

#include <cstdint>
#include <cstring>
#include <source_location>
#include <type_traits>
#include <vector>

// The memory bound to inputs and results of a program, and checks that it fits.

namespace cotangent::dynamic::inline COTANGENT_ABI::detail {

/// Calls f with the type of an element.
template <class F> void with_element(element e, F f) {
  switch (e) {
  case element::float32: return f(std::type_identity<float>{});
  case element::float64: return f(std::type_identity<double>{});
  case element::int32: return f(std::type_identity<std::int32_t>{});
  case element::int64: return f(std::type_identity<std::int64_t>{});
  case element::boolean: return f(std::type_identity<bool>{});
  case element::float16: return f(std::type_identity<float16>{});
  case element::bfloat16: return f(std::type_identity<bfloat16>{});
  }
}

/// The memory of an input or a result of a program.
struct port_memory {
  void const* data = nullptr;
  void* to = nullptr;
  detail::block own;
  bool is_own = false;
  // a result that is computed elsewhere and copied, since its memory is an input that is still read
  bool is_input = false;
  std::int64_t arena = -1; // its offset in the workspace
  std::int64_t bound = 0;  // the number of bindings

  void set(memory_of const& m, bool copied, std::int64_t bytes) {
    is_own = copied;
    if (copied) {
      own.at_least(static_cast<std::size_t>(bytes > 0 ? bytes : 1));
      if (bytes > 0) std::memcpy(own.data(), m.data, static_cast<std::size_t>(bytes));
      data = to = own.data();
    } else {
      data = m.data;
      to = m.to;
    }
  }
  /// A result is no longer bound.
  void release() {
    is_own = false;
    data = to = nullptr;
    bound = 0;
  }
};

template <class Refusal> message located(port const& p, std::source_location where) {
  message text(Refusal::text);
  if (p.id != none || !p.name.empty()) text.put("; it is");
  if (!p.name.empty()) text.put(" ").put(p.name.c_str());
  if (p.id != none) text.put(" ").put(cotangent::name_of(p.type)).put(" ").put(p.shape);
  if (where.line() != 0) text.put(", at ").put(where.file_name()).put(":").put(where.line());
  return text;
}
inline void check_fit(port const& p, memory_of const& m, std::source_location where) {
  bool const row = m.shape.rank() == 1 && m.shape[0] == p.shape.size().number; // all elements, row-major
  if (m.type != p.type)
    throw graph_error(
        located<refusals::bind_elements>(p, where));
  if (row || sizes(p.shape) == m.shape) return;
  cotangent::shape given;
  for (std::int64_t const n : m.shape) given.push(extent::of(n));
  message text("cotangent: bind: memory of shape ");
  text.put(given).put(" must have the shape ").put(p.shape);
  if (!p.name.empty()) text.put(" of ").put(p.name.c_str());
  throw shape_error(text.put(", at ").put(where.file_name()).put(":").put(where.line()));
}

/// Kernels read and write elements in place.
inline void check_alignment(port const& p, memory_of const& m, std::source_location where) {
  if (reinterpret_cast<std::uintptr_t>(m.data) % size_of(p.type) != 0) throw graph_error(located<refusals::bind_alignment>(p, where));
}

/// Results must not overlap each other, nor an input unless they are exactly that input.
inline void check_overlaps(compiled_code const& code, std::vector<port_memory> const& in,
                           std::vector<port_memory> const& out, std::vector<void const*> const& from,
                           std::vector<void*> const& to, std::source_location where) {
  auto const overlap = [](void const* a, std::int64_t n, void const* b, std::int64_t m) {
    auto const p = reinterpret_cast<std::uintptr_t>(a), q = reinterpret_cast<std::uintptr_t>(b);
    return n > 0 && m > 0 && p < q + static_cast<std::uintptr_t>(m) &&
           q < p + static_cast<std::uintptr_t>(n);
  };
  for (std::size_t k = 0; k < to.size(); ++k) {
    if (out[k].is_own || to[k] == nullptr) continue;
    port const& y = code.outputs[k];
    for (std::size_t j = 0; j < to.size(); ++j)
      if (j != k && overlap(to[k], y.bytes, to[j], code.outputs[j].bytes))
        throw graph_error(located<refusals::bind_shared>(y, where));
    for (std::size_t j = 0; j < from.size(); ++j)
      if (in[j].data != nullptr && overlap(to[k], y.bytes, from[j], code.inputs[j].bytes) &&
          (to[k] != from[j] || y.bytes != code.inputs[j].bytes))
        throw graph_error(located<refusals::bind_overlap>(y, where));
  }
}

} // namespace cotangent::dynamic::detail

#endif
