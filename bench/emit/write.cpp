// SPDX-License-Identifier: BSL-1.0
// Writes the emitted programs: `write emitted.hpp`.
#include "functions.hpp"

#include <cotangent/inspect.hpp>

#include <fstream>

int main(int count, char** arguments) {
  if (count != 2) return 1;
  std::ofstream out(arguments[1]);
  using namespace bench::emitted;
  ct::emit<rosenbrock_program>(out, {.name = "rosenbrock"});
  ct::emit<log_sum_exp_program>(out, {.name = "log_sum_exp"});
  ct::emit<digits_program>(out, {.name = "digits"});
  ct::emit<pendulum_program>(out, {.name = "pendulum"});
}
