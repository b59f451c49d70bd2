// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_IO_ARCHIVE_JSON_HPP
#define COTANGENT_IO_ARCHIVE_JSON_HPP

#include <cotangent/io/archive/refusals.hpp>

#include <cotangent/core/error.hpp>

#if COTANGENT_EXCEPTIONS

// The only file that names the JSON library.
#  include <nlohmann/json.hpp>

#  include <algorithm>
#  include <cstddef>
#  include <cstdint>
#  include <initializer_list>
#  include <string>
#  include <string_view>
#  include <utility>
#  include <vector>

// Untrusted JSON: every deviation from the expected form is an `io_error`.

namespace cotangent::detail::archived {

using json = nlohmann::json;

template <class Refusal> [[noreturn]] inline void refuse(std::string_view about = {}) {
  message text(Refusal::text);
  if (!about.empty())
    text.put("; ").put(about.data(), static_cast<int>(std::min<std::size_t>(about.size(), 300)));
  throw io_error(text);
}

inline constexpr int deepest = 16;

/// Builds values from the parser's events. (The library's own callback visits the whole list after each
/// object in it: a list of n objects takes n^2 steps.)
class json_builder : public json::json_sax_t {
  std::vector<json*> open_; // open objects and arrays; only the last value of an array is open, so none moves
  std::string key_;

  /// Appends to the innermost open value.
  json& put(json&& value) {
    if (open_.empty()) return whole = std::move(value);
    if (open_.back()->is_array()) return open_.back()->emplace_back(std::move(value));
    return (*open_.back())[key_] = std::move(value);
  }
  bool open(json&& value) {
    if (open_.size() >= static_cast<std::size_t>(deepest)) refuse<refusals::archive_json>("too deep");
    open_.push_back(&put(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

public:
  json whole;

  bool null() override { return put(nullptr), true; }
  bool boolean(bool b) override { return put(b), true; }
  bool number_integer(number_integer_t n) override { return put(n), true; }
  bool number_unsigned(number_unsigned_t n) override { return put(n), true; }
  bool number_float(number_float_t n, string_t const&) override { return put(n), true; }
  bool string(string_t& text) override { return put(std::move(text)), true; }
  bool binary(binary_t&) override { return false; } // not part of text
  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (open_.back()->contains(name)) refuse<refusals::archive_json>(name);
    key_ = std::move(name);
    return true;
  }
  bool parse_error(std::size_t, std::string const&, json::exception const& e) override {
    refuse<refusals::archive_json>(e.what());
  }
};

/// Throws: `io_error` if the text is not JSON, an object has a key twice, or brackets nest too deep.
inline json parsed(std::string_view text) {
  json_builder made;
  if (!json::sax_parse(text.begin(), text.end(), &made)) refuse<refusals::archive_json>();
  return std::move(made.whole);
}

/// A text in quotes, with replacement characters for bytes that are not UTF-8.
inline std::string name_in_quotes(json const& text) { return text.dump(-1, ' ', false, json::error_handler_t::replace); }
/// Serializes. Throws: `io_error` if a name is not UTF-8.
inline std::string text_of(json const& j) {
  try {
    return j.dump();
  } catch (json::exception const&) {
    if (j.is_string()) refuse<refusals::archive_name>(name_in_quotes(j) + " is not UTF-8");
    for (auto const& [key, part] : j.items()) {
      if (j.is_object()) (void)archived::text_of(json(key));
      (void)archived::text_of(part);
    }
    throw;
  }
}

/// Accessors for parts of JSON; `Refusal` is reported if a part has the wrong form.
template <class Refusal> struct parts {
  static std::int64_t integer(json const& j, std::int64_t low, std::int64_t high) {
    if (!j.is_number_integer() ||
        (j.is_number_unsigned() && j.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)))
      refuse<Refusal>("a number is none, or too large");
    std::int64_t const n = j.get<std::int64_t>();
    if (n < low || n > high) refuse<Refusal>(std::string("the number ").append(std::to_string(n)).append(" is out of range"));
    return n;
  }
  static bool truth(json const& j) {
    if (!j.is_boolean()) refuse<Refusal>("something is neither true nor false");
    return j.get<bool>();
  }
  static std::string const& text(json const& j) {
    if (!j.is_string()) refuse<Refusal>("a text is none");
    return j.get_ref<std::string const&>();
  }
  /// Requires a list, of length `count` if that is known.
  static json const& list(json const& j, std::int64_t count = -1) {
    if (!j.is_array() || (count >= 0 && static_cast<std::int64_t>(j.size()) != count))
      refuse<Refusal>("a list is none, or of another length");
    return j;
  }
  /// Requires an object with no other keys than these.
  static json const& object(json const& j, std::initializer_list<std::string_view> keys) {
    if (!j.is_object()) refuse<Refusal>("an object is none");
    for (auto const& [key, value] : j.items())
      if (std::find(keys.begin(), keys.end(), key) == keys.end())
        refuse<Refusal>("the key is unknown: " + key);
    return j;
  }
  static json const& member(json const& j, char const* key) {
    auto const at = j.find(key);
    if (at == j.end()) refuse<Refusal>(std::string("there is no \"") + key + "\"");
    return *at;
  }
  /// Null if the key is absent.
  static json const* member_if(json const& j, char const* key) {
    auto const at = j.find(key);
    return at == j.end() ? nullptr : &*at;
  }
};

} // namespace cotangent::detail::archived

#endif
#endif
