// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_PLAN_LAYOUT_HPP
#define COTANGENT_PLAN_LAYOUT_HPP

#include <cotangent/plan/classify.hpp>
#include <cotangent/plan/late_sums.hpp>
#include <cotangent/plan/memory/workspace_layout.hpp>
#include <cotangent/plan/schedule.hpp>
#include <cotangent/plan/sum_order.hpp>

// Orders a schedule: sorts nests by level, merges axes, and sorts instances in loop order.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

class layouter {
  graph_view g;
  array<std::int32_t> order_;   // instances, nest after nest, operands before readers
  array<std::int32_t> sorted_;  // instances in the final order
  array<std::int32_t> nest_of_; // by buffer: the last nest found to use it
  int vector_bytes_;

public:
  plan p;
  size_table sizes;

  constexpr layouter(graph_view const& graph, plan&& schedule, int vector_bytes)
      : g(graph), vector_bytes_(vector_bytes), p(static_cast<plan&&>(schedule)),
        sizes(p.derived, p.known_sizes) {
    sort_nests();
    nest_of_.resize(p.buffers.size());
    for (std::int32_t k = 0; k < p.nests.size(); ++k)
      if (p.nests[k].kind == nest_kind::loops) finish(k);
    settle_instances();
    sum_order{p, vector_bytes};
    workspace_layout(g, p, sizes, vector_bytes_);
  }

private:
  /// A stable counting sort by level; nests without values of their own are dropped.
  constexpr void sort_nests() {
    int const count = p.nests.size();
    array<std::int32_t> instances(count + 1), level_start, position(count);
    for (instance const& v : p.instances) ++instances[v.nest];
    int levels = 0;
    for (nest const& n : p.nests) levels = larger(levels, n.level + 1);
    level_start.resize(levels + 1);
    for (int k = 0; k < count; ++k)
      if (p.nests[k].kind == nest_kind::kernel || instances[k] != 0) ++level_start[p.nests[k].level + 1];
    for (int k = 0; k < levels; ++k) level_start[k + 1] += level_start[k];
    array<nest> nests(level_start[levels]);
    for (int k = 0; k < count; ++k) {
      if (p.nests[k].kind != nest_kind::kernel && instances[k] == 0) continue;
      position[k] = level_start[p.nests[k].level]++;
      nests[position[k]] = p.nests[k];
    }
    p.nests = static_cast<array<nest>&&>(nests);
    // Instances by nest, the last created first, since demands were followed from readers to operands.
    array<std::int32_t> start(p.nests.size() + 1);
    for (instance& v : p.instances) {
      v.nest = position[v.nest];
      ++start[v.nest + 1];
    }
    for (int k = 0; k < p.nests.size(); ++k) {
      if (p.nests[k].kind == nest_kind::loops) {
        p.nests[k].first_instance = start[k];
        p.nests[k].instance_count = start[k + 1];
      }
      start[k + 1] += start[k];
    }
    order_.resize(p.instances.size());
    sorted_.resize(p.instances.size());
    instance const* const all = p.instances.data();
    std::int32_t *const next = start.data(), *const order = order_.data();
    for (int k = p.instances.size() - 1; k >= 0; --k) order[next[all[k].nest]++] = k;
  }

  constexpr bool is_structured(nest const& n) const {
    instance const* const all = p.instances.data();
    std::int32_t const* const order = order_.data() + n.first_instance;
    for (int k = 0; k < n.instance_count; ++k) {
      instance const& v = all[order[k]];
      if (v.what == action::reduce || v.what == action::accumulate || v.where == role::row) return true;
    }
    return false;
  }

  constexpr void finish(std::int32_t index) {
    nest& n = p.nests[index];
    bool const structured = is_structured(n);
    join_axes(n, structured);
    n.domain = none;
    // Roles and stages.
    n.widest = element::boolean;
    int widest = 0;
    instance* const all = p.instances.data();
    std::int32_t const* const order = order_.data() + n.first_instance;
    for (int k = 0; k < n.instance_count; ++k) {
      instance& v = all[order[k]];
      if (v.what == action::load) v.where = role_of(p.accesses[v.access], n);
      if (v.what == action::position)
        v.where = v.detail == none ? role::once : v.detail >= n.split ? role::lane : role::row;
      if (v.stage >= n.stages) n.stages = v.stage + 1;
      if (v.slot != none) ++n.row_slots;
      if (v.type == n.widest || (v.where != role::lane && n.rank != 0)) continue;
      int const weight = static_cast<int>(size_of(arithmetic_of(v.type))) + (is_floating(v.type) ? 16 : 0);
      if (weight > widest) {
        widest = weight;
        n.widest = arithmetic_of(v.type);
      }
    }
    sort_instances(n);
    choose_block(n);
  }

  /// Row values of as many rows as a vector has lanes are computed together, if their row buffers stay small.
  /// Shorter rows go into the lanes themselves.
  constexpr void choose_block(nest& n) {
    if (n.split != 1 || n.rank != 2) return;
    float cost = 0;
    std::int64_t slots = 0, tiles = 0, streams = 0;
    bool windows = false;
    n.adds_rows = n.stages == 1;
    instance const* const all = p.instances.data();
    std::int32_t const* const sorted = sorted_.data() + n.first_instance;
    for (int k = 0; k < n.instance_count; ++k) {
      instance const& v = all[sorted[k]];
      n.adds_rows = n.adds_rows && only_adds_rows(v);
      if (v.what == action::compute && v.where == role::lane && v.access == none && v.slot == none) continue;
      if (v.where == role::row && v.op != nullptr) cost += v.op->cost;
      if (v.slot != none) ++slots;
      if (v.where == role::lane && v.access != none && p.accesses[v.access].stride[0] != 0)
        if (std::int32_t& last = nest_of_[p.accesses[v.access].buffer]; last != n.first_instance + 1) {
          last = n.first_instance + 1;
          ++streams;
        }
      if (v.where == role::lane && v.access != none) ++tiles;
      if (v.where == role::lane && v.what == action::accumulate)
        cost += 2; // columns: loaded once for interleaved rows
      windows = windows || v.what == action::window;
    }
    int const width = vector_bytes_ / larger(4, static_cast<int>(size_of(n.widest)));
    bool const short_rows = n.size[1] > 0 && n.size[1] <= most_columns && n.size[1] < 2 * width;
    n.rows_in_lanes = short_rows && !windows && tiles <= most_tiles && (n.size[0] < 0 || n.size[0] >= width) &&
                      !(n.adds_rows && n.size[0] > 0 && n.size[1] >= width);
    if (n.rows_in_lanes) n.block = width;
    else if (cost >= 2 && (slots == 0 || n.size[1] >= 0)) {
      std::int64_t const bytes = n.size[1] * (vector_bytes_ / width); // of a row of one buffer
      n.block = width;
      while (n.block > 4 && bytes * n.block * (slots + streams) > most_cached) n.block /= 2;
      while (n.block > 1 && bytes * n.block * slots > most_buffered) n.block /= 2;
    }
  }
  constexpr bool only_adds_rows(instance const& v) const {
    if (v.where != role::lane) return v.what != action::accumulate;
    if (v.detail != none || v.slot != none || (v.type != element::float32 && v.type != element::float64)) return false;
    return v.what == action::load || (v.what == action::accumulate && p.accesses[v.access].stride[1] != 0) ||
           (v.what == action::compute && v.access == none && v.op->cost <= 1);
  }
  static constexpr std::int64_t most_buffered = 16384,
                                most_cached = 40960;       // bytes of the rows of a block
  static constexpr int most_columns = 16, most_tiles = 12; // of transposed rows, on the stack

  constexpr role role_of(access const& a, nest const& n) const {
    role r = role::once;
    if (p.buffers[a.buffer].count == 0) { // empty: never loaded
      r = role::lane;
      for (int k = 0; k < n.split; ++k)
        if (n.size[k] == 0) r = role::row;
      return r;
    }
    for (int k = 0; k < n.rank; ++k)
      if (a.stride[k] != 0) r = k >= n.split ? role::lane : role::row;
    return r;
  }

  /// Merges axes that every access walks through contiguously; axes after the split become one.
  constexpr void join_axes(nest& n, bool structured) {
    bool joined[max_rank]{}; // axis k with axis k + 1
    for (int k = 0; k + 1 < n.rank; ++k) joined[k] = !structured || k + 1 != n.split;
    instance* const all = p.instances.data();
    std::int32_t const* const order = order_.data() + n.first_instance;
    for (int i = 0; i < n.instance_count; ++i) {
      instance const& v = all[order[i]];
      if (v.what == action::compute && v.access == none) continue; // by far the most frequent case
      if (v.what == action::position && v.detail != none) {
        joined[v.detail] = false;
        if (v.detail > 0) joined[v.detail - 1] = false;
      }
      if (v.what == action::window)
        for (int k = 0; k < n.rank; ++k) joined[k] = false;
      if (v.access != none)
        for (int k = 0; k + 1 < n.rank; ++k)
          if (joined[k])
            joined[k] = sizes.joins(p.accesses[v.access].stride[k], p.accesses[v.access].stride[k + 1],
                                    n.size[k + 1]);
    }
    if (!structured) {
      n.split = n.rank > 0 ? n.rank - 1 : 0;
      while (n.split > 0 && joined[n.split - 1]) --n.split;
    }
    std::int32_t to[max_rank]{}; // the new axis of each
    std::int32_t rank = 0, split = n.split;
    for (int k = 0; k < n.rank; ++k) {
      if (k == n.split) split = rank;
      to[k] = rank;
      if (k + 1 == n.rank || !joined[k]) ++rank;
    }
    if (n.split == n.rank) split = rank;
    if (rank != n.rank) {
      dimension size[max_rank]{};
      for (int k = 0; k < n.rank; ++k)
        size[to[k]] = size[to[k]] == 0 ? n.size[k] : sizes.product(size[to[k]], n.size[k]);
      for (int k = 0; k < n.rank; ++k)
        if (n.size[k] == 0) size[to[k]] = 0;
      for (int i = 0; i < n.instance_count; ++i) {
        instance& v = all[order[i]];
        if (v.what == action::position && v.detail != none) v.detail = to[v.detail];
        if (v.access == none) continue;
        access& a = p.accesses[v.access];
        dimension stride[max_rank]{};
        for (int k = 0; k < n.rank; ++k) stride[to[k]] = a.stride[k];
        for (int k = 0; k < n.rank; ++k) a.stride[k] = k < rank ? stride[k] : 0;
      }
      for (int k = 0; k < n.rank; ++k) n.size[k] = k < rank ? size[k] : 0;
      n.rank = rank;
    }
    n.split = split;
  }

  /// Once, then the row values and the lanes of each stage; in dependence order within each list.
  constexpr void sort_instances(nest& n) {
    int const keys = 2 * n.stages + 1;
    n.first_list = p.lists.size();
    for (int k = 0; k <= keys; ++k) p.lists.push(0);
    std::int32_t* const at_ = p.lists.data() + n.first_list;
    instance* const all = p.instances.data();
    std::int32_t const* const order = order_.data() + n.first_instance;
    std::int32_t* const sorted = sorted_.data();
    for (int k = 0; k < n.instance_count; ++k) ++at_[key(all[order[k]]) + 1];
    at_[0] = n.first_instance;
    for (int k = 0; k < keys; ++k) at_[k + 1] += at_[k];
    for (int k = 0; k < n.instance_count; ++k) {
      std::int32_t const i = order[k];
      sorted[at_[key(all[i])]++] = i;
    }
    for (int k = keys; k > 0; --k) at_[k] = at_[k - 1];
    at_[0] = n.first_instance;
    // Registers: lanes live for one stage, row values for one row, the rest for the nest.
    std::int32_t once[element_count]{}, row[element_count]{}, lane[element_count]{};
    std::int32_t stage = 0;
    for (int k = 0; k < n.instance_count; ++k) {
      instance& v = all[sorted[n.first_instance + k]];
      if (v.where == role::lane && v.stage != stage) {
        for (std::int32_t& c : lane) c = 0;
        stage = v.stage;
      }
      int const type = static_cast<int>(arithmetic_of(v.type)); // registers hold values of half precision as float
      v.place = v.what == action::reduce || v.where == role::row ? row[type]++
                : v.where == role::lane                          ? lane[type]++
                                                                 : once[type]++;
    }
  }
  static constexpr int key(instance const& v) {
    return v.where == role::once ? 0 : v.where == role::row ? 1 + 2 * v.stage : 2 + 2 * v.stage;
  }

  constexpr void settle_instances() {
    array<std::int32_t> position(p.instances.size());
    array<instance> instances(p.instances.size());
    std::int32_t const* const sorted = sorted_.data();
    std::int32_t* const to = position.data();
    instance const* const from = p.instances.data();
    instance* const moved = instances.data();
    int const count = sorted_.size();
    for (int k = 0; k < count; ++k) {
      to[sorted[k]] = k;
      moved[k] = from[sorted[k]];
    }
    for (std::int32_t& o : p.operands)
      if (o != none) o = to[o];
    p.instances = static_cast<array<instance>&&>(instances);
  }
};

/// The values that each nest of a graph computes, loads and keeps; not ordered yet.
constexpr plan make_schedule(graph_view const& g, detail::classification&& fused) {
  detail::placements s(g, static_cast<detail::classification&&>(fused));
  detail::scheduler{s};
  return static_cast<plan&&>(s.p);
}
constexpr plan make_schedule(graph_view const& g) {
  detail::placements s(g);
  detail::classifier{s};
  detail::fuse(s);
  detail::scheduler{s};
  return static_cast<plan&&>(s.p);
}

/// Plans the execution of a scheduled graph with vectors of this many bytes.
constexpr plan make_plan(graph_view const& g, plan&& schedule, int vector_bytes) {
  return detail::layouter(g, static_cast<plan&&>(schedule), vector_bytes).p;
}
constexpr plan make_plan(graph_view const& g, int vector_bytes) {
  return make_plan(g, make_schedule(g), vector_bytes);
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
