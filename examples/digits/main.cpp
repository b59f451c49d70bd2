// SPDX-License-Identifier: BSL-1.0
// A network of two layers learns to read handwritten digits through a gradient that the compiler made.
#include "compare.hpp"
#include "curve.hpp"
#include "network.hpp"
#include "pictures.hpp"
#include "progress.hpp"
#include "reader.hpp"

#include <cotangent/io/describe.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace digits;

constexpr std::size_t images_to_train = 1500;
constexpr int epochs = 40;

// std::shuffle and the distributions differ from library to library, a generator does not.
template <class Swap>
void shuffle(std::size_t n, std::mt19937& random, Swap swap) {
  for (std::size_t k = n; k > 1; --k) swap(k - 1, random() % k);
}

void shuffle(image_set& s, std::mt19937& random) {
  shuffle(s.size(), random, [&](std::size_t a, std::size_t b) {
    std::swap(s.labels[a], s.labels[b]);
    for (std::size_t k = 0; k < 64; ++k) std::swap(s.pixels[a * 64 + k], s.pixels[b * 64 + k]);
  });
}

// [start]
void fill(ct::tensor<float, 64, 32>& w1, ct::tensor<float, 32, 10>& w2, std::mt19937& random) {
  auto const between = [&](float limit) { return limit * (static_cast<float>(random()) * 0x1p-31f - 1); };
  for (float& w : w1) w = between(std::sqrt(6.f / (64 + 32)));
  for (float& w : w2) w = between(std::sqrt(6.f / (32 + 10)));
}
// [/start]

struct trained {
  parameters start, p;
  curve history;
  double accuracy_on_test = 0, seconds = 0;
};

trained train(image_set const& all, std::mt19937& random) {
  trained t{};
  parameters gradient{}, m{}, v{};
  auto& p = t.p;
  fill(p.w1, p.w2, random);
  t.start = p;

  auto const tested = static_cast<std::int64_t>(all.size() - images_to_train);
  // [test images]
  ct::view<float const, "n", 64> const test_images(all.pixels.data() + images_to_train * 64, tested);
  ct::view<std::int32_t const, "n"> const test_labels(all.labels.data() + images_to_train, tested);
  // [/test images]

  std::vector<std::size_t> order(images_to_train);
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;

  images x;
  labels_of_images labels;
  // [workspaces]
  auto const workspace = std::make_unique<gradient_step::workspace>();
  auto const workspace_of_adam = std::make_unique<adam_step::workspace>();
  // [/workspaces]
  progress const bar(epochs);
  float step = 0;
  auto const start = std::chrono::steady_clock::now();
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    shuffle(order.size(), random, [&](std::size_t a, std::size_t b) { std::swap(order[a], order[b]); });
    double sum = 0;
    for (std::size_t first = 0; first < order.size(); first += batch) {
      for (std::size_t k = 0; k < batch; ++k) {
        std::copy_n(all.pixels.data() + order[first + k] * 64, 64, x.data() + k * 64);
        labels(static_cast<std::int64_t>(k)) = all.labels[order[first + k]];
      }
      // [step]
      float value;
      step += 1;
      ct::status status = gradient_step::run(*workspace, std::tie(p, x, labels), std::tie(value, gradient));
      if (status == ct::status::ok)
        status = adam_step::run(*workspace_of_adam, std::tie(p, gradient, m, v, step), std::tie(p, m, v));
      if (status != ct::status::ok) throw std::runtime_error(ct::text_of(status));
      // [/step]
      sum += value * batch;
    }
    double const mean = sum / static_cast<double>(order.size());
    // [test]
    t.accuracy_on_test = ct::compiled(accuracy)(p, test_images, test_labels);
    // [/test]
    t.history.add(mean, t.accuracy_on_test);
    bar.show(epoch, mean, t.accuracy_on_test);
  }
  t.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return t;
}

void say_what_was_compiled() {
  std::printf("\nThe gradient step that the compiler made:\n%s", ct::describe<gradient_step>().c_str());
}

// Where the training starts: at its end, gradients are small differences of large numbers.
void compare(parameters const& p, image_set const& all) {
  images x;
  labels_of_images labels;
  std::copy_n(all.pixels.data(), x.size(), x.data());
  std::copy_n(all.labels.data(), labels.size(), labels.data());
  contest c(p, x, labels);
  if (!c.agree()) throw std::runtime_error("the three ways to compute the gradient disagree");
  auto const t = c.measure();
  std::printf("\nOne gradient step of %d images, three ways with equal results; medians of one run:\n"
              "  Cotangent                    %8.2f us\n"
              "  written by hand, SIMD        %8.2f us   %.2f times as fast\n"
              "  plain loops                  %8.2f us   Cotangent is %.1f times as fast\n",
              batch, t.ours, t.hand, t.ours / t.hand, t.loops, t.loops / t.ours);
}

int run(std::string const& csv, std::filesystem::path const& folder) {
  auto [all, problem] = digits::read(csv);
  if (problem.empty() && all.size() <= images_to_train)
    problem.append(csv)
        .append(" holds ")
        .append(std::to_string(all.size()))
        .append(" images; to learn and to be tested takes more than ")
        .append(std::to_string(images_to_train));
  if (!problem.empty()) {
    std::fprintf(stderr, "digits: %s\n", problem.c_str());
    return 1;
  }
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (!std::filesystem::is_directory(folder)) {
    std::fprintf(stderr, "digits: the folder %s cannot be made: %s\n", folder.c_str(),
                 failed.message().c_str());
    return 1;
  }

  std::mt19937 random(1);
  shuffle(all, random);
  std::printf("%zu images to learn from, %zu to be tested with\n", images_to_train,
              all.size() - images_to_train);
  trained const t = train(all, random);
  std::printf("%.1f %% of the test images are read rightly, after %.2f s\n", 100 * t.accuracy_on_test,
              t.seconds);
  say_what_was_compiled();
  compare(t.start, all);

  std::string const written = draw(t.history, folder);
  if (written.empty()) return 1;
  std::printf("\nPictures: %s\n", written.c_str());
  if (t.accuracy_on_test >= 0.95) return 0;
  std::fprintf(stderr, "digits: less than 95 %% of the test images were read rightly\n");
  return 1;
}

} // namespace

int main(int argc, char** argv) try {
  if (argc == 3) return run(argv[1], argv[2]);
  std::fprintf(stderr, "usage: %s FILE.csv FOLDER\n", argv[0]);
  return 2;
} catch (std::exception const& e) {
  std::fprintf(stderr, "digits: %s\n", e.what());
  return 1;
}
