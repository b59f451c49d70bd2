// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>
#include <cotangent/dynamic.hpp>
#include <cotangent/inspect.hpp>
#include <cotangent/nn.hpp>

#include "catch.hpp"

#include <source_location>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace ct = cotangent;

// Results of emitted programs are tested in tests/emit.

namespace {

// [valley]
constexpr auto rosenbrock = [](auto x) { return ct::square(1 - x(0)) + 100 * ct::square(x(1) - x(0) * x(0)); };
using valley = ct::program<decltype(ct::value_and_grad(rosenbrock)), ct::tensor<double, 2>>;

template <class Stream> void write_valley(Stream& out) {
  ct::emit<valley>(out, {.name = "valley", .inputs = {"x"}, .results = {"value", "slope"}});
}
// [/valley]

// The end of that text, without the blank last line.
constexpr char const valley_text[] = R"(
// [text]
inline int valley(
    double const* x /* [2] */,
    double* value /* [] */,
    double* slope /* [2] */,
    [[maybe_unused]] void* workspace) {
  int found = 0;
  {
    double const v0 = x[1];
    double const v1 = x[0];
    double const v6 = 1.0 - v1;
    double const v7 = v6 * v6;
    double const v8 = v1 * v1;
    double const v9 = v0 - v8;
    double const v10 = v9 * v9;
    double const v11 = v10 * 100.0;
    double const v12 = v7 + v11;
    value[0] = v12;
    double const v13 = v9 * 200.0;
    slope[1] = v13;
    double const v14 = v1 * v13;
    double const v15 = v6 * (-2.0);
    double const v16 = v14 * (-2.0);
    double const v17 = v15 + v16;
    slope[0] = v17;
  }
  return found;
}
// [/text]
)";

struct cubed : ct::extend::elementwise<1> {
  static constexpr char const* name = "cubed";
  template <class V> static constexpr V apply(V const& x) { return static_cast<V>(x * x * x); }
  static constexpr ct::term partial(ct::rule const& r, int) { return 3 * (r.x() * r.x()); }
};

template <class P> std::string emitted(ct::emit_options const& options = {}) {
  std::ostringstream out;
  ct::emit<P>(out, options);
  return out.str();
}
using results = std::vector<std::pair<std::string, ct::dynamic::any_expr>>;
std::string emitted(ct::dynamic::graph const& g, results const& of) {
  std::ostringstream out;
  ct::emit(out, g, of);
  return out.str();
}
std::string refusal(ct::dynamic::graph const& g, results const& of) {
  try {
    (void)emitted(g, of);
  } catch (ct::graph_error const& e) { return e.what(); }
  return {};
}
bool has(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

} // namespace

TEST_CASE("emit: a function on two numbers is straight-line code without a workspace") {
  std::ostringstream out;
  write_valley(out);
  std::string const expected(valley_text), begin = "// [text]\n";
  std::size_t const first = expected.find(begin) + begin.size();
  CHECK(has(out.str(), expected.substr(first, expected.find("// [/text]") - first)));
  CHECK(has(out.str(), "inline std::int64_t valley_workspace_bytes() {\n  return 0;\n}"));
  CHECK_FALSE(has(out.str(), "cotangent/"));
}

TEST_CASE("emit: loops of a plan are fused, and named extents are parameters") {
  std::string const text = emitted<ct::program<decltype(ct::compiled([](auto x) { return ct::sum(ct::exp(x) * 2.0 + x); })), ct::tensor<double, "n">>>();
  CHECK(has(text, "inline int program(std::int64_t n,\n    double const* x1 /* [n] */,\n    double* y1 /* [] */,"));
  CHECK(text.find("for (") == text.rfind("for ("));
}

TEST_CASE("emit: names that C++ or the writer reserves, and equal names, are changed") {
  ct::dynamic::graph g;
  auto const a = g.input<double>("class", {}), b = g.input<double>("v1", {}), c = g.input<double>("2 rows", {}), d = g.input<double>("", {});
  std::string const text = emitted(g, {{"class", a * b}, {"v1", c * d}, {"v1", a}});
  for (char const* const name : {"const* class_ ", "const* v1_ ", "const* _2_rows ", "const* x4 ", "* class__ ", "* v1__ ", "* v1___ "}) {
    CAPTURE(name);
    CHECK(has(text, name));
  }
}

TEST_CASE("emit: labels that are inputs are checked, once") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {2, 3});
  auto const labels = g.input<std::int32_t>("labels", {2});
  auto const loss = ct::sum(ct::cross_entropy(x, labels));
  std::string const text = emitted(g, {{"loss", loss}, {"dx", g.gradient({loss}, {x}).front()}});
  std::string const check = "if (labels[e] < 0 || labels[e] >= 3) found = std::max(found, 1);";
  CHECK(has(text, check));
  CHECK(text.find(check) == text.rfind(check));
}

TEST_CASE("emit: the documented run-time graph") {
  std::ostringstream file;
  // [graph]
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {}), w = g.input<double>("w", {});
  auto const y = ct::for_loop(100, [&](auto, auto s) { return ct::sin(w * s); }, x);
  auto const dw = g.gradient({y}, {w}).front();

  ct::emit(file, g, {{"y", y}, {"dw", dw}}, {.name = "orbit"});
  // [/graph]
  CHECK(has(file.str(), "inline int orbit(\n    double const* x /* [] */,\n    double const* w /* [] */,\n    double* y /* [] */,\n    double* dw /* [] */,"));
}

TEST_CASE("emit: constants of a run-time graph are written into the function") {
  ct::dynamic::graph g;
  auto const x = g.input<float>("x", {2});
  std::string const text = emitted(g, {{"y", x * g.constant(ct::tensor<float, 2>{0.1f, -2})}});
  CHECK(has(text, "static constexpr float x2[] = {0.100000001f, (-2.0f)};"));
  CHECK(has(text, "float const* x /* [2] */,\n    float* y /* [2] */,"));
}

TEST_CASE("emit: operations without C++ text are refused with their line") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {3});
  int const line = __LINE__ + 1;
  auto const own = ct::extend::apply<cubed>(std::source_location::current(), x);
  CHECK(has(refusal(g, {{"y", own}}), "cotangent: emit: a program must consist of operations that have C++ text; not cubed, at "));
  CHECK(has(refusal(g, {{"y", own}}), "emit.cpp:" + std::to_string(line)));

  ct::dynamic::graph halves;
  auto const h = halves.input<ct::bfloat16>("h", {3});
  CHECK(has(refusal(halves, {{"y", ct::convert<float>(h) * 2}}), "cotangent: emit: a program must not hold values in half precision"));

  ct::dynamic::graph loops;
  auto const s = loops.input<double>("s", {});
  auto const last = ct::while_loop([](auto, auto t) { return t < 100.0; }, [](auto, auto t) { return t * 1.5 + ct::sin(t); }, s);
  auto const slope = loops.gradient({last}, {s}).front();
  CHECK(has(refusal(loops, {{"y", slope}}), "cotangent: emit: a loop whose values are recorded must have a count"));
  CHECK(refusal(loops, {{"y", last}}).empty());

  ct::dynamic::graph views;
  auto const v = views.input<double>("v", {3});
  auto const joined = views.tensor<double>("joined", {4});
  views.write(views.view(joined, {.shape = {3}}), ct::tanh(v));
  CHECK(has(refusal(views, {{"y", joined * 2.0}}), "cotangent: emit: a graph must not write through views"));

  ct::dynamic::graph other;
  CHECK_FALSE(refusal(other, {{"y", x}}).empty());
}
