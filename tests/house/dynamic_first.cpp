// SPDX-License-Identifier: BSL-1.0
#include <cotangent/dynamic.hpp>

#include <cotangent/cotangent.hpp>
#include <cotangent/images.hpp>
#include <cotangent/inspect.hpp>
#include <cotangent/nn.hpp>
#include <cotangent/random.hpp>
#if __has_include(<nlohmann/json.hpp>)
#  include <cotangent/archive.hpp>
#endif

#include "either_order.hpp"

bool dynamic_last();

int main() { return extended_to_graphs() && dynamic_last() ? 0 : 1; }
