// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_PREPARE_SHORT_GROUPS_HPP
#define COTANGENT_RUN_INTERPRETER_PREPARE_SHORT_GROUPS_HPP

#include <cotangent/run/interpreter/prepare/node_steps.hpp>
#include <cotangent/run/interpreter/prepare/tile_units.hpp>

#include <cstdint>

// Translates a step of elementwise nodes over a short shape to threaded code over a frame of slots. Tiles would be copied to
// and from whole packs, which takes longer than the arithmetic on a few elements. All operands are loaded before any result
// is stored, so results may lie on operands.

namespace cotangent::detail {
namespace interpret {
inline namespace COTANGENT_ABI {

/// True if a step of elementwise nodes is faster as threaded code over slots than in tiles.
template <class Build> bool runs_in_slots(Build const& b, std::int32_t s) {
  constexpr int few_units = 8; // the fixed cost of tiles is larger than that of four passes
  plan_data const& p = b.plan;
  if (p.steps[s].shape < 0 || p.steps[s].first_unit < 0) return false;
  std::int64_t const count = p.roots[p.units[p.steps[s].first_unit].root].elements;
  if (count <= 0 || count > kernels::short_bytes * 4) return false;
  std::int64_t largest = 1;
  int units = 0;
  for (std::int32_t u = p.steps[s].first_unit; u >= 0; u = p.units[u].next, ++units) largest = largest_element(b, p.units[u], largest);
  return count <= kernels::short_bytes / largest * (units <= few_units ? 4 : 2);
}

/// The inputs of a region that have the same values whenever it runs, if it runs more than once.
struct kept_inputs {
  bool repeats = false;
  int first = 0, end = 0;
};

template <class Build> class short_emit {
public:
  std::int64_t frame_bytes = 0; // of all groups, which run in the same scratch memory

  short_emit(tile_units<Build>& units, kept_inputs const& kept) : t_(units), inputs_(kept) {}

  /// Emits the collected step: runs of threaded code and calls of kernels, then reductions.
  short_group emit() {
    count_ = t_.p.roots[t_.units[0].root].elements;
    lanes_ = kernels::short_bytes / t_.largest;
    short_group g;
    g.count = count_;
    g.work.first = t_.program.work.size();
    open_ = last_ = none;
    top_ = 0;
    free_.clear();
    steps_ = 0;
    std::int64_t const passes = (count_ - 1) / lanes_ + 1;
    outer_slots_.resize(static_cast<int>(passes) * t_.outers.size());
    stores_.clear();
    t_.results.resize(t_.units.size());
    for (int u = 0; u < t_.units.size(); ++u) // reductions read whole packs
      if (t_.units[u].sum >= 0) {
        auto const size = static_cast<std::int32_t>(size_of(t_.type_of(t_.units[u])));
        t_.results[u] = {base::scratch, size, top_};
        top_ += static_cast<std::int32_t>(whole_lines(count_ * size));
      }
    std::int32_t const states = top_;
    top_ += static_cast<std::int32_t>(64 * t_.lines_of_state * t_.count_sums());
    for (std::int64_t p = 0; p < passes; ++p)
      for (int k = 0; k < t_.outers.size(); ++k) {
        strided const& v = t_.outers[k].v;
        if (is_kept(v)) outer_slot(p, k) = kept_slot(v, p * lanes_);
        else load(outer_slot(p, k) = take(), v, p * lanes_);
      }
    for (std::int64_t p = 0; p < passes; ++p) {
      slots_.assign(t_.units.size(), none);
      for (int u = 0; u < t_.units.size(); ++u) emit_unit(p, u);
    }
    for (stored const& s : stores_) store(s);
    emit_drains();
    close();
    g.work.count = t_.program.work.size() - g.work.first;
    t_.emit_sums(states, g.sums);
    if (frame_bytes < top_) frame_bytes = top_;
    return g;
  }

  /// Ends the code that loads kept values; returns the bytes of their slots.
  std::int64_t finish_kept() {
    if (!kept_.empty()) t_.program.kept.push({&kernels::short_end});
    return whole_lines(kept_.size() * std::int64_t{kernels::short_bytes});
  }

private:
  static constexpr int most_steps = kernels::most_short_steps;

  /// Elements of a unit's result that are stored at the end: those of one pass.
  struct stored {
    std::int32_t unit = 0, slot = 0;
    std::int64_t first = 0;
  };

  /// A value in a slot before the frame, which is loaded once for all iterations.
  struct kept_value {
    strided v;
    std::int64_t first = 0, count = 0, lanes = 0; // of the pass

    bool operator==(kept_value const&) const = default;
  };

  tile_units<Build>& t_;
  kept_inputs const inputs_;
  array<kept_value> kept_;
  bool keeps_ = false; // steps load a kept value
  std::int64_t count_ = 0, lanes_ = 1;
  std::int32_t open_ = none; // the work that steps are added to
  std::int32_t last_ = none; // the slot of the last result, if it is in the register
  std::int32_t top_ = 0;     // the end of the frame
  int steps_ = 0;            // of the open work
  array<std::int32_t> free_, slots_; // slots_: by unit, of the current pass
  array<std::int32_t> outer_slots_;
  array<stored> stores_;

  std::int32_t& outer_slot(std::int64_t pass, int k) {
    return outer_slots_[static_cast<int>(pass) * t_.outers.size() + k];
  }
  std::int64_t in_pass(std::int64_t first) const { return count_ - first < lanes_ ? count_ - first : lanes_; }

  std::int32_t take(int bytes = kernels::short_bytes) {
    if (bytes == kernels::short_bytes && !free_.empty()) return free_.pop();
    std::int32_t const at = top_;
    top_ += bytes;
    return at;
  }

  /// Ends the open work if it has the most steps. The register of the last result does not survive that.
  void make_room() {
    if (open_ != none && steps_ + 1 >= most_steps) close();
    if (open_ != none) return;
    tile_work w;
    w.first = t_.program.shorts.size();
    open_ = t_.program.work.push(w);
    steps_ = 0;
  }
  void push(kernels::short_step const& s) {
    if (keeps_) return static_cast<void>(t_.program.kept.push(s));
    make_room();
    t_.program.shorts.push(s);
    ++steps_;
  }
  void close() {
    if (open_ != none) t_.program.shorts.push({&kernels::short_end});
    open_ = last_ = none;
  }

  using moves = short_moves;
  static moves loads() {
    return {{&kernels::short_load<1>, &kernels::short_load<2>, &kernels::short_load<4>, &kernels::short_load<8>, &kernels::short_load<16>}};
  }
  static moves inserts() {
    return {{&kernels::short_insert<1>, &kernels::short_insert<2>, &kernels::short_insert<4>, &kernels::short_insert<8>, nullptr}};
  }
  static moves spreads() {
    return {{&kernels::short_spread<1>, &kernels::short_spread<2>, &kernels::short_spread<4>, &kernels::short_spread<8>, nullptr}};
  }
  static moves saves() {
    return {{&kernels::short_store<1>, &kernels::short_store<2>, &kernels::short_store<4>, &kernels::short_store<8>, &kernels::short_store<16>}};
  }
  static moves sets() {
    return {{&kernels::short_set<1>, &kernels::short_set<2>, &kernels::short_set<4>, &kernels::short_set<8>, nullptr}};
  }

  /// Visits elements first, ..., first + n - 1 of a view in pieces of consecutive elements: with the offset in the
  /// slot, the offset in memory, and the bytes of each piece.
  template <class Visit> void pieces(strided const& v, std::int64_t first, std::int64_t n, Visit visit) const {
    auto const size = static_cast<std::int64_t>(size_of(v.type));
    if (!v.contiguous()) {
      for (std::int64_t i = 0; i < n; ++i) visit(static_cast<std::int32_t>(i * size), v.position(first + i) * size, size);
      return;
    }
    for (std::int64_t at = 0, bytes = 0; at < n * size; at += bytes)
      visit(static_cast<std::int32_t>(at), first * size + at, bytes = short_moves::piece_of(n * size - at));
  }

  bool is_kept(strided const& v) const {
    memory_root const& r = t_.p.roots[t_.p.whole(v.root)];
    return inputs_.repeats && t_.program.kept.size() + 32 < most_steps &&
           (r.kind == home::constant || r.kind == home::positions ||
            (r.kind == home::input && r.which >= inputs_.first && r.which < inputs_.end));
  }
  std::int32_t kept_slot(strided const& v, std::int64_t first) {
    kept_value const wanted{v, first, count_, lanes_};
    int k = 0;
    while (k < kept_.size() && !(kept_[k] == wanted)) ++k;
    std::int32_t const slot = -kernels::short_bytes * (k + 1);
    if (k < kept_.size()) return slot;
    kept_.push(wanted);
    std::int32_t const before = last_;
    keeps_ = true;
    load(slot, v, first);
    keeps_ = false;
    last_ = before;
    return slot;
  }

  void load(std::int32_t slot, strided const& v, std::int64_t first) {
    memory_root const& r = t_.p.roots[v.root];
    auto const size = static_cast<std::int64_t>(size_of(v.type));
    if (r.kind == home::positions) {
      for (std::int64_t i = 0; i < lanes_; ++i) {
        std::int64_t const at = v.offset + v.position(first + i < count_ ? first + i : first);
        std::int64_t bits = 0;
        write(v.type, &bits, 0, is_floating(v.type) ? scalar{v.type, static_cast<double>(at), 0} : scalar{v.type, 0, at});
        push(kernels::short_step::move(sets().of(size), slot + static_cast<std::int32_t>(i * size), 0, bits));
      }
      return;
    }
    address const a = address_of(t_.b, v);
    auto const add = [&](kernels::short_kernel run, std::int32_t at, std::int64_t offset) {
      push(kernels::short_step::move(run, slot + at, a.base, a.offset + offset));
    };
    if (r.kind == home::constant) add(loads().of(kernels::short_bytes), 0, 0);
    else if (v.uniform() && count_ > 1) return add(spreads().of(size), 0, 0);
    else
      pieces(v, first, in_pass(first), [&](std::int32_t at, std::int64_t offset, std::int64_t bytes) {
        add((at == 0 ? loads() : inserts()).of(bytes), at, offset);
        last_ = none;
      });
    if (r.kind == home::constant || in_pass(first) == 1) last_ = slot;
  }

  bool is_kept(unit const& u) const { return t_.p.roots[u.root].outside || u.drain >= 0 || u.sum >= 0; }

  void emit_unit(std::int64_t pass, int u) {
    unit const& at = t_.units[u];
    node const& n = t_.node_of(at);
    element const type = t_.p.operand(at, at.count - 1).type;
    std::int32_t slot[8]{};
    for (int k = 0; k < at.count; ++k) {
      std::int32_t const from = t_.source(u, k);
      slot[k] = from < 0 ? outer_slot(pass, -1 - from) : slots_[from];
    }
    kernel_set const* const k = n.op == t_.b.kernels.convert ? nullptr : t_.b.kernels.find(n.op);
    bool const mask = t_.type_of(at) == element::boolean;
    if (k != nullptr && k->shorts[0][static_cast<int>(type)] != nullptr) {
      make_room();
      auto const after = [&](int operand) { return k->shorts[1 + operand][static_cast<int>(type)]; };
      if (at.count > 1 && n.op->commutative && slot[1] == last_ && after(1) == nullptr) {
        slot[1] = slot[0];
        slot[0] = last_;
      }
      kernels::short_kernel run = after(kernels::no_operand);
      for (int j = 0; j < at.count && last_ != none; ++j)
        if (slot[j] == last_ && after(j) != nullptr) run = after(j);
      release(pass, u);
      std::int32_t const to = slots_[u] = take();
      push({run, to, slot[2], slot[0], slot[1]});
      if (!mask) last_ = to;
      else if (last_ == to) last_ = none;
    } else {
      close();
      tile_work w;
      w.run = t_.kernel_of(u, w);
      w.arity = static_cast<std::int16_t>(at.count);
      w.count = static_cast<std::int32_t>(in_pass(pass * lanes_));
      slots_[u] = take(simd::bytes); // kernels write whole packs
      w.first = t_.program.operands.push({base::scratch, 0, slots_[u]});
      for (int j = 0; j < at.count; ++j) t_.program.operands.push({base::scratch, 0, slot[j]});
      t_.program.work.push(w);
      release(pass, u);
    }
    if (is_kept(at)) stores_.push({u, slots_[u], pass * lanes_});
  }
  /// Frees the slots of operands that unit u reads last, unless they are stored at the end.
  void release(std::int64_t pass, int u) {
    auto const give_back = [&](std::int32_t& slot) {
      if (slot >= 0) free_.push(slot); // (not a kept one)
      slot = none;
    };
    for (int k = 0; k < t_.units[u].count; ++k) {
      std::int32_t const from = t_.source(u, k);
      if (from < 0) {
        if (t_.outers[-1 - from].last <= u) give_back(outer_slot(pass, -1 - from));
      } else if (t_.last[from] <= u && !is_kept(t_.units[from]))
        give_back(slots_[from]);
    }
  }

  void store(stored const& s) {
    unit const& u = t_.units[s.unit];
    memory_root const& r = t_.p.roots[u.root];
    if (r.outside) store(s, address_of(t_.b, r));
    if (u.sum >= 0) store(s, {t_.results[s.unit].base, t_.results[s.unit].offset});
  }
  void store(stored const& s, address const& to) {
    auto const size = static_cast<std::int64_t>(size_of(t_.type_of(t_.units[s.unit])));
    for (std::int64_t at = 0, all = in_pass(s.first) * size, bytes = 0; at < all; at += bytes) {
      bytes = short_moves::piece_of(all - at);
      make_room();
      bool const at_hand = at == 0 && s.slot == last_;
      push(kernels::short_step::move((at_hand ? short_moves::saves_last() : saves()).of(bytes), s.slot + static_cast<std::int32_t>(at), to.base,
                                     to.offset + s.first * size + at));
    }
  }

  /// Copies results to their windows; sums are added in the order of their turns.
  void emit_drains() {
    struct turn {
      std::int32_t at = 0, store = 0, drain = 0;
    };
    array<turn> turns;
    for (int k = 0; k < stores_.size(); ++k)
      for (std::int32_t d = t_.units[stores_[k].unit].drain; d >= 0; d = t_.p.drains[d].next)
        turns.push({t_.p.drains[d].turn, k, d});
    detail::sort(turns.data(), turns.size(), [](turn const& x, turn const& y) {
      return x.at != y.at ? x.at < y.at : x.store != y.store ? x.store < y.store : x.drain < y.drain;
    });
    for (turn const& one : turns) {
      stored const& s = stores_[one.store];
      drain const& d = t_.p.drains[one.drain];
      address const a = address_of(t_.b, d.to);
      auto const size = static_cast<std::int64_t>(size_of(d.to.type));
      for (std::int64_t i = 0, n = in_pass(s.first); i < n; ++i)
        push(kernels::short_step::move(d.turn > 0 ? adds(d.to.type) : saves().of(size),
                                       s.slot + static_cast<std::int32_t>(i * size), a.base,
                                       a.offset + d.to.position(s.first + i) * size));
    }
  }
  static kernels::short_kernel adds(element e) {
    switch (e) {
    case element::float32: return &kernels::short_add<float>;
    case element::float64: return &kernels::short_add<double>;
    case element::int32: return &kernels::short_add<std::int32_t>;
    case element::int64: return &kernels::short_add<std::int64_t>;
    case element::boolean:
    case element::float16:
    case element::bfloat16: break; // there is no addition of these
    }
    return nullptr;
  }
};

} // namespace COTANGENT_ABI
} // namespace interpret
} // namespace cotangent::detail

#endif
