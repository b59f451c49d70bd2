// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_DYNAMIC_PROGRAM_MEMORY_PROFILE_HPP
#define COTANGENT_DYNAMIC_PROGRAM_MEMORY_PROFILE_HPP

#include <cotangent/core/abi.hpp>

COTANGENT_HEADER_BEGIN

#include <cotangent/core/error.hpp>

#if COTANGENT_EXCEPTIONS

#  include <cotangent/dynamic/program/program.hpp>
#  include <cotangent/io/profile.hpp>
#  include <cotangent/io/profile_picture.hpp>

#  include <cstddef>
#  include <cstdint>
#  include <string>

// The memory profile of a program that was compiled at run time.

namespace cotangent {
namespace detail {
inline namespace COTANGENT_ABI {

/// The profile of a region, with those of the sub-graphs that its steps run.
class region_profile {
  array<interpret::region_code> const& codes_;

public:
  explicit region_profile(interpreter const& of) : codes_(of.codes()) {}

  /// `table`: the bytes of its own table of addresses, with which it begins.
  profile of(int code, std::int64_t table) const {
    interpret::region_code const& c = codes_[code];
    interpret::region_record const& r = c.record;
    profile made;
    made.bytes = table + c.memory_bytes;
    for (interpret::kept_step const& s : r.steps)
      made.steps.push_back({operations_of(r, s), place_of(s.where), 0, {}});
    if (r.copies_results || made.steps.empty()) made.steps.push_back({"results are copied", {}, 0, {}});
    int const last = static_cast<int>(made.steps.size()) - 1;
    if (table > 0) made.pieces.push_back({"addresses", {}, {}, {}, 0, table, 0, last, false});
    array<bool> runs_regions(r.steps.size(), false);
    for (interpret::kept_region const& inside : r.regions) runs_regions[inside.step] = true;
    for (int k = 0; k < r.steps.size(); ++k)
      if (std::int64_t const bytes = r.steps[k].scratch; bytes > 0)
        made.pieces.push_back({runs_regions[k] ? "work of its regions" : "work of the step",
                               {},
                               {},
                               place_of(r.steps[k].where),
                               table,
                               bytes,
                               k,
                               k,
                               false});
    for (interpret::kept_value const& v : r.values) {
      profile::piece t;
      t.what = v.from.what == nullptr ? "values" : v.from.what;
      if (v.name != none) t.name = r.names.data() + v.name;
      shape s;
      for (int k = 0; k < v.size.rank; ++k) s.push(extent::of(v.size.size[k]));
      message text(name_of(v.type));
      t.shape = (s.rank == 0 ? text : text.put(" ").put(s)).text();
      t.where = place_of(v.from.where);
      t.offset = table + c.scratch_bytes + v.offset;
      t.bytes = v.bytes;
      t.first = v.first < 0 ? 0 : v.first < last ? v.first : last;
      t.last = v.last < last ? v.last : last;
      made.pieces.push_back(t);
    }
    std::int64_t const end = table + c.scratch_bytes + c.root_bytes;
    made.pieces.push_back({"room to read a vector", {}, {}, {}, end, made.bytes - end, 0, last, false});
    for (interpret::kept_tape const& t : r.tapes) made.records.push_back({t.step, t.bytes});
    for (interpret::kept_region const& inside : r.regions) {
      made.steps[static_cast<std::size_t>(inside.step)].regions.push_back(
          static_cast<int>(made.regions.size()));
      made.regions.push_back(of(inside.code, 0));
      made.regions.back().title =
          std::string(inside.what).append(" of step ").append(std::to_string(inside.step + 1));
    }
    made.settle();
    return made;
  }

private:
  static profile::place place_of(std::source_location const& where) {
    if (where.line() == 0) return {};
    return {where.file_name(), where.line()};
  }
  /// "tanh, multiply x2": consecutive equal operations are counted.
  static std::string operations_of(interpret::region_record const& r, interpret::kept_step const& s) {
    std::string text;
    for (int k = s.first; k < s.first + s.count;) {
      int same = 1;
      std::string const what = r.made[k];
      while (k + same < s.first + s.count && what == r.made[k + same]) ++same;
      text.append(text.empty() ? "" : " ").append(what);
      if (same > 1) text.append(" x").append(std::to_string(same));
      k += same;
    }
    return text;
  }
};

} // namespace COTANGENT_ABI
} // namespace detail

inline namespace COTANGENT_ABI {

/// The workspace of a program, step by step and buffer by buffer. The bodies of loops and branches, which use
/// the memory of their step, follow as profiles of their own.
///
///     ct::profile m = ct::memory_profile(p);
///     std::cout << m;
///     ct::svg(std::ofstream("memory.svg"), m);
///
/// Checked: tests/runtime/memory_profile.cpp
inline profile memory_profile(dynamic::program const& p) {
  dynamic::detail::compiled_code const& c = dynamic::detail::program_access::code(p);
  detail::region_profile const regions(c.code);
  profile made = regions.of(0, c.code.codes()[0].table_bytes);
  made.title = "program";
  made.tape = p.tape_bytes();
  for (std::size_t k = 0; k < c.inputs.size(); ++k)
    if (c.code.input_place(static_cast<int>(k)) < 0 && c.inputs[k].read) made.arguments += c.inputs[k].bytes;
  for (std::size_t k = 0; k < c.outputs.size(); ++k)
    if (c.code.output_place(static_cast<int>(k)) < 0) made.results += c.outputs[k].bytes;
  return made;
}

} // namespace COTANGENT_ABI
} // namespace cotangent

#endif
COTANGENT_HEADER_END

#endif
