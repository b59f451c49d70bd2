// SPDX-License-Identifier: BSL-1.0
#include "everything.hpp"

int two();

int main() { return two(); }
