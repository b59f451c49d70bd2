// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_PREPARE_EMIT_HPP
#define COTANGENT_RUN_INTERPRETER_PREPARE_EMIT_HPP

#include <cotangent/run/interpreter/prepare/node_steps.hpp>
#include <cotangent/run/interpreter/prepare/short_groups.hpp>
#include <cotangent/run/interpreter/prepare/tape.hpp>
#include <cotangent/run/interpreter/prepare/tiles.hpp>

#include <cstdint>

// Emits planned steps as executable ones: addresses, kernels, tiles.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {
namespace interpret {
inline namespace COTANGENT_ABI {

template <class Build, class Regions> class interpreter_emit {
public:
  program_data program;
  std::int64_t scratch_bytes = 0;
  std::int64_t kept_bytes = 0; // see `region_code`
  array<std::int64_t> step_scratch;  // by position: the step's scratch bytes
  array<kept_region> regions_of_step; // the sub-graphs that steps run
  array<kept_tape> tapes_of_step;
  record_lives<Build, typename Regions::control> const lives;

  /// `regions.code_of(region, carried)` prepares a sub-graph and returns its index in `regions.codes`.
  interpreter_emit(Build& from, step_table const& t, Regions& regions)
      : lives(from), b_(from), p_(from.plan), nodes_(from, t, program), regions_(regions) {
    tile_units<Build> units(from, program);
    tile_emit tiles(units);
    short_emit shorts(units, inputs_of_body(from));
    for (at_ = 0; at_ < p_.order.size(); ++at_) {
      std::int32_t const s = p_.order[at_];
      if (p_.steps[s].first_unit < 0) continue; // merged into another step
      bool const tiled = p_.steps[s].shape >= 0;
      step_scratch.push(tiled ? none : 0);
      if (tiled) {
        units.collect(s);
        if (p_.steps[s].in_slots) push_short(shorts.emit());
        else {
          std::int32_t const group = tiles.emit();
          push(program.groups[group].is_one_tile() ? &run_tile : &run_group, group);
        }
      } else emit(s);
      if (lives.released[at_] >= 0) push(&run_release, lives.released[at_]);
    }
    if (program.steps.size() == 1 && program.steps[0].run == &run_short) shorts.emit_steady(from.sources);
    kept_bytes = shorts.finish_kept();
    if (tiles.scratch_bytes < shorts.frame_bytes) tiles.scratch_bytes = shorts.frame_bytes;
    tiles.place_segments();
    for (std::int64_t& bytes : step_scratch)
      if (bytes < 0) bytes = tiles.scratch_bytes; // all tiled steps share the memory of tiles
    if (scratch_bytes < tiles.scratch_bytes) scratch_bytes = tiles.scratch_bytes;
    scratch_bytes = whole_lines(scratch_bytes);
  }

  /// If `root >= 0`, the output is that root in the workspace.
  void copy_to_output(strided const& v, int k, std::int32_t root) {
    emit_move(v, root >= 0 ? address_of(b_, p_.roots[root])
                           : address{base::first_argument + b_.g.input_count(b_.region) + k, 0});
  }

private:
  Build& b_;
  plan_data const& p_;
  node_steps<Build> nodes_;
  Regions& regions_;
  std::int32_t at_ = 0; // the position of the current step

  static body_inputs inputs_of_body(Build const& b) {
    std::int32_t const owner = b.region == 0 ? none : b.g.regions[b.region].owner;
    if (owner == none || b.g.nodes[owner].op != Regions::control::loop()) return {};
    loop_layout const l = loop_layout::of(b.g, b.g.nodes[owner]);
    if (l.body != b.region) return {};
    return {true, l.carried, 1 + l.carried + l.captured};
  }

  void push(step_table::runs run, std::int32_t which) { program.steps.push({run, which}); }
  void push_short(short_group const& g) {
    tile_work const& first = program.work[g.work.first];
    if (g.work.count == 1 && first.run == nullptr && g.sums.count == 0) push(&run_short, first.first);
    else push(&run_short_group, program.short_groups.push(g));
  }
  void need_scratch(std::int64_t bytes) {
    if (step_scratch.back() < bytes) step_scratch.back() = bytes;
    if (scratch_bytes < bytes) scratch_bytes = bytes;
  }
  std::int32_t code_of(char const* what, std::int32_t region, int carried = 0) {
    std::int32_t const code = regions_.code_of(region, carried);
    regions_of_step.push({what, step_scratch.size() - 1, code, 0});
    return code;
  }

  address at(strided const& v) const noexcept { return address_of(b_, v); }
  address result(unit const& u) const noexcept { return address_of(b_, p_.roots[u.root]); }

  placed at_operand(unit const& u, int k) const { return {p_.operand(u, k), at(p_.operand(u, k))}; }

  void emit(std::int32_t s) {
    planned_step const& step = p_.steps[s];
    unit const& u = p_.units[step.first_unit];
    if (u.node < 0) {
      if (u.count == 0) return nodes_.clear(result(u), p_.roots[u.root].bytes);
      if (u.root >= 0) emit_move(p_.operand(u, 0), result(u));
    } else emit_node(u);
    for (std::int32_t d = u.drain; d >= 0; d = p_.drains[d].next) {
      drain const& to = p_.drains[d];
      nodes_.copy(at_operand(u, 0), at(to.to), to.to.stride, to.turn > 0);
    }
  }

  void emit_node(unit const& u) {
    node const& n = b_.g.nodes[u.node];
    if (n.op->kind == operation_kind::control) return emit_control(u, n);
    array<placed> x;
    for (int k = 0; k < u.count; ++k) x.push(at_operand(u, k));
    nodes_.node_step(n, x.data(), u.count, result(u), u.changes_rows);
    need_scratch(nodes_.scratch);
  }

  /// Copies to contiguous memory.
  void emit_move(strided const& v, address to) {
    if (p_.roots[v.root].kind != home::positions) return nodes_.move({v, at(v)}, to);
    fill f = filled_from(b_, v);
    f.to = to;
    push(&run_fill_step, program.fills.push(f));
  }

  // ---- control nodes

  range values_of(unit const& u, int first, int count) {
    range r{program.region_values.size(), count};
    for (int k = 0; k < count; ++k) {
      strided const& v = p_.operand(u, first + k);
      program.region_values.push({at(v), v.count() * static_cast<std::int64_t>(size_of(v.type))});
    }
    return r;
  }
  region_value result_value(unit const& u, int k) const {
    memory_root const& r = p_.roots[p_.results[u.more + k]];
    return {address_of(b_, r), r.bytes};
  }
  range results_of(unit const& u, int first, int count) {
    range r{program.region_values.size(), count};
    for (int k = 0; k < count; ++k) program.region_values.push(result_value(u, first + k));
    return r;
  }

  void emit_control(unit const& u, node const& n) {
    using library_ops = typename Regions::control;
    if (n.op == library_ops::loop()) return emit_loop(u, n);
    if (n.op == library_ops::case_of()) return emit_case(u, n);
    if (n.op == library_ops::zero())
      return push(&run_clear, program.copies.push({{}, result_value(u, 0).at, 8}));
    symbol const x = b_.g.operand(n, 0), y = b_.g.result(n), entry = b_.g.tensors[y].depth > 0 ? y : x;
    bool const takes_rows = n.op == library_ops::rows_to_sequence(), gives_rows = n.op == library_ops::sequence_to_rows();
    address const right = n.operand_count > 1 ? at(p_.operand(u, 1)) : address{};
    sequence_step s{lives.places[at_], at(p_.operand(u, 0)), right, result_value(u, 0).at};
    s.depth = b_.g.tensors[y].depth;
    s.type = b_.g.tensors[y].type;
    for (int k = 0; k < b_.g.shape(entry).rank; ++k) s.count *= b_.size(b_.g.shape(entry).size[k]);
    if (takes_rows || gives_rows) s.rows = b_.size(b_.g.shape(takes_rows ? x : y).size[0]);
    push(takes_rows ? &run_rows_to_sequence : gives_rows ? &run_sequence_to_rows : &run_sequence_sum, program.sums.push(s));
  }

  void push_sequence(address where, std::int64_t bytes, bool reverse) {
    std::int64_t const distance = tape_stack::distance_of(bytes);
    program.sequences.push({where, bytes});
    program.entry_steps.push(reverse ? -distance : distance);
  }
  void emit_loop(unit const& u, node const& n) {
    graph_view const& g = b_.g;
    loop_layout const l = loop_layout::of(g, n);
    loop_step s;
    s.place = lives.places[at_];
    s.carried = l.carried;
    s.captured = l.captured;
    s.limited = g.operand(n, 0) != none;
    if (s.limited) s.limit = at(p_.operand(u, 0));
    s.starts = l.has_start();
    if (s.starts) s.start = at(p_.operand(u, l.start()));
    s.runs_first = (l.flags & loop_layout::runs_first) != 0;
    s.reverse = l.is_reverse();
    s.inits = values_of(u, l.init(0), l.carried);
    s.captures = values_of(u, l.capture(0), l.captured);
    s.lasts = results_of(u, 0, l.carried);
    s.trips = result_value(u, l.trips()).at;
    std::int64_t zeros = 0;
    s.scans = {program.sequences.size(), l.scanned};
    for (int k = 0; k < l.scanned; ++k) {
      symbol const slice = g.input(l.scan(k), l.body);
      push_sequence(at(p_.operand(u, l.scan(k))), bytes_of(b_, slice), s.reverse);
      if (zeros < bytes_of(b_, slice)) zeros = bytes_of(b_, slice);
    }
    s.stacks = {program.sequences.size(), l.stacked};
    std::int64_t recorded = 0;
    for (int k = 0; k < l.stacked; ++k) {
      symbol const entry = g.output(l.entry(k), l.body);
      push_sequence(result_value(u, l.stack(k)).at, bytes_of(b_, entry), s.reverse);
      recorded += bytes_of(b_, entry);
    }
    if (l.stacked > 0) tapes_of_step.push({step_scratch.size() - 1, recorded});
    for (int k = 0; k < l.output_count(); ++k)
      s.keeps = s.keeps || g.tensors[g.output(k, l.body)].depth > 0;
    s.body = code_of("body", l.body, l.carried);
    if (l.condition != none) s.condition = code_of("condition", l.condition);
    std::int64_t bytes = 0;
    auto const place = [&](std::int64_t& where, std::int64_t size) {
      where = bytes;
      bytes += whole_lines(size);
    };
    region_code const& body = regions_.codes[s.body];
    place(s.words, 64);
    place(s.body_table, body.table_bytes);
    std::int64_t shared = body.memory_bytes;
    if (s.condition >= 0) {
      region_code const& condition = regions_.codes[s.condition];
      place(s.condition_table, condition.table_bytes);
      if (shared < condition.memory_bytes) shared = condition.memory_bytes;
    }
    place(s.shared, body.kept_bytes + shared);
    s.shared += body.kept_bytes;
    place_carries(program, s, regions_.codes[s.body], [&](std::int64_t size) {
      std::int64_t where = 0;
      return place(where, size), where;
    });
    s.zero_bytes = zeros;
    place(s.zeros, zeros);
    need_scratch(bytes);
    for (kept_region& r : regions_of_step)
      if (r.step == step_scratch.size() - 1) r.offset = s.shared;
    push(&run_loop, program.loops.push(s));
  }

  void emit_case(unit const& u, node const& n) {
    graph_view const& g = b_.g;
    case_layout const c = case_layout::of(g, n);
    case_step s;
    s.place = lives.places[at_];
    s.index = at(p_.operand(u, 0));
    s.wide_index = g.tensors[g.operand(n, 0)].type == element::int64;
    s.values = values_of(u, c.value(0), c.values);
    s.results = results_of(u, 0, c.results);
    std::int64_t table = 0, shared = 0;
    array<std::int32_t> codes;
    for (int k = 0; k < c.branches; ++k) {
      codes.push(code_of("branch", c.branch(k)));
      region_code const& branch = regions_.codes[codes.back()];
      if (table < branch.table_bytes) table = branch.table_bytes;
      if (shared < branch.memory_bytes) shared = branch.memory_bytes;
    }
    auto const list = [&](int count, auto const& entry) {
      range const r{program.branches.size(), count};
      for (int k = 0; k < count; ++k) program.branches.push(entry(k));
      return r;
    };
    s.branches = list(c.branches, [&](int k) { return codes[k]; });
    s.bypasses = list(c.results, [&](int k) { return c.bypass(k); });
    s.sequences_ = list(c.results, [&](int k) { return g.tensors[g.result(n, k)].depth > 0 ? 1 : 0; });
    s.table = 0;
    s.shared = whole_lines(table);
    need_scratch(s.shared + shared);
    for (kept_region& r : regions_of_step)
      if (r.step == step_scratch.size() - 1) r.offset = s.shared;
    push(&run_case, program.cases.push(s));
  }
};

} // namespace COTANGENT_ABI
} // namespace interpret
} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
