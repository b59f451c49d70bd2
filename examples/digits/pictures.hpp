// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_EXAMPLES_DIGITS_PICTURES_HPP
#define COTANGENT_EXAMPLES_DIGITS_PICTURES_HPP

#include "curve.hpp"
#include "network.hpp"

#include <cotangent/inspect.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ; // NOLINT: POSIX

namespace digits {

/// Runs Graphviz if it is installed.
inline bool render(std::filesystem::path const& dot, std::filesystem::path const& svg) {
  std::string words[]{"dot", "-Tsvg", dot.string(), "-o", svg.string()};
  char* arguments[]{words[0].data(), words[1].data(), words[2].data(),
                    words[3].data(), words[4].data(), nullptr};
  pid_t child;
  int status = 1;
  return posix_spawnp(&child, "dot", nullptr, nullptr, arguments, environ) == 0 &&
         waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Writes the pictures and returns their names. After a failure, prints it and returns an empty string.
inline std::string draw(curve const& history, std::filesystem::path const& folder) {
  auto const file = [&](char const* name) { return folder / name; };
  std::ofstream loss_curve(file("loss.svg")), graph(file("gradient.dot"));
  history.write(loss_curve);
  // [dot]
  char const* const arguments[]{"w1", "b1", "w2", "b2", "images", "labels"};
  char const* const results[]{"loss", "d w1", "d b1", "d w2", "d b2"};
  ct::dot(graph, gradient_step::graph, {arguments, results});
  // [/dot]
  loss_curve.close();
  graph.close();
  if (!loss_curve || !graph) {
    std::fprintf(stderr, "digits: the pictures cannot be written to %s\n", folder.c_str());
    return {};
  }
  std::string names = file("loss.svg").string() + ", " + file("gradient.dot").string();
  if (render(file("gradient.dot"), file("gradient.svg"))) names += ", " + file("gradient.svg").string();
  else names += " (Graphviz would draw it as SVG)";
  return names;
}

} // namespace digits

#endif
