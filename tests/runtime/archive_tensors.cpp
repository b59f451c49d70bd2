// SPDX-License-Identifier: BSL-1.0
// Safetensors files: reading, writing, refusals.
#include <cotangent/archive.hpp>

#include "../archive_bytes.hpp"
#include "catch.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>
#if __has_include(<sys/resource.h>)
#  include <csignal>
#  include <sys/resource.h>
#endif

namespace {

namespace ct = cotangent;
using archive_bytes::file;
using archive_bytes::said;

std::string reading(std::string const& bytes) {
  return said([&] { (void)ct::archive::tensors(bytes); });
}
bool begins(std::string const& text, std::string const& with) { return text.rfind(with, 0) == 0; }

std::string const four(4, '\1'), eight(8, '\1');

struct folder {
  std::filesystem::path path;
  folder() {
    path = std::filesystem::temp_directory_path() /
           ("cotangent-" + std::to_string(std::random_device()()) + std::to_string(std::random_device()()));
    std::filesystem::create_directory(path);
  }
  ~folder() { std::filesystem::remove_all(path); }
  int files() const {
    int n = 0;
    for (auto const& entry : std::filesystem::directory_iterator(path)) n += entry.exists();
    return n;
  }
};

// With -ffast-math, comparisons cannot see this.
std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

} // namespace

TEST_CASE("elements, shapes and texts are read as they were written", "[archive]") {
  ct::archive::tensors t;
  t.add("w", std::vector<double>{1, -2.5, 3, 4, 5, 6}, {2, 3});
  t.add("b", std::array<float, 3>{.5f, std::numeric_limits<float>::infinity(), -0.f});
  t.add("n", std::int64_t{-7});
  t.add("i", std::vector<std::int32_t>{1, 2});
  t.add("on", std::array<bool, 3>{true, false, true});
  t.add("none", std::vector<double>{}, {0, 4});
  t.texts["a \"quoted\" key"] = "line\none";
  std::string const bytes = t.composed().bytes();
  ct::archive::tensors const r{bytes};
  CHECK(r.names() == std::vector<std::string>{"b", "i", "n", "none", "on", "w"});
  CHECK(r.shape("w") == std::vector<std::int64_t>{2, 3});
  CHECK(r.elements<double>("w")[1] == -2.5);
  CHECK(bits(r.elements<float>("b")[1]) == 0x7f800000);
  CHECK(bits(r.elements<float>("b")[2]) == 0x80000000);
  CHECK(r.shape("n").empty());
  CHECK(r.elements<std::int64_t>("n")[0] == -7);
  CHECK(r.elements<std::int32_t>("i")[1] == 2);
  CHECK(r.elements<bool>("on")[2]);
  CHECK(r.elements<double>("none").empty());
  CHECK(r.shape("none") == std::vector<std::int64_t>{0, 4});
  CHECK(r.texts.at("a \"quoted\" key") == "line\none");
  CHECK(r.dtype("w") == "F64");
  CHECK(ct::archive::tensors(bytes).composed().bytes() == bytes); // and again
}

TEST_CASE("tensors of half precision are written and read as such, and as float on request", "[archive]") {
  ct::archive::tensors t;
  t.add("h", std::vector<ct::float16>{1, -2, 65504, ct::float16::from_bits(1)}, {2, 2});
  t.add("b", std::array<ct::bfloat16, 1>{3e38f});
  std::string const bytes = t.composed().bytes();
  ct::archive::tensors const r{bytes};
  CHECK(r.dtype("h") == "F16");
  CHECK(r.dtype("b") == "BF16");
  CHECK(r.type("h") == ct::element::float16);
  CHECK(r.elements<ct::float16>("h")[1].bits() == 0xc000);
  CHECK(r.elements<ct::bfloat16>("b")[0].bits() == ct::bfloat16(3e38f).bits());
  CHECK(r.composed().bytes() == bytes);
  CHECK(r.elements<float>("h")[3] == std::ldexp(1.f, -24));
  CHECK(r.elements<float>("h")[2] == 65504);
  CHECK(r.type("h") == ct::element::float32);
  CHECK(begins(said([&] { (void)r.elements<ct::float16>("b"); }), "the requested element type must be that of the tensor"));
  CHECK(begins(said([&] { (void)r.elements<double>("b"); }), "the requested element type must be that of the tensor"));
}

TEST_CASE("tensors are aligned and contiguous behind a header whose size is a multiple of eight bytes",
          "[archive]") {
  ct::archive::tensors t;
  t.add("a", std::array<bool, 3>{true, true, true});
  t.add("b", std::vector<double>{1, 2});
  t.add("c", std::vector<float>{1, 2, 3});
  std::string const bytes = t.composed().bytes();
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  CHECK(length % 8 == 0);
  auto const layout = ct::detail::archived::layout_of(bytes);
  REQUIRE(layout.tensors.size() == 3);
  for (auto const& p : layout.tensors) CHECK(p.first * 8 % static_cast<std::size_t>(p.stored->bits) == 0);
  CHECK(layout.tensors.back().last == layout.data.size());
}

namespace {

/// A reader of its own for the published format: eight bytes with the length of the header; the header, a JSON object that
/// may be padded with spaces; the elements without gaps.
class plain_reader {
  std::string const& bytes_;
  std::size_t at_ = 8, end_ = 8;

  char next() {
    if (at_ >= end_) throw std::runtime_error("the header ends early");
    return bytes_[at_++];
  }
  void expect(char c) {
    if (char const found = next(); found != c) throw std::runtime_error(std::string("not ") + c + " but " + found);
  }
  bool take(char c) { return at_ < end_ && bytes_[at_] == c && ++at_ != 0; }
  std::string text() {
    std::string s;
    expect('"');
    for (char c = next(); c != '"'; c = next()) {
      if (static_cast<unsigned char>(c) < 0x20) throw std::runtime_error("a bare control character");
      if (c != '\\') s += c;
      else if (char const what = next(); what == 'u') {
        int code = 0;
        for (int k = 0; k < 4; ++k) code = code * 16 + std::stoi(std::string(1, next()), nullptr, 16);
        s += static_cast<char>(code); // below 128 in these tests
      } else s += what == 'n' ? '\n' : what == 't' ? '\t' : what;
    }
    return s;
  }
  std::size_t number() {
    if (at_ >= end_ || bytes_[at_] < '0' || bytes_[at_] > '9') throw std::runtime_error("no number");
    std::size_t n = 0;
    while (at_ < end_ && bytes_[at_] >= '0' && bytes_[at_] <= '9')
      n = n * 10 + static_cast<std::size_t>(bytes_[at_++] - '0');
    return n;
  }
  std::vector<std::size_t> list() {
    std::vector<std::size_t> all;
    expect('[');
    if (take(']')) return all;
    do all.push_back(number());
    while (take(','));
    expect(']');
    return all;
  }

public:
  struct tensor {
    std::string type;
    std::vector<std::size_t> shape, offsets;
  };
  std::map<std::string, tensor> tensors;
  std::map<std::string, std::string> metadata;
  std::string data;

  explicit plain_reader(std::string const& bytes) : bytes_(bytes) {
    std::size_t length = 0;
    for (std::size_t k = 8; k-- > 0;) length = length * 256 + static_cast<unsigned char>(bytes[k]);
    if (length % 8 != 0 || length > 100'000'000 || 8 + length > bytes.size())
      throw std::runtime_error("the length of the header");
    end_ = 8 + length;
    expect('{');
    do {
      std::string const name = text();
      expect(':');
      if (name == "__metadata__") {
        expect('{');
        do {
          std::string const key = text();
          expect(':');
          metadata[key] = text();
        } while (take(','));
        expect('}');
        continue;
      }
      tensor t;
      expect('{');
      do {
        std::string const key = text();
        expect(':');
        if (key == "dtype") t.type = text();
        else if (key == "shape") t.shape = list();
        else if (key == "data_offsets") t.offsets = list();
        else throw std::runtime_error("an unknown key");
      } while (take(','));
      expect('}');
      if (!tensors.emplace(name, t).second) throw std::runtime_error("a name twice");
    } while (take(','));
    expect('}');
    while (at_ < end_) expect(' ');
    data = bytes.substr(end_);
    std::map<std::string, std::size_t> const sizes{{"F64", 8}, {"F32", 4}, {"I64", 8}, {"I32", 4}, {"BOOL", 1}};
    std::map<std::size_t, std::size_t> parts;
    for (auto const& [name, t] : tensors) {
      std::size_t size = sizes.at(t.type);
      for (std::size_t const n : t.shape) size *= n;
      if (t.offsets.size() != 2 || t.offsets[1] - t.offsets[0] != size)
        throw std::runtime_error("the offsets of " + name);
      if (size != 0 && t.offsets[0] % sizes.at(t.type) != 0) throw std::runtime_error("unaligned " + name);
      if (size != 0 && !parts.emplace(t.offsets[0], t.offsets[1]).second)
        throw std::runtime_error("two in one place");
    }
    std::size_t end = 0;
    for (auto const& [first, last] : parts) {
      if (first != end) throw std::runtime_error("a gap, or two that overlap");
      end = last;
    }
    if (end != data.size()) throw std::runtime_error("bytes of nobody");
  }
  template <class T> std::vector<T> elements(std::string const& name) const {
    tensor const& t = tensors.at(name);
    std::vector<T> all((t.offsets[1] - t.offsets[0]) / sizeof(T));
    if (!all.empty()) std::memcpy(all.data(), data.data() + t.offsets[0], t.offsets[1] - t.offsets[0]);
    return all;
  }
};

} // namespace

TEST_CASE("an independent reader of the published format reads the written files", "[archive]") {
  ct::archive::tensors t;
  t.add("flags", std::array<bool, 3>{true, false, true});
  t.add("weights \"w\"\n", ct::tensor<double, 2, 3>{{1, 2, 3}, {4, 5, 6.5}});
  t.add("short", std::vector<float>{-1, .25f});
  t.add("long", std::vector<std::int64_t>{-5'000'000'000, 7});
  t.add("label", std::vector<std::int32_t>{-3});
  t.add("nothing", std::vector<double>{});
  t.add("number", 2.5);
  t.texts["made \\ by"] = "a \"test\"\n";
  std::string const bytes = t.composed().bytes();
  plain_reader const r(bytes);
  CHECK(r.tensors.size() == 7);
  CHECK(r.metadata.at("made \\ by") == "a \"test\"\n");
  CHECK(r.tensors.at("weights \"w\"\n").shape == std::vector<std::size_t>{2, 3});
  CHECK(r.elements<double>("weights \"w\"\n") == std::vector<double>{1, 2, 3, 4, 5, 6.5});
  CHECK(r.elements<float>("short") == std::vector<float>{-1, .25f});
  CHECK(r.elements<std::int64_t>("long") == std::vector<std::int64_t>{-5'000'000'000, 7});
  CHECK(r.elements<std::int32_t>("label")[0] == -3);
  CHECK(r.elements<unsigned char>("flags") == std::vector<unsigned char>{1, 0, 1});
  CHECK(r.tensors.at("nothing").shape == std::vector<std::size_t>{0});
  CHECK(r.tensors.at("number").shape.empty());
  CHECK(r.elements<double>("number")[0] == 2.5);
  std::string gap = bytes; // and it notices mistakes
  gap += '\0';
  CHECK_THROWS(plain_reader(gap));
  std::string moved = bytes;
  moved[8] = '[';
  CHECK_THROWS(plain_reader(moved));
}

TEST_CASE("files of other programs are read: half precision, short integers, any order of keys",
          "[archive]") {
  std::string half;
  for (unsigned h : {0x3c00u, 0xc000u, 0x7bffu, 0x0001u, 0x83ffu, 0x7c00u, 0xfe00u, 0x8000u, 0x0400u})
    half += {static_cast<char>(h & 255u), static_cast<char>(h >> 8)};
  std::string const header = R"({"h":{"shape":[9],"data_offsets":[0,18],"dtype":"F16"},)"
                             R"("s":{"dtype":"I16","shape":[],"data_offsets":[18,20]},)"
                             R"("B":{"dtype":"BF16","shape":[1,1],"data_offsets":[20,22]},)"
                             R"("u":{"dtype":"U8","shape":[2],"data_offsets":[22,24]},)"
                             R"("U":{"dtype":"U32","shape":[1],"data_offsets":[24,28]},)"
                             R"("x":{"dtype":"I8","shape":[1],"data_offsets":[28,29]},)"
                             R"("w":{"dtype":"U16","shape":[1],"data_offsets":[29,31]},)"
                             R"("q":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[31,32]}}   )";
  ct::archive::tensors t{file(header, half + "\xfe\xff" + "\x40\xc0" + "\x01\xff" + "\xff\xff\xff\xff" +
                                          "\x80" + "\xff\xff" + "\1")};
  auto const h = t.elements<float>("h");
  float const small = std::ldexp(1.f, -24);
  CHECK(h[0] == 1);
  CHECK(h[1] == -2);
  CHECK(h[2] == 65504);
  CHECK(h[3] == small);
  CHECK(h[4] == -1023 * small);
  CHECK(bits(h[5]) == 0x7f800000);
  CHECK(bits(h[6]) == 0xffc00000);
  CHECK(bits(h[7]) == 0x80000000);
  CHECK(h[8] == std::ldexp(1.f, -14));
  CHECK(t.elements<std::int32_t>("s")[0] == -2);
  CHECK(t.elements<float>("B")[0] == -3);
  CHECK(t.elements<std::int32_t>("u")[1] == 255);
  CHECK(t.elements<std::int64_t>("U")[0] == 4294967295);
  CHECK(t.elements<std::int32_t>("x")[0] == -128);
  CHECK(t.elements<std::int32_t>("w")[0] == 65535);
  CHECK(begins(said([&] { (void)t.elements<float>("q"); }),
               "the requested element type must be that of the tensor"));
  CHECK(begins(said([&] { (void)t.type("q"); }), "the requested element type must be that of the tensor"));
  CHECK(begins(said([&] { (void)t.elements<double>("h"); }),
               "the requested element type must be that of the tensor"));
  CHECK(t.dtype("h") == "F32"); // since it was converted
  CHECK(begins(said([&] { (void)t.elements<ct::float16>("h"); }),
               "the requested element type must be that of the tensor; some types of files have no equivalent in the library; h has F32"));
  CHECK(begins(said([&] { (void)t.elements<double>("nobody"); }),
               "the name must exist in the file; nobody"));
}

TEST_CASE("a file that is not a safetensors file is refused with a message", "[archive]") {
  std::string const w = R"("w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  REQUIRE(reading(file("{" + w + "}", four)) == "fine");
  REQUIRE(reading(file("{}", "")) == "fine");
  std::string deep = "{" + w + R"(,"d":)";
  for (int k = 0; k < 100000; ++k) deep += '[';
  auto const [bytes, words] = GENERATE_COPY(table<std::string, std::string>({
      {"", "a safetensors file must begin with the length"},
      {"1234567", "a safetensors file must begin with the length"},
      {file("{}").substr(0, 9), "a safetensors file must begin with the length"},
      {std::string(8, '\xff') + "{}", "a safetensors file must begin with the length"},
      {std::string("\0\0\0\0\0\0\0\x40", 8) + "{}", "a safetensors file must begin with the length"},
      {file(""), "the header must list"},
      {file("[]"), "the header must list"},
      {file("{" + w, four), "the header must be JSON"},
      {file("{" + w + "} x", four), "the header must be JSON"},
      {file("{" + w + "," + w + "}", four), "the header must be JSON"},
      {file(deep), "the header must be JSON"},
      {file("{\"\xff\":1}"), "the header must be JSON"},
      {file("{" + w + R"(,"__metadata__":{"a":1}})", four), "the header must list"},
      {file("{" + w + R"(,"__metadata__":[]})", four), "the header must list"},
      {file(R"({"w":[]})", four), "the header must list"},
      {file(R"({"w":{"dtype":"F32","shape":[1]}})", four), "the header must list"},
      {file(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"more":1}})", four),
       "the header must list"},
      {file(R"({"w":{"dtype":32,"shape":[1],"data_offsets":[0,4]}})", four), "the header must list"},
      {file(R"({"w":{"dtype":"F32","shape":1,"data_offsets":[0,4]}})", four), "the header must list"},
      {file(R"({"w":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})", four), "the header must list"},
      {file(R"({"w":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", four), "the header must list"},
      {file(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", four), "the header must list"},
      {file(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", four), "the header must list"},
      {file(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,18446744073709551615]}})", four),
       "the header must list"},
      {file(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}})", four), "the header must list"},
      {file(R"({"w":{"dtype":"F33","shape":[1],"data_offsets":[0,4]}})", four),
       "the dtype of a tensor must be"},
      {file(R"({"w":{"dtype":"F64","shape":[1],"data_offsets":[0,4]}})", four),
       "a tensor must have as many bytes"},
      {file(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", four),
       "a tensor must have as many bytes"},
      {file(R"({"w":{"dtype":"F4","shape":[1],"data_offsets":[0,0]}})"), "a tensor must have as many bytes"},
      {file(R"({"w":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,4]}})", four),
       "a tensor must have at most 2^42 elements"},
      {file(R"({"w":{"dtype":"F32","shape":[0,9223372036854775807,2],"data_offsets":[0,0]}})"),
       "a tensor must have at most 2^42 elements"},
      {file(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", eight),
       "tensors must be contiguous"},
      {file(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", eight),
       "tensors must be contiguous"},
      {file("{" + w + R"(,"v":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", four),
       "tensors must be contiguous"},
      {file("{" + w + R"(,"v":{"dtype":"BOOL","shape":[2],"data_offsets":[3,5]}})", four + "\1"),
       "tensors must be contiguous"},
      {file(R"({"w":{"dtype":"BOOL","shape":[4],"data_offsets":[0,4]}})", std::string("\1\0\2\0", 4)),
       "the bytes of a bool must be"},
  }));
  CAPTURE(bytes.substr(0, 200));
  CHECK(begins(reading(bytes), words));
}

TEST_CASE("invalid names, and memory that does not fit, are not written", "[archive]") {
  ct::archive::tensors t;
  CHECK(begins(said([&] { t.add("w", std::vector<float>{1, 2, 3}, {2, 2}); }),
               "data must have the element type"));
  CHECK(begins(said([&] { t.add("w", std::vector<float>{}, {INT64_MAX, INT64_MAX, 0}); }),
               "a tensor must have at most 2^42"));
  t.add("\xff", 1.0);
  CHECK(said([&] { (void)t.composed(); }).find("\"\xef\xbf\xbd\" is not UTF-8") != std::string::npos);
  ct::archive::tensors u;
  u.add("__metadata__", 1.0);
  CHECK(said([&] { (void)u.composed(); }).find("a tensor has the name __metadata__") != std::string::npos);
}

TEST_CASE("a file replaces the old one atomically, or the old one stays", "[archive]") {
  folder const here;
  auto const path = here.path / "t.safetensors";
  ct::archive::tensors t;
  t.add("w", std::vector<float>(1000, 1.f));
  ct::archive::write(path, t);
  t.add("w", std::vector<float>(1000, 2.f));
  ct::archive::write(path, t);
  CHECK(ct::archive::read(path).elements<float>("w")[999] == 2);
  CHECK(here.files() == 1);

  CHECK(begins(said([&] { ct::archive::write(here.path / "nowhere" / "t", t); }),
               "the file could not be written"));
  CHECK(begins(said([&] { ct::archive::write(here.path, t); }), "the target must be a regular file"));
  CHECK(begins(said([&] { (void)ct::archive::read(here.path / "missing"); }), "the file must exist"));
  CHECK(begins(said([&] { (void)ct::archive::read(here.path); }), "the file must exist"));
#if __has_include(<sys/resource.h>)
  // a disk that is full after 1,000 bytes
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 1000;
  setrlimit(RLIMIT_FSIZE, &small);
  t.add("w", std::vector<float>(1000, 3.f));
  std::string const words = said([&] { ct::archive::write(path, t); });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(
      begins(words, "the file could not be written; the previous file is unchanged; " + path.string()));
  CHECK(here.files() == 1);
  CHECK(ct::archive::read(path).elements<float>("w")[999] == 2);
#endif
}

TEST_CASE("a truncated or changed file of this library is refused", "[archive]") {
  ct::archive::tensors t;
  t.add("w", std::vector<float>{1, 2, 3});
  t.add("b", std::array<bool, 3>{true, false, true});
  t.texts["note"] = "about it";
  std::string const whole = t.composed().bytes();
  REQUIRE(reading(whole) == "fine");
  for (std::size_t n = 0; n < whole.size(); ++n) {
    CAPTURE(n);
    REQUIRE(reading(whole.substr(0, n)) != "fine");
    for (int const flip : {0x01, 0x02, 0x20, 0x80, 0xff}) {
      std::string changed = whole;
      changed[n] = static_cast<char>(changed[n] ^ flip);
      std::string const words = reading(changed);
      // (in `{"__metadata__":{"cotangent.checksum":` a change makes it a file of somebody else's, perhaps a sound one)
      if (n >= 8 && n < ct::detail::archived::sum_at) REQUIRE(!begins(words, "another"));
      else REQUIRE((words != "fine" && !begins(words, "another")));
    }
  }
  CHECK(reading(whole + '\0') != "fine");
}

TEST_CASE("tensors are added with names and extents that files can have", "[archive]") {
  ct::archive::tensors t;
  std::vector<float> const six(6);
  t.add("fine", six, {2, 3});
  for (auto const& shape : std::vector<std::vector<std::int64_t>>{{-2, -3}, {-6}, {6, 1, 1, 1, 1, 1, 1, 1, 1}})
    CHECK(begins(said([&] { t.add("w", six, shape); }), "a tensor must have at most 2^42 elements and 8 axes, and no negative extent; w"));
  CHECK(begins(said([&] { t.add(std::string("a\0b", 3), six); }), "names must be UTF-8 without zeros"));
  CHECK(t.names() == std::vector<std::string>{"fine"});
}
