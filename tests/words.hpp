// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TESTS_WORDS_HPP
#define COTANGENT_TESTS_WORDS_HPP

#include "catch.hpp"

#include <exception>
#include <string>

// What an error says.

namespace {

/// The words of the `E` that `f` throws.
template <class E, class F> std::string words_of(F const& f) {
  try {
    f();
  } catch (E const& e) { return e.what(); } catch (std::exception const& e) {
    return std::string("something else: ") + e.what();
  }
  return "nothing was thrown";
}
inline bool has(std::string const& text, char const* words) {
  UNSCOPED_INFO("looked for '" << words << "' in: " << text);
  return text.find(words) != std::string::npos;
}

} // namespace

#endif
