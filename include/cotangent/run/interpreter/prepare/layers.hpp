// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_PREPARE_LAYERS_HPP
#define COTANGENT_RUN_INTERPRETER_PREPARE_LAYERS_HPP

#include <cotangent/run/interpreter/prepare/units.hpp>

#include <cstdint>

// Sums of tensors that are written in pieces, such as cotangents of overlapping views. The pieces of the
// second tensor are added to the first in place. The second needs no memory, no zeros and no pass over all
// of it.

COTANGENT_COLD_BEGIN
namespace cotangent::detail::interpret {
inline namespace COTANGENT_ABI {

template <class Build> class layer_sums {
public:
  explicit layer_sums(Build& b) : b_(b), p_(b.plan) {
    for (int r = 0; r < p_.roots.size() && layers_.empty(); ++r)
      if (p_.roots[r].pieces >= 0) find_layers();
    if (layers_.size() < 2) return;
    now_.resize(p_.roots.size());
    gone_.assign(p_.units.size(), false);
    int const count = p_.units.size();
    for (std::int32_t u = 0; u < count; ++u) merge(u);
    if (merged_) settle(count);
  }

private:
  /// A total order in which readers follow writers: stages, with room for steps between them.
  using moment = std::int64_t;
  static constexpr moment moment_of(std::int32_t stage) noexcept { return moment{stage} << 24; }

  struct piece {
    std::int32_t drain = -1, unit = -1; // a drain of the plan and its unit; or else
    std::int32_t part = -1;             // a root that is a part of this one
  };
  struct layer {
    std::int32_t root = -1;
    array<piece> pieces;
    moment last = 0;        // when the last of them is written
    std::int32_t join = -1; // a step after all of them
    std::int32_t step =
        -1; // the elementwise step that wrote last, and its turn; -1: several steps, or none
    strided to;
    std::int32_t turn = 0;
  };
  /// The root that replaces another one, after step `join`.
  struct replaced {
    std::int32_t root = -1, join = -1;
  };
  Build& b_;
  plan_data& p_;
  array<layer> layers_;
  array<std::int32_t> layer_of_, reads_; // by root
  array<replaced> now_;                  // by root
  array<bool> gone_;                     // by unit
  bool merged_ = false, alone_ = false;  // alone_: the current layer has one piece
  element type_ = element::float64;      // of the current layers

  bool is_elementwise(std::int32_t step) const { return step >= 0 && p_.steps[step].shape >= 0; }
  moment moment_of_step(std::int32_t step) const { return step < 0 ? 0 : moment_of(p_.steps[step].stage); }

  void find_layers() {
    layer_of_.assign(p_.roots.size(), -1);
    reads_.assign(p_.roots.size(), 0);
    for (int r = 0; r < p_.roots.size(); ++r)
      if (memory_root const& m = p_.roots[r]; m.pieces >= 0 && m.kind == home::workspace && !m.begins) {
        layer_of_[r] = layers_.size();
        layer l;
        l.root = r;
        l.last = moment_of_step(m.step);
        layers_.push(l);
      }
    auto const add = [&](std::int32_t root, piece const& x, std::int32_t step) {
      if (layer_of_[root] < 0) return;
      layer& l = layers_[layer_of_[root]];
      l.pieces.push(x);
      if (moment const at = moment_of_step(step); l.last < at) l.last = at;
    };
    for (int r = 0; r < p_.roots.size(); ++r)
      if (memory_root const& m = p_.roots[r]; m.kind == home::part) add(m.which, {-1, -1, r}, m.step);
    for (int u = 0; u < p_.units.size(); ++u) {
      unit const& at = p_.units[u];
      for (int d = at.drain; d >= 0; d = p_.drains[d].next) add(p_.drains[d].to.root, {d, u, -1}, at.step);
      for (int k = 0; k < at.count; ++k)
        if (std::int32_t const root = p_.operand(at, k).root; root >= 0) ++reads_[root];
    }
    for (strided const& v : b_.outputs)
      if (v.root >= 0) ++reads_[v.root];
  }

  /// The layer that is the whole operand, if it has no other reader.
  std::int32_t layer_in(strided const& v) const {
    if (v.root < 0 || reads_[v.root] != 1) return -1;
    std::int32_t const root = now_[v.root].root >= 0 ? now_[v.root].root : v.root;
    bool const whole = v.offset == 0 && v.contiguous() && v.count() == p_.roots[root].elements;
    return whole ? layer_of_[root] : -1;
  }

  void merge(std::int32_t u) {
    unit const at = p_.units[u];
    if (at.node < 0 || at.count != 2 || at.drain >= 0 || at.root < 0 || !is_elementwise(at.step) ||
        p_.roots[at.root].kind != home::workspace ||
        b_.g.nodes[at.node].op != info_of<typename later<op::add, Build>::type>())
      return;
    std::int32_t to = layer_in(p_.operand(at, 0)), from = layer_in(p_.operand(at, 1));
    if (to < 0 || from < 0 || to == from) return;
    if (layers_[from].join >= 0) { // the one that is already a sum
      std::int32_t const sum = from;
      from = to;
      to = sum;
    }
    memory_root& other = p_.roots[layers_[from].root];
    bool const begins_as_zeros = other.unit < 0 || p_.units[other.unit].count == 0;
    if (!begins_as_zeros || layers_[from].join >= 0) return;
    type_ = p_.operand(at, 0).type;
    layer& sum = layers_[to];
    if (sum.join < 0) become_sum(sum);
    std::int32_t const before = sum.join;
    sum.join = p_.steps.push({});
    p_.edges.push({before, sum.join});
    moment const written = sum.last;
    alone_ = layers_[from].pieces.size() == 1;
    if (!alone_) sum.step = -1;
    for (piece const& x : layers_[from].pieces) {
      bool waits = true;
      std::int32_t const step =
          x.part >= 0 ? add_part(x.part, sum, written, waits) : add_drain(x, sum, written, waits);
      if (waits) p_.edges.push({before, step});
      p_.edges.push({step, sum.join});
    }
    if (other.unit >= 0) gone_[other.unit] = true;
    other.unit = other.step = -1;
    gone_[u] = merged_ = true;
    now_[at.root] = {sum.root, sum.join};
  }

  /// Pieces of the layer that have other readers get their own memory; the step `join` follows all of them.
  void become_sum(layer& l) {
    l.join = p_.steps.push({});
    std::int32_t const cleared = p_.roots[l.root].step;
    if (cleared >= 0) p_.edges.push({cleared, l.join});
    for (piece const& x : l.pieces) {
      std::int32_t step = x.part >= 0 ? p_.roots[x.part].step : p_.units[x.unit].step;
      if (x.part >= 0 && reads_[x.part] > 0) {
        strided to, v = taken_out(x.part, to, l.root);
        if (is_elementwise(step)) put_drain(p_.roots[x.part].unit, to, 0);
        else step = push_copy(v, to, step, 0);
        if (l.last <= moment_of_step(step)) l.last = moment_of_step(step) + 1;
        if (cleared >= 0) p_.edges.push({cleared, step});
      }
      p_.edges.push({step, l.join});
      if (l.pieces.size() == 1 && is_elementwise(step)) {
        l.step = step;
        l.to = joined(x.part >= 0 ? window_of_part(x.part, l.root) : p_.drains[x.drain].to);
      }
    }
  }

  /// The window of a part.
  strided window_of_part(std::int32_t part, std::int32_t root) const {
    strided to;
    to.root = root;
    to.type = type_;
    to.rank = 1;
    to.size[0] = p_.roots[part].elements;
    to.stride[0] = 1;
    to.offset = p_.roots[part].offset / static_cast<std::int64_t>(size_of(type_));
    return to;
  }
  /// Turns a part into a root of its own; `to` is its former window.
  strided taken_out(std::int32_t part, strided& to, std::int32_t root) {
    to = window_of_part(part, root);
    memory_root& r = p_.roots[part];
    strided v = to;
    v.root = part;
    v.offset = 0;
    r.kind = home::workspace;
    r.which = 0;
    r.offset = 0;
    return v;
  }

  /// True if the step that wrote a layer last may also add to this window in each tile. The order of
  /// additions to each element is kept, since equally shaped windows begin at decreasing offsets.
  bool follows(layer const& sum, std::int32_t step, strided const& to) const {
    if (!alone_ || step != sum.step || to.rank != sum.to.rank || to.offset > sum.to.offset) return false;
    for (int k = 0; k < to.rank; ++k)
      if (to.size[k] != sum.to.size[k] || to.stride[k] != sum.to.stride[k] || to.stride[k] <= 0 ||
          (k > 0 && to.stride[k - 1] < to.size[k] * to.stride[k]))
        return false;
    return true;
  }

  // The step that adds a piece to a layer. The step that computes the piece does it, tile by tile, if it runs
  // after all earlier additions to the layer; else a new step does.

  std::int32_t add_part(std::int32_t part, layer& sum, moment written, bool& waits) {
    strided to, v = taken_out(part, to, sum.root);
    std::int32_t const step = p_.roots[part].step;
    if (!may_add(step, to, sum, written, waits)) return add_apart(v, to, step, sum);
    put_drain(p_.roots[part].unit, to, sum.turn);
    return step;
  }
  std::int32_t add_drain(piece const& x, layer& sum, moment written, bool& waits) {
    drain& d = p_.drains[x.drain];
    unit& at = p_.units[x.unit];
    d.to.root = sum.root;
    if (may_add(at.step, joined(d.to), sum, written, waits)) {
      d.turn = sum.turn;
      return at.step;
    }
    for (std::int32_t* k = &at.drain; *k >= 0; k = &p_.drains[*k].next)
      if (*k == x.drain) {
        *k = d.next;
        break;
      }
    strided const to = d.to;
    strided v = to;
    v.root = at.root;
    v.offset = 0;
    v.make_contiguous();
    return add_apart(v, to, at.step, sum);
  }
  /// True if the step that computes a piece also adds it, in turn `sum.turn`; `waits`: it must follow the
  /// earlier additions.
  bool may_add(std::int32_t step, strided const& to, layer& sum, moment written, bool& waits) {
    waits = true;
    if (!is_elementwise(step)) {
      if (step < 0) return false;
      unit const& by = p_.units[p_.steps[step].first_unit];
      if (by.node >= 0 || by.root >= 0) return false;
      if (sum.last < moment_of_step(step)) sum.last = moment_of_step(step); // a copy: it has no reader before
      ++sum.last;
      sum.turn = 1;
      sum.step = -1;
      return true;
    }
    waits = !follows(sum, step, to);
    if (waits && moment_of_step(step) <= written) return false;
    sum.turn = waits ? 1 : sum.turn + 1;
    if (sum.last < moment_of_step(step)) sum.last = moment_of_step(step);
    sum.step = alone_ ? step : -1;
    sum.to = to;
    return true;
  }
  std::int32_t add_apart(strided const& v, strided const& to, std::int32_t made_by, layer& sum) {
    if (moment const made = moment_of_step(made_by); sum.last < made) sum.last = made;
    ++sum.last;
    sum.step = -1;
    return push_copy(v, to, made_by, 1);
  }

  void put_drain(std::int32_t u, strided const& to, std::int32_t turn) {
    p_.units[u].drain = p_.drains.push({to, p_.units[u].drain, turn});
  }
  std::int32_t push_copy(strided const& v, strided const& to, std::int32_t made_by, std::int32_t turn) {
    unit u;
    u.first = p_.views.push(v);
    u.count = 1;
    u.drain = p_.drains.push({to, -1, turn});
    planned_step s;
    s.first_unit = s.last_unit = p_.units.size();
    if (made_by >= 0) s.key = p_.steps[made_by].key, s.stage = p_.steps[made_by].stage;
    u.step = p_.steps.push(s);
    p_.units.push(u);
    return u.step;
  }

  /// Removes dead units from their steps, and redirects readers of replaced roots.
  void settle(int count) {
    for (int s = 0; s < p_.steps.size(); ++s) {
      planned_step& step = p_.steps[s];
      std::int32_t* next = &step.first_unit;
      step.last_unit = -1;
      while (*next >= 0)
        if (*next < count && gone_[*next]) *next = p_.units[*next].next;
        else {
          step.last_unit = *next;
          next = &p_.units[*next].next;
        }
    }
    for (int u = 0; u < count; ++u)
      for (int k = 0; k < p_.units[u].count && !gone_[u]; ++k) {
        strided& v = p_.views[p_.units[u].first + k];
        if (v.root < 0 || now_[v.root].root < 0) continue;
        p_.edges.push({now_[v.root].join, p_.units[u].step});
        v.root = now_[v.root].root;
      }
    for (strided& v : b_.outputs)
      if (v.root >= 0 && now_[v.root].root >= 0) v.root = now_[v.root].root;
  }
};

} // namespace COTANGENT_ABI
} // namespace cotangent::detail::interpret
COTANGENT_COLD_END

#endif
