// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_PREPARE_SHORT_GROUPS_HPP
#define COTANGENT_RUN_INTERPRETER_PREPARE_SHORT_GROUPS_HPP

#include <cotangent/run/interpreter/prepare/short_writer.hpp>
#include <cotangent/run/interpreter/prepare/tile_units.hpp>

#include <cstdint>

// Translates a step of elementwise nodes over a short shape to threaded code over a frame of slots. Tiles would be copied to
// and from whole packs, which takes longer than the arithmetic on a few elements. All operands are loaded before any result
// is stored, so results may lie on operands.

COTANGENT_COLD_BEGIN
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

/// The inputs of the body of a loop: after the number of the iteration come carried values, then values that are equal in
/// all iterations, up to `end`.
struct body_inputs {
  bool repeats = false;
  int carried = 0, end = 0;
};

template <class Build> class short_emit {
public:
  std::int64_t frame_bytes = 0; // of all groups, which run in the same scratch memory

  short_emit(tile_units<Build>& units, body_inputs const& body) : t_(units), inputs_(body) {}

  /// Emits the collected step: runs of threaded code and calls of kernels, then reductions.
  short_group emit() {
    count_ = t_.p.roots[t_.units[0].root].elements;
    lanes_ = kernels::short_bytes / t_.largest;
    short_group g;
    g.count = count_;
    g.work.first = t_.program.work.size();
    begin();
    t_.results.resize(t_.units.size());
    for (int u = 0; u < t_.units.size(); ++u) // reductions read whole packs
      if (t_.units[u].sum >= 0) {
        auto const size = static_cast<std::int32_t>(size_of(t_.type_of(t_.units[u])));
        t_.results[u] = {base::scratch, size, top_};
        top_ += static_cast<std::int32_t>(whole_lines(count_ * size));
      }
    std::int32_t const states = top_;
    top_ += static_cast<std::int32_t>(64 * t_.lines_of_state * t_.count_sums());
    emit_units();
    for (stored const& s : stores_) store(s);
    emit_drains();
    to_.close();
    g.work.count = t_.program.work.size() - g.work.first;
    t_.emit_sums(states, g.sums);
    if (frame_bytes < top_) frame_bytes = top_;
    return g;
  }

  /// Emits the step once more, if it is all of a body: carried values then stay in slots from one iteration to the next one.
  /// `next`: the sources of the body's outputs.
  void emit_steady(array<output_source> const& next) {
    if (!find_carries(next)) return carries_.clear();
    program_data& p = t_.program;
    begin();
    to_.into(p.enter, [&] {
      for (carried_slots const& c : carries_)
        for (std::int64_t pass = 0; pass < passes_; ++pass) load(c.slot(pass), c.v, pass * lanes_);
    });
    to_.into(p.steady, [&] {
      for (int k = inputs_.carried; k < next.size(); ++k)
        if (next[k].is == output_source::input) store(carries_[next[k].which - 1], k);
      emit_units();
      for (stored const& s : stores_) {
        int const k = t_.p.roots[t_.units[s.unit].root].which;
        if (k >= inputs_.carried) store(s);
        for (carried_slots const& c : carries_)
          if (std::int32_t const to = c.slot(s.first / lanes_); c.next == k && to != s.slot) {
            to_.push(kernels::short_step::move(moves::loads().of(kernels::short_bytes), to, base::scratch, s.slot));
            to_.last = to;
          }
      }
    });
    to_.into(p.leave, [&] {
      for (int k = 0; k < carries_.size(); ++k)
        if (next[k].is == output_source::made) store(carries_[k], k);
    });
    if (frame_bytes < top_) frame_bytes = top_;
    bool fits = true;
    for (array<kernels::short_step>* const code : {&p.enter, &p.steady, &p.leave}) {
      code->push({&kernels::short_end});
      fits = fits && code->size() <= most_steps;
    }
    if (!fits) p.steady.clear();
  }

  /// Ends the code that loads kept values; returns the bytes of their slots.
  std::int64_t finish_kept() {
    if (!t_.program.kept.empty()) t_.program.kept.push({&kernels::short_end});
    return whole_lines(kept_.size() * std::int64_t{kernels::short_bytes});
  }

private:
  static constexpr int most_steps = kernels::most_short_steps;
  using moves = short_moves;

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

  /// A carried value in kept slots.
  struct carried_slots {
    strided v;
    std::int32_t first = 0;
    std::int32_t last = none; // the last unit that reads it
    std::int32_t next = none; // the output that is its next value; none: it stays as it is

    std::int32_t slot(std::int64_t pass) const { return first - static_cast<std::int32_t>(pass) * kernels::short_bytes; }
  };

  tile_units<Build>& t_;
  short_writer to_{t_.program};
  body_inputs const inputs_;
  array<kept_value> kept_;
  array<carried_slots> carries_;             // while steady code is emitted
  std::int64_t count_ = 0, lanes_ = 1, passes_ = 1;
  std::int32_t top_ = 0;     // the end of the frame
  array<std::int32_t> free_, slots_; // slots_: by unit, of the current pass
  array<std::int32_t> outer_slots_;
  array<stored> stores_;

  std::int32_t& outer_slot(std::int64_t pass, int k) {
    return outer_slots_[static_cast<int>(pass) * t_.outers.size() + k];
  }
  std::int64_t in_pass(std::int64_t first) const { return count_ - first < lanes_ ? count_ - first : lanes_; }

  void begin() {
    to_.begin();
    top_ = 0;
    free_.clear();
    passes_ = (count_ - 1) / lanes_ + 1;
    outer_slots_.resize(static_cast<int>(passes_) * t_.outers.size());
    stores_.clear();
  }
  /// Loads the operands of all units, then computes these.
  void emit_units() {
    for (std::int64_t p = 0; p < passes_; ++p)
      for (int k = 0; k < t_.outers.size(); ++k) {
        strided const& v = t_.outers[k].v;
        if (carried_slots const* const c = carried(v); c != nullptr) outer_slot(p, k) = c->slot(p);
        else if (is_kept(v)) outer_slot(p, k) = kept_slot(v, p * lanes_);
        else load(outer_slot(p, k) = take(), v, p * lanes_);
      }
    for (std::int64_t p = 0; p < passes_; ++p) {
      slots_.assign(t_.units.size(), none);
      for (int u = 0; u < t_.units.size(); ++u) emit_unit(p, u);
    }
  }

  // ---- steady code

  carried_slots const* carried(strided const& v) const {
    for (carried_slots const& c : carries_)
      if (c.v.root == v.root) return &c;
    return nullptr;
  }
  /// The slots of all carried values; false if some of them, or some result, cannot stay in slots.
  bool find_carries(array<output_source> const& next) {
    plan_data const& p = t_.p;
    for (int k = 0; k < inputs_.carried; ++k) {
      carried_slots c;
      for (int r = 0; r < p.roots.size(); ++r)
        if (p.roots[r].kind == home::input && p.roots[r].which == 1 + k) c.v.root = r;
      if (c.v.root < 0 || p.roots[c.v.root].elements != count_) return false;
      c.v.type = t_.b.g.tensors[t_.b.g.input(1 + k, t_.b.region)].type;
      c.v.rank = 1;
      c.v.size[0] = count_;
      c.v.stride[0] = 1;
      if (next[k].is == output_source::input && next[k].which != 1 + k) return false;
      if (next[k].is != output_source::input) c.next = next[k].is == output_source::made ? k : next[k].which;
      carries_.push(c);
    }
    for (int k = inputs_.carried; k < next.size(); ++k)
      if (next[k].is == output_source::output || (next[k].is == output_source::input && next[k].which > inputs_.carried)) return false;
    for (auto const& o : t_.outers)
      for (carried_slots& c : carries_)
        if (c.v.root == o.v.root) {
          if (!o.v.contiguous() || o.v.offset != 0 || o.v.count() != count_) return false;
          c.last = c.last < o.last ? o.last : c.last;
        }
    int made = 0; // outputs that no unit computes are copied after the step
    for (output_source const& from : next) made += from.is == output_source::made ? 1 : 0;
    for (int u = 0; u < t_.units.size(); ++u) {
      memory_root const& r = p.roots[t_.units[u].root];
      if (t_.units[u].drain >= 0 || (r.outside && r.kind != home::output)) return false;
      made -= r.kind == home::output ? 1 : 0;
    }
    if (made != 0) return false;
    for (carried_slots& c : carries_) {
      c.first = -kernels::short_bytes * (kept_.size() + 1);
      for (std::int64_t pass = 0; pass < passes_; ++pass) kept_.push({c.v, pass * lanes_, -1, lanes_});
    }
    return true;
  }
  /// The slot for the result of unit u: that of a carried value which no later unit reads, if it is its next value.
  std::int32_t result_slot(std::int64_t pass, int u) {
    memory_root const& r = t_.p.roots[t_.units[u].root];
    for (carried_slots const& c : carries_)
      if (r.kind == home::output && c.next == r.which && c.last <= u) return c.slot(pass);
    return take();
  }
  void store(carried_slots const& c, int output) {
    address const to{base::first_argument + t_.b.g.input_count(t_.b.region) + output, 0};
    for (std::int64_t pass = 0; pass < passes_; ++pass) store(c.slot(pass), pass * lanes_, static_cast<std::int64_t>(size_of(c.v.type)), to);
  }

  std::int32_t take(int bytes = kernels::short_bytes) {
    if (bytes == kernels::short_bytes && !free_.empty()) return free_.pop();
    std::int32_t const at = top_;
    top_ += bytes;
    return at;
  }

  bool is_kept(strided const& v) const {
    memory_root const& r = t_.p.roots[t_.p.whole(v.root)];
    return inputs_.repeats && t_.program.kept.size() + 32 < most_steps &&
           (r.kind == home::constant || r.kind == home::positions ||
            (r.kind == home::input && r.which > inputs_.carried && r.which < inputs_.end));
  }
  std::int32_t kept_slot(strided const& v, std::int64_t first) {
    kept_value const wanted{v, first, count_, lanes_};
    int k = 0;
    while (k < kept_.size() && !(kept_[k] == wanted)) ++k;
    std::int32_t const slot = -kernels::short_bytes * (k + 1);
    if (k < kept_.size()) return slot;
    kept_.push(wanted);
    to_.into(t_.program.kept, [&] { load(slot, v, first); });
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
        to_.push(kernels::short_step::move(moves::sets().of(size), slot + static_cast<std::int32_t>(i * size), 0, bits));
      }
      return;
    }
    address const a = address_of(t_.b, v);
    auto const add = [&](kernels::short_kernel run, std::int32_t at, std::int64_t offset) {
      to_.push(kernels::short_step::move(run, slot + at, a.base, a.offset + offset));
    };
    if (r.kind == home::constant) add(moves::loads().of(kernels::short_bytes), 0, 0);
    else if (v.uniform() && count_ > 1) return add(moves::spreads().of(size), 0, 0);
    else
      moves::each_piece(v, first, in_pass(first), [&](std::int32_t at, std::int64_t offset, std::int64_t bytes) {
        add((at == 0 ? moves::loads() : moves::inserts()).of(bytes), at, offset);
        to_.last = none;
      });
    if (r.kind == home::constant || in_pass(first) == 1) to_.last = slot;
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
      to_.make_room();
      auto const after = [&](int operand) { return k->shorts[1 + operand][static_cast<int>(type)]; };
      if (at.count > 1 && n.op->commutative && slot[1] == to_.last && after(1) == nullptr) {
        slot[1] = slot[0];
        slot[0] = to_.last;
      }
      kernels::short_kernel run = after(kernels::no_operand);
      for (int j = 0; j < at.count && to_.last != none; ++j)
        if (slot[j] == to_.last && after(j) != nullptr) run = after(j);
      release(pass, u);
      std::int32_t const to = slots_[u] = result_slot(pass, u);
      to_.push({run, to, slot[2], slot[0], slot[1]});
      if (!mask) to_.last = to;
      else if (to_.last == to) to_.last = none;
    } else {
      to_.close();
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
    store(s.slot, s.first, static_cast<std::int64_t>(size_of(t_.type_of(t_.units[s.unit]))), to);
  }
  /// Stores the elements of a slot, from `first` on.
  void store(std::int32_t slot, std::int64_t first, std::int64_t size, address const& to) {
    for (std::int64_t at = 0, all = in_pass(first) * size, bytes = 0; at < all; at += bytes) {
      bytes = moves::piece_of(all - at);
      to_.make_room();
      bool const at_hand = at == 0 && slot == to_.last;
      to_.push(kernels::short_step::move((at_hand ? moves::saves_last() : moves::saves()).of(bytes), slot + static_cast<std::int32_t>(at), to.base,
                                     to.offset + first * size + at));
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
        to_.push(kernels::short_step::move(d.turn > 0 ? moves::adds(d.to.type) : moves::saves().of(size),
                                       s.slot + static_cast<std::int32_t>(i * size), a.base,
                                       a.offset + d.to.position(s.first + i) * size));
    }
  }
};

} // namespace COTANGENT_ABI
} // namespace interpret
} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
