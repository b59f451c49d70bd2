// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_DIFFERENTIATE_VIEWS_REGION_SUM_HPP
#define COTANGENT_TRANSFORM_DIFFERENTIATE_VIEWS_REGION_SUM_HPP

#include <cotangent/graph/window_index.hpp>
#include <cotangent/transform/differentiate/views/view_terms.hpp>

#include <cstdint>

// Sums of cotangents of different boxes of a tensor.

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

/// A term of such a sum: a symbol, of which all or a part counts.
struct boxed_term {
  symbol value = none;
  tensor_window of; // of all of it, with the axes of the symbol
  grid_box own;     // the same as a box
  grid_box box;     // the part that counts
};

/// Sums terms over a box of a grid. Disjoint terms are placed in one tensor, whose unassigned elements are
/// zero; only overlapping terms need several such tensors, which are added.
class region_sum {
  builder& b_;
  element_grid const& grid_;
  dimensions of_;
  symbol root_;
  std::int32_t new_nodes_;    // the first node emitted for this purpose
  array<bool>& seen_through_; // by symbol: it has views, so it cannot become one
  aggregation how_;

  struct layer {
    symbol tensor = none;
    tensor_window of; // with the axes of the tensor
    share all;        // the same with the axes of the grid
    grid_box box;
  };

public:
  constexpr region_sum(builder& b, element_grid const& g, dimensions const& of, symbol root,
                       std::int32_t new_nodes, array<bool>& seen_through, aggregation const& how)
      : b_(b), grid_(g), of_(of), root_(root), new_nodes_(new_nodes), seen_through_(seen_through), how_(how) {
  }

  /// The sum with the axes of `to`, which is the box `over`.
  constexpr symbol run(array<boxed_term>& terms, tensor_window const& to, grid_box const& over) {
    symbol total = none;
    for (boxed_term const& t : terms)
      if (same(t.box, over, grid_.rank)) total = add_terms(total, value(t, to));
    int left = 0;
    for (int i = 0; i < terms.size(); ++i)
      if (!same(terms[i].box, over, grid_.rank)) {
        if (left < i) terms[left] = terms[i];
        ++left;
      }
    terms.resize(left);
    array<boxed_term>& parts = terms;
    if (parts.empty()) return total;
    join_equal(parts);
    array<std::int32_t> color;
    array<boxed_term> rest;
    int colors = 0;
    paint(parts, color, rest, colors);
    if (colors > 1) separate(parts, color, colors, over);
    for (int c = 0; c < colors; ++c) {
      layer const v = place(to, over);
      int count = 0;
      for (int i = 0; i < parts.size(); ++i)
        if (color[i] == c) put(parts[i], v), ++count;
      if (count > 0) total = add_terms(total, value({v.tensor, v.of, v.box, v.box}, to));
    }
    while (rest.size() > 1) in_pairs(rest);
    if (!rest.empty()) {
      layer const v = place(to, over);
      put(rest[0], v);
      total = add_terms(total, value({v.tensor, v.of, v.box, v.box}, to));
    }
    return total;
  }

  /// The counting part of a term, with the axes of `to`.
  constexpr symbol value(boxed_term const& t, tensor_window const& to) {
    tensor_window const standing = detail::window_of(b_.get(), t.value);
    if (t.of == to) return t.value;
    share const all = matched(b_, {t.of, standing}, window_of(grid_, t.own, root_));
    return symbol_for(matched(b_, part_of(all, t.own, t.box, grid_), to));
  }
  constexpr symbol symbol_for(share const& s) {
    symbol const y = symbol_of(b_, s);
    if (y != s.at.root) note(s.at.root);
    return y;
  }

private:
  constexpr int rank() const noexcept { return grid_.rank; }
  constexpr symbol add_terms(symbol x, symbol y) { return x == none ? y : cotangent_sum(b_, how_, x, y); }
  constexpr void note(symbol t) {
    if (seen_through_.size() <= t) seen_through_.resize(2 * t + 1);
    seen_through_[t] = true;
  }

  /// Replaces terms of equal boxes by their sum.
  constexpr void join_equal(array<boxed_term>& parts) {
    array<std::int32_t> order;
    for (int i = 0; i < parts.size(); ++i) order.push(i);
    sort(order.data(), order.size(), [&](std::int32_t x, std::int32_t y) {
      for (int k = 0; k < rank(); ++k) {
        progression const &p = parts[x].box.axis[k], &q = parts[y].box.axis[k];
        if (p.first != q.first) return p.first < q.first;
        if (p.count != q.count) return p.count < q.count;
        if (p.count > 1 && p.step != q.step) return p.step < q.step;
      }
      return x < y;
    });
    array<std::int32_t> leader(parts.size());
    bool any = false;
    for (int i = 0; i < order.size(); ++i) {
      bool const again = i > 0 && same(parts[order[i]].box, parts[order[i - 1]].box, rank());
      leader[order[i]] = again ? leader[order[i - 1]] : order[i];
      any = any || again;
    }
    if (!any) return;
    array<symbol> sum(parts.size(), none);
    array<boxed_term> joined;
    for (int i = 0; i < parts.size(); ++i) {
      std::int32_t const l = leader[i];
      if (l == i) continue;
      tensor_window const w = window_of(grid_, parts[l].box, root_);
      if (sum[l] == none) sum[l] = value(parts[l], w);
      sum[l] = add_terms(sum[l], value(parts[i], w));
    }
    for (int i = 0; i < parts.size(); ++i) {
      if (leader[i] != i) continue;
      if (sum[i] == none) joined.push(parts[i]);
      else joined.push({sum[i], window_of(grid_, parts[i].box, root_), parts[i].box, parts[i].box});
    }
    parts = static_cast<array<boxed_term>&&>(joined);
  }

  /// Colors terms so that terms of one color are disjoint; those beyond 64 colors remain in `rest`.
  constexpr void paint(array<boxed_term>& parts, array<std::int32_t>& color, array<boxed_term>& rest,
                       int& colors) {
    array<tensor_window> windows;
    windows.reserve(parts.size());
    for (boxed_term const& t : parts) windows.push(window_of(grid_, t.box, root_));
    window_index const index(of_, static_cast<array<tensor_window>&&>(windows));
    array<std::uint64_t> used(index.cells()); // by cell: its colors
    color.assign(parts.size(), none);
    int kept = 0;
    for (int i = 0; i < parts.size(); ++i) {
      if (rest.size() > 256 && rest.size() > kept) { // so do the others
        rest.push(parts[i]);
        continue;
      }
      std::uint64_t taken = 0;
      index.visit(
          index.ask(index.window(i)),
          [&](std::int32_t c, bool all) {
            if (all) taken |= used[c];
            return (used[c] & ~taken) == 0;
          },
          [&](std::int32_t j) { taken |= color[j] == none ? 0 : std::uint64_t{1} << color[j]; });
      int free = 0;
      while (free < 64 && (taken >> free & 1u) != 0) ++free;
      if (free == 64) {
        rest.push(parts[i]);
        continue;
      }
      color[i] = free;
      if (free >= colors) colors = free + 1;
      for (std::int32_t c = index.leaf(i);; c = (c - 1) / 2) {
        used[c] |= std::uint64_t{1} << free;
        if (c == 0) break;
      }
      ++kept;
    }
    if (rest.empty()) return;
    int to = 0;
    for (int i = 0; i < parts.size(); ++i)
      if (color[i] != none) {
        parts[to] = parts[i];
        color[to++] = color[i];
      }
    parts.resize(to);
    color.resize(to);
  }

  /// If all overlaps are in a few small boxes, sums them there, so that the results are disjoint.
  constexpr void separate(array<boxed_term>& parts, array<std::int32_t>& color, int& colors,
                          grid_box const& over) {
    array<std::int32_t> order, group(parts.size());
    for (int i = 0; i < parts.size(); ++i) order.push(i);
    int groups = 1;
    for (int k = 0; k < rank(); ++k) { // split where no term crosses
      sort(order.data(), order.size(), [&](std::int32_t x, std::int32_t y) {
        if (group[x] != group[y]) return group[x] < group[y];
        return parts[x].box.axis[k].first < parts[y].box.axis[k].first;
      });
      array<std::int32_t> cut(parts.size());
      int count = 0;
      std::int64_t reach = 0;
      for (int i = 0; i < order.size(); ++i) {
        progression const& p = parts[order[i]].box.axis[k];
        bool const next = i == 0 || group[order[i]] != group[order[i - 1]] || p.first > reach;
        if (next) ++count;
        if (next || p.last() > reach) reach = p.last();
        cut[order[i]] = count - 1;
      }
      group = static_cast<array<std::int32_t>&&>(cut);
      groups = count;
    }
    array<grid_box> bounds(groups);
    array<std::int32_t> members(groups), highest(groups);
    for (int i = 0; i < parts.size(); ++i) {
      int const at = group[i];
      grow(bounds[at], parts[i].box, over, members[at]++ == 0);
      if (color[i] > highest[at]) highest[at] = color[i];
    }
    std::int64_t crowded = 0;
    for (int at = 0; at < groups; ++at)
      if (highest[at] > 0) crowded += volume(bounds[at], rank());
    if (4 * crowded >= volume(over, rank())) return; // not worth another tensor
    array<boxed_term> apart;
    for (int i = 0; i < parts.size(); ++i)
      if (highest[group[i]] == 0) apart.push(parts[i]);
    sort(order.data(), order.size(), [&](std::int32_t x, std::int32_t y) {
      return group[x] != group[y] ? group[x] < group[y] : color[x] != color[y] ? color[x] < color[y] : x < y;
    });
    for (int i = 0; i < order.size();) {
      int const at = group[order[i]];
      tensor_window const w = window_of(grid_, bounds[at], root_);
      symbol total = none;
      while (i < order.size() && group[order[i]] == at) {
        if (highest[at] == 0) {
          ++i;
          continue;
        }
        int const c = color[order[i]];
        if (same(parts[order[i]].box, bounds[at], rank())) { // alone in its color
          total = add_terms(total, value(parts[order[i++]], w));
          continue;
        }
        layer const v = place(w, bounds[at]);
        for (; i < order.size() && group[order[i]] == at && color[order[i]] == c; ++i)
          put(parts[order[i]], v);
        total = add_terms(total, value({v.tensor, v.of, v.box, v.box}, w));
      }
      if (total != none) apart.push({total, w, bounds[at], bounds[at]});
    }
    parts = static_cast<array<boxed_term>&&>(apart);
    color.assign(parts.size(), 0);
    colors = 1;
  }
  /// The smallest box of positions of `over` around two boxes.
  constexpr void grow(grid_box& to, grid_box const& x, grid_box const& over, bool first) const {
    for (int k = 0; k < rank(); ++k) {
      std::int64_t const step = over.axis[k].count == 1 ? 1 : over.axis[k].step;
      std::int64_t const low =
          first || x.axis[k].first < to.axis[k].first ? x.axis[k].first : to.axis[k].first;
      std::int64_t const high =
          first || x.axis[k].last() > to.axis[k].last() ? x.axis[k].last() : to.axis[k].last();
      to.axis[k] = {low, step, (high - low) / step + 1};
    }
  }

  constexpr void in_pairs(array<boxed_term>& rest) {
    array<boxed_term> half;
    for (int i = 0; i < rest.size(); i += 2) {
      if (i + 1 == rest.size()) {
        half.push(rest[i]);
        continue;
      }
      grid_box whole;
      for (int k = 0; k < rank(); ++k) whole.axis[k] = {0, 1, grid_.size[k]};
      grid_box both;
      grow(both, rest[i].box, whole, true);
      grow(both, rest[i + 1].box, whole, false);
      tensor_window const w = window_of(grid_, both, root_);
      symbol total = none;
      for (int j = i; j < i + 2; ++j) {
        if (same(rest[j].box, both, rank())) {
          total = add_terms(total, value(rest[j], w));
          continue;
        }
        layer const v = place(w, both);
        put(rest[j], v);
        total = add_terms(total, value({v.tensor, v.of, v.box, v.box}, w));
      }
      half.push({total, w, both, both});
    }
    rest = static_cast<array<boxed_term>&&>(half);
  }

  /// A tensor for a box, with the axes of `to`.
  constexpr layer place(tensor_window const& to, grid_box const& box) {
    layer v;
    v.box = box;
    tensor_window const plain = window_of(grid_, box, root_);
    v.of = matched({to, all_of(none, sizes_of(to))}, plain, v.all) ? to : plain;
    v.tensor = b_.symbol_of(b_.tensor(root_).type, b_.shape(sizes_of(v.of)));
    note(v.tensor);
    (void)matched({v.of, all_of(v.tensor, sizes_of(v.of))}, plain, v.all);
    return v;
  }
  /// Assigns a term to its part of a tensor: by the term's own node if it has no views, else by a copy.
  constexpr void put(boxed_term const& t, layer const& v) {
    share const there = part_of(v.all, v.box, t.box, grid_);
    share mine;
    tensor_symbol const& s = b_.tensor(t.value);
    bool const seen = t.value < seen_through_.size() && seen_through_[t.value];
    if (same(t.box, t.own, rank()) && s.base == none && s.producer >= new_nodes_ && !seen &&
        makes_values(b_.get().nodes[s.producer]) && s.region == b_.region && matched(there, t.of, mine)) {
      to_view(t.value, mine.at);
      return;
    }
    symbol const from = value(t, there.of);
    symbol const to = push_view(b_, there.at, sizes_of(there.at));
    (void)b_.assign(info_of<op::identity>(), &from, 1, &to, 1, nullptr, 0, b_.place);
  }
  static constexpr bool makes_values(node const& n) noexcept {
    operation_kind const kind = n.op->kind;
    return n.result_count == 1 && kind != operation_kind::control && kind != operation_kind::constant &&
           kind != operation_kind::size && kind != operation_kind::iota;
  }
  constexpr void to_view(symbol t, tensor_window const& w) {
    tensor_symbol& s = b_.edit().tensors[t];
    s.base = w.root;
    s.window = b_.edit().numbers.push(w.offset);
    (void)b_.edit().numbers.append(w.stride, w.rank);
  }
};

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
