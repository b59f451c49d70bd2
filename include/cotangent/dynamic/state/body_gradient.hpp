// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_STATE_BODY_GRADIENT_HPP
#define COTANGENT_DYNAMIC_STATE_BODY_GRADIENT_HPP

#include <cotangent/dynamic/state/state.hpp>

#include <cotangent/transform/differentiate/backward_control.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

// Gradients requested while the body of a loop or branch is under construction.

COTANGENT_COLD_BEGIN
namespace cotangent::dynamic::inline COTANGENT_ABI::detail {

/// The reverse sweep of a gradient in a body. Level 0 is the graph itself, level k the body of frame k - 1;
/// each `wrt` belongs to the level that computed it. The sweep begins in the innermost body. Cotangents that
/// arrive at outer values seed the sweep of the next level, whose adjoints are also emitted in the innermost
/// body. Carried values and counts are inputs of an iteration: no sweep continues from them.
class walk_out {
  graph_state& s_;
  request const& r_;

  std::int32_t region(std::size_t level) const { return level == 0 ? 0 : s_.frames[level - 1].region; }
  /// The values of the outer level that this body uses: outer and inner symbols.
  std::vector<std::pair<symbol, symbol>> known(std::size_t level) const {
    std::vector<std::pair<symbol, symbol>> all;
    s_.frames[level - 1].maker->each_known([&](symbol outer, symbol inner) { all.emplace_back(outer, inner); });
    return all;
  }

  bool run(cotangent::detail::sweep_scope const& scope, gradient_request const& r, symbol* result) {
    std::size_t const levels = s_.frames.size() + 1;
    cotangent::detail::activity const follow(s_.b.get(), scope.index);
    std::vector<cotangent::detail::region_marks> depends;
    std::vector<std::vector<std::pair<symbol, symbol>>> from(levels);
    depends.reserve(levels);
    for (std::size_t level = 0; level < levels; ++level) {
      cotangent::detail::region_marks& here = depends.emplace_back(scope.index, region(level));
      for (int k = 0; k < r.wrt_count; ++k)
        if (s_.depth_of(r.wrt[k], r_) == level) follow.mark(here, r.wrt[k]);
      if (level > 0) from[level] = known(level);
      for (auto const& [outer, inner] : from[level])
        if (follow.marked(depends[level - 1], outer)) follow.mark(here, inner);
      follow.forward(region(level), here);
    }
    std::vector<symbol> y(r.outputs, r.outputs + r.output_count), dy(r.seeds, r.seeds + r.output_count);
    for (std::size_t level = levels; level-- > 0 && !y.empty();) {
      std::vector<symbol> x, outer;
      std::vector<int> asked;
      for (int k = 0; k < r.wrt_count; ++k)
        if (s_.depth_of(r.wrt[k], r_) == level) {
          x.push_back(r.wrt[k]);
          asked.push_back(k);
        }
      for (auto const& [out, in] : from[level])
        if (follow.marked(depends[level], in)) {
          x.push_back(in);
          outer.push_back(out);
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
        if (dx[asked.size() + k] != none) {
          y.push_back(outer[k]);
          dy.push_back(dx[asked.size() + k]);
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
