// SPDX-License-Identifier: BSL-1.0
#if __has_include(<nlohmann/json.hpp>)
#  include <cotangent/archive.hpp>
#endif
#include <cotangent/cotangent.hpp>
#include <cotangent/images.hpp>
#include <cotangent/inspect.hpp>
#include <cotangent/nn.hpp>
#include <cotangent/random.hpp>

#if defined(COTANGENT_RUN_INTERPRETER_INTERPRETER_HPP) || defined(COTANGENT_RUN_INTERPRETER_EXECUTE_KERNELS_HPP) || \
    defined(COTANGENT_DYNAMIC_EXPRESSIONS_EXPR_HPP)
#  error "headers of operations must not include the interpreter"
#endif

#include <cotangent/eager.hpp>

#include <cotangent/dynamic.hpp>

#include "either_order.hpp"

bool dynamic_last();
bool dynamic_last() { return extended_to_graphs(); }
