// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_BENCH_GRADBENCH_TOOL_HPP
#define COTANGENT_BENCH_GRADBENCH_TOOL_HPP

#include <cotangent/cotangent.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace gradbench {

namespace ct = cotangent;
using json = nlohmann::json;

using vector = ct::tensor<double, "n">;
using matrix = ct::tensor<double, "r", "c">;
using indices = std::vector<std::int64_t>;

/// A function of a problem, prepared for one input: `evaluate` computes into memory that the task owns, `write` reads it.
struct task {
  std::function<void()> evaluate;
  std::function<void(json&)> write;
};

/// The functions of a problem by name. Each reads an input, and throws if its shapes do not fit.
using problem = std::map<std::string, task (*)(json const&)>;

using problems = std::map<std::string, problem>;

/// The tool: the protocol on standard input and output, or one function of one input file. Returns the exit code.
int run(problems const& all, int count, char** arguments);

problem hello();
problem lse();
problem llsq();
problem ode();
problem gmm();
problem ba();
problem lstm();
problem ht();
problem kmeans();
problem det();
problem particle();
problem saddle();

inline void require(bool condition, char const* sentence) {
  if (!condition) throw std::invalid_argument(sentence);
}

// Members of an input. They throw if there is no such member, or not of this kind. (json.cpp alone compiles the JSON library.)
json const& member(json const& input, char const* name);
double read_number(json const& input);
std::size_t read_count(json const& input); ///< an integer that is not negative
bool read_flag(json const& input);
vector read_vector(json const& input);
matrix read_matrix(json const& input); ///< rows of equal lengths
indices read_indices(json const& input);
std::vector<json const*> read_list(json const& input);

json& member(json& output, char const* name);
void write(json& output, double x);
void write(json& output, std::span<double const> x);
void write(json& output, std::span<std::int64_t const> x);
void write(json& output, double const* x, std::size_t rows, std::size_t columns);

/// The compiled program of a function of the library, with its workspace. At each call, it reads the
/// arguments and writes the results, to which it keeps references.
template <class F, class... Results, class... Args>
std::function<void()> prepare(F, std::tuple<Results&...> results, Args const&... arguments) {
  using program = ct::program<F, Args...>;
  std::size_t const bytes = program::workspace_for(arguments...);
  auto memory = std::make_shared<ct::tensor<double, "n">>(bytes / sizeof(double) + 1); // aligned to 64 bytes
  return [memory, bytes, results, arguments = std::tie(arguments...)] {
    std::span<unsigned char> const workspace(reinterpret_cast<unsigned char*>(memory->data()), bytes);
    ct::status const status = program::run(workspace, arguments, results);
    if (status != ct::status::ok) throw std::runtime_error(ct::text_of(status));
  };
}

} // namespace gradbench

#endif
