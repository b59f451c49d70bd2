// SPDX-License-Identifier: BSL-1.0
// The cost of less memory: networks in a budget (ours) against the same program without one (by hand), compiled and in eager
// mode. Their results are compared before they are timed; `n` is the bytes of the workspace.
#include "../../examples/digits/reader.hpp"
#include "harness.hpp"
#include "inputs.hpp"
#include "ours.hpp"

#include <cotangent/eager.hpp>

#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr std::int64_t outputs = 10;

/// The first images of examples/digits.
struct some_digits {
  bench::buffer<float> pixels;
  bench::buffer<std::int32_t> labels;
  explicit some_digits(std::ptrdiff_t rows) : pixels(rows * 64), labels(rows) {
    auto const path = std::string(COTANGENT_BENCH_FOLDER) + "/../../examples/data/digits.csv";
    digits::reading const all = digits::read(path);
    if (all.problem.empty() && std::ptrdiff_t(all.images.size()) < rows)
      throw std::runtime_error(path + " holds too few images");
    if (!all.problem.empty()) throw std::runtime_error(all.problem);
    for (std::ptrdiff_t k = 0; k < rows * 64; ++k) pixels.data()[k] = all.images.pixels[std::size_t(k)];
    for (std::ptrdiff_t k = 0; k < rows; ++k) labels.data()[k] = all.images.labels[std::size_t(k)];
  }
};

/// The deepened digits network: 64 pixels to 32 units, residual layers of 32 units, then 10 digits, with tanh after each layer
/// but the last. Its loss is the mean cross-entropy, with gradients in all weights and offsets.
struct deep_digits {
  ct::dynamic::graph g;
  std::vector<ct::dynamic::expr<float>> inputs; // the pixels and the parameters
  ct::dynamic::expr<std::int32_t> labels;
  std::vector<ct::dynamic::any_expr> results;
  std::vector<bench::buffer<float>> data, gradients;
  some_digits images;
  float loss = 0;

  deep_digits(int layers, std::int64_t rows) : labels(g.input<std::int32_t>("labels", {rows})), images(rows) {
    auto const in = [&](ct::dynamic::sizes const& shape, float size) {
      inputs.push_back(g.input<float>("p", shape));
      data.emplace_back(inputs.back().shape().size().number);
      bench::numbers().fill(data.back(), -size, size);
      return inputs.back();
    };
    auto const affine = [&](ct::dynamic::expr<float> const& x, std::int64_t from, std::int64_t to,
                            float size) {
      auto const w = in({from, to}, size);
      return ct::matmul(x, w) + in({to}, .1f);
    };
    auto h = ct::tanh(affine(in({rows, 64}, 0), 64, 32, .25f));
    for (int k = 0; k < layers - 2; ++k) h = h + ct::tanh(affine(h, 32, 32, .1f));
    auto const y = ct::mean(ct::cross_entropy(affine(h, 32, outputs, .35f), labels));
    for (std::ptrdiff_t k = 0; k < images.pixels.size(); ++k) data[0].data()[k] = images.pixels.data()[k];
    std::vector<ct::dynamic::any_expr> const wrt(inputs.begin() + 1, inputs.end());
    results.push_back(y);
    for (auto const& d : g.gradient({y}, wrt)) {
      results.push_back(d);
      gradients.emplace_back(inputs[results.size() - 1].shape().size().number);
    }
  }
  ct::dynamic::program within(std::int64_t bytes) {
    ct::dynamic::compile_options options;
    options.memory_budget = bytes;
    auto p = g.compile(results, {}, options);
    for (std::size_t k = 0; k < inputs.size(); ++k) p.bind(inputs[k], flat(data[k]));
    p.bind(labels, ct::view<std::int32_t, "n">(images.labels.data(), images.labels.size()));
    p.bind(results[0].as<float>(), ct::view<float, "n">(&loss, 1));
    for (std::size_t k = 0; k < gradients.size(); ++k) p.bind(results[k + 1].as<float>(), flat(gradients[k]));
    return p;
  }

private:
  static ct::view<float, "n"> flat(bench::buffer<float>& b) {
    return ct::view<float, "n">(b.data(), b.size());
  }
};

bench::contestant running(char const* name, ct::dynamic::program p) {
  auto const shared = std::make_shared<ct::dynamic::program>(std::move(p));
  return bench::named(name, [shared] { shared->run(); });
}

bench::entry const one("in a budget", [](bench::suite& suite) {
  for (int const layers : {16, 64}) {
    deep_digits net(layers, 128);
    std::int64_t const whole = net.within(0).workspace_bytes();
    std::string const name = "in a budget, digits with " + std::to_string(layers) + " layers";
    for (int const percent : {100, 80, 65, 50, 40, 30, 20, 15, 10}) {
      if (suite.quick() && percent != 50) continue;
      ct::dynamic::program fitted;
      try {
        fitted = net.within(whole * percent / 100);
      } catch (ct::graph_error const&) {
        break; // smaller budgets cannot be met
      }
      bench::comparison c{name, "float", std::to_string(percent) + " %", fitted.workspace_bytes(), {}, {},
                          {},   {}};
      c.results = {bench::written("loss", &net.loss, 1)};
      for (auto& d : net.gradients) c.results.push_back(bench::written("gradient", d.data(), d.size()));
      c.ours = {running("in a budget", std::move(fitted))};
      c.hand = {running("all is kept", net.within(0))};
      suite.run(c);
    }
  }
});

/// Residual layers with tanh in eager mode: the mean square of the last output and its gradients, within a memory limit.
class written_layers {
  static constexpr int layers = 64;
  static constexpr std::int64_t width = 128;
  ct::dynamic::eager e_;
  std::vector<ct::dynamic::variable<float>> parameters_; // the input, then the weights
  std::int64_t own_ = 0;                                 // bytes of these

public:
  float loss = 0;

  written_layers() {
    std::vector<float> values(static_cast<std::size_t>(width * width));
    for (int k = 0; k <= layers; ++k) {
      for (std::size_t j = 0; j < values.size(); ++j)
        values[j] = .1f * static_cast<float>((j * 37 + static_cast<std::size_t>(k) * 11) % 101 - 50) / 50.f;
      parameters_.push_back(e_.parameter(values, {width, width}));
      parameters_.back().retain_grad(ct::dynamic::gradients::last);
    }
    own_ = e_.live().bytes;
  }
  void run() {
    for (auto& p : parameters_) p.clear_grad();
    auto const y = forward();
    e_.backward(y);
    loss = y.item();
  }
  /// The bytes that the forward pass stores for the gradient.
  std::int64_t kept() {
    auto const y = forward();
    return e_.live().bytes - own_;
  }
  /// Limits these bytes; parameters and their gradients are additional.
  void set_memory_limit(std::int64_t bytes) { e_.set_memory_limit(2 * own_ + bytes); }
  void copy_gradient(std::size_t k, float* to) const {
    auto const d = parameters_[k].grad().value();
    std::memcpy(to, d.data(), sizeof(float) * static_cast<std::size_t>(width * width));
  }
  static constexpr std::ptrdiff_t count = width * width;
  std::size_t size() const { return parameters_.size(); }

private:
  ct::dynamic::variable<float> forward() const {
    auto h = parameters_[0];
    for (int k = 1; k <= layers; ++k)
      h = h + .1f * ct::tanh(ct::matmul(h, parameters_[static_cast<std::size_t>(k)]));
    return ct::mean(ct::square(h));
  }
};

void require_equal_bits(written_layers& a, written_layers& b) {
  a.run();
  b.run();
  bench::buffer<float> of_a(written_layers::count), of_b(written_layers::count);
  bool equal = a.loss == b.loss;
  for (std::size_t k = 0; k < a.size(); ++k) {
    a.copy_gradient(k, of_a.data());
    b.copy_gradient(k, of_b.data());
    equal = equal && std::memcmp(of_a.data(), of_b.data(), sizeof(float) * written_layers::count) == 0;
  }
  if (!equal) throw std::runtime_error("eager mode has other gradients within a limit");
}

bench::entry const written("in a budget, eager", [](bench::suite& suite) {
  std::string const name = "in a budget, eager, 64 layers of 128 x 128";
  bench::buffer<float> loss(1), dx(written_layers::count);
  auto const taking = [&](char const* what, std::shared_ptr<written_layers> const& layers) {
    return bench::named(what, [layers, to = loss.data(), d = dx.data()] {
      layers->run();
      *to = layers->loss;
      layers->copy_gradient(0, d);
    });
  };
  auto const all = std::make_shared<written_layers>();
  std::int64_t const kept = all->kept();
  for (int const part : {1, 2, 3, 4, 6, 8}) {
    if (suite.quick() && part != 2) continue;
    auto const less = std::make_shared<written_layers>();
    less->set_memory_limit(kept / part);
    require_equal_bits(*all, *less);
    bench::comparison c{name, "float", std::to_string((100 + part / 2) / part) + " %", kept / part, {}, {},
                        {},   {}};
    c.results = {bench::written("loss", loss.data(), 1), bench::written("dx", dx.data(), dx.size())};
    c.ours = {taking("within a limit", less)};
    c.hand = {taking("all is kept", all)};
    suite.run(c);
  }
});

} // namespace
