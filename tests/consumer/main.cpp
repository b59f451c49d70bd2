// SPDX-License-Identifier: BSL-1.0
// What a user's first program looks like, built in each of the ways in which the library can be had.
#include <cotangent/cotangent.hpp>

int main() {}
