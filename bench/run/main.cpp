// SPDX-License-Identifier: BSL-1.0
// Gradients by Cotangent, by hand and by plain loops. See ../README.md.
#include "harness.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#if defined(__linux__)
#  include <sched.h>
#endif

namespace {

void usage() {
  std::puts("bench-run [--filter NAME] [--quick] [--pairs N] [--core N] [--list] [--json FILE] [--svg FILE] [--curve FILE]\n"
            "  --filter NAME  only what contains NAME; the whole name is case/element/size\n"
            "  --quick        fewer sizes\n"
            "  --pairs N      how often each contestant is timed (51; at least 30)\n"
            "  --curve FILE   a picture of time over memory, of the cases in a budget\n"
            "  --core N       pin to this core (the one it starts on)");
}

void pin(int core) {
#if defined(__linux__)
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(core < 0 ? sched_getcpu() : core), &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) std::fputs("bench: could not pin to a core\n", stderr);
#else
  static_cast<void>(core);
#endif
}

} // namespace

int main(int argc, char** argv) {
  bench::options options;
  for (int i = 1; i < argc; ++i) {
    std::string const word = argv[i];
    auto const value = [&]() -> char const* {
      if (i + 1 < argc) return argv[++i];
      std::fprintf(stderr, "bench: %s needs a value\n", word.c_str());
      std::exit(2);
    };
    if (word == "--filter") options.filter = value();
    else if (word == "--json") options.json = value();
    else if (word == "--svg") options.svg = value();
    else if (word == "--curve") options.curve = value();
    else if (word == "--pairs") options.pairs = std::max(30, std::atoi(value()));
    else if (word == "--core") options.core = std::atoi(value());
    else if (word == "--quick") options.quick = true;
    else if (word == "--list") options.list = true;
    else return usage(), word == "--help" ? 0 : 2;
  }
  pin(options.core);

  auto entries = bench::all_entries();
  std::sort(entries.begin(), entries.end(),
            [](auto const& a, auto const& b) { return std::strcmp(a.name, b.name) < 0; });
  bench::suite suite(options);
  for (auto const& e : entries) e.run(suite);
  if (options.list) return 0;
  bench::print_summary(suite.measurements());
  bool written = true;
  if (!options.json.empty()) written = bench::write_json(options.json, suite.measurements()) && written;
  if (!options.svg.empty()) written = bench::write_svg(options.svg, suite.measurements()) && written;
  if (!options.curve.empty()) written = bench::write_curve(options.curve, suite.measurements()) && written;
  return written ? 0 : 1;
}
