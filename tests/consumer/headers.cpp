// SPDX-License-Identifier: BSL-1.0
// Headers at the top of the folder, without cotangent.hpp and in another order than all.hpp has them.
#include <cotangent/random.hpp>
#include <cotangent/nn.hpp>
#include <cotangent/memory_budget.hpp>
#include <cotangent/inspect.hpp>
#include <cotangent/images.hpp>

#include <string>

namespace ct = cotangent;

constexpr auto layer = [](auto images, auto weights) {
  return ct::gelu(ct::max_pool2d(ct::conv2d(images, weights)));
};
using program =
    ct::program<decltype(ct::compiled(layer)), ct::tensor<float, 1, 4, 4, 1>, ct::tensor<float, 1, 1, 1, 2>>;

bool describes();
bool describes() { return ct::describe<program>().find("conv2d") != std::string::npos; }
