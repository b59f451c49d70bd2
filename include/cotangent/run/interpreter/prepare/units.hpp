// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_PREPARE_UNITS_HPP
#define COTANGENT_RUN_INTERPRETER_PREPARE_UNITS_HPP

#include <cotangent/graph/builder.hpp>
#include <cotangent/run/interpreter/execute/kernels.hpp>
#include <cotangent/run/interpreter/execute/pieces.hpp>
#include <cotangent/run/interpreter/execute/plan.hpp>

#include <cstdint>
#include <cstring>

// Units of work, the steps that they are fused into, and memory for their results.

COTANGENT_COLD_BEGIN
namespace cotangent::detail::interpret {
inline namespace COTANGENT_ABI {

/// Writes units of work to a plan.
class unit_maker {
public:
  unit_maker(pieces const& written, plan_data& plan, array<std::int64_t>& constants)
      : written_(written), plan_(plan), constants_(constants) {}

  unit_maker(unit_maker const&) = delete; // it refers to the plan of its owner
  unit_maker& operator=(unit_maker const&) = delete;

  std::int32_t add_root(home kind, std::int32_t which, strided const& v) {
    memory_root r;
    r.kind = kind;
    r.which = which;
    r.elements = v.count();
    r.bytes = r.elements * static_cast<std::int64_t>(size_of(v.type));
    return plan_.roots.push(r);
  }

  /// A constant, repeated over a line, so that kernels can read a pack of it.
  strided constant(strided v, scalar const& value) {
    std::size_t const bytes = size_of(v.type);
    char word[8];
    for (std::size_t at = 0; at < 8; at += bytes) write(v.type, word + at, 0, value);
    std::int64_t bits;
    std::memcpy(&bits, word, 8);
    v.root = add_root(home::constant, 0, v);
    plan_.roots[v.root].offset = 8 * constants_.size();
    for (int k = 0; k < 8; ++k) constants_.push(bits);
    return v; // all strides are 0
  }

  /// Adds a unit of work. An elementwise one joins the step of its shape and stage.
  std::int32_t push_unit(std::int32_t node_index, std::int32_t key, strided const* operands, int count,
                         std::int32_t stage, std::int32_t shape) {
    unit u;
    u.node = node_index;
    u.first = plan_.views.size();
    u.count = count;
    for (int k = 0; k < count; ++k) plan_.views.push(operands[k]);
    u.step = shape < 0 ? plan_.steps.push({}) : step_of(stage, shape);
    for (int k = 0; k < count; ++k) {
      each_writing_step(operands[k], [&](std::int32_t s) { plan_.edges.push({s, u.step}); });
      for (std::int32_t w = operands[k].after; w >= 0; w = plan_.barriers[w].next) {
        strided const& t = plan_.barriers[w].of;
        if (t.root >= 0 && plan_.roots[t.root].step >= 0) plan_.edges.push({plan_.roots[t.root].step, u.step});
        each_writing_step(t, [&](std::int32_t s) { plan_.edges.push({s, u.step}); });
      }
    }
    std::int32_t const at = plan_.units.size();
    planned_step& s = plan_.steps[u.step];
    if (s.first_unit < 0) {
      s.first_unit = at;
      s.key = key;
      s.stage = stage;
      s.shape = shape;
    } else plan_.units[s.last_unit].next = at;
    s.last_unit = at;
    plan_.units.push(u);
    return at;
  }
  /// Allocates the result of a unit.
  strided result_of(std::int32_t at, strided to) {
    to.make_contiguous();
    to.offset = 0;
    to.after = -1;
    to.root = add_root(home::workspace, 0, to);
    memory_root& r = plan_.roots[to.root];
    r.unit = at;
    r.step = plan_.units[at].step;
    r.stage = plan_.steps[r.step].stage;
    return to;
  }
  /// Adds a unit with one result.
  strided work(std::int32_t node_index, std::int32_t key, strided const* operands, int count,
               strided const& to, std::int32_t stage, std::int32_t shape) {
    std::int32_t const at = push_unit(node_index, key, operands, count, stage, shape);
    strided const y = result_of(at, to);
    plan_.units[at].root = y.root;
    return y;
  }

  /// The first stage after all writers of an operand and all values that it waits for.
  std::int32_t stage_after(strided const& v) const {
    std::int32_t const there = stage_of_value(v), waits = stage_of_barriers(v, -1);
    return there < waits ? waits : there;
  }
  /// The first stage in which an elementwise unit of this shape may read `v`; within one step it may read
  /// another unit's result.
  std::int32_t stage_beside(strided const& v, bool direct, std::int32_t shape) const {
    std::int32_t const there = stage_of_value(v) - (direct ? 1 : 0),
                       waits = v.after < 0 ? 0 : stage_of_barriers(v, shape);
    return there < waits ? waits : there;
  }
  /// Lets the readers of `v` wait for another value.
  void add_barrier(strided& v, strided const& of, bool direct, std::int32_t shape) {
    v.after = plan_.barriers.push({of, direct, shape, v.after});
  }

  /// Copies to contiguous memory. Consecutive operations that need the same copy share it.
  strided copied(strided const& v, std::int32_t key) {
    int const n = copies_.size();
    for (int k = n - 1; k >= 0 && k >= n - 8; --k)
      if (copies_[k].of == v) return copies_[k].to;
    strided const to = work(none, key, &v, 1, v, stage_after(v), -1);
    copies_.push({v, to});
    return to;
  }
  bool in_memory(strided const& v) const { return plan_.roots[v.root].kind != home::positions; }
  strided contiguous(strided const& v, std::int32_t key) {
    return in_memory(v) && v.contiguous() ? v : copied(v, key);
  }

private:
  struct copy {
    strided of, to;
  };
  pieces const& written_;
  plan_data& plan_;
  array<std::int64_t>& constants_;
  detail::hash_index groups_;
  array<std::int32_t> group_steps_;
  array<copy> copies_;

  std::int32_t step_of(std::int32_t stage, std::int32_t shape) {
    std::uint32_t const h = mix(static_cast<std::uint32_t>(stage), static_cast<std::uint64_t>(shape)) | 1u;
    std::int32_t const at = groups_.find(h, [&](std::int32_t k) {
      planned_step const& s = plan_.steps[group_steps_[k]];
      return s.stage == stage && s.shape == shape;
    });
    if (at != none) return group_steps_[at];
    groups_.add(h);
    group_steps_.push(plan_.steps.push({}));
    return group_steps_.back();
  }

  std::int32_t stage_of_value(strided const& v) const {
    if (v.root < 0) return 0;
    std::int32_t stage = plan_.roots[v.root].stage;
    each_writing_step(v, [&](std::int32_t s) {
      if (stage < plan_.steps[s].stage) stage = plan_.steps[s].stage;
    });
    return stage + 1;
  }
  /// The first stage in which an elementwise unit of this shape (-1: another unit) may read `v`, with regard
  /// to the values that `v` waits for. It may be their own stage if one step computes both.
  std::int32_t stage_of_barriers(strided const& v, std::int32_t shape) const {
    std::int32_t stage = 0;
    for (std::int32_t w = v.after; w >= 0; w = plan_.barriers[w].next) {
      barrier const& b = plan_.barriers[w];
      std::int32_t const one = stage_of_value(b.of) - (b.direct && b.shape == shape ? 1 : 0);
      if (stage < one) stage = one;
    }
    return stage;
  }

  /// Visits the steps that write, in pieces, elements that an operand reads.
  template <class Visit> void each_writing_step(strided const& v, Visit visit) const {
    if (v.root < 0 || plan_.roots[v.root].pieces == none) return;
    written_.each_view(plan_.roots[v.root].pieces, v, [&](symbol, std::int32_t step) {
      if (step != none) visit(step);
    });
  }
};

} // namespace COTANGENT_ABI
} // namespace cotangent::detail::interpret
COTANGENT_COLD_END

#endif
