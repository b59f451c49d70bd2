// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TESTS_CATCH_HPP
#define COTANGENT_TESTS_CATCH_HPP

// Catch2 in its third version or its second.
#if __has_include(<catch2/catch_all.hpp>)
#  include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#  include <catch2/catch.hpp>
#endif

#endif
