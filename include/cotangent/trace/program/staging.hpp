// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_PROGRAM_STAGING_HPP
#define COTANGENT_TRACE_PROGRAM_STAGING_HPP

#include <cotangent/core/abi.hpp>
#include <cotangent/core/error.hpp>
#include <cotangent/kernels/strided_copy.hpp>
#include <cotangent/trace/program/call.hpp>
#include <cotangent/trace/program/call_memory.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

// Arguments and results with strides: programs read and write row-major memory, so that such an argument is copied to
// the workspace before a run, and such a result from there after it. Memory that turns out to be row-major is used in
// place.

namespace cotangent::detail {
inline namespace COTANGENT_ABI {

template <class A> consteval bool find_strided() {
  if constexpr (is_inner<A>)
    return []<class... Part>(parts<Part...>) {
      return (false || ... || find_strided<Part>());
    }(typename parts_of<A>::type{});
  else return strided_memory<A>;
}
/// True if a leaf of a tree has strides.
template <class... Tree> inline constexpr bool has_strided = (false || ... || find_strided<Tree>());

/// Flags for the leaves of trees that have strides.
template <class A> constexpr bool* note_strided(bool* next) {
  if constexpr (is_inner<A>)
    return [&]<class... Part>(parts<Part...>) {
      ((next = note_strided<Part>(next)), ...);
      return next;
    }(typename parts_of<A>::type{});
  else {
    *next = strided_memory<A>;
    return next + 1;
  }
}
template <class... Tree> struct strided_flags {
  bool of[all_leaves<Tree...> + 1]{};
  consteval strided_flags() {
    bool* next = of;
    ((next = note_strided<Tree>(next)), ...);
  }
};

/// The bytes of a workspace with copies behind the program's own part.
constexpr std::size_t workspace_with(std::size_t own, std::size_t copies) noexcept {
  return copies == 0 ? own : static_cast<std::size_t>(whole_lines(static_cast<std::int64_t>(own))) + copies;
}

/// The bytes of copies of arguments and results whose types have strides. `sizes` are those of the graph's extents.
template <class Simplified, class Result, class... Args>
constexpr std::size_t staged_bytes([[maybe_unused]] std::int64_t const* sizes) noexcept {
  std::size_t sum = 0;
  if constexpr (has_strided<Args..., Result>) {
    constexpr graph_view const& g = Simplified::view;
    constexpr int count = g.input_count() + g.output_count();
    constexpr strided_flags<Args..., Result> strided{};
    leaf_sizes_of<g.input_count(), g.output_count()> const table{g};
    for (int k = 0; k < count; ++k)
      if (strided.of[k]) sum += static_cast<std::size_t>(whole_lines(table.of[k].bytes(sizes)));
  }
  return sum;
}

struct strided_leaves {
  strided_leaf* next;
  template <class X> void operator()(X& x) { *next++ = strided_leaf_of(x); }
};
/// Counts the bytes of copies of the leaves that have strides.
struct strided_bytes {
  std::size_t sum = 0;
  template <class X> void operator()(X& x) {
    if constexpr (strided_memory<std::remove_const_t<X>>) {
      strided_leaf const leaf = strided_leaf_of(x);
      sum += static_cast<std::size_t>(whole_lines(leaf.count() * leaf.element_bytes));
    }
  }
};

/// The copies of one call. `leaf[k]` are all arguments, then all results.
template <int Inputs, int Outputs> struct staging {
  strided_leaf leaf[Inputs + Outputs + 1];
  bool copied[Inputs + Outputs + 1]{};

  template <class Arguments, class Results> staging(Arguments const& arguments, Results& results) noexcept {
    strided_leaves note{leaf};
    visit_leaves(arguments, note);
    visit_leaves(results, note);
    for (int k = 0; k < Inputs + Outputs; ++k) copied[k] = !leaf[k].is_dense();
  }

  static std::size_t in_lines(strided_leaf const& s) noexcept {
    return static_cast<std::size_t>(whole_lines(s.count() * s.element_bytes));
  }
  std::size_t bytes() const noexcept {
    std::size_t sum = 0;
    for (int k = 0; k < Inputs + Outputs; ++k)
      if (copied[k]) sum += in_lines(leaf[k]);
    return sum;
  }

  /// Refuses null addresses, and results that overlap each other. A result with strides may overlap any argument: it
  /// is written when all arguments have been read.
  status check() const noexcept {
    for (int k = 0; k < Inputs + Outputs; ++k)
      if (copied[k] && leaf[k].first == nullptr) return status::null_argument;
    for (int k = Inputs; k < Inputs + Outputs; ++k) {
      if (!copied[k]) continue;
      if (repeats_elements(leaf[k])) return status::overlap;
      for (int j = Inputs; j < Inputs + Outputs; ++j)
        if ((j < k || !copied[j]) && may_overlap(leaf[k], leaf[j])) return status::overlap;
    }
    return status::ok;
  }

  /// Copies arguments to `memory`, and lets results be written there.
  void enter(char* memory, void const** inputs, void** outputs) const noexcept {
    for (int k = 0; k < Inputs + Outputs; ++k) {
      if (!copied[k]) continue;
      if (k < Inputs) {
        copy_strided<true>(leaf[k], memory);
        inputs[k] = memory;
      } else outputs[k - Inputs] = memory;
      memory += in_lines(leaf[k]);
    }
  }
  /// Copies results to where they belong.
  void leave(void* const* outputs) const noexcept {
    for (int k = Inputs; k < Inputs + Outputs; ++k)
      if (copied[k]) copy_strided<false>(leaf[k], static_cast<char*>(outputs[k - Inputs]));
  }
};

} // namespace COTANGENT_ABI
} // namespace cotangent::detail

#endif
