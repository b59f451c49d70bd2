// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_STORAGE_HPP
#define COTANGENT_CORE_STORAGE_HPP

#include <cotangent/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <new>

namespace cotangent {

/// Requests a tensor with uninitialized elements, which must be written before they are read.
struct uninitialized_t {
  explicit uninitialized_t() = default;
};
inline constexpr uninitialized_t uninitialized{};

namespace detail {

inline constexpr std::size_t inline_bytes = 256;
inline constexpr std::size_t heap_alignment = 64;

/// Allocates memory for elements, to be freed by `::operator delete` with this alignment. Throws
/// `memory_error`; null without exceptions.
inline void* elements_on_heap(std::size_t bytes) {
  void* const p = ::operator new(bytes, std::align_val_t{heap_alignment}, std::nothrow);
  if (p == nullptr) raise_if_offered<memory_error>(message("cotangent: memory: there must be enough memory for ").put(static_cast<std::int64_t>(bytes)).put(" bytes"));
  return p;
}

// The smallest power of two that holds the bytes, at most 64; it does not depend on compiler flags.
constexpr std::size_t inline_alignment(std::size_t bytes) noexcept {
  std::size_t alignment = 1;
  while (alignment < bytes && alignment < heap_alignment) alignment *= 2;
  return alignment;
}

/// A few elements, stored in the object.
template <class Element, std::int64_t Size>
class inline_storage {
  static constexpr std::size_t room = Size == 0 ? 1 : static_cast<std::size_t>(Size);
  alignas(Element) alignas(inline_alignment(room * sizeof(Element))) Element elements_[room];

public:
  constexpr explicit inline_storage(uninitialized_t, std::int64_t) noexcept {}
  constexpr explicit inline_storage(std::int64_t) noexcept : elements_{} {}
  constexpr Element* data() noexcept { return elements_; }
  constexpr Element const* data() const noexcept { return elements_; }
  constexpr std::int64_t count() const noexcept { return Size; }
};

/// Elements on the heap, aligned to 64 bytes (in a constant evaluation: as `new` does).
template <class Element>
class heap_storage {
  Element* elements_ = nullptr;
  std::int64_t count_ = 0;

public:
  constexpr explicit heap_storage(uninitialized_t, std::int64_t count)
      : elements_(count == 0 ? nullptr : allocate(static_cast<std::size_t>(count))), count_(count) {}
  constexpr explicit heap_storage(std::int64_t count) : heap_storage(uninitialized, count) {
    for (std::int64_t i = 0; i < count; ++i) elements_[i] = Element{};
  }
  constexpr heap_storage(heap_storage const& other) : heap_storage(uninitialized, other.count_) {
    copy(other);
  }
  constexpr heap_storage(heap_storage&& other) noexcept : elements_(other.elements_), count_(other.count_) {
    other.elements_ = nullptr;
    other.count_ = 0;
  }
  constexpr heap_storage& operator=(heap_storage const& other) {
    if (this == &other) return *this;
    if (count_ != other.count_) *this = heap_storage(uninitialized, other.count_);
    copy(other);
    return *this;
  }
  constexpr heap_storage& operator=(heap_storage&& other) noexcept {
    if (this == &other) return *this;
    release();
    elements_ = other.elements_;
    count_ = other.count_;
    other.elements_ = nullptr;
    other.count_ = 0;
    return *this;
  }
  constexpr ~heap_storage() { release(); }

  constexpr Element* data() noexcept { return elements_; }
  constexpr Element const* data() const noexcept { return elements_; }
  constexpr std::int64_t count() const noexcept { return count_; }

private:
  static constexpr Element* allocate(std::size_t count) {
    if (__builtin_is_constant_evaluated()) return new Element[count];
    // The lifetime of arithmetic elements begins with that of their memory.
    return static_cast<Element*>(elements_on_heap(count * sizeof(Element)));
  }
  constexpr void release() noexcept {
    if (__builtin_is_constant_evaluated()) delete[] elements_;
    else if (elements_ != nullptr) ::operator delete(elements_, std::align_val_t{heap_alignment});
  }
  constexpr void copy(heap_storage const& other) noexcept {
    for (std::int64_t i = 0; i < count_; ++i) elements_[i] = other.elements_[i];
  }
};

} // namespace detail
} // namespace cotangent

#endif
