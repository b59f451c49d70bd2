// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_PROGRAM_CALL_MEMORY_HPP
#define COTANGENT_TRACE_PROGRAM_CALL_MEMORY_HPP

#include <cotangent/core/abi.hpp>
#include <cotangent/core/error.hpp>
#include <cotangent/trace/program/binding.hpp>
#include <cotangent/plan/in_place.hpp>
#include <cotangent/trace/program/many_leaves.hpp>
#include <cotangent/trace/program/memory.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <utility>

namespace cotangent::detail {
inline namespace COTANGENT_ABI {

/// The memory of the arguments and results of one call, and its aliases.
///
/// A result may alias an argument exactly. If the program reads that argument after it writes the result, the
/// argument is first copied to the workspace, behind the program's own part.
template <class Simplified, class Executor> struct call_memory {
  static constexpr graph_view const& g = Simplified::view;
  static constexpr int input_count = g.input_count(), output_count = g.output_count(),
                       leaf_count = input_count + output_count;
  using leaves = std::make_integer_sequence<int, leaf_count>;
  using arguments = std::make_integer_sequence<int, input_count>;
  using results = std::make_integer_sequence<int, output_count>;

  static constexpr bool many_leaves = leaf_count > unrolled_leaves;
  static constexpr leaf_sizes_of<input_count, output_count> table{g};

  /// True if a result may alias an argument without a copy.
  static constexpr bool is_in_place(int argument, int result) {
    if constexpr (many_leaves) return ask_in_place(argument, result);
    else return in_place.of[result * input_count + argument];
  }

  void const* inputs[input_count + 1];
  void* outputs[output_count + 1];
  std::int64_t sizes[g.extent_count + 1]{};

  static constexpr std::int64_t size(dimension d, [[maybe_unused]] std::int64_t const* sizes) {
    if constexpr (g.extent_count == 0) return d; // else g++ -O3 sees an uninitialized size
    else return d >= 0 ? d : sizes[-1 - d];
  }
  template <symbol T> COTANGENT_INLINE static constexpr std::int64_t bytes(std::int64_t const* sizes) {
    constexpr dimensions d = g.shape(T);
    std::int64_t n = static_cast<std::int64_t>(size_of(g.tensors[T].type));
    for (int k = 0; k < d.rank; ++k) n = capped_product(n, size(d.size[k], sizes)); // (a size 0 may follow large ones)
    return n;
  }
  template <int K> static constexpr symbol leaf = K < input_count ? g.input(K) : g.output(K - input_count);

  /// The bytes of copies if every argument that cannot be overwritten in place is overwritten.
  static constexpr std::size_t bytes_of_copies(std::int64_t const* sizes) noexcept {
    std::size_t sum = 0;
    for (int j = 0; j < input_count; ++j) {
      bool copied = false;
      for (int k = 0; k < output_count && !copied; ++k)
        copied = table.of[input_count + k].bytes(sizes) == table.of[j].bytes(sizes) && !is_in_place(j, k);
      if (copied) sum += in_lines(table.of[j].bytes(sizes));
    }
    return sum;
  }

  /// Refuses invalid aliases, and copies aliased arguments to the workspace, behind its first `used` bytes.
  COTANGENT_INLINE status settle(workspace_memory workspace, std::size_t used) noexcept {
    // straight-line code loads everything before it stores anything; all sizes are numbers
    if constexpr (Executor::is_straight && leaf_count <= most_in_a_row) {
      if (is_any_missing(leaves{})) return status::null_argument;
      if (stand_in_a_row<true>(results{}) || stand_in_a_row<false>(results{})) return status::ok;
      if constexpr (pairs <= most_pairs) return any_touches(results{}) ? status::overlap : status::ok;
      else return look_closer(workspace, used, arguments{}, results{});
    } else if constexpr (many_leaves || pairs > most_pairs) return make_room(workspace, used);
    else {
      if constexpr (pairs <= most_gathered) {
        if ((there(leaves{}) & all_apart(results{})) < 0) return status::ok;
      } else if (!is_any_missing(leaves{}) && !any_touches(results{})) return status::ok;
      return look_closer(workspace, used, arguments{}, results{});
    }
  }

private:
  static constexpr bool ask_in_place(int argument, int result) {
    if constexpr (Executor::is_straight) return Executor::may_be_in_place(argument, result);
    else return may_be_in_place(Executor::P, argument, result);
  }
  struct aliases {
    bool of[input_count * output_count + 1]{};
    constexpr aliases() {
      for (int k = 0; k < output_count; ++k)
        for (int j = 0; j < input_count; ++j) of[k * input_count + j] = ask_in_place(j, k);
    }
  };
  static constexpr aliases in_place{}; // false if there are many leaves

  // The fast checks are unrolled over leaves: a call of a small function takes a few nanoseconds, so the
  // checks may take no more.
  static constexpr int pairs =
      output_count * (output_count - 1) / 2 + (Executor::is_straight ? 0 : output_count * input_count);
  static constexpr int most_pairs = 120, most_gathered = 10, most_in_a_row = 200;

  template <int K> COTANGENT_INLINE void const* address() const noexcept {
    if constexpr (K < input_count) return inputs[K];
    else return outputs[K - input_count];
  }
  template <int K> COTANGENT_INLINE std::intptr_t at() const noexcept {
    return reinterpret_cast<std::intptr_t>(address<K>());
  }
  template <int... K> COTANGENT_INLINE bool is_any_missing(std::integer_sequence<int, K...>) const noexcept {
    return (false || ... ||
            (address<K>() == nullptr && (!Executor::is_straight || bytes<leaf<K>>(sizes) != 0)));
  }
  template <int K> static constexpr bool is_one_element = [] {
    dimensions const& d = g.shape(leaf<K>);
    for (int k = 0; k < d.rank; ++k)
      if (d.size[k] != 1) return false;
    return true;
  }();
  template <int K> static constexpr std::size_t element_bytes = size_of(g.tensors[leaf<K>].type);
  /// True if result K and leaf J are one element each and may alias: then any addresses are valid.
  template <int K, int J> static constexpr bool always_fit = [] {
    if constexpr (J < input_count && is_one_element<K> && is_one_element<J> && element_bytes<K> == element_bytes<J>)
      return is_in_place(J, K - input_count);
    else return false;
  }();

  /// True if result K overlaps leaf J. (Elements are aligned: a smaller element lies inside a larger one or
  /// outside of it.)
  template <int K, int J> COTANGENT_INLINE bool touches() const noexcept {
    if constexpr (J >= K || (Executor::is_straight && J < input_count) || always_fit<K, J>) return false;
    else if constexpr (is_one_element<K> && is_one_element<J> && element_bytes<K> == element_bytes<J>)
      return at<K>() == at<J>();
    else {
      auto const own = static_cast<std::uintptr_t>(bytes<leaf<K>>(sizes)),
                 other = static_cast<std::uintptr_t>(bytes<leaf<J>>(sizes));
      if (Executor::is_straight && (own == 0 || other == 0)) return false;
      auto const ahead = static_cast<std::uintptr_t>(at<K>() - at<J>());
      if constexpr (is_one_element<K> && element_bytes<K> <= element_bytes<J>) return ahead < other;
      else if constexpr (is_one_element<J> && element_bytes<J> <= element_bytes<K>) return 0 - ahead < own;
      else return ahead + own - 1 < own + other - 1;
    }
  }
  /// The same as a sign: negative if the two do not overlap. With few leaves, signs are combined without
  /// branches, so that compilers hoist them out of a loop of calls; with many leaves, g++ would keep them in
  /// vector registers. Addresses in the upper half of the address space fail this test and are checked by
  /// `touches`.
  template <int K, int J> COTANGENT_INLINE std::uintptr_t apart() const noexcept {
    if constexpr (J >= K || always_fit<K, J>) return ~std::uintptr_t{};
    else {
      auto const ahead = static_cast<std::uintptr_t>(at<K>() - at<J>());
      auto const own = static_cast<std::uintptr_t>(bytes<leaf<K>>(sizes)),
                 other = static_cast<std::uintptr_t>(bytes<leaf<J>>(sizes));
      if constexpr (is_one_element<K> && is_one_element<J> && element_bytes<K> == element_bytes<J>)
        return ahead | (0 - ahead);
      else if constexpr (is_one_element<K> && element_bytes<K> <= element_bytes<J>) return ahead | (other - 1 - ahead);
      else if constexpr (is_one_element<J> && element_bytes<J> <= element_bytes<K>) return (0 - ahead) | (own - 1 + ahead);
      else return (ahead + (own - 1)) | (other - 1 - ahead);
    }
  }
  template <int K, int... J>
  COTANGENT_INLINE std::uintptr_t apart_from(std::integer_sequence<int, J...>) const noexcept {
    return (~std::uintptr_t{} & ... & apart<K, J>());
  }
  template <int... R> COTANGENT_INLINE std::intptr_t all_apart(std::integer_sequence<int, R...>) const noexcept {
    return static_cast<std::intptr_t>((~std::uintptr_t{} & ... & apart_from<input_count + R>(leaves{})));
  }
  /// Negative if no address is null.
  template <int... K> COTANGENT_INLINE std::intptr_t there(std::integer_sequence<int, K...>) const noexcept {
    return ~static_cast<std::intptr_t>((std::uintptr_t{} | ... | (static_cast<std::uintptr_t>(at<K>()) - 1)));
  }
  template <int K, int... J> COTANGENT_INLINE bool
  touches_any(std::integer_sequence<int, J...>) const noexcept {
    return (false || ... || touches<K, J>());
  }
  template <int... R> COTANGENT_INLINE bool any_touches(std::integer_sequence<int, R...>) const noexcept {
    return (false || ... || touches_any<input_count + R>(leaves{}));
  }
  /// True if the results do not overlap: each ends at or before the beginning of the next one, except one
  /// where the addresses start over. Upwards, or downwards as in the tuples of libstdc++.
  template <bool Upwards, int... R> COTANGENT_INLINE bool stand_in_a_row(std::integer_sequence<int, R...>) const noexcept {
    // sums of signs: g++ would keep each comparison in a mask register
    return (std::intptr_t{} + ... + (room_before<Upwards ? R : next<R>, Upwards ? next<R> : R>() >> 63)) >= -1;
  }
  template <int R> static constexpr int next = R + 1 < output_count ? R + 1 : 0;
  /// The bytes between the end of result A and the beginning of result B.
  template <int A, int B> COTANGENT_INLINE std::intptr_t room_before() const noexcept {
    return at<input_count + B>() - at<input_count + A>() - bytes<leaf<input_count + A>>(sizes);
  }

  static constexpr std::size_t in_lines(std::int64_t bytes) {
    return static_cast<std::size_t>(detail::whole_lines(bytes));
  }
  /// `make_room` of a copy, so that `*this` stays in registers.
  template <int... I, int... R>
  COTANGENT_INLINE status look_closer(workspace_memory workspace, std::size_t used, std::integer_sequence<int, I...>,
                                      std::integer_sequence<int, R...>) noexcept {
    call_memory seen;
    for (int k = 0; k < g.extent_count; ++k) seen.sizes[k] = sizes[k];
    static_cast<void>(std::initializer_list<int>{0, (seen.inputs[I] = inputs[I], 0)...});
    static_cast<void>(std::initializer_list<int>{0, (seen.outputs[R] = outputs[R], 0)...});
    status const s = seen.make_room(workspace, used);
    if constexpr (!Executor::is_straight) // which copies no argument
      static_cast<void>(std::initializer_list<int>{0, (inputs[I] = seen.inputs[I], 0)...});
    return s;
  }
  [[gnu::noinline]] status make_room(workspace_memory workspace, std::size_t used) noexcept {
    byte_range range[leaf_count + 1];
    for (int k = 0; k < leaf_count; ++k) {
      void const* const first = k < input_count ? inputs[k] : outputs[k - input_count];
      range[k] = {static_cast<char const*>(first), table.of[k].bytes(sizes)};
      if (first == nullptr && range[k].bytes != 0) return status::null_argument;
    }
    bool copied[input_count + 1]{};
    int order[output_count + 1];
    auto const exactly = [&](int argument, int result) {
      copied[argument] = copied[argument] || !is_in_place(argument, result);
      return true;
    };
    // (straight-line code loads everything before it stores anything)
    if (any_collides(range, Executor::is_straight ? 0 : input_count, range + input_count, output_count, order,
                     exactly))
      return status::overlap;
    for (int j = 0; j < input_count; ++j) {
      if (!copied[j]) continue;
      if (!workspace.holds(used + static_cast<std::size_t>(range[j].bytes)))
        return status::workspace_too_small;
      char* const copy = static_cast<char*>(workspace.first) + used;
      std::memcpy(copy, range[j].first, static_cast<std::size_t>(range[j].bytes));
      inputs[j] = copy;
      used += in_lines(range[j].bytes);
    }
    return status::ok;
  }
};

} // namespace COTANGENT_ABI
} // namespace cotangent::detail

#endif
