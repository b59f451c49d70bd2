// SPDX-License-Identifier: BSL-1.0
// Values and gradients of a few graphs that are known at run time, against torch on the CPU, both on one thread. Where it
// is not installed a sentence says so.
#include "harness.hpp"
#include "inputs.hpp"

#include <cotangent/dynamic.hpp>
#include <cotangent/images.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#if defined(__unix__)
#  include <sys/wait.h>
#  include <unistd.h>
#endif

namespace {

namespace ct = cotangent;
using ct::dynamic::expr;

/// torch_times.py at work: a case goes in, its seconds and the sum of its gradients come out.
class other {
public:
  other() {
#if defined(__unix__)
    char const* const given = std::getenv("COTANGENT_PYTHON");
    char const* const python = given != nullptr ? given : "python3";
    int to[2], from[2];
    if (pipe(to) != 0 || pipe(from) != 0) return;
    child_ = fork();
    if (child_ == 0) {
      dup2(to[0], 0);
      dup2(from[1], 1);
      for (int const end : {to[0], to[1], from[0], from[1]}) close(end);
      execlp(python, python, COTANGENT_BENCH_FOLDER "/torch_times.py", nullptr);
      _exit(127);
    }
    close(to[0]);
    close(from[1]);
    in_ = fdopen(to[1], "w");
    out_ = fdopen(from[0], "r");
    char word[200] = "";
    if (std::fgets(word, sizeof word, out_) == nullptr || std::string(word) != "ready\n") {
      std::printf("torch: left out: %s", word[0] != 0 ? word : "there is no python3\n");
      ready_ = false;
    } else ready_ = true;
#else
    std::puts("torch: left out: this needs a Unix");
#endif
  }
  other(other const&) = delete;
  ~other() {
#if defined(__unix__)
    if (in_ != nullptr) std::fclose(in_);
    if (out_ != nullptr) std::fclose(out_);
    if (child_ > 0) waitpid(child_, nullptr, 0);
#endif
  }
  bool ready() const { return ready_; }
  bool ask(char const* name, double& seconds, double& total) {
    std::fprintf(in_, "%s\n", name);
    std::fflush(in_);
    return std::fscanf(out_, "%lf %lf", &seconds, &total) == 2;
  }

private:
  std::FILE *in_ = nullptr, *out_ = nullptr;
  int child_ = -1;
  bool ready_ = false;
};

std::vector<float> numbers(float scale, std::int64_t count) {
  std::vector<float> v(static_cast<std::size_t>(count));
  for (std::int64_t k = 0; k < count; ++k)
    v[static_cast<std::size_t>(k)] = (static_cast<float>(k * 37 % 101) / 101 - 0.5f) * scale;
  return v;
}

/// The value and the gradients of `function` with respect to all its leaves.
struct task {
  ct::dynamic::graph g;
  std::vector<expr<float>> leaves, results;
  std::vector<std::vector<float>> memory;
  std::vector<std::int32_t> labels;
  expr<std::int32_t> label;

  expr<float> leaf(std::string const& name, float scale, ct::dynamic::sizes const& shape) {
    std::int64_t count = 1;
    for (int k = 0; k < shape.rank(); ++k) count *= shape[k];
    leaves.push_back(g.input<float>(name, shape));
    memory.push_back(numbers(scale, count));
    return leaves.back();
  }
  ct::dynamic::program program(expr<float> const& y, std::size_t wrt) {
    std::vector<ct::dynamic::any_expr> outputs{y};
    results = wrt == 1 ? g.gradient({y}, {leaves[0]}) : g.gradient({y}, {leaves[0], leaves[1]});
    for (auto const& d : results) outputs.push_back(d);
    auto p = g.compile(outputs);
    for (std::size_t k = 0; k < leaves.size(); ++k) p.bind(leaves[k], memory[k]);
    if (!labels.empty()) p.bind(label, labels);
    return p;
  }
};

double seconds_of(ct::dynamic::program& p) {
  using clock = std::chrono::steady_clock;
  auto const seconds = [](clock::time_point start) {
    return std::chrono::duration<double>(clock::now() - start).count();
  };
  auto start = clock::now();
  p.run();
  int const calls = std::max(1, static_cast<int>(0.01 / seconds(start)));
  std::vector<double> samples;
  for (int sample = 0; sample < 5; ++sample) {
    start = clock::now();
    for (int k = 0; k < calls; ++k) p.run();
    samples.push_back(seconds(start) / calls);
  }
  std::nth_element(samples.begin(), samples.begin() + 2, samples.end());
  return samples[2];
}

void compare(other& torch, char const* name, task& t, ct::dynamic::program p, bool quick) {
  p.run();
  double mine = 0, theirs = 0, their_seconds = 0, scale = 1;
  for (auto const& d : t.results)
    for (float const v : p.value(d))
      mine += static_cast<double>(v), scale += std::fabs(static_cast<double>(v));
  std::vector<double> ratios, ours, others;
  for (int round = 0; round < (quick ? 3 : 11); ++round) {
    ours.push_back(seconds_of(p));
    if (!torch.ask(name, their_seconds, theirs)) {
      std::printf("torch, %s: no answer\n", name);
      return;
    }
    others.push_back(their_seconds);
    ratios.push_back(ours.back() / their_seconds);
  }
  if (!(std::fabs(mine - theirs) <= 1e-4 * scale)) {
    std::printf("torch, %s: the gradients do not agree: their sums are %.9g and %.9g\n", name, mine, theirs);
    std::exit(1);
  }
  for (auto* const list : {&ratios, &ours, &others}) std::sort(list->begin(), list->end());
  std::size_t const middle = ratios.size() / 2;
  std::printf("torch, %-14s float  torch %9.2f us  ours %9.2f us  ours / torch %5.2f [%.2f, %.2f]\n", name,
              others[middle] * 1e6, ours[middle] * 1e6, ratios[middle], ratios.front(), ratios.back());
}

bench::entry const against_torch("torch", [](bench::suite& suite) {
  if (!suite.wanted("torch")) return;
  other torch;
  if (!torch.ready()) return;
  {
    task t;
    auto const x = t.leaf("x", 2, {65536});
    auto y = x * 0.25 + 0.5;
    for (int k = 0; k < 16; ++k) y = y * x + 0.125 * (k % 5 - 2);
    compare(torch, "chain", t, t.program(ct::sum(y), 1), suite.quick());
  }
  {
    task t;
    auto const w1 = t.leaf("w1", 0.2f, {256, 128}), w2 = t.leaf("w2", 0.2f, {128, 10}),
               images = t.leaf("images", 1, {64, 256});
    t.label = t.g.input<std::int32_t>("labels", {64});
    for (int k = 0; k < 64; ++k) t.labels.push_back(k * 7 % 10);
    auto const h = ct::tanh(ct::matmul(images, w1));
    auto const loss = ct::mean(ct::cross_entropy(ct::matmul(h, w2), t.label));
    compare(torch, "perceptron", t, t.program(loss, 2), suite.quick());
  }
  {
    task t;
    auto const x = t.leaf("x", 1, {8, 28, 28, 32}), w = t.leaf("w", 0.2f, {3, 3, 32, 32});
    compare(torch, "convolution", t, t.program(ct::sum(ct::relu(ct::conv2d(x, w, {.padding = 1}))), 2),
            suite.quick());
  }
  {
    task t;
    auto const w = t.leaf("w", 1, {1024}), h0 = t.leaf("h", 1, {1024});
    auto const h = ct::for_loop(100, [&](auto, auto v) { return ct::tanh(w * v) + 0.5 * v; }, h0);
    compare(torch, "loop", t, t.program(ct::sum(h), 2), suite.quick());
  }
});

} // namespace
