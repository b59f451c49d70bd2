// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_STATE_SYMBOLIC_COMMAND_HPP
#define COTANGENT_DYNAMIC_STATE_SYMBOLIC_COMMAND_HPP

#include <cotangent/dynamic/state/names.hpp>
#include <cotangent/run/interpreter/execute/kernels.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

COTANGENT_COLD_BEGIN
namespace cotangent::dynamic::inline COTANGENT_ABI {

struct noop_t {};
namespace detail {
/// The function of a command whose results are its inputs.
struct gives_back {
  using emits = operations<>;
  std::vector<term> operator()(std::vector<term> const& x) const { return x; }
};
} // namespace detail

/// The command that computes nothing: readers of its outputs run after it, and it runs after the writers of
/// its inputs.
inline constexpr noop_t noop{};

/// The command of an operation of the symbolic API: a small value.
///
///     command::of<ct::op::multiply>()                  // a library operation, or one of yours
///     command::of<ct::op::sum>({0b01})                 // with its attributes: the axes as bits
///     command::set(1.0)                                // one number in all elements
///     command("softmax", [](ct::term x) { return ct::extend::softmax(x, 1); }) // any function of terms
///     ct::dynamic::noop
///
/// A function of terms takes one to four terms, or a `std::vector<ct::term>` of any number, and returns one
/// term or a vector; absent inputs are terms that are not `present()`. It is called once the shapes of its
/// inputs are known, for each operation anew.
class command {
public:
  using function = std::function<std::vector<term>(std::vector<term> const&)>;
  enum class form : unsigned char { nothing, set, operation, function };

private:
  operation const* op_ = nullptr;
  std::vector<std::int64_t> attributes_;
  std::shared_ptr<function const> fn_;
  std::string name_ = "noop";
  extend::scalar value_{};
  int arity_ = -1; // of a function: the number of terms it takes
  form form_ = form::nothing;
  cotangent::detail::interpret::kernel_list kernels_; // of all that it may emit

  template <class F, std::size_t... K>
  static auto called(F const& f, std::vector<term> const& x, std::index_sequence<K...>) {
    return f(x[K]...);
  }
  template <class F> static constexpr int terms_of() {
    if constexpr (std::invocable<F const&, std::vector<term> const&>) return -1;
    else if constexpr (std::invocable<F const&, term>) return 1;
    else if constexpr (std::invocable<F const&, term, term>) return 2;
    else if constexpr (std::invocable<F const&, term, term, term>) return 3;
    else if constexpr (std::invocable<F const&, term, term, term, term>) return 4;
    else return 0;
  }

public:
  command() = default;
  command(noop_t) {}
  /// A named function of terms.
  template <class F> command(std::string name, F f)
      : name_(std::move(name)), arity_(terms_of<F>()), form_(form::function) {
    if constexpr (cotangent::detail::interpret::emits_others<F>) kernels_.add(typename F::emits{});
    else kernels_.template add_named<F>();
    constexpr int count = terms_of<F>();
    static_assert(count != 0,
                  "cotangent: command: a function must take one to four terms, or a vector of terms");
    fn_ =
        std::make_shared<function const>([f = std::move(f)](std::vector<term> const& x) -> std::vector<term> {
          auto const y = [&] {
            if constexpr (count < 0) return f(x);
            else
              return called(f, x,
                            std::make_index_sequence<static_cast<std::size_t>(count < 0 ? 0 : count)>{});
          }();
          if constexpr (std::is_same_v<std::remove_cvref_t<decltype(y)>, term>) return {y};
          else return {y.begin(), y.end()};
        });
  }
  template <class Op> static command of(std::vector<std::int64_t> attributes = {}) {
    command c = emitted(info_of<Op>(), std::move(attributes));
    c.kernels_.template add_applied<Op>(); // to tensors of any element type
    c.kernels_.template add_element<typename cotangent::detail::interpret::later<float, Op>::type>();
    c.kernels_.template add_element<typename cotangent::detail::interpret::later<double, Op>::type>();
    return c;
  }
  template <class Op>
    requires std::is_same_v<Op, operation>
  static command of(Op const* op, std::vector<std::int64_t> attributes = {}) {
    command c = emitted(op, std::move(attributes));
    c.kernels_.template add_named<Op>();
    return c;
  }
  /// An operation of which a graph has nodes, and the kernels, already.
  static command emitted(operation const* op, std::vector<std::int64_t> attributes) {
    command c;
    c.op_ = op;
    c.attributes_ = std::move(attributes);
    c.name_ = op->name;
    c.form_ = form::operation;
    return c;
  }
  template <class T>
    requires std::is_arithmetic_v<T>
  static command set(T value) {
    command c;
    c.value_ = extend::scalar::of(value);
    c.name_ = "set";
    c.form_ = form::set;
    return c;
  }

  form kind() const noexcept { return form_; }
  std::string const& name() const noexcept { return name_; }
  /// Null unless it is one operation.
  operation const* op() const noexcept { return op_; }
  std::vector<std::int64_t> const& attributes() const noexcept { return attributes_; }
  command with_attributes(std::vector<std::int64_t> attributes) const {
    command c = *this;
    c.attributes_ = std::move(attributes);
    return c;
  }
  cotangent::detail::interpret::kernel_list const& kernels() const noexcept { return kernels_; }
  /// The value of `set`.
  extend::scalar const& value() const noexcept { return value_; }
  /// The number of terms that a function takes; -1: any number.
  int arity() const noexcept { return arity_; }
  std::vector<term> operator()(std::vector<term> const& x) const { return (*fn_)(x); }
  /// Equal operations with equal attributes; functions are equal to their copies only.
  friend bool operator==(command const& a, command const& b) noexcept {
    return a.form_ == b.form_ && a.op_ == b.op_ && a.attributes_ == b.attributes_ && a.fn_ == b.fn_ &&
           a.value_.type == b.value_.type && a.value_.real == b.value_.real &&
           a.value_.integer == b.value_.integer;
  }
};

} // namespace cotangent::dynamic
COTANGENT_COLD_END

#endif
