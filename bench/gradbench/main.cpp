// SPDX-License-Identifier: BSL-1.0
#include "tool.hpp"

int main(int count, char** arguments) {
  using namespace gradbench;
  return run({{"hello", hello()}, {"lse", lse()}, {"llsq", llsq()}, {"ode", ode()}, {"gmm", gmm()}, {"ba", ba()}, {"lstm", lstm()},
              {"ht", ht()}, {"kmeans", kmeans()}, {"det", det()}, {"particle", particle()}, {"saddle", saddle()}},
             count, arguments);
}
