// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_BENCH_RUN_OURS_HPP
#define COTANGENT_BENCH_RUN_OURS_HPP

#if __has_include(<cotangent/trace/program.hpp>)
#  define BENCH_OURS 1
#  include <cotangent/cotangent.hpp>
namespace ct = cotangent;
#else
#  define BENCH_OURS 0
#endif

#endif
