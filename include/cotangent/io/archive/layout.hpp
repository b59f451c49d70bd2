// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_IO_ARCHIVE_LAYOUT_HPP
#define COTANGENT_IO_ARCHIVE_LAYOUT_HPP

#include <cotangent/io/archive/json.hpp>

#if COTANGENT_EXCEPTIONS

#  include <cotangent/core/element.hpp>
#  include <cotangent/core/shape.hpp>

#  include <algorithm>
#  include <bit>
#  include <cstdint>
#  include <cstring>
#  include <map>
#  include <string>
#  include <string_view>
#  include <utility>
#  include <vector>

// The safetensors format: eight bytes with the length of the header (little-endian), the header (JSON), the
// elements of all tensors, one tensor after the other. https://github.com/huggingface/safetensors

namespace cotangent::detail::archived {

static_assert(std::endian::native == std::endian::little, "files hold numbers in little-endian order");

/// The largest accepted tensor: arithmetic on its sizes cannot overflow.
inline constexpr std::int64_t most_elements = std::int64_t{1} << 42;

/// True if the product of the sizes, with 0 counted as 1, is at most `most_elements`.
template <class Sizes> bool is_believable(Sizes const& sizes) {
  std::int64_t n = 1;
  for (std::int64_t const size : sizes)
    if (size > 1 && (__builtin_mul_overflow(n, size, &n) || n > most_elements)) return false;
  return true;
}

/// The format's name of an element type, and the type it is read as; types without a counterpart here can be
/// skipped, not read.
struct stored_element {
  char const* word;
  int bits;
  bool readable;
  element type;
};
inline constexpr stored_element stored_elements[]{
    {"F64", 64, true, element::float64},     {"F32", 32, true, element::float32},
    {"F16", 16, true, element::float16},     {"BF16", 16, true, element::bfloat16},
    {"I64", 64, true, element::int64},       {"I32", 32, true, element::int32},
    {"I16", 16, true, element::int32},       {"I8", 8, true, element::int32},
    {"U32", 32, true, element::int64},       {"U16", 16, true, element::int32},
    {"U8", 8, true, element::int32},         {"BOOL", 8, true, element::boolean},
    {"U64", 64, false, element::int64},      {"C64", 64, false, element::float32},
    {"F8_E5M2", 8, false, element::float32}, {"F8_E4M3", 8, false, element::float32},
    {"F8_E8M0", 8, false, element::float32}, {"F6_E2M3", 6, false, element::float32},
    {"F6_E3M2", 6, false, element::float32}, {"F4", 4, false, element::float32},
};
inline char const* word_of(element e) noexcept {
  constexpr char const* words[element_count]{"F32", "F64", "I32", "I64", "BOOL", "F16", "BF16"};
  return words[static_cast<unsigned char>(e)];
}

/// A tensor in a file: the bytes from `first` to `last` after the header.
struct place_in_file {
  std::string name;
  stored_element const* stored = nullptr;
  std::vector<std::int64_t> shape;
  std::size_t first = 0, last = 0;

  std::int64_t count() const {
    std::int64_t n = 1;
    for (std::int64_t const size : shape) n *= size;
    return n;
  }
};

struct file_layout {
  std::map<std::string, std::string> texts; // __metadata__
  std::vector<place_in_file> tensors;       // in the order of the file
  std::string_view data;
};

inline place_in_file place_of(std::string const& name, json const& j, std::size_t data_bytes) {
  using header = parts<refusals::archive_header>;
  header::object(j, {"dtype", "shape", "data_offsets"});
  place_in_file p;
  p.name = name;
  std::string const& dtype = header::text(header::member(j, "dtype"));
  for (stored_element const& e : stored_elements)
    if (dtype == e.word) p.stored = &e;
  if (p.stored == nullptr) refuse<refusals::archive_dtype>(name + " has " + dtype);
  for (json const& size : header::list(header::member(j, "shape")))
    p.shape.push_back(header::integer(size, 0, INT64_MAX));
  if (!is_believable(p.shape)) refuse<refusals::archive_large>(name);
  json const& offsets = header::list(header::member(j, "data_offsets"), 2);
  if (data_bytes > static_cast<std::size_t>(INT64_MAX)) refuse<refusals::archive_length>();
  std::int64_t const end = static_cast<std::int64_t>(data_bytes);
  std::int64_t const first = header::integer(offsets[0], 0, end),
                     last = header::integer(offsets[1], first, end);
  if (std::int64_t const bits = p.count() * p.stored->bits; bits % 8 != 0 || last - first != bits / 8)
    refuse<refusals::archive_size>(name);
  p.first = static_cast<std::size_t>(first);
  p.last = static_cast<std::size_t>(last);
  return p;
}

/// Parses the header of a file. Throws: `io_error`. Uses no more memory than a multiple of the file's length.
inline file_layout layout_of(std::string_view bytes) {
  std::uint64_t length = 0;
  if (bytes.size() < sizeof length) refuse<refusals::archive_length>("the file is too short");
  std::memcpy(&length, bytes.data(), sizeof length);
  if (length > bytes.size() - sizeof length) refuse<refusals::archive_length>("the file is too short");
  std::string_view const head = bytes.substr(sizeof length, static_cast<std::size_t>(length));
  if (head.empty() || head.front() != '{') refuse<refusals::archive_header>("it begins with something else");
  file_layout file;
  file.data = bytes.substr(sizeof length + static_cast<std::size_t>(length));
  using header = parts<refusals::archive_header>;
  json const all = parsed(head);
  for (auto const& [name, value] : all.items()) {
    if (name != "__metadata__") {
      file.tensors.push_back(place_of(name, value, file.data.size()));
      continue;
    }
    if (!value.is_object()) refuse<refusals::archive_header>(name);
    for (auto const& [key, text] : value.items()) file.texts.emplace(key, header::text(text));
  }
  std::sort(file.tensors.begin(), file.tensors.end(), [](place_in_file const& a, place_in_file const& b) {
    return std::pair(a.first, a.last) < std::pair(b.first, b.last);
  });
  std::size_t reached = 0;
  for (place_in_file const& p : file.tensors) {
    if (p.first != reached) refuse<refusals::archive_place>(p.name);
    reached = p.last;
  }
  if (reached != file.data.size()) refuse<refusals::archive_place>("bytes are left over");
  return file;
}

// ---- elements

template <class From, class To, class Convert>
void convert_elements(char const* from, std::int64_t count, void* to, Convert convert) {
  for (std::int64_t k = 0; k < count; ++k) {
    From x;
    std::memcpy(&x, from + k * static_cast<std::int64_t>(sizeof x), sizeof x);
    To const y = convert(x);
    std::memcpy(static_cast<char*>(to) + k * static_cast<std::int64_t>(sizeof y), &y, sizeof y);
  }
}

/// Converts the elements to their type here, exactly, and writes them to `to`. Throws: `io_error` if a bool
/// is neither 0 nor 1.
inline void read_elements(place_in_file const& p, std::string_view data, void* to) {
  char const* const from = data.data() + p.first;
  std::int64_t const n = p.count();
  std::string_view const word = p.stored->word;
  auto const to_int32 = [](auto x) { return static_cast<std::int32_t>(x); };
  if (word == "I16") convert_elements<std::int16_t, std::int32_t>(from, n, to, to_int32);
  else if (word == "I8") convert_elements<std::int8_t, std::int32_t>(from, n, to, to_int32);
  else if (word == "U16") convert_elements<std::uint16_t, std::int32_t>(from, n, to, to_int32);
  else if (word == "U8") convert_elements<std::uint8_t, std::int32_t>(from, n, to, to_int32);
  else if (word == "U32")
    convert_elements<std::uint32_t, std::int64_t>(from, n, to,
                                                  [](std::uint32_t x) { return std::int64_t{x}; });
  else {
    if (word == "BOOL")
      for (std::int64_t k = 0; k < n; ++k)
        if (from[k] != 0 && from[k] != 1) refuse<refusals::archive_bool>(p.name);
    if (n > 0) std::memcpy(to, from, p.last - p.first);
  }
}

} // namespace cotangent::detail::archived

#endif
#endif
