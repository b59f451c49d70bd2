// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_STATE_BODY_GRADIENT_HPP
#define COTANGENT_DYNAMIC_STATE_BODY_GRADIENT_HPP

#include <cotangent/dynamic/state/state.hpp>

#include <cotangent/ops/indexing.hpp>
#include <cotangent/transform/differentiate/backward_control.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

// Gradients requested while the body of a loop or branch is under construction.

COTANGENT_COLD_BEGIN
namespace cotangent::dynamic::inline COTANGENT_ABI::detail {

/// The reverse sweep of a gradient in a body. Level 0 is the graph itself, level k the body of frame k - 1;
/// each `wrt` belongs to the level that computed it. The sweep begins in the innermost body. Cotangents that
/// arrive at outer values seed the sweep of the next level, whose adjoints are also emitted in the innermost
/// body. That of a row which an iteration reads is added to the row of the outer tensor. Carried values, counts and rows of scans are
/// inputs of an iteration: no sweep continues from them.
class walk_out {
  graph_state& s_;
  request const& r_;

  std::int32_t region(std::size_t level) const { return level == 0 ? 0 : s_.frames[level - 1].region; }
  /// A value of the outer level that the body uses: whole, or its row `offset` + the number of the iteration.
  struct known_value {
    symbol outer, inner;
    bool is_row = false;
    std::int64_t offset = 0;
  };
  std::vector<known_value> known(std::size_t level) const {
    std::vector<known_value> all;
    control_maker const& maker = *s_.frames[level - 1].maker;
    maker.each_known([&](symbol outer, symbol inner) { all.push_back({outer, inner}); });
    for (cotangent::detail::read_by_row const& r : maker.body()->rows) all.push_back({r.from, r.row, true, r.offset});
    return all;
  }
  /// The cotangent of the outer value for that of the inner one; `count`: the number of the iteration, in the innermost body.
  symbol outwards(known_value const& v, symbol dy, symbol count) const {
    if (!v.is_row) return dy;
    term at{&s_.b, count};
    if (v.offset != 0) at = at + extend::constant_like(at, static_cast<double>(v.offset));
    return op::scatter_add::of(term{&s_.b, dy}, at, s_.b.tensor(v.outer).shape).id;
  }

  bool run(cotangent::detail::sweep_scope const& scope, gradient_request const& r, symbol* result) {
    std::size_t const levels = s_.frames.size() + 1;
    cotangent::detail::activity const follow(s_.b.get(), scope.index);
    std::vector<cotangent::detail::region_marks> depends;
    std::vector<std::vector<known_value>> from(levels);
    depends.reserve(levels);
    for (std::size_t level = 0; level < levels; ++level) {
      cotangent::detail::region_marks& here = depends.emplace_back(scope.index, region(level));
      for (int k = 0; k < r.wrt_count; ++k)
        if (s_.depth_of(r.wrt[k], r_) == level) follow.mark(here, r.wrt[k]);
      if (level > 0) from[level] = known(level);
      for (known_value const& v : from[level])
        if (follow.marked(depends[level - 1], v.outer)) follow.mark(here, v.inner);
      follow.forward(region(level), here);
    }
    std::vector<symbol> y(r.outputs, r.outputs + r.output_count), dy(r.seeds, r.seeds + r.output_count);
    for (std::size_t level = levels; level-- > 0 && !y.empty();) {
      std::vector<symbol> x;
      std::vector<known_value> outer;
      std::vector<int> asked;
      for (int k = 0; k < r.wrt_count; ++k)
        if (s_.depth_of(r.wrt[k], r_) == level) {
          x.push_back(r.wrt[k]);
          asked.push_back(k);
        }
      for (known_value const& v : from[level])
        if (follow.marked(depends[level], v.inner)) {
          x.push_back(v.inner);
          outer.push_back(v);
        }
      bool const innermost = level + 1 == levels;
      cotangent::detail::importer in(s_.b, s_.frames.back().maker->body());
      cotangent::detail::sweep_scope const at{s_.b,          scope.index,
                           region(level), innermost ? nullptr : &in,
                           scope.control, innermost ? scope.tape : nullptr,
                           scope.sum};
      array<symbol> inputs;
      if (level > 0) inputs = s_.frames[level - 1].maker->inputs();
      gradient_request here{y.data(), dy.data(), static_cast<int>(y.size()), x.data(),
                            static_cast<int>(x.size())};
      here.inputs = level > 0 ? inputs.data() : r.inputs;
      here.input_count = level > 0 ? inputs.size() : r.input_count;
      here.made_for = r.made_for;
      std::vector<symbol> dx(x.size() + 1, none);
      if (!x.empty() && !cotangent::detail::backward_sweep(at, here).run(here, dx.data())) return false;
      for (std::size_t k = 0; k < asked.size(); ++k) result[asked[k]] = dx[k];
      y.clear();
      dy.clear();
      for (std::size_t k = 0; k < outer.size(); ++k)
        if (symbol const d = dx[asked.size() + k]; d != none) {
          symbol const count = outer[k].is_row ? at.value(inputs[cotangent::detail::loop_layout::count()]) : none;
          y.push_back(outer[k].outer);
          dy.push_back(outwards(outer[k], d, count));
        }
    }
    return true;
  }

public:
  walk_out(graph_state& s, request const& r) : s_(s), r_(r) {}
  walk_out(walk_out const&) = delete;
  /// An empty walk if no body is under construction.
  gradient_walk walk() {
    if (s_.frames.empty()) return {};
    return {[](void* with, cotangent::detail::sweep_scope const& scope, gradient_request const& r, symbol* result) {
              return static_cast<walk_out*>(with)->run(scope, r, result);
            },
            this};
  }
};

} // namespace cotangent::dynamic::detail
COTANGENT_COLD_END

#endif
