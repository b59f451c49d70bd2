// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_PLAN_MEMORY_WORKSPACE_LAYOUT_HPP
#define COTANGENT_PLAN_MEMORY_WORKSPACE_LAYOUT_HPP

#include <cotangent/plan/sizes.hpp>

// Assigns the buffers of a plan to the workspace, and row values to row buffers.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

class workspace_layout {
  graph_view const& g;
  plan& p;
  size_table& sizes;
  int vector_bytes_;

public:
  constexpr workspace_layout(graph_view const& graph, plan& laid_out, size_table& s, int vector_bytes)
      : g(graph), p(laid_out), sizes(s), vector_bytes_(vector_bytes) {
    find_lifetimes();
    assign_slots();
  }

private:
  constexpr void touch(std::int32_t buffer, std::int32_t nest) {
    struct buffer& b = p.buffers[buffer];
    if (b.first_nest == none || nest < b.first_nest) b.first_nest = nest;
    if (nest > b.last_nest) b.last_nest = nest;
  }
  constexpr void find_lifetimes() {
    for (instance const& v : p.instances) {
      if (v.access != none) touch(p.accesses[v.access].buffer, v.nest);
      if (v.slot != none) make_row_buffer(v);
    }
    for (std::int32_t k = 0; k < p.nests.size(); ++k) {
      nest const& n = p.nests[k];
      if (n.kind != nest_kind::kernel) continue;
      int const count = g.nodes[n.node].operand_count + g.nodes[n.node].result_count;
      for (int j = 0; j < count; ++j) touch(p.accesses[p.kernel_accesses[n.first_instance + j]].buffer, k);
    }
    for (std::int32_t b : p.results)
      if (p.buffers[b].where == residence::workspace) p.buffers[b].last_nest = p.nests.size();
  }
  /// In a nest of one long row: the result whose memory may hold the value until it is stored there, or none.
  /// It must be stored after the last recall, and its memory must be unused meanwhile.
  constexpr std::int32_t result_for(instance const& v, nest const& n) const {
    if (n.split != 0 || n.row_slots > most_exact || v.detail != none) return none;
    std::int32_t last = none, found = none;
    for (int k = 0; k < n.instance_count; ++k) {
      instance const& w = p.instances[n.first_instance + k];
      if (w.what == action::recall && w.detail == v.slot) last = n.first_instance + k;
    }
    for (int k = 0; k < n.instance_count && last != none; ++k) {
      instance const& w = p.instances[n.first_instance + k];
      if (w.access == none || w.where != role::lane) continue;
      access const& a = p.accesses[w.access];
      bool const stores = w.what == action::compute && n.first_instance + k > last &&
                          w.stage == p.instances[last].stage && w.type == v.type &&
                          a.stride[n.rank - 1] == 1 && a.offset == 0 && w.detail == none &&
                          p.buffers[a.buffer].where == residence::result;
      if (stores && found == none) found = a.buffer;
      else if (a.buffer == found) return none;
    }
    for (row_slot const& s : p.row_slots)
      if (s.buffer == found) return none;
    return found;
  }
  static constexpr int most_exact = 8;

  constexpr void make_row_buffer(instance const& v) {
    nest const& n = p.nests[v.nest];
    if (std::int32_t const result = result_for(v, n); result != none) {
      p.row_slots[v.slot].buffer = result;
      p.row_slots[v.slot].exact = true;
      return;
    }
    dimension lanes = vector_bytes_; // room for the last vector
    dimension inner = 1;
    for (int k = n.split; k < n.rank; ++k) inner = sizes.product(inner, n.size[k]);
    lanes = sizes.product(sizes.sum(lanes, inner), n.block);
    p.row_slots[v.slot].buffer = p.buffers.push({residence::workspace, v.type, none, lanes, v.nest, v.nest});
  }

  /// Sweeps over the nests with the free slots, by size: constants by powers of two, others by equal sizes.
  constexpr void assign_slots() {
    int const nests = p.nests.size();
    array<std::int32_t> first(nests + 2), last(nests + 2), by_first(p.buffers.size()),
        by_last(p.buffers.size());
    for (buffer const& b : p.buffers)
      if (b.where == residence::workspace && b.first_nest != none) {
        ++first[b.first_nest + 1];
        ++last[b.last_nest + 1];
      }
    for (int k = 0; k <= nests; ++k) {
      first[k + 1] += first[k];
      last[k + 1] += last[k];
    }
    array<std::int32_t> f = first, l = last;
    for (int k = 0; k < p.buffers.size(); ++k) {
      buffer const& b = p.buffers[k];
      if (b.where != residence::workspace || b.first_nest == none) continue;
      by_first[f[b.first_nest]++] = k;
      by_last[l[b.last_nest]++] = k;
    }
    array<std::int32_t> free_head(64), free_next, free_symbolic;
    for (std::int32_t& h : free_head) h = none;
    for (int k = 0; k < nests; ++k) {
      for (int i = first[k]; i < first[k + 1]; ++i) {
        buffer& b = p.buffers[by_first[i]];
        int const bytes = static_cast<int>(size_of(b.type));
        if (b.count >= 0) {
          std::int64_t const size = whole_lines(capped_product(b.count, bytes));
          int const c = size_class(size);
          if (free_head[c] != none) {
            b.index = free_head[c];
            free_head[c] = free_next[b.index];
            if (p.slots[b.index].count < size) p.slots[b.index].count = size;
          } else b.index = new_slot({size, 1}, free_next);
        } else {
          for (int j = 0; j < free_symbolic.size() && b.index == none; ++j)
            if (p.slots[free_symbolic[j]].count == b.count && p.slots[free_symbolic[j]].bytes == bytes) {
              b.index = free_symbolic[j];
              free_symbolic[j] = free_symbolic.back();
              free_symbolic.pop();
            }
          if (b.index == none) b.index = new_slot({b.count, bytes}, free_next);
        }
      }
      for (int i = last[k]; i < last[k + 1]; ++i) {
        std::int32_t const s = p.buffers[by_last[i]].index;
        if (p.slots[s].count < 0) free_symbolic.push(s);
        else {
          int const c = size_class(p.slots[s].count);
          free_next[s] = free_head[c];
          free_head[c] = s;
        }
      }
    }
    std::int64_t offset = 0;
    for (slot& s : p.slots) {
      s.offset = offset;
      if (s.count >= 0) offset = capped_sum(offset, whole_lines(capped_product(s.count, s.bytes)));
    }
  }
  constexpr std::int32_t new_slot(slot s, array<std::int32_t>& free_next) {
    free_next.push(none);
    return p.slots.push(s);
  }
  static constexpr int size_class(std::int64_t size) {
    int c = 0;
    for (std::int64_t s = 64; s < size && c < 62; s = capped_product(s, 2)) ++c;
    return c;
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
