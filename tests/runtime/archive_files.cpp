// SPDX-License-Identifier: BSL-1.0
// Where files are written: behind links, with the permissions of the old file, or not at all; and graphs that cannot be read back.
#include <cotangent/cotangent.hpp>

#include <cotangent/archive.hpp>
#include <cotangent/dynamic.hpp>

#include "../archive_bytes.hpp"
#include "../archive_cases.hpp"
#include "catch.hpp"

#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>
#if defined(__unix__)
#  include <sys/stat.h>
#  include <unistd.h>
#endif

namespace {

namespace ct = cotangent;
namespace fs = std::filesystem;
using archive_bytes::said;

struct folder {
  fs::path path = fs::temp_directory_path() / ("cotangent-" + std::to_string(std::random_device()()) + std::to_string(std::random_device()()));
  folder() { fs::create_directory(path); }
  ~folder() { fs::remove_all(path); }
  /// Everything in it, also links that lead nowhere.
  int entries() const { return static_cast<int>(std::distance(fs::directory_iterator(path), fs::directory_iterator())); }
};

bool begins(std::string const& text, std::string const& with) { return text.rfind(with, 0) == 0; }
ct::archive::tensors holding(float x) {
  ct::archive::tensors t;
  t.add("w", std::vector<float>(1000, x));
  return t;
}
float held(fs::path const& path) { return ct::archive::read(path).elements<float>("w")[999]; }
std::string writing(fs::path const& path) {
  return said([&] { ct::archive::write(path, holding(7)); });
}
std::string const irregular = "the target must be a regular file";

TEST_CASE("writing through a symbolic link replaces the file behind it", "[archive]") {
  folder const here, there;
  ct::archive::write(there.path / "file", holding(1));
  fs::create_symlink(there.path / "file", here.path / "absolute");
  fs::create_symlink("absolute", here.path / "relative"); // a link to a link
  for (char const* const name : {"absolute", "relative"}) {
    float const x = name[0] == 'a' ? 2.f : 3.f;
    ct::archive::write(here.path / name, holding(x));
    CHECK(fs::is_symlink(fs::symlink_status(here.path / name)));
    CHECK(held(there.path / "file") == x);
  }
  CHECK(here.entries() == 2);
  CHECK(there.entries() == 1);

  fs::create_symlink(there.path / "new", here.path / "to nothing yet");
  ct::archive::write(here.path / "to nothing yet", holding(4));
  CHECK(held(there.path / "new") == 4);
  fs::create_symlink(here.path / "b", here.path / "a");
  fs::create_symlink(here.path / "a", here.path / "b");
  CHECK(begins(writing(here.path / "a"), "the file could not be written"));
  CHECK(here.entries() == 5);
}

TEST_CASE("a path without a folder refers to the current folder", "[archive]") {
  folder const here;
  fs::path const before = fs::current_path();
  fs::current_path(here.path);
  std::string const words = writing("alone");
  fs::current_path(before);
  CHECK(words == "fine");
  CHECK(held(here.path / "alone") == 7);
}

TEST_CASE("a file name may have the maximum length", "[archive]") {
  folder const here;
  CHECK(writing(here.path / std::string(255, 'n')) == "fine");
  CHECK(writing(here.path / std::string(255, 'n')) == "fine");
  CHECK(begins(writing(here.path / std::string(256, 'n')), "the file could not be written"));
  CHECK(here.entries() == 1);
}

#if defined(__unix__)
TEST_CASE("directories, devices and pipes are refused and stay unchanged", "[archive]") {
  folder const here;
  fs::create_directory(here.path / "directory");
  REQUIRE(mkfifo((here.path / "pipe").c_str(), 0600) == 0);
  fs::create_symlink("/dev/null", here.path / "link");
  for (fs::path const& path : {here.path / "directory", here.path / "pipe", here.path / "link", fs::path("/dev/null")}) {
    CAPTURE(path.string());
    fs::file_type const was = fs::status(path).type();
    CHECK(begins(writing(path), irregular));
    CHECK(fs::status(path).type() == was);
    ct::dynamic::graph g;
    (void)g.input<double>("x");
    CHECK(begins(said([&] { ct::archive::save(path, g); }), irregular));
  }
  CHECK(here.entries() == 3);
}

TEST_CASE("a replaced file keeps its permissions, and a new file has the default ones", "[archive]") {
  folder const here;
  auto const mode = [](fs::path const& path) {
    struct stat s {};
    REQUIRE(::stat(path.c_str(), &s) == 0);
    return s.st_mode & 07777;
  };
  mode_t const mask = ::umask(027);
  CHECK(writing(here.path / "new") == "fine");
  CHECK(mode(here.path / "new") == 0640);
  for (mode_t const kept : {0600u, 0644u, 0666u, 0755u, 0400u}) { // also more than the mask lets through
    REQUIRE(::chmod((here.path / "new").c_str(), kept) == 0);
    CHECK(writing(here.path / "new") == "fine");
    CHECK(mode(here.path / "new") == kept);
  }
  ::umask(mask);
  if (::geteuid() == 0) {
    REQUIRE(::chown((here.path / "new").c_str(), 12345, 23456) == 0);
    CHECK(writing(here.path / "new") == "fine");
    struct stat s {};
    REQUIRE(::stat((here.path / "new").c_str(), &s) == 0);
    CHECK(s.st_uid == 12345);
    CHECK(s.st_gid == 23456);
    CHECK(mode(here.path / "new") == 0400);
  }
  CHECK(here.entries() == 1);
}
#endif

TEST_CASE("a graph that could not be loaded again is not saved, and the old file stays", "[archive]") {
  folder const here;
  fs::path const path = here.path / "net";
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {2});
  auto const y = ct::sin(x);
  ct::archive::save(path, g, {}, {{"y", y}});
  std::string const before = ct::detail::archived::bytes_of(path);
  // no parameter, since it is computed: as a defect of the library may leave it
  ct::dynamic::detail::graph_access::state(g).parameters.push_back(y.id());
  std::string const words = "the written file must be read back as the same graph";
  CHECK(begins(said([&] { ct::archive::save(path, g, {}, {{"y", y}}); }), words));
  CHECK(begins(said([&] { (void)ct::archive::bytes_of(g); }), words));
  CHECK(ct::detail::archived::bytes_of(path) == before);
  CHECK(here.entries() == 1);
  ct::archive::save(path, g, {}, {{"y", y}}, {}, {.read_back = false});
  CHECK(begins(said([&] { (void)ct::archive::load(path); }), "the graph in the file must be well formed; a parameter is no input"));
}

TEST_CASE("a view with an unused stride is saved, however large the stride", "[archive]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {2});
  auto const y = ct::sin(g.view(x, {.shape = {1}, .stride = {std::int64_t{1} << 50}}));
  auto const z = ct::sum(g.view(x, {.shape = {0, 3}, .stride = {1, std::int64_t{1} << 60}}));
  auto const c = ct::archive::load_bytes(ct::archive::bytes_of(g, {}, {{"y", y}, {"z", z}}));
  auto p = c.graph.compile({c.find("y"), c.find("z")});
  p.bind(c.find<double>("x"), std::vector<double>{.5, 7});
  p.run();
  CHECK(p.value(c.find<double>("y"))(0) == Approx(std::sin(.5)));
  CHECK(double(p.value(c.find<double>("z"))) == 0);
}

TEST_CASE("a graph that would be loaded as a different one is not saved", "[archive]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x");
  auto const y = ct::sin(x);
  using access = ct::dynamic::detail::archive_access;
  auto const saved = access::composed(g, {}, {{"y", y}}, {});
  access::check_read_back(saved.file.bytes(), saved);
  auto const z = ct::cos(y);
  auto const other = access::composed(g, {}, {{"z", z}}, {});
  CHECK(begins(said([&] { access::check_read_back(saved.file.bytes(), other); }),
               "the written file must be read back as the same graph; it was not, and the previous file is unchanged; it is another graph"));
}

struct another_exp : ct::extend::elementwise<1> {
  static constexpr char const* name = "exp";
  static constexpr float cost = 1;
  template <class V> static constexpr V apply(V x) { return x; }
  static constexpr ct::term partial(ct::rule const& r, int) { return ct::extend::constant_like(r.y(), 1); }
};

TEST_CASE("a loaded graph has the kernels of whole tensors, without the headers that build such graphs", "[archive]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x", {4});
  auto const c = ct::archive::load_bytes(ct::archive::bytes_of(g, {}, {{"y", x * 2}}));
  auto const& kernels = ct::dynamic::detail::graph_access::state(c.graph).kernels;
  for (ct::operation const* const op : {ct::info_of<ct::op::conv2d>(), ct::info_of<ct::op::conv2d_weight>(), ct::info_of<ct::op::max_pool2d>(),
                                        ct::info_of<ct::op::cholesky>(), ct::info_of<ct::op::lu_solve>()}) {
    auto const* const found = kernels.find(op);
    CAPTURE(op->name);
    CHECK((found != nullptr && found->whole != nullptr));
  }
}

TEST_CASE("a user-defined operation with the name of a library operation is refused", "[archive]") {
  ct::dynamic::graph g;
  auto const x = g.input<double>("x");
  auto const y = ct::extend::apply<another_exp>(std::source_location::current(), x);
  std::string const words = "two operations must not have one name; a file knows operations by their names; exp";
  auto const bytes = ct::archive::bytes_of(g, {}, {{"y", y}});
  CHECK(said([&] { (void)ct::archive::load_bytes(bytes, ct::operations<another_exp>{}); }) == words);
  auto const z = ct::exp(y);
  CHECK(said([&] { (void)ct::archive::bytes_of(g, {}, {{"z", z}}); }) == words);
}

TEST_CASE("a file with 30,000 tensors, most of them named, is read within seconds", "[archive]") {
  ct::dynamic::graph g;
  for (int k = 0; k < 20000; ++k) (void)g.input<double>("t" + std::to_string(k), {0});
  auto y = g.input<double>("x");
  for (int k = 0; k < 8000; ++k) y = ct::sin(y);
  for (int k = 0; k < 300; ++k) y = ct::for_loop(2, [](auto, auto v) { return ct::sin(v); }, y);
  auto const from = std::chrono::steady_clock::now();
  auto const bytes = ct::archive::bytes_of(g, {}, {}, {}, {.read_back = false});
  auto const c = ct::archive::load_bytes(bytes);
  // (more than a minute where each list of n values is walked through n times)
  CHECK(std::chrono::steady_clock::now() - from < std::chrono::seconds(30));
  CHECK(ct::archive::bytes_of(c.graph, {}, {}, {}, {.read_back = false}) == bytes);
}

} // namespace
