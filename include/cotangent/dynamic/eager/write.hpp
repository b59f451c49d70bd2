// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_EAGER_WRITE_HPP
#define COTANGENT_DYNAMIC_EAGER_WRITE_HPP

#include <cotangent/dynamic/eager/lift.hpp>

#include <cstdint>
#include <cstring>
#include <utility>

// Tensors of eager mode that are written in pieces. A piece is a further step in the tensor's record. The
// tensor's cotangent passes unchanged to the previous steps, and a window of it goes to the written value.

namespace cotangent::dynamic::inline COTANGENT_ABI::detail {

/// Visits the elements of a window row by row, with the begin and the stride of each row. Stops if `row`
/// returns false.
template <class Row> bool each_row(tensor_window const& w, Row row) {
  std::int64_t index[max_rank]{};
  for (int k = 0; k < w.rank; ++k)
    if (w.size[k] == 0) return true;
  int const last = w.rank - 1;
  std::int64_t const count = w.rank == 0 ? 1 : w.size[last], step = w.rank == 0 ? 1 : w.stride[last];
  for (std::int64_t at = w.offset;;) {
    if (!row(at, count, step)) return false;
    int k = last - 1;
    for (; k >= 0; --k) {
      at += w.stride[k];
      if (++index[k] < w.size[k]) break;
      at -= w.size[k] * w.stride[k];
      index[k] = 0;
    }
    if (k < 0) return true;
  }
}

/// Marks the elements of a window as written; false, and nothing is marked, if one of them was written
/// before.
inline bool claim(std::vector<bool>& written, tensor_window const& w) {
  std::int64_t done = 0;
  auto const all = [&](bool value, std::int64_t most) {
    return each_row(w, [&](std::int64_t at, std::int64_t count, std::int64_t step) {
      for (std::int64_t k = 0; k < count; ++k, at += step) {
        if (value ? written[static_cast<std::size_t>(at)] : most-- == 0) return false;
        written[static_cast<std::size_t>(at)] = value;
        if (value) ++done;
      }
      return true;
    });
  };
  if (all(true, 0)) return true;
  (void)all(false, done);
  return false;
}

inline void copy_to_window(char* to, tensor_window const& w, char const* from, std::size_t bytes) {
  (void)each_row(w, [&](std::int64_t at, std::int64_t count, std::int64_t step) {
    if (step == 1) {
      std::memcpy(to + static_cast<std::size_t>(at) * bytes, from, static_cast<std::size_t>(count) * bytes);
      from += static_cast<std::size_t>(count) * bytes;
      return true;
    }
    for (std::int64_t k = 0; k < count; ++k, at += step, from += bytes)
      std::memcpy(to + static_cast<std::size_t>(at) * bytes, from, bytes);
    return true;
  });
}

/// The operation that passes a window of the cotangent to the written value.
inline eager_code& window_code(eager_state& s, eager_value& to, request const& r) {
  if (to.view != nullptr) return *to.view->code;
  eager_operand const x = operand_of(to.now);
  eager_key key{&function_tag<op::identity>::here, {}, 0};
  key.put(to.now.shape * 8 + static_cast<int>(to.now.type));
  return code_for(s, key, &x, 1, r,
                  [](builder&, symbol const* t, std::vector<symbol>& y) { y.push_back(t[0]); });
}

/// Writes a value of the right element and shape to `to`: a tensor that is written in pieces, or a view of
/// one.
inline void write_elements(eager_value& to, eager_value& value, request const& r) {
  eager_state& s = *to.now.s;
  eager_value& base = to.view == nullptr ? to : *to.view->base;
  if (base.written == nullptr) raise_about<refusals::eager_write_place>({&to, &value}, r);
  dimensions const& all = s.dims(base.now.shape);
  tensor_window const w = to.view == nullptr ? all_of(0, all) : to.view->window;
  held const from = value.now; // `value` may be a view of the written tensor
  eager_code& code = window_code(s, to, r);
  eager_record* const step = s.recording && from.from != nullptr ? s.new_record(2, 1) : nullptr;
  if (!claim(*base.written, w)) {
    s.release(step);
    raise_about<refusals::dynamic_write_twice>({&to, &value}, r);
  }
  auto const* const elements = static_cast<char const*>(elements_of(s, from.data, r.where));
  copy_to_window(static_cast<char*>(writable(base)), w, elements, size_of(from.type));
  ++base.version;
  if (step == nullptr) return;
  step->writes = true;
  step->code = &code;
  ++code.counted();
  ++s.operations;
  if (base.now.from != nullptr && base.now.from->owner == &base) base.now.from->owner = nullptr;
  step->edges()[0] = {std::exchange(base.now.from, step), std::exchange(base.now.which, 0)};
  step->edges()[1] = {from.from, from.which};
  ++from.from->users;
  step->owner = &base;
}

} // namespace cotangent::dynamic::detail

#endif
