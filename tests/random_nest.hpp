// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TESTS_RANDOM_NEST_HPP
#define COTANGENT_TESTS_RANDOM_NEST_HPP

#include "reference.hpp"

#include <cotangent/graph/window.hpp>
#include <cotangent/transform/differentiate/backward.hpp>

#include <cstdint>

// Loops and branches in each other, drawn by dice: once as such, once unrolled along the way that they take for given
// inputs. Both must agree, and so must their derivatives.

namespace reference {

/// A value in the graph, and its elements where the computation is followed.
struct followed {
  term t;
  double at[2]{};
};

inline constexpr int nest_slots = 4;
/// The kinds of statements: the codes of `combined`. The last two, a convolution and random numbers, are optional.
inline constexpr int few_codes = 9, all_codes = 11;

struct nest_state {
  followed slot[nest_slots];
};

class nest_maker {
protected:
  extend::builder& b_;
  int elements_; // 1: scalars
  bool views_ = false;
  int codes_ = few_codes;

  constexpr term decision(term x) const { return x.rank() == 0 ? x : extend::sum(x, 1); }
  constexpr double decision(followed const& x) const { return elements_ == 1 ? x.at[0] : x.at[0] + x.at[1]; }
  constexpr double tanh(double x) const { return math::tanh(x); }

  /// (x0 y1, sin x1): written in pieces from pieces, where there are views.
  constexpr followed pieced(followed const& x, followed const& y) const {
    followed r;
    r.at[0] = x.at[0] * y.at[1];
    r.at[1] = math::sin(x.at[1]);
    if (!views_) {
      term const parts[2]{extend::slice(x.t, 0, 0, 1) * extend::slice(y.t, 0, 1, 1),
                          extend::apply<op::sin>(extend::slice(x.t, 0, 1, 1))};
      r.t = {&b_, b_.push(info_of<op::concatenate>(), {parts[0].id, parts[1].id}, {0})};
      return r;
    }
    r.t = {&b_, b_.symbol_of(x.t.type(), x.t.shape_id())};
    extend::symbol const from[3]{piece(x.t, 0), piece(y.t, 1), piece(x.t, 1)}, to[2]{piece(r.t, 0), piece(r.t, 1)};
    (void)b_.assign(info_of<op::multiply>(), from, 2, to, 1, nullptr, 0);
    (void)b_.assign(info_of<op::sin>(), from + 2, 1, to + 1, 1, nullptr, 0);
    return r;
  }
  constexpr extend::symbol piece(term t, std::int64_t at) const {
    std::int64_t const step = 1;
    return detail::range_view(b_, t.id, &at, &step, extend::dimensions{1, {1}});
  }

  /// The tanh of the convolution of x, a row of pixels, with y.
  constexpr followed convolved(followed const& x, followed const& y) const {
    std::int32_t const image = b_.shape(extend::dimensions{3, {1, elements_, 1}}),
                       taps = b_.shape(extend::dimensions{4, {1, elements_, 1, 1}});
    followed r;
    r.t = extend::conv2d(op::reshape::of(x.t, image), op::reshape::of(y.t, taps),
                         {.padding = {0, elements_ - 1}, .padding_end = {0, 0}});
    r.t = op::reshape::of(extend::apply<op::tanh>(r.t), x.t.shape_id());
    r.at[0] = tanh(x.at[0] * y.at[elements_ - 1]);
    if (elements_ == 2) r.at[1] = tanh(x.at[0] * y.at[0] + x.at[1] * y.at[1]);
    return r;
  }

  constexpr followed combined(int code, followed const& x, followed const& y) const {
    term const a = x.t, c = y.t;
    followed r;
    auto const each = [&](term t, auto f) {
      r.t = t;
      for (int k = 0; k < elements_; ++k) r.at[k] = f(x.at[k], y.at[k]);
      return r;
    };
    using extend::apply;
    switch (code) {
    case 0: return each(0.7 * a + 0.3 * c, [&](double p, double q) { return 0.7 * p + 0.3 * q; });
    case 1: return each(apply<op::tanh>(a) * c, [&](double p, double q) { return tanh(p) * q; });
    case 2: return each(apply<op::sin>(a) - c, [&](double p, double q) { return math::sin(p) - q; });
    case 3:
      return each(a / (1.5 + apply<op::tanh>(c)), [&](double p, double q) { return p / (1.5 + tanh(q)); });
    case 4:
      return each(apply<op::exp>(apply<op::tanh>(a)) - 0.5,
                  [&](double p, double) { return math::exp(tanh(p)) - 0.5; });
    case 5: return each(apply<op::tanh>(a * c), [&](double p, double q) { return tanh(p * q); });
    case 6: return each(extend::constant_like(a, 0.25) - c, [&](double, double q) { return 0.25 - q; });
    case 9: return convolved(x, y);
    case 10: { // the same numbers wherever it runs again
      double u[2]{};
      for (int k = 0; k < elements_; ++k)
        u[k] = 0x1p-53 * static_cast<double>(op::random53::apply(std::int64_t{4711}, std::int64_t{k}));
      term const key = extend::constant(b_, element::int64, b_.shape({}), 4711);
      r.t = a * extend::random_uniform(key, a.shape_id(), a.type()) + 0.1 * c;
      for (int k = 0; k < elements_; ++k) r.at[k] = x.at[k] * u[k] + 0.1 * y.at[k];
      return r;
    }
    case 7:
      if (elements_ == 2) return pieced(x, y);
      [[fallthrough]];
    default: { // every element depends on all
      double const s = tanh(decision(y));
      term const whole = apply<op::tanh>(decision(c));
      return each(a * (elements_ == 1 ? whole : extend::broadcast_to(whole, a.shape_id())),
                  [&](double p, double) { return p * s; });
    }
    }
  }

public:
  constexpr nest_maker(extend::builder& b, int elements, int codes = few_codes)
      : b_(b), elements_(elements), codes_(codes) {}

  double margin = 1;       // how near a decision came to being another
  std::uint64_t marks = 0; // other than 0: statements of a graph stand in blocks that these dice draw
  bool bounds = true; // false: no pass sees how many iterations the condition of a loop allows
};

/// A random choice of a loop's properties.
struct loop_plan {
  bool carried[nest_slots]{};
  int style = 0, trips = 0, stacked = 0, into = 0, code = 0;
  double threshold = 0;
  bool stacks = false, reverse = false;
  std::uint64_t body = 0;

  constexpr explicit loop_plan(dice& d) {
    for (bool& c : carried) c = d.below(2) == 0;
    carried[d.below(nest_slots)] = true;
    style = d.below(4);
    trips = d.below(4);
    threshold = d.between(-1, 1);
    stacks = d.below(2) == 0;
    reverse = d.below(2) == 0;
    stacked = d.below(nest_slots);
    into = d.below(nest_slots);
    code = d.below(9);
    body = d.bits();
  }
  constexpr bool asks_value() const { return style == 2 || style == 3; }
};
struct case_plan {
  bool given[nest_slots]{};
  int bypass[nest_slots]{}, fixed = 0;
  bool asks_value = false;
  double low = 0, high = 0;
  std::uint64_t branch[2]{};

  constexpr explicit case_plan(dice& d) {
    for (bool& g : given) g = d.below(2) == 0;
    given[d.below(nest_slots)] = true;
    for (int& k : bypass) k = d.below(nest_slots + 1) - 1;
    fixed = d.below(4) - 1;
    asks_value = d.below(3) != 0;
    low = d.between(-1, 0.2);
    high = d.between(-0.2, 1);
    for (std::uint64_t& k : branch) k = d.bits();
  }
};

/// As loops and branches.
class nest_in_graph : public nest_maker {
public:
  constexpr nest_in_graph(extend::builder& b, int elements, int codes = few_codes) : nest_maker(b, elements, codes) {
    views_ = true;
  }
  constexpr void block(std::uint64_t seed, int depth, nest_state& v) {
    dice d(seed), m(seed + marks);
    detail::builder_scope const around(b_);
    int const statements = 3 + d.below(3);
    for (int k = 0; k < statements; ++k) {
      int const what = d.below(depth > 0 ? 4 : 2), to = d.below(nest_slots), a = d.below(nest_slots),
                c = d.below(nest_slots), code = d.below(codes_);
      if (marks != 0) mark(m.below(5), around.flags.block);
      if (what == 2) loop(loop_plan(d), depth - 1, v);
      else if (what == 3) choose(case_plan(d), depth - 1, v);
      else v.slot[to] = combined(code, v.slot[a], v.slot[c]);
    }
  }

private:
  /// From here on: a block, one inside of the last one, none; or as before.
  constexpr void mark(int how, std::int32_t around) {
    if (how == 0 || how == 2) b_.flags.block = around;
    if (how < 2) (void)b_.open_block();
  }
  constexpr void loop(loop_plan const& p, int depth, nest_state& v) {
    detail::array<extend::symbol> inits;
    for (int k = 0; k < nest_slots; ++k)
      if (p.carried[k]) inits.push(v.slot[k].t.id);
    term const limit = p.style == 0 ? extend::constant(b_, element::int64, b_.shape({}), p.trips) : term{};
    detail::loop_builder l(b_, {.inits = inits.data(),
                        .carried = inits.size(),
                        .limit = limit.id,
                        .flags = p.style == 3 ? std::int64_t{detail::loop_layout::runs_first} : std::int64_t{0}});
    auto const enter = [&](extend::symbol const* in) {
      detail::array<extend::symbol> own;
      for (int k = 0; k < inits.size(); ++k) own.push(in[1 + k]);
      nest_state inside;
      for (int k = 0, j = 0; k < nest_slots; ++k)
        inside.slot[k].t = {&b_, p.carried[k] ? own[j++] : l.capture(v.slot[k].t.id)};
      return inside;
    };
    if (p.style != 0) {
      extend::symbol const* in = l.open_condition();
      extend::symbol const count = in[0];
      nest_state const inside = enter(in);
      term const seen{&b_, count};
      term goes_on = bounds ? seen < p.trips : extend::convert(seen, element::float64) < static_cast<double>(p.trips);
      if (p.asks_value()) {
        term const low = decision(inside.slot[0].t) < p.threshold;
        goes_on = {&b_, b_.push(info_of<op::logical_and>(), {goes_on.id, low.id})};
      }
      l.close_condition(goes_on.id);
    }
    nest_state inside = enter(l.open_body());
    block(p.body, depth, inside);
    detail::array<extend::symbol> next;
    for (int k = 0; k < nest_slots; ++k)
      if (p.carried[k]) next.push(inside.slot[k].t.id);
    extend::symbol const entry = inside.slot[p.stacked].t.id;
    l.close_body(next.data(), next.size(), &entry, p.stacks ? 1 : 0);
    (void)l.finish();
    for (int k = 0, j = 0; k < nest_slots; ++k)
      if (p.carried[k]) v.slot[k].t = {&b_, l.last(j++)};
    if (!p.stacks) return;
    extend::symbol const scanned = l.stack(0), sum = v.slot[p.into].t.id;
    detail::loop_builder again(b_, {.inits = &sum,
                            .carried = 1,
                            .limit = l.trips(),
                            .flags = p.reverse ? std::int64_t{detail::loop_layout::reverse} : std::int64_t{0},
                            .scans = &scanned,
                            .scanned = 1});
    extend::symbol const* in = again.open_body();
    extend::symbol const total = in[1], slice = in[2];
    extend::symbol const more = combined(p.code, {{&b_, total}}, {{&b_, slice}}).t.id;
    again.close_body(&more, 1);
    (void)again.finish();
    v.slot[p.into].t = {&b_, again.last(0)};
  }

  constexpr void choose(case_plan const& p, int depth, nest_state& v) {
    term index = extend::constant(b_, element::int64, b_.shape({}), p.fixed);
    if (p.asks_value) {
      term const x = decision(v.slot[0].t);
      index = extend::convert(x > p.low, element::int64) + extend::convert(x > p.high, element::int64) - 1;
    }
    extend::symbol passed[nest_slots]{};
    for (int k = 0; k < nest_slots; ++k) passed[k] = v.slot[k].t.id;
    detail::case_builder c(b_, index.id, passed, nest_slots);
    detail::array<int> bypass;
    for (int k = 0; k < nest_slots; ++k)
      if (p.given[k]) bypass.push(p.bypass[k]);
    for (std::uint64_t const seed : p.branch) {
      extend::symbol const* in = c.open_branch();
      nest_state inside;
      for (int k = 0; k < nest_slots; ++k) inside.slot[k].t = {&b_, in[k]};
      block(seed, depth, inside);
      detail::array<extend::symbol> results;
      for (int k = 0; k < nest_slots; ++k)
        if (p.given[k]) results.push(inside.slot[k].t.id);
      c.close_branch(results.data(), results.size());
    }
    (void)c.finish(bypass.data());
    for (int k = 0, j = 0; k < nest_slots; ++k)
      if (p.given[k]) v.slot[k].t = {&b_, c.result(j++)};
  }
};

/// Along the way that it takes.
class nest_unrolled : public nest_maker {
public:
  using nest_maker::nest_maker;
  constexpr void block(std::uint64_t seed, int depth, nest_state& v) {
    dice d(seed);
    int const statements = 3 + d.below(3);
    for (int k = 0; k < statements; ++k) {
      int const what = d.below(depth > 0 ? 4 : 2), to = d.below(nest_slots), a = d.below(nest_slots),
                c = d.below(nest_slots), code = d.below(codes_);
      if (what == 2) loop(loop_plan(d), depth - 1, v);
      else if (what == 3) choose(case_plan(d), depth - 1, v);
      else v.slot[to] = combined(code, v.slot[a], v.slot[c]);
    }
  }

private:
  constexpr bool less(double a, double b) {
    double const d = a < b ? b - a : a - b;
    if (d < margin) margin = d;
    return a < b;
  }
  constexpr void loop(loop_plan const& p, int depth, nest_state& v) {
    detail::array<followed> entries;
    for (int count = 0;; ++count) {
      if (!(p.style == 3 && count == 0)) {
        if (count >= p.trips) break;
        if (p.asks_value() && !less(decision(v.slot[0]), p.threshold)) break;
      }
      nest_state inside = v;
      block(p.body, depth, inside);
      for (int k = 0; k < nest_slots; ++k)
        if (p.carried[k]) v.slot[k] = inside.slot[k];
      entries.push(inside.slot[p.stacked]);
    }
    for (int k = 0; p.stacks && k < entries.size(); ++k)
      v.slot[p.into] = combined(p.code, v.slot[p.into], entries[p.reverse ? entries.size() - 1 - k : k]);
  }
  constexpr void choose(case_plan const& p, int depth, nest_state& v) {
    int index = p.fixed;
    if (p.asks_value) {
      double const x = decision(v.slot[0]);
      bool const above_low = !less(x, p.low), above_high = !less(x, p.high);
      index = int{above_low} + int{above_high} - 1;
    }
    nest_state inside = v;
    if (index >= 0 && index < 2) block(p.branch[index], depth, inside);
    for (int k = 0; k < nest_slots; ++k) {
      if (!p.given[k]) continue;
      if (index >= 0 && index < 2) continue;
      inside.slot[k] =
          p.bypass[k] < 0 ? followed{extend::constant_like(v.slot[k].t, 0)} : v.slot[p.bypass[k]];
    }
    for (int k = 0; k < nest_slots; ++k)
      if (p.given[k]) v.slot[k] = inside.slot[k];
  }
};

/// A function of four values: its value, its gradient, and the gradient of something made of that.
template <class Maker> struct nest {
  extend::builder b;
  extend::symbol x[nest_slots]{};
  double margin = 1;

  constexpr nest(std::uint64_t seed, int depth, int elements, element e, double const* at, int orders = 2,
                 detail::tape_options const& tape = {}, int codes = few_codes, std::uint64_t marks = 0, bool bounds = true) {
    std::int32_t const shape = elements == 1 ? b.shape({}) : b.shape(extend::dimensions{1, {elements}});
    nest_state v;
    for (int k = 0; k < nest_slots; ++k) {
      x[k] = b.symbol_of(e, shape);
      v.slot[k].t = {&b, x[k]};
      for (int j = 0; j < elements; ++j) v.slot[k].at[j] = at[k * elements + j];
    }
    b.set_inputs(x, nest_slots);
    Maker maker(b, elements, codes);
    maker.marks = marks;
    maker.bounds = bounds;
    maker.block(seed, depth, v);
    margin = maker.margin;
    detail::array<extend::symbol> outputs;
    term loss = sum_of(v.slot[0].t);
    for (int k = 1; k < nest_slots; ++k) loss = loss + (k + 1) * 0.3 * sum_of(v.slot[k].t);
    outputs.push(loss.id);
    for (int order = 0; order < orders; ++order) {
      extend::symbol d[nest_slots]{};
      detail::gradient(b, {.outputs = &loss.id, .output_count = 1, .wrt = x, .wrt_count = nest_slots, .tape = tape}, d);
      for (int k = 0; k < nest_slots; ++k) {
        outputs.push(d[k]);
        term const t{&b, d[k]};
        term const part = sum_of(t * (0.5 + 0.1 * k) + 0.1 * (t * t));
        loss = k == 0 ? part : loss + part;
      }
    }
    b.set_outputs(outputs.data(), outputs.size());
  }

private:
  static constexpr term sum_of(term t) { return t.rank() == 0 ? t : extend::sum(t, 1); }
};

} // namespace reference

#endif
