// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRACE_EXPRESSIONS_BRACES_HPP
#define COTANGENT_TRACE_EXPRESSIONS_BRACES_HPP

#include <cotangent/trace/expressions/lift.hpp>

#include <cstddef>

// ct::expr<double, 2, 2>{{a, b}, {c, d}}: a tensor from its elements.

namespace cotangent::detail {

struct every_row {
  template <class X, class Visit> static constexpr void visit(X const& x, Visit& each) { each(x); }
  template <class X, std::size_t N, class Visit> static constexpr void visit(X const (&rows)[N], Visit& each) {
    for (X const& row : rows) visit(row, each);
  }
};

/// Concatenates the elements along one axis, then reshapes; equal literals become one constant.
template <class X, brace_sizes... Size, class... Row> constexpr X braced(Row const&... row) {
  constexpr brace_misfit misfit = find_misfit(X::extents, {Size...});
  if constexpr (misfit.given != misfit.wanted) {
    refusals::brace_count::report<extent::of(misfit.given), extent::of(misfit.wanted)>();
    return X(standing{nullptr, standing::refused});
  } else {
    builder* b = nullptr;
    standing first{nullptr, standing::broken};
    bool any = false, same = true;
    auto look = [&](auto const& x) {
      standing const& s = x.standing();
      if (b == nullptr) b = s.b;
      if (!any) first = s;
      same = same && s.id == first.id && s.payload == first.payload && s.step == first.step;
      any = true;
    };
    (every_row::visit(row, look), ...);
    if (b == nullptr) return X(same && first.id != standing::broken ? first : standing{nullptr, standing::broken});
    dimensions one, all, to;
    one.size[one.rank++] = 1;
    all.size[all.rank++] = X::extents.size().number;
    for (int k = 0; k < X::rank; ++k) to.size[to.rank++] = X::extents[k].number;
    std::int32_t const single = b->shape(one);
    array<symbol> elements;
    auto collect = [&](auto const& x) {
      elements.push(op::reshape::of({b, x.attach(*b)}, single).id);
    };
    (every_row::visit(row, collect), ...);
    std::int64_t const axis = 0;
    symbol const joined = b->push(info_of<op::concatenate>(), elements.data(), elements.size(), &axis, 1, X::type,
                                  b->shape(all), b->place);
    return X(*b, op::reshape::of({b, joined}, b->shape(to)).id);
  }
}

} // namespace cotangent::detail

#endif
