// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_PREPARE_NEST_VALUES_HPP
#define COTANGENT_RUN_INTERPRETER_PREPARE_NEST_VALUES_HPP

#include <cotangent/run/interpreter/prepare/nest_memory.hpp>

#include <cstdint>
#include <cstring>

// The values of a nest, of its rows, and its sums: their memory, and the work on them.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {
namespace interpret {
inline namespace COTANGENT_ABI {

/// Values that exist once for the nest, or once for each row, and the states of sums.
class nest_values {
public:
  nest_values(nest_memory& memory, array<std::int64_t>& words)
      : m_(memory), constants_(words), value_at_(memory.p.instances.size()) {}

  /// Places the values of the nest that begins.
  void begin() {
    nest const& n = m_.n;
    lines_ = 0;
    states_.clear();
    for (std::int32_t i = n.first_instance; i < n.first_instance + n.instance_count; ++i) {
      instance const& v = m_.at(i);
      if (v.what == action::constant) value_at_[i] = constant(scalar_of(v.type, v.bits));
      else if (v.what == action::size) value_at_[i] = constant(number(v.type, m_.size_of_node(v)));
      else if (v.what == action::reduce || v.where == role::row) value_at_[i] = line(bytes_of_row_value(v.type));
      else if (v.where == role::once) value_at_[i] = line(64);
    }
    // States of sums: those of rows are used one after the other, those of totals stay.
    row_state_ = line(row_state_bytes(m_.largest));
    for (std::int32_t i = n.first_instance; i < n.first_instance + n.instance_count; ++i)
      if (instance const& v = m_.at(i); v.what == action::reduce && (!m_.has_rows() || m_.is_in_segment(v)))
        states_.push({i, line(m_.code.tile_rows * row_state_bytes(nest_memory::bytes_of(v.type)))});
    for (std::int32_t i = n.first_instance; i < n.first_instance + n.instance_count; ++i)
      if (instance const& v = m_.at(i); v.what == action::accumulate && !is_column(v)) {
        nest_sum s = sum_of(i);
        s.state = line(2 * s.totals.columns * s.totals.width * nest_memory::bytes_of(v.type));
        states_.push({i, s.state});
      }
  }
  /// Their bytes in the scratch memory.
  std::int64_t bytes() const { return lines_; }
  address operator[](std::int32_t i) const { return value_at_[i]; }
  tile_operand operand(std::int32_t i) const { return {value_at_[i].base, 0, value_at_[i].offset}; }

  fill fill_of(std::int32_t i, int rank, address to, bool repeats) const {
    instance const& v = m_.at(i);
    fill f;
    f.from = m_.view(v, rank);
    f.positions = v.what == action::position;
    f.repeats_one = repeats;
    if (!f.positions) f.memory = m_.address_of(m_.p.accesses[v.access], v.type);
    f.to = to;
    return f;
  }

  tile_drain drain_of(std::int32_t i, int rank, tile_operand const& from) const {
    instance const& v = m_.at(i);
    return {m_.view(v, rank), from, m_.address_of(m_.p.accesses[v.access], v.type), 0};
  }

  /// A reduction without its operands.
  nest_sum sum_of(std::int32_t i, bool whole = true) const {
    instance const& v = m_.at(i);
    nest const& n = m_.n;
    stage_form const& form = m_.p.forms[n.first_form + v.stage];
    int const e = static_cast<int>(v.type), t = v.type == element::float64 ? 1 : 0;
    kernel_set const& k = *m_.kernels.find(v.op);
    nest_sum s;
    s.bytes = static_cast<std::int32_t>(nest_memory::bytes_of(v.type));
    s.of_rows = v.where == role::row;
    s.state = state(i);
    if (v.what == action::reduce) {
      bool const masks = m_.list()[3 + 2 * v.stage] - m_.list()[2 + 2 * v.stage] > sum_order::long_body;
      s.is_in_segment = m_.is_in_segment(v, whole);
      s.rows = v.fused && !s.is_in_segment ? m_.kernels.row_products[t] : k.sums[e].rows;
      s.width = n.rows_in_lanes ? 1 : n.width;
      s.chains = masks ? 1 : form.chains;
      s.single = n.single_pass;
      s.copies = m_.has_rows() ? 1 : static_cast<std::int32_t>(64 / nest_memory::bytes_of(v.type));
      s.to = value_at_[i];
      s.begin = k.sums[e].begin;
      return s;
    }
    s.to = m_.address_of(m_.p.accesses[v.access], v.type);
    s.begin = k.sums[e].begin;
    if (is_column(v)) {
      if (v.fused) s.products = m_.kernels.column_products[t];
      else s.columns = k.columns[e];
      return s;
    }
    s.add = k.sums[e].add;
    s.end = k.sums[e].end;
    s.totals.block = n.block;
    s.totals.by_row = v.where == role::row || n.rows_in_lanes;
    s.totals.width = s.totals.by_row ? n.block : n.width;
    s.totals.columns = n.rows_in_lanes && is_per_position(v) ? m_.code.lanes : 1;
    s.totals.paired = n.pairs_blocks ? m_.code.rows / (2 * n.block) * 2 * n.block : 0;
    s.totals.together = form.rows;
    s.totals.whole_blocks = form.whole_blocks;
    return s;
  }

  void emit_once() {
    nest_code& c = m_.code;
    c.once_fills.first = m_.program.fills.size();
    for (std::int32_t i = m_.list()[0]; i < m_.list()[1]; ++i)
      if (action const what = m_.at(i).what; what == action::load || what == action::position)
        m_.program.fills.push(fill_of(i, 0, value_at_[i], true));
    c.once_fills.count = m_.program.fills.size() - c.once_fills.first;
    c.once_work.first = m_.program.work.size();
    for (std::int32_t i = m_.list()[0]; i < m_.list()[1]; ++i)
      if (m_.at(i).what == action::compute) emit_row_work(i);
    c.once_work.count = m_.program.work.size() - c.once_work.first;
  }

  /// The row values of a stage: instances from `first` to `end`.
  void emit_rows(std::int32_t first, std::int32_t end, nest_stage& s, array<nest_sum>& totals) {
    int const rows = m_.n.split;
    s.row_fills.first = m_.program.fills.size();
    for (std::int32_t i = first; i < end; ++i)
      if (action const what = m_.at(i).what; what == action::load || what == action::position)
        m_.program.fills.push(fill_of(i, rows, value_at_[i], !m_.has_rows()));
    s.row_fills.count = m_.program.fills.size() - s.row_fills.first;
    s.row_work.first = m_.program.work.size();
    for (std::int32_t i = first; i < end; ++i)
      if (m_.at(i).what == action::compute) emit_row_work(i);
    s.row_work.count = m_.program.work.size() - s.row_work.first;
    s.row_drains.first = m_.program.drains.size();
    for (std::int32_t i = first; i < end; ++i)
      if (instance const& v = m_.at(i); v.what == action::compute && v.access != none)
        m_.program.drains.push(drain_of(i, rows, operand(i)));
    s.row_drains.count = m_.program.drains.size() - s.row_drains.first;
    s.row_sums.first = m_.program.nest_sums.size();
    for (std::int32_t i = first; i < end; ++i)
      if (m_.at(i).what == action::accumulate) {
        nest_sum sum = sum_of(i);
        std::int32_t const from = m_.operand_index(m_.at(i), 0);
        sum.x = sum.y = operand(from);
        m_.program.nest_sums.push(sum);
        totals.push(sum);
      }
    s.row_sums.count = m_.program.nest_sums.size() - s.row_sums.first;
  }

private:
  nest_memory& m_;
  array<std::int64_t>& constants_; // words of the program
  array<address> value_at_;        // by instance
  std::int64_t lines_ = 0;         // bytes placed
  struct state_of {
    std::int32_t instance;
    address at;
  };
  array<state_of> states_;
  address row_state_;
  address state(std::int32_t i) const {
    for (int k = states_.size(); k-- > 0;)
      if (states_[k].instance == i) return states_[k].at;
    return row_state_;
  }

  /// Of four chains. (Vectors of the nest may have more lanes than a register has for integers.)
  std::int64_t row_state_bytes(std::int64_t element_bytes) const {
    return larger(kernels::row_sums_state_bytes, 4 * static_cast<std::int64_t>(m_.n.width) * element_bytes);
  }
  address line(std::int64_t bytes) {
    std::int64_t const at = lines_;
    lines_ += whole_lines(bytes);
    return {base::scratch, at};
  }
  std::int64_t bytes_of_row_value(element e) const { return m_.has_rows() ? m_.code.tile_rows * nest_memory::bytes_of(e) : 64; }
  address constant(scalar const& value) {
    char word[8];
    for (std::size_t at = 0; at < 8; at += size_of(value.type)) write(value.type, word + at, 0, value);
    std::int64_t bits;
    std::memcpy(&bits, word, 8);
    address const at{base::constants, 8 * static_cast<std::int64_t>(constants_.size())};
    for (int k = 0; k < 8; ++k) constants_.push(bits);
    return at;
  }
  static scalar number(element e, std::int64_t value) {
    return is_floating(e) ? scalar{e, static_cast<double>(value), 0} : scalar{e, 0, value};
  }

  bool is_per_position(instance const& v) const {
    return v.where == role::lane && m_.n.rank > 0 && m_.p.accesses[v.access].stride[m_.n.rank - 1] != 0;
  }
  bool is_column(instance const& v) const { return is_per_position(v) && !m_.n.rows_in_lanes; }

  /// Work on values of rows, or on lines of equal elements.
  void emit_row_work(std::int32_t i) {
    instance const& v = m_.at(i);
    bool const lines = v.where == role::once || !m_.has_rows();
    tile_work w;
    w.run = m_.kernel_of(v, w);
    w.arity = static_cast<std::int16_t>(v.operand_count);
    w.first = m_.program.operands.push(operand(i));
    for (int k = 0; k < v.operand_count; ++k) {
      std::int32_t const from = m_.operand_index(v, k);
      instance const& u = m_.at(from);
      bool const one = u.what == action::constant || u.what == action::size || (u.what != action::reduce && u.where == role::once);
      if (lines || one) w.fixed = static_cast<std::uint16_t>(w.fixed | 1u << k);
      m_.program.operands.push({value_at_[from].base, 0, value_at_[from].offset});
    }
    w.count = lines ? static_cast<std::int32_t>(64 / nest_memory::bytes_of(v.type)) : 0;
    m_.program.work.push(w);
  }
};

} // namespace COTANGENT_ABI
} // namespace interpret
} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
