// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_PROGRAM_AXIS_FORMULA_HPP
#define COTANGENT_TRACE_PROGRAM_AXIS_FORMULA_HPP

#include <cotangent/core/names.hpp>

#include <cstdint>

namespace cotangent::detail {

/// A named axis of an argument, and the first axis with the same extent.
struct symbolic_axis {
  int leaf = 0, axis = 0, first = 0;
};

/// A formula over sizes of axes instead of names, so that calls parse no text.
struct axis_formula {
  static constexpr int max_terms = 4, max_degree = 4;
  struct product {
    std::int64_t coefficient = 0;
    int degree = 0;
    int axis[max_degree]{};
  };
  enum kind_type : unsigned char { nothing, kept, unknown_name, too_long } kind = nothing;
  int count = 0;
  product terms[max_terms]{};

  constexpr axis_formula() = default;
  constexpr axis_formula(extent const& e, shape const* leaves, symbolic_axis const* axes, int axis_count) {
    kind = too_long;
    if (!e.is_symbol() || e.overflow()) return;
    formula const f = to_formula(e);
    if (f.failed != formula::nothing || f.count > max_terms) return;
    for (int t = 0; t < f.count; ++t) {
      product& p = terms[count++];
      p.coefficient = f.terms[t].coefficient;
      if (f.terms[t].degree > max_degree) return;
      for (int k = 0; k < f.terms[t].degree; ++k) {
        int at = 0;
        while (at < axis_count) {
          extent const& own = leaves[axes[at].leaf].extents[axes[at].axis];
          if (is_name(own) && compare_names(own.text, f.terms[t].names[k]) == 0) break;
          ++at;
        }
        if (at == axis_count) {
          kind = unknown_name;
          return;
        }
        p.axis[p.degree++] = at;
      }
    }
    kind = kept;
  }
};

} // namespace cotangent::detail

#endif
