// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_IO_ARCHIVE_COMPOSE_HPP
#define COTANGENT_IO_ARCHIVE_COMPOSE_HPP

#include <cotangent/io/archive/file.hpp>
#include <cotangent/io/archive/layout.hpp>

#if COTANGENT_EXCEPTIONS

#  include <algorithm>
#  include <cstdint>
#  include <cstring>
#  include <map>
#  include <string>
#  include <string_view>
#  include <vector>

// Composes safetensors files.

namespace cotangent::detail::archived {

/// The checksum of a stream of bytes. A change within eight aligned bytes always changes it; any other change
/// is missed once in 2^64.
class checksum {
  std::uint64_t sum_ = 0x9E3779B97F4A7C15u, bytes_ = 0;
  char left_[8]{};
  int held_ = 0;

public:
  void add(std::string_view bytes) {
    bytes_ += bytes.size();
    while (held_ > 0 && !bytes.empty()) {
      hold(bytes.front());
      bytes.remove_prefix(1);
    }
    for (; bytes.size() >= 8; bytes.remove_prefix(8)) word(bytes.data());
    for (char const c : bytes) hold(c);
  }
  std::uint64_t value() const {
    checksum last = *this;
    while (last.held_ > 0) last.hold('\0');
    char length[8];
    std::memcpy(length, &bytes_, 8);
    last.word(length);
    return last.sum_;
  }

private:
  void hold(char c) {
    left_[held_++] = c;
    if (held_ < 8) return;
    held_ = 0;
    word(left_);
  }
  void word(char const* bytes) {
    std::uint64_t w = 0;
    std::memcpy(&w, bytes, 8);
    sum_ = (sum_ ^ w) * 0xD6E8FEB86659FD93u;
    sum_ ^= sum_ >> 32;
  }
};

/// A tensor to be written.
struct piece {
  std::string name;
  element type = element::float64;
  std::vector<std::int64_t> shape;
  std::string_view bytes;
};

inline constexpr std::string_view sum_opening = "{\"__metadata__\":{\"cotangent.checksum\":\"";
inline constexpr std::size_t sum_at = 8 + sum_opening.size(), sum_digits = 16;

inline std::string digits_of(std::uint64_t n) {
  std::string text(sum_digits, '0');
  for (std::size_t k = sum_digits; k-- > 0; n >>= 4) text[k] = "0123456789abcdef"[n & 15];
  return text;
}

/// The checksum of a whole file, in which the digits of the checksum itself count as zeros.
inline std::uint64_t sum_of(std::string_view bytes) {
  checksum sum;
  sum.add(bytes.substr(0, sum_at));
  sum.add(std::string(sum_digits, '0'));
  sum.add(bytes.substr(sum_at + sum_digits));
  return sum.value();
}
/// True if a file has a checksum at the position where `composed` writes it.
inline bool has_sum(std::string_view bytes) {
  return bytes.size() >= sum_at + sum_digits && bytes.substr(8, sum_opening.size()) == sum_opening;
}
/// Like `layout_of`, and refuses a file whose checksum is wrong.
inline file_layout checked_layout_of(std::string_view bytes) {
  if (has_sum(bytes) && bytes.substr(sum_at, sum_digits) != digits_of(sum_of(bytes)))
    refuse<refusals::archive_changed>();
  return layout_of(bytes);
}

/// A file: its head, and the elements, which stay the caller's.
class composed {
  std::string head_;
  std::vector<piece> pieces_;

public:
  /// Computes a checksum over the whole file.
  composed(std::vector<piece> pieces, std::map<std::string, std::string> const& texts)
      : pieces_(static_cast<std::vector<piece>&&>(pieces)) {
    // Longest elements first, so that each type is aligned.
    std::sort(pieces_.begin(), pieces_.end(), [](piece const& a, piece const& b) {
      return size_of(a.type) != size_of(b.type) ? size_of(a.type) > size_of(b.type) : a.name < b.name;
    });
    std::string text(sum_opening);
    text += std::string(sum_digits, '0') + '"';
    for (auto const& [key, value] : texts) text += ',' + text_of(key) + ':' + text_of(value);
    text += '}';
    std::size_t at = 0;
    std::string const* before = nullptr;
    for (piece const& p : pieces_) {
      if (p.name == "__metadata__") refuse<refusals::archive_name>("a tensor has the name __metadata__");
      if (before != nullptr && *before == p.name) refuse<refusals::archive_name>("two tensors have the name " + name_in_quotes(p.name));
      if (!is_believable(p.shape)) refuse<refusals::archive_large>(p.name);
      json const entry{
          {"dtype", word_of(p.type)}, {"shape", p.shape}, {"data_offsets", {at, at + p.bytes.size()}}};
      text += ',' + text_of(p.name) + ':' + text_of(entry);
      at += p.bytes.size();
      before = &p.name;
    }
    text += '}';
    while (text.size() % 8 != 0) text += ' ';
    std::uint64_t const length = text.size();
    head_.resize(8);
    std::memcpy(head_.data(), &length, 8);
    head_ += text;
    checksum sum;
    sum.add(head_);
    for (piece const& p : pieces_) sum.add(p.bytes);
    head_.replace(sum_at, sum_digits, digits_of(sum.value()));
  }

  std::string bytes() const {
    std::string all = head_;
    for (piece const& p : pieces_) all += p.bytes;
    return all;
  }
  void write(replacement& file) const {
    file.write(head_);
    for (piece const& p : pieces_) file.write(p.bytes);
  }
};

} // namespace cotangent::detail::archived

#endif
#endif
