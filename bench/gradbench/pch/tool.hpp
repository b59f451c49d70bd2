// SPDX-License-Identifier: BSL-1.0
// What all files of the tool begin with, precompiled.
#ifndef COTANGENT_BENCH_GRADBENCH_PCH_TOOL_HPP
#define COTANGENT_BENCH_GRADBENCH_PCH_TOOL_HPP

#include "../tool.hpp"

#include <nlohmann/json.hpp>

#endif
