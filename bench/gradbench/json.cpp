// SPDX-License-Identifier: BSL-1.0
#include "tool.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace gradbench {

json const& member(json const& input, char const* name) { return input.at(name); }
double read_number(json const& input) { return input.get<double>(); }
bool read_flag(json const& input) { return input.get<bool>(); }

std::size_t read_count(json const& input) {
  require(input.is_number_integer() && input.get<std::int64_t>() >= 0, "a count must be an integer that is not negative");
  return input.get<std::size_t>();
}

vector read_vector(json const& input) {
  auto const elements = input.get<std::vector<double>>();
  vector x(elements.size());
  std::copy(elements.begin(), elements.end(), x.begin());
  return x;
}

matrix read_matrix(json const& input) {
  auto const rows = input.get<std::vector<std::vector<double>>>();
  std::size_t const columns = rows.empty() ? 0 : rows.front().size();
  matrix x(rows.size(), columns);
  double* to = x.data();
  for (std::vector<double> const& row : rows) {
    require(row.size() == columns, "the rows of a matrix must have equal lengths");
    to = std::copy(row.begin(), row.end(), to);
  }
  return x;
}

indices read_indices(json const& input) { return input.get<indices>(); }

std::vector<json const*> read_list(json const& input) {
  require(input.is_array(), "a list must be an array");
  std::vector<json const*> list;
  for (json const& element : input) list.push_back(&element);
  return list;
}

json& member(json& output, char const* name) { return output[name]; }
void write(json& output, double x) { output = x; }
void write(json& output, std::span<double const> x) { output = std::vector<double>(x.begin(), x.end()); }
void write(json& output, std::span<std::int64_t const> x) { output = std::vector<std::int64_t>(x.begin(), x.end()); }
void write(json& output, double const* x, std::size_t rows, std::size_t columns) {
  output = json::array();
  for (std::size_t r = 0; r < rows; ++r) output.push_back(std::vector<double>(x + r * columns, x + (r + 1) * columns));
}

} // namespace gradbench
