// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_IO_ARCHIVE_FILE_HPP
#define COTANGENT_IO_ARCHIVE_FILE_HPP

#include <cotangent/io/archive/json.hpp>

#if COTANGENT_EXCEPTIONS

#  include <atomic>
#  include <cerrno>
#  include <chrono>
#  include <cstdio>
#  include <cstring>
#  include <filesystem>
#  include <string>
#  include <string_view>
#  if __has_include(<unistd.h>)
#    include <unistd.h>
#  endif

// Files as a whole: read at once, and written so that nobody ever sees half of one.

namespace cotangent::detail::archived {

template <class Refusal>
[[noreturn]] inline void refuse_file(std::filesystem::path const& path, char const* why) {
  refuse<Refusal>(path.string() + ": " + why);
}

/// All bytes of a regular file.
inline std::string bytes_of(std::filesystem::path const& path) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed))
    refuse_file<refusals::archive_open>(path, failed ? failed.message().c_str() : "it is no file");
  std::uintmax_t const size = std::filesystem::file_size(path, failed);
  if (failed) refuse_file<refusals::archive_open>(path, failed.message().c_str());
  std::FILE* const in = std::fopen(path.string().c_str(), "rb");
  if (in == nullptr) refuse_file<refusals::archive_open>(path, std::strerror(errno));
  std::string bytes;
  std::size_t read = 0;
  try {
    bytes.resize(static_cast<std::size_t>(size));
    read = std::fread(bytes.data(), 1, bytes.size(), in);
  } catch (...) {
    std::fclose(in);
    throw;
  }
  std::fclose(in);
  if (read != bytes.size()) refuse_file<refusals::archive_open>(path, "it ends early");
  return bytes;
}

/// A file beside the one that is meant, which takes its place when all is written, and goes where that fails.
class replacement {
  std::filesystem::path target_, beside_;
  std::FILE* out_ = nullptr;

public:
  explicit replacement(std::filesystem::path const& target) : target_(target) {
    static std::atomic<unsigned> count{0};
    auto const now = std::chrono::steady_clock::now().time_since_epoch().count();
    for (int tries = 0; out_ == nullptr && tries < 100; ++tries) {
      beside_ = target;
      beside_ += std::string(".").append(std::to_string(now)).append("-").append(std::to_string(++count)).append(".part");
      out_ = std::fopen(beside_.string().c_str(), "wbx");
      if (out_ == nullptr && errno != EEXIST) break;
    }
    if (out_ == nullptr) refuse_file<refusals::archive_write>(target_, std::strerror(errno));
  }
  replacement(replacement const&) = delete;
  replacement& operator=(replacement const&) = delete;
  ~replacement() {
    if (out_ == nullptr) return;
    std::fclose(out_);
    std::remove(beside_.string().c_str());
  }

  void write(std::string_view bytes) {
    if (!bytes.empty() && std::fwrite(bytes.data(), 1, bytes.size(), out_) != bytes.size()) fail(errno);
  }
  void finish() {
    if (std::fflush(out_) != 0) fail(errno);
#  if __has_include(<unistd.h>)
    if (fsync(fileno(out_)) != 0) fail(errno);
#  endif
    std::FILE* const out = out_;
    out_ = nullptr;
    std::error_code failed;
    if (std::fclose(out) != 0) failed = std::error_code(errno, std::generic_category());
    if (!failed) std::filesystem::rename(beside_, target_, failed);
    if (!failed) return;
    std::remove(beside_.string().c_str());
    refuse_file<refusals::archive_write>(target_, failed.message().c_str());
  }

private:
  [[noreturn]] void fail(int why) { refuse_file<refusals::archive_write>(target_, std::strerror(why)); }
};

} // namespace cotangent::detail::archived

#endif
#endif
