// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_CORE_ERROR_HPP
#define COTANGENT_CORE_ERROR_HPP

#include <cotangent/core/message.hpp>

#include <exception>

/// 1 if failures are thrown. With -fno-exceptions it is 0: the types below exist, but checked calls are not
/// offered. Calls that would have thrown report the failure in another way (an empty tensor, a null view, a
/// status).
#ifndef COTANGENT_EXCEPTIONS
#  ifdef __cpp_exceptions
#    define COTANGENT_EXCEPTIONS 1
#  else
#    define COTANGENT_EXCEPTIONS 0
#  endif
#endif

namespace cotangent {

/// The base of all exceptions. `what()` names the operation, the shapes, and the location in the user's
/// source.
class error : public std::exception {
public:
  explicit error(detail::message const& text) noexcept : text_(text) {}
  char const* what() const noexcept override { return text_.text(); }

private:
  detail::message text_;
};

/// Sizes, extents, ranks or indices that do not fit.
struct shape_error : error {
  using error::error;
};

/// A graph that is not well formed, or a call that it does not allow.
struct graph_error : error {
  using error::error;
};

/// A derivative was requested with respect to a value that no output depends on.
struct unreachable_error : error {
  using error::error;
};

/// An operation on a needed path has no adjoint.
struct not_differentiable_error : error {
  using error::error;
};

/// A matrix that is singular or not positive definite; or a value that is not finite, found by a requested check.
struct numeric_error : error {
  using error::error;
};

/// A file that is missing or malformed.
struct io_error : error {
  using error::error;
};

/// Allocation failed for elements: of a tensor, a program, a tape.
struct memory_error : error {
  using error::error;
};

/// The result of a program's `run`, which never throws.
enum class status : unsigned char {
  ok,
  index_out_of_range,  // the results are complete
  size_mismatch,       // one name with two sizes; or a size that differs from the extent
  overlap,             // a result partly overlaps an argument
  null_argument,       // a null view
  workspace_too_small, // or misaligned
  out_of_memory,
  too_many_iterations, // of a loop whose values are recorded
  not_finite, // found by a requested check
  singular_matrix, // a pivot was 0, or below 0 in a Cholesky decomposition; the result is NaN
};

constexpr char const* text_of(status s) noexcept {
  switch (s) {
  case status::ok: return "ok";
  case status::index_out_of_range: return "an index is out of range";
  case status::size_mismatch: return "the size of an argument or a result must be that of its extents";
  case status::overlap: return "a result must not overlap an argument, unless it is that argument";
  case status::null_argument: return "a view must not be of nothing, and a tensor not moved from";
  case status::workspace_too_small:
    return "the workspace must be as large as the program asks for, and aligned";
  case status::out_of_memory: return "there is not enough memory";
  case status::too_many_iterations: return "a loop must not run more iterations than the bound that it was given";
  case status::not_finite: return "a value is not finite";
  case status::singular_matrix: return "a matrix is singular, or not positive definite";
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

/// Throws if exceptions are enabled; else returns, and the caller leaves its object empty.
template <class Error>
inline void raise_if_offered([[maybe_unused]] message const& text) {
#if COTANGENT_EXCEPTIONS
  throw Error(text);
#endif
}

/// Reports the status that ended a run.
inline void raise_status(status s, message const& text) {
  if (s == status::out_of_memory) raise_if_offered<memory_error>(text);
  else if (s == status::singular_matrix) raise_if_offered<numeric_error>(text);
  else raise_if_offered<shape_error>(text);
}

} // namespace detail
} // namespace cotangent

#endif
