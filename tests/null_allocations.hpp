// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_TESTS_NULL_ALLOCATIONS_HPP
#define COTANGENT_TESTS_NULL_ALLOCATIONS_HPP

#if defined(__has_feature)
#  if __has_feature(address_sanitizer)
#    define COTANGENT_TESTS_ADDRESS_SANITIZER
#  endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(COTANGENT_TESTS_ADDRESS_SANITIZER)
// An allocation that fails gives null, as without AddressSanitizer, instead of ending the program.
extern "C" char const* __asan_default_options() { return "allocator_may_return_null=1"; }
#endif

#endif
