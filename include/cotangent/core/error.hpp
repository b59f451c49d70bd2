// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_ERROR_HPP
#define COTANGENT_CORE_ERROR_HPP

#include <cotangent/core/message.hpp>

#include <exception>

/// 1 where failures are thrown. With -fno-exceptions it is 0: the types below exist, checked calls are not
/// offered, and what they would have refused says so in another way (an empty tensor, a view of nothing, a
/// status).
#ifndef COTANGENT_EXCEPTIONS
#  ifdef __cpp_exceptions
#    define COTANGENT_EXCEPTIONS 1
#  else
#    define COTANGENT_EXCEPTIONS 0
#  endif
#endif

namespace cotangent {

/// The base of everything that is thrown. `what()` names the operation, the shapes, and where in the user's
/// source.
class error : public std::exception {
public:
  explicit error(message const& text) noexcept : text_(text) {}
  char const* what() const noexcept override { return text_.text(); }

private:
  message text_;
};

/// Sizes, extents, ranks or indices that do not fit.
struct shape_error : error {
  using error::error;
};

/// A graph that is not well formed, or a step that it does not allow.
struct graph_error : error {
  using error::error;
};

/// A derivative was asked for with respect to something that no output depends on.
struct unreachable_error : error {
  using error::error;
};

/// An operation on a needed path has no adjoint.
struct not_differentiable_error : error {
  using error::error;
};

/// A value that is no number, found by a check that was asked for.
struct numeric_error : error {
  using error::error;
};

/// A file that is missing or malformed.
struct io_error : error {
  using error::error;
};

/// There is not enough memory for elements: of a tensor, a program, a tape.
struct memory_error : error {
  using error::error;
};

/// What `run` of a program returns: it never throws.
enum class status : unsigned char {
  ok,
  index_out_of_range,  // the index was clamped
  size_mismatch,       // one name, two sizes; or a size that is not the extent's
  overlap,             // a result overlaps an argument without being it
  null_argument,       // a view of nothing
  workspace_too_small, // or not aligned
  out_of_memory,
  not_finite, // found by a check that was asked for
};

constexpr char const* text_of(status s) noexcept {
  switch (s) {
  case status::ok: return "ok";
  case status::index_out_of_range: return "an index is out of range; it was clamped";
  case status::size_mismatch: return "the size of an argument or a result must be that of its extents";
  case status::overlap: return "a result must not overlap an argument, unless it is that argument";
  case status::null_argument: return "a view must not be of nothing";
  case status::workspace_too_small:
    return "the workspace must be as large as the program asks for, and aligned";
  case status::out_of_memory: return "there is not enough memory";
  case status::not_finite: return "a value is not finite";
  }
  return "unknown";
}

namespace detail {

#if COTANGENT_EXCEPTIONS
template <class Error>
[[noreturn]] inline void raise(message const& text) {
  throw Error(text);
}
#endif

/// Reports a failure where exceptions are offered; else comes back, and the caller leaves its object empty.
template <class Error>
inline void raise_if_offered([[maybe_unused]] message const& text) {
#if COTANGENT_EXCEPTIONS
  throw Error(text);
#endif
}

/// Reports what stopped a run.
inline void raise_status(status s, message const& text) {
  if (s == status::out_of_memory) raise_if_offered<memory_error>(text);
  else raise_if_offered<shape_error>(text);
}

} // namespace detail
} // namespace cotangent

#endif
