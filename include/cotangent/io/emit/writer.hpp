// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_IO_EMIT_WRITER_HPP
#define COTANGENT_IO_EMIT_WRITER_HPP

#include <cotangent/core/error.hpp>

#if COTANGENT_EXCEPTIONS

#  include <cotangent/core/extent.hpp>
#  include <cotangent/core/message.hpp>
#  include <cotangent/graph/builder.hpp>
#  include <cotangent/graph/failure.hpp>
#  include <cotangent/io/emit/formulas.hpp>
#  include <cotangent/plan/plan.hpp>

#  include <cmath>
#  include <cstdint>
#  include <cstdio>
#  include <string>
#  include <vector>

// The lines of emitted programs: indentation, names, numbers, positions in memory.

namespace cotangent::refusals {
COTANGENT_REFUSAL_OF(emit_operation, allowed, "cotangent: emit: a program must consist of operations that have C++ text")
COTANGENT_REFUSAL_OF(emit_half, allowed, "cotangent: emit: a program must not hold values in half precision")
COTANGENT_REFUSAL_OF(emit_views, allowed, "cotangent: emit: a graph must not write through views")
} // namespace cotangent::refusals

namespace cotangent::detail {

/// Names that do not collide with each other, with keywords, or with those of the writer.
class cpp_names {
  std::vector<std::string> used_;

public:
  std::string add(std::string const& wanted, std::string const& otherwise) {
    std::string name;
    for (char const c : wanted) name += is_letter(c) || is_digit(c) ? c : '_';
    if (name.empty()) name = otherwise;
    if (is_digit(name[0])) name = "_" + name;
    if (is_keyword(name) || is_reserved(name)) name += '_';
    while (is_used(name)) name += '_';
    used_.push_back(name);
    return name;
  }

private:
  static bool is_reserved(std::string const& name) noexcept {
    static char const words[] = " at attributes best c call cotangent e factor first found goes_on j k label limit next row scratch std step sums trips workspace ";
    std::size_t letters = name.size();
    while (letters > 0 && is_digit(name[letters - 1])) --letters;
    std::string const word = name.substr(0, letters);
    if (letters < name.size() && letters == 1) return word[0] >= 'a' && word[0] <= 'w'; // (x1 and y1 are inputs and results)
    return std::string(words).find(" " + word + " ") != std::string::npos;
  }
  static bool is_keyword(std::string const& name) {
    static char const words[] =
        " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class compl concept const "
        "consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete do double dynamic_cast else enum "
        "explicit export extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or "
        "or_eq private protected public register reinterpret_cast requires return short signed sizeof static static_assert static_cast struct "
        "switch template this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor "
        "xor_eq ";
    return std::string(words).find(" " + name + " ") != std::string::npos;
  }
  bool is_used(std::string const& name) const {
    for (std::string const& other : used_)
      if (other == name) return true;
    return false;
  }
};

/// The text of one program: lines, and what its functions need.
struct cpp_text {
  std::string lines, parts; // `parts`: the namespace of its helpers
  std::vector<std::string> helpers, headers;
  int depth = 1;

  void line(std::string const& text) { lines.append(static_cast<std::size_t>(2 * depth), ' ').append(text).append(1, '\n'); }
  /// The beginning of a block.
  void open(std::string const& text = {}) {
    line(text.empty() ? "{" : text + " {");
    ++depth;
  }
  void close() {
    --depth;
    line("}");
  }
  static void note(std::vector<std::string>& list, char const* text) {
    for (std::string const& known : list)
      if (known == text) return;
    list.emplace_back(text);
  }
};

inline std::string cpp_number(std::int64_t n) {
  if (n == INT64_MIN) return "(-9223372036854775807 - 1)";
  return n < 0 ? "(" + std::to_string(n) + ")" : std::to_string(n);
}

/// An element as a literal of its type.
inline std::string cpp_literal(extend::scalar const& s) {
  std::string const type = cpp_type(s.type);
  if (s.type == element::boolean) return s.integer != 0 ? "true" : "false";
  if (!is_floating(s.type)) return type + "{" + (s.type == element::int32 && s.integer == INT32_MIN ? "-2147483647 - 1" : cpp_number(s.integer)) + "}";
  if (s.real != s.real) return "std::numeric_limits<" + type + ">::quiet_NaN()";
  if (std::isinf(s.real)) return (s.real < 0 ? "(-std::numeric_limits<" : "std::numeric_limits<") + type + (s.real < 0 ? ">::infinity())" : ">::infinity()");
  char digits[40];
  std::snprintf(digits, sizeof digits, s.type == element::float32 ? "%.9g" : "%.17g", s.real);
  std::string text = digits;
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  if (s.type == element::float32) text += 'f';
  return std::signbit(s.real) ? "(" + text + ")" : text;
}

/// Throws the sentence, the operation of `n` behind `before`, and its line.
[[noreturn]] inline void refuse_emission(char const* why, extend::node const* n, char const* before = "; see ") {
  message text(why);
  if (n != nullptr) {
    text.put(before).put(n->op->name);
    if (n->where.line() != 0) text.put(", at ").put(n->where.file_name()).put(":").put(n->where.line());
  }
  throw graph_error(text);
}
[[noreturn]] inline void refuse_operation(extend::node const* n) { refuse_emission(refusals::emit_operation::text, n, "; not "); }

/// A sum: its number, and its other terms.
class cpp_sum {
  std::string text_;
  std::int64_t number_ = 0;

public:
  void add(std::int64_t n) { number_ += n; }
  void add(std::string const& term) { text_ += text_.empty() ? term : " + " + term; }
  std::string text() const {
    if (text_.empty()) return cpp_number(number_);
    return number_ == 0 ? text_ : text_ + " + " + cpp_number(number_);
  }
};

/// The dimensions of a plan: numbers, or variables.
class cpp_sizes {
  std::vector<std::string> names_; // of extents, then of derived sizes

public:
  void add(std::string const& name) { names_.push_back(name); }
  std::string of(extend::dimension d) const { return d >= 0 ? cpp_number(d) : names_[static_cast<std::size_t>(-1 - d)]; }

  void add_to(cpp_sum& sum, extend::dimension d) const {
    if (d >= 0) sum.add(d);
    else sum.add(of(d));
  }
  /// An index times its stride.
  void add_to(cpp_sum& sum, std::string const& index, extend::dimension stride) const {
    if (stride != 0 && index != "0") sum.add(stride == 1 ? index : of(stride) + " * " + index);
  }
  /// Adds the bytes of `count` elements, in whole lines of 64 bytes.
  void add_lines(cpp_sum& sum, std::string const& count, std::int64_t bytes) const {
    if (count.find_first_not_of("0123456789") == std::string::npos) sum.add(whole_lines(std::stoll(count) * bytes));
    else sum.add("(" + count + " * " + std::to_string(bytes) + " + 63) / 64 * 64");
  }
  std::string product(extend::dimension const* d, int count) const {
    std::string text;
    std::int64_t number = 1;
    for (int k = 0; k < count; ++k)
      if (d[k] >= 0) number *= d[k];
      else text += (text.empty() ? "" : " * ") + of(d[k]);
    if (text.empty()) return cpp_number(number);
    return number == 1 ? text : cpp_number(number) + " * " + text;
  }
};

} // namespace cotangent::detail

#endif

#endif
