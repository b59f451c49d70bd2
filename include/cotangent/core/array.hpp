// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_ARRAY_HPP
#define COTANGENT_CORE_ARRAY_HPP

#if defined(_GLIBCXX_ASSERTIONS) && !defined(COTANGENT_ASSERTIONS)
#  define COTANGENT_ASSERTIONS 1
#endif

namespace cotangent::detail {

// Reached only with assertions on. It is not constexpr, so that a constant evaluation stops here and names
// it.
[[noreturn]] inline void index_is_out_of_range() { __builtin_trap(); }

/// Copies `count` elements; the ranges do not overlap. A constant evaluation of clang counts every iteration of a loop as a
/// step, but not the elements of a `memcpy`.
template <class T> constexpr void copy_elements(T* to, T const* from, int count) {
#ifdef __clang__
  if constexpr (__is_trivially_copyable(T))
    return count > 0 ? (void)__builtin_memcpy(to, from, sizeof(T) * static_cast<unsigned>(count)) : (void)0;
#endif
  for (int i = 0; i < count; ++i) to[i] = from[i];
}

/// A growable array for constant evaluations.
///
/// `std::vector` costs clang several constexpr steps for every element access, is not a literal type under
/// `_GLIBCXX_DEBUG`, and needs its header everywhere. Accessors of this class have one statement. Elements
/// are default constructible; their indices are ints, as everywhere in a graph. Bounds are checked only with
/// COTANGENT_ASSERTIONS or _GLIBCXX_ASSERTIONS. Functions that copy all elements are not inlined: passes that run at
/// run time would have such a loop at every call. Accessors always are, also in passes that are compiled without optimization.
template <class T>
class array {
public:
  using value_type = T;

  constexpr array() = default;
  constexpr explicit array(int size)
      : first_(size > 0 ? zeros(size) : nullptr), size_(size), capacity_(size) {}
  constexpr array(int size, T const& value) : array(size) {
    for (int i = 0; i < size; ++i) first_[i] = value;
  }
  [[gnu::noinline]] constexpr array(array const& other)
      : first_(other.size_ > 0 ? room(other.size_) : nullptr), size_(other.size_), capacity_(other.size_) {
    detail::copy_elements(first_, other.first_, size_);
  }
  constexpr array(array&& other) noexcept
      : first_(other.first_), size_(other.size_), capacity_(other.capacity_) {
    other.release();
  }
  [[gnu::noinline]] constexpr array& operator=(array const& other) {
    if (other.size_ > capacity_) return *this = array(other);
    if (this != &other) {
      detail::copy_elements(first_, other.first_, other.size_);
      size_ = other.size_;
    }
    return *this;
  }
  constexpr array& operator=(array&& other) noexcept {
    if (this != &other) {
      delete[] first_;
      first_ = other.first_;
      size_ = other.size_;
      capacity_ = other.capacity_;
      other.release();
    }
    return *this;
  }
  constexpr ~array() { delete[] first_; }

#ifdef COTANGENT_ASSERTIONS
  constexpr T& operator[](int i) {
    return first_[i < 0 || i >= size_ ? (detail::index_is_out_of_range(), 0) : i];
  }
  constexpr T const& operator[](int i) const {
    return first_[i < 0 || i >= size_ ? (detail::index_is_out_of_range(), 0) : i];
  }
#else
  [[gnu::always_inline]] constexpr T& operator[](int i) { return first_[i]; }
  [[gnu::always_inline]] constexpr T const& operator[](int i) const { return first_[i]; }
#endif
  constexpr T& back() { return (*this)[size_ - 1]; }
  constexpr T const& back() const { return (*this)[size_ - 1]; }

  [[gnu::always_inline]] constexpr int size() const noexcept { return size_; }
  constexpr int capacity() const noexcept { return capacity_; }
  [[gnu::always_inline]] constexpr bool empty() const noexcept { return size_ == 0; }
  [[gnu::always_inline]] constexpr T* data() noexcept { return first_; }
  [[gnu::always_inline]] constexpr T const* data() const noexcept { return first_; }
  [[gnu::always_inline]] constexpr T* begin() noexcept { return first_; }
  [[gnu::always_inline]] constexpr T const* begin() const noexcept { return first_; }
  [[gnu::always_inline]] constexpr T* end() noexcept { return first_ + size_; }
  [[gnu::always_inline]] constexpr T const* end() const noexcept { return first_ + size_; }

  /// Appends and returns the index of the new element. The argument may live in this array.
  constexpr int push(T const& value) {
    // One copy, because g++ spends its time on copies; one statement, because clang counts statements.
    return size_ == capacity_ ? push_grown(value) : (first_[size_] = value, size_++);
  }
  /// Appends `count` elements, which may live in this array, and returns the index of the first.
  constexpr int append(T const* from, int count) {
    if (size_ + count > capacity_) return append_grown(from, count);
    detail::copy_elements(first_ + size_, from, count);
    return (size_ += count) - count;
  }
  /// Makes room for `count` more elements and returns a pointer to them. They must be written before they are
  /// read. The pointer is valid until the array grows again.
  constexpr T* extend(int count) {
    if (size_ + count > capacity_) grow(2 * capacity_ + count + 8);
    size_ += count;
    return first_ + (size_ - count);
  }
  constexpr T pop() { return static_cast<T&&>(first_[--size_]); }
  [[gnu::always_inline]] constexpr void clear() noexcept { size_ = 0; }
  constexpr void reserve(int capacity) {
    if (capacity > capacity_) grow(capacity);
  }
  /// New elements are value-initialized. Amortized cost: growing one by one costs no more than pushing.
  [[gnu::noinline]] constexpr void resize(int size) {
    if (size > capacity_) grow(size < 2 * capacity_ ? 2 * capacity_ : size);
    for (int i = size_; i < size; ++i) first_[i] = T();
    size_ = size;
  }
  [[gnu::noinline]] constexpr void assign(int size, T const& value) {
    T const copy = value;
    clear();
    reserve(size);
    for (int i = 0; i < size; ++i) first_[i] = copy;
    size_ = size;
  }
  constexpr void swap(array& other) noexcept {
    array kept(static_cast<array&&>(other));
    other = static_cast<array&&>(*this);
    *this = static_cast<array&&>(kept);
  }

  friend constexpr bool operator==(array const& a, array const& b) {
    if (a.size_ != b.size_) return false;
    for (int i = 0; i < a.size_; ++i)
      if (!(a.first_[i] == b.first_[i])) return false;
    return true;
  }

private:
  T* first_ = nullptr;
  int size_ = 0, capacity_ = 0;

  [[gnu::noinline, gnu::cold]] constexpr int push_grown(T value) {
    grow(2 * capacity_ + 32);
    first_[size_] = static_cast<T&&>(value);
    return size_++;
  }
  [[gnu::noinline, gnu::cold]] constexpr int append_grown(T const* from, int count) {
    int const capacity = 2 * capacity_ + count + 8;
    T* const wider = room(capacity);
    detail::copy_elements(wider + size_, from, count);
    adopt(wider, capacity);
    return (size_ += count) - count;
  }

  // In a constant evaluation g++ calls the constructor of every element of `new T[n]`, but not of `new
  // T[n]{}` if T is an aggregate. That is two to four times faster.
  static constexpr bool from_braces = __is_aggregate(T) && !__is_trivially_constructible(T);
  static constexpr T* room(int capacity) {
    if constexpr (from_braces) return new T[static_cast<unsigned>(capacity)]{};
    else return new T[static_cast<unsigned>(capacity)];
  }
  static constexpr T* zeros(int size) {
    if constexpr (from_braces) return new T[static_cast<unsigned>(size)]{};
    else return new T[static_cast<unsigned>(size)]();
  }

  constexpr void release() noexcept {
    first_ = nullptr;
    size_ = 0;
    capacity_ = 0;
  }
  [[gnu::noinline, gnu::cold]] constexpr void grow(int capacity) { adopt(room(capacity), capacity); }
  /// Moves the elements into `wider`, a larger buffer.
  constexpr void adopt(T* wider, int capacity) {
    if constexpr (__is_trivially_copyable(T)) detail::copy_elements(wider, first_, size_);
    else
      for (int i = 0; i < size_; ++i) wider[i] = static_cast<T&&>(first_[i]);
    delete[] first_;
    first_ = wider;
    capacity_ = capacity;
  }
};

} // namespace cotangent::detail

#endif
