// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TESTS_ALLOCATIONS_HPP
#define COTANGENT_TESTS_ALLOCATIONS_HPP

#include <atomic>
#include <cstdlib>
#include <new>

// Replaces the allocation of the program it is included in (one source file of it) by one that counts.

namespace {
std::atomic<long> allocations{0};
}
// Counted, to see that a run makes none. (g++ sees the malloc in one and the free in the other, not that they are pairs.)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
void* operator new(std::size_t n) {
  ++allocations;
  return std::malloc(n == 0 ? 1 : n);
}
void* operator new(std::size_t n, std::align_val_t a) {
  ++allocations;
  auto const to = static_cast<std::size_t>(a);
  return std::aligned_alloc(to, (n + to) / to * to);
}
void* operator new(std::size_t n, std::nothrow_t const&) noexcept { return operator new(n); }
void* operator new(std::size_t n, std::align_val_t a, std::nothrow_t const&) noexcept {
  return operator new(n, a);
}
void* operator new[](std::size_t n) { return operator new(n); }
void* operator new[](std::size_t n, std::align_val_t a) { return operator new(n, a); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

#endif
