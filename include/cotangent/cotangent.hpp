// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_COTANGENT_HPP
#define COTANGENT_COTANGENT_HPP

// Everything that needs no foreign header beyond Boost.Hana. (Refusals first: g++ says in every error through which
// headers they were included.)

#include <cotangent/core/refusal.hpp>

#include <cotangent/check/gradient.hpp>
#include <cotangent/core/print.hpp>
#include <cotangent/core/tensor.hpp>
#include <cotangent/core/view.hpp>
#include <cotangent/trace/trace.hpp>

#endif
