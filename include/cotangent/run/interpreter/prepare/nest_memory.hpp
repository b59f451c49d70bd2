// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_PREPARE_NEST_MEMORY_HPP
#define COTANGENT_RUN_INTERPRETER_PREPARE_NEST_MEMORY_HPP

#include <cotangent/plan/layout.hpp>
#include <cotangent/run/interpreter/execute/nests.hpp>
#include <cotangent/run/interpreter/prepare/tiles.hpp>

#include <cstdint>

// A nest of a plan at run time: its tiles, and the locations of its loads and stores.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {
namespace interpret {
inline namespace COTANGENT_ABI {

/// The locations of a plan's buffers, and the sizes of the nest that is emitted.
struct nest_memory {
  graph_view const& g;
  plan const& p;
  kernel_table const& kernels;
  program_data& program;
  array<address> buffers; // by buffer
  std::int64_t tile_bytes = 0; // see `interpreter_memory`
  nest n{};                    // the current one
  nest_code code;
  bool cheap = false;                         // its lanes consist of segments only
  std::int64_t largest = 1, slot_bytes = 0; // the bytes of its largest element, and of a slot of a tile

  static std::int64_t bytes_of(element e) { return static_cast<std::int64_t>(size_of(e)); }
  /// A copy of its operand with the same element, which only stores it.
  static bool is_copy(instance const& v) { return v.op->kind == operation_kind::identity; }
  std::int32_t const* list() const { return &p.lists[n.first_list]; }

  /// A tile of whole rows, or of a part of one row.
  bool has_rows() const { return code.tile_rows > 1; }
  instance const& at(std::int32_t i) const { return p.instances[i]; }
  instance const& operand(instance const& v, int k) const { return at(operand_index(v, k)); }
  std::int32_t operand_index(instance const& v, int k) const { return p.operands[v.first_operand + k]; }

  /// The elements of a node's result.
  std::int64_t size_of_node(instance const& v) const {
    std::int64_t count = 1;
    node const& of = *g.producer(v.detail);
    for (int k = 0; k < of.attribute_count; ++k) count *= g.attribute(of, k);
    return count;
  }

  /// The kernel of a computed instance.
  kernels::elementwise_kernel kernel_of(instance const& v, tile_work& w) {
    element const e = operand(v, v.operand_count - 1).type;
    operation const* const op = v.op->kind == operation_kind::identity ? kernels.convert : v.op;
    if (kernels::elementwise_kernel const k = kernels.elementwise(op, e, v.type); k != nullptr) return k;
    signature s;
    s.op = v.op;
    s.arity = v.operand_count;
    for (int k = 0; k < s.arity; ++k) s.operand[k] = operand(v, k).type;
    s.result = v.type;
    w.signature = program.signatures.push(s);
    return &evaluate_each;
  }

  /// True if `i` is computed in the lanes of stage `stage`, by an operation.
  bool is_unit(std::int32_t i, int stage) const {
    instance const& v = at(i);
    return v.where == role::lane && v.what == action::compute && v.stage == stage && !is_copy(v);
  }
  /// The last operand of a reduction in segments that is computed in its stage; none if there is no such operand.
  std::int32_t last_unit(instance const& v) const {
    instance const& from = v.fused ? operand(v, 0) : v;
    std::int32_t last = none;
    for (int k = 0; k < from.operand_count; ++k)
      if (std::int32_t const i = operand_index(from, k); is_unit(i, v.stage) && i > last) last = i;
    return last;
  }
  /// True if segments combine the values of a reduction with its partial results as they compute them, which the plan's order
  /// permits. (The `whole` lanes of rows that tiles divide are whole blocks. Those at the end of such a row are left to kernels.)
  bool is_in_segment(instance const& v, bool whole = true) const {
    if ((v.what != action::reduce && v.what != action::accumulate) || v.where == role::row || !is_floating(v.type)) return false;
    std::int64_t const block = kernels::block_bytes / bytes_of(v.type), t = v.type == element::float64 ? 1 : 0;
    if (kernels.blocks.run[t] == nullptr || kernels.blocks.find_sum(v.op, kernels::spot::a, kernels::spot::none) == 0) return false;
    std::int64_t const together = has_rows() ? code.lanes : code.whole_lanes;
    if (together == 0 || together % block != 0 || code.tile_lanes % block != 0 || (!whole && together < code.lanes)) return false;
    if (n.rows_in_lanes || n.width * bytes_of(v.type) != simd::bytes) return false;
    stage_form const& form = p.forms[n.first_form + v.stage];
    if (v.what == action::accumulate &&
        (v.fused || p.accesses[v.access].stride[n.rank - 1] != 0 || n.pairs_blocks || (has_rows() && (form.rows > 1 || form.whole_blocks))))
      return false;
    std::int32_t const last = last_unit(v);
    if (last == none) return false;
    instance const& u = at(last);
    return kernels.threaded_type(u.op, operand(u, u.operand_count - 1).type, operand(u, 0).type, true) == t;
  }

  bool is_foreign(access const& a) const { return buffers[a.buffer].base != base::roots; }
  /// True if packs may reach beyond the last position: then no other value begins there.
  bool has_room(access const& a) const {
    return !is_foreign(a) && a.offset == 0 && p.buffers[a.buffer].count == code.rows * code.lanes;
  }
  address address_of(access const& a, element e) const {
    address to = buffers[a.buffer];
    to.offset += a.offset * static_cast<std::int64_t>(size_of(e));
    return to;
  }
  /// The elements of an access along the first `rank` axes of the nest, or of positions along one of them.
  strided view(instance const& v, int rank) const {
    strided s;
    s.type = v.type;
    s.rank = rank;
    for (int k = 0; k < rank; ++k) {
      s.size[k] = n.size[k];
      s.stride[k] = v.what == action::position ? (v.detail == k ? 1 : 0) : p.accesses[v.access].stride[k];
    }
    return joined(s);
  }
  /// The memory of a lane access that tiles read or write in place: `found` is false if they cannot.
  tile_operand direct(access const& a, element e, bool& found) const {
    auto const bytes = static_cast<std::int64_t>(size_of(e));
    address const first = address_of(a, e);
    tile_operand o{first.base, static_cast<std::int32_t>(bytes), first.offset};
    found = n.rank == n.split || a.stride[n.rank - 1] == 1 || code.lanes == 1;
    std::int64_t step = 0; // from row to row: the same along all row axes
    bool known = false;
    for (int k = n.split; k-- > 0;) {
      std::int64_t inner = 1;
      for (int j = k + 1; j < n.split; ++j) inner *= n.size[j];
      if (n.size[k] == 1) continue;
      if (!known) step = a.stride[k], known = true;
      else found = found && a.stride[k] == step * inner;
    }
    if (!known) step = code.lanes;
    if (step != code.lanes) {
      found = found && !has_rows();
      o.row = (step - code.lanes) * bytes;
    }
    return o;
  }

  /// Begins with a nest: chooses its tiles.
  void begin(nest const& of) {
    n = of;
    nest_code c;
    for (int k = 0; k < n.split; ++k) c.rows *= n.size[k];
    for (int k = n.split; k < n.rank; ++k) c.lanes *= n.size[k];
    std::int64_t granule = 1;
    int computed = 0;
    bool interleaves = false, ordered = false, reduces = false; // `ordered`: totals of interleaved rows
    std::int64_t block = 1; // elements, of the segments that sum
    cheap = true;
    largest = 1;
    for (std::int32_t i = n.first_instance; i < n.first_instance + n.instance_count; ++i) {
      instance const& v = at(i);
      largest = larger(largest, bytes_of(v.type));
      reduces = reduces || v.what == action::reduce;
      if (v.what >= action::reduce && is_floating(v.type)) block = larger(block, kernels::block_bytes / bytes_of(v.type));
      if (v.what == action::accumulate && v.where == role::lane) {
        stage_form const& form = p.forms[n.first_form + v.stage];
        interleaves = true;
        ordered = ordered || form.rows > 1 || form.whole_blocks || n.rows_in_lanes;
      }
      if (v.where != role::lane || v.what != action::compute || is_copy(v)) continue;
      ++computed;
      instance const& last = operand(v, v.operand_count - 1);
      std::int64_t const from = bytes_of(last.type), to = bytes_of(v.type);
      granule = larger(granule, simd::bytes / (v.op == kernels.convert && to > from ? to : from));
      instance const& first = operand(v, 0);
      bool const lane = first.where == role::lane && first.what != action::reduce && first.what != action::constant;
      cheap = cheap && kernels.threaded_type(v.op, last.type, first.type, !lane) != none;
    }
    std::int64_t tile = computed > 8 ? 512 : 1024;
    while (tile > 64 && tile * computed * largest > tile_bytes) tile /= 2;
    std::int64_t unit = granule / common_divisor(granule, c.lanes);
    // Work on row values costs a call a tile, so that a larger tile of whole rows is worth more than the L1 cache.
    auto const fits = [&](std::int64_t rows) { return rows * c.lanes <= 2048 && rows * c.lanes * computed * largest <= tile_bytes; };
    constexpr int together = 4; // rows whose values kernels reduce side by side
    if (interleaves && unit < n.block) unit = n.block;
    else if (reduces && n.block > 1 && unit < together && fits(together)) unit = together;
    c.tile_rows = tile / c.lanes / unit * unit;
    bool const needed = ordered && (n.rows_in_lanes || c.lanes <= sum_order::short_rows * n.width);
    if (c.tile_rows == 0 && (((interleaves || reduces) && fits(unit)) || needed)) c.tile_rows = unit;
    if (c.tile_rows > c.rows) c.tile_rows = (c.rows + unit - 1) / unit * unit;
    // Tiles of one row: its sums are added in segments, but for the rest of the last block, and its values are one register.
    bool const divides = c.lanes >= 3 * block && c.lanes % block != 0 && tile % block == 0,
               in_parts = divides && reduces && !ordered;
    if (c.tile_rows > 1 && c.rows > 1 && !in_parts) {
      c.tile_lanes = c.lanes;
      c.whole_lanes = c.lanes;
      c.whole_rows = cheap ? c.rows : c.rows / unit * unit;
    } else {
      c.tile_rows = 1;
      c.tile_lanes = tile;
      c.whole_rows = c.rows;
      c.whole_lanes = divides ? c.lanes / block * block : c.lanes;
      if (!cheap) c.whole_lanes = c.whole_lanes / granule * granule;
    }
    code = c;
    slot_bytes = // (values of rows are spread in whole packs)
        c.tile_rows > 1 ? whole_lines(c.tile_rows * c.lanes * largest) + 64
                        : whole_lines(larger(granule, c.lanes < tile ? c.lanes : tile) * largest);
  }
};

} // namespace COTANGENT_ABI
} // namespace interpret
} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
