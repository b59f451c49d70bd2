// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_IO_ARCHIVE_TENSORS_HPP
#define COTANGENT_IO_ARCHIVE_TENSORS_HPP

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/io/archive/compose.hpp>

#if COTANGENT_EXCEPTIONS

#  include <cotangent/core/memory.hpp>
#  include <cotangent/core/storage.hpp>

#  include <filesystem>
#  include <map>
#  include <span>
#  include <string>
#  include <string_view>
#  include <utility>
#  include <vector>

namespace cotangent::archive {

/// The named tensors of a safetensors file, as written by any program.
///
///     auto file = ct::archive::read("weights.safetensors");
///     std::span<float> w = file.elements<float>("layer1.weight"); // row-major
///
/// F16 and BF16 are `ct::float16` and `ct::bfloat16`, or float from the first time that `elements<float>` asks for them: the
/// tensor is then converted, and is F32. That ends spans of its elements, so it is refused for data that `contents::binds` has given.
/// I8, U8, I16 and U16 become int32; U32 int64: all exactly. Tensors of other element types can be listed, but reading them is refused.
///
/// Throws: `io_error`.
/// Checked: tests/runtime/archive_tensors.cpp
class tensors {
  struct entry {
    std::string dtype;
    bool readable = true;
    element type = element::float64;
    std::vector<std::int64_t> shape;
    cotangent::detail::heap_storage<unsigned char> bytes{0};
    bool lent = false; // programs may read the bytes
  };
  mutable std::map<std::string, entry, std::less<>> all_; // (`asked` converts entries)

public:
  /// The texts of `__metadata__`.
  std::map<std::string, std::string> texts;

  tensors() = default;
  /// Parses the bytes of a file.
  explicit tensors(std::string_view bytes) : tensors(cotangent::detail::archived::checked_layout_of(bytes)) {}
  explicit tensors(cotangent::detail::archived::file_layout&& file) : texts(std::move(file.texts)) {
    for (auto& p : file.tensors) {
      entry e{p.stored->word, p.stored->readable, p.stored->type, p.shape};
      if (e.readable) {
        e.bytes = storage(e);
        cotangent::detail::archived::read_elements(p, file.data, e.bytes.data());
      }
      all_.emplace(std::move(p.name), std::move(e));
    }
  }

  std::vector<std::string> names() const {
    std::vector<std::string> list;
    for (auto const& [name, e] : all_) list.push_back(name);
    return list;
  }
  bool has(std::string_view name) const { return all_.find(name) != all_.end(); }
  /// The element type as the file spells it: "F32".
  std::string const& dtype(std::string_view name) const { return at(name).dtype; }
  std::vector<std::int64_t> const& shape(std::string_view name) const { return at(name).shape; }
  element type(std::string_view name) const {
    entry const& e = at(name);
    if (!e.readable) unreadable(name, e);
    return e.type;
  }

  /// All elements, row-major, readable and writable.
  template <element_type T> std::span<T> elements(std::string_view name) {
    entry const& e = asked(name, element_of<T>);
    return {reinterpret_cast<T*>(const_cast<unsigned char*>(e.bytes.data())), count(e)};
  }
  template <element_type T> std::span<T const> elements(std::string_view name) const {
    entry const& e = asked(name, element_of<T>);
    return {reinterpret_cast<T const*>(e.bytes.data()), count(e)};
  }

  /// Adds a copy of memory, or replaces the tensor of that name. Without a shape argument, the memory's own
  /// shape is used.
  template <class M>
    requires(cotangent::detail::takes_memory<M>)
  void add(std::string name, M const& memory) {
    using traits = cotangent::detail::memory_traits<M>;
    std::int64_t sizes[max_rank]{};
    traits::sizes(memory, sizes);
    add(std::move(name), memory, {sizes, sizes + traits::extents.rank});
  }
  template <class M>
    requires(cotangent::detail::takes_memory<M>)
  void add(std::string name, M const& memory, std::vector<std::int64_t> shape) {
    using traits = cotangent::detail::memory_traits<M>;
    if constexpr (cotangent::detail::strided_memory<M>) cotangent::refusals::memory_with_strides::report<M>();
    std::int64_t sizes[max_rank]{};
    traits::sizes(memory, sizes);
    std::int64_t given = 1;
    for (int k = 0; k < traits::extents.rank; ++k) given *= sizes[k];
    cotangent::detail::check_for_memory(memory);
    add(std::move(name), element_of<typename traits::element>, std::move(shape), traits::data(memory), given);
  }
  void add(std::string name, element type, std::vector<std::int64_t> shape, void const* elements,
           std::int64_t given) {
    using namespace cotangent::detail::archived;
    bool negative = false;
    for (std::int64_t const size : shape) negative = negative || size < 0;
    if (negative || shape.size() > max_rank || !is_believable(shape)) refuse<refusals::archive_large>(name);
    if (name.find('\0') != std::string::npos) refuse<refusals::archive_name>(name_in_quotes(name) + " has a zero");
    entry e{word_of(type), true, type, std::move(shape)};
    if (static_cast<std::int64_t>(count(e)) != given) refuse<refusals::archive_fit>(name);
    e.bytes = storage(e);
    if (given > 0) std::memcpy(e.bytes.data(), elements, static_cast<std::size_t>(e.bytes.count()));
    all_.insert_or_assign(std::move(name), std::move(e));
  }

  /// From now on the elements stay where they are, for programs that read them, as long as the tensor is neither replaced nor removed.
  void lend(std::string_view name) {
    (void)at(name);
    all_.find(name)->second.lent = true;
  }
  /// All elements, as bytes in memory order.
  std::string_view bytes(std::string_view name) const {
    entry const& e = at(name);
    if (!e.readable) unreadable(name, e);
    if (e.bytes.count() == 0) return "";
    return {reinterpret_cast<char const*>(e.bytes.data()), static_cast<std::size_t>(e.bytes.count())};
  }
  void remove(std::string_view name) {
    if (auto const found = all_.find(name); found != all_.end()) all_.erase(found);
  }
  /// Overwrites a tensor's elements; their number and type must be equal.
  void overwrite(std::string_view name, std::string_view elements) {
    std::string_view const old = bytes(name);
    if (old.size() != elements.size()) cotangent::detail::archived::refuse<refusals::archive_fit>(name);
    if (!old.empty()) std::memcpy(const_cast<char*>(old.data()), elements.data(), old.size());
  }

  cotangent::detail::archived::composed composed() const {
    std::vector<cotangent::detail::archived::piece> pieces;
    for (auto const& [name, e] : all_) {
      if (!e.readable) unreadable(name, e);
      pieces.push_back(
          {name,
           e.type,
           e.shape,
           {reinterpret_cast<char const*>(e.bytes.data()), static_cast<std::size_t>(e.bytes.count())}});
    }
    std::map<std::string, std::string> kept = texts;
    kept.erase("cotangent.checksum"); // it is computed anew
    return {std::move(pieces), kept};
  }

private:
  static std::size_t count(entry const& e) {
    std::size_t n = 1;
    for (std::int64_t const size : e.shape) n *= static_cast<std::size_t>(size);
    return n;
  }
  static cotangent::detail::heap_storage<unsigned char> storage(entry const& e) {
    return cotangent::detail::heap_storage<unsigned char>(
        uninitialized, static_cast<std::int64_t>(count(e) * size_of(e.type)));
  }
  static void widen(entry& e) {
    element const type = cotangent::detail::arithmetic_of(e.type);
    entry to{cotangent::detail::archived::word_of(type), true, type, e.shape};
    to.bytes = storage(to);
    using namespace cotangent::detail::archived;
    char const* const from = reinterpret_cast<char const*>(e.bytes.data());
    auto const n = static_cast<std::int64_t>(count(e));
    if (e.type == element::float16) convert_elements<float16, float>(from, n, to.bytes.data(), [](float x) { return x; });
    else convert_elements<bfloat16, float>(from, n, to.bytes.data(), [](float x) { return x; });
    e = std::move(to);
  }
  [[noreturn]] static void unreadable(std::string_view name, entry const& e) {
    cotangent::detail::archived::refuse<refusals::archive_element>(std::string(name) + " has " + e.dtype);
  }
  entry const& at(std::string_view name) const {
    auto const found = all_.find(name);
    if (found == all_.end())
      cotangent::detail::archived::refuse<refusals::archive_unknown>(std::string(name));
    return found->second;
  }
  entry const& asked(std::string_view name, element type) const {
    entry const& e = at(name);
    if (e.readable && !e.lent && cotangent::detail::is_half(e.type) && type == cotangent::detail::arithmetic_of(e.type)) widen(all_.find(name)->second);
    if (!e.readable || e.type != type) unreadable(name, e);
    return e;
  }
};

/// Reads a safetensors file. Throws: `io_error` if the bytes are no such file; any input is safe.
inline tensors read(std::filesystem::path const& path) {
  return tensors(std::string_view(cotangent::detail::archived::bytes_of(path)));
}
/// Writes a safetensors file atomically: until then readers see the old one. Symbolic links are followed;
/// permissions are kept.
///
/// Throws: `io_error`; the old file then still exists.
inline void write(std::filesystem::path const& path, tensors const& all) {
  auto const file = all.composed();
  cotangent::detail::archived::replacement to(path);
  file.write(to);
  to.finish();
}

} // namespace cotangent::archive

#endif
COTANGENT_HEADER_END

#endif
