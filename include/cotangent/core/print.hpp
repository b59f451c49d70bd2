// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_PRINT_HPP
#define COTANGENT_CORE_PRINT_HPP

#include <cotangent/core/view.hpp>

#include <cstdint>
#include <iosfwd>
#include <type_traits>

// Output to streams, in nested brackets as in NumPy. These are templates over the stream, which must be
// complete only where it is used: other units do not pay for <ostream>, a seventh of the compile time of all
// headers.

namespace cotangent {

template <class Traits> std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out,
                                                                     element e) {
  return out << name_of(e);
}
template <class Traits> std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out,
                                                                     extent const& e) {
  return out << detail::message().put(e).text();
}
template <class Traits> std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out,
                                                                     shape const& s) {
  return out << detail::message().put(s).text();
}
template <class Traits> std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out,
                                                                     detail::message const& m) {
  return out << m.text();
}
template <class Traits> std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out,
                                                                     status s) {
  return out << text_of(s);
}

namespace detail {

inline constexpr std::int64_t printed_in_full = 1000; // elements; longer tensors print their edges only
inline constexpr std::int64_t printed_edge = 3;

template <class Stream, class Element>
void print_axis(Stream& out, Element const* at, std::int64_t const* sizes, int axis, int rank, bool in_full) {
  if (axis == rank) {
    if constexpr (std::is_same_v<std::remove_const_t<Element>, bool>) out << (*at ? "true" : "false");
    else if constexpr (is_half_type<std::remove_const_t<Element>>) out << static_cast<float>(*at);
    else out << *at;
    return;
  }
  std::int64_t step = 1;
  for (int i = axis + 1; i < rank; ++i) step *= sizes[i];
  out << '[';
  for (std::int64_t i = 0; i < sizes[axis]; ++i) {
    if (i != 0) {
      out << (axis + 1 == rank ? ", " : ",\n");
      for (int blank = 0; axis + 1 != rank && blank <= axis; ++blank) out << ' ';
    }
    if (!in_full && sizes[axis] > 2 * printed_edge && i == printed_edge) {
      out << "...";
      i = sizes[axis] - printed_edge - 1;
    } else {
      print_axis(out, at + i * step, sizes, axis + 1, rank, in_full);
    }
  }
  out << ']';
}

template <class Stream, class Derived, class Element, extent... Extents>
Stream& print(Stream& out, accessible<Derived, Element, Extents...> const& values) {
  constexpr int rank = sizeof...(Extents);
  if (values.begin() == nullptr && values.size() != 0) {
    out << "(nothing)";
    return out;
  }
  std::int64_t sizes[rank + 1]{};
  for (int i = 0; i < rank; ++i) sizes[i] = values.extent(i);
  print_axis(out, values.begin(), sizes, 0, rank, values.size() <= printed_in_full);
  return out;
}

} // namespace detail

template <class Traits, class Element, extent... Extents>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out,
                                             tensor<Element, Extents...> const& values) {
  return detail::print(out, values);
}
template <class Traits, class Element, extent... Extents>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out,
                                             view<Element, Extents...> const& values) {
  return detail::print(out, values);
}

} // namespace cotangent

#endif
