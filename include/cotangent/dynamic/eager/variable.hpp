// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_EAGER_VARIABLE_HPP
#define COTANGENT_DYNAMIC_EAGER_VARIABLE_HPP

#include <cotangent/dynamic/eager/lift.hpp>

#include <concepts>
#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace cotangent::dynamic::inline COTANGENT_ABI {

/// A variable of any element type: the member type of lists of variables. It may be empty.
class any_variable {
protected:
  detail::eager_value* v_ = nullptr;

public:
  any_variable() = default;
  explicit any_variable(detail::eager_value* v) noexcept : v_(v) {}
  any_variable(any_variable const& other) noexcept : v_(other.v_) {
    if (v_ != nullptr) ++v_->users;
  }
  any_variable(any_variable&& other) noexcept : v_(std::exchange(other.v_, nullptr)) {}
  any_variable& operator=(any_variable other) noexcept {
    std::swap(v_, other.v_);
    return *this;
  }
  ~any_variable() { detail::eager_state::release(v_); }

  detail::eager_value* value_held() const noexcept { return v_; }
  bool empty() const noexcept { return v_ == nullptr; }

  /// Throws: `graph_error` if it is empty.
  element type(std::source_location where = std::source_location::current()) const {
    return detail::value_of(*this, {"type", 4, nullptr, 0, where}).now.type;
  }
  /// With the element in the type: another name for the same tensor.
  ///
  /// Throws: `graph_error` for another element, and if it is empty.
  template <class T> variable<T> as(std::source_location where = std::source_location::current()) const;
};

/// A list of variables of any element types: in braces, or a vector, an array or a span.
using variables = list_of<any_variable>;

/// A tensor of eager mode: operations on it run when they are written. Its element is in its type, its
/// extents are not. `x(i, j)` is a copy, which propagates gradients.
///
/// It is copied and assigned like a number: a copy is another name for the same tensor, whose memory is freed
/// with its last name, unless a backward needs it. A number (`s = 0.0`) joins the recorder of the first
/// variable it meets.
///
/// Throws: `shape_error` for operands that do not fit; `graph_error` for variables of two recorders, of one
/// that has ended, and for empty ones.
template <class T> class variable : public any_variable,
                                    public cotangent::detail::operators<variable<T>>,
                                    public detail::indexed<variable<T>> {
  static_assert(element_type<T>);
  std::int64_t number_ = 0; // the bits of a number that is not a tensor yet
  bool is_number_ = false;

public:
  using value_type = T;
  using open_expression = void;
  using axis_list = dynamic::axis_list;
  using no_numbers = dynamic::no_numbers;
  static constexpr element type = element_of<T>;

  variable() = default;
  template <cotangent::detail::literal L>
  variable(L value) : number_(cotangent::detail::literal_bits<T>(static_cast<T>(value))), is_number_(true) {}
  /// Created by recorders.
  explicit variable(detail::eager_value* v) noexcept : any_variable(v) {}
  variable(variable const&) = default;
  variable(variable&&) = default;
  variable& operator=(variable const&) & = default;
  variable& operator=(variable&&) & = default;
  template <class Y> variable operator=(Y const&) && {
    static_assert(refusals::dynamic_part_assignment::report<Y>());
    return *this;
  }

  bool is_number() const noexcept { return is_number_; }
  std::int64_t number_bits() const noexcept { return number_; }

  cotangent::shape shape() const {
    cotangent::shape s;
    if (is_number_) return s;
    extend::dimensions const& d = dims();
    for (int k = 0; k < d.rank; ++k) s.push(extent::of(d.size[k]));
    return s;
  }
  int rank() const { return is_number_ ? 0 : dims().rank; }
  /// Throws: `shape_error` if the axis does not exist.
  std::int64_t extent(int axis, std::source_location where = std::source_location::current()) const {
    return detail::extent_at(shape(), axis, where);
  }
  std::int64_t size() const { return shape().size().number; }

  /// Its elements, valid until they change or the last name ends.
  values<T> value(std::source_location where = std::source_location::current()) const {
    detail::eager_value& v = detail::value_of(*this, {"value", 5, nullptr, 0, where});
    return {static_cast<T const*>(detail::elements_of(*v.now.s, v.now.data, where, true)), shape()};
  }
  /// The only element. Throws: `shape_error` if there are none or several.
  T item(std::source_location where = std::source_location::current()) const {
    if (is_number_) return cotangent::detail::scalar_of(type, number_).template as<T>();
    values<T> const all = value(where);
    return all.size() == 1 ? all[0] : all;
  }
  /// True if it was computed from a variable with gradients, also if that is detached later.
  bool tracked() const noexcept {
    if (v_ == nullptr) return false;
    bool const follows = v_->view != nullptr && v_->view->base->written != nullptr;
    return (follows ? v_->view->base->now.from : v_->now.from) != nullptr;
  }

  /// The same elements without a history: no gradient passes.
  variable detach(std::source_location where = std::source_location::current()) const {
    detail::eager_value& v = detail::value_of(*this, {"detach", 6, nullptr, 0, where});
    detail::held h = v.now;
    v.now.s->release(std::exchange(h.from, nullptr));
    return variable(v.now.s->new_value(static_cast<detail::held&&>(h)));
  }

  /// Sets the action of backward here: by default parameters sum gradients, other tensors store none.
  void retain_grad(gradients use = gradients::sum,
                     std::source_location where = std::source_location::current()) {
    detail::retain_grad(detail::value_of(*this, {"retain_grad", 11, nullptr, 0, where}), use, where);
  }
  bool has_grad() const noexcept { return v_ != nullptr && v_->gradient != nullptr; }
  /// The gradient of the last backward. Throws: `graph_error` if there is none.
  variable grad(std::source_location where = std::source_location::current()) const {
    detail::eager_value& v = detail::value_of(*this, {"grad", 4, nullptr, 0, where});
    if (v.gradient == nullptr)
      detail::raise_eager<refusals::eager_no_gradient>(*this, {"grad", 4, nullptr, 0, where});
    ++v.gradient->users;
    return variable(v.gradient);
  }
  void clear_grad() noexcept {
    if (v_ != nullptr) detail::eager_state::release(std::exchange(v_->gradient, nullptr));
  }

  /// Sets the elements of a parameter or a constant: all its names and views see them. Earlier results keep
  /// their values, and their gradients are those of the old elements.
  template <class M>
    requires(cotangent::detail::takes_memory<M>)
  void set(M const& elements, std::source_location where = std::source_location::current()) {
    static_assert(std::is_same_v<T, typename cotangent::detail::memory_traits<M>::element>,
                  "cotangent: bind: the elements of the memory must be those of the expression");
    detail::set_elements(*this, detail::memory_to_copy(elements), where);
  }
  void set(variable const& other, std::source_location where = std::source_location::current()) {
    values<T> const from = other.value(where);
    detail::memory_of m{from.data(), nullptr, type, {}};
    for (int k = 0; k < from.rank(); ++k) m.shape.push(from.extent(k));
    detail::set_elements(*this, m, where);
  }

  /// A scalar bool is a condition: `if (x > 0)` works here, where values are known.
  explicit operator bool() const
    requires std::is_same_v<T, bool>
  {
    return item();
  }

  // ---- called by the library's functions and operators

  template <class Op> static variable updated(std::source_location where, variable const& before,
                                              variable const& after) {
    if (!before.is_number_ && before.shape() != after.shape())
      detail::raise_eager<refusals::update_type>(before, after,
                                                 {Op::name, detail::length_of(Op::name), nullptr, 0, where});
    return after;
  }
  template <class Op, class... A> static auto apply(std::source_location where, A const&... a) {
    return detail::eager_lift(where, detail::apply_fn<Op>{}, a...);
  }
  template <class Fn, class... A> static auto lift(std::source_location where, Fn const& fn, A const&... a) {
    return detail::eager_lift(where, fn, a...);
  }
  template <class Fn> static variable lift_list(std::source_location where, Fn const& fn, std::vector<variable> const& all) {
    return detail::eager_lift_list(where, fn, all);
  }
  template <class Refusal> [[noreturn]] static void refuse(char const* name, std::source_location where) {
    detail::refuse_call<Refusal>(name, where);
  }
  cotangent::detail::standing standing() const noexcept { return {}; }
  void* graph_held() const noexcept { return nullptr; }
  struct undo { // no graph is built
    explicit undo(void*) noexcept {}
    void keep() noexcept {}
  };

private:
  extend::dimensions const& dims() const {
    detail::eager_value& v = detail::value_of(*this, {"shape", 5, nullptr, 0, {}});
    return v.now.s->dims(v.now.shape);
  }
};

template <class T> variable<T> any_variable::as(std::source_location where) const {
  detail::request const r{"as", 2, nullptr, 0, where};
  if (detail::value_of(*this, r).now.type != element_of<T>) detail::raise_eager<refusals::dynamic_element>(*this, r);
  ++v_->users;
  return variable<T>(v_);
}

} // namespace cotangent::dynamic

#endif
