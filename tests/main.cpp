// SPDX-License-Identifier: BSL-1.0
// The main function of every test program that uses Catch2, compiled once.
#if __has_include(<catch2/catch_all.hpp>)
#  include <catch2/catch_session.hpp>
int main(int count, char** words) { return Catch::Session().run(count, words); }
#else
#  define CATCH_CONFIG_MAIN
#  include <catch2/catch.hpp>
#endif
