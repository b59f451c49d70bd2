// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_IO_PROFILE_HPP
#define COTANGENT_IO_PROFILE_HPP

#include <cotangent/io/profile_live.hpp>
#include <cotangent/io/with_commas.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// The live ranges of buffers in the memory of a program.

namespace cotangent {

/// The result of `memory_profile`: the steps of a program, and every buffer of its workspace with its line in
/// the user's source.
///
///     ct::profile p = ct::memory_profile<P>();
///     std::cout << p;                                   // as a table
///     ct::svg(std::ofstream("memory.svg"), p);          // as a picture
struct profile {
  /// A line of the user's source; 0 if unknown.
  struct place {
    std::string file;
    unsigned line = 0;

    /// "train.cpp:12", without folders; empty if unknown.
    std::string text() const {
      if (line == 0) return {};
      std::size_t const slash = file.find_last_of("/\\");
      return file.substr(slash == std::string::npos ? 0 : slash + 1)
          .append(1, ':')
          .append(std::to_string(line));
    }
  };
  /// A buffer of the workspace: at byte `offset`, live from step `first` to step `last`.
  struct piece {
    std::string what;  // the operation that computes it
    std::string name;  // the user's name of its tensor
    std::string shape; // "float [3, 4]"
    place where;
    std::int64_t offset = 0, bytes = 0;
    int first = 0, last = 0;
    bool value = true; // else scratch memory of steps
  };
  struct step {
    std::string what;  // its operations
    place where;
    std::int64_t live = 0;    // bytes of the workspace that are live while it runs
    // indices into `profile::regions` of the sub-graphs that it runs: the body of a loop, branches
    std::vector<int> regions;
  };
  /// The bytes that one iteration of a loop writes to the tape, outside the workspace.
  struct record {
    int step = 0;
    std::int64_t bytes = 0;
  };

  std::string title;
  std::int64_t bytes = 0;     // of the workspace
  // the peak of live bytes over all steps; with gaps between buffers `bytes` may be larger
  std::int64_t peak = 0;
  std::int64_t arguments = 0; // bytes outside of the workspace
  std::int64_t results = 0;
  std::int64_t tape = 0; // bytes of tape used by the runs so far
  std::vector<step> steps;
  std::vector<piece> pieces; // sorted by first step
  std::vector<record> records;
  std::vector<profile> regions; // the workspace of each lies in the scratch memory of a step of this profile

  /// Sorts the pieces and computes `step::live` and `peak` from them. Two pieces overlap if the later one
  /// overwrites the earlier one in the step that reads it last; the shared bytes count once.
  ///
  /// Cost: n log n.
  void settle() {
    std::sort(pieces.begin(), pieces.end(), [](piece const& a, piece const& b) {
      if (a.first != b.first) return a.first < b.first;
      return a.offset != b.offset ? a.offset < b.offset : a.last < b.last;
    });
    detail::live_bytes count;
    for (piece const& p : pieces) count.add(p.offset, p.bytes, p.first, p.last);
    std::vector<std::int64_t> const live = count.by_step(static_cast<int>(steps.size()));
    peak = 0;
    for (std::size_t k = 0; k < steps.size(); ++k) {
      steps[k].live = live[k];
      if (peak < live[k]) peak = live[k];
    }
  }
  /// The first step at the peak.
  int peak_step() const {
    for (std::size_t k = 0; k < steps.size(); ++k)
      if (steps[k].live == peak) return static_cast<int>(k);
    return 0;
  }
};

namespace detail {

class profile_table {
  std::string text_;

public:
  static std::string of(profile const& p) {
    profile_table t;
    t.write(p, 0);
    return t.text_;
  }

private:
  void right(std::string const& cell, std::size_t width) {
    if (cell.size() < width) text_.append(width - cell.size(), ' ');
    text_ += cell;
  }
  void left(std::string const& cell, std::size_t width) {
    text_ += cell;
    if (cell.size() < width) text_.append(width - cell.size(), ' ');
  }
  void indent(int depth) { text_.append(static_cast<std::size_t>(2 * depth), ' '); }
  void end() {
    while (!text_.empty() && text_.back() == ' ') text_.pop_back();
    text_ += '\n';
  }

  void write(profile const& p, int depth) {
    indent(depth);
    text_.append(p.title).append(": workspace ").append(with_commas(p.bytes)).append(" bytes, at most ");
    text_.append(with_commas(p.peak)).append(" live at once");
    if (!p.steps.empty()) text_.append(" (step ").append(std::to_string(p.peak_step() + 1)).append(1, ')');
    end();
    if (depth == 0) {
      text_.append("besides: arguments ").append(with_commas(p.arguments)).append(" bytes, results ");
      text_.append(with_commas(p.results)).append(" bytes");
      if (!p.records.empty() || p.tape > 0)
        text_.append(", the tape of loops ").append(with_commas(p.tape)).append(" bytes so far");
      end();
    }
    for (profile::record const& r : p.records) {
      indent(depth);
      text_.append("an iteration in step ").append(std::to_string(r.step + 1)).append(" records ");
      text_.append(with_commas(r.bytes)).append(" bytes on the tape");
      end();
    }
    end();
    write_steps(p, depth);
    end();
    write_pieces(p, depth);
    for (profile const& inside : p.regions) {
      end();
      write(inside, depth + 1);
    }
  }
  void write_steps(profile const& p, int depth) {
    std::size_t what = 8;
    for (profile::step const& s : p.steps)
      if (what < s.what.size()) what = s.what.size() < 60 ? s.what.size() : 60;
    indent(depth);
    text_ += "  step        live  computes";
    end();
    for (std::size_t k = 0; k < p.steps.size(); ++k) {
      profile::step const& s = p.steps[k];
      indent(depth);
      right(std::to_string(k + 1), 6);
      right(with_commas(s.live), 12);
      text_ += "  ";
      left(s.what.size() > 60 ? s.what.substr(0, 57).append("...") : s.what, what + 2);
      text_ += s.where.text();
      end();
    }
  }
  void write_pieces(profile const& p, int depth) {
    std::size_t what = 8, name = 0;
    for (profile::piece const& t : p.pieces) {
      if (what < words(t).size()) what = words(t).size();
      if (name < t.name.size()) name = t.name.size();
    }
    indent(depth);
    text_ += "      offset       bytes      steps  tensor";
    end();
    for (profile::piece const& t : p.pieces) {
      indent(depth);
      right(with_commas(t.offset), 12);
      right(with_commas(t.bytes), 12);
      right(std::to_string(t.first + 1).append(1, '-').append(std::to_string(t.last + 1)), 11);
      text_ += "  ";
      left(words(t), what + 2);
      if (name > 0) left(t.name, name + 2);
      text_ += t.where.text();
      end();
    }
  }
  static std::string words(profile::piece const& t) {
    return t.shape.empty() ? t.what : std::string(t.what).append(1, ' ').append(t.shape);
  }
};

} // namespace detail

/// Prints the steps with their live bytes, then the buffers of the workspace.
template <class Stream>
  requires requires(Stream& out, char const* text) { out << text; }
Stream& operator<<(Stream& out, profile const& p) {
  out << detail::profile_table::of(p).c_str();
  return out;
}

} // namespace cotangent

#endif
