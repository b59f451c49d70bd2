// SPDX-License-Identifier: BSL-1.0
// Pictures of graphs with views, loops and branches: their nodes, and the frame of each.
#include <cotangent/cotangent.hpp>

#include <cotangent/dynamic.hpp>
#include <cotangent/inspect.hpp>

#include "catch.hpp"

#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace ct = cotangent;
using results = std::vector<std::pair<std::string, ct::dynamic::any_expr>>;

std::string picture(ct::dynamic::graph const& g, results const& y = {}, ct::dot_options const& options = {}) {
  std::ostringstream out;
  ct::dot(out, g, y, options);
  return out.str();
}
bool has(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }
int count(std::string const& text, std::string const& part) {
  int n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++n;
  return n;
}
std::string line_with(std::string const& text, std::string const& part) {
  auto const at = text.find(part);
  if (at == std::string::npos) return "";
  auto const begin = text.rfind('\n', at) + 1;
  return text.substr(begin, text.find('\n', at) - begin);
}
/// The text before " [" or " ->" of the line with these words.
std::string id_of(std::string const& text, std::string const& part) {
  std::string const line = line_with(text, part);
  auto const begin = line.find_first_not_of(' ');
  return begin == std::string::npos ? "" : line.substr(begin, line.find(' ', begin) - begin);
}
/// Between the braces of the frame with this label.
std::string frame(std::string const& text, std::string const& label) {
  auto at = text.find("label=\"" + label);
  if (at == std::string::npos) return "";
  int depth = 1;
  std::size_t end = at;
  for (; end < text.size() && depth > 0; ++end) depth += text[end] == '{' ? 1 : text[end] == '}' ? -1 : 0;
  return text.substr(at, end - at);
}

/// Every end of an edge is a node that is declared, every node once, and the braces fit.
void check_well_formed(std::string const& text) {
  CHECK(count(text, "{") == count(text, "}"));
  std::set<std::string> declared;
  std::istringstream lines(text);
  std::vector<std::string> ends;
  for (std::string line; std::getline(lines, line);) {
    auto const begin = line.find_first_not_of(' ');
    if (begin == std::string::npos) continue;
    std::string id = line.substr(begin, line.find_first_of(" ;", begin) - begin);
    if (auto const arrow = line.find(" -> "); arrow != std::string::npos) {
      if (line.find("style=invis") != std::string::npos) continue;
      ends.push_back(id);
      ends.push_back(line.substr(arrow + 4, line.find_first_of(" ;", arrow + 4) - arrow - 4));
    } else if (line.find(" [") != std::string::npos && id != "graph" && id != "node" && id != "edge") {
      CAPTURE(line);
      CHECK(declared.insert(id).second);
    }
  }
  for (std::string const& id : ends) {
    CAPTURE(id);
    CHECK(declared.count(id) == 1);
  }
}

} // namespace

TEST_CASE("dot: views are windows with a dashed border, before their readers and behind their writers") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {4, 2});
  auto const t = g.tensor<double>("t", {4, 3});
  g.write(g.view(t, {.shape = {4, 2}}), ct::exp(x));
  auto const part = g.view(t, {.offset = {1, 1}, .shape = {2, 1}}),
             diagonal = g.view(t, {.shape = {3}, .stride = {4}});
  auto const y = ct::sum(part) + ct::sum(diagonal);
  std::string const text = picture(g, {{"y", y}});
  check_well_formed(text);
  std::string const tensor = id_of(text, "t\\ndouble [4, 3]"), written = id_of(text, "label=\"[:, 0:2]\""),
                    read = id_of(text, "label=\"[1:3, 1]\"");
  CHECK(has(line_with(text, "t\\ndouble [4, 3]"), "zero (0) where not written"));
  CHECK(has(line_with(text, "label=\"[:, 0:2]\""), "style=dashed"));
  CHECK(has(text, "  " + written + " -> " + tensor + ";"));
  CHECK(has(text, "  " + tensor + " -> " + read + " ["));
  CHECK(has(text, "label=\"0 + (4) by [3]\""));
  CHECK(has(text, "window on a tensor")); // in the legend
  g.write(g.view(t, {.offset = {0, 2}, .shape = {4, 1}}), 1.0);
  CHECK_FALSE(has(picture(g, {{"y", y}}), "zero (0) where not written")); // all of it is
}

TEST_CASE("dot: a loop and its adjoint are frames with back edges for carried values and marks for records") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x"), y = g.input<double>("y"), v = g.input<double>("v");
  auto const u = ct::for_loop(5, [&](auto, auto z) { return ct::log(z * y); }, x) * v;
  auto const dy = g.gradient({u}, {y}).front();
  std::string const text = picture(g, {{"u", u}, {"d y", dy}});
  check_well_formed(text);
  std::string const forward = frame(text, "loop, 5 times\""),
                    backward = frame(text, "loop, 5 times, backwards\"");
  CHECK(has(forward, "label=\"log\\n"));
  CHECK(has(forward, "#3d77b0")); // of the value
  CHECK(has(backward, "label=\"div\\n"));
  CHECK(has(backward, "carried = 0"));
  CHECK(has(backward, "#c8741a")); // of the gradient
  CHECK_FALSE(has(forward, "label=\"u\\n"));
  CHECK(count(text, "label=\"(t)\"") == 2); // z and z y, of each iteration
  CHECK(count(backward, "label=\"kept (t)") == 2);
  CHECK(has(text,
            id_of(forward, "label=\"log\\n") + " -> " + id_of(forward, "label=\"x\"") + " [style=dotted"));
  CHECK(has(line_with(text, "label=\"u\\n"), "#6fa8dc"));
  CHECK(has(line_with(text, "label=\"d y\\n"), "#f6a04d"));
}

TEST_CASE("dot: conditions and branches are frames inside the frame of their node") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x"), w = g.input<double>("w");
  auto const n = g.input<std::int64_t>("n");
  auto const y = ct::while_loop([&](auto i, auto s) { return i < n && s < 9.0; },
                                [&](auto i, auto s) {
                                  return ct::case_of(
                                      ct::convert<std::int32_t>(i) - 1, [](auto p) { return ct::sin(p); },
                                      [&](auto p) { return p * w; })(s);
                                },
                                x);
  std::string const text = picture(g, {{"y", y}});
  check_well_formed(text);
  std::string const loop = frame(text, "loop, asked before each iteration\"");
  CHECK(has(frame(loop, "condition"), "go on?"));
  CHECK(has(frame(loop, "condition"), "label=\"and"));
  CHECK(has(frame(frame(loop, "one of"), "branch 0"), "label=\"sin\\n"));
  CHECK(has(frame(frame(loop, "one of"), "branch 1"), "label=\"mul\\n"));
  CHECK_FALSE(has(frame(loop, "branch 0"), "label=\"mul\\n"));
  CHECK(has(text, "label=\"if none\""));
  CHECK(has(text, "headlabel=\"which\""));
  CHECK_FALSE(has(loop, "shape=house")); // arguments stand outside
}

TEST_CASE("dot: dead nodes are omitted, unless the graph has no results") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x");
  auto const y = ct::exp(x), z = ct::sin(x);
  CHECK_FALSE(has(picture(g, {{"y", y}}), "label=\"sin"));
  std::string const all = picture(g);
  CHECK((has(all, "label=\"sin") && has(all, "label=\"exp")));
  CHECK_FALSE(has(all, "window on a tensor"));
  ct::dynamic::graph other;
  CHECK_THROWS_AS(picture(other, {{"z", z}}), ct::graph_error);
}

TEST_CASE("dot: chains share a box in long graphs, and the long form shows indices and source locations") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x");
  auto h = x;
  for (int k = 0; k < 50; ++k) h = ct::tanh(ct::sin(h));
  std::string const text = picture(g, {{"h", h}});
  check_well_formed(text);
  CHECK(count(text, "  n0 ") == 2); // one box, and its edge to the result
  CHECK_FALSE(has(text, "  n1 "));
  CHECK(count(text, "tanh") == 50);
  std::string const details = picture(g, {{"h", h}}, {.details = true});
  check_well_formed(details);
  CHECK(count(details, "dot_regions.cpp:") == 100);
  CHECK(has(details, "\\n#0"));
}

TEST_CASE("dot: names may contain any characters") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("a \"b\" \\ &amp; {c}\n<d>\t|");
  std::string const text = picture(g, {{"\"", ct::exp(x)}});
  CHECK(has(text, "label=\"a \\\"b\\\" \\\\ &amp;amp; {c}\\n<d> |\\n"));
  CHECK(has(text, "label=\"\\\"\\n"));
}
