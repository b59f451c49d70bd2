// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TESTS_WORDS_HPP
#define COTANGENT_TESTS_WORDS_HPP

#include "catch.hpp"

#include <cotangent/core/error.hpp>

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

/// Whether `f` throws an `E` with these words.
template <class E = cotangent::error, class F> bool refused(char const* words, F const& f) {
  return has(words_of<E>(f), words);
}

} // namespace

#endif
