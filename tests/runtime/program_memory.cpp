// SPDX-License-Identifier: BSL-1.0
#include "../allocations.hpp"
#include "../catch.hpp"

#include <cotangent/cotangent.hpp>

#include <thread>
#include <tuple>
#include <vector>

namespace ct = cotangent;

namespace {

constexpr auto layer = [](auto x, auto w, auto b, auto labels) {
  return ct::mean(ct::cross_entropy(ct::matmul(ct::tanh(x), w) + b, labels));
};
constexpr auto gradient = ct::value_and_grad<1, 2>(layer);
using images = ct::tensor<float, "n", 24>;
using weights = ct::tensor<float, 24, 7>;
using biases = ct::tensor<float, 7>;
using classes = ct::tensor<std::int32_t, "n">;
using program = ct::program<decltype(gradient), images, weights, biases, classes>;

struct problem {
  images x;
  weights w;
  biases b;
  classes labels;
  explicit problem(std::size_t n) : x(n), labels(n) {
    int k = 0;
    for (float& v : x) v = 0.01f * static_cast<float>(++k % 97) - 0.4f;
    for (float& v : w) v = 0.02f * static_cast<float>(++k % 53) - 0.5f;
    for (float& v : b) v = 0.1f * static_cast<float>(++k % 11);
    for (std::int32_t& v : labels) v = ++k % 7;
  }
};

struct answer {
  float value = 0;
  weights dw;
  biases db;
  friend bool operator==(answer const&, answer const&) = default;
};

ct::status run(problem const& p, std::vector<unsigned char>& memory, answer& a) {
  auto const first = reinterpret_cast<std::uintptr_t>(memory.data());
  void* const aligned = memory.data() + (64 - first % 64) % 64;
  auto gradients = std::tie(a.dw, a.db);
  return program::run(aligned, std::tie(p.x, p.w, p.b, p.labels), std::tie(a.value, gradients));
}

} // namespace

TEST_CASE("a run allocates nothing") {
  problem const p(50);
  answer a;
  std::vector<unsigned char> memory(program::workspace_for(p.x, p.w, p.b, p.labels) + 64);
  long const before = allocations;
  ct::status const s = run(p, memory, a);
  long const after = allocations;
  CHECK(s == ct::status::ok);
  CHECK(after == before);
  CHECK(a.value > 0);
}

TEST_CASE("the counter of allocations counts") {
  long const before = allocations;
  problem const p(3);
  CHECK(allocations > before);
}

TEST_CASE("one program runs in many threads, each with a workspace of its own") {
  constexpr int threads = 4, repeats = 50;
  std::vector<problem> problems;
  for (int k = 0; k < threads; ++k) problems.emplace_back(static_cast<std::size_t>(10 + 13 * k));
  std::vector<answer> alone(threads), together(threads);
  std::vector<int> wrong(threads, 0);
  std::vector<std::vector<unsigned char>> memory;
  for (problem const& p : problems) memory.emplace_back(program::workspace_for(p.x, p.w, p.b, p.labels) + 64);
  for (int k = 0; k < threads; ++k) {
    auto const i = static_cast<std::size_t>(k);
    REQUIRE(run(problems[i], memory[i], alone[i]) == ct::status::ok);
  }
  std::vector<std::thread> running;
  for (int k = 0; k < threads; ++k)
    running.emplace_back([&, i = static_cast<std::size_t>(k)] {
      for (int r = 0; r < repeats; ++r) {
        together[i] = answer{};
        if (run(problems[i], memory[i], together[i]) != ct::status::ok || !(together[i] == alone[i])) ++wrong[i];
      }
    });
  for (std::thread& t : running) t.join();
  for (int w : wrong) CHECK(w == 0);
}
