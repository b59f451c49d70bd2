// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cotangent/core/names.hpp>

#include <random>
#include <string>

namespace ct = cotangent;

namespace {

/// A formula of a few steps, with the number that it stands for.
struct sample {
  ct::extent formula;
  std::int64_t value = 0;
};

constexpr std::int64_t sizes[]{3, 5, 7};

std::int64_t size_of_name(char const* name, int) { return sizes[name[0] - 'a']; }

sample leaf(std::mt19937& random) {
  auto const pick = static_cast<std::int64_t>(random() % 5);
  if (pick >= 3) return {ct::extent::of(pick - 2), pick - 2};
  char const name = static_cast<char>('a' + pick);
  return {ct::extent::named(&name, 1), sizes[pick]};
}

sample draw(std::mt19937& random, int depth) {
  if (depth == 0) return leaf(random);
  sample const a = draw(random, depth - 1), b = draw(random, depth - 1);
  return random() % 2 == 0 ? sample{a.formula + b.formula, a.value + b.value}
                           : sample{a.formula * b.formula, a.value * b.value};
}

} // namespace

TEST_CASE("the value of a formula follows from the values of its parts") {
  std::mt19937 random(1);
  int kept = 0;
  for (int i = 0; i < 2000; ++i) {
    sample const s = draw(random, 1 + i % 3);
    INFO(s.formula.text);
    if (s.formula.overflow()) continue;
    ++kept;
    CHECK(ct::detail::evaluate(s.formula, size_of_name) == s.value);
  }
  CHECK(kept > 1000);
}

TEST_CASE("equal polynomials are equal extents, however they were computed") {
  std::mt19937 random(2);
  for (int i = 0; i < 2000; ++i) {
    sample const a = draw(random, 1 + i % 2), b = draw(random, 1 + i % 3), c = draw(random, 1);
    INFO(a.formula.text << " and " << b.formula.text << " and " << c.formula.text);
    CHECK(a.formula + b.formula == b.formula + a.formula);
    CHECK(a.formula * b.formula == b.formula * a.formula);
    if ((a.formula * b.formula).overflow() || (b.formula * c.formula).overflow() ||
        (a.formula * c.formula).overflow())
      continue; // a sum that comes back from a long formula has the hash of the short one, not its text
    CHECK((a.formula + b.formula) * c.formula == a.formula * c.formula + b.formula * c.formula);
    CHECK((a.formula + b.formula) - b.formula == a.formula);
  }
}

TEST_CASE("a product is divisible by its factors, and by little else") {
  std::mt19937 random(3);
  int divided = 0;
  for (int i = 0; i < 2000; ++i) {
    sample const a = draw(random, 1 + i % 2), b = draw(random, 1 + i % 2);
    ct::extent const product = a.formula * b.formula;
    INFO(a.formula.text << " and " << b.formula.text);
    if (product.overflow()) continue;
    CHECK(ct::detail::divide(product, b.formula) == a.formula);
    if (ct::extent const other = ct::detail::divide(product + ct::extent::of(1), b.formula); other.is_valid()) {
      ++divided;
      CHECK(other * b.formula == product + ct::extent::of(1));
    }
  }
  CHECK(divided > 0);
}

TEST_CASE("the text of a formula can be parsed again") {
  std::mt19937 random(4);
  for (int i = 0; i < 2000; ++i) {
    ct::extent const e = draw(random, 1 + i % 3).formula;
    if (!e.is_symbol() || e.overflow()) continue;
    INFO(e.text);
    CHECK(ct::extent::named(e.text, e.text_length()) == e);
  }
  std::string const nonsense[]{"", "+", "n+", "*n", "n**m", "n m", "3n", "n%2", "((", "?", "a.b", "n+-m"};
  for (std::string const& text : nonsense) {
    INFO(text);
    bool const valid = ct::extent::named(text.data(), static_cast<int>(text.size())).is_valid();
    CHECK(!valid);
  }
}
