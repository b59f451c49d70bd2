// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_PROGRAM_CONTROL_MEMORY_HPP
#define COTANGENT_RUN_PROGRAM_CONTROL_MEMORY_HPP

#include <cotangent/kernels/simd.hpp>
#include <cotangent/run/program/context.hpp>
#include <cotangent/run/program/frozen_regions.hpp>
#include <cotangent/run/program/frozen_sharing.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace cotangent::run {
inline namespace COTANGENT_ABI {

template <class Stage> struct executor;

/// The part of a kernel that loops and branches share: the memory of their values.
template <class Stage, int K, class Context> struct control_memory {
  static constexpr auto const& P = detail::planned<Stage, simd::bytes>::value;
  static constexpr extend::graph_view g = Stage::view;
  static constexpr detail::nest N = P.nests.data[K];
  static constexpr extend::node n = g.nodes[N.node];
  using whole = typename Stage::whole;
  static constexpr extend::graph_view all = whole::view;
  static constexpr extend::node original = all.nodes[g.attribute(n)];
  template <std::int32_t R> using program = executor<detail::region_stage<whole, R>>;
  static constexpr int values = n.operand_count + n.result_count;

  static constexpr extend::symbol value_of(int j) { return g.ids[n.first + j]; }
  /// The number of an operand of the original node among those that are there; none for an absent one.
  static constexpr int operand_at(int k) {
    if (all.operand(original, k) == extend::none) return extend::none;
    int at = 0;
    for (int j = 0; j < k; ++j) at += all.operand(original, j) != extend::none ? 1 : 0;
    return at;
  }
  static constexpr int result_at(int k) { return n.operand_count + k; }

  /// The addresses of all operands, then of all results.
  struct addresses {
    char* of[values + 1];
  };
  template <int J> COTANGENT_INLINE static char* address(Context const& x) noexcept {
    constexpr std::int32_t a = P.kernel_accesses.data[N.first_instance + J];
    constexpr std::int32_t own = detail::shared_code<Stage, simd::bytes>::value.own.data[a];
    constexpr extend::dimension offset = P.accesses.data[a].offset;
    return x.buffer[own] + x.value(offset) * element_bytes<J>;
  }
  COTANGENT_INLINE static addresses find(Context const& x) noexcept {
    return [&]<std::size_t... J>(std::index_sequence<J...>) {
      return addresses{{address<static_cast<int>(J)>(x)..., nullptr}};
    }(std::make_index_sequence<static_cast<std::size_t>(values)>{});
  }

  template <int J> static constexpr std::int64_t element_bytes = static_cast<std::int64_t>(size_of(g.tensors[value_of(J)].type));
  /// The bytes of a value behind its first `axis` axes; `value` gives the sizes.
  template <int J, class Value> static constexpr std::int64_t bytes(int axis, Value value) {
    constexpr extend::dimensions d = g.shape(value_of(J)); // (a copy, so that nothing reads the graph at run time)
    std::int64_t count = element_bytes<J>;
    for (int k = axis; k < d.rank; ++k) count = detail::capped_product(count, value(d.size[k]));
    return count;
  }
  static constexpr bool is_known(int j) {
    extend::dimensions const& d = g.shape(value_of(j));
    for (int k = 0; k < d.rank; ++k)
      if (d.size[k] < 0) return false;
    return true;
  }
  /// The bytes of value J behind its first `Axis` axes: a constant where it can be.
  template <int J, int Axis = 0> COTANGENT_INLINE static std::int64_t bytes_of(Context const& x) noexcept {
    if constexpr (is_known(J)) {
      constexpr std::int64_t known = bytes<J>(Axis, [](extend::dimension d) { return d; });
      return known;
    } else { // of a value in memory: its bytes are no more than a number holds, and other sizes may be 0 together with large ones
      constexpr extend::dimensions d = g.shape(value_of(J));
      auto count = static_cast<std::uint64_t>(element_bytes<J>);
      for (int k = Axis; k < d.rank; ++k) count *= static_cast<std::uint64_t>(x.value(d.size[k]));
      return static_cast<std::int64_t>(count);
    }
  }
  COTANGENT_INLINE static void note(status& s, status found) noexcept {
    if (found != status::ok) s = found;
  }
  template <class Body> static constexpr std::int64_t workspace_of(std::int64_t const* known) noexcept {
    if constexpr (Body::is_static) return static_cast<std::int64_t>(Body::workspace_bytes);
    else return static_cast<std::int64_t>(Body::workspace_for(known));
  }
};

} // inline namespace COTANGENT_ABI
} // namespace cotangent::run

#endif
