// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TESTS_CATCH_HPP
#define COTANGENT_TESTS_CATCH_HPP

// Catch2 in its third version or its second. Without a try block in each assertion: an exception there ends its test case, which
// fails, and the tests compile in less time.
#define CATCH_CONFIG_FAST_COMPILE
#if __has_include(<catch2/catch_all.hpp>)
#  include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#  include <catch2/catch.hpp>
#endif

#endif
