// SPDX-License-Identifier: BSL-1.0
// Files with graphs that were cut, changed, or made to deceive: an `io_error`, or a graph that is sound.
#include "../archive_cases.hpp"

#include "../archive_bytes.hpp"
#include "../archive_mutations.hpp"
#include "catch.hpp"

#include <cotangent/images.hpp>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace archive_cases;
using archive_bytes::said;
using ct::detail::archived::json;

bool begins(std::string const& text, std::string const& with) { return text.rfind(with, 0) == 0; }
std::string loading(std::string const& bytes) {
  return said([&] { (void)ct::archive::load_bytes(bytes); });
}

/// A small graph: a view that is written, a loop, a constant, data.
std::string small() {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {2}), w = g.parameter<double>("w", {2});
  auto const t = g.tensor<double>("t", {3});
  g.write(g.view(t, {.offset = {1}, .shape = {2}}), x * w);
  auto const y =
      ct::for_loop(3, [&](auto, auto s) { return s * w; }, x + g.constant(std::vector<double>{1, 2}));
  auto const loss = ct::sum(y) + ct::sum(t);
  (void)g.gradient({loss}, {w});
  std::vector<double> const data{1, 2};
  return ct::archive::bytes_of(g, {{w, data}}, {{"loss", loss}});
}

/// The file with its graph changed, sealed again.
template <class Change> std::string with(std::string const& bytes, Change change) {
  auto const layout = ct::detail::archived::layout_of(bytes);
  json j = json::parse(layout.texts.at("cotangent.graph"));
  change(j);
  std::vector<ct::detail::archived::piece> pieces;
  for (auto const& p : layout.tensors)
    pieces.push_back({p.name, p.stored->type, p.shape, layout.data.substr(p.first, p.last - p.first)});
  return ct::detail::archived::composed(pieces, {{"cotangent.graph", j.dump()}}).bytes();
}

} // namespace

TEST_CASE("a file truncated at any byte is refused", "[archive]") {
  std::string const whole = small();
  REQUIRE(loading(whole) == "fine");
  for (std::size_t n = 0; n < whole.size(); ++n)
    if (std::string const words = loading(whole.substr(0, n)); words == "fine" || begins(words, "another"))
      FAIL(n << ": " << words);
}

TEST_CASE("a file with any byte changed is refused", "[archive]") {
  std::string const whole = small();
  for (std::size_t n = 0; n < whole.size(); ++n)
    for (int const flip : {0x01, 0x04, 0x10, 0x20, 0x80, 0xff}) {
      std::string changed = whole;
      changed[n] = static_cast<char>(changed[n] ^ flip);
      if (std::string const words = loading(changed); words == "fine" || begins(words, "another"))
        FAIL(n << ", " << flip << ": " << words);
    }
}

TEST_CASE("a damaged file with a matching checksum is either refused or read as a valid graph", "[archive]") {
  std::string const whole = small();
  int fine = 0, refused = 0;
  constexpr int flips[]{0x01, 0x02, 0x10, 0x80};
  for (std::size_t n = 0; n < whole.size(); ++n) {
    std::string changed = whole;
    changed[n] = static_cast<char>(changed[n] ^ flips[n % 4]);
    archive_bytes::seal(changed);
    std::string const words = loading(changed);
    if (begins(words, "another")) FAIL(n << ", " << flips[n % 4] << ": " << words);
    ++(words == "fine" ? fine : refused);
  }
  CHECK(refused > fine); // letters of names and elements of data may be what they like
  CHECK(fine > 0);
}

TEST_CASE("a graph that is not well formed is refused with a message", "[archive]") {
  std::string const whole = small();
  REQUIRE(loading(with(whole, [](json&) {})) == "fine");
  using change = void (*)(json&);
  std::string const graph = "the graph in the file must be well formed; ";
  std::vector<std::pair<change, std::string>> const cases{
      {[](json& j) { j["version"] = 2; }, "the graph must be of a version"},
      {[](json& j) { j.erase("version"); }, "the graph must be of a version"},
      {[](json& j) { j = 7; }, "the graph must be of a version"},
      {[](json& j) { j["more"] = 1; }, graph + "the key is unknown: more"},
      {[](json& j) { j.erase("graph"); }, graph + "there is no \"graph\""},
      {[](json& j) { j["inputs"][0] = 1000; }, graph + "the number 1000 is out of range"},
      {[](json& j) { j["inputs"][0] = -1; }, graph + "the number -1 is out of range"},
      {[](json& j) { j["inputs"][0] = j["inputs"][1]; }, graph + "a symbol is an input twice"},
      {[](json& j) { j["inputs"].erase(0); }, graph},
      {[](json& j) { j["parameters"][0] = j["pieces"][0]; }, graph + "a parameter is no input"},
      {[](json& j) { j["states"].push_back(j["pieces"][0]); }, graph + "a parameter is no input"},
      {[](json& j) { j["gradients"][0][1] = j["pieces"][0]; }, graph + "a gradient has another element type or shape"},
      {[](json& j) { j["gradients"].push_back(j["gradients"][0]); },
       graph + "two gradients are of one symbol"},
      {[](json& j) { j["updates"].push_back({0, 2}); }, graph + "an update has another element type or shape"},
      {[](json& j) { j["constants"].push_back(j["constants"][0]); }, graph + "a constant is no input"},
      {[](json& j) { j["constants"][0][1] = "w "; }, "data must have the element type and the shape"},
      {[](json& j) { j["binds"][0][0] = j["pieces"][0]; }, "data must have the element type and the shape"},
      {[](json& j) { j["results"]["loss"] = "x"; }, graph},
      {[](json& j) { j["results"] = 1; }, graph},
      {[](json& j) { j["graph"]["nodes"][0]["op"] = "nothing like it"; },
       "every operation of the graph must be known"},
      {[](json& j) { j["graph"]["nodes"][0]["in"][0] = 1 << 30; },
       graph + "the number 1073741824 is out of range"},
      {[](json& j) { j["graph"]["nodes"][0]["in"] = json::array(); },
       graph + "an operation has the wrong number of operands"},
      {[](json& j) { j["graph"]["nodes"][0]["in"][0] = -1; }, graph + "an operand is missing"},
      {[](json& j) { j["graph"]["nodes"][0]["out"] = json::array(); },
       graph + "an operation has the wrong number of results"},
      {[](json& j) { j["graph"]["nodes"][1]["out"] = j["graph"]["nodes"][0]["out"]; },
       graph + "a symbol is assigned twice"},
      {[](json& j) { j["graph"]["nodes"][0]["in"][0] = j["graph"]["nodes"][0]["out"][0]; },
       graph + "there is no order in which its nodes can run"},
      {[](json& j) { j["graph"]["nodes"][0]["merges"] = 1; }, graph + "something is neither true nor false"},
      {[](json& j) { j["graph"]["nodes"][0]["place"] = 1000; }, graph + "the number 1000 is out of range"},
      {[](json& j) { j["graph"]["nodes"][0]["attributes"] = {1.5}; }, graph + "a number is none"},
      {[](json& j) { j["graph"]["nodes"][0]["region"] = 77; }, graph},
      {[](json& j) { j["graph"]["tensors"][0]["shape"] = {3}; }, graph},
      {[](json& j) { j["graph"]["tensors"][0]["shape"] = {-1}; }, graph + "the number -1 is out of range"},
      {[](json& j) { j["graph"]["tensors"][0]["shape"] = json::array({1, 1, 1, 1, 1, 1, 1, 1, 1}); },
       "a tensor must have at most 2^42 elements and 8 axes"},
      {[](json& j) { j["graph"]["tensors"][0]["shape"] = {INT64_MAX, INT64_MAX}; },
       "a tensor must have at most 2^42 elements and 8 axes"},
      {[](json& j) { j["graph"]["tensors"][0]["element"] = "half"; },
       graph + "the element type is unknown: half"},
      {[](json& j) { j["graph"]["tensors"][0]["name"] = std::string("a\0b", 3); }, "names must be UTF-8"},
      {[](json& j) { j["graph"]["tensors"][0]["depth"] = 1; }, graph},
      {[](json& j) { j["graph"]["tensors"][0]["of"] = 1; }, graph + "a view lacks its tensor or its window"},
      {[](json& j) {
         j["graph"]["tensors"][0]["of"] = 0;
         j["graph"]["tensors"][0]["window"] = {0, 1};
       },
       graph},
      {[](json& j) { j["graph"]["regions"] = json::array(); }, graph + "it has no region"},
      {[](json& j) { j["graph"]["regions"][1]["parent"] = 1; }, graph + "a region's owner does not live in its parent"},
      {[](json& j) { j["graph"]["regions"][1]["parent"] = 1 << 20; }, graph + "the number 1048576 is out of range"},
      {[](json& j) {
         json& r = j["graph"]["regions"][1];
         r["parent"] = 1;
         j["graph"]["nodes"][r["owner"].get<std::size_t>()]["region"] = 1;
       },
       graph + "a region is inside itself"},
      {[](json& j) { j["graph"]["regions"][1]["owner"] = 0; }, graph},
      {[](json& j) { j["graph"]["regions"].push_back(j["graph"]["regions"][1]); }, graph},
      {[](json& j) { j["graph"]["extents"] = {"n"}; }, graph + "its sizes are not all numbers"},
      {[](json& j) { j["graph"]["extents"] = {"n", "n"}; }, graph + "two extents are equal"},
      {[](json& j) { j["graph"]["extents"] = {"n-"}; }, graph + "an extent is no formula"},
  };
  for (std::size_t k = 0; k < cases.size(); ++k) {
    CAPTURE(k);
    CHECK(loading(with(whole, cases[k].first)).substr(0, cases[k].second.size()) == cases[k].second);
  }
}

TEST_CASE("a value with rules of its own is refused, unless it has their operands", "[archive]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {3});
  auto const own = ct::custom_vjp([](auto y) { return ct::sin(y); }, [](auto y, auto, auto dy) { return dy * ct::cos(y); });
  std::string const whole = ct::archive::bytes_of(g, {}, {{"y", ct::sum(own(x))}});
  auto const custom = [](json& j) -> json& {
    for (json& n : j["graph"]["nodes"])
      if (n["op"] == "custom") return n;
    throw std::logic_error("the graph has no custom node");
  };
  std::size_t const operands = [&] {
    std::size_t count = 0;
    (void)with(whole, [&](json& j) { count = custom(j)["in"].size(); });
    return count;
  }();
  REQUIRE(operands == 5); // value, argument, two placeholders, the rule's result
  std::string const words = "the graph in the file must be well formed; cotangent: a value with rules of its own";
  auto const refused = [&](auto change) {
    std::string const told = loading(with(whole, [&](json& j) { change(custom(j)); }));
    CAPTURE(told);
    CHECK(begins(told, words));
  };
  for (auto const& numbers : std::vector<std::vector<std::int64_t>>{
           {1000, 0, 1}, {-3, 0, 1}, {std::int64_t{1} << 40, 1, 1}, {1, 1, 1}, {1, 1, 0}, {1, 0, 0}, {1, 0, 2}, {0, 0, 1}, {1, 0}, {}})
    refused([&](json& n) { n["attributes"] = numbers; });
  refused([](json& n) { n["in"] = json::array({n["in"][0]}); });
  refused([](json& n) { n["in"].push_back(n["in"][0]); });
  for (std::size_t k = 2; k < 4; ++k)
    refused([&](json& n) { n["in"][k] = n["in"][1]; }); // the input instead of a placeholder
}

TEST_CASE("the numbers of a convolution are limited", "[archive]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {1, 5, 5, 1}), w = g.input<double>("w", {3, 3, 1, 1});
  std::string const whole = ct::archive::bytes_of(g, {}, {{"y", ct::conv2d(x, w)}});
  for (std::size_t k = 0; k < 8; ++k) // strides, padding, dilation
    for (std::int64_t const number : {std::int64_t{1} << 62, std::int64_t{1} << 31, INT64_MAX}) {
      std::string const words = loading(with(whole, [&](json& j) {
        for (json& n : j["graph"]["nodes"])
          if (n["op"] == "conv2d") n["attributes"][k] = number;
      }));
      CAPTURE(k, number, words);
      CHECK(begins(words, "the graph in the file must be well formed; cotangent: the extents of an image"));
    }
}

TEST_CASE("views outside their tensor are refused, however large their numbers", "[archive]") {
  std::string const whole = small();
  std::vector<json> const windows{
      {2, 1},         {-1, 1},        {0, 3}, {1, INT64_MAX}, {INT64_MIN, INT64_MIN},
      {1, INT64_MIN}, {INT64_MAX, 1}, {1},    {1, 1, 1},      {1, "1"}};
  for (json const& window : windows) {
    CAPTURE(window.dump());
    CHECK(begins(loading(with(whole,
                              [&](json& j) {
                                for (json& t : j["graph"]["tensors"])
                                  if (t.contains("window")) t["window"] = window;
                              })),
                 "the graph in the file must be well formed"));
  }
}

TEST_CASE("a file of tensors only, or without its checksum, contains no graph", "[archive]") {
  ct::archive::tensors t;
  t.add("w", 1.0);
  CHECK(begins(loading(t.composed().bytes()), "the file holds tensors but no graph"));
  auto const layout = ct::detail::archived::layout_of(small());
  json j{{"__metadata__", {{"cotangent.graph", layout.texts.at("cotangent.graph")}}}};
  CHECK(begins(loading(archive_bytes::file(j.dump())),
               "the file was damaged, or changed after it was written"));
}

TEST_CASE("mutated files of complete graphs are either refused or read as valid graphs", "[archive]") {
  everything e;
  std::vector<std::string> const seeds{small(), e.bytes()};
  archive_mutations::counts const n = archive_mutations::run(seeds, 1000, 7);
  CHECK(n.refused + n.fine == 1000);
  CHECK(n.refused > 100);
  CHECK(n.fine > 0);
  INFO(n.other);
  CHECK(n.other.empty());
}
