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
#  if defined(__unix__) || defined(__APPLE__)
#    define COTANGENT_POSIX_FILES 1
#    include <fcntl.h>
#    include <sys/stat.h>
#    include <unistd.h>
#  else
#    define COTANGENT_POSIX_FILES 0
#  endif

// Whole files: read at once, and written so that no reader ever sees a partial file.

namespace cotangent::detail::archived {

template <class Refusal>
[[noreturn]] inline void refuse_file(std::filesystem::path const& path, char const* why) {
  refuse<Refusal>(path.string() + ": " + why);
}

/// Reads all bytes of a regular file.
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

/// Resolves symbolic links, also to a file that does not exist yet. Throws: `io_error` if the path exists and
/// is not a regular file.
inline std::filesystem::path target_of(std::filesystem::path const& path) {
  namespace fs = std::filesystem;
  fs::path target = path;
  std::error_code failed;
  for (int links = 0; fs::is_symlink(fs::symlink_status(target, failed)); ++links) {
    if (links == 64) refuse_file<refusals::archive_write>(path, "too many symbolic links");
    fs::path const to = fs::read_symlink(target, failed);
    if (failed) refuse_file<refusals::archive_write>(path, failed.message().c_str());
    target = target.parent_path() / to; // `to` alone if it is absolute
  }
  fs::file_status const there = fs::status(target, failed);
  if (there.type() == fs::file_type::none) refuse_file<refusals::archive_write>(path, failed.message().c_str());
  if (fs::exists(there) && !fs::is_regular_file(there)) refuse<refusals::archive_regular>(path.string());
  return target;
}

/// A temporary file beside the target. It replaces the target, with its permissions, once everything is
/// written; it is removed if that fails.
class replacement {
  std::filesystem::path target_, beside_;
  std::FILE* out_ = nullptr;

public:
  explicit replacement(std::filesystem::path const& path) : target_(target_of(path)) {
    static std::atomic<unsigned> count{0};
    auto const now = std::chrono::steady_clock::now().time_since_epoch().count();
    for (int tries = 0; out_ == nullptr && tries < 100; ++tries) {
      // (a short name: that of the target may already have the maximum length)
      beside_ = target_.parent_path() / std::string(".").append(std::to_string(now)).append("-").append(std::to_string(++count)).append(".part");
      open();
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
  /// Reads back the bytes written so far.
  std::string bytes() {
    if (std::fflush(out_) != 0) fail(errno);
    return bytes_of(beside_);
  }
  void finish() {
    if (std::fflush(out_) != 0) fail(errno);
#  if COTANGENT_POSIX_FILES
    if (fsync(fileno(out_)) != 0) fail(errno);
#  endif
    std::FILE* const out = out_;
    out_ = nullptr;
    std::error_code failed;
    if (std::fclose(out) != 0) failed = std::error_code(errno, std::generic_category());
    if (!failed) std::filesystem::rename(beside_, target_, failed);
    if (failed) {
      std::remove(beside_.string().c_str());
      refuse_file<refusals::archive_write>(target_, failed.message().c_str());
    }
#  if COTANGENT_POSIX_FILES
    // Syncs the new name to the disk as well. Not every file system can, and the file has been replaced
    // already.
    std::string const folder = target_.has_parent_path() ? target_.parent_path().string() : ".";
    if (int const at = ::open(folder.c_str(), O_RDONLY | O_CLOEXEC); at >= 0) {
      (void)fsync(at);
      (void)::close(at);
    }
#  endif
  }

private:
  [[noreturn]] void fail(int why) { refuse_file<refusals::archive_write>(target_, std::strerror(why)); }

  /// Null, with `errno` set, on failure. The new file never permits more than the old one.
  void open() {
#  if COTANGENT_POSIX_FILES
    struct stat old {};
    bool const replaces = ::stat(target_.string().c_str(), &old) == 0;
    mode_t const all = 0666, kept = old.st_mode & 0777;
    int const at = ::open(beside_.string().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, replaces ? kept : all);
    if (at < 0) return;
    bool const foreign = replaces && (old.st_uid != geteuid() || old.st_gid != getegid());
    // not every user may chown: then the file belongs to the writer
    if (foreign && fchown(at, old.st_uid, old.st_gid) != 0) errno = 0;
    if (!replaces || fchmod(at, kept) == 0) out_ = fdopen(at, "wb");
    if (out_ != nullptr) return;
    int const why = errno;
    (void)::close(at);
    std::remove(beside_.string().c_str());
    errno = why;
#  else
    out_ = std::fopen(beside_.string().c_str(), "wbx");
    std::error_code failed;
    auto const old = std::filesystem::status(target_, failed);
    if (out_ != nullptr && std::filesystem::exists(old))
      std::filesystem::permissions(beside_, old.permissions(), failed);
#  endif
  }
};

} // namespace cotangent::detail::archived

#endif
#endif
