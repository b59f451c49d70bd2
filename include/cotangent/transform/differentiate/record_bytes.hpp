// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_DIFFERENTIATE_RECORD_BYTES_HPP
#define COTANGENT_TRANSFORM_DIFFERENTIATE_RECORD_BYTES_HPP

#include <cotangent/ops/control.hpp>
#include <cotangent/ops/functions.hpp>
#include <cotangent/ops/source.hpp>
#include <cotangent/transform/differentiate/tape_options.hpp>

#include <cstdint>

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// The bytes that the loops of a graph record for their reverse sweeps, and those of rows that they scan.
struct record_size {
  std::int64_t bytes = 0; // of loops with a known number of iterations, or a known bound
  bool known = true;      // all loops have one
};

/// The number of iterations of a loop, if its limit and start are constants; else -1.
constexpr std::int64_t counted_trips(graph_view const& g, node const& n) {
  loop_layout const l = loop_layout::of(g, n);
  if (l.condition != none) return -1;
  auto const number = [&](symbol t) {
    std::int32_t const p = t == none ? none : g.tensors[t].producer;
    return p != none && g.nodes[p].op == info_of<op::constant>() ? g.numbers[g.nodes[p].attribute] : INT64_MIN;
  };
  std::int64_t const limit = number(g.operand(n, loop_layout::limit())),
                     start = l.has_start() ? number(g.operand(n, l.start())) : 0;
  return limit == INT64_MIN || start == INT64_MIN ? -1 : limit < start ? 0 : limit - start;
}

/// The number of iterations, or its bound, if known; else -1.
constexpr std::int64_t most_trips(graph_view const& g, node const& n) {
  loop_layout const l = loop_layout::of(g, n);
  if (std::int64_t const counted = counted_trips(g, n); counted >= 0) return counted;
  if (l.most() > 0) return l.most();
  if (l.has_start() || g.operand(n, loop_layout::limit()) == none) return -1;
  std::int64_t most = -1; // the limit, or an operand of the minimum that it is
  auto const look = [&](symbol t) {
    node const* const c = g.producer(t);
    if (c == nullptr || c->op != info_of<op::constant>()) return;
    std::int64_t const v = g.attribute(*c) < 0 ? 0 : g.attribute(*c);
    if (most < 0 || v < most) most = v;
  };
  symbol const limit = g.operand(n, loop_layout::limit());
  look(limit);
  if (node const* const least = g.producer(limit); least != nullptr && least->op == info_of<op::min>())
    for (int k = 0; k < 2; ++k) look(g.operand(*least, k));
  return most;
}
/// The bytes of a record's entry on the tape.
constexpr std::int64_t entry_bytes(graph_view const& g, symbol t) {
  if (g.tensors[t].depth > 1) return 8; // the address of a sequence
  auto n = static_cast<std::int64_t>(size_of(g.tensors[t].type));
  dimensions const& d = g.shape(t);
  for (int k = 0; k < d.rank; ++k) n = capped_product(n, d.size[k] < 0 ? 1 : d.size[k]);
  return n > 32 ? whole_lines(n) : n;
}

/// The bytes of one record on the tape, with nested ones: for a branch, the largest over its branches.
constexpr record_size bytes_of_record(graph_view const& g, symbol t) {
  node const* const n = t == none ? nullptr : g.producer(t);
  int k = 0;
  while (n != nullptr && k < n->result_count && g.result(*n, k) != t) ++k;
  if (n != nullptr && n->op == info_of<op::case_of>()) {
    case_layout const c = case_layout::of(g, *n);
    record_size most;
    for (int j = 0; j < c.branches; ++j) {
      symbol const y = c.branch(j) == none ? none : g.output(k, c.branch(j));
      if (y == none) continue;
      record_size const r = bytes_of_record(g, y);
      if (most.bytes < r.bytes) most.bytes = r.bytes;
      most.known = most.known && r.known;
    }
    return most;
  }
  if (n != nullptr && n->op == info_of<op::sequence_zero>()) return {};
  if (n != nullptr && n->op == info_of<op::rows_to_sequence>()) {
    dimension const rows = g.shape(g.operand(*n, 0)).size[0];
    return {capped_sum(sequence_bytes, whole_lines(capped_product(rows < 0 ? 0 : rows, entry_bytes(g, t)))), rows >= 0};
  }
  std::int64_t const trips = n != nullptr && n->op == info_of<op::loop>() ? most_trips(g, *n) : -1;
  if (trips < 0) return {0, false};
  record_size inside;
  loop_layout const l = loop_layout::of(g, *n);
  if (g.tensors[t].depth > 1) inside = bytes_of_record(g, g.output(l.entry(k - l.stack(0)), l.body));
  std::int64_t const entries = whole_lines(capped_product(trips, entry_bytes(g, t)));
  return {capped_sum(capped_sum(sequence_bytes, entries), capped_product(trips, inside.bytes)), inside.known};
}

/// Nested loops record once for each outer iteration if the body returns their record.
class record_measure {
  graph_view const& g_;
  array<record_size> of_; // by region

public:
  constexpr explicit record_measure(graph_view const& g) : g_(g), of_(g.region_count) {
    array<char> done(g.region_count);
    measure(0, done);
  }
  constexpr record_size result() const { return of_[0]; }

private:
  constexpr void measure(std::int32_t region, array<char>& done) {
    if (done[region] != 0) return;
    done[region] = 1;
    for (std::int32_t i = 0; i < g_.node_count; ++i) {
      node const& n = g_.nodes[i];
      if (n.region != region) continue;
      if (n.op == info_of<op::loop>()) add(of_[region], of_loop(n, done));
      else if (n.op == info_of<op::rows_to_sequence>()) add(of_[region], bytes_of_record(g_, g_.result(n))); // copies of rows
      else if (n.op == info_of<op::case_of>()) {
        case_layout const c = case_layout::of(g_, n);
        record_size most;
        for (int k = 0; k < c.branches; ++k) {
          if (c.branch(k) == none) continue;
          measure(c.branch(k), done);
          record_size const& r = of_[c.branch(k)];
          if (most.bytes < r.bytes) most.bytes = r.bytes;
          most.known = most.known && r.known;
        }
        add(of_[region], most);
      }
    }
  }
  static constexpr void add(record_size& to, record_size const& more) {
    to.bytes = capped_sum(to.bytes, more.bytes);
    to.known = to.known && more.known;
  }
  constexpr record_size of_loop(node const& n, array<char>& done) {
    loop_layout const l = loop_layout::of(g_, n);
    measure(l.body, done);
    record_size const inside = of_[l.body];
    std::int64_t const trips = most_trips(g_, n);
    record_size all{0, inside.known && (trips >= 0 || l.stacked == 0)};
    bool hands_on = false;
    for (int k = 0; k < l.stacked; ++k) {
      symbol const t = g_.result(n, l.stack(k));
      if (t == none) continue;
      hands_on = hands_on || g_.tensors[t].depth > 1;
      all.bytes = capped_sum(all.bytes, sequence_bytes);
      if (trips > 0) all.bytes = capped_sum(all.bytes, capped_product(trips, entry_bytes(g_, t)));
    }
    all.bytes =
        capped_sum(all.bytes, hands_on && trips >= 0 ? capped_product(trips, inside.bytes) : inside.bytes);
    all.known = all.known && (!hands_on || trips >= 0);
    return all;
  }
};

/// The bytes that the loops of a graph record, if their bounds are known, and the rows that they scan: the size of the tape
/// without rounding.
///
/// Cost: nodes times regions.
/// Checked: tests/runtime/memory_budget.cpp.
constexpr record_size record_bytes(graph_view const& g) {
  if (g.region_count == 1) return {};
  return detail::record_measure(g).result();
}

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
