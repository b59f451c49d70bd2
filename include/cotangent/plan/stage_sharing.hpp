// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_PLAN_STAGE_SHARING_HPP
#define COTANGENT_PLAN_STAGE_SHARING_HPP

#include <cotangent/graph/hash_index.hpp>
#include <cotangent/plan/plan.hpp>

#include <cstdint>

// Finds stages of a nest with equal loops over its lanes. Layers in one nest become equal stages that differ
// only in their memory and values.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// The outer values that the loop of a stage reads or writes.
enum class outer_kind : unsigned char {
  buffer, // by its own number in the nest
  row,    // a row value that it reads
  once,   // a value of the whole nest
  sum,    // a row value that it writes
  total,  // an accumulator of all rows, by its index among those of its type
};
struct outer_value {
  outer_kind what = outer_kind::buffer;
  element type = element::float32;
  std::int32_t place = 0;
};

/// The loops over lanes of one nest.
struct stage_sharing {
  array<std::int32_t> like;   // by stage: the first stage of the same loop
  array<std::int32_t> first;  // by stage, and the end: into values
  array<outer_value> values;  // of each stage, in the order of first use
  std::int32_t instances = 0; // in stages that are like another one
};

/// Calls `see(outer_value)` for the outer values of an instance over lanes, except sums over all rows, for
/// which it calls `total()`. `Plan` and `Sharing` have pools with `data`, as a frozen plan and its frozen
/// sharing have.
template <class Plan, class Sharing, class See, class Total>
constexpr void visit_outer(Plan const& p, Sharing const& c, nest const& n, instance const& v, See see,
                           Total total) {
  if (v.access != none) see({outer_kind::buffer, v.type, c.own.data[v.access]});
  if (v.slot != none) see({outer_kind::buffer, v.type, c.own_of_slot.data[v.slot]});
  if (v.what == action::recall) see({outer_kind::buffer, v.type, c.own_of_slot.data[v.detail]});
  for (int k = 0; k < v.operand_count; ++k) {
    instance const& u = p.instances.data[p.operands.data[v.first_operand + k]];
    if (u.what == action::constant) continue;
    if (u.what == action::reduce || u.where == role::row) see({outer_kind::row, u.type, u.place});
    else if (u.where == role::once) see({outer_kind::once, u.type, u.place});
  }
  if (v.what == action::reduce) see({outer_kind::sum, v.type, v.place});
  if (v.what == action::accumulate && (n.rank == 0 || p.accesses.data[v.access].stride[n.rank - 1] == 0))
    total();
}

template <class Plan, class Sharing> class stage_sharer {
  Plan const& p_;
  Sharing const& c_;
  nest const& n_;
  array<std::int32_t> seen_buffer_, seen_value_; // by index: the last occurrence in s.values, + 1
  array<std::int32_t> numbers_;                  // of everything that the instances use, in order
  array<std::int32_t> starts_;                   // by stage, and the end: into numbers_
  hash_index index_;

public:
  stage_sharing s;

  constexpr stage_sharer(Plan const& p, Sharing const& c, nest const& n, int buffers)
      : p_(p), c_(c), n_(n), seen_buffer_(buffers), seen_value_(n.instance_count) {
    std::int32_t accumulated[5]{}; // by type
    for (int stage = 0; stage < n.stages; ++stage) {
      count(accumulated, list(1 + 2 * stage), list(2 + 2 * stage)); // of its row values
      s.first.push(s.values.size());
      starts_.push(numbers_.size());
      int const from = list(2 + 2 * stage), to = list(3 + 2 * stage);
      std::uint64_t h = static_cast<std::uint64_t>(to - from);
      for (int i = from; i < to; ++i) {
        instance const& v = p.instances.data[i];
        if (v.op != nullptr) h = h * 31 + v.op->code;
        visit_outer(
            p, c, n, v, [&](outer_value const& o) { number(o); },
            [&] { number({outer_kind::total, v.type, accumulated[static_cast<int>(v.type)]}); });
        count(accumulated, i, i + 1);
      }
      std::uint32_t const hash = mix(3, h) | 1u;
      std::int32_t const found = index_.find(hash, [&](std::int32_t other) { return equal(other, stage); });
      index_.add(hash, found == none);
      s.like.push(found == none ? stage : found);
      if (found != none) s.instances += to - from;
    }
    s.first.push(s.values.size());
  }

private:
  constexpr std::int32_t list(int key) const { return p_.lists.data[n_.first_list + key]; }
  constexpr void count(std::int32_t* accumulated, int from, int to) const {
    for (int i = from; i < to; ++i)
      if (p_.instances.data[i].what == action::accumulate)
        ++accumulated[static_cast<int>(p_.instances.data[i].type)];
  }
  /// Numbers an outer value of the current stage, which is the last.
  constexpr void number(outer_value const& o) {
    std::int32_t const first = s.first[s.first.size() - 1];
    std::int32_t& known = (o.what == outer_kind::buffer ? seen_buffer_ : seen_value_)[o.place];
    if (known <= first || s.values[known - 1].what != o.what ||
        (o.what != outer_kind::buffer && s.values[known - 1].type != o.type)) {
      s.values.push(o); // (again, if values of several kinds alternate)
      known = s.values.size();
    }
    numbers_.push(known - 1 - first);
  }

  constexpr bool equal(std::int32_t a, std::int32_t b) const {
    int const from = list(2 + 2 * a), other = list(2 + 2 * b), size = list(3 + 2 * a) - from;
    if (list(3 + 2 * b) - other != size || starts_[a + 1] - starts_[a] != numbers_.size() - starts_[b])
      return false;
    for (int k = starts_[a], l = starts_[b]; l < numbers_.size(); ++k, ++l) {
      if (numbers_[k] != numbers_[l]) return false;
      outer_value const &x = s.values[s.first[a] + numbers_[k]], &y = s.values[s.first[b] + numbers_[l]];
      if (x.what != y.what || x.type != y.type) return false;
    }
    for (int k = 0; k < size; ++k)
      if (!equal_instances(p_.instances.data[from + k], p_.instances.data[other + k], from, other))
        return false;
    return true;
  }
  constexpr bool equal_instances(instance const& u, instance const& v, int from, int other) const {
    if (u.op != v.op || u.what != v.what || u.where != v.where || u.type != v.type ||
        u.operand_count != v.operand_count || u.bits != v.bits || (u.access == none) != (v.access == none) ||
        (u.slot == none) != (v.slot == none))
      return false;
    if (u.what != action::reduce && u.what != action::accumulate && u.place != v.place) return false;
    if (u.what == action::recall) {
      if (p_.row_slots.data[u.detail].exact != p_.row_slots.data[v.detail].exact) return false;
    } else if (u.detail != v.detail) return false;
    if (u.slot != none && p_.row_slots.data[u.slot].exact != p_.row_slots.data[v.slot].exact) return false;
    if (u.access != none) {
      access const &x = p_.accesses.data[u.access], &y = p_.accesses.data[v.access];
      if (x.offset != y.offset) return false;
      for (int k = 0; k < n_.rank; ++k)
        if (x.stride[k] != y.stride[k]) return false;
    }
    for (int k = 0; k < u.operand_count; ++k) {
      std::int32_t const a = p_.operands.data[u.first_operand + k], b = p_.operands.data[v.first_operand + k];
      instance const &x = p_.instances.data[a], &y = p_.instances.data[b];
      if (x.what == action::constant || y.what == action::constant) {
        if (x.what != y.what || x.type != y.type || x.bits != y.bits) return false;
      } else if ((a >= from) != (b >= other) || (a >= from && a - from != b - other))
        return false; // (values before their stage were numbered)
    }
    return true;
  }
};

/// Finds equal stages of a nest with `buffers` buffers of its own.
///
/// Cost: linear.
/// Checked: tests/static/sharing.cpp.
template <class Plan, class Sharing>
constexpr stage_sharing find_shared_stages(Plan const& p, Sharing const& c, nest const& n, int buffers) {
  return detail::stage_sharer(p, c, n, buffers).s;
}
/// The largest number of outer values of the stages of a nest.
template <class Plan, class Sharing> constexpr int count_outer(Plan const& p, Sharing const& c,
                                                               nest const& n) {
  int count = 0;
  for (int k = n.first_instance; k < n.first_instance + n.instance_count; ++k)
    detail::visit_outer(p, c, n, p.instances.data[k], [&](outer_value const&) { ++count; }, [&] { ++count; });
  return count;
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
