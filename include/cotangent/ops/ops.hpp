// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_OPS_OPS_HPP
#define COTANGENT_OPS_OPS_HPP

// Every operation of the library.

#include <cotangent/ops/arithmetic.hpp>
#include <cotangent/ops/broadcast.hpp>
#include <cotangent/ops/compare.hpp>
#include <cotangent/ops/functions/composed.hpp>
#include <cotangent/ops/control/case_builder.hpp>
#include <cotangent/ops/control/loop_builder.hpp>
#include <cotangent/ops/elementwise.hpp>
#include <cotangent/ops/functions.hpp>
#include <cotangent/ops/indexing.hpp>
#include <cotangent/ops/integers.hpp>
#include <cotangent/ops/matmul.hpp>
#include <cotangent/ops/movement.hpp>
#include <cotangent/ops/reduction.hpp>
#include <cotangent/ops/repeat.hpp>
#include <cotangent/ops/scan.hpp>
#include <cotangent/ops/source.hpp>
#include <cotangent/ops/functions/running.hpp>
#include <cotangent/ops/functions/sorting.hpp>
#include <cotangent/ops/functions/special.hpp>

#endif
