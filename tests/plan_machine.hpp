// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TESTS_PLAN_MACHINE_HPP
#define COTANGENT_TESTS_PLAN_MACHINE_HPP

#include "reference.hpp"

#include <cotangent/run/program/frozen_plan.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

// A machine that takes a plan at its word, one position at a time, and distrusts it: every read must find what the plan
// says was written there, in bounds, by its owner. So plans of thousands of graphs are tested without compiling any.
// It combines the values of a reduction in the plan's order: its results have the bits of every back end.

namespace reference {

class plan_machine {
  struct cell {
    extend::scalar value;
    std::int32_t owner = extend::none; // a buffer
  };
  struct memory {
    std::vector<cell> cells;
    std::int64_t bytes = 0;
  };

  extend::graph_view g_; // with numbers for all sizes
  detail::plan const& p_;
  std::vector<std::int64_t> size_;
  std::vector<memory> slots_;
  std::vector<std::vector<cell>> arguments_;
  std::vector<std::vector<cell>> results_;
  int shared_result_, shared_argument_;

public:
  std::string error;
  detail::array<values> outputs;

  /// With `result_in >= 0` that result lies where argument `argument_in` lies.
  plan_machine(extend::graph_view const& g, detail::plan const& p, std::int64_t const* known, detail::array<values> const& inputs,
               int result_in = extend::none, int argument_in = extend::none)
      : g_(g), p_(p), results_(static_cast<std::size_t>(g.output_count())), shared_result_(result_in), shared_argument_(argument_in) {
    for (int k = 0; k < p.known_sizes; ++k) size_.push_back(known[k]);
    for (detail::derived_size const& d : p.derived) {
      std::int64_t const a = value(d.a), b = value(d.b);
      size_.push_back(d.product ? a * b : a + b);
    }
    for (detail::slot const& s : p.slots) {
      slots_.push_back({});
      slots_.back().bytes = value(s.count) * s.bytes;
      slots_.back().cells.resize(static_cast<std::size_t>(slots_.back().bytes));
    }
    for (int k = 0; k < inputs.size(); ++k) {
      arguments_.emplace_back();
      for (extend::scalar const& s : inputs[k]) arguments_.back().push_back({s, extend::none});
    }
    for (int k = 0; k < g.output_count(); ++k)
      results_[static_cast<std::size_t>(k)].resize(static_cast<std::size_t>(count(g.shape(g.output(k)))));
    for (int k = 0; k < p.nests.size() && error.empty(); ++k) {
      if (p.nests[k].kind == detail::nest_kind::loops) run(p.nests[k]);
      else run_kernel(p.nests[k]);
    }
    for (int k = 0; k < p.results.size() && error.empty(); ++k) {
      values v;
      std::int32_t const b = p.results[k];
      std::int64_t const n = count(g.shape(g.output(k)));
      if (value(p.buffers[b].count) != n) say("a result has another size than its buffer");
      for (std::int64_t i = 0; i < n; ++i) v.push(read(b, i));
      outputs.push(v);
    }
  }

private:
  void say(char const* what, std::int64_t a = 0, std::int64_t b = 0) {
    if (error.empty()) error = std::string(what) + " " + std::to_string(a) + " " + std::to_string(b);
  }
  std::int64_t value(extend::dimension d) const { return d >= 0 ? d : size_[static_cast<std::size_t>(-1 - d)]; }

  cell* find(std::int32_t buffer, std::int64_t at) {
    if (buffer < 0) return say("an access without a buffer"), nullptr;
    detail::buffer const& b = p_.buffers[buffer];
    if (at < 0 || at >= value(b.count)) return say("out of bounds: buffer, position", buffer, at), nullptr;
    auto const i = static_cast<std::size_t>(at);
    if (b.where == detail::residence::argument) return &arguments_[static_cast<std::size_t>(b.index)][i];
    if (b.where == detail::residence::result && b.index == shared_result_) return &arguments_[static_cast<std::size_t>(shared_argument_)][i];
    if (b.where == detail::residence::result) return &results_[static_cast<std::size_t>(b.index)][i];
    if (b.index < 0) return say("a buffer without a slot", buffer), nullptr;
    memory& m = slots_[static_cast<std::size_t>(b.index)];
    if (value(b.count) * static_cast<std::int64_t>(size_of(b.type)) > m.bytes)
      return say("a slot is too small: buffer, slot", buffer, b.index), nullptr;
    return &m.cells[i];
  }
  extend::scalar read(std::int32_t buffer, std::int64_t at) {
    cell const* const c = find(buffer, at);
    if (c == nullptr) return {};
    if (p_.buffers[buffer].where == detail::residence::argument) {
      if (c->owner != extend::none) say("reads an argument that is overwritten: buffer, position", buffer, at);
    } else if (c->owner != buffer)
      say("reads what was not written: buffer, position", buffer, at);
    if (c->value.type != p_.buffers[buffer].type) say("reads another element", buffer, at);
    return c->value;
  }
  void write(std::int32_t buffer, std::int64_t at, extend::scalar const& s) {
    if (buffer >= 0 && p_.buffers[buffer].where == detail::residence::argument) return say("writes an argument", buffer);
    cell* const c = find(buffer, at);
    if (c == nullptr) return;
    if (s.type != p_.buffers[buffer].type) say("writes another element", buffer, at);
    *c = {s, buffer};
  }

  // ---- loops

  struct registers {
    std::vector<extend::scalar> value[element_count];
    std::vector<std::int32_t> owner[element_count];
    void clear() {
      for (int k = 0; k < element_count; ++k) owner[k].assign(owner[k].size(), extend::none);
    }
    void set(detail::instance const& v, std::int32_t by, extend::scalar const& s) {
      auto const e = static_cast<std::size_t>(v.type), k = static_cast<std::size_t>(v.place);
      if (owner[e].size() <= k) {
        owner[e].resize(k + 1, extend::none);
        value[e].resize(k + 1);
      }
      owner[e][k] = by;
      value[e][k] = s;
    }
    extend::scalar const* get(detail::instance const& v, std::int32_t by) const {
      auto const e = static_cast<std::size_t>(v.type), k = static_cast<std::size_t>(v.place);
      return v.place < 0 || owner[e].size() <= k || owner[e][k] != by ? nullptr : &value[e][k];
    }
  };
  struct position {
    std::int64_t axis[max_rank]{};
  };
  registers once_, lane_;
  std::vector<registers> row_; // of two blocks
  std::map<std::int32_t, std::vector<extend::scalar>> sums_;   // by reduction: of rows, chains and lanes
  std::map<std::int32_t, std::vector<extend::scalar>> totals_; // by accumulation: of interleaved blocks, columns and lanes
  int chain_ = 0;
  std::map<std::int32_t, std::vector<extend::scalar>> before_; // of shifts: the operand at all positions so far

  static bool is_row(detail::instance const& v) { return v.what == detail::action::reduce || v.where == detail::role::row; }

  extend::scalar operand(std::int32_t i, int k, detail::nest const& n, int sub) {
    std::int32_t const o = p_.operands[p_.instances[i].first_operand + k];
    if (o == extend::none) return say("an operand that nothing serves: instance, operand", i, k), extend::scalar{};
    detail::instance const& u = p_.instances[o];
    if (u.what == detail::action::constant) return detail::scalar_of(u.type, u.bits);
    if (o < n.first_instance || o >= n.first_instance + n.instance_count)
      return say("an operand of another nest: instance, operand", i, k), extend::scalar{};
    registers const& r = is_row(u) ? row_[static_cast<std::size_t>(sub)] : u.where == detail::role::once ? once_ : lane_;
    if (extend::scalar const* const s = r.get(u, o)) return *s;
    say("an operand that is not there: instance, operand", i, k);
    return {};
  }
  std::int64_t place(detail::instance const& v, position const& at, detail::nest const& n, bool rows_too = true) {
    cotangent::detail::access const& a = p_.accesses[v.access];
    std::int64_t offset = value(a.offset);
    for (int k = rows_too ? 0 : n.split; k < n.rank; ++k) offset += value(a.stride[k]) * at.axis[k];
    return offset;
  }
  extend::scalar evaluate(std::int32_t i, detail::nest const& n, int sub) {
    detail::instance const& v = p_.instances[i];
    extend::scalar in[3]{};
    for (int k = 0; k < v.operand_count; ++k) in[k] = operand(i, k, n, sub);
    if (v.op == info_of<op::convert>() || v.op == info_of<op::identity>()) return converted(in[0], v.type);
    return v.op->evaluate(in);
  }
  std::int64_t row_buffer_place(detail::nest const& n, std::int64_t lane, int sub) {
    std::int64_t lanes = 1;
    for (int k = n.split; k < n.rank; ++k) lanes *= value(n.size[k]);
    return sub * lanes + lane;
  }

  /// Some values live in a part of the lanes only.
  bool inside(detail::instance const& v, detail::nest const& n, position const& at) const {
    return v.where != detail::role::lane || v.detail == extend::none || at.axis[n.rank - 1] < value(p_.windows[v.detail].high[n.rank - 1]);
  }

  void step(std::int32_t i, detail::nest const& n, position const& at, std::int64_t lane, int sub) {
    detail::instance const& v = p_.instances[i];
    extend::scalar s{v.type};
    switch (v.what) {
    case detail::action::constant: return;
    case detail::action::position: s = number(v.type, v.detail == extend::none ? 0 : static_cast<double>(at.axis[v.detail])); break;
    case detail::action::size: {
      s = number(v.type, 1);
      extend::node const& of = *g_.producer(v.detail);
      for (int k = 0; k < of.attribute_count; ++k) s = multiply(s, number(v.type, static_cast<double>(g_.attribute(of, k))));
      break;
    }
    case detail::action::load:
      s = inside(v, n, at) ? read(p_.accesses[v.access].buffer, place(v, at, n)) : number(v.type, 7); // anything
      break;
    case detail::action::recall:
      s = read(p_.row_slots[v.detail].buffer, row_buffer_place(n, lane, sub));
      break;
    case detail::action::window: {
      detail::window const& w = p_.windows[v.detail];
      position from;
      bool inside = true;
      for (int k = 0; k < n.rank; ++k) {
        from.axis[k] = at.axis[k] - value(w.low[k]);
        inside = inside && from.axis[k] >= 0 && at.axis[k] < value(w.high[k]);
      }
      s = inside ? read(p_.accesses[v.access].buffer, place(v, from, n)) : number(v.type, 0);
      break;
    }
    case detail::action::pick: {
      extend::scalar const label = operand(i, 0, n, sub);
      position from = at;
      from.axis[n.rank - 1] = label.integer;
      bool const there = label.integer >= 0 && label.integer < value(n.size[n.rank - 1]);
      s = there ? read(p_.accesses[v.access].buffer, place(v, from, n)) : number(v.type, 0);
      break;
    }
    case detail::action::shift: {
      std::vector<extend::scalar>& before = before_[i];
      if (lane == 0) before.clear();
      before.push_back(operand(i, 0, n, sub));
      std::int64_t const from = lane - value(p_.windows[v.detail].low[n.rank - 1]);
      s = from >= 0 && inside(v, n, at) ? before[static_cast<std::size_t>(from)] : number(v.type, 0);
      break;
    }
    case detail::action::compute:
      s = evaluate(i, n, sub);
      if (v.access != extend::none && inside(v, n, at)) write(p_.accesses[v.access].buffer, place(v, at, n), s);
      break;
    case detail::action::reduce: {
      if (!inside(v, n, at)) return;
      std::int64_t const w = width(n), chains = p_.forms[n.first_form + v.stage].chains;
      extend::scalar& sum = sums_[i][static_cast<std::size_t>((sub * chains + chain_) * w + lane % w)];
      sum = n.single_pass ? operand(i, 0, n, sub) : with_operand(i, sum, n, sub);
      return;
    }
    case detail::action::accumulate: {
      if (!inside(v, n, at)) return;
      if (is_column(v, n)) {
        std::int32_t const b = p_.accesses[v.access].buffer;
        std::int64_t const to = place(v, at, n);
        return write(b, to, with_operand(i, read(b, to), n, sub));
      }
      std::int64_t const of = v.where == detail::role::row || n.rows_in_lanes ? sub % n.block : lane % n.width;
      extend::scalar& total = totals_[i][static_cast<std::size_t>((sub / n.block * columns(v, n) + (columns(v, n) > 1 ? lane : 0)) *
                                                              total_lanes(v, n) + of)];
      total = with_operand(i, total, n, sub);
      return;
    }
    }
    if (v.slot != extend::none) write(p_.row_slots[v.slot].buffer, row_buffer_place(n, lane, sub), s);
    if (v.where == detail::role::once) once_.set(v, i, s);
    else if (v.where == detail::role::row) row_[static_cast<std::size_t>(sub)].set(v, i, s);
    else lane_.set(v, i, s);
  }

  /// A reduction's result so far, and its operand at one position.
  extend::scalar with_operand(std::int32_t i, extend::scalar const& so_far, detail::nest const& n, int sub) {
    detail::instance const& v = p_.instances[i];
    if (v.fused) {
      std::int32_t const product = p_.operands[v.first_operand];
      extend::scalar const a = operand(product, 0, n, sub), b = operand(product, 1, n, sub);
      return v.type == element::float32 ? extend::scalar::of(std::fma(a.as<float>(), b.as<float>(), so_far.as<float>()))
                                        : extend::scalar::of(std::fma(a.real, b.real, so_far.real));
    }
    extend::scalar const both[2]{so_far, operand(i, 0, n, sub)};
    return v.op->evaluate(both);
  }
  static extend::scalar combined(detail::instance const& v, extend::scalar const& a, extend::scalar const& b) {
    extend::scalar const both[2]{a, b};
    return v.op->evaluate(both);
  }
  /// Adds the upper half of the lanes to the lower one until one is left.
  static extend::scalar folded(detail::instance const& v, extend::scalar* lanes, std::int64_t count) {
    for (count /= 2; count > 0; count /= 2)
      for (std::int64_t k = 0; k < count; ++k) lanes[k] = combined(v, lanes[k], lanes[k + count]);
    return lanes[0];
  }
  static std::int64_t width(detail::nest const& n) { return n.rows_in_lanes ? 1 : n.width; }
  /// Accumulates over rows to one element for each position along the lanes.
  bool is_per_position(detail::instance const& v, detail::nest const& n) const {
    return v.where == detail::role::lane && n.rank > 0 && p_.accesses[v.access].stride[n.rank - 1] != 0;
  }
  bool is_column(detail::instance const& v, detail::nest const& n) const { return is_per_position(v, n) && !n.rows_in_lanes; }
  std::int64_t columns(detail::instance const& v, detail::nest const& n) const {
    return n.rows_in_lanes && is_per_position(v, n) ? value(n.size[n.rank - 1]) : 1;
  }
  static std::int64_t total_lanes(detail::instance const& v, detail::nest const& n) {
    return v.where == detail::role::row || n.rows_in_lanes ? n.block : n.width;
  }

  void start(std::int32_t i, detail::nest const& n, std::int64_t lanes) {
    detail::instance const& v = p_.instances[i];
    if (v.what != detail::action::accumulate) return;
    if (!is_column(v, n))
      totals_[i].assign(static_cast<std::size_t>(2 * columns(v, n) * total_lanes(v, n)), v.op->neutral(v.type));
    for (std::int64_t c = 0; c < lanes && is_column(v, n); ++c) {
      position at;
      place_lane(n, c, at);
      write(p_.accesses[v.access].buffer, place(v, at, n, false), v.op->neutral(v.type));
    }
  }
  void finish(std::int32_t i, detail::nest const& n) {
    detail::instance const& v = p_.instances[i];
    if (v.what != detail::action::accumulate || is_column(v, n)) return;
    for (std::int64_t c = 0; c < columns(v, n); ++c) {
      position at;
      place_lane(n, c, at);
      write(p_.accesses[v.access].buffer, place(v, at, n, false),
            folded(v, &totals_[i][static_cast<std::size_t>(c * total_lanes(v, n))], total_lanes(v, n)));
    }
  }
  void place_lane(detail::nest const& n, std::int64_t c, position& at) const {
    for (int k = n.rank - 1; k >= n.split && c > 0; --k) {
      at.axis[k] = c % value(n.size[k]);
      c /= value(n.size[k]);
    }
  }

  void run(detail::nest const& n) {
    if (n.rank - n.split > 1) return say("a nest with more than one lane axis");
    std::int64_t rows = 1, lanes = 1;
    for (int k = 0; k < n.split; ++k) rows *= value(n.size[k]);
    for (int k = n.split; k < n.rank; ++k) lanes *= value(n.size[k]);
    int const block = n.block;
    row_.assign(static_cast<std::size_t>(2 * block), registers());
    once_ = lane_ = registers();
    totals_.clear();
    std::int32_t const* const list = &p_.lists[n.first_list];
    for (int i = list[0]; i < list[1]; ++i) step(i, n, {}, 0, 0);
    for (int i = n.first_instance; i < n.first_instance + n.instance_count; ++i) start(i, n, lanes);
    std::int64_t first = 0;
    for (; n.pairs_blocks && first + 2 * block <= rows && error.empty(); first += 2 * block) {
      for (registers& r : row_) r.clear();
      for (int s = 0; s < n.stages; ++s)
        for (int sub : {0, block}) run_stage(n, s, first, sub, block, lanes);
    }
    for (auto& [i, all] : totals_)
      for (std::size_t k = 0, half = all.size() / 2; k < half; ++k) all[k] = combined(p_.instances[i], all[k], all[k + half]);
    for (; first < rows && error.empty(); first += block) {
      for (registers& r : row_) r.clear();
      for (int s = 0; s < n.stages; ++s)
        run_stage(n, s, first, 0, static_cast<int>(rows - first < block ? rows - first : block), lanes);
    }
    for (int i = n.first_instance; i < n.first_instance + n.instance_count; ++i) finish(i, n);
  }

  position row_at(detail::nest const& n, std::int64_t row) const {
    position at;
    for (int k = n.split - 1; k >= 0; --k) {
      at.axis[k] = row % value(n.size[k]);
      row /= value(n.size[k]);
    }
    return at;
  }
  /// One stage of rows `top`, ... of those that begin with row `first`.
  void run_stage(detail::nest const& n, int stage, std::int64_t first, int top, int active, std::int64_t lanes) {
    std::int32_t const* const list = &p_.lists[n.first_list + 1 + 2 * stage];
    detail::stage_form const& f = p_.forms[n.first_form + stage];
    for (int sub = top; sub < top + active; ++sub)
      for (int i = list[0]; i < list[1]; ++i) step(i, n, row_at(n, first + sub), 0, sub);
    for (int i = list[1]; i < list[2]; ++i)
      if (detail::instance const& v = p_.instances[i]; v.what == detail::action::reduce)
        sums_[i].assign(static_cast<std::size_t>(2 * n.block * f.chains * width(n)), v.op->neutral(v.type));
    int const rows = n.rows_in_lanes || (f.whole_blocks && active == n.block) ? active : f.rows;
    for (int k = 0, r = 0; k < active; k += r) {
      r = k + rows <= active ? rows : 1;
      run_lanes(n, stage, first, top + k, r, lanes);
    }
    for (int sub = top; sub < top + active; ++sub)
      for (int i = list[1]; i < list[2]; ++i)
        if (detail::instance const& v = p_.instances[i]; v.what == detail::action::reduce) {
          std::int64_t const w = width(n);
          extend::scalar* const sums = &sums_[i][static_cast<std::size_t>(sub * f.chains * w)];
          for (std::int64_t step = 1; step < f.chains; step *= 2)
            for (std::int64_t k = 0; k < f.chains; k += 2 * step)
              for (std::int64_t j = 0; j < w; ++j) sums[k * w + j] = combined(v, sums[k * w + j], sums[(k + step) * w + j]);
          extend::scalar const sum = folded(v, sums, w);
          row_[static_cast<std::size_t>(sub)].set(v, i, sum);
          if (v.access != extend::none) write(p_.accesses[v.access].buffer, place(v, row_at(n, first + sub), n), sum);
        }
  }
  /// The lanes of a stage in interleaved rows.
  void run_lanes(detail::nest const& n, int stage, std::int64_t first, int top, int rows, std::int64_t lanes) {
    std::int32_t const* const list = &p_.lists[n.first_list + 2 + 2 * stage];
    std::int64_t low = 0, high = lanes;
    for (int i = list[0]; i < list[1]; ++i)
      if (detail::instance const& v = p_.instances[i]; cotangent::detail::clips(v)) {
        detail::window const& w = p_.windows[v.detail];
        if (v.what != detail::action::shift) low = std::max(low, value(w.low[n.rank - 1]));
        high = std::min(high, value(w.high[n.rank - 1]));
      }
    bool const masks = list[1] - list[0] > cotangent::detail::sum_order::long_body;
    std::int64_t const w = width(n), chains = masks ? 1 : p_.forms[n.first_form + stage].chains;
    for (std::int64_t c = 0; c < lanes;) {
      std::int64_t const together = c >= low && c + chains * w <= high ? chains : 1;
      for (chain_ = 0; chain_ < together; ++chain_, c += w)
        for (int sub = top; sub < top + rows; ++sub)
          for (std::int64_t k = c; k < c + w && k < lanes; ++k) {
            position at = row_at(n, first + sub);
            place_lane(n, k, at);
            lane_.clear();
            for (int i = list[0]; i < list[1]; ++i) step(i, n, at, k, sub);
          }
    }
    chain_ = 0;
  }

  // ---- kernels

  void run_kernel(detail::nest const& n) {
    extend::node const& what = g_.nodes[n.node];
    detail::array<values> of(g_.tensor_count);
    for (int k = 0; k < what.operand_count; ++k) {
      extend::symbol const x = g_.operand(what, k);
      cotangent::detail::access const& a = p_.accesses[p_.kernel_accesses[n.first_instance + k]];
      extend::dimensions const& d = g_.shape(x);
      if (what.op->kind == operation_kind::matmul) check_matrix(a, d);
      values v;
      for (std::int64_t i = 0; i < count(d); ++i) {
        struct place const at = place_of(d, i);
        std::int64_t offset = value(a.offset);
        for (int j = 0; j < d.rank; ++j) offset += at.at[j] * value(a.stride[j]);
        v.push(read(a.buffer, offset));
      }
      of[x] = v;
    }
    if (!error.empty()) return;
    values const y = apply(g_, what, of);
    cotangent::detail::access const& a = p_.accesses[p_.kernel_accesses[n.first_instance + what.operand_count]];
    extend::dimensions const& d = g_.shape(g_.result(what));
    for (std::int64_t i = 0; i < count(d); ++i) write(a.buffer, i, y[static_cast<int>(i)]);
  }
  /// A matrix product takes one distance only: either neighbors in a row or neighbors in a column stand side by side.
  void check_matrix(cotangent::detail::access const& a, extend::dimensions const& d) {
    int const row = d.rank - 2, column = d.rank - 1;
    bool const by_columns = a.stride[column] != 1 && d.size[column] != 1;
    std::int64_t const near = value(a.stride[by_columns ? row : column]), far = value(a.stride[by_columns ? column : row]);
    std::int64_t const n = d.size[by_columns ? row : column], m = d.size[by_columns ? column : row];
    if (n > 1 && near != 1) say("a matrix whose neighbors do not stand side by side");
    if (m > 1 && far < n) say("a matrix whose lines overlap", far, n);
  }
};

/// A plan in the form of a frozen one.
struct plan_to_read {
  template <class T> struct pool {
    T const* data;
  };
  detail::plan_capacity size;
  pool<detail::instance> instances;
  pool<cotangent::detail::access> accesses;
  pool<detail::buffer> buffers;
  pool<detail::nest> nests;
  pool<detail::row_slot> row_slots;
  pool<std::int32_t> results, kernel_accesses;

  explicit plan_to_read(detail::plan const& p)
      : size(detail::plan_capacity::of(p)), instances{p.instances.data()}, accesses{p.accesses.data()}, buffers{p.buffers.data()},
        nests{p.nests.data()}, row_slots{p.row_slots.data()}, results{p.results.data()},
        kernel_accesses{p.kernel_accesses.data()} {}
};

} // namespace reference

#endif
