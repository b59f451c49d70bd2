// SPDX-License-Identifier: BSL-1.0
// The code of docs/how-to/save-and-load.md and visualize-graphs.md. (As an archive test, it needs nlohmann-json.)
#include <cotangent/cotangent.hpp>

#include <cotangent/archive.hpp>
#include <cotangent/dynamic.hpp>
#include <cotangent/inspect.hpp>

#include "catch.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace {

namespace ct = cotangent;

struct folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("cotangent-" + std::to_string(std::random_device()()));
  folder() { std::filesystem::create_directory(path); }
  ~folder() { std::filesystem::remove_all(path); }
};

TEST_CASE("a graph is saved and loaded", "[documented][archive]") {
  folder const here;
  auto const path = here.path / "net.safetensors";
  {
    // [save]
    ct::dynamic::graph g;
    auto x = g.input<float>("x", {3});
    auto w = g.parameter<float>("w", {3});
    auto loss = ct::sum(ct::square(ct::tanh(w * x)));
    auto dw = g.gradient({loss}, {w}).front();

    std::vector<float> weights{.1f, .2f, .3f};
    ct::archive::save(path, g, {{w, weights}}, {{"loss", loss}, {"slope", dw}});
    // [/save]
    // [without reading back]
    ct::archive::save(path, g, {{w, weights}}, {{"loss", loss}}, {}, {.read_back = false});
    // [/without reading back]
    ct::archive::save(path, g, {{w, weights}}, {{"loss", loss}, {"slope", dw}});
  }
  // [load]
  auto file = ct::archive::load(path);
  auto loss = file.find<float>("loss"), slope = file.find<float>("slope");
  auto p = file.graph.compile({loss, slope}, file.binds());
  p.bind(file.find<float>("x"), std::vector<float>{1, 2, 3});
  p.run();
  float const before = p.value(loss);
  file.data.elements<float>("w")[0] -= .1f * p.value(slope)(0);
  // [/load]
  p.run();
  CHECK(float(p.value(loss)) < before);

  auto const other = here.path / "other.safetensors";
  ct::archive::tensors trained;
  trained.add("w", std::vector<float>{0, 0, 1});
  ct::archive::write(other, trained);
  // [take]
  file.take(ct::archive::read(other));
  // [/take]
  p.run();
  CHECK(float(p.value(loss)) == Approx(std::tanh(3.f) * std::tanh(3.f)));
}

TEST_CASE("a graph is drawn", "[documented]") {
  folder const here;
  std::ofstream file(here.path / "loop.dot");
  // [dot]
  ct::dynamic::graph g;
  auto x = g.input<double>("x"), y = g.input<double>("y");
  auto z = ct::for_loop(5, [&](auto, auto s) { return ct::log(s * y); }, x);
  auto dy = g.gradient({z}, {y}).front();

  ct::dot(file, g, {{"z", z}, {"d y", dy}});
  // [/dot]
  file.close();
  CHECK(std::filesystem::file_size(here.path / "loop.dot") > 1000);
}

} // namespace
