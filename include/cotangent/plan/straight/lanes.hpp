// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_PLAN_STRAIGHT_LANES_HPP
#define COTANGENT_PLAN_STRAIGHT_LANES_HPP

#include <cotangent/graph/builder.hpp>
#include <cotangent/ops/arithmetic.hpp>
#include <cotangent/plan/straight/straight.hpp>

#include <cstdint>

// Gathers elements from any location to the lanes of one value: directly, by a load, or by shuffles.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// The location of an element: a lane of a step's value; or, if `step` is -2 - k, element `lane` of argument
/// k, which is loaded once its neighbors are known.
struct lane_ref {
  std::int32_t step = none;
  std::int32_t lane = 0;

  friend constexpr bool operator==(lane_ref const&, lane_ref const&) = default;
};

/// The location of each element of each tensor.
struct element_lanes {
  array<std::int32_t> first; // by symbol: its first element in `at`
  array<lane_ref> at;

  /// Adds the elements of a tensor, whose locations are still to be set.
  constexpr std::int32_t begin(graph_view const& g, symbol t) {
    first[t] = at.size();
    for (int k = elements_of(g, t); k-- > 0;) at.push({});
    return first[t];
  }
  constexpr lane_ref const* of(symbol t) const { return at.data() + first[t]; }
};

/// A program that is being written, and the gathered values in it.
class lane_gatherer {
  lane_rule const& rule_;
  straight_program p_;
  array<std::int32_t> arguments_; // the number of elements of each
  array<element> argument_types_;

public:
  constexpr explicit lane_gatherer(lane_rule const& rule) : rule_(rule) { p_.widest = rule.widest; }

  constexpr void add_argument(int elements, element type) {
    arguments_.push(elements);
    argument_types_.push(type);
  }
  constexpr straight_program const& written() const { return p_; }

  constexpr std::int32_t push(straight_step s, straight_operand const* operands, int operand_count) {
    s.first = p_.operands.size();
    s.operand_count = operand_count;
    for (int k = 0; k < operand_count; ++k) p_.operands.push(operands[k]);
    std::int32_t const made = p_.steps.push(s);
    negative_.push(none);
    if (s.lanes > 1 && s.op == info_of<op::negate>() && operands[0].lane == none) {
      negative_[made] = operands[0].step;
      negative_[operands[0].step] = made;
    }
    return made;
  }

  constexpr std::int32_t constant(element type, std::int64_t bits) {
    std::uint32_t const h =
        mix(mix(1, static_cast<std::uint64_t>(type)), static_cast<std::uint64_t>(bits)) | 1u;
    std::int32_t const found = constant_index_.find_or_add(h, [&](std::int32_t k) {
      straight_step const& s = p_.steps[constants_[k]];
      return s.type == type && s.bits == bits;
    });
    if (found != none) return constants_[found];
    straight_step s;
    s.type = type;
    s.bits = bits;
    return constants_[constants_.push(push(s, nullptr, 0))];
  }

  /// The `filled` elements from `from` on in the first of w lanes.
  constexpr straight_operand gather(lane_ref const* from, int filled, int w, element type) {
    lane_ref const first = from[0];
    bool same = true, whole = first.step >= 0 && p_.steps[first.step].lanes == w, run = first.step < -1;
    for (int i = 0; i < filled; ++i) {
      same = same && from[i] == first;
      whole = whole && from[i].step == first.step && from[i].lane == i;
      run = run && from[i].step == first.step && from[i].lane == first.lane + i;
    }
    if (same)
      return first.step >= 0 ? straight_operand{first.step, first.lane}
                             : straight_operand{load(first, 1, 1), 0};
    if (whole) return {first.step, none};
    if (run) return {load(first, w, filled), none};
    return {moved(from, filled, w, type), none};
  }

  /// The number of shuffles to gather these.
  constexpr int shuffles_for(lane_ref const* from, int filled, int w) const {
    lane_ref const first = from[0];
    bool same = true, whole = first.step >= 0 && p_.steps[first.step].lanes == w, run = first.step < -1,
         one = true;
    for (int i = 0; i < filled; ++i) {
      same = same && from[i] == first;
      one = one && from[i].step == first.step;
      whole = whole && one && from[i].lane == i;
      run = run && one && from[i].lane == first.lane + i;
    }
    if (same || whole || run || find_moved(from, filled, w) != none || find_negative(from, filled, w) != none)
      return 0;
    return one ? 1 : 2;
  }

  /// True if these are better stored one by one than as a vector.
  constexpr bool are_mostly_numbers(lane_ref const* from, int filled) const {
    int numbers = 0;
    bool same = true;
    for (int i = 0; i < filled; ++i) {
      numbers += from[i].step >= 0 && p_.steps[from[i].step].lanes == 1 &&
                 p_.steps[from[i].step].what != straight_action::constant;
      same = same && from[i] == from[0];
    }
    return !same && 2 * numbers > filled;
  }

  /// The program without dead steps, with indices assigned.
  constexpr straight_program compacted() {
    array<bool> needed(p_.steps.size(), false);
    for (std::int32_t k = p_.steps.size(); k-- > 0;) {
      straight_step const& s = p_.steps[k];
      if (s.what == straight_action::store) needed[k] = true;
      if (needed[k])
        for (int j = 0; j < s.operand_count; ++j)
          if (p_.operands[s.first + j].step != none) needed[p_.operands[s.first + j].step] = true;
    }
    straight_program r;
    r.widest = p_.widest;
    array<std::int32_t> renamed(p_.steps.size(), none);
    for (std::int32_t k = 0; k < p_.steps.size(); ++k) {
      if (!needed[k]) continue;
      straight_step s = p_.steps[k];
      std::int32_t const first = r.operands.size(), first_index = r.indices.size();
      for (int j = 0; j < s.operand_count; ++j) {
        straight_operand o = p_.operands[s.first + j];
        if (o.step != none) o.step = renamed[o.step];
        r.operands.push(o);
      }
      if (s.what == straight_action::shuffle)
        for (int j = 0; j < s.lanes; ++j) r.indices.push(p_.indices[s.first_index + j]);
      s.first = first;
      s.first_index = first_index;
      if (s.what != straight_action::store)
        s.place = r.counts[log_of(s.lanes)].of[static_cast<int>(arithmetic_of(s.type))]++;
      renamed[k] = r.steps.push(s);
    }
    return r;
  }

private:
  array<std::int32_t> constants_, loads_;
  array<std::int32_t> negative_; // by step: another one whose lanes are the negatives of this one's
  hash_index constant_index_, load_index_, moved_index_;
  struct gathered {
    std::int32_t first, filled, lanes, step;
  };
  array<gathered> moved_;
  array<lane_ref> moved_from_;

  constexpr std::int32_t load(lane_ref from, int w, int filled) {
    int const argument = -2 - from.step, left = arguments_[argument] - from.lane;
    filled = left < w ? left : w; // elements behind are harmless, and need no mask
    std::uint32_t const h =
        mix(mix(mix(1, static_cast<std::uint64_t>(argument)), static_cast<std::uint64_t>(from.lane)),
            static_cast<std::uint64_t>(64 * w + filled)) |
        1u;
    std::int32_t const found = load_index_.find_or_add(h, [&](std::int32_t k) {
      straight_step const& s = p_.steps[loads_[k]];
      return s.index == argument && s.offset == from.lane && s.lanes == w && s.count == filled;
    });
    if (found != none) return loads_[found];
    straight_step s;
    s.what = straight_action::load;
    s.type = argument_types_[argument];
    s.lanes = w;
    s.count = filled;
    s.index = argument;
    s.offset = from.lane;
    return loads_[loads_.push(push(s, nullptr, 0))];
  }
  /// An argument's element among others that are not its neighbors: a lane of a load of all of them.
  constexpr lane_ref settled(lane_ref r) {
    if (r.step >= -1) return r;
    int const elements = arguments_[-2 - r.step], c = r.lane / rule_.most * rule_.most,
              w = rule_.lanes(elements - c);
    return {load({r.step, c}, w, w < elements - c ? w : elements - c), r.lane - c};
  }

  static constexpr std::uint32_t hash(lane_ref const* from, int filled, int w) {
    std::uint32_t h = static_cast<std::uint32_t>(64 * w + filled);
    for (int i = 0; i < filled; ++i)
      h = mix(h, static_cast<std::uint64_t>(from[i].step) << 32 | static_cast<std::uint32_t>(from[i].lane));
    return h | 1u;
  }
  constexpr std::int32_t find_moved(lane_ref const* from, int filled, int w) const {
    return moved_index_.find(hash(from, filled, w), [&](std::int32_t k) {
      gathered const& m = moved_[k];
      if (m.lanes != w || m.filled != filled) return false;
      for (int i = 0; i < filled; ++i)
        if (moved_from_[m.first + i] != from[i]) return false;
      return true;
    });
  }
  /// The step that gathered the negatives of these.
  constexpr std::int32_t find_negative(lane_ref const* from, int filled, int w) const {
    lane_ref other[most_lanes];
    for (int i = 0; i < filled; ++i) {
      if (from[i].step < 0 || negative_[from[i].step] == none) return none;
      other[i] = {negative_[from[i].step], from[i].lane};
    }
    return find_moved(other, filled, w);
  }
  constexpr std::int32_t moved(lane_ref const* from, int filled, int w, element type) {
    if (std::int32_t const found = find_moved(from, filled, w); found != none) return moved_[found].step;
    std::int32_t const opposite = find_negative(from, filled, w);
    moved_index_.add(hash(from, filled, w));
    gathered m{moved_from_.size(), filled, w, none};
    for (int i = 0; i < filled; ++i) moved_from_.push(from[i]);
    if (opposite != none) { // a negation is cheaper than a shuffle
      straight_step s;
      s.op = info_of<op::negate>();
      s.what = straight_action::compute;
      s.type = type;
      s.lanes = w;
      straight_operand const positive{moved_[opposite].step, none};
      m.step = push(s, &positive, 1);
    } else {
      lane_ref at[most_lanes];
      for (int i = 0; i < w; ++i) at[i] = i < filled ? settled(from[i]) : lane_ref{};
      m.step = shuffled(at, w, type);
    }
    moved_.push(m);
    return m.step;
  }

  constexpr std::int32_t build(lane_ref const* at, int w, element type) {
    straight_step s;
    s.what = straight_action::build;
    s.type = type;
    s.lanes = w;
    straight_operand lane[most_lanes];
    for (int i = 0; i < w; ++i) lane[i] = {at[i].step, at[i].step == none ? none : 0};
    return push(s, lane, w);
  }
  constexpr std::int32_t shuffle(straight_operand a, straight_operand b, int width, int w,
                                 std::int32_t const* index, element type) {
    straight_step s;
    s.what = straight_action::shuffle;
    s.type = type;
    s.lanes = w;
    s.width = width;
    s.first_index = p_.indices.size();
    for (int i = 0; i < w; ++i) p_.indices.push(index[i]);
    straight_operand const both[2]{a, b};
    return push(s, both, 2);
  }
  constexpr int lanes(straight_operand o) const { return o.lane != none ? 1 : p_.steps[o.step].lanes; }
  /// The same value in more lanes.
  constexpr straight_operand widened(straight_operand o, int w, element type) {
    int const from = lanes(o);
    if (from == 1 || from == w) return o;
    std::int32_t index[most_lanes];
    for (int i = 0; i < w; ++i) index[i] = i < from ? i : none;
    return {shuffle(o, o, from, w, index, type), none};
  }

  /// Lanes from any number of values, two at a time.
  constexpr std::int32_t shuffled(lane_ref* at, int w, element type) {
    straight_operand source[most_lanes];
    int sources = 0, numbers = 0;
    lane_ref alone[most_lanes];
    lane_ref const* number = nullptr;
    for (int i = 0; i < w; ++i) {
      if (at[i].step == none || p_.steps[at[i].step].lanes != 1) continue;
      alone[i] = at[i];
      if (number == nullptr || number->step != at[i].step) ++numbers;
      if (number == nullptr) number = &at[i];
    }
    bool vectors = false;
    for (int i = 0; i < w; ++i) vectors = vectors || (at[i].step != none && p_.steps[at[i].step].lanes != 1);
    if (!vectors) return build(at, w, type);
    if (numbers > 1) {
      std::int32_t const made = build(alone, w, type);
      for (int i = 0; i < w; ++i)
        if (alone[i].step != none) at[i] = {made, i};
    }
    // the source of each lane
    int of[most_lanes]{};
    for (int i = 0; i < w; ++i) {
      of[i] = none;
      if (at[i].step == none) continue;
      bool const is_number = p_.steps[at[i].step].lanes == 1;
      for (int k = 0; k < sources && of[i] == none; ++k)
        if (source[k].step == at[i].step) of[i] = k;
      if (of[i] != none) continue;
      source[sources] = {at[i].step, is_number ? 0 : none};
      of[i] = sources++;
    }
    std::int32_t made = none;
    for (int k = 0; k < sources;
         k += k == 0 ? 2 : 1) { // the first two, then each next one with the result so far
      straight_operand a = k == 0 ? source[0] : straight_operand{made, none},
                       b = k == 0 ? source[sources > 1 ? 1 : 0] : source[k];
      int const width = lanes(a) > lanes(b) ? lanes(a) : lanes(b);
      a = widened(a, width, type);
      b = widened(b, width, type);
      std::int32_t index[most_lanes];
      for (int i = 0; i < w; ++i) {
        bool const from_b = of[i] != none && (k == 0 ? of[i] == 1 : of[i] == k);
        index[i] = of[i] == none          ? none
                   : from_b               ? width + at[i].lane
                   : k == 0 && of[i] == 0 ? at[i].lane
                   : k > 0 && of[i] < k   ? i
                                          : none;
      }
      made = shuffle(a, b, width, w, index, type);
    }
    return made;
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
