// SPDX-License-Identifier: BSL-1.0
#include "../random_graph.hpp"
#include "../random_nest.hpp"

#include <cotangent/all.hpp>
#include <cotangent/inspect.hpp>
#include <cotangent/run/reference/evaluate.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

// Writes programs as C++ text, each with a call that compares its results with the reference evaluation: `write plain.cpp
// library.cpp`. The first file has those of the standard library alone.

namespace ct = cotangent;

namespace {

using namespace cotangent;

struct writer {
  std::string functions, calls;
  int count = 0;
  bool with_library = false; // collects programs that include headers of this library; else the others

  /// The sizes of all extents, from those of the names.
  static std::vector<std::int64_t> all_sizes(extend::graph_view const& g, std::vector<std::int64_t> const& of_names) {
    std::vector<std::string> names;
    for (int k = 0; k < g.extent_count; ++k)
      if (ct::extent const e = g.extent_of(-1 - k); detail::is_name(e)) names.emplace_back(e.text);
    std::vector<std::int64_t> all;
    for (int k = 0; k < g.extent_count; ++k)
      all.push_back(detail::evaluate(g.extent_of(-1 - k), [&](char const* name, int length) -> std::int64_t {
        for (std::size_t j = 0; j < names.size(); ++j)
          if (names[j] == std::string(name, static_cast<std::size_t>(length))) return of_names[j];
        return -1;
      }));
    return all;
  }
  static std::int64_t elements_of(extend::graph_view const& g, extend::symbol t, std::vector<std::int64_t> const& sizes) {
    std::int64_t n = 1;
    for (int k = 0; k < g.shape(t).rank; ++k) {
      extend::dimension const d = g.shape(t).size[k];
      n *= d >= 0 ? d : sizes[static_cast<std::size_t>(-1 - d)];
    }
    return n;
  }
  static std::string list(double const* x, std::int64_t n) {
    std::string text;
    for (std::int64_t k = 0; k < n; ++k) text += (k == 0 ? "" : ", ") + detail::cpp_literal(extend::scalar::of(x[k]));
    return "{" + (text.empty() ? "0" : text) + "}";
  }
  /// Compares a function with the values of graph `judge`, whose inputs are these doubles. `of_names`: the sizes of its names.
  void compare(std::string const& function, std::string const& name, extend::graph_view const& judge, std::vector<double> const& at,
               std::vector<std::int64_t> const& of_names = {}, double tolerance = 1e-10) {
    std::vector<std::int64_t> const sizes = all_sizes(judge, of_names);
    if ((function.find("#include <cotangent/") != std::string::npos) != with_library) return;
    if (functions.find("// " + name + ": ") == std::string::npos) functions += function;
    auto const elements = [&](extend::symbol t) { return elements_of(judge, t, sizes); };
    calls += "  {\n";
    std::string list_of_sizes, arguments;
    for (std::int64_t const n : of_names) list_of_sizes += (list_of_sizes.empty() ? "" : ", ") + std::to_string(n);
    arguments = list_of_sizes;
    std::vector<detail::elements_in> in;
    std::int64_t first = 0;
    for (int k = 0; k < judge.input_count(); ++k) {
      std::int64_t const n = elements(judge.input(k));
      std::string const x = "x" + std::to_string(k);
      calls += "    static double const " + x + "[] = " + list(at.data() + first, n) + ";\n";
      arguments += (arguments.empty() ? "" : ", ") + x;
      in.emplace_back(at.data() + first);
      first += n;
    }
    std::vector<std::vector<double>> wanted;
    std::vector<detail::elements_out> out;
    for (int k = 0; k < judge.output_count(); ++k) wanted.emplace_back(static_cast<std::size_t>(elements(judge.output(k))));
    for (auto& w : wanted) out.emplace_back(w.data());
    detail::evaluated const judged = detail::evaluate(judge, sizes.data(), in.data(), out.data());
    if (judged.failed.why != nullptr) {
      std::fprintf(stderr, "%s: the reference evaluation fails\n", name.c_str());
      std::exit(1);
    }
    std::string const reported = judged.state == status::ok ? "0" : judged.state == status::index_out_of_range ? "1" : "3";
    std::string checks;
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      std::string const y = "y" + std::to_string(k), n = std::to_string(wanted[k].size());
      calls += "    static double " + y + "[" + n + " + 1];\n";
      checks += "    { static double const wanted[] = " + list(wanted[k].data(), static_cast<std::int64_t>(wanted[k].size())) + ";\n      compare(\"" + name +
                "\", " + std::to_string(k) + ", " + y + ", wanted, " + n + ", " + std::to_string(tolerance * 1e12) + "e-12); }\n";
      arguments += (arguments.empty() ? "" : ", ") + y;
    }
    calls += "    auto const bytes = static_cast<std::size_t>(" + name + "_workspace_bytes(" + list_of_sizes + "));\n" +
             "    if (bytes > sizeof workspace) return 2;\n    std::memset(workspace, 0xFF, sizeof workspace);\n    if (" + name + "(" + arguments +
             (arguments.empty() ? "" : ", ") + "workspace) != " + reported + ") { std::printf(\"" + name +
             ": returns another number than " + reported + "\\n\"); ++wrong; }\n" + checks +
             "    for (std::size_t k = bytes; k < sizeof workspace; ++k) if (workspace[k] != 0xFF) { std::printf(\"" + name +
             ": writes behind its workspace\\n\"); ++wrong; break; }\n  }\n";
    ++count;
  }
  void compare(graph const& program, graph const& judge, std::vector<double> const& at, std::string const& name, double tolerance = 1e-10) {
    std::string text;
    string_stream out{text};
    ct::emit(out, extend::graph_view(program), {.name = name});
    compare(text, name, judge, at, {}, tolerance);
  }

  struct string_stream {
    std::string& text;
    string_stream& operator<<(std::string const& more) {
      text += more;
      return *this;
    }
  };
  /// The functions, and a main program that calls them.
  std::string file() const {
    return "#include <cstdio>\n#include <cstring>\n" + functions +
           R"(
namespace {
int wrong = 0;
alignas(64) unsigned char workspace[1 << 20];
void compare(char const* name, int result, double const* found, double const* wanted, int n, double tolerance) {
  double size = 1;
  for (int k = 0; k < n; ++k) if (std::abs(wanted[k]) > size && !std::isinf(wanted[k])) size = std::abs(wanted[k]);
  for (int k = 0; k < n; ++k) {
    bool const same = found[k] == wanted[k] || (found[k] != found[k] && wanted[k] != wanted[k]) || std::abs(found[k] - wanted[k]) <= tolerance * size;
    if (same) continue;
    std::printf("%s: element %d of result %d is %.17g, not %.17g\n", name, k, result, found[k], wanted[k]);
    ++wrong;
    return;
  }
}
} // namespace

int main() {
)" + calls +
           "  std::printf(\"" + std::to_string(count) + " programs, %d results wrong\\n\", wrong);\n  return wrong == 0 ? 0 : 1;\n}\n";
  }
};

graph passed(graph const& g) {
  detail::built made = detail::run_passes(g, detail::pipeline_options<>{.in_order = false}, detail::pipeline{});
  if (made.failed.why != nullptr) std::exit(3);
  return static_cast<graph&&>(made.g);
}

std::vector<double> numbers(extend::graph_view const& g, std::uint64_t seed, std::vector<std::int64_t> const& of_names = {}) {
  std::vector<std::int64_t> const sizes = writer::all_sizes(g, of_names);
  reference::dice d(seed);
  std::vector<double> all;
  for (int k = 0; k < g.input_count(); ++k)
    for (std::int64_t i = 0; i < writer::elements_of(g, g.input(k), sizes); ++i) all.push_back(d.between(-1.5, 1.5));
  return all;
}

/// A random graph with the gradient of its first result, and both before the passes as the judge.
void random_graphs(writer& to, int seeds, int size, bool images) {
  for (int seed = 1; seed <= seeds; ++seed) {
    extend::builder b;
    reference::dice d(static_cast<std::uint64_t>(7000 + seed + size));
    reference::random_graph(b, d, size, false, true, images && seed % 2 == 0);
    extend::symbol inputs[4], outputs[6]{extend::graph_view(b.get()).output(0), extend::graph_view(b.get()).output(1)};
    for (int k = 0; k < 4; ++k) inputs[k] = extend::graph_view(b.get()).input(k);
    detail::gradient(b, {.outputs = outputs, .output_count = 1, .wrt = inputs, .wrt_count = 4}, outputs + 2);
    b.set_outputs(outputs, 6);
    if (b.failed().why != nullptr) std::exit(4);
    to.compare(passed(b.get()), b.get(), numbers(b.get(), static_cast<std::uint64_t>(seed)), (images ? "image" : "random") + std::to_string(size) + "_" + std::to_string(seed), 1e-9);
  }
}

/// Loops and branches in each other, with derivatives of first or second order.
void nests(writer& to, int seeds) {
  double const place[4]{.3, -.7, .9, .2};
  for (int seed = 1; seed <= seeds; ++seed) {
    reference::nest<reference::nest_in_graph> const n(static_cast<std::uint64_t>(seed), 1 + seed % 3, 1, element::float64, place, 1 + seed % 2, {}, reference::few_codes, 0, true);
    if (n.b.failed().why != nullptr) std::exit(5);
    graph const& judge = n.b.get();
    to.compare(passed(judge), judge, {place, place + 4}, "nest" + std::to_string(seed), 1e-8); // (loops may be bounded for these inputs)
  }
}

// ---- each elementwise operation, on each element type

inline constexpr double points[]{-1.5, -0.5, 0, 0.3, 0.9, 1, 2.5, 7}, second_points[]{0.5, -2, 0, 0.3, 3, -1, 1, 4};

template <class Op, class T> void operation_on(writer& to) {
  if constexpr (requires { Op::operands; } && !requires { typename Op::reporting; }) // (a pivot is the identity)
    if constexpr (detail::accepts(Op::operands, element_of<T>)) {
      extend::builder b;
      std::int32_t const shape = b.shape(extend::dimensions{1, {8}});
      extend::symbol inputs[3]{};
      detail::array<term> x;
      bool const is_random = std::strstr(Op::name, "random") != nullptr;
      if (is_random && !std::is_same_v<T, std::int64_t>) return;
      for (int k = 0; k < Op::arity; ++k) {
        term const in{&b, inputs[k] = b.symbol_of(element::float64, shape)};
        x.push(extend::convert(in, k == 0 && Op::condition_first ? element::boolean : element_of<T>));
      }
      term y = x[0];
      if constexpr (Op::arity == 1) y = extend::apply<Op>(x[0]);
      else if constexpr (Op::arity == 2) y = extend::apply<Op>(x[0], x[1]);
      else y = extend::apply<Op>(x[0], x[1], x[2]);
      y = extend::convert(y, element::float64);
      b.set_inputs(inputs, Op::arity);
      b.set_outputs(&y.id, 1);
      if (b.failed().why != nullptr) std::exit(6);
      std::vector<double> at(std::begin(points), std::end(points));
      for (int k = 1; k < Op::arity; ++k) at.insert(at.end(), std::begin(second_points), std::end(second_points));
      std::string name = std::string("op_") + Op::name + "_" + detail::cpp_type(element_of<T>);
      if (name.find("std::") != std::string::npos) name.replace(name.find("std::"), 5, "");
      to.compare(b.get(), b.get(), at, name, std::is_same_v<T, float> ? 2e-6 : 2e-13);
    }
}
template <class... Op> void each_operation(writer& to, ct::operations<Op...>) {
  ((operation_on<Op, float>(to), operation_on<Op, double>(to), operation_on<Op, std::int32_t>(to), operation_on<Op, std::int64_t>(to),
    operation_on<Op, bool>(to)),
   ...);
}

// ---- compiled functions

template <class P>
void program(writer& to, std::string const& name, std::vector<std::vector<std::int64_t>> const& all_sizes = {{}}, double tolerance = 1e-10,
             double scale = 1) {
  std::string text;
  writer::string_stream out{text};
  ct::emit<P>(out, {.name = name});
  for (std::vector<std::int64_t> const& sizes : all_sizes) {
    std::vector<double> at = numbers(P::graph, 11, sizes);
    for (double& x : at) x *= scale;
    to.compare(text, name, extend::graph_view(P::graph), at, sizes, tolerance);
  }
}
template <std::size_t N> using vector_of = ct::tensor<double, N>;

constexpr auto network = [](auto w, auto x, auto b) { return ct::mean(ct::square(ct::softmax(ct::tanh(ct::matmul(x, w) + b)))); };
constexpr auto rows = [](auto x) { return ct::sum(ct::logsumexp(x, ct::axes<1>)) + ct::sum(ct::max(x, ct::axes<0>)); };
constexpr auto lookups = [](auto x, auto y) {
  auto const i = ct::convert<std::int64_t>(ct::abs(y) * 2.0);
  return ct::sum(ct::square(ct::gather(x, i)) * y);
};
constexpr auto windows = [](auto x) { return ct::sum(x(ct::range<1>) * x(ct::range<0, -1>)) + ct::sum(ct::square(ct::pad<2, 1>(x))); };
constexpr auto parts = [](auto x) { return ct::concatenate(ct::reverse<0>(x), ct::cumsum(x), ct::sort(x)); };
constexpr auto scans = [](auto x) { return ct::sum(ct::cumsum<0>(x) * ct::cumprod<1>(ct::tanh(x))) + ct::sum(ct::cumsum<1>(x) * x); };
constexpr auto rollout = [](auto s, auto w) { return ct::for_loop(7, [&](auto i, auto t) { return ct::tanh(w * t) + 0.1 * ct::convert<double>(i); }, s); };
constexpr auto until = [](auto x) {
  return ct::while_loop<ct::loop{.max_iterations = 40}>([](auto, auto s) { return ct::sum(s * s) > 0.1; }, [](auto, auto s) { return s * 0.7 - 0.01; }, x);
};
constexpr auto filter = [](auto w, auto xs) {
  auto const [last, ys] = ct::scan([&](auto s, auto x) { auto const y = ct::tanh(w * s + x); return std::pair{y, y * y}; }, w * 0.0, xs);
  return last + ct::sum(ys);
};
constexpr auto choice = [](auto x, auto k) {
  return ct::case_of(ct::convert<std::int64_t>(ct::abs(k) * 2.0), [](auto y) { return ct::exp(y); }, [](auto y) { return y * y; }, [](auto y) { return ct::sin(y); })(x);
};
constexpr auto nested = [](auto xs, auto w) { // a gradient in the body of a map
  auto const one = [](auto x, auto v) { return ct::sum(ct::exp(x * v)); };
  return ct::sum(ct::square(ct::map([&](auto x) { return ct::grad(one)(x, w); }, xs)));
};
constexpr auto system = [](auto a, auto b) {
  auto const s = ct::matmul(a, ct::transpose(a)) + 12.0 * ct::eye<double, 9>();
  auto const [sign, logarithm] = ct::slogdet(s);
  return ct::sum(ct::solve(s, b)) + logarithm;
};

constexpr auto singular = [](auto a, auto b) { return ct::solve(a * 0.0, b); };

void compiled_functions(writer& to) {
  using ct::tensor;
  using ct::program;
  ::program<program<decltype(ct::value_and_grad<0, 1, 2>(network)), tensor<double, 4, 3>, tensor<double, "n", 4>, tensor<double, 3>>>(to, "network", {{0}, {1}, {5}, {33}});
  ::program<program<decltype(ct::value_and_grad(rows)), tensor<double, "n", "m">>>(to, "rows", {{1, 1}, {3, 17}, {17, 4}});
  ::program<program<decltype(ct::value_and_grad<0, 1>(lookups)), tensor<double, 6>, tensor<double, 4>>>(to, "lookups");
  ::program<program<decltype(ct::compiled(lookups)), tensor<double, 6>, tensor<double, 4>>>(to, "lookups_out_of_range", {{}}, 1e-10, 4);
  ::program<program<decltype(ct::compiled(singular)), tensor<double, 9, 9>, tensor<double, 9>>>(to, "singular");
  ::program<program<decltype(ct::value_and_grad(windows)), tensor<double, 9>>>(to, "windows");
  ::program<program<decltype(ct::compiled(parts)), tensor<double, 7>>>(to, "parts");
  ::program<program<decltype(ct::value_and_grad(scans)), tensor<double, "n", "m">>>(to, "scans", {{0, 3}, {1, 1}, {4, 7}, {6, 2}});
  ::program<program<decltype(ct::jacobian(parts)), tensor<double, "n">>>(to, "extents_that_are_formulas", {{1}, {4}});
  ::program<program<decltype(ct::hessian(scans)), tensor<double, 2, 3>>>(to, "curvature_of_scans");
  ::program<program<decltype(ct::jacobian(parts)), tensor<double, 5>>>(to, "jacobian_of_parts");
  ::program<program<decltype(ct::value_and_grad<0, 1>(rollout)), double, double>>(to, "rollout");
  ::program<program<decltype(ct::hessian(rollout)), double, double>>(to, "curvature");
  ::program<program<decltype(ct::compiled(until)), tensor<double, 3>>>(to, "until");
  ::program<program<decltype(ct::value_and_grad<0, 1>(filter)), double, tensor<double, "n">>>(to, "filter", {{0}, {1}, {20}});
  ::program<program<decltype(ct::value_and_grad<0>(choice)), double, double>>(to, "choice");
  ::program<program<decltype(ct::value_and_grad<0, 1>(nested)), tensor<double, "n", 3>, tensor<double, 3>>>(to, "nested", {{0}, {1}, {5}});
  ::program<program<decltype(ct::value_and_grad<0, 1>(system)), tensor<double, 9, 9>, tensor<double, 9>>>(to, "system", {{}}, 1e-9);
}

/// A run-time graph: constants are written out, inputs keep their names.
void run_time_graphs(writer& to) {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {3}), unread = g.input<double>("double", {2});
  auto const scale = g.constant(ct::tensor<float, 3>{0.1f, -2, 3e20f});
  auto const y = ct::sum(ct::tanh(x * ct::convert<double>(scale)) * g.constant(ct::tensor<double, 3>{1, 0.1, -3}));
  auto const z = ct::for_loop(4, [&](auto, auto s) { return ct::sin(s * y); }, y);
  auto const d = g.gradient({z}, {x}).front();
  std::string text;
  writer::string_stream out{text};
  ct::emit(out, g, {{"value", z}, {"d x", d}, {"again", z}, {"copy", x}}, {.name = "graph"});
  // (judged by the interpreter)
  std::vector<double> const at{0.3, -0.2, 0.5, 7, 8};
  auto p = g.compile({z, d});
  p.bind(x, ct::view<double const, "n">(at.data(), 3));
  p.run();
  extend::builder b;
  std::int32_t const three = b.shape(extend::dimensions{1, {3}}), two = b.shape(extend::dimensions{1, {2}});
  extend::symbol inputs[2]{b.symbol_of(element::float64, three), b.symbol_of(element::float64, two)}, outputs[4];
  auto const number = [&](double v, std::int32_t shape) { return extend::constant(b, element::float64, shape, v).id; };
  outputs[0] = outputs[2] = number(p.value(z)[0], 0);
  double const slope[]{p.value(d)[0], p.value(d)[1], p.value(d)[2]};
  term joined = extend::constant(b, element::float64, b.shape(extend::dimensions{1, {1}}), slope[0]);
  for (int k = 1; k < 3; ++k) {
    term const next = extend::constant(b, element::float64, b.shape(extend::dimensions{1, {1}}), slope[k]);
    joined = {&b, b.push(info_of<op::concatenate>(), {joined.id, next.id}, {0})};
  }
  outputs[1] = joined.id;
  outputs[3] = inputs[0];
  b.set_inputs(inputs, 2);
  b.set_outputs(outputs, 4);
  to.compare(text, "graph", b.get(), at);
  (void)unread;
}

} // namespace

int main(int count, char** arguments) {
  if (count != 3) return 1;
  for (int k = 0; k < 2; ++k) {
    writer to;
    to.with_library = k == 1;
    each_operation(to, ct::detail::all_operations{});
    random_graphs(to, 8, 12, false);
    random_graphs(to, 8, 40, false);
    random_graphs(to, 8, 30, true);
    nests(to, 9);
    compiled_functions(to);
    run_time_graphs(to);
    std::ofstream(arguments[1 + k]) << to.file();
  }
}
