// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_EXECUTE_CALLS_HPP
#define COTANGENT_RUN_INTERPRETER_EXECUTE_CALLS_HPP

#include <cotangent/kernels/accumulate.hpp>
#include <cotangent/kernels/arg_max.hpp>
#include <cotangent/kernels/matrix/matmul.hpp>
#include <cotangent/kernels/movement.hpp>
#include <cotangent/run/interpreter/execute/groups.hpp>

#include <cstdint>
#include <cstring>

// Steps that are one kernel call, or one kernel in a loop.

namespace cotangent::detail::interpret {
inline namespace COTANGENT_ABI {

inline void run_clear(program_data const& p, std::int32_t which, run_context& c) {
  copy_out const& o = p.copies[which];
  std::memset(c.at(o.to), 0, static_cast<std::size_t>(o.bytes));
}

template <class T> void run_copy(program_data const& p, std::int32_t which, run_context& c) {
  copy_step const& s = p.moves[which];
  auto const* const from = reinterpret_cast<T const*>(c.at(s.from));
  auto* const to = reinterpret_cast<T*>(c.at(s.to));
  if (from != to)
    kernels::copy(s.axes, from, to); // else: the result is in place
}

/// Like `run_copy`, but adds to the destination.
template <class T> void run_accumulate(program_data const& p, std::int32_t which, run_context& c) {
  accumulate_step const& s = p.additions[which];
  kernels::accumulate(s.rank, s.size, reinterpret_cast<T const*>(c.at(s.from)), s.from_stride,
                      reinterpret_cast<T*>(c.at(s.to)), s.to_stride);
}

inline void run_reduction(program_data const& p, std::int32_t which, run_context& c) {
  reduction_step const& r = p.reductions[which];
  char* const to = c.at(r.to);
  char const* const from = c.at(r.from);
  void const* const self = r.signature >= 0 ? p.signatures.data() + r.signature : nullptr;
  r.axes.run([&](std::int64_t out, std::int64_t in, kernels::reduce_shape s) {
    s.self = self;
    r.kernel(to + out * r.bytes, from + in * r.bytes, s);
  });
}

template <class T> void run_matmul(program_data const& p, std::int32_t which, run_context& c) {
  matmul_step const& s = p.products[which];
  T const* left = reinterpret_cast<T const*>(c.at(s.left));
  T const* right = reinterpret_cast<T const*>(c.at(s.right));
  T* to = reinterpret_cast<T*>(c.at(s.to));
  T* const scratch = s.scratch ? reinterpret_cast<T*>(c.bases[0]) : nullptr;
  for (std::int64_t k = 0; k < s.matrices; ++k, left += s.left_matrix, right += s.right_matrix, to += s.shape.m * s.shape.n)
    if (s.is_short) kernels::detail::short_product<T>(s.shape, left, right, to);
    else kernels::long_product<T>(s.shape, left, right, to, scratch);
}

/// One product of at most 4 x 4 elements.
inline void run_block_product(program_data const& p, std::int32_t which, run_context& c) {
  matmul_step const& s = p.products[which];
  s.block(s.shape, c.at(s.left), c.at(s.right), c.at(s.to));
}

template <class T, class Index> void run_gather(program_data const& p, std::int32_t which, run_context& c) {
  row_step const& s = p.rows[which];
  if (!kernels::gather_rows(s.count, reinterpret_cast<Index const*>(c.at(s.index)), s.axis, s.row,
                            reinterpret_cast<T const*>(c.at(s.from)), s.row, reinterpret_cast<T*>(c.at(s.to)),
                            s.row))
    c.state = status::index_out_of_range;
}

template <class T, class Index, bool Sets = false> void run_scatter(program_data const& p, std::int32_t which, run_context& c) {
  row_step const& s = p.rows[which];
  std::size_t const bytes = static_cast<std::size_t>(s.axis * s.row) * sizeof(T);
  if (!s.changes) std::memset(c.at(s.to), 0, bytes);
  else if (c.at(s.sum) != c.at(s.to)) std::memcpy(c.at(s.to), c.at(s.sum), bytes);
  if (!kernels::scatter_rows<Sets>(s.count, reinterpret_cast<Index const*>(c.at(s.index)), s.axis, s.row,
                                   reinterpret_cast<T const*>(c.at(s.from)), s.row, reinterpret_cast<T*>(c.at(s.to)), s.row))
    c.state = status::index_out_of_range;
}

template <class T> void run_arg_max(program_data const& p, std::int32_t which, run_context& c) {
  row_step const& s = p.rows[which];
  kernels::arg_max(s.count, s.axis, s.row, reinterpret_cast<T const*>(c.at(s.from)), s.axis * s.row, s.row,
                   std::int64_t{1}, reinterpret_cast<std::int64_t*>(c.at(s.to)), s.row, std::int64_t{1});
}

inline whole_tensor whole_of(strided const& v) noexcept {
  whole_tensor t;
  t.type = v.type;
  t.rank = v.rank;
  for (int k = 0; k < v.rank; ++k) t.size[k] = v.size[k];
  return t;
}
inline void point_to(whole_tensor& t, char* at) noexcept {
  switch (t.type) {
  case element::float32: return t.set_data(reinterpret_cast<float*>(at));
  case element::float64: return t.set_data(reinterpret_cast<double*>(at));
  case element::int32: return t.set_data(reinterpret_cast<std::int32_t*>(at));
  case element::int64: return t.set_data(reinterpret_cast<std::int64_t*>(at));
  case element::boolean: return t.set_data(reinterpret_cast<bool*>(at));
  case element::float16:
  case element::bfloat16: return; // (the builder refuses them)
  }
}
/// A call of which only the tensors in use are set.
union partial_call {
  static_assert(std::is_trivially_copyable_v<whole_call>);
  whole_call all;
  partial_call() noexcept {}

  static void set(whole_tensor& to, whole_tensor const& from, char* at) noexcept {
    std::memcpy(&to, &from, sizeof to);
    interpret::point_to(to, at);
  }
};
inline void run_whole(program_data const& p, std::int32_t which, run_context& c) {
  whole_step const& s = p.wholes[which];
  partial_call partial;
  whole_call& call = partial.all;
  for (int k = 0; k < s.operands; ++k) partial_call::set(call.operand[k], s.call.operand[k], c.at(s.operand[k]));
  partial_call::set(call.result, s.call.result, c.at(s.to));
  call.attribute = p.attributes.data() + s.first_attribute;
  call.scratch = c.bases[0];
  call.found = &c.state;
  s.run(call);
}

} // namespace COTANGENT_ABI
} // namespace cotangent::detail::interpret

#endif
