// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_IO_MEMORY_PROFILE_HPP
#define COTANGENT_IO_MEMORY_PROFILE_HPP

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/io/describe.hpp>
#include <cotangent/io/profile.hpp>
#include <cotangent/io/profile_picture.hpp>
#include <cotangent/plan/memory/packed_workspace.hpp>

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

// The memory profile of a static program.

namespace cotangent {
namespace detail {

inline profile::place place_of(std::source_location const& where) {
  if (where.line() == 0) return {};
  return {where.file_name(), where.line()};
}
inline std::string typed_shape(element type, shape const& s) {
  message text(name_of(type));
  return s.rank == 0 ? text.text() : text.put(" ").put(s).text();
}

/// The workspace of a plan, for these sizes of extents.
class plan_profile {
  graph_view g_;
  plan const& p_;
  std::vector<std::int64_t> sizes_; // of the extents, then derived sizes
  array<symbol> made_;              // by buffer: the first value stored in it
  array<std::int32_t> values_;      // by buffer: the number of values stored in it

public:
  profile made;

  /// `packs`: all sizes are numbers, so buffers are packed.
  plan_profile(graph_view const& g, plan const& p, std::int64_t bytes, std::int64_t const* extents, bool packs)
      : g_(g), p_(p), sizes_(extents, extents + g.extent_count) {
    for (derived_size const& d : p.derived)
      sizes_.push_back(d.product ? value(d.a) * value(d.b) : value(d.a) + value(d.b));
    made.bytes = bytes;
    for (int k = 0; k < g.input_count(); ++k) made.arguments += bytes_of(g.input(k));
    for (int k = 0; k < g.output_count(); ++k) made.results += bytes_of(g.output(k));
    find_values();
    plan_writer const words(g, p);
    for (int k = 0; k < p.nests.size(); ++k) made.steps.push_back({words.nest_text(k), place_in(k), 0, {}});
    if (is_copied()) made.steps.push_back({"results are copied", {}, 0, {}});
    int const last = static_cast<int>(made.steps.size()) - 1;
    std::int64_t values = 0;
    array<std::int64_t> offsets(p.slots.size());
    for (int k = 0; k < p.slots.size(); ++k) {
      offsets[k] = values;
      values += rounded(value(p.slots[k].count) * p.slots[k].bytes);
    }
    packed_workspace packed;
    if (packs) packed = pack_workspace(p.buffers.data(), p.buffers.size(), values);
    if (!packed.offsets.empty()) values = packed.bytes;
    for (int b = 0; b < p.buffers.size(); ++b) {
      buffer const& at = p.buffers[b];
      if (at.where != residence::workspace || at.first_nest == none) continue;
      profile::piece piece;
      describe_buffer(b, piece);
      piece.offset = packed.offsets.empty() ? offsets[at.index] : packed.offsets[b];
      piece.bytes = rounded(value(at.count) * static_cast<std::int64_t>(size_of(at.type)));
      piece.first = at.first_nest;
      piece.last = at.last_nest < last ? at.last_nest : last;
      made.pieces.push_back(piece);
    }
    if (bytes > values)
      made.pieces.push_back({"room for kernels", {}, {}, {}, values, bytes - values, 0, last, false});
    made.settle();
  }

private:
  static std::int64_t rounded(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }
  std::int64_t value(dimension d) const { return d >= 0 ? d : sizes_[static_cast<std::size_t>(-1 - d)]; }
  std::int64_t bytes_of(symbol t) const {
    std::int64_t n = static_cast<std::int64_t>(size_of(g_.tensors[t].type));
    for (int k = 0; k < g_.shape(t).rank; ++k) n *= value(g_.shape(t).size[k]);
    return n;
  }
  bool is_copied() const {
    for (int k = 0; k < p_.results.size(); ++k)
      if (p_.buffers[p_.results[k]].where != residence::result || p_.buffers[p_.results[k]].index != k)
        return true;
    return false;
  }

  void stored(std::int32_t buffer, symbol t) {
    if (made_[buffer] == none) made_[buffer] = t;
    ++values_[buffer];
  }
  void find_values() {
    made_.assign(p_.buffers.size(), none);
    values_.assign(p_.buffers.size(), 0);
    for (instance const& v : p_.instances) {
      if (v.slot != none) stored(p_.row_slots[v.slot].buffer, v.value);
      if (v.access != none &&
          (v.what == action::compute || v.what == action::accumulate || v.what == action::reduce))
        stored(p_.accesses[v.access].buffer, v.value);
    }
    for (nest const& n : p_.nests)
      if (n.kind == nest_kind::kernel) {
        node const& of = g_.nodes[n.node];
        stored(p_.accesses[p_.kernel_accesses[n.first_instance + of.operand_count]].buffer, g_.result(of));
      }
  }
  node const* maker_of(symbol t) const { return t == none ? nullptr : g_.producer(t); }

  void describe_buffer(int b, profile::piece& to) const {
    symbol const t = made_[b];
    bool row = false;
    for (row_slot const& s : p_.row_slots) row = row || s.buffer == b;
    to.value = !row;
    if (node const* const n = maker_of(t); n != nullptr) {
      to.what = n->op->name;
      to.where = place_of(n->where);
    }
    if (t == none) return;
    if (g_.name(t) != nullptr) to.name = g_.name(t);
    if (row) to.what += ", a row of";
    else if (values_[b] > 1) to.what.append(" and ").append(std::to_string(values_[b] - 1)).append(" more");
    shape s;
    for (int k = 0; k < g_.shape(t).rank; ++k) s.push(extent::of(value(g_.shape(t).size[k])));
    to.shape = typed_shape(g_.tensors[t].type, s);
  }
  /// The location of the first value that the nest stores, else of the last that it computes.
  profile::place place_in(int k) const {
    nest const& n = p_.nests[k];
    if (n.kind == nest_kind::kernel) return place_of(g_.nodes[n.node].where);
    profile::place found;
    for (int i = n.first_instance; i < n.first_instance + n.instance_count; ++i) {
      instance const& v = p_.instances[i];
      node const* const of = maker_of(v.value);
      if (of == nullptr || of->where.line() == 0 || v.what == action::load) continue;
      found = place_of(of->where);
      if (v.access != none) break;
    }
    return found;
  }
};

} // namespace detail

inline namespace COTANGENT_ABI {

/// The workspace of a static program, step by step and buffer by buffer; with named extents, for a call with
/// these arguments. A small program runs in registers: it has one step and no workspace.
///
/// Refuses: programs that grow.
/// Cost: plans again, at run time.
/// Checked: tests/runtime/memory_profile.cpp
template <class P, class... Args>
  requires requires(Args const&... args) { P::workspace_for(args...); } ||
           (sizeof...(Args) == 0 && requires { P::workspace_bytes; })
profile memory_profile(Args const&... args) {
  extend::graph_view const g = P::graph;
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(g.extent_count) + 1);
  std::int64_t bytes = 0;
  if constexpr (requires { P::workspace_bytes; }) bytes = static_cast<std::int64_t>(P::workspace_bytes);
  else {
    P::extent_sizes(sizes.data(), args...);
    bytes = static_cast<std::int64_t>(P::workspace_for(args...));
  }
  profile made;
  // (the memory of a body counts as that of its loop or branch)
  detail::with_planned_region(g, 0, COTANGENT_ABI_BYTES, true, [&](extend::graph_view const& v, detail::plan const& p, bool straight) {
    made = detail::plan_profile(v, p, bytes, sizes.data(), requires { P::workspace_bytes; }).made;
    if (straight) made.steps = {{"straight-line code, in registers", {}, 0, {}}};
  });
  made.title = "program";
  return made;
}

} // namespace COTANGENT_ABI
} // namespace cotangent

COTANGENT_HEADER_END

#endif
