// SPDX-License-Identifier: BSL-1.0
#include <cotangent/cotangent.hpp>
#include <cotangent/dynamic.hpp>
#include <cotangent/inspect.hpp>

#include "catch.hpp"

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

// Where every byte of a workspace goes: pieces that lie apart while they are there, sums that are the program's.

namespace ct = cotangent;

namespace {

using dynamic_expr = ct::dynamic::expr<double>;

// (Two pieces may lie on the same bytes in one step only: in the one in which the later is written over the earlier.)
std::string wrong(ct::profile const& p) {
  std::int64_t end = 0, peak = 0;
  for (ct::profile::piece const& t : p.pieces) {
    if (t.offset < 0 || t.bytes <= 0 || t.first < 0 || t.last < t.first) return "a piece without a place";
    if (t.last >= static_cast<int>(p.steps.size())) return "a piece after the last step";
    end = std::max(end, t.offset + t.bytes);
  }
  if (end > p.bytes) return "a piece beyond the workspace";
  for (ct::profile::piece const& a : p.pieces)
    for (ct::profile::piece const& b : p.pieces) {
      bool const apart = a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset;
      if (&a == &b || apart || a.last < b.first || b.last < a.first) continue;
      bool const over =
          (a.last == b.first || b.last == a.first) && a.offset == b.offset && a.bytes == b.bytes;
      if (!over) return "two pieces on one byte";
    }
  for (std::size_t k = 0; k < p.steps.size(); ++k) { // byte by byte
    std::vector<bool> used(static_cast<std::size_t>(p.bytes));
    for (ct::profile::piece const& t : p.pieces)
      if (t.first <= static_cast<int>(k) && static_cast<int>(k) <= t.last)
        std::fill_n(used.begin() + t.offset, t.bytes, true);
    std::int64_t const live = std::count(used.begin(), used.end(), true);
    if (live != p.steps[k].live) return "a step with another sum of live bytes";
    peak = std::max(peak, live);
  }
  if (peak != p.peak) return "another peak";
  for (ct::profile const& inside : p.regions)
    if (std::string const w = wrong(inside); !w.empty()) return w;
  return {};
}
std::int64_t end_of(ct::profile const& p) {
  std::int64_t end = 0;
  for (ct::profile::piece const& t : p.pieces) end = std::max(end, t.offset + t.bytes);
  return end;
}
std::string table_of(ct::profile const& p) {
  std::ostringstream out;
  out << p;
  return out.str();
}
std::string picture_of(ct::profile const& p) {
  std::ostringstream out;
  ct::svg(out, p);
  return out.str();
}
int count(std::string const& text, std::string const& part) {
  int n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++n;
  return n;
}

// Tags that open and close in turn, attributes between quotes, entities by name: what a reader of XML asks for.
bool is_well_formed(std::string const& xml) {
  std::vector<std::string> open;
  bool any = false;
  for (std::size_t at = 0; at < xml.size(); ++at) {
    if (xml[at] == '&') {
      std::size_t const end = xml.find(';', at);
      std::string const name = end == std::string::npos ? "" : xml.substr(at + 1, end - at - 1);
      if (name != "amp" && name != "lt" && name != "gt" && name != "quot") return false;
    }
    if (xml[at] == '>') return false;
    if (xml[at] != '<') continue;
    std::size_t end = at + 1;
    for (bool quoted = false; end < xml.size() && (quoted || xml[end] != '>'); ++end) {
      if (xml[end] == '"') quoted = !quoted;
      if (xml[end] == '<') return false;
    }
    if (end >= xml.size()) return false;
    std::string const tag = xml.substr(at + 1, end - at - 1);
    std::string const name = tag.substr(0, tag.find_first_of(" /", 1));
    if (open.empty() && any) return false; // one element holds all others
    any = true;
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
    } else if (tag.back() != '/') open.push_back(name);
    for (std::size_t equals = tag.find('='); equals != std::string::npos; equals = tag.find('=', equals)) {
      if (equals + 1 >= tag.size() || tag[equals + 1] != '"') return false;
      equals = tag.find('"', equals + 2);
      if (equals == std::string::npos) return false;
    }
    at = end;
  }
  return any && open.empty();
}

constexpr unsigned line_of_hidden = __LINE__ + 2;
constexpr auto loss = [](auto w1, auto w2, auto x) {
  auto h = ct::tanh(ct::matmul(x, w1));
  return ct::sum(ct::square(ct::matmul(h, w2)));
};
using network = ct::program<decltype(ct::value_and_grad<0, 1>(loss)), ct::tensor<double, 16, 24>,
                            ct::tensor<double, 24, 8>, ct::tensor<double, 40, 16>>;

constexpr auto layers = [](auto w1, auto w2, auto w3, auto x, auto labels) {
  auto h = ct::tanh(ct::matmul(x, w1));
  auto k = ct::tanh(ct::matmul(h, w2)) + h;
  return ct::mean(ct::cross_entropy(ct::matmul(k, w3), labels));
};
using deep = ct::program<decltype(ct::value_and_grad<0, 1, 2>(layers)), ct::tensor<float, 64, 32>,
                         ct::tensor<float, 32, 32>, ct::tensor<float, 32, 10>, ct::tensor<float, 50, 64>,
                         ct::tensor<std::int32_t, 50>>;

constexpr auto soft = [](auto w, auto x) {
  return ct::sum(ct::log(ct::sum(ct::exp(ct::matmul(x, w)), ct::axes<1>)));
};
using named =
    ct::program<decltype(ct::value_and_grad(soft)), ct::tensor<float, "m", 32>, ct::tensor<float, "n", "m">>;

// Five times tanh of a product in a loop, and a branch after it.
struct with_regions {
  ct::dynamic::graph g;
  dynamic_expr x = g.input<double>("x", {30, 40}), w = g.input<double>("w", {40, 40});
  std::vector<double> a = std::vector<double>(1200, 0.1), b = std::vector<double>(1600, 0.01);

  ct::dynamic::program made() {
    auto const h = ct::while_loop([](auto i, auto) { return i < 5; },
                                  [&](auto, auto y) { return ct::tanh(ct::matmul(y, w)); }, x);
    auto const y = ct::sum(
        ct::cond(ct::sum(h) > 0., [](auto t) { return ct::exp(t); }, [](auto t) { return ct::sin(t); })(h));
    ct::dynamic::program p = g.compile({y, g.gradient({y}, {w}).front()});
    p.bind(x, a);
    p.bind(w, b);
    return p;
  }
};

} // namespace

TEST_CASE("memory_profile: the buffers of a static program do not overlap, and end where its workspace does",
          "[memory_profile]") {
  ct::profile const p = ct::memory_profile<network>();
  CHECK(wrong(p) == "");
  CHECK(p.bytes == static_cast<std::int64_t>(network::workspace_bytes));
  CHECK(end_of(p) == p.bytes);
  CHECK(p.peak <= p.bytes);
  CHECK(p.arguments == 8 * (16 * 24 + 24 * 8 + 40 * 16));
  CHECK(p.results == 8 * (1 + 16 * 24 + 24 * 8));
}

TEST_CASE("memory_profile: buffers of a static program are packed if that takes less than their slots",
          "[memory_profile]") {
  ct::detail::plan const p = ct::detail::make_plan(deep::graph, COTANGENT_ABI_BYTES);
  std::int64_t in_slots = 0;
  for (ct::detail::slot const& s : p.slots) in_slots += (s.count * s.bytes + 63) / 64 * 64;
  CHECK(static_cast<std::int64_t>(deep::workspace_bytes) < in_slots);
  ct::profile const m = ct::memory_profile<deep>();
  CHECK(wrong(m) == "");
  CHECK(end_of(m) == static_cast<std::int64_t>(deep::workspace_bytes));
}

TEST_CASE("documented: a profile of memory", "[memory_profile]") {
  std::ostringstream out, file;
  {
    std::ostream &cout = out, &picture = file;
    // [static profile]
    ct::profile const p = ct::memory_profile<network>();
    cout << p;
    ct::svg(picture, p);
    // [/static profile]
  }
  CHECK(out.str().find("matmul of [40, 16] x [16, 24] -> [40, 24]") != std::string::npos);
  CHECK(is_well_formed(file.str()));
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {3});
  // [dynamic profile]
  ct::dynamic::program program = g.compile({ct::exp(x)});
  ct::profile const p = ct::memory_profile(program);
  // [/dynamic profile]
  CHECK(p.bytes == program.workspace_bytes());
}

TEST_CASE("memory_profile: a buffer names its operation, its shape and its source line", "[memory_profile]") {
  ct::profile const p = ct::memory_profile<network>();
  auto const hidden = std::find_if(p.pieces.begin(), p.pieces.end(), [](ct::profile::piece const& t) {
    return t.what == "tanh" && t.shape == "double [40, 24]";
  });
  REQUIRE(hidden != p.pieces.end());
  CHECK(hidden->where.line == line_of_hidden);
  CHECK(hidden->where.text() == "memory_profile.cpp:" + std::to_string(line_of_hidden));
  CHECK(hidden->bytes == 40 * 24 * 8);
  CHECK(p.steps[static_cast<std::size_t>(hidden->first)].where.line == line_of_hidden);
}

TEST_CASE("memory_profile: sizes known at the call only are those of the call", "[memory_profile]") {
  for (int const n : {3, 30, 200}) {
    ct::tensor<float, "m", 32> const w(40);
    ct::tensor<float, "n", "m"> const x(n, 40);
    ct::profile const p = ct::memory_profile<named>(w, x);
    CHECK(wrong(p) == "");
    CHECK(p.bytes == static_cast<std::int64_t>(named::workspace_for(w, x)));
    CHECK(end_of(p) == p.bytes);
    CHECK(p.arguments == 4 * (40 * 32 + n * 40));
  }
}

TEST_CASE("memory_profile: a program in registers has one step and no workspace", "[memory_profile]") {
  static constexpr auto small = [](auto x) { return ct::exp(x) * x; };
  ct::profile const p = ct::memory_profile<ct::program<decltype(small), double>>();
  CHECK(p.bytes == 0);
  CHECK(p.peak == 0);
  CHECK(p.pieces.empty());
  CHECK(p.steps.size() == 1);
  CHECK(is_well_formed(picture_of(p)));
}

TEST_CASE("memory_profile: loops and branches use the memory of their step, and have profiles of their own",
          "[memory_profile]") {
  with_regions of;
  ct::dynamic::program p = of.made();
  ct::profile const before = ct::memory_profile(p);
  CHECK(before.tape == 0);
  p.run();
  ct::profile const m = ct::memory_profile(p);
  CHECK(wrong(m) == "");
  CHECK(m.bytes == p.workspace_bytes());
  CHECK(end_of(m) == m.bytes);
  CHECK(m.tape == p.tape_bytes());
  CHECK(m.tape > 0);
  REQUIRE(m.records.size() >= 1);
  CHECK(m.records[0].bytes % (30 * 40 * 8) == 0); // tensors of the carried shape
  CHECK(m.tape >= 5 * m.records[0].bytes);
  CHECK(m.regions.size() >= 6); // bodies and condition, two branches, forward and backward
  for (std::size_t k = 0; k < m.steps.size(); ++k)
    for (int const r : m.steps[k].regions) {
      std::int64_t room = 0;
      for (ct::profile::piece const& t : m.pieces)
        if (!t.value && t.first == static_cast<int>(k) && t.last == t.first) room = t.bytes;
      CHECK(m.regions[static_cast<std::size_t>(r)].bytes <= room);
    }
  CHECK(table_of(m).find("  body of step ") != std::string::npos);
  CHECK(table_of(m).find(" bytes on the tape") != std::string::npos);
  CHECK(is_well_formed(picture_of(m)));
}

TEST_CASE("memory_profile: inputs and results of the program have the offsets in the profile",
          "[memory_profile]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {8, 64}), y = g.input<double>("y", {8, 64});
  auto const z = ct::exp(ct::matmul(x, ct::transpose(y)));
  ct::dynamic::program p = g.compile({z}, {}, {.exact = false, .own_memory = true});
  ct::profile const m = ct::memory_profile(p);
  CHECK(wrong(m) == "");
  CHECK(m.arguments == 0);
  CHECK(m.results == 0);
  auto const offset = [&](std::string const& name) {
    for (ct::profile::piece const& t : m.pieces)
      if (t.name == name) return t.offset;
    return std::int64_t{-1};
  };
  REQUIRE(offset("x") >= 0);
  CHECK(reinterpret_cast<char*>(p.memory(y).data()) - reinterpret_cast<char*>(p.memory(x).data()) ==
        offset("y") - offset("x"));
}

TEST_CASE("memory_profile: memory that a result reuses from its operand counts once", "[memory_profile]") {
  ct::profile p;
  p.bytes = 192;
  p.steps.resize(3);
  p.pieces = {{"exp", {}, {}, {}, 0, 128, 0, 1, true},
              {"sin", {}, {}, {}, 0, 128, 1, 2, true},
              {"sum", {}, {}, {}, 128, 64, 1, 1, true}};
  p.settle();
  CHECK(p.steps[0].live == 128);
  CHECK(p.steps[1].live == 192);
  CHECK(p.steps[2].live == 128);
  CHECK(p.peak == 192);
  CHECK(p.peak_step() == 1);
  CHECK(wrong(p) == "");
  p.pieces.push_back({"cos", {}, {}, {}, 64, 64, 0, 1, true});
  CHECK(wrong(p) == "two pieces on one byte");
}

TEST_CASE("memory_profile: the table has a fixed format", "[memory_profile]") {
  ct::profile p;
  p.title = "program";
  p.bytes = 12800;
  p.arguments = 4096;
  p.results = 8;
  p.steps = {{"matmul", {"/home/you/train.cpp", 12}, 0, {}}, {"tanh mul x2", {"train.cpp", 13}, 0, {}}};
  p.pieces = {{"tanh", "h", "float [16, 64]", {"train.cpp", 13}, 4096, 4096, 1, 1, true},
              {"matmul", "", "float [16, 64]", {"/home/you/train.cpp", 12}, 0, 4096, 0, 1, true}};
  p.settle();
  CHECK(table_of(p) == "program: workspace 12,800 bytes, at most 8,192 live at once (step 2)\n"
                       "besides: arguments 4,096 bytes, results 8 bytes\n"
                       "\n"
                       "  step        live  computes\n"
                       "     1       4,096  matmul       train.cpp:12\n"
                       "     2       8,192  tanh mul x2  train.cpp:13\n"
                       "\n"
                       "      offset       bytes      steps  tensor\n"
                       "           0       4,096        1-2  matmul float [16, 64]     train.cpp:12\n"
                       "       4,096       4,096        2-2  tanh float [16, 64]    h  train.cpp:13\n");
}

TEST_CASE("memory_profile: the drawing is well-formed, with a rectangle and its label for each buffer",
          "[memory_profile]") {
  ct::profile p = ct::memory_profile<network>();
  std::string const text = picture_of(p);
  CHECK(is_well_formed(text));
  CHECK(count(text, "<title>") == static_cast<int>(p.pieces.size()));
  CHECK(count(text, "memory_profile.cpp:" + std::to_string(line_of_hidden)) > 2);
  CHECK(text.find("peak ") != std::string::npos);
  p.pieces[0].name = "a<b & \"c\"";
  CHECK(is_well_formed(picture_of(p)));
  CHECK(picture_of(p).find("a&lt;b &amp; &quot;c&quot;") != std::string::npos);
}

TEST_CASE("memory_profile: the check of drawings notices malformed ones", "[memory_profile]") {
  CHECK(is_well_formed("<a b=\"1\"><c/></a>"));
  CHECK_FALSE(is_well_formed("<a><c></a></c>"));
  CHECK_FALSE(is_well_formed("<a b=1></a>"));
  CHECK_FALSE(is_well_formed("<a>&</a>"));
  CHECK_FALSE(is_well_formed("<a></a><b></b>"));
  CHECK_FALSE(is_well_formed("<a>"));
  CHECK_FALSE(is_well_formed(""));
}

TEST_CASE("memory_profile: of very many buffers the largest are drawn, and the number of others is shown",
          "[memory_profile]") {
  ct::profile p;
  p.bytes = 6000 * 64;
  p.steps.resize(6000);
  for (int k = 0; k < 6000; ++k)
    p.pieces.push_back({"exp", {}, {}, {}, 64 * k, 64, k, std::min(k + 3, 5999), true});
  p.settle();
  CHECK(p.peak == 4 * 64);
  std::string const text = picture_of(p);
  CHECK(is_well_formed(text));
  CHECK(count(text, "<title>") == 4000);
  CHECK(text.find("2,000 small pieces are not drawn") != std::string::npos);
}

TEST_CASE("the profile of a program with a loop has the steps outside of its body") {
  // The body reads a matrix that a kernel makes.
  constexpr auto f = [](auto w, auto z) {
    auto const captured = ct::diag(0 * w + 1);
    return ct::sum(ct::for_loop(3, [&](auto, auto p) { return ct::matmul(p, p) + captured; }, z));
  };
  using looping = ct::program<decltype(ct::compiled(f)), ct::tensor<double, 2>, ct::tensor<double, 2, 2>>;
  auto const made = ct::memory_profile<looping>();
  CHECK(made.bytes == static_cast<std::int64_t>(looping::workspace_bytes));
  int loops = 0;
  for (auto const& s : made.steps) loops += s.what.rfind("loop of ", 0) == 0;
  CHECK(loops == 1);
  for (auto const& s : made.steps) CHECK(s.what.find("matmul") == std::string::npos);
  for (auto const& p : made.pieces) CHECK(p.offset + p.bytes <= made.bytes);
}
