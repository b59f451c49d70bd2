// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_EXPRESSIONS_DATA_HPP
#define COTANGENT_DYNAMIC_EXPRESSIONS_DATA_HPP

#include <cotangent/core/error.hpp>
#include <cotangent/core/memory.hpp>
#include <cotangent/core/storage.hpp>
#include <cotangent/core/view.hpp>
#include <cotangent/dynamic/state/names.hpp>
#include <cotangent/kernels/strided_copy.hpp>
#include <cotangent/ops/function.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <source_location>
#include <type_traits>
#include <vector>

// Shapes, memory and values whose extents are known at run time only.

COTANGENT_COLD_BEGIN
namespace cotangent::dynamic::inline COTANGENT_ABI {

/// The sizes of all axes, as `{3}`, `{2, 4}`, or empty for a scalar; constructed from any range.
class sizes {
  int rank_ = 0; // may exceed `max_rank`, so that it can be refused
  std::int64_t size_[max_rank]{};

public:
  sizes() = default;
  template <std::integral I> sizes(std::initializer_list<I> all) : sizes(all.begin(), all.end()) {}
  // integers of several types
  sizes(std::initializer_list<std::int64_t> all) : sizes(all.begin(), all.end()) {}
  sizes(cotangent::shape const& s) {
    for (int k = 0; k < s.rank; ++k) push(s.extents[k].number);
  }
  template <class Range>
    requires requires(Range const& r) {
      { *r.begin() } -> std::convertible_to<std::int64_t>;
      r.end();
    }
  sizes(Range const& all) : sizes(all.begin(), all.end()) {}
  template <class Walk> sizes(Walk at, Walk end) {
    for (; at != end; ++at) push(static_cast<std::int64_t>(*at));
  }

  int rank() const noexcept { return rank_; }
  std::int64_t operator[](int k) const noexcept { return size_[k]; }
  std::int64_t& operator[](int k) noexcept { return size_[k]; }
  void push(std::int64_t n) {
    if (rank_ < max_rank) size_[rank_] = n;
    ++rank_;
  }
  std::int64_t const* begin() const noexcept { return size_; }
  std::int64_t const* end() const noexcept { return size_ + (rank_ < max_rank ? rank_ : max_rank); }
  friend bool operator==(sizes const& a, sizes const& b) noexcept {
    if (a.rank_ != b.rank_) return false;
    for (int k = 0; k < a.rank_ && k < max_rank; ++k)
      if (a.size_[k] != b.size_[k]) return false;
    return true;
  }
};

/// A list of `Any`, or of types that convert to it: in braces, or a vector, an array or a span.
template <class Any> class list_of {
  std::vector<Any> all_;

public:
  list_of() = default;
  list_of(std::initializer_list<Any> all) : all_(all) {}
  template <class Range>
    requires(!cotangent::detail::open_expr<Range>) && requires(Range const& r) { // (whose rows are no list of operands)
      { *r.begin() } -> std::convertible_to<Any>;
      r.end();
    }
  list_of(Range const& all) : all_(all.begin(), all.end()) {}
  template <std::input_iterator Iterator> list_of(Iterator first, Iterator last) : all_(first, last) {}

  std::size_t size() const noexcept { return all_.size(); }
  bool empty() const noexcept { return all_.empty(); }
  Any const& operator[](std::size_t k) const noexcept { return all_[k]; }
  auto begin() const noexcept { return all_.begin(); }
  auto end() const noexcept { return all_.end(); }
};

namespace detail {

/// The size of an axis. Throws: `shape_error` if the axis does not exist.
inline std::int64_t extent_at(cotangent::shape const& s, int axis, std::source_location where) {
  if (axis >= 0 && axis < s.rank) return s.extents[axis].number;
  message text("cotangent: extent: an axis must be at least 0 and less than the rank; it is ");
  text.put(axis).put(" of the shape ").put(s).put(", at ").put(where.file_name()).put(":").put(where.line());
  throw shape_error(text);
}

/// A pointer that throws if it is dereferenced while null.
template <class Pointer, class Refusal> class checked_pointer {
  Pointer p_{};

public:
  checked_pointer() = default;
  explicit checked_pointer(Pointer p) noexcept : p_(static_cast<Pointer&&>(p)) {}
  auto& operator*() const {
    if (p_ == nullptr) throw graph_error(message(Refusal::text));
    return *p_;
  }
  auto* operator->() const { return &**this; }
  Pointer const& get() const noexcept { return p_; }
};

} // namespace detail

/// The elements of a result, or of the memory bound to an input: row-major, not owned.
template <class T> class values {
  T const* data_ = nullptr;
  cotangent::shape shape_;

public:
  values() = default;
  values(T const* data, cotangent::shape const& s) : data_(data), shape_(s) {}

  T const* data() const noexcept { return data_; }
  cotangent::shape const& shape() const noexcept { return shape_; }
  int rank() const noexcept { return shape_.rank; }
  /// Throws: `shape_error` if the axis does not exist.
  std::int64_t extent(int axis, std::source_location where = std::source_location::current()) const {
    return detail::extent_at(shape_, axis, where);
  }
  std::int64_t size() const noexcept { return shape_.size().number; }
  T const* begin() const noexcept { return data_; }
  T const* end() const noexcept { return data_ + size(); }
  T const& operator[](std::int64_t i) const noexcept { return data_[i]; }

  /// One index for each axis. Throws: `shape_error` if their number is wrong, or one is out of range.
  template <std::integral... Index> T const& operator()(Index... index) const {
    std::int64_t const at[]{static_cast<std::int64_t>(index)..., 0};
    bool fits = static_cast<int>(sizeof...(Index)) == rank();
    std::int64_t place = 0;
    for (int k = 0; fits && k < rank(); ++k) {
      std::int64_t const n = shape_.extents[k].number;
      fits = at[k] >= 0 && at[k] < n;
      place = place * n + at[k];
    }
    if (!fits) {
      detail::message text("cotangent: dynamic: the indices (");
      for (std::size_t k = 0; k < sizeof...(Index); ++k) text.put(k == 0 ? "" : ", ").put(at[k]);
      throw shape_error(
          text.put(") must be one for each axis of the shape ").put(shape_).put(", and inside of it"));
    }
    return data_[place];
  }
  /// The element of a scalar. Throws: `shape_error` for any other shape.
  operator T() const {
    if (rank() == 0 && data_ != nullptr) return *data_;
    throw shape_error(
        detail::message("cotangent: dynamic: a value of shape ").put(shape_).put(" must not be used as one element"));
  }
};

namespace detail {

/// Memory of a caller, row-major.
struct memory_of {
  void const* data = nullptr;
  void* to = nullptr; // the same address if it is writable
  element type = element::float64;
  sizes shape;
  std::shared_ptr<void const> copy = {}; // of elements that have strides
};

/// Memory that is kept, not copied, must be row-major.
template <class M> constexpr void refuse_strides() {
  if constexpr (cotangent::detail::strided_memory<M>) refusals::memory_with_strides::report<M>();
}

template <class M> memory_of memory_in(M& m) {
  using traits = cotangent::detail::memory_traits<std::remove_const_t<M>>;
  memory_of r;
  auto* const data = traits::data(m);
  r.data = data;
  if constexpr (!std::is_const_v<std::remove_pointer_t<decltype(data)>>) r.to = data;
  r.type = element_of<typename traits::element>;
  std::int64_t all[max_rank]{};
  traits::sizes(m, all);
  for (int k = 0; k < traits::extents.rank; ++k) r.shape.push(all[k]);
  if constexpr (cotangent::detail::strided_memory<std::remove_const_t<M>>) {
    cotangent::detail::check_for_memory(m);
    auto const leaf = cotangent::detail::strided_leaf_of(m);
    auto const bytes = static_cast<std::size_t>(leaf.count() * leaf.element_bytes);
    std::shared_ptr<char[]> const copy(new char[bytes == 0 ? 1 : bytes]);
    cotangent::detail::copy_strided<true>(leaf, copy.get());
    r.copy = copy;
    r.data = copy.get();
    r.to = nullptr;
  }
  return r;
}
/// Memory that is copied at once: not a tensor that was moved from.
template <class M> memory_of memory_to_copy(M& m) {
  memory_of const r = memory_in(m);
  cotangent::detail::check_for_memory(m);
  return r;
}

/// Aligned memory that is copied with its owner.
class block {
  void* first_ = nullptr;
  std::size_t bytes_ = 0;

public:
  block() = default;
  explicit block(std::size_t bytes) { at_least(bytes); }
  block(block const& other) : block(other.bytes_) {
    if (bytes_ != 0) std::memcpy(first_, other.first_, bytes_);
  }
  block(block&& other) noexcept : first_(other.first_), bytes_(other.bytes_) {
    other.first_ = nullptr;
    other.bytes_ = 0;
  }
  block& operator=(block other) noexcept {
    void* const f = first_;
    first_ = other.first_;
    other.first_ = f;
    std::size_t const n = bytes_;
    bytes_ = other.bytes_;
    other.bytes_ = n;
    return *this;
  }
  ~block() { ::operator delete(first_, std::align_val_t{64}); }

  void* data() const noexcept { return first_; }
  std::size_t bytes() const noexcept { return bytes_; }
  /// Grows if needed, without keeping the contents.
  void at_least(std::size_t bytes) {
    if (bytes <= bytes_) return;
    ::operator delete(first_, std::align_val_t{64});
    first_ = nullptr;
    bytes_ = 0;
    first_ = cotangent::detail::elements_on_heap(bytes);
    bytes_ = bytes;
  }
};

} // namespace detail
} // namespace cotangent::dynamic
COTANGENT_COLD_END

#endif
