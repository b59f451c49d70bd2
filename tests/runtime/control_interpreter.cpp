// SPDX-License-Identifier: BSL-1.0
// The interpreter against the evaluation element by element, on nests of loops and branches and their gradients.
#include "catch.hpp"

#include "../nest_runs.hpp"
#include "../random_nest.hpp"

#include <cotangent/transform/pipeline.hpp>

#include <cmath>
#include <initializer_list>
#include <utility>
#include <vector>

using namespace cotangent;

using namespace nest_runs;

TEST_CASE("the interpreter runs nests of loops and branches and their second gradients") {
  int const depth = GENERATE(1, 2, 3);
  int convolutions = 0, drawn = 0, fused = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    CAPTURE(depth, seed);
    reference::dice d(seed + 31);
    int const elements = 1 + static_cast<int>(seed % 2); // with two, views are read and written
    std::vector<double> at;
    for (int k = 0; k < reference::nest_slots * elements; ++k) at.push_back(d.between(-1, 1));
    int const codes = seed % 3 == 0 ? reference::all_codes : reference::few_codes;
    reference::nest<reference::nest_in_graph> const nested(seed + 5000, depth, elements, element::float64,
                                                           at.data(), 2, {}, codes);
    reference::nest<reference::nest_unrolled> const unrolled(seed + 5000, depth, elements, element::float64,
                                                             at.data(), 2, {}, codes);
    if (unrolled.margin < 1e-6) continue; // a decision that rounding can turn
    for (extend::node const& n : nested.b.get().nodes) {
      convolutions += n.op == info_of<op::conv2d>();
      drawn += n.op == info_of<op::random53>();
    }
    graph const fused_graph = detail::simplify(nested.b.get(), {.rewrite = true, .fuse_multiply_add = true});
    for (extend::node const& n : fused_graph.nodes) fused += elements == 2 && n.op == info_of<op::multiply_add>();
    for (graph const& g : {nested.b.get(), detail::simplify(nested.b.get()), fused_graph}) {
      interpreter const p(g);
      if (p.failed().why != nullptr) FAIL(p.failed().why->text);
      std::vector<double> const b = evaluated_element_by_element(g, p, at);
      detail::tape record;
      for (int run = 0; run < 2; ++run) { // the tape of a run before is used again
        std::vector<double> const a = interpreted(p, at, record);
        for (std::size_t k = 0; k < b.size(); ++k)
          REQUIRE(std::fabs(a[k] - b[k]) <= 1e-10 * (1 + std::fabs(b[k])));
      }
    }
  }
  CHECK(convolutions > 10);
  CHECK(drawn > 10);
  CHECK(fused > 10); // in graphs with views
}

TEST_CASE("steps in an order of lower peak compute the same bits") {
  std::int64_t in_order = 0, chosen = 0;
  int lower = 0;
  auto const compare = [&](graph const& g, std::vector<double> const& at) {
    interpreter const p(g, nullptr, operations<>{}, {.in_order = true});
    interpreter const q(g);
    REQUIRE(p.failed().why == nullptr);
    detail::tape record;
    REQUIRE(interpreted(p, at, record) == interpreted(q, at, record));
    REQUIRE(q.value_bytes() <= p.value_bytes());
    in_order += p.value_bytes();
    chosen += q.value_bytes();
    lower += q.value_bytes() < p.value_bytes();
  };
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    reference::dice d(seed + 31);
    int const elements = 1 + static_cast<int>(seed % 2);
    std::vector<double> at;
    for (int k = 0; k < reference::nest_slots * elements; ++k) at.push_back(d.between(-1, 1));
    compare(reference::nest<reference::nest_in_graph>(seed + 9000, 2, elements, element::float64, at.data())
                .b.get(),
            at);
  }
  // branches of products that are wide in between, side by side in the graph
  for (int const branches : {2, 5, 30}) {
    extend::builder b;
    auto const shaped = [&](extend::dimension rows, extend::dimension columns) {
      return b.shape(extend::dimensions{2, {rows, columns}});
    };
    term const column{&b, b.symbol_of(element::float64, shaped(16, 2))},
        row{&b, b.symbol_of(element::float64, shaped(2, 16))};
    extend::symbol const inputs[]{column.id, row.id};
    b.set_inputs(inputs, 2);
    std::vector<term> wide;
    for (int k = 0; k < branches; ++k) wide.push_back(extend::matmul(column * (0.5 + k), row));
    term sum = extend::matmul(wide[0], column);
    for (std::size_t k = 1; k < wide.size(); ++k) sum = sum + extend::matmul(wide[k], column);
    b.set_outputs(&sum.id, 1);
    std::vector<double> at;
    for (int k = 0; k < 64; ++k) at.push_back(0.1 * k - 0.7);
    compare(b.get(), at);
    interpreter const p(b.get());
    CHECK(p.value_bytes() <= 16 * 16 * 8 + (2 * branches + 3) * 16 * 2 * 8);
  }
  CHECK(chosen < in_order);
  CHECK(lower > 3);
}

namespace {

/// The next carried value of a loop: a carried value; the captured one; half of one and another; the same reversed, which
/// cannot overwrite its operand; the next value of an earlier one.
struct next_value {
  enum form { carried, captured, computed, turned, same } is = carried;
  int of = 0, and_of = 0;
};
using rules = std::vector<next_value>;

/// With `records`, each iteration records its initial and its final values; with `asks` a condition ends the loop; with
/// `nested` the loop runs a second time, from its results.
struct carried_loop {
  rules body;
  int elements = 1;
  bool asks = false, nested = false;
  enum { nothing, begins, both } records = nothing;

  /// One iteration, element by element.
  std::vector<std::vector<double>> step(std::vector<std::vector<double>> const& x,
                                        std::vector<double> const& w) const {
    std::vector<std::vector<double>> y;
    for (next_value const& r : body) {
      auto const& a = x[static_cast<std::size_t>(r.of)];
      auto const& b = x[static_cast<std::size_t>(r.and_of)];
      if (r.is == next_value::carried) y.push_back(a);
      else if (r.is == next_value::captured) y.push_back(w);
      else if (r.is == next_value::same) y.push_back(std::vector<double>(y[static_cast<std::size_t>(r.of)]));
      else {
        std::vector<double> z(a.size());
        for (std::size_t k = 0; k < z.size(); ++k)
          z[k] = 0.5 * a[r.is == next_value::turned ? z.size() - 1 - k : k] + b[k];
        y.push_back(z);
      }
    }
    return y;
  }

  graph made(int trips) const {
    extend::builder b;
    int const n = static_cast<int>(body.size());
    detail::array<extend::symbol> inputs;
    for (int k = 0; k <= n; ++k)
      inputs.push(b.symbol_of(element::float64, b.shape(extend::dimensions{1, {elements}})));
    extend::symbol const times = b.symbol_of(element::int64, 0);
    inputs.push(times);
    b.set_inputs(inputs.data(), inputs.size());
    detail::array<extend::symbol> first;
    for (int k = 0; k < n; ++k) first.push(inputs[k]);
    detail::array<extend::symbol> out, recorded;
    extend::symbol const known = extend::constant(b, element::int64, 0, trips).id;
    if (!nested) out = loop_over(b, first, inputs[n], asks ? extend::none : known, times, recorded);
    else {
      extend::symbol const twice = extend::constant(b, element::int64, 0, 2).id;
      detail::loop_builder outer(b, {.inits = first.data(), .carried = n, .limit = twice});
      extend::symbol const* const in = outer.open_body();
      detail::array<extend::symbol> x, unused;
      for (int k = 0; k < n; ++k) x.push(in[1 + k]);
      extend::symbol const w = outer.capture(inputs[n]), limit = asks ? extend::none : outer.capture(known),
                   until = outer.capture(times);
      detail::array<extend::symbol> const next = loop_over(b, x, w, limit, until, unused);
      outer.close_body(next.data(), n);
      (void)outer.finish();
      for (int k = 0; k < n; ++k) out.push(outer.last(k));
    }
    for (int k = 0; k < recorded.size(); ++k) out.push(recorded[k]);
    b.set_outputs(out.data(), out.size());
    REQUIRE(b.failed().why == nullptr);
    return b.get();
  }

private:
  detail::array<extend::symbol> loop_over(extend::builder& b, detail::array<extend::symbol> const& first, extend::symbol w, extend::symbol limit, extend::symbol until,
                          detail::array<extend::symbol>& sums) const {
    int const n = first.size();
    detail::loop_builder loop(b, {.inits = first.data(), .carried = n, .limit = limit});
    if (asks) {
      extend::symbol const* const in = loop.open_condition();
      term const count{&b, in[0]};
      term const end{&b, loop.capture(until)};
      loop.close_condition((count < end).id);
    }
    extend::symbol const* const in = loop.open_body();
    detail::array<term> x;
    for (int k = 0; k < n; ++k) x.push({&b, in[1 + k]});
    term const seen{&b, loop.capture(w)};
    detail::array<extend::symbol> next, entries;
    for (next_value const& r : body) {
      term y = x[r.of];
      if (r.is == next_value::captured) y = seen;
      else if (r.is == next_value::same) y = {&b, next[r.of]};
      else if (r.is == next_value::computed) y = 0.5 * x[r.of] + x[r.and_of];
      else if (r.is == next_value::turned) {
        std::int64_t const window[]{elements - 1, -1};
        y = 0.5 * op::slice::of(x[r.of], window, x[r.of].shape_id()) + x[r.and_of];
      }
      next.push(y.id);
    }
    for (int k = 0; records != nothing && k < n; ++k) entries.push(in[1 + k]);
    for (int k = 0; records == both && k < n; ++k) entries.push(next[k]);
    loop.close_body(next.data(), n, entries.data(), entries.size());
    (void)loop.finish();
    detail::array<extend::symbol> last;
    for (int k = 0; k < n; ++k) last.push(loop.last(k));
    for (int e = 0; e < entries.size(); ++e) { // read again, in the same order, weighted by the count
      extend::symbol const zero = extend::constant(b, element::float64, b.tensor(first[0]).shape, 0).id;
      extend::symbol const stack = loop.stack(e), trips = loop.trips();
      detail::loop_builder reading(b, {.inits = &zero, .carried = 1, .limit = trips, .scans = &stack, .scanned = 1});
      extend::symbol const* const at = reading.open_body();
      extend::symbol const sum = (0.5 * term{&b, at[1]} + term{&b, at[2]}).id;
      reading.close_body(&sum, 1);
      (void)reading.finish();
      sums.push(reading.last(0));
    }
    return last;
  }
};

struct counted {
  std::vector<std::vector<double>> values;
  std::int64_t moved = 0; // bytes of carried values that were copied
};
/// A run in which what loops copy is counted.
counted run_counted(interpreter const& p, std::vector<std::vector<double>> const& x, std::int64_t trips) {
  namespace inside = detail::interpret;
  counted r;
  auto const bytes = static_cast<std::size_t>((p.workspace_bytes() + 64) / 64 * 64);
  std::unique_ptr<void, release> const memory(std::aligned_alloc(64, bytes));
  inside::region_code const& code = p.codes()[0];
  char** const bases = code.begin(memory.get(), static_cast<char*>(memory.get()) + code.table_bytes);
  char** next = bases + inside::base::first_argument;
  for (auto const& v : x) *next++ = reinterpret_cast<char*>(const_cast<double*>(v.data()));
  *next++ = reinterpret_cast<char*>(&trips);
  r.values.resize(static_cast<std::size_t>(p.output_count()));
  for (int k = 0; k < p.output_count(); ++k) {
    auto& to = r.values[static_cast<std::size_t>(k)];
    to.resize(static_cast<std::size_t>(p.output_elements(k)), -7);
    *next++ = reinterpret_cast<char*>(to.data());
  }
  detail::tape record;
  record.begin();
  inside::run_context c = inside::context_of(p.codes(), bases, &record);
  for (inside::step const& s : code.program.steps) s.run(code.program, s.which, c);
  record.end();
  REQUIRE(c.state == status::ok);
  r.moved = c.moved;
  return r;
}

std::vector<std::vector<double>> first_values(std::size_t count, int elements) {
  std::vector<std::vector<double>> x(count);
  for (std::size_t k = 0; k < count; ++k)
    for (int i = 0; i < elements; ++i) x[k].push_back(double(k) + 1 + 0.25 * i);
  return x;
}

/// The bytes that `l` copies in n iterations, after its results were checked.
std::int64_t checked(carried_loop const& l, int trips) {
  graph const g = l.made(trips);
  interpreter const p(g);
  REQUIRE(p.failed().why == nullptr);
  std::vector<std::vector<double>> x = first_values(l.body.size() + 1, l.elements);
  counted const found = run_counted(p, x, trips);
  std::vector<double> const w = x.back();
  x.pop_back();
  auto const halved = [](std::vector<double>& sum, std::vector<double> const& add) {
    for (std::size_t k = 0; k < sum.size(); ++k) sum[k] = 0.5 * sum[k] + add[k];
  };
  std::vector<std::vector<double>> sums(2 * x.size(), std::vector<double>(w.size(), 0));
  for (int i = 0; i < (l.nested ? 2 * trips : trips); ++i) {
    std::vector<std::vector<double>> const y = l.step(x, w);
    for (std::size_t k = 0; k < x.size(); ++k) {
      halved(sums[k], x[k]);
      halved(sums[x.size() + k], y[k]);
    }
    x = y;
  }
  sums.resize(x.size() * static_cast<std::size_t>(l.records));
  x.insert(x.end(), sums.begin(), sums.end());
  CAPTURE(trips, l.elements, l.asks, l.nested, l.records, l.body.size());
  REQUIRE(found.values == x);
  return found.moved;
}

/// The body's code of the graph's first loop.
detail::interpret::program_data const& body_of(interpreter const& p) {
  return p.codes()[p.codes()[0].program.loops[0].body].program;
}

} // namespace

TEST_CASE("carried values that are handed on, crossed, chained and duplicated are right after any number "
          "of iterations") {
  using enum next_value::form;
  std::vector<rules> all{
      {{computed, 0, 0}},
      {{turned, 0, 0}},
      {{carried, 1}, {carried, 0}},
      {{carried, 1}, {computed, 0, 1}},
      {{carried, 0}, {computed, 0, 1}},
      {{carried, 1}, {carried, 2}, {carried, 0}},
      {{carried, 1}, {carried, 2}, {computed, 0, 1}},
      {{carried, 1}, {carried, 2}, {turned, 0, 1}},
      {{carried, 1}, {carried, 2}, {carried, 3}, {turned, 2, 3}},
      {{carried, 1}, {carried, 2}, {carried, 3}, {carried, 4}, {carried, 5}, {turned, 0, 5}},
      {{carried, 1}, {computed, 0, 1}, {carried, 1}, {carried, 2}},
      {{computed, 0, 1}, {same, 0}},
      {{turned, 1, 0}, {same, 0}, {carried, 1}},
      {{captured}, {computed, 0, 1}, {carried, 0}},
      {{computed, 1, 0}, {turned, 0, 1}, {carried, 0}, {carried, 1}, {carried, 2}},
  };
  reference::dice d(11);
  for (int k = 0; k < 60; ++k) {
    rules r;
    int const n = 1 + d.below(5);
    for (int j = 0; j < n; ++j) {
      next_value v;
      v.is = next_value::form(d.below(j > 0 ? 5 : 4));
      v.of = d.below(v.is == same ? j : n);
      v.and_of = d.below(n);
      r.push_back(v);
    }
    all.push_back(r);
  }
  int which = 0;
  for (rules const& r : all) {
    CAPTURE(which);
    ++which;
    for (int trips = 0; trips < 8; ++trips)
      for (int const kind : {0, 1, 2, 3, 4, 5, 6, 7}) {
        int const elements[]{1, 3, 16, 37};
        carried_loop l{r, elements[(which + trips) % 4], kind % 2 == 1, kind / 2 == 1};
        if (kind > 3) l.records = kind > 5 ? carried_loop::both : carried_loop::begins;
        (void)checked(l, trips);
      }
  }
}

TEST_CASE("an iteration of a loop copies no carried value") {
  using enum next_value::form;
  constexpr int n = 50;
  constexpr std::int64_t one = 8 * n;
  auto const loop = [](rules const& r, bool asks) { return carried_loop{r, n, asks}; };
  rules const power{{computed, 0, 0}}, turn{{turned, 0, 0}}, sums{{carried, 1}, {computed, 0, 1}},
      chain{{carried, 1}, {carried, 2}, {turned, 0, 1}}, circle{{carried, 1}, {carried, 2}, {carried, 0}},
      twice{{computed, 0, 1}, {same, 0}};
  for (int const trips : {3, 4, 5, 6, 7, 60, 61}) { // known: all is written where the results belong
    CHECK(checked(loop(power, false), trips) == 0);
    CHECK(checked(loop(turn, false), trips) == 0);
    CHECK(checked(loop(sums, false), trips) == 0);
    CHECK(checked(loop(chain, false), trips) == 0);
    CHECK(checked(loop(circle, false), trips) == 3 * one); // initial values, which stay unchanged
    CHECK(checked(loop(twice, false), trips) == one);      // two results do not share memory
    CHECK(checked(loop(power, true), trips) == 0);
    CHECK(checked(loop(turn, true), trips) == (trips % 2 == 1 ? 0 : one));
    CHECK(checked(loop(sums, true), trips) <= 3 * one);
    CHECK(checked(loop(chain, true), trips) <= 4 * one);
  }
  CHECK(checked(loop(sums, false), 0) == 2 * one);
  CHECK(checked(loop(sums, false), 1) == one); // a is the previous b
  // the prepared form: the body only computes, in place if the operand has no other reader
  auto const places = [&](rules const& r, int steps) {
    graph const g = loop(r, false).made(5);
    interpreter const p(g);
    detail::interpret::program_data const& body = body_of(p);
    CHECK(body.moves.empty());
    CHECK(body.steps.size() == steps);
    int all = 0;
    for (auto const& ring : p.codes()[0].program.rings) all += ring.places.count;
    return all;
  };
  CHECK(places(power, 1) == 1);
  CHECK(places(turn, 1) == 2);
  CHECK(places(sums, 1) == 2); // b is written over a
  CHECK(places(chain, 1) == 4);
  CHECK(places(circle, 0) == 0);
  CHECK(places(twice, 1) == 1);
}

TEST_CASE("initial values of iterations are computed in their record, and are not copied to the tape") {
  using enum next_value::form;
  constexpr int n = 50;
  constexpr std::int64_t one = 8 * n;
  for (bool const asks : {false, true})
    for (int const trips : {1, 2, 3, 8, 9, 60}) {
      auto const moved = [&](rules const& r) {
        carried_loop l{r, n, asks};
        l.records = carried_loop::begins;
        return checked(l, trips);
      };
      CAPTURE(asks, trips);
      // the first values; where nobody knows that it is the last iteration, also the last ones; where the tape takes more
      // memory, once for each time
      std::int64_t const known = asks ? 0 : 1, grows = asks ? 4 : 0;
      CHECK(moved({{computed, 0, 0}}) >= one);
      CHECK(moved({{computed, 0, 0}}) <= one * (2 - known + grows));
      CHECK(moved({{turned, 0, 0}}) <= one * (2 - known + grows));
      if (!asks) CHECK(moved({{turned, 0, 0}}) == one);
    }
  // that of a reverse loop, which reads what is recorded and sums, is the first values' alone
  carried_loop l{{{computed, 0, 0}}, n, false};
  l.records = carried_loop::begins;
  graph const g = l.made(5);
  interpreter const p(g);
  CHECK(body_of(p).steps.size() == 1);
  CHECK(body_of(p).moves.empty());
  for (auto const& ring : p.codes()[0].program.rings) CHECK(ring.places.count == 1);
}
