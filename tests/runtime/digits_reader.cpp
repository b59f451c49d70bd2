// SPDX-License-Identifier: BSL-1.0
#include "../../examples/digits/reader.hpp"

#include "catch.hpp"

#include <sstream>
#include <string>

namespace {

std::string line_of(int pixel, std::string const& label) {
  std::string line;
  for (int k = 0; k < 64; ++k) line.append(std::to_string(pixel)).append(",");
  return line.append(label);
}

std::string problem_with(std::string const& text) {
  std::istringstream in(text);
  return digits::read(in, "some.csv").problem;
}

std::string with_pixel(int place, std::string const& text) {
  std::string line = line_of(3, "7");
  return line.replace(static_cast<std::size_t>(2 * (place - 1)), 1, text);
}

} // namespace

TEST_CASE("digits: pixels are read as fractions of the maximum, labels unchanged") {
  std::istringstream in(line_of(8, "9") + "\n" + line_of(16, "0"));
  auto const [images, problem] = digits::read(in, "some.csv");
  CHECK(problem.empty());
  REQUIRE(images.size() == 2);
  CHECK(images.pixels.size() == 128);
  CHECK(images.pixels[0] == 0.5f);
  CHECK(images.pixels[127] == 1.f);
  CHECK(images.labels[0] == 9);
  CHECK(images.labels[1] == 0);
}

TEST_CASE("digits: line ends of other systems are not part of a line") {
  CHECK(problem_with(line_of(1, "5") + "\r\n" + line_of(1, "5") + "\r\n").empty());
}

TEST_CASE("digits: a malformed line is reported in one sentence with its number") {
  std::string const good = line_of(0, "4") + "\n";
  CHECK(problem_with(good + "\n" + good) == "some.csv, line 2: the line is empty");
  CHECK(problem_with(good + good + "1,2,3\n") ==
        "some.csv, line 3: a line must contain 64 pixels and the digit, found only 3 numbers");
  CHECK(problem_with(line_of(0, "4,1")) ==
        "some.csv, line 1: a line must contain 64 pixels and the digit, found more");
  CHECK(problem_with(with_pixel(10, "17")) ==
        "some.csv, line 1: pixel 10 must be a whole number from 0 to 16, found '17'");
  CHECK(problem_with(with_pixel(1, "-1")) ==
        "some.csv, line 1: pixel 1 must be a whole number from 0 to 16, found '-1'");
  CHECK(problem_with(with_pixel(64, "x")) ==
        "some.csv, line 1: pixel 64 must be a whole number from 0 to 16, found 'x'");
  CHECK(problem_with(with_pixel(2, "3.5")) ==
        "some.csv, line 1: pixel 2 must be a whole number from 0 to 16, found '3.5'");
  CHECK(problem_with(with_pixel(2, " 3")) ==
        "some.csv, line 1: pixel 2 must be a whole number from 0 to 16, found ' 3'");
  CHECK(problem_with(with_pixel(2, "")) ==
        "some.csv, line 1: pixel 2 must be a whole number from 0 to 16, found ''");
  CHECK(problem_with(with_pixel(2, "99999999999999999999999")) ==
        "some.csv, line 1: pixel 2 must be a whole number from 0 to 16, found '99999999999999999999...'");
  CHECK(problem_with(line_of(0, "10")) ==
        "some.csv, line 1: the digit must be a whole number from 0 to 9, found '10'");
  CHECK(problem_with(line_of(0, "")) ==
        "some.csv, line 1: the digit must be a whole number from 0 to 9, found ''");
}

TEST_CASE("digits: unreadable and empty files are reported") {
  CHECK(problem_with("") == "some.csv holds no images");
  CHECK(digits::read("no/such/file.csv").problem == "the file no/such/file.csv cannot be opened");
}
