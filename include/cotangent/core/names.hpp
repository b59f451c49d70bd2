// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_NAMES_HPP
#define COTANGENT_CORE_NAMES_HPP

#include <cotangent/core/shape.hpp>

#include <cstdint>

namespace cotangent::detail {

/// Names and the sizes they are bound to.
struct bindings {
  static constexpr int capacity = 16;
  enum outcome : unsigned char { bound, agrees, conflicts, full };

  char names[capacity][detail::name_capacity]{};
  std::int64_t sizes[capacity]{};
  int count = 0;

  constexpr int find(char const* name) const noexcept {
    for (int i = 0; i < count; ++i)
      if (detail::compare_names(names[i], name) == 0) return i;
    return -1;
  }

  constexpr outcome bind(char const* name, std::int64_t size) noexcept {
    if (int const at = find(name); at >= 0) return sizes[at] == size ? agrees : conflicts;
    if (count == capacity) return full;
    detail::copy_name(names[count], name);
    sizes[count++] = size;
    return bound;
  }

  /// The lookup for `evaluate`.
  constexpr std::int64_t operator()(char const* name, int) const noexcept {
    int const at = find(name);
    return at < 0 ? extent::malformed : sizes[at];
  }
};

/// True for "n", false for "2*n" and for 3.
constexpr bool is_name(extent const& e) noexcept {
  if (!e.is_symbol() || e.overflow()) return false;
  for (char const* c = e.text + (e.is_anonymous() ? 1 : 0); *c != '\0'; ++c)
    if (!detail::is_letter(*c) && !(detail::is_digit(*c) && (c != e.text))) return false;
  return true;
}

/// The names that occur in the extents, in the order of first appearance, with size 0.
constexpr bindings names_in(shape const& s) noexcept {
  bindings result;
  for (int i = 0; i < s.rank; ++i) {
    if (!s.extents[i].is_symbol() || s.extents[i].overflow()) continue;
    detail::formula const f = detail::to_formula(s.extents[i]);
    for (int t = 0; t < f.count; ++t)
      for (int k = 0; k < f.terms[t].degree; ++k) result.bind(f.terms[t].names[k], 0);
  }
  return result;
}

/// The first axis whose size contradicts its extent, and why.
struct axis_fit {
  enum failure : unsigned char { nothing, number, name, formula, too_many_names };
  failure failed = nothing;
  int axis = 0;
  std::int64_t wanted =
      0; // the size that the axis must have: its number, or the value that its name or formula is bound to, negative if that is no size
};

/// Binds the names of `s` to the sizes of its axes, and compares. A formula is compared once all its names
/// are known: `only_formulas` marks the second pass over arguments, when all names are.
constexpr axis_fit bind_axes(bindings& known, shape const& s, std::int64_t const* sizes,
                        bool only_formulas = false) noexcept {
  for (int i = 0; i < s.rank && !only_formulas; ++i) {
    extent const& e = s.extents[i];
    if (e.is_number() && e.number != sizes[i]) return {axis_fit::number, i, e.number};
    if (!is_name(e)) continue;
    switch (known.bind(e.text, sizes[i])) {
    case bindings::conflicts: return {axis_fit::name, i, known(e.text, 0)};
    case bindings::full: return {axis_fit::too_many_names, i, 0};
    default: break;
    }
  }
  for (int i = 0; i < s.rank; ++i) {
    extent const& e = s.extents[i];
    if (e.is_number() || is_name(e)) continue;
    if (std::int64_t const wanted = evaluate(e, known); wanted != extent::malformed && wanted != sizes[i])
      return {axis_fit::formula, i, wanted};
  }
  return {};
}

/// The source of each axis's size: the index of a name; -2 for a formula; -1 for a number.
struct axis_sources {
  signed char of[max_rank]{};
};

constexpr axis_sources sources_of(shape const& s) noexcept {
  axis_sources result;
  bindings const names = names_in(s);
  for (int i = 0; i < s.rank; ++i)
    result.of[i] = static_cast<signed char>(s.extents[i].is_number() ? -1
                                            : is_name(s.extents[i])  ? names.find(s.extents[i].text)
                                                                     : -2);
  return result;
}

template <extent... E>
inline constexpr bindings names_of = names_in(shape_of<E...>);
template <extent... E>
inline constexpr axis_sources axis_sources_of = sources_of(shape_of<E...>);

/// Computes the sizes of all axes from those of the names. Returns the first axis that has none, or -1.
template <extent... E>
constexpr int sizes_from_names(std::int64_t const* named, std::int64_t* sizes) noexcept {
  constexpr shape const& s = shape_of<E...>;
  constexpr axis_sources const& sources = axis_sources_of<E...>;
  for (int i = 0; i < s.rank; ++i) {
    if (sources.of[i] >= 0) sizes[i] = named[sources.of[i]];
    else if (sources.of[i] == -1) sizes[i] = s.extents[i].number;
    else {
      bindings known = names_of<E...>;
      for (int k = 0; k < known.count; ++k) known.sizes[k] = named[k];
      sizes[i] = evaluate(s.extents[i], known);
    }
    if (sizes[i] < 0) return i;
  }
  return -1;
}

} // namespace cotangent::detail

#endif
