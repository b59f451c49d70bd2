// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_BENCH_RUN_INPUTS_HPP
#define COTANGENT_BENCH_RUN_INPUTS_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <type_traits>

namespace bench {

/// Elements on the heap, initially zero, aligned to 64 bytes like those of a tensor. Buffers differ in their distance from a
/// page. Large blocks of the heap have equal distances, and a load directly after a store to the same distance waits for it.
/// The benchmark would then measure the order of loads and stores.
template <class T>
class buffer {
public:
  explicit buffer(std::ptrdiff_t size) : size_(size) {
    static std::size_t made = 0;
    std::size_t const skip = 64 * (11 * ++made % 61);
    block_.reset(::operator new(skip + static_cast<std::size_t>(size) * sizeof(T), std::align_val_t{64}));
    data_ = reinterpret_cast<T*>(static_cast<unsigned char*>(block_.get()) + skip);
    for (std::ptrdiff_t i = 0; i < size; ++i) data_[i] = T{};
  }
  T* data() { return data_; }
  std::ptrdiff_t size() const { return size_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }

private:
  struct release {
    void operator()(void* p) const { ::operator delete(p, std::align_val_t{64}); }
  };
  std::ptrdiff_t size_;
  std::unique_ptr<void, release> block_;
  T* data_ = nullptr;
};

/// The same numbers on every machine (std:: distributions do not promise that).
class numbers {
public:
  template <class T>
  T between(T low, T high) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * static_cast<T>(static_cast<double>(state_ >> 11) * 0x1p-53);
  }
  std::int32_t below(std::int32_t n) {
    return static_cast<std::int32_t>(between(0.0, static_cast<double>(n)));
  }
  template <class T>
  void fill(buffer<T>& b, T low, T high) {
    for (T& x : b) x = between(low, high);
  }

private:
  std::uint64_t state_ = 88172645463325252u;
};

template <class T>
inline constexpr char const* element_name = std::is_same_v<T, float> ? "float" : "double";

} // namespace bench

#endif
