// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TRANSFORM_SIMPLIFY_HOIST_HPP
#define COTANGENT_TRANSFORM_SIMPLIFY_HOIST_HPP

#include <cotangent/ops/control/case_builder.hpp>
#include <cotangent/ops/control/loop_builder.hpp>
#include <cotangent/transform/simplify/hoist_values.hpp>
#include <cotangent/transform/simplify/late_products.hpp>

#include <cstdint>

COTANGENT_COLD_BEGIN
namespace cotangent::detail {

class hoisting {
  graph_view g_;
  builder b_;
  rewriter copy_;
  hoist_values values_;
  region_nodes nodes_;
  late_products late_;
  array<bool> left_out_; // by node; empty if none is
  /// A loop or a choice of branches of the copy.
  struct made_node {
    std::int32_t node = none;
    array<std::int32_t> operands; // values
  };
  array<made_node> made_;
  hash_index made_index_;

public:
  constexpr hoisting(graph_view const& g, bool sums_later)
      : g_(g), copy_(g, b_), values_(g_, b_, copy_), nodes_(g), late_(g_, sums_later) {
    array<symbol> in, out;
    for (int k = 0; k < g_.input_count(); ++k) in.push(values_.get_old(g_.input(k), 0));
    b_.set_inputs(in.data(), in.size());
    visit(0);
    for (int k = 0; k < g_.output_count(); ++k) out.push(values_.get_old(g_.output(k), 0));
    b_.set_outputs(out.data(), out.size());
  }
  constexpr graph take() { return static_cast<graph&&>(b_.edit()); }

private:
  /// The nodes of an old region go to the region that is open, or further out.
  constexpr void visit(std::int32_t region) {
    for (int p = 0; p < nodes_.count(region); ++p) visit_node(nodes_.at(region, p));
  }
  constexpr void visit_node(std::int32_t i) {
    node const& n = g_.nodes[i];
    if (!left_out_.empty() && left_out_[i]) return;
    if (n.op == info_of<op::loop>()) return visit_loop(i);
    if (n.op == info_of<op::case_of>()) return visit_case(i);
    symbol const* const ids = g_.ids + n.first;
    symbol const y = ids[n.operand_count];
    bool plain = n.flags.merges && n.result_count == 1 && n.op->kind != operation_kind::control &&
                 n.op != info_of<op::label>() && g_.tensors[y].base == none && !values_.has_number(y);
    for (int k = 0; k < n.operand_count && plain; ++k) plain = ids[k] != none;
    if (!plain) return copy(n);
    std::int32_t const v = values_.number_node(i);
    values_.set_number(y, v);
    if (!values_.waits(v)) (void)values_.get(v, depth());
  }
  constexpr int depth() const { return values_.depth(); }
  constexpr std::int32_t shape_of(symbol old) const { return copy_.shapes[g_.tensors[old].shape]; }
  /// Copies a node unchanged into the sub-graph that is open.
  constexpr void copy(node const& n) {
    array<symbol> x, y;
    for (int k = 0; k < n.operand_count; ++k) x.push(values_.get_old(g_.operand(n, k), depth()));
    for (int k = 0; k < n.result_count; ++k) y.push(values_.get_old(g_.result(n, k), depth()));
    (void)b_.assign(n, x, y, g_.numbers + n.attribute);
  }

  // ---- loops and branches

  constexpr bool writes_views(node const& n) const {
    for (int k = 0; k < n.result_count; ++k)
      if (g_.tensors[g_.result(n, k)].base != none || values_.has_number(g_.result(n, k))) return true;
    return false;
  }
  /// The symbol `made` of the copied loop or branch is result k of node n.
  constexpr void name_result(node const& n, int k, std::int32_t owner, symbol made) {
    symbol const old = g_.result(n, k);
    if (g_.tensors[old].base == none && !values_.has_number(old)) {
      values_.set_number(old, values_.fresh(made));
      if (g_.tensors[old].name != none) b_.edit().tensors[made].name = g_.tensors[old].name;
      return;
    }
    symbol const view = values_.get_old(old, depth());
    node const& at = b_.get().nodes[owner];
    b_.edit().ids[at.first + at.operand_count + k] = view;
    b_.edit().tensors[view].producer = owner;
    b_.edit().tensors[made].producer = none;
  }
  constexpr array<std::int32_t> operands_of(node const& n) {
    array<std::int32_t> x;
    for (int k = 0; k < n.operand_count; ++k)
      x.push(g_.operand(n, k) == none ? none : values_.number(g_.operand(n, k)));
    return x;
  }
  /// True if an equal loop or choice was copied and its results are visible here. Node i then has these results.
  constexpr bool found(std::int32_t i, array<std::int32_t> const& operands) {
    node const& n = g_.nodes[i];
    if (writes_views(n)) return false;
    std::uint32_t h = mix(n.op->code, static_cast<std::uint64_t>(n.result_count));
    for (std::int32_t const x : operands) h = mix(h, static_cast<std::uint64_t>(x + 1));
    h |= 1u;
    std::int32_t const at = made_index_.find(h, [&](std::int32_t k) {
      made_node const& m = made_[k];
      if (!(m.operands == operands) || !in_sight(g_.nodes[m.node])) return false;
      return repeatable(m.node) && repeatable(i) && same_control(m.node, i);
    });
    if (at == none) {
      made_index_.add(h);
      made_.push({i, operands});
      return false;
    }
    node const& m = g_.nodes[made_[at].node];
    for (int k = 0; k < n.result_count; ++k) values_.set_number(g_.result(n, k), values_.number(g_.result(m, k)));
    return true;
  }
  constexpr bool in_sight(node const& m) {
    for (int k = 0; k < m.result_count; ++k)
      if (symbol const y = g_.result(m, k); !values_.has_number(y) || values_.place_of(values_.number(y)) == none)
        return false;
    return m.result_count > 0;
  }
  template <class Visit> constexpr void each_region(node const& n, Visit visit) const {
    if (n.op == info_of<op::loop>()) {
      loop_layout const at = loop_layout::of(g_, n);
      if (at.condition != none) visit(at.condition);
      visit(at.body);
    } else if (n.op == info_of<op::case_of>()) {
      case_layout const at = case_layout::of(g_, n);
      for (int j = 0; j < at.branches; ++j) visit(at.branch(j));
    }
  }
  /// Nothing in it is marked to stay as it is, or writes into views.
  constexpr bool repeatable(std::int32_t i) const {
    node const& n = g_.nodes[i];
    bool const control = n.op->kind == operation_kind::control;
    if (!control && !n.flags.merges) return false;
    bool all = true;
    for (int k = 0; k < n.result_count; ++k) all = all && g_.tensors[g_.result(n, k)].base == none;
    each_region(n, [&](std::int32_t r) {
      for (int p = 0; p < nodes_.count(r) && all; ++p) all = repeatable(nodes_.at(r, p));
    });
    return all;
  }
  constexpr bool same_control(std::int32_t i, std::int32_t j) const {
    array<symbol> as(g_.tensor_count, none); // by symbol inside of i: the one inside of j
    return same_regions(g_.nodes[i], g_.nodes[j], as);
  }
  constexpr bool same_type(symbol x, symbol y) const {
    tensor_symbol const &s = g_.tensors[x], &t = g_.tensors[y];
    return s.type == t.type && s.shape == t.shape && s.depth == t.depth && s.base == none && t.base == none;
  }
  constexpr bool same_regions(node const& n, node const& m, array<symbol>& as) const {
    if (n.op != m.op || n.attribute_count != m.attribute_count || n.flags.exact != m.flags.exact) return false;
    array<std::int32_t> of_n, of_m;
    each_region(n, [&](std::int32_t r) { of_n.push(r); });
    each_region(m, [&](std::int32_t r) { of_m.push(r); });
    if (of_n.size() != of_m.size()) return false;
    int const plain = of_n.empty()                  ? n.attribute_count
                      : n.op == info_of<op::loop>() ? 5 // then come the regions
                                                    : n.attribute_count - of_n.size();
    for (int k = 0; k < plain; ++k)
      if (g_.attribute(n, k) != g_.attribute(m, k)) return false;
    for (int j = 0; j < of_n.size(); ++j)
      if (!same_region(of_n[j], of_m[j], as)) return false;
    return true;
  }
  constexpr bool same_region(std::int32_t r, std::int32_t s, array<symbol>& as) const {
    if (g_.input_count(r) != g_.input_count(s) || g_.output_count(r) != g_.output_count(s) ||
        nodes_.count(r) != nodes_.count(s))
      return false;
    for (int k = 0; k < g_.input_count(r); ++k) {
      if (!same_type(g_.input(k, r), g_.input(k, s))) return false;
      as[g_.input(k, r)] = g_.input(k, s);
    }
    auto const is = [&](symbol x, symbol y) { return x == none || y == none ? x == y : as[x] == y; };
    for (int p = 0; p < nodes_.count(r); ++p) {
      node const &n = g_.nodes[nodes_.at(r, p)], &m = g_.nodes[nodes_.at(s, p)];
      if (n.operand_count != m.operand_count || n.result_count != m.result_count) return false;
      for (int k = 0; k < n.operand_count; ++k)
        if (!is(g_.operand(n, k), g_.operand(m, k))) return false;
      if (!same_regions(n, m, as)) return false;
      for (int k = 0; k < n.result_count; ++k) {
        if (!same_type(g_.result(n, k), g_.result(m, k))) return false;
        as[g_.result(n, k)] = g_.result(m, k);
      }
    }
    for (int k = 0; k < g_.output_count(r); ++k)
      if (!is(g_.output(k, r), g_.output(k, s))) return false;
    return true;
  }

  /// Zeros like an old symbol.
  constexpr std::int32_t zeros(symbol old) {
    tensor_symbol const& t = g_.tensors[old];
    if (t.depth > 0) {
      symbol const y = b_.symbol_of(t.type, shape_of(old), t.depth);
      (void)b_.assign(info_of<op::sequence_zero>(), nullptr, 0, &y, 1, nullptr, 0, b_.place);
      return values_.fresh(y);
    }
    std::int64_t const nothing = 0;
    return values_.fresh(b_.push(info_of<op::constant>(), nullptr, 0, &nothing, 1, t.type, shape_of(old), b_.place));
  }

  constexpr void visit_loop(std::int32_t i) {
    node const& n = g_.nodes[i];
    loop_layout const at = loop_layout::of(g_, n);
    array<std::int32_t> const x = operands_of(n);
    b_.place = n.where;
    bool const counted = x[0] != none && values_.is_constant(x[0]) && !at.has_start();
    if (counted && values_.constant_of(x[0]) <= 0 && !writes_views(n)) {
      for (int k = 0; k < at.carried; ++k) values_.set_number(g_.result(n, k), x[at.init(k)]);
      for (int k = at.carried; k < n.result_count; ++k) values_.set_number(g_.result(n, k), zeros(g_.result(n, k)));
      return;
    }
    if (found(i, x)) return;
    array<late_product> late;
    if (!writes_views(n)) late = late_.of(n);
    array<symbol> inits, scans;
    array<int> carried; // the others
    for (int k = 0, j = 0; k < at.carried; ++k) {
      if (j < late.size() && late[j].carried == k) {
        leave_out(late[j++]);
        continue;
      }
      carried.push(k);
      inits.push(values_.get(x[at.init(k)], depth()));
    }
    for (int k = 0; k < at.scanned; ++k) scans.push(values_.get(x[at.scan(k)], depth()));
    loop_builder loop(b_, {inits.data(), inits.size(), x[0] == none ? none : values_.get(x[0], depth()), at.flags,
                           scans.data(), at.scanned, at.has_start() ? values_.get(x[at.start()], depth()) : none,
                           at.tape_limit});
    bool const surely_runs = counted && values_.constant_of(x[0]) > 0 &&
                             (at.condition == none || (at.flags & loop_layout::runs_first) != 0);
    auto const enter = [&](std::int32_t region, symbol const* in) {
      values_.open(&loop, true, surely_runs && region == at.body);
      values_.set_number(g_.input(0, region), values_.fresh(in[0]));
      for (int k = 0; k < carried.size(); ++k)
        values_.set_number(g_.input(at.init(carried[k]), region), values_.fresh(in[1 + k]));
      for (int k = 0; k < at.captured; ++k) values_.set_number(g_.input(at.capture(k), region), x[at.capture(k)]);
    };
    if (at.condition != none) {
      enter(at.condition, loop.open_condition());
      visit(at.condition);
      symbol const goes_on = values_.get_old(g_.output(0, at.condition), depth());
      loop.close_condition(goes_on);
      values_.close();
    }
    symbol const* const in = loop.open_body();
    enter(at.body, in);
    for (int k = 0; k < at.scanned; ++k)
      values_.set_number(g_.input(at.scan(k), at.body), values_.fresh(in[1 + inits.size() + k]));
    visit(at.body);
    array<symbol> out, factors;
    for (int const k : carried) out.push(values_.get_old(g_.output(k, at.body), depth()));
    for (int k = 0; k < at.stacked; ++k) out.push(values_.get_old(g_.output(at.entry(k), at.body), depth()));
    for (late_product const& p : late)
      for (symbol const t : p.factor)
        if (late_.scanned(n, t) < 0 && late_products::index_of(factors, t) == factors.size()) factors.push(t);
    for (symbol const t : factors) out.push(values_.get_old(t, depth()));
    loop.close_body(out.data(), inits.size(), out.data() + inits.size(), at.stacked + factors.size());
    values_.close();
    std::int32_t const owner = loop.finish(n.where);
    if (owner == none) return;
    b_.edit().nodes[owner].flags = n.flags;
    for (int k = 0; k < carried.size(); ++k) name_result(n, carried[k], owner, loop.last(k));
    for (int k = 0; k < at.stacked; ++k) name_result(n, at.stack(k), owner, loop.stack(k));
    name_result(n, at.trips(), owner, loop.trips());
    array<term> stacks; // by factor
    for (int k = 0; k < factors.size(); ++k)
      stacks.push(extend::sequence_to_rows({&b_, loop.stack(at.stacked + k)}, shape_of_all(factors[k], late_.trips(n))));
    for (late_product const& p : late) {
      term of[2];
      for (int k = 0; k < 2; ++k)
        if (int const scan = late_.scanned(n, p.factor[k]); scan < 0) of[k] = stacks[late_products::index_of(factors, p.factor[k])];
        else of[k] = rows_of(values_.get(x[scan], depth()), shape_of_all(p.factor[k], late_.trips(n)));
      add_product(n, p, x[at.init(p.carried)], of);
    }
  }

  // ---- sums of products, after their loop

  constexpr void leave_out(late_product const& p) {
    if (left_out_.empty()) left_out_.assign(g_.node_count, false);
    left_out_[p.sum] = left_out_[p.product] = true;
  }
  /// The shape of an old value of a body, stacked.
  constexpr std::int32_t shape_of_all(symbol old, dimension trips) {
    dimensions all = g_.shape(old);
    for (int k = all.rank++; k > 0; --k) all.size[k] = all.size[k - 1];
    all.size[0] = trips;
    return b_.shape(all);
  }
  /// The entries of a sequence that a loop scans.
  constexpr term rows_of(symbol sequence, std::int32_t shape) {
    node const* const made = b_.producer(sequence);
    if (made != nullptr && made->op == info_of<op::rows_to_sequence>())
      if (term const tensor{&b_, b_.get().ids[made->first]}; tensor.shape_id() == shape) return tensor;
    return extend::sequence_to_rows({&b_, sequence}, shape);
  }
  /// Result p.carried of loop n: its initial value, and the product of the factors of all iterations.
  constexpr void add_product(node const& n, late_product const& p, std::int32_t init, term const* factors) {
    node_flags const flags = b_.flags;
    b_.flags = n.flags;
    b_.flags.merges = true;
    b_.place = g_.nodes[p.product].where;
    term matrix[2];
    for (int k = 0; k < 2; ++k) {
      dimension const trips = factors[k].dims().size[0];
      matrix[k] = op::reshape::of(factors[k], b_.shape(dimensions{2, {b_.product(trips, p.rows), p.columns[k]}}));
    }
    term sum = op::reshape::of(op::matmul::of(matrix[0], matrix[1], true, false), shape_of(g_.result(n, p.carried)));
    bool const from_zero = values_.is_constant(init) && values_.constant_of(init) == 0;
    if (!from_zero) sum = term{&b_, values_.get(init, depth())} + sum;
    b_.flags = flags;
    b_.place = n.where;
    values_.set_number(g_.result(n, p.carried), values_.fresh(sum.id));
  }

  constexpr void visit_case(std::int32_t i) {
    node const& n = g_.nodes[i];
    case_layout const at = case_layout::of(g_, n);
    array<std::int32_t> const x = operands_of(n);
    b_.place = n.where;
    if (values_.is_constant(x[0]) && !writes_views(n)) return visit_branch(n, at, x);
    if (found(i, x)) return;
    array<std::int32_t> passing; // values
    array<int> bypass(at.results, -1);
    for (int k = 0; k < at.results; ++k) {
      if (at.bypass(k) < 0) continue;
      std::int32_t const v = x[case_layout::value(at.bypass(k))];
      for (int j = 0; j < passing.size(); ++j)
        if (passing[j] == v) bypass[k] = j;
      if (bypass[k] < 0) bypass[k] = passing.push(v);
    }
    array<symbol> values;
    for (std::int32_t const v : passing) values.push(values_.get(v, depth()));
    case_builder choice(b_, values_.get(x[0], depth()), values.data(), values.size());
    for (int j = 0; j < at.branches; ++j) {
      std::int32_t const r = at.branch(j);
      symbol const* const in = choice.open_branch();
      values_.open(&choice, false);
      for (int k = 0; k < passing.size(); ++k) values_.put(passing[k], depth(), in[k]);
      for (int k = 0; k < at.values; ++k) values_.set_number(g_.input(k, r), x[case_layout::value(k)]);
      visit(r);
      array<symbol> out;
      for (int k = 0; k < at.results; ++k) out.push(values_.get_old(g_.output(k, r), depth()));
      choice.close_branch(out.data(), out.size());
      values_.close();
    }
    std::int32_t const owner = choice.finish(bypass.data(), n.where);
    if (owner == none) return;
    b_.edit().nodes[owner].flags = n.flags;
    for (int k = 0; k < at.results; ++k) name_result(n, k, owner, choice.result(k));
  }
  /// The branch that is known comes here.
  constexpr void visit_branch(node const& n, case_layout const& at, array<std::int32_t> const& x) {
    std::int64_t const index = values_.constant_of(x[0]);
    bool const one = index >= 0 && index < at.branches;
    std::int32_t const r = one ? at.branch(static_cast<int>(index)) : none;
    for (int k = 0; k < at.values && one; ++k) values_.set_number(g_.input(k, r), x[case_layout::value(k)]);
    if (one) visit(r);
    for (int k = 0; k < at.results; ++k) {
      symbol const y = one ? g_.output(k, r) : none;
      bool const passes = !one && at.bypass(k) >= 0;
      values_.set_number(g_.result(n, k), y != none ? values_.number(y)
                                  : passes  ? x[case_layout::value(at.bypass(k))]
                                            : zeros(g_.result(n, k)));
    }
  }
};

/// Loop-invariant code motion and common subexpression elimination across sub-graphs. A loop-invariant value is computed before
/// its loop if it is expensive and defined for all operands. A value that equals one outside of its loop or branch is that
/// value; equal captures, equal loops and equal choices are merged. A loop that never runs is eliminated, and a branch with a
/// constant index replaces its choice. Nodes that never merge are copied unchanged. Loops and branches must run all sub-graphs.
///
/// `sums_later`: a carried value that sums matrix products of all iterations, as the gradients of weights do, is one product after
/// its loop (transform/simplify/late_products.hpp). It takes memory for the factors, no more than the loop scans.
///
/// Value: the same bits, but for sums of products, whose terms are in the order of the iterations' numbers. Cost: linear in the
/// nodes, but for captures, each of which is looked for among those of its loop.
/// Checked: tests/runtime/hoist.cpp, tests/runtime/late_products.cpp, tests/runtime/control_interpreter.cpp.
constexpr graph hoist(graph_view const& g, bool sums_later = true) { return detail::hoisting(g, sums_later).take(); }

} // namespace cotangent::detail
COTANGENT_COLD_END

#endif
