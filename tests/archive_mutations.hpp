// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TESTS_ARCHIVE_MUTATIONS_HPP
#define COTANGENT_TESTS_ARCHIVE_MUTATIONS_HPP

#include "archive_bytes.hpp"

#include <cotangent/archive.hpp>
#include <cotangent/dynamic.hpp>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

// Files changed by dice, with a checksum that fits: bytes, numbers and pieces of text, and the JSON of the graph part by
// part. Reading one must end in a sound graph or in an `io_error`.

namespace archive_mutations {

namespace ct = cotangent;
using json = ct::detail::archived::json;

class mutator {
  std::mt19937_64 random_;

  std::size_t below(std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(random_() % n); }

  /// Some value that stands in a value, any of them alike.
  json& part_of(json& j) {
    json* at = &j;
    while (at->is_structured() && !at->empty() && below(6) != 0) {
      auto next = at->begin();
      std::advance(next, static_cast<std::ptrdiff_t>(below(at->size())));
      at = &*next;
    }
    return *at;
  }
  void change(json& j) {
    json& at = part_of(j);
    switch (below(9)) {
    case 0: at = static_cast<std::int64_t>(random_()) >> below(64); break;
    case 1:
    case 2:
      if (at.is_number_integer())
        at = static_cast<std::int64_t>(static_cast<std::uint64_t>(at.get<std::int64_t>()) + below(5) - 2);
      break;
    case 3: { // another part of the same file
      json const other = part_of(j);
      part_of(j) = other;
      break;
    }
    case 4:
      if (at.is_array() && !at.empty()) at.erase(below(at.size()));
      break;
    case 5:
      if (at.is_array()) {
        json const more = at.empty() ? json(below(100)) : at[below(at.size())];
        at.push_back(more);
      }
      break;
    case 6:
      if (at.is_object() && !at.empty()) {
        auto gone = at.begin();
        std::advance(gone, static_cast<std::ptrdiff_t>(below(at.size())));
        at.erase(gone);
      }
      break;
    case 7:
      if (at.is_array() && at.size() > 1) std::swap(at[below(at.size())], at[below(at.size())]);
      break;
    default: {
      static char const* const words[]{
          "loop",        "case_of",     "identity",      "add",     "slice", "pad",    "gather", "reduce_max",
          "convert",     "label",       "sequence_zero", "float",   "int64", "bool",   "double", "permute",
          "concatenate", "scatter_add", "broadcast",     "reshape", "iota",  "matmul", "size"};
      if (at.is_string()) at = words[below(std::size(words))];
    }
    }
  }

public:
  explicit mutator(std::uint64_t seed) : random_(seed) {}

  std::string operator()(std::string bytes) {
    if (below(4) != 0) { // the graph, as JSON that still is JSON
      auto const layout = ct::detail::archived::layout_of(bytes);
      json j = json::parse(layout.texts.at("cotangent.graph"));
      for (std::size_t n = 1 + below(3); n > 0; --n) change(j);
      std::vector<ct::detail::archived::piece> pieces;
      for (auto const& p : layout.tensors)
        pieces.push_back({p.name, p.stored->type, p.shape, layout.data.substr(p.first, p.last - p.first)});
      return ct::detail::archived::composed(pieces, {{"cotangent.graph", j.dump()}}).bytes();
    }
    for (std::size_t n = 1 + below(4); n > 0 && !bytes.empty(); --n) {
      std::size_t const at = below(bytes.size()), count = below(40), other = below(bytes.size());
      switch (below(5)) {
      case 0: bytes[at] = static_cast<char>(bytes[at] ^ 1 << below(8)); break;
      case 1: bytes[at] = "0123456789-[]{}\",:e."[below(20)]; break;
      case 2: bytes.erase(at, count); break;
      case 3: bytes.insert(at, bytes.substr(other, count)); break;
      default: bytes.resize(at);
      }
    }
    if (bytes.size() >= 8 && below(2) == 0) { // a length that fits
      std::size_t const header = bytes.rfind('}') == std::string::npos ? 0 : bytes.rfind('}') + 1;
      std::uint64_t const length = header < 8 ? 0 : header - 8;
      std::memcpy(bytes.data(), &length, 8);
    }
    archive_bytes::seal(bytes);
    return bytes;
  }
};

struct counts {
  int fine = 0, refused = 0;
  std::string other; // what was thrown besides
};

inline counts run(std::vector<std::string> const& seeds, int files, std::uint64_t seed) {
  counts n;
  mutator mutate(seed);
  for (int k = 0; k < files; ++k) {
    std::string const bytes = mutate(seeds[static_cast<std::size_t>(k) % seeds.size()]);
    std::string const words = archive_bytes::said([&] {
      auto const c = ct::archive::load_bytes(bytes);
      (void)ct::archive::bytes_of(c.graph); // and it can be written again
    });
    if (words.rfind("another", 0) == 0) n.other = "file " + std::to_string(k) + ": " + words;
    else ++(words == "fine" ? n.fine : n.refused);
  }
  return n;
}

} // namespace archive_mutations

#endif
