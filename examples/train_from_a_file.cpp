// SPDX-License-Identifier: BSL-1.0
// Interrupts and resumes training. A file stores the graph, its parameters, the optimizer state and the updates of a step.
// Another program, which does not know the network, loads the file and continues. The result has the same bits as
// uninterrupted training.
#include <cotangent/cotangent.hpp>

#include <cotangent/archive.hpp>
#include <cotangent/dynamic.hpp>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace ct = cotangent;

namespace {

constexpr int samples = 64;

struct data {
  std::vector<double> x = std::vector<double>(samples), y = std::vector<double>(samples);
  data() {
    for (int k = 0; k < samples; ++k) {
      x[static_cast<std::size_t>(k)] = -2 + 4.0 * k / (samples - 1);
      y[static_cast<std::size_t>(k)] = std::sin(2 * x[static_cast<std::size_t>(k)]);
    }
  }
};

/// The memory that training changes.
struct memory {
  std::vector<std::vector<double>> values;
  std::vector<ct::dynamic::binding> binds;
};

// [save]
/// Trains from the start for `steps` steps, and saves the result.
void train(std::filesystem::path const& file, int steps) {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {samples, 1}), y = g.input<double>("y", {samples, 1});
  auto const w1 = g.parameter<double>("w1", {1, 16}), b1 = g.parameter<double>("b1", {16}),
             w2 = g.parameter<double>("w2", {16, 1});
  auto const hidden = ct::tanh(ct::matmul(x, w1) + b1);
  auto const loss = ct::mean(ct::square(ct::matmul(hidden, w2) - y));
  auto const step = g.minimize(loss, ct::sgd{.learning_rate = .05, .momentum = .9}, {w1, b1, w2});

  memory m;
  m.values.reserve(step.updates.size());
  for (auto const& u : step.updates) { // the parameters and their optimizer state
    auto const t = u.of.as<double>();
    auto& v = m.values.emplace_back(static_cast<std::size_t>(t.size()));
    bool const is_parameter = t.id() == w1.id() || t.id() == b1.id() || t.id() == w2.id();
    for (std::size_t k = 0; is_parameter && k < v.size(); ++k)
      v[k] = std::sin(3.0 * double(k) + double(t.id()));
    m.binds.emplace_back(t, v);
  }
  data const d;
  auto program = g.compile({loss}, m.binds, {.updates = step.updates});
  program.bind(x, d.x);
  program.bind(y, d.y);
  for (int k = 0; k < steps; ++k) program.run();
  std::printf("after %4d steps: loss %.9f\n", steps, double(program.value(loss)));
  ct::archive::save(file, g, m.binds, {{"loss", loss}}, step.updates);
}
// [/save]

// [load]
/// Resumes from a file, and overwrites it.
void train_on(std::filesystem::path const& file, int steps) {
  auto kept = ct::archive::load(file);
  auto const loss = kept.find<double>("loss");
  data const d;
  auto program = kept.graph.compile({loss}, kept.binds(), {.updates = kept.updates()});
  program.bind(kept.find<double>("x"), d.x);
  program.bind(kept.find<double>("y"), d.y);
  for (int k = 0; k < steps; ++k) program.run();
  std::printf("after %4d more:  loss %.9f\n", steps, double(program.value(loss)));
  ct::archive::save(file, kept.graph, kept.binds(), {{"loss", loss}}, kept.updates());
}
// [/load]

} // namespace

int main() {
  auto const folder = std::filesystem::temp_directory_path();
  auto const name =
      "cotangent-example-" + std::to_string(std::hash<std::string>{}(folder.string() + __DATE__ __TIME__));
  auto const whole = folder / (name + "-a.safetensors"), parts = folder / (name + "-b.safetensors");
  train(whole, 400);
  train(parts, 150);
  train_on(parts, 250);

  // [weights]
  auto const a = ct::archive::read(whole), b = ct::archive::read(parts); // as Python's safetensors would
  bool equal = a.names() == b.names();
  for (std::string const& tensor : a.names()) equal = equal && a.bytes(tensor) == b.bytes(tensor);
  // [/weights]
  std::filesystem::remove(whole);
  std::filesystem::remove(parts);
  std::printf("%s\n", equal ? "the same bits" : "different bits");
  return equal ? 0 : 1;
}
