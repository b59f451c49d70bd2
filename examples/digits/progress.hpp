// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_EXAMPLES_DIGITS_PROGRESS_HPP
#define COTANGENT_EXAMPLES_DIGITS_PROGRESS_HPP

#include <cstdio>
#include <unistd.h>

namespace digits {

/// Progress of the training: a bar on a terminal, otherwise occasional lines.
class progress {
  int epochs_;
  bool terminal_ = isatty(STDOUT_FILENO) != 0;

public:
  explicit progress(int epochs) : epochs_(epochs) {}

  void show(int epoch, double mean_loss, double part_right) const {
    if (terminal_) {
      constexpr int length = 32;
      char bar[length + 1];
      for (int k = 0; k < length; ++k) bar[k] = k * epochs_ < epoch * length ? '#' : '.';
      bar[length] = '\0';
      std::printf("\r[%s] epoch %2d/%d  loss %.4f  test %5.1f %%", bar, epoch, epochs_, mean_loss,
                  100 * part_right);
      if (epoch == epochs_) std::printf("\n");
      std::fflush(stdout);
    } else if (epoch == 1 || epoch % 5 == 0 || epoch == epochs_)
      std::printf("epoch %2d of %d: loss %.4f, %.1f %% of the test images right\n", epoch, epochs_, mean_loss,
                  100 * part_right);
  }
};

} // namespace digits

#endif
