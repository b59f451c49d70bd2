// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cotangent/core/error.hpp>

#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

namespace ct = cotangent;

TEST_CASE("a message is composed of words, numbers, extents and shapes") {
  ct::detail::message m("size ");
  m.put(-12).put(' ').put(std::numeric_limits<std::int64_t>::min()).put(" ").put(~std::uint64_t{0}).put(true);
  CHECK(std::string(m.text()) == "size -12 -9223372036854775808 18446744073709551615true");
  CHECK(std::string(ct::detail::message().put(ct::shape_of<3, "2*n+1", -4>).text()) == "[3, 2*n+1, -4]");
  CHECK(m.length() == static_cast<int>(std::strlen(m.text())));
}

TEST_CASE("a message that is too long ends in three dots") {
  ct::detail::message m;
  for (int i = 0; i < 1000; ++i) m.put("ab");
  std::string const text = m.text();
  CHECK(text.size() == ct::detail::message::capacity - 1);
  CHECK(text.substr(text.size() - 4) == "b...");
}

TEST_CASE("every error is a ct::error, copies without failing, and says its text") {
  STATIC_REQUIRE(std::is_base_of_v<std::exception, ct::error>);
  STATIC_REQUIRE(std::is_base_of_v<ct::error, ct::shape_error>);
  STATIC_REQUIRE(std::is_base_of_v<ct::error, ct::graph_error>);
  STATIC_REQUIRE(std::is_base_of_v<ct::error, ct::unreachable_error>);
  STATIC_REQUIRE(std::is_base_of_v<ct::error, ct::not_differentiable_error>);
  STATIC_REQUIRE(std::is_base_of_v<ct::error, ct::numeric_error>);
  STATIC_REQUIRE(std::is_base_of_v<ct::error, ct::io_error>);
  STATIC_REQUIRE(std::is_nothrow_copy_constructible_v<ct::shape_error>);
  ct::shape_error const e("cotangent: a test");
  ct::error const& base = e;
  CHECK(std::string(base.what()) == "cotangent: a test");
}

#if COTANGENT_EXCEPTIONS
TEST_CASE("an error is thrown as its own type") {
  CHECK_THROWS_AS(ct::detail::raise<ct::graph_error>("cotangent: a test"), ct::graph_error);
  CHECK_THROWS_WITH(ct::detail::raise<ct::io_error>("cotangent: a test"), "cotangent: a test");
}
#endif

TEST_CASE("every status has a message") {
  CHECK(std::string(ct::text_of(ct::status::ok)) == "ok");
  for (int i = 1; i <= static_cast<int>(ct::status::singular_matrix); ++i)
    CHECK(std::strlen(ct::text_of(static_cast<ct::status>(i))) > 10);
}
