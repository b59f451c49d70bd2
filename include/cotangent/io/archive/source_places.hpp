// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_IO_ARCHIVE_SOURCE_PLACES_HPP
#define COTANGENT_IO_ARCHIVE_SOURCE_PLACES_HPP

#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <source_location>
#include <string>
#include <tuple>
#include <type_traits>

// Source locations from another program. Standard C++ makes a `std::source_location` only of the location
// where it is requested. With libstdc++ (12 and 13) and libc++ (14 and later) it is a pointer to two texts
// and two numbers, laid out by the compilers' builtins. If a check finds another layout, locations are
// dropped.

namespace cotangent::detail::archived {

/// The record that a `std::source_location` points to.
struct place_record {
  char const* file = "";
  char const* function = "";
  std::uint32_t line = 0, column = 0;
};

inline constexpr bool may_point =
    sizeof(std::source_location) == sizeof(void*) && std::is_trivially_copyable_v<std::source_location>;

template <class Location> bool points_to_record(Location const& here) {
  if constexpr (!may_point) return false;
  else {
    place_record r;
    std::memcpy(static_cast<void*>(&r), std::bit_cast<void const*>(here), sizeof r);
    return r.file == here.file_name() && r.function == here.function_name() && r.line == here.line() &&
           r.column == here.column();
  }
}

/// Stores each location once, until the program ends: copies of graphs and errors refer to it.
template <class Location = std::source_location>
Location place_at(std::string const& file, std::string const& function, std::uint32_t line,
                  std::uint32_t column) {
  static bool const works = points_to_record(std::source_location::current());
  if (!works || line == 0) return {};
  using key = std::tuple<std::string, std::string, std::uint32_t, std::uint32_t>;
  static std::mutex guard;
  static auto* const known = new std::map<key, void*>; // never destroyed: it may be used after main
  std::lock_guard const lock(guard);
  auto const [at, is_new] = known->try_emplace({file, function, line, column}, nullptr);
  if (is_new) {
    place_record const r{std::get<0>(at->first).c_str(), std::get<1>(at->first).c_str(), line, column};
    at->second = ::operator new(sizeof r);
    // copied bytewise: readers see an object of the standard library's own type
    std::memcpy(at->second, &r, sizeof r);
  }
  if constexpr (may_point) return std::bit_cast<Location>(at->second);
  else return {};
}

} // namespace cotangent::detail::archived

#endif
