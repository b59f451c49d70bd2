// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"
#include "reference.hpp"

#include <cotangent/run/interpreter/interpreter.hpp>

#include <cmath>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

// Elementwise operations run in one of three forms: over slots of a frame (short shapes), block by block in registers (cheap
// operations), or tile by tile. Each form gives the bits of single operations, at every length and in place.

namespace {

using namespace cotangent;
using reference::dice;
using reference::values;
namespace interpret = cotangent::detail::interpret;

constexpr double tolerance = math::is_fast ? 1e-5 : 0;

bool same(extend::scalar const& a, extend::scalar const& b) {
  if (!is_floating(a.type)) return a.integer == b.integer;
  if (math::is_nan(a.real) || math::is_nan(b.real)) return math::is_nan(a.real) && math::is_nan(b.real);
  return a.real == b.real || std::abs(a.real - b.real) <= tolerance * (1 + std::abs(b.real));
}

/// Exactly the bytes of an array, with guards on both sides, aligned to one element only.
struct memory {
  std::vector<char> bytes;
  std::size_t n = 0, at = 0;
  element type{};

  memory(element e, int count)
      : n(static_cast<std::size_t>(count) * size_of(e)), at(64 + size_of(e)), type(e) {
    bytes.assign(n + at + 64, 0x5a);
  }
  memory(element e, values const& v) : memory(e, v.size()) {
    for (int i = 0; i < v.size(); ++i) interpret::write(e, data(), i, v[i]);
  }
  char* data() { return bytes.data() + at; }
  bool guarded() const {
    for (std::size_t i = 0; i < bytes.size(); ++i)
      if ((i < at || i >= at + n) && bytes[i] != 0x5a) return false;
    return true;
  }
  int differences(values const& wanted) {
    int r = 0;
    for (int i = 0; i < wanted.size(); ++i) r += same(interpret::read(type, data(), i), wanted[i]) ? 0 : 1;
    return r;
  }
};

struct workspace {
  void* data;
  explicit workspace(interpreter const& p)
      : data(::operator new(static_cast<std::size_t>(p.workspace_bytes()), std::align_val_t{64})) {
    std::memset(data, 0xff, static_cast<std::size_t>(p.workspace_bytes())); // NaN
  }
  workspace(workspace const&) = delete;
  workspace& operator=(workspace const&) = delete;
  ~workspace() { ::operator delete(data, std::align_val_t{64}); }
};

/// Operations drawn at random over one shape, most of them cheap.
struct random_chain {
  extend::builder b;
  dice d;
  std::int32_t shape;
  std::vector<extend::symbol> inputs, outputs;
  std::vector<term> numbers, masks;

  random_chain(std::uint64_t seed, element e, std::int64_t n, int nodes, int exotic)
      : d(seed), shape(b.shape({1, {n}})) {
    for (int k = 0; k < 3; ++k) numbers.push_back(input(e, shape));
    numbers.push_back(extend::apply<op::add>(numbers[0], input(e, b.shape({})))); // one element for all
    masks.push_back(input(element::boolean, shape));
    for (int k = 0; k < nodes; ++k) next(exotic);
    for (int k = 0; k < 3; ++k) outputs.push_back(recent().id);
    outputs.push_back(numbers.back().id);
    outputs.push_back(masks.back().id);
    b.set_inputs(inputs.data(), static_cast<int>(inputs.size()));
    b.set_outputs(outputs.data(), static_cast<int>(outputs.size()));
  }
  term input(element e, std::int32_t s) {
    inputs.push_back(b.symbol_of(e, s));
    return {&b, inputs.back()};
  }
  term any() { return numbers[static_cast<std::size_t>(d.below(static_cast<int>(numbers.size())))]; }
  term recent() {
    int const n = static_cast<int>(numbers.size());
    return numbers[static_cast<std::size_t>(n - 1 - d.below(n < 4 ? n : 4))];
  }
  term mask() { return masks[static_cast<std::size_t>(d.below(static_cast<int>(masks.size())))]; }
  void next(int exotic) {
    term const x = recent(), y = any();
    term const small = extend::constant_like(x, d.between(-1, 1));
    if (d.below(100) < exotic) {
      switch (d.below(3)) {
      case 0: return numbers.push_back(extend::apply<op::tanh>(x));
      case 1: return numbers.push_back(x - extend::max(y, 1u));
      default: return numbers.push_back(extend::convert(extend::convert(x, element::float32), x.type()));
      }
    }
    switch (d.below(19)) {
    case 0: return numbers.push_back(x + y);
    case 1: return numbers.push_back(x - y);
    case 2: return numbers.push_back(y - x);
    case 3: return numbers.push_back(x * small);
    case 4: return numbers.push_back(extend::apply<op::multiply_add>(x, small, y));
    case 5: return numbers.push_back(extend::apply<op::multiply_add>(small, y, x));
    case 6: return numbers.push_back(extend::apply<op::multiply_add>(small, small, x));
    case 7: return numbers.push_back(-extend::apply<op::abs>(x));
    case 8: return numbers.push_back(extend::apply<op::max>(x, y));
    case 9: return numbers.push_back(extend::apply<op::min>(small, x));
    case 10: return numbers.push_back(extend::apply<op::relu>(x));
    case 11: return numbers.push_back(extend::apply<op::square>(extend::apply<op::sign>(x)) + small);
    case 12: return numbers.push_back(x / (2 + extend::apply<op::abs>(y)));
    case 13: return numbers.push_back(extend::apply<op::sqrt>(extend::apply<op::abs>(x)));
    case 14: return masks.push_back(x > y);
    case 15: return masks.push_back(extend::apply<op::less_equal>(small, x));
    case 16: return numbers.push_back(extend::select(mask(), x, y));
    case 17: return numbers.push_back(extend::select(x > small, y, small));
    default: return numbers.push_back(extend::select(mask(), small, x));
    }
  }
};

interpreter_memory const apart{.results_apart = true, .own_inputs = {}, .own_outputs = {}};

/// Runs a graph, with results in new memory, and finds what the reference says.
void compare(random_chain& t) {
  extend::graph_view const g = t.b.get();
  REQUIRE(t.b.failed().why == nullptr);
  detail::array<values> const given = reference::inputs_of(g, t.d, -2, 2);
  detail::array<values> const wanted = reference::evaluate(g, given);
  interpreter const p(g);
  REQUIRE(p.failed().why == nullptr);
  std::vector<memory> in, out;
  std::vector<void const*> from;
  std::vector<void*> to;
  for (int k = 0; k < g.input_count(); ++k) in.emplace_back(g.tensors[g.input(k)].type, given[k]);
  for (int k = 0; k < g.output_count(); ++k) out.emplace_back(g.tensors[g.output(k)].type, wanted[k].size());
  for (memory& m : in) from.push_back(m.data());
  for (memory& m : out) to.push_back(m.data());
  workspace const w(p);
  REQUIRE(p.run(from.data(), to.data(), w.data) == status::ok);
  for (int k = 0; k < g.output_count(); ++k) {
    CAPTURE(k);
    REQUIRE(out[static_cast<std::size_t>(k)].differences(wanted[k]) == 0);
    REQUIRE(out[static_cast<std::size_t>(k)].guarded());
  }
  for (int k = 0; k < g.input_count(); ++k)
    REQUIRE(in[static_cast<std::size_t>(k)].differences(given[k]) == 0);
}

/// Puts one result in the place of an input, where that may be, and finds what the reference says: how often that was.
int compare_in_place(random_chain& t) {
  extend::graph_view const g = t.b.get();
  detail::array<values> const given = reference::inputs_of(g, t.d, -2, 2);
  detail::array<values> const wanted = reference::evaluate(g, given);
  interpreter const p(g, nullptr, operations<>{}, apart);
  workspace const w(p);
  int replaced = 0;
  for (int k = 0; k < g.output_count(); ++k)
    for (int j = 0; j < g.input_count(); ++j) {
      bool const equal =
          g.tensors[g.output(k)].type == g.tensors[g.input(j)].type && wanted[k].size() == given[j].size();
      if (!equal || !p.may_replace(k, j)) continue;
      CAPTURE(k, j);
      ++replaced;
      std::vector<memory> in, out;
      std::vector<void const*> from;
      std::vector<void*> to;
      for (int i = 0; i < g.input_count(); ++i) in.emplace_back(g.tensors[g.input(i)].type, given[i]);
      for (int i = 0; i < g.output_count(); ++i)
        out.emplace_back(g.tensors[g.output(i)].type, wanted[i].size());
      for (memory& m : in) from.push_back(m.data());
      for (memory& m : out) to.push_back(m.data());
      to[static_cast<std::size_t>(k)] = in[static_cast<std::size_t>(j)].data();
      REQUIRE(p.run(from.data(), to.data(), w.data) == status::ok);
      for (int i = 0; i < g.output_count(); ++i)
        REQUIRE((i == k ? in[static_cast<std::size_t>(j)] : out[static_cast<std::size_t>(i)])
                    .differences(wanted[i]) == 0);
    }
  return replaced;
}

constexpr std::int64_t lengths[]{1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 200, 1000, 1100};

} // namespace

TEST_CASE("chains of cheap operations have the bits of single operations, at every length") {
  for (element const e : {element::float64, element::float32})
    for (std::int64_t const n : lengths)
      for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        CAPTURE(name_of(e), n, seed);
        random_chain t(seed, e, n, 8 + static_cast<int>(seed) * 6, 0);
        compare(t);
      }
}

TEST_CASE("cheap operations run as one segment, or as one short group") {
  for (std::int64_t const n : {1, 4, 1000}) {
    CAPTURE(n);
    extend::builder b;
    std::int32_t const shape = b.shape({1, {n}});
    extend::symbol const in[]{b.symbol_of(element::float64, shape)};
    term const x{&b, in[0]};
    term y = extend::apply<op::multiply_add>(x, x, x) - x;
    y = extend::apply<op::max>(y * x, extend::apply<op::min>(x, -y)) / (x + y);
    y = extend::apply<op::sqrt>(extend::apply<op::abs>(extend::apply<op::square>(y) + extend::apply<op::reciprocal>(x)));
    y = extend::select(y > x, extend::apply<op::relu>(y), extend::apply<op::sign>(extend::apply<op::floor>(x)));
    y = extend::select(extend::apply<op::less_equal>(x, y), y, x);
    b.set_inputs(in, 1);
    b.set_outputs(&y.id, 1);
    interpreter const p(b.get());
    auto const& program = p.codes()[0].program;
    CHECK(program.steps.size() == 1);
    CHECK(program.work.size() == 1);
    CHECK(program.segments.size() == (n == 1000 ? 1 : 0));
    CHECK(program.shorts.empty() == (n == 1000));
  }
}

TEST_CASE("cheap operations are mixed with expensive ones") {
  for (element const e : {element::float64, element::float32})
    for (std::int64_t const n : {1, 3, 7, 8, 16, 64, 130, 1030})
      for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        CAPTURE(name_of(e), n, seed);
        random_chain t(seed, e, n, 40, 5 + 4 * static_cast<int>(seed));
        compare(t);
      }
}

TEST_CASE("a chain may be longer than one segment") {
  for (std::int64_t const n : {1, 3, 8, 90, 700})
    for (std::uint64_t seed = 77; seed < 83; ++seed) {
      CAPTURE(n, seed);
      random_chain t(seed, element::float64, n, 900, 0);
      compare(t);
    }
}

TEST_CASE("a result replaces an input that is dead") {
  int replaced = 0, graphs = 0;
  for (element const e : {element::float64, element::float32})
    for (std::int64_t const n : {1, 2, 7, 8, 100, 1030})
      for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        CAPTURE(name_of(e), n, seed);
        random_chain t(seed, e, n, 12, 3 * static_cast<int>(seed));
        int const here = compare_in_place(t);
        replaced += here;
        graphs += here > 0 ? 1 : 0;
      }
  CHECK(graphs >= 40);
  CHECK(replaced < 144 * 13); // not everything is free
}

TEST_CASE("parameters are updated in place, unless another element still needs the old value") {
  auto const first_may_replace = [](auto const& function) {
    extend::builder b;
    std::int32_t const shape = b.shape({1, {100}});
    extend::symbol const in[]{b.symbol_of(element::float64, shape), b.symbol_of(element::float64, shape)};
    extend::symbol out[]{extend::none, extend::none};
    int const count = function(b, term{&b, in[0]}, term{&b, in[1]}, out);
    b.set_inputs(in, 2);
    b.set_outputs(out, count);
    return interpreter(b.get(), nullptr, operations<>{}, apart).may_replace(0, 0);
  };
  CHECK(first_may_replace([](extend::builder&, term p, term g, extend::symbol* out) { // p - 0.1 g
    return out[0] = (p - 0.1 * g).id, 1;
  }));
  CHECK_FALSE(
      first_may_replace([](extend::builder&, term p, term g, extend::symbol* out) { // elsewhere than where it is written
        term const turned = extend::slice(p, 0, 1, 99);
        out[0] = (p - 0.1 * g).id;
        out[1] = extend::apply<op::sin>(turned).id;
        return 2;
      }));
  CHECK_FALSE(first_may_replace([](extend::builder&, term p, term g, extend::symbol* out) { // each depends on all
    out[0] = (g * 0.5).id;
    out[1] = (p - extend::max(g * p, 1u)).id;
    return 2;
  }));
}

TEST_CASE("a reduction fused with its operand has the bits of one over a stored operand") {
  for (element const e : {element::float64, element::float32})
    for (std::int64_t const n : {1, 2, 3, 5, 7, 8, 15, 16, 33, 63, 64, 100, 511, 1024, 1025, 1088, 3000})
      for (int const exotic : {0, 30}) {
        CAPTURE(name_of(e), n, exotic);
        extend::builder b, stored;
        std::int32_t const shape = b.shape({1, {n}}), the_same = stored.shape({1, {n}});
        extend::symbol const in[]{b.symbol_of(e, shape)}, y_in[]{stored.symbol_of(e, the_same)};
        term const x{&b, in[0]}, y_stored{&stored, y_in[0]};
        term y = x * x - 0.5 * x;
        if (exotic > 0) y = extend::apply<op::tanh>(y) + 0.25 * y;
        term const total = extend::sum(y, 1u);
        extend::symbol const out[]{total.id, extend::max(y, 1u).id, extend::sum(y * total, 1u).id, y.id};
        extend::symbol const of_stored[]{extend::sum(y_stored, 1u).id, extend::max(y_stored, 1u).id};
        b.set_inputs(in, 1);
        stored.set_inputs(y_in, 1);
        stored.set_outputs(of_stored, 2);
        dice d(5);
        values given;
        for (std::int64_t i = 0; i < n; ++i) given.push(reference::number(e, d.between(-2, 2)));
        memory m(e, given), made(e, static_cast<int>(n));
        memory results[]{{e, 1}, {e, 1}, {e, 1}}, wanted[]{{e, 1}, {e, 1}};
        void const* const from[]{m.data()};
        b.set_outputs(out, 2);
        CHECK(interpreter(b.get()).value_bytes() <= 256); // nothing is kept but what is small
        for (int count = 3; count <= 4; ++count) {        // y is a result too, or stands nowhere
          b.set_outputs(out, count);
          interpreter const p(b.get()), q(stored.get());
          workspace const w(p), v(q);
          void* const to[]{results[0].data(), results[1].data(), results[2].data(), made.data()};
          REQUIRE(p.run(from, to, w.data) == status::ok);
          if (count == 3) continue;
          void const* const y_from[]{made.data()};
          void* const y_to[]{wanted[0].data(), wanted[1].data()};
          REQUIRE(q.run(y_from, y_to, v.data) == status::ok);
        }
        for (int k = 0; k < 2; ++k) {
          values one;
          one.push(interpret::read(e, wanted[k].data(), 0));
          CHECK(results[k].differences(one) == 0);
        }
      }
}

TEST_CASE("the result of a fused reduction is reduced again") {
  for (std::int64_t const n : {1, 7, 1100}) {
    CAPTURE(n);
    extend::builder b;
    extend::symbol const in[]{b.symbol_of(element::float64, b.shape({1, {n}}))};
    term const x{&b, in[0]}, largest = extend::max(x * 2.0 - 1.0, 1u, true), again = extend::sum(largest, 1u);
    extend::symbol const out[]{again.id, extend::min(largest - 3.0, 1u).id, extend::max(x * 2.0 - 1.0, 1u).id};
    b.set_inputs(in, 1);
    b.set_outputs(out, 3);
    interpreter const p(b.get());
    workspace const w(p);
    std::vector<double> given;
    for (std::int64_t i = 0; i < n; ++i) given.push_back(static_cast<double>(i % 7));
    double results[3]{};
    void const* const from[]{given.data()};
    void* const to[]{results, results + 1, results + 2};
    REQUIRE(p.run(from, to, w.data) == status::ok);
    double const wanted = n == 1 ? -1 : 11;
    CHECK(results[0] == wanted);
    CHECK(results[1] == wanted - 3);
    CHECK(results[2] == wanted);
  }
}
