// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_PROGRAM_PULLBACK_HPP
#define COTANGENT_DYNAMIC_PROGRAM_PULLBACK_HPP

#include <cotangent/core/narrow.hpp>
#include <cotangent/dynamic/program/program.hpp>
#include <cotangent/trace/program/memory.hpp>
#include <cotangent/transform/rematerialize/parts.hpp>

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

// Pullbacks: the saved values of a run of a vjp program, and its gradients.

namespace cotangent::dynamic::inline COTANGENT_ABI {

/// One value that a vjp program saves. A loop's record has the shape and the elements of one iteration's
/// entry.
struct saved_tensor {
  std::string name; // of the input, if it is a named one
  cotangent::shape shape;
  element type = element::float64;
  int bits = 0; // of an element, as stored
  std::int64_t bytes = 0;
  bool is_input = false, is_output = false;
  bool moved = false; // computed for the gradient only, since it is smaller than its operands
  // of a record: 1, or the depth of nested loops; its bytes exclude records of loops with an unknown bound
  int depth = 0;
};

namespace detail {

/// A symbol for the k-th saved value, which no graph uses.
constexpr symbol saved_symbol(std::size_t k) noexcept { return -2 - static_cast<symbol>(k); }

/// The data shared by all pullbacks of a vjp program.
struct vjp_code {
  std::vector<saved_tensor> saved;
  std::vector<element> outputs;   // of those with cotangents
  std::vector<symbol> cotangents; // the outputs they belong to
  std::vector<int> listings;      // how often each of these is listed
  std::vector<cotangent::shape> shapes;
  std::vector<symbol> integers; // outputs without cotangents
  gradient_needs needs;         // inputs in the order of the graph, without its constants
  std::vector<symbol> inputs, all_outputs;
  bool has_records = false;

  std::int64_t wide_bytes = 0; // of all narrow values, unpacked

  std::int64_t wide(std::size_t k) const {
    return cotangent::detail::whole_lines(elements(k) * static_cast<std::int64_t>(size_of(saved[k].type)));
  }
  /// Of a record: its address on the tape.
  std::int64_t elements(std::size_t k) const { return saved[k].depth > 0 ? 1 : saved[k].shape.size().number; }
  element type(std::size_t k) const { return saved[k].depth > 0 ? element::int64 : saved[k].type; }
  std::int64_t held_bytes(std::size_t k) const { return saved[k].depth > 0 ? 8 : saved[k].bytes; }
  bool is_narrow(std::size_t k) const {
    return saved[k].bits != 8 * static_cast<int>(size_of(saved[k].type));
  }
  std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (saved_tensor const& t : saved) sum += t.bytes;
    return sum;
  }
};

/// A saved value in memory.
inline memory_of saved_memory(vjp_code const& c, std::size_t k, void* at) {
  memory_of m{at, at, c.type(k), {}};
  m.shape.push(c.elements(k));
  return m;
}
template <class Visit> void with_narrow_type(element e, Visit visit) {
  if (e == element::boolean) visit(static_cast<bool*>(nullptr));
  else if (e == element::int32) visit(static_cast<std::int32_t*>(nullptr));
  else visit(static_cast<std::int64_t*>(nullptr));
}
/// Memory for unpacked narrow values.
class wide_memory {
  vjp_code const& c_;
  cotangent::detail::call_workspace of_call_;
  unsigned char *first_, *next_;

public:
  explicit wide_memory(vjp_code const& c)
      : c_(c), first_(static_cast<unsigned char*>(of_call_.at_least(static_cast<std::size_t>(c.wide_bytes) + 64))), next_(first_) {}
  void rewind() noexcept { next_ = first_; }
  void* take(std::size_t k) {
    unsigned char* const at = next_;
    next_ += c_.wide(k);
    return at;
  }
};

} // namespace detail

/// The gradients of one run of a vjp program. It owns the values that they need, and nothing else.
///
///     auto back = s.run();
///     back.bind(y, dy);
///     back.run();
///     back.value(x);   // valid until the next run
///
/// It may run any number of times, with other cotangents. Outputs without a cotangent count as zeros; if none
/// is bound, scalars have the cotangent 1. An output that is listed n times has one cotangent, the sum of theirs: n if none is bound.
class pullback {
  detail::checked_pointer<std::shared_ptr<detail::vjp_code const>, refusals::program_empty> code_;
  program back_;
  std::vector<detail::block> kept_;
  std::shared_ptr<detail::tape const> record_; // of the loops that ran
  std::vector<bool> given_; // by cotangent
  detail::block filled_;    // for absent cotangents
  friend class vjp_program;

  pullback(std::shared_ptr<detail::vjp_code const> code, program const& back)
      : code_(std::move(code)), back_(back), kept_(code_->saved.size()), given_(code_->cotangents.size()) {}

public:
  /// Binds the cotangent of an output. Throws: `shape_error` if it does not fit; `graph_error` for other
  /// expressions, and for integer outputs.
  template <class T, class M>
  void bind(expr<T> const& y, M&& memory, std::source_location where = std::source_location::current()) {
    std::size_t const k = cotangent_of(y, where);
    back_.bind(y, std::forward<M>(memory), where);
    given_[k] = true;
  }
  template <class T>
  void bind(expr<T> const& y, std::initializer_list<T> elements,
            std::source_location where = std::source_location::current()) {
    std::size_t const k = cotangent_of(y, where);
    back_.bind(y, elements, where);
    given_[k] = true;
  }
  /// For one of a list of expressions of any element.
  template <class M> void bind(any_expr const& y, M&& memory, std::source_location where = std::source_location::current()) {
    std::size_t const k = cotangent_of(y, where);
    back_.bind(y, std::forward<M>(memory), where);
    given_[k] = true;
  }

  /// Computes the gradients. Throws: `shape_error` if no cotangent is bound and an output is not a scalar.
  void run(std::source_location where = std::source_location::current()) {
    fill(where);
    detail::wide_memory wide(*code_);
    for (std::size_t k = 0; k < kept_.size(); ++k) {
      void* at = kept_[k].data();
      if (code_->is_narrow(k)) {
        at = wide.take(k);
        detail::with_narrow_type(code_->saved[k].type, [&]<class T>(T*) {
          cotangent::detail::take_narrow(static_cast<unsigned char const*>(kept_[k].data()),
                                         code_->elements(k), code_->saved[k].bits, static_cast<T*>(at));
        });
      }
      detail::program_access::bind(back_, detail::saved_symbol(k), detail::saved_memory(*code_, k, at), where);
    }
    back_.run(where);
  }

  /// The gradient with respect to `x` of the last run. Throws: `graph_error` if there is none.
  template <class T>
  values<T> value(expr<T> const& x, std::source_location where = std::source_location::current()) const {
    return detail::program_access::result(back_, x, where);
  }

  /// The bytes saved.
  std::int64_t bytes() const {
    std::int64_t sum = record_ == nullptr ? 0 : record_->bytes();
    for (std::size_t k = 0; k < kept_.size(); ++k) sum += code_->held_bytes(k);
    return sum;
  }

private:
  std::size_t cotangent_of(any_expr const& y, std::source_location where) const {
    extend::symbol const t = detail::program_access::symbol_of(back_, y, "bind", where);
    for (std::size_t k = 0; k < given_.size(); ++k)
      if (code_->cotangents[k] == t) return k;
    detail::message text("cotangent: pullback: a cotangent must be that of a floating output of the vjp program");
    throw graph_error(text.put(", at ").put(where.file_name()).put(":").put(where.line()));
  }

  /// Zeros or ones for absent cotangents.
  void fill(std::source_location where) {
    bool any = false, all = true;
    std::int64_t most = 0;
    for (std::size_t k = 0; k < given_.size(); ++k) {
      any = any || given_[k];
      all = all && given_[k];
      if (!given_[k] && most < code_->shapes[k].size().number) most = code_->shapes[k].size().number;
    }
    if (all) return;
    if (!any)
      for (cotangent::shape const& s : code_->shapes)
        if (s.rank != 0) {
          detail::message text("cotangent: pullback: an output that is no number must be bound to a cotangent; it "
                       "has the shape ");
          throw shape_error(text.put(s).put(", at ").put(where.file_name()).put(":").put(where.line()));
        }
    filled_.at_least(static_cast<std::size_t>(any ? most : static_cast<std::int64_t>(given_.size())) * 8 + 8);
    std::memset(filled_.data(), 0, filled_.bytes());
    for (std::size_t k = 0; k < given_.size(); ++k)
      if (!given_[k]) {
        void* const at = static_cast<unsigned char*>(filled_.data()) + (any ? 0 : 8 * k);
        if (!any)
          detail::with_element(code_->outputs[k], [&]<class T>(std::type_identity<T>) {
            T const number = static_cast<T>(static_cast<float>(code_->listings[k]));
            std::memcpy(at, &number, sizeof(T));
          });
        detail::memory_of m{at, nullptr, code_->outputs[k], sizes(code_->shapes[k])};
        detail::program_access::bind(back_, code_->cotangents[k], m, where);
      }
  }
};

} // namespace cotangent::dynamic

#endif
