// SPDX-License-Identifier: BSL-1.0
#include "allocations.hpp"
#include "catch.hpp"
#include "reference.hpp"

#include <cotangent/run/interpreter/interpreter.hpp>
#include <cotangent/run/reference/evaluate.hpp>
#include <cotangent/transform/differentiate/backward.hpp>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <memory>
#include <tuple>
#include <vector>

namespace {

using namespace cotangent;
using reference::dice;
using reference::values;
namespace interpret = cotangent::detail::interpret;

constexpr bool fast = math::is_fast;

/// Exactly as many bytes as there are elements, at an address that is aligned to one element only.
struct buffer {
  std::unique_ptr<char[]> bytes;
  char* data = nullptr;
  element type{};

  std::size_t n = 0;

  buffer(element e, std::int64_t count) : type(e), n(static_cast<std::size_t>(count) * size_of(e)) {
    bytes.reset(new char[n + size_of(e)]);
    data = bytes.get() + (n == 0 ? 0 : size_of(e));
    std::memset(bytes.get(), 0x5a, n + size_of(e));
  }
  void clear() { std::memset(data, 0x33, n); }
  extend::scalar get(std::int64_t i) const { return interpret::read(type, data, i); }
  void set(std::int64_t i, extend::scalar const& s) { interpret::write(type, data, i, s); }
  detail::elements_in in() const {
    switch (type) {
    case element::float32: return detail::elements_in(reinterpret_cast<float const*>(data));
    case element::float64: return detail::elements_in(reinterpret_cast<double const*>(data));
    case element::int32: return detail::elements_in(reinterpret_cast<std::int32_t const*>(data));
    case element::int64: return detail::elements_in(reinterpret_cast<std::int64_t const*>(data));
    case element::boolean: break;
    case element::float16: return detail::elements_in(reinterpret_cast<cotangent::float16 const*>(data));
    case element::bfloat16: return detail::elements_in(reinterpret_cast<cotangent::bfloat16 const*>(data));
    }
    return detail::elements_in(reinterpret_cast<bool const*>(data));
  }
  detail::elements_out out() {
    switch (type) {
    case element::float32: return detail::elements_out(reinterpret_cast<float*>(data));
    case element::float64: return detail::elements_out(reinterpret_cast<double*>(data));
    case element::int32: return detail::elements_out(reinterpret_cast<std::int32_t*>(data));
    case element::int64: return detail::elements_out(reinterpret_cast<std::int64_t*>(data));
    case element::boolean: break;
    case element::float16: return detail::elements_out(reinterpret_cast<cotangent::float16*>(data));
    case element::bfloat16: return detail::elements_out(reinterpret_cast<cotangent::bfloat16*>(data));
    }
    return detail::elements_out(reinterpret_cast<bool*>(data));
  }
};

std::vector<buffer> buffers(extend::graph_view const& g, bool of_outputs) {
  std::vector<buffer> r;
  for (int k = 0; k < (of_outputs ? g.output_count() : g.input_count()); ++k) {
    extend::symbol const t = of_outputs ? g.output(k) : g.input(k);
    r.emplace_back(g.tensors[t].type, reference::count(g.shape(t)));
  }
  return r;
}

struct workspace {
  void* memory;
  explicit workspace(interpreter const& p)
      : memory(::operator new(static_cast<std::size_t>(p.workspace_bytes()), std::align_val_t{64})) {
    std::memset(memory, 0xff, static_cast<std::size_t>(p.workspace_bytes()));
  }
  workspace(workspace const&) = delete;
  workspace& operator=(workspace const&) = delete;
  ~workspace() { ::operator delete(memory, std::align_val_t{64}); }
};

bool same(extend::scalar const& a, extend::scalar const& b, double tolerance) {
  if (!is_floating(a.type)) return a.integer == b.integer;
  if (math::is_nan(a.real) || math::is_nan(b.real)) return math::is_nan(a.real) && math::is_nan(b.real);
  if (a.real == b.real) return true;
  return std::abs(a.real - b.real) <= tolerance * (1 + std::abs(b.real));
}

/// Runs the graph twice, the second time without allocating, and evaluates it, and finds everywhere what the
/// reference says.
template <class... Ops>
void compare(extend::graph_view const& g, detail::array<values> const& inputs, double tolerance,
             operations<Ops...> ops = {}) {
  detail::array<values> const expected = reference::evaluate(g, inputs);
  interpreter const p(g, nullptr, ops);
  REQUIRE(p.failed().why == nullptr);
  std::vector<buffer> in = buffers(g, false), out = buffers(g, true), other = buffers(g, true);
  std::vector<void const*> from;
  std::vector<void*> to;
  std::vector<detail::elements_in> typed_in;
  std::vector<detail::elements_out> typed_out;
  for (int k = 0; k < g.input_count(); ++k) {
    buffer& b = in[static_cast<std::size_t>(k)];
    for (int i = 0; i < inputs[k].size(); ++i) b.set(i, inputs[k][i]);
    from.push_back(b.data);
    typed_in.push_back(b.in());
  }
  for (int k = 0; k < g.output_count(); ++k) {
    to.push_back(out[static_cast<std::size_t>(k)].data);
    typed_out.push_back(other[static_cast<std::size_t>(k)].out());
  }
  auto const wrong = [&](std::vector<buffer> const& results) {
    int n = 0;
    for (int k = 0; k < g.output_count(); ++k)
      for (int i = 0; i < expected[k].size(); ++i)
        if (extend::scalar const r = results[static_cast<std::size_t>(k)].get(i);
            !same(r, expected[k][i], tolerance)) {
          if (n++ == 0)
            UNSCOPED_INFO("output " << k << " element " << i << ": " << r.real << "|" << r.integer << " for "
                                    << expected[k][i].real << "|" << expected[k][i].integer);
        }
    return n;
  };
  workspace w(p);
  REQUIRE(p.run(from.data(), to.data(), w.memory) == status::ok);
  REQUIRE(wrong(out) == 0);
  for (buffer& b : out) b.clear();
  long const before = allocations;
  status const again = p.run(from.data(), to.data(), w.memory);
  long const after = allocations;
  REQUIRE(again == status::ok);
  REQUIRE(after == before);
  REQUIRE(wrong(out) == 0);
  REQUIRE(evaluate(g, nullptr, typed_in.data(), typed_out.data()).ok());
  REQUIRE(wrong(other) == 0);

  // the same with everything in the workspace, where results may be written over inputs
  interpreter_memory own;
  own.own_inputs.assign(g.input_count(), true);
  own.own_outputs.assign(g.output_count(), true);
  interpreter const q(g, nullptr, ops, own);
  workspace v(q);
  std::vector<void const*> const nowhere(from.size());
  std::vector<void*> const nowhere_else(to.size());
  for (int times = 0; times < 2; ++times) {
    for (int k = 0; k < g.input_count(); ++k)
      std::memcpy(static_cast<char*>(v.memory) + q.input_place(k), from[static_cast<std::size_t>(k)],
                  in[static_cast<std::size_t>(k)].n);
    REQUIRE(q.run(nowhere.data(), nowhere_else.data(), v.memory) == status::ok);
    for (int k = 0; k < g.output_count(); ++k) {
      buffer& b = out[static_cast<std::size_t>(k)];
      std::memcpy(b.data, static_cast<char const*>(v.memory) + q.output_place(k), b.n);
    }
    REQUIRE(wrong(out) == 0);
  }
}

template <class... Sizes> std::int32_t shaped(extend::builder& b, Sizes... n) {
  return b.shape(extend::dimensions{static_cast<std::int32_t>(sizeof...(n)), {n...}});
}

struct graph_under_test {
  extend::builder b;
  std::vector<extend::symbol> inputs, outputs;

  template <class... Sizes> term input(element e, Sizes... n) { return input_of(e, shaped(b, n...)); }
  term input_of(element e, std::int32_t shape_id) {
    inputs.push_back(b.symbol_of(e, shape_id));
    return {&b, inputs.back()};
  }
  void output(term t) { outputs.push_back(t.id); }
  extend::graph_view finish() {
    b.set_inputs(inputs.data(), static_cast<int>(inputs.size()));
    b.set_outputs(outputs.data(), static_cast<int>(outputs.size()));
    REQUIRE(b.failed().why == nullptr);
    return b.get();
  }
  void compare_with_reference(double tolerance = fast ? 1e-5 : 0, double low = -3, double high = 3) {
    extend::graph_view const g = finish();
    dice d(7);
    compare(g, reference::inputs_of(g, d, low, high), tolerance);
  }
};

constexpr std::int64_t lengths[]{0, 1, 2, 3, 7, 8, 9, 16, 17, 64, 100, 1030, 2500};
constexpr element numbers[]{element::float32, element::float64, element::int32, element::int64};

template <class Op> void one_operation(element e, std::int64_t n) {
  if (!cotangent::detail::accepts(Op::operands, e)) return;
  CAPTURE(Op::name, name_of(e), n);
  graph_under_test t;
  extend::symbol x[8]{};
  for (int k = 0; k < Op::arity; ++k)
    x[k] = t.input(Op::condition_first && k == 0 ? element::boolean : e, n).id;
  t.output({&t.b, t.b.push(info_of<Op>(), x, Op::arity)});
  t.compare_with_reference(fast ? 1e-5 : 0, Op::operands == extend::takes::booleans ? 0 : -3, 3);
}

template <class... Ops> void each_operation(std::tuple<Ops...>*, element e, std::int64_t n) {
  (one_operation<Ops>(e, n), ...);
}

using others = std::tuple<op::equal, op::not_equal, op::less, op::less_equal, op::logical_and, op::logical_or,
                          op::logical_not, op::select, op::quotient, op::remainder>;

} // namespace

TEST_CASE("every elementwise operation gives the bits of its scalar form, at every length") {
  for (std::int64_t const n : lengths)
    for (element const e :
         {element::float32, element::float64, element::int32, element::int64, element::boolean}) {
      each_operation(static_cast<reference::elementwise_operations*>(nullptr), e, n);
      each_operation(static_cast<others*>(nullptr), e, n);
    }
}

namespace {
template <class... Ops> void check_kernels(operations<Ops...>) {
  interpret::kernel_list from_outside{detail::geometry_operations{}}; // that functions and archives bring
  from_outside.add(detail::gamma_operations{});
  from_outside.add_named();
  auto const table = interpret::table_of<>(&from_outside);
  for (operation const* const o : {info_of<Ops>()...}) {
    INFO(o->name);
    interpret::kernel_set const* const k = table.find(o);
    switch (o->kind) {
    case operation_kind::elementwise:
      CHECK((o == table.convert || k != nullptr) == (o->reporting == nullptr)); // interpreters run another operation
      if (k == nullptr) break;
      CHECK((k->threaded[0] != nullptr) == (k->threaded[1] != nullptr));
      CHECK((k->elementwise[0] != nullptr) == (o != info_of<op::logical_and>() && o != info_of<op::logical_or>() && o != info_of<op::logical_not>() &&
                                               o != info_of<op::quotient>() && o != info_of<op::remainder>()));
      break;
    case operation_kind::reduction:
      for (int e = 0; e < element_count; ++e)
        CHECK((k != nullptr && k->rows[e] != nullptr) == (static_cast<element>(e) != element::boolean && !detail::is_half(static_cast<element>(e))));
      break;
    default: CHECK((k == nullptr || k->whole != nullptr)); // moved, or run, by their kind
    }
  }
}
struct tripled : extend::elementwise<1> {
  static constexpr char const* name = "tripled";
  template <class V> static constexpr V apply(V const& x) { return static_cast<V>(x + x + x); }
};
} // namespace

TEST_CASE("all library operations have kernels") { check_kernels(detail::all_operations{}); }

TEST_CASE("an operation of a user has kernels where it is listed") {
  CHECK(interpret::table_of<>().find(info_of<tripled>()) == nullptr);
  interpret::kernel_list users{operations<tripled, op::exp>{}};
  interpret::kernel_table const table = interpret::table_of<>(&users);
  REQUIRE(table.find(info_of<tripled>()) != nullptr);
  CHECK(table.find(info_of<tripled>())->elementwise[1] != nullptr);
  CHECK(table.find(info_of<tripled>())->threaded[1] != nullptr);
  CHECK(users.find(info_of<op::exp>()) == nullptr); // every interpreter has it
}

TEST_CASE("elements are converted between all types") {
  for (std::int64_t const n : lengths)
    for (element const from : {element::float32, element::float64, element::int32, element::int64, element::boolean, element::float16,
                               element::bfloat16})
      for (element const to : {element::float32, element::float64, element::int32, element::int64, element::boolean, element::float16,
                               element::bfloat16}) {
        CAPTURE(name_of(from), name_of(to), n);
        graph_under_test t;
        term const x = t.input(from, n);
        t.output(extend::convert(x, to));
        // joins other widths in one step
        term const wide = extend::convert(x, detail::arithmetic_of(from));
        if (from != element::boolean) t.output(extend::convert(wide + wide, to));
        t.compare_with_reference(0, 0, from == element::boolean ? 2 : 100);
      }
}

TEST_CASE("a reduction of converted elements reads all of them") {
  for (std::int64_t const n : lengths)
    for (element const from : {element::float32, element::float64, element::int32, element::int64})
      for (element const to : {element::float32, element::float64, element::int32, element::int64}) {
        if (from == to) continue;
        CAPTURE(name_of(from), name_of(to), n);
        graph_under_test t;
        term const x = t.input(from, n), y = extend::convert(x + x, to);
        if (n > 0) {
          t.output({&t.b, t.b.push(info_of<op::reduce_max>(), {y.id}, {1})});
          t.output({&t.b, t.b.push(info_of<op::reduce_min>(), {y.id}, {1})});
        }
        if (!is_floating(to)) t.output(extend::sum(y, 1));
        t.compare_with_reference(0, -100, 100);
      }
}

TEST_CASE("integers wrap around, and numbers out of range convert to the lowest integer") {
  for (std::int64_t const n : lengths) {
    for (element const e : {element::int32, element::int64}) {
      CAPTURE(name_of(e), n);
      graph_under_test t;
      term const x = t.input(e, n), y = t.input(e, n), large = x * x * x * x * x * x * x * x;
      t.output(large + y * large);
      t.output(-large - large * large);
      t.output(extend::sum(large * y, 1));
      t.compare_with_reference(0, -40, 40);
    }
    for (element const from : {element::float32, element::float64})
      for (element const to : {element::int32, element::int64}) {
        CAPTURE(name_of(from), name_of(to), n);
        graph_under_test t;
        term const x = t.input(from, n);
        t.output(extend::convert(x, to));
        t.output(extend::convert(x * x * x * x * x, to));
        if (!fast) t.output(extend::convert(extend::apply<op::log>(x), to)); // of what is negative: NaN
        t.compare_with_reference(0, -1e4, 1e4);
      }
  }
}

TEST_CASE("operands broadcast along any axes") {
  for (element const e : numbers)
    for (std::int64_t const n : {1, 2, 7, 17, 40})
      for (std::int64_t const m : {1, 3, 10, 64, 300}) {
        CAPTURE(name_of(e), n, m);
        graph_under_test t;
        term const x = t.input(e, n, m), row = t.input(e, m), column = t.input(e, n, std::int64_t{1}),
                   one = t.input(e);
        term const flat = t.input(e, m, n), deep = t.input(e, std::int64_t{2}, n, m);
        t.output(x + row);
        t.output(x * column - one);
        t.output((x + extend::transpose(flat)) * row);
        t.output(deep * row + x * (one + 2));
        t.output(row + column);
        t.output(extend::select(x > row, column * 2, x));
        t.output(extend::broadcast_to(extend::iota(t.b, e, m), x.shape_id()) * x);
        t.compare_with_reference();
      }
}

TEST_CASE("reductions work over any axes") {
  for (element const e : numbers)
    for (std::int64_t const n : {1, 2, 5, 17})
      for (std::int64_t const m : {1, 3, 8, 33, 150}) {
        CAPTURE(name_of(e), n, m);
        graph_under_test t;
        term const x = t.input(e, n, std::int64_t{3}, m);
        for (std::uint32_t mask = 1; mask < 8; ++mask) {
          t.output(extend::sum(x, mask));
          t.output(extend::max(x + 1, mask));
          t.output(extend::min(extend::transpose(x), mask));
        }
        t.compare_with_reference(e == element::float32 ? 1e-4 : 1e-12);
      }
}

TEST_CASE("reductions of no elements give the neutral value") {
  graph_under_test t;
  term const x = t.input(element::float64, std::int64_t{3}, std::int64_t{0}),
             y = t.input(element::int32, std::int64_t{0});
  t.output(extend::sum(x, 2));
  t.output(extend::max(x, 3));
  t.output(extend::sum(x, 1));
  t.output(extend::sum(y, 1) + 1);
  if (!fast) t.compare_with_reference();
}

TEST_CASE("movement operations cost nothing, or move elements correctly") {
  for (element const e : {element::float32, element::float64, element::int64, element::boolean})
    for (std::int64_t const n : {1, 2, 9, 20})
      for (std::int64_t const m : {2, 7, 64}) {
        CAPTURE(name_of(e), n, m);
        graph_under_test t;
        term const x = t.input(e, n, m, std::int64_t{4}), y = t.input(e, n, m, std::int64_t{4});
        term const z =
            extend::select(t.input(element::boolean, n, m, std::int64_t{4}), x, y); // computed, not given
        std::int64_t const back[]{2, 0, 1}, window[]{0, 1, 1, 2, 1, 1}, into[]{1, 1, 0, 3, 2, 1},
            second[]{1, 0, 2};
        t.output(op::permute::of(z, back));
        t.output(op::reshape::of(z, shaped(t.b, m, 4 * n)));
        t.output(op::reshape::of(op::permute::of(x, second), shaped(t.b, m * n * 4)));
        t.output(op::slice::of(z, window, shaped(t.b, n, m / 2, std::int64_t{3})));
        t.output(op::pad::of(z, into, shaped(t.b, n + 2, 3 * m, std::int64_t{7})));
        t.output(cotangent::detail::push(info_of<op::concatenate>(), {z, y, x, z}, {1}));
        t.output(cotangent::detail::push(info_of<op::concatenate>(), {x, y}, {2}));
        t.output(x);
        t.output(op::permute::of(y, second));
        t.output(z);
        t.output(z);
        t.compare_with_reference(0, 0, 2);
      }
}

TEST_CASE("matrices are multiplied, transposed or not, and as windows of others") {
  for (element const e : {element::float32, element::float64})
    for (std::int64_t const m : {1, 2, 17})
      for (std::int64_t const k : {1, 5, 64, 200})
        for (std::int64_t const n : {1, 3, 33}) {
          CAPTURE(name_of(e), m, k, n);
          graph_under_test t;
          term const a = t.input(e, m, k), b = t.input(e, k, n), at = t.input(e, k, m), bt = t.input(e, n, k);
          term const wide = t.input(e, 2 * k, 3 * n);
          t.output(op::matmul::of(a, b, false, false));
          t.output(op::matmul::of(at, b, true, false));
          t.output(op::matmul::of(a, bt, false, true));
          t.output(op::matmul::of(at, bt, true, true));
          t.output(extend::matmul(extend::transpose(at), extend::transpose(bt)));
          t.output(extend::matmul(a, extend::slice(extend::slice(wide, 0, k, k), 1, n, n)));
          t.output(extend::matmul(a, extend::slice(extend::slice(wide, 0, 0, k, 2), 1, 0, n, 3)) + 1);
          t.compare_with_reference(e == element::float32 ? 2e-4 : 1e-12, -1, 1);
        }
}

TEST_CASE("matrix products have the bits of a constant evaluation") {
  if (fast) return;
  graph_under_test t;
  std::int64_t const m = 5, k = 300, n = 7;
  term const a = t.input(element::float64, m, k), b = t.input(element::float64, k, n);
  t.output(extend::matmul(a, b));
  extend::graph_view const g = t.finish();
  std::vector<double> x(static_cast<std::size_t>(m * k)), y(static_cast<std::size_t>(k * n)), z(35), s(35);
  dice d(3);
  for (double& v : x) v = d.between(-1, 1);
  for (double& v : y) v = d.between(-1, 1);
  interpreter const p(g);
  workspace w(p);
  void const* const in[]{x.data(), y.data()};
  void* const out[]{z.data()};
  REQUIRE(p.run(in, out, w.memory) == status::ok);
  double const* const typed_in[]{x.data(), y.data()};
  double* const typed_out[]{s.data()};
  REQUIRE(detail::evaluate(g, typed_in, typed_out).ok());
  CHECK(z == s);
}

TEST_CASE("rows are gathered, added, and found") {
  for (element const e : numbers)
    for (element const by : {element::int32, element::int64})
      for (std::int64_t const n : {1, 6, 40}) {
        CAPTURE(name_of(e), name_of(by), n);
        graph_under_test t;
        term const x = t.input(e, std::int64_t{4}, n), index = t.input(by, std::int64_t{3}, std::int64_t{2});
        term const y = extend::gather(extend::transpose(extend::transpose(x)), index);
        t.output(y);
        t.output(op::scatter_add::of(y + 1, index, x.shape_id()));
        t.output(extend::argmax(x, 0));
        t.output(extend::argmax(x, 1));
        t.output(extend::argmax(extend::transpose(x), 0));
        t.compare_with_reference(e == element::float32 ? 1e-5 : 1e-12, 0, 4);
      }
}

TEST_CASE("an index out of range is clamped and reported") {
  graph_under_test t;
  term const x = t.input(element::float64, std::int64_t{3}), index = t.input(element::int32, std::int64_t{2});
  t.output(extend::gather(x, index));
  interpreter const p(t.finish());
  workspace w(p);
  double const rows[]{1, 2, 3};
  std::int32_t const chosen[]{-4, 17};
  double taken[2]{};
  void const* const in[]{rows, chosen};
  void* const out[]{taken};
  CHECK(p.run(in, out, w.memory) == status::index_out_of_range);
  CHECK(taken[0] == 1);
  CHECK(taken[1] == 3);
}

TEST_CASE("NaN wins in max, and argmax finds the first NaN") {
  if (fast) return;
  graph_under_test t;
  term const x = t.input(element::float64, std::int64_t{40});
  t.output(extend::max(x, 1));
  t.output(extend::argmax(x, 0));
  interpreter const p(t.finish());
  workspace w(p);
  std::vector<double> v(40, 1.0);
  v[5] = 7;
  v[17] = v[30] = math::bit_cast<double>(std::int64_t{0x7ff8000000000000});
  double top = 0;
  std::int64_t at = 0;
  void const* const in[]{v.data()};
  void* const out[]{&top, &at};
  REQUIRE(p.run(in, out, w.memory) == status::ok);
  CHECK(math::is_nan(top));
  CHECK(at == 17);
}

namespace {

/// A graph of operations drawn at random, whose numbers stay small.
struct random_graph : graph_under_test {
  dice d;
  bool images;
  std::vector<term> all;

  explicit random_graph(std::uint64_t seed, int nodes) : d(seed), images(seed % 3 == 0) {
    std::int64_t const n = 1 + d.below(40), m = 1 + d.below(70);
    for (int k = 0; k < 3; ++k) {
      all.push_back(input(element::float64, n, m));
      all.push_back(input(element::float64, m));
      all.push_back(input(element::float64, m, n));
      all.push_back(input(element::float64));
    }
    for (int k = 0; k < nodes; ++k) all.push_back(next());
    for (int k = 0; k < 4; ++k) output(all[all.size() - 1 - static_cast<std::size_t>(d.below(nodes / 2))]);
    output(all.back());
  }
  term key() { return extend::constant(b, element::int64, shaped(b), d.below(5)); }
  term any() { return all[static_cast<std::size_t>(d.below(static_cast<int>(all.size())))]; }
  term any_recent() {
    int const n = static_cast<int>(all.size());
    return all[static_cast<std::size_t>(n - 1 - d.below(n < 6 ? n : 6))];
  }
  static bool fits(term a, term b) {
    extend::dimensions const x = a.dims(), y = b.dims();
    for (int k = 1; k <= x.rank && k <= y.rank; ++k) {
      extend::dimension const p = x.size[x.rank - k], q = y.size[y.rank - k];
      if (p != q && p != 1 && q != 1) return false;
    }
    return true;
  }
  term image_of(term a) { return op::reshape::of(a, shaped(b, a.dims().size[0], a.dims().size[1], std::int64_t{1})); }
  term next() {
    term const a = any_recent(), c = any();
    switch (d.below(images ? 18 : 14)) {
    case 14: {
      if (a.rank() != 2) return extend::apply<op::cos>(a);
      std::int32_t const taps = shaped(b, std::int64_t{3}, std::int64_t{2}, std::int64_t{1}, std::int64_t{1});
      term const w = extend::random_uniform(key(), taps, element::float64) *
                     extend::broadcast_to(extend::apply<op::tanh>(extend::sum(c, extend::all_axes(c))), taps);
      term const y = extend::conv2d(image_of(a), w, {.padding = {1, 1}, .padding_end = {1, 0}});
      return op::reshape::of(extend::apply<op::tanh>(y), a.shape_id());
    }
    case 15: {
      if (a.rank() != 2) return extend::apply<op::cos>(a);
      term const y = extend::max_pool2d(image_of(a), {.window = {2, 3}, .stride = 1, .padding = {1, 1}, .padding_end = {0, 1}});
      return op::reshape::of(y, a.shape_id());
    }
    case 16: return extend::dropout(a, 0.5, key()) * 0.5;
    case 17: return a * extend::random_uniform(key(), a.shape_id(), a.type());
    case 0: return extend::apply<op::tanh>(a);
    case 1: return extend::apply<op::sin>(a);
    case 2: return -a * 0.5;
    case 3: return extend::transpose(a);
    case 4: return a.rank() == 0 ? a : extend::mean(a, 1u << d.below(a.rank()));
    case 5: return a.rank() == 0 ? a : extend::max(a, 1u << d.below(a.rank()));
    case 6:
      return a.rank() == 0 ? a : cotangent::detail::push(info_of<op::concatenate>(), {a, a * 0.25}, {0});
    case 7: return a.rank() == 0 || a.dims().size[0] < 2 ? a : extend::slice(a, 0, 1, a.dims().size[0] - 1);
    case 8: return op::reshape::of(a, shaped(b, b.count(a.dims())));
    case 9:
      if (a.rank() == 2 && c.rank() == 2 && a.dims().size[1] == c.dims().size[0])
        return extend::apply<op::tanh>(extend::matmul(a, c));
      return extend::apply<op::sigmoid>(a);
    case 10: return fits(a, c) ? extend::select(a > c, a, c * 0.5) : a;
    case 11: return fits(a, c) ? extend::apply<op::max>(a, c) : c;
    default: return fits(a, c) ? (a + c) * 0.5 : extend::apply<op::abs>(a);
    }
  }
};

} // namespace

TEST_CASE("random graphs keep live values in their memory") {
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    CAPTURE(seed);
    random_graph t(seed, 10 + static_cast<int>(seed % 60));
    bool large = false;
    for (term const& x : t.all) large = large || t.b.count(x.dims()) > 30000;
    if (!large) t.compare_with_reference(fast ? 1e-6 : 1e-10, -1, 1);
  }
}

TEST_CASE("gradients are executed") {
  for (std::int64_t const n : {1, 3, 20}) {
    CAPTURE(n);
    graph_under_test t;
    term const x = t.input(element::float64, n, std::int64_t{8}),
               w = t.input(element::float64, std::int64_t{8}, std::int64_t{6}),
               bias = t.input(element::float64, std::int64_t{6}), labels = t.input(element::int32, n);
    term const h = extend::apply<op::tanh>(extend::matmul(x, w) + bias);
    term const loss = extend::mean(extend::cross_entropy(h, labels), 1);
    extend::symbol const wrt[]{w.id, bias.id, x.id};
    extend::symbol g[3]{};
    detail::gradient(t.b, {.outputs = &loss.id, .output_count = 1, .wrt = wrt, .wrt_count = 3}, g);
    t.output(loss);
    for (extend::symbol const s : g) t.output({&t.b, s});
    t.compare_with_reference(fast ? 1e-6 : 1e-12, 0, 3);
  }
}

TEST_CASE("a result may replace an argument") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    graph_under_test t;
    dice d(seed);
    std::int64_t const n = 1 + d.below(200);
    term const x = t.input(element::float64, n), y = t.input(element::float64, n);
    std::vector<term> all{x, y};
    for (int k = 0; k < 8; ++k) {
      term const a = all[static_cast<std::size_t>(d.below(static_cast<int>(all.size())))], c = all.back();
      switch (d.below(4)) {
      case 0: all.push_back(a - extend::mean(c, 1)); break;
      case 1: all.push_back(extend::apply<op::sin>(c) * a); break;
      case 2:
        all.push_back(
            extend::gather(a, extend::convert(extend::iota(t.b, element::int32, n), element::int64)));
        break;
      default: all.push_back(a * 0.5 + c);
      }
    }
    t.output(all[all.size() - 1 - static_cast<std::size_t>(d.below(4))]);
    t.output(seed % 3 == 0 ? x : all[all.size() - 1 - static_cast<std::size_t>(d.below(4))]);
    extend::graph_view const g = t.finish();
    detail::array<values> const inputs = reference::inputs_of(g, d, -1, 1);
    detail::array<values> const expected = reference::evaluate(g, inputs);
    interpreter const p(g);
    workspace w(p);
    std::vector<buffer> in = buffers(g, false);
    for (int k = 0; k < 2; ++k)
      for (int i = 0; i < inputs[k].size(); ++i) in[static_cast<std::size_t>(k)].set(i, inputs[k][i]);
    bool const crossed = seed % 2 == 0;
    void const* const from[]{in[0].data, in[1].data};
    void* const to[]{in[crossed ? 1 : 0].data, in[crossed ? 0 : 1].data};
    REQUIRE(p.run(from, to, w.memory) == status::ok);
    int wrong = 0;
    for (int k = 0; k < 2; ++k)
      for (int i = 0; i < expected[k].size(); ++i)
        wrong +=
            same(in[static_cast<std::size_t>(crossed ? 1 - k : k)].get(i), expected[k][i], 1e-10) ? 0 : 1;
    CHECK(wrong == 0);
  }
}

TEST_CASE("named sizes are given when the graph is prepared") {
  extend::builder b;
  extend::dimension const n = b.size(extent("n")), m = b.size(extent("m"));
  extend::symbol const x = b.symbol_of(element::float64, b.shape(extend::dimensions{2, {n, m}}));
  term const y = extend::mean(term{&b, x}, 3);
  b.set_inputs(&x, 1);
  b.set_outputs(&y.id, 1);
  CHECK(interpreter(b.get()).failed().why == detail::why<refusals::interpreter_sizes>());
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(b.get().extents.size()));
  for (int k = 0; k < b.get().extents.size(); ++k)
    sizes[static_cast<std::size_t>(k)] = b.get().extents[k] == extent("n") ? 3 : 5;
  interpreter const p(b.get(), sizes.data());
  REQUIRE(p.failed().why == nullptr);
  CHECK(p.input_elements(0) == 15);
  workspace w(p);
  double v[15]{}, mean = 0;
  for (int k = 0; k < 15; ++k) v[k] = k;
  void const* const in[]{v};
  void* const out[]{&mean};
  REQUIRE(p.run(in, out, w.memory) == status::ok);
  CHECK(mean == 7);
  CHECK(p.run(in, out, static_cast<char*>(w.memory) + 1) == status::workspace_too_small);
  void const* const nothing[]{nullptr};
  CHECK(p.run(nothing, out, w.memory) == status::null_argument);
}

namespace {

struct own_softsign : extend::elementwise<1> {
  static constexpr char const* name = "own_softsign";
  template <class V> static constexpr V apply(V x) {
    return static_cast<V>(x / (math::abs(x) + math::broadcast<V>(1)));
  }
};

} // namespace

TEST_CASE("a user's operation runs whether it is listed or not") {
  for (std::int64_t const n : lengths) {
    graph_under_test t;
    term const x = t.input(element::float32, n);
    t.output(extend::apply<own_softsign>(x) + 1);
    extend::graph_view const g = t.finish();
    dice d(1);
    detail::array<values> const inputs = reference::inputs_of(g, d, -2, 2);
    compare(g, inputs, fast ? 1e-5 : 0);
    compare(g, inputs, fast ? 1e-5 : 0, operations<own_softsign>{});
  }
}

TEST_CASE("elementwise nodes of one shape are one step, and memory is reused") {
  graph_under_test t;
  std::int64_t const n = 100000;
  term x = t.input(element::float64, n);
  for (int k = 0; k < 30; ++k) x = extend::apply<op::sin>(x) * 2 + x;
  t.output(x);
  interpreter const chain(t.finish());
  CHECK(chain.step_count() == 1);
  CHECK(chain.workspace_bytes() < 100000);

  graph_under_test u;
  term y = u.input(element::float64, n);
  for (int k = 0; k < 30; ++k) y = extend::apply<op::sin>(y) - extend::mean(y, 1);
  u.output(y);
  interpreter const steps(u.finish());
  CHECK(steps.workspace_bytes() < 3 * 8 * n);
}

TEST_CASE("a hundred thousand results are prepared at once") {
  graph_under_test t;
  term const x = t.input(element::float64, 4);
  term const z = t.input(element::float64, 5);
  for (int k = 0; k < 100000; ++k) t.output((k % 2 == 0 ? x : z) * (1.0 + k)); // of two steps, in turn
  extend::graph_view const g = t.finish();
  auto const start = std::clock();
  interpreter const p(g);
  CHECK(double(std::clock() - start) / CLOCKS_PER_SEC < 10);
  CHECK(p.output_count() == 100000);
}
