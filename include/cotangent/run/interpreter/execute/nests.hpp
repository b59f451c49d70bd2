// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_RUN_INTERPRETER_EXECUTE_NESTS_HPP
#define COTANGENT_RUN_INTERPRETER_EXECUTE_NESTS_HPP

#include <cotangent/run/interpreter/execute/groups.hpp>

#include <cstdint>
#include <type_traits>

// Executes the nests of a plan: rows of lanes, in stages that each end in reductions of rows. A tile holds whole rows, or a
// part of one row; its values stay in the L1 cache.

namespace cotangent::detail::interpret {
inline namespace COTANGENT_ABI {

/// The rows and positions of a tile.
struct nest_part {
  tile_start start;
  std::int64_t rows = 1, lane = 0, lanes = 1; // lanes: the positions of each row
};

inline void run_nest_sum(nest_sum const& s, nest_code const& n, run_context const& c, nest_part const& part) noexcept {
  if (s.is_in_segment) { // the partial results of each row are combined as a row of this length would be
    std::int64_t const partial = s.chains * s.width;
    return s.rows(c.at(s.to), nullptr, c.at(s.state), nullptr, {part.rows, partial, 0, partial, partial, s.width, s.chains, s.copies, s.chains == 1});
  }
  char const *const x = c.at(s.x, part.start), *const y = c.at(s.y, part.start);
  std::int64_t const step = s.of_rows ? 1 : n.lanes;
  if (s.add != nullptr) {
    kernels::total_sums t = s.totals;
    t.first_row = part.start.row;
    t.rows = part.rows;
    t.step = step;
    t.count = s.of_rows ? 1 : part.lanes;
    return s.add(c.at(s.state), x, t);
  }
  kernels::row_sums r{part.rows, step, part.lane, part.lanes, n.lanes, s.width, s.chains, s.copies, s.single};
  if (s.rows != nullptr) return s.rows(c.at(s.to), c.at(s.state), x, y, r);
  char* const to = c.at(s.to) + part.lane * s.bytes;
  if (s.products != nullptr) return s.products(to, x, y, r);
  kernels::reduce_shape columns{part.lanes, part.rows, step};
  columns.first = false;
  s.columns(to, x, columns);
}

/// Writes whole packs: up to one beyond the last element.
template <class T> void spread_rows(char* to, char const* from, std::int64_t rows, std::int64_t lanes) noexcept {
  constexpr int w = simd::width<T>;
  T const* const value = reinterpret_cast<T const*>(from);
  T* all = reinterpret_cast<T*>(to);
  for (std::int64_t r = 0; r < rows; ++r, all += lanes) {
    auto const one = math::broadcast<simd::pack<T, w>>(value[r]);
    for (std::int64_t k = 0; k < lanes; k += w) simd::store(all + k, one);
  }
}
inline void spread_rows(row_spread const& s, run_context const& c, std::int64_t rows, std::int64_t lanes) noexcept {
  char *const to = c.bases[s.to.base] + s.to.offset, *const from = c.at(s.from);
  cotangent::detail::as_word(s.bytes, [&]<class Word>(Word) { spread_rows<std::make_signed_t<Word>>(to, from, rows, lanes); });
}

/// The lanes of a stage, in one tile.
inline void run_lanes(program_data const& p, nest_code const& n, nest_stage const& stage, bool whole, run_context const& c,
                      nest_part const& part) noexcept {
  nest_stage::lane_code const& s = whole ? stage.whole : stage.rest;
  std::int64_t const start = part.start.element, count = part.rows * part.lanes;
  for (int k = 0; k < s.fills.count; ++k) {
    fill const& f = p.fills[s.fills.first + k];
    if (whole) run_fill(f, c, start, count);
    else run_rest(f, c, start, count);
  }
  for (int k = 0; k < s.spreads.count; ++k) {
    row_spread const& of = p.spreads[s.spreads.first + k];
    spread_rows(of, c, part.rows, of.is_register ? simd::bytes / of.bytes : n.lanes);
  }
  nest_sum const* const sums = p.nest_sums.data() + s.sums.first;
  for (int k = 0; k < s.sums.count; ++k)
    if (sums[k].is_in_segment && part.lane == 0) sums[k].begin(c.at(sums[k].state), part.rows * sums[k].chains * sums[k].width);
  run_work(p, s.work, c, part.start, count);
  for (int k = 0; k < s.sums.count; ++k)
    if (!sums[k].is_in_segment || part.lane + part.lanes == n.lanes) run_nest_sum(sums[k], n, c, part);
  for (int k = 0; k < s.drains.count; ++k) run_drain(p.drains[s.drains.first + k], c, part.start, count);
}

/// Work on row values: on those of `rows` rows, or on one value, repeated over a line.
inline void run_row_work(program_data const& p, range r, run_context const& c, std::int64_t rows) noexcept {
  for (tile_work const *w = p.work.data() + r.first, *const end = w + r.count; w != end; ++w)
    run_kernel(p, *w, c, {}, w->count > 0 ? w->count : rows);
}

inline void run_rows(program_data const& p, nest_code const& n, run_context const& c, std::int64_t row, std::int64_t rows,
                     bool whole) noexcept {
  for (int stage = 0; stage < n.stages.count; ++stage) {
    nest_stage const& s = p.nest_stages[n.stages.first + stage];
    nest_part part{{row * n.lanes, row}, rows, 0, n.lanes};
    for (int k = 0; k < s.row_fills.count; ++k) run_fill(p.fills[s.row_fills.first + k], c, row, rows);
    run_row_work(p, s.row_work, c, rows);
    auto const drain_rows = [&](range d) {
      for (int k = 0; k < d.count; ++k) run_drain(p.drains[d.first + k], c, {row}, rows);
    };
    drain_rows(s.row_drains);
    for (int k = 0; k < s.row_sums.count; ++k)
      run_nest_sum(p.nest_sums[s.row_sums.first + k], n, c, {{0, row}, rows, 0, 1});
    if (n.tile_rows > 1) run_lanes(p, n, s, whole, c, part);
    else
      for (part.lane = 0; part.lane < n.lanes; part.lane += part.lanes) {
        std::int64_t const left = n.whole_lanes - part.lane;
        part.lanes = left <= 0 ? n.lanes - part.lane : left < n.tile_lanes ? left : n.tile_lanes;
        part.start.element = row * n.lanes + part.lane;
        run_lanes(p, n, s, left > 0, c, part);
      }
    drain_rows(s.sum_drains);
  }
}

inline void run_nest(program_data const& p, std::int32_t which, run_context& c) {
  nest_code const& n = p.nests[which];
  for (int k = 0; k < n.once_fills.count; ++k) run_fill(p.fills[n.once_fills.first + k], c, 0, 1);
  run_row_work(p, n.once_work, c, 1);
  for (int k = 0; k < n.tile_fills.count; ++k) run_fill(p.fills[n.tile_fills.first + k], c, 0, n.tile_rows * n.lanes);
  for (int k = 0; k < n.totals.count; ++k) {
    nest_sum const& s = p.nest_sums[n.totals.first + k];
    if (s.begin == nullptr) continue;
    if (s.add == nullptr) s.begin(c.at(s.to), n.lanes);
    else s.begin(c.at(s.state), 2 * s.totals.columns * s.totals.width);
  }
  for (std::int64_t row = 0; row < n.whole_rows; row += n.tile_rows)
    run_rows(p, n, c, row, n.whole_rows - row < n.tile_rows ? n.whole_rows - row : n.tile_rows, true);
  if (n.whole_rows < n.rows) run_rows(p, n, c, n.whole_rows, n.rows - n.whole_rows, false);
  for (int k = 0; k < n.totals.count; ++k)
    if (nest_sum const& s = p.nest_sums[n.totals.first + k]; s.end != nullptr) {
      kernels::total_sums t = s.totals;
      t.first_row = n.rows;
      s.end(c.at(s.to), c.at(s.state), t);
    }
}

} // namespace COTANGENT_ABI
} // namespace cotangent::detail::interpret

#endif
