// SPDX-License-Identifier: BSL-1.0
#include "tool.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <fstream>
#include <iostream>

namespace {

using namespace gradbench;

using timer = std::chrono::steady_clock;

using nanoseconds = std::chrono::nanoseconds;

nanoseconds since(timer::time_point start) { return std::chrono::duration_cast<nanoseconds>(timer::now() - start); }

json timing(char const* name, nanoseconds time) { return {{"name", name}, {"nanoseconds", static_cast<std::int64_t>(time.count())}}; }

struct evaluation {
  json output, timings = json::array();
};

evaluation evaluate(problem const& p, std::string const& function, json const& input) {
  auto const found = p.find(function);
  if (found == p.end()) throw std::invalid_argument("unknown function: " + function);
  bool const has_options = input.is_object();
  auto const runs = has_options ? input.value("min_runs", std::int64_t{1}) : 1;
  auto const seconds = has_options ? input.value("min_seconds", 0.0) : 0.0;

  evaluation result;
  auto const start = timer::now();
  task const t = found->second(input);
  result.timings.push_back(timing("prepare", since(start)));
  std::int64_t run = 0;
  nanoseconds spent{0};
  do {
    auto const begin = timer::now();
    t.evaluate();
    auto const time = since(begin);
    result.timings.push_back(timing("evaluate", time));
    spent += time;
  } while (++run < runs || std::chrono::duration<double>(spent).count() < seconds);
  t.write(result.output);
  return result;
}

json answer(problems const& all, json const& message) {
  json reply{{"id", message.at("id")}};
  std::string const kind = message.at("kind");
  if (kind == "start") reply["tool"] = "cotangent";
  if (kind != "define" && kind != "evaluate") return reply;
  try {
    std::string const module = message.at("module");
    auto const found = all.find(module);
    if (found == all.end()) throw std::invalid_argument("unknown module: " + module);
    if (kind == "evaluate") {
      evaluation e = evaluate(found->second, message.at("function"), message.at("input"));
      reply["output"] = std::move(e.output);
      reply["timings"] = std::move(e.timings);
    }
    reply["success"] = true;
  } catch (std::exception const& e) {
    reply["success"] = false;
    reply["error"] = e.what();
  }
  return reply;
}

int serve(problems const& all) {
  for (std::string line; std::getline(std::cin, line);) {
    json reply;
    try {
      reply = answer(all, json::parse(line));
    } catch (std::exception const& e) {
      reply = {{"success", false}, {"error", e.what()}};
    }
    std::cout << reply.dump(-1, ' ', false, json::error_handler_t::replace) << std::endl;
  }
  return 0;
}

/// An input file does not name its problem: the file is named after it, as in lse.input.json, or follows as `lse/gradient`.
int run_file(problems const& all, std::string const& file, std::string const& what) {
  auto const slash = what.find('/');
  std::string const base = file.substr(file.find_last_of('/') + 1);
  std::string const module = slash != what.npos ? what.substr(0, slash) : base.substr(0, base.find_first_of("_."));
  try {
    auto const found = all.find(module);
    if (found == all.end()) throw std::invalid_argument("unknown module: " + module);
    std::ifstream stream(file);
    require(stream.good(), "the file cannot be read");
    auto const e = evaluate(found->second, what.substr(slash == what.npos ? 0 : slash + 1), json::parse(stream));
    std::cout << e.output.dump() << '\n';
    for (json const& t : e.timings) std::cout << t.dump() << '\n';
    return 0;
  } catch (std::exception const& e) {
    std::cerr << e.what() << '\n';
    return 1;
  }
}

} // namespace

int gradbench::run(problems const& all, int count, char** arguments) {
  if (count == 1) return serve(all);
  if (count == 3) return run_file(all, arguments[1], arguments[2]);
  std::cerr << "usage: gradbench [INPUT.json FUNCTION]; FUNCTION is as in gradient, or lse/gradient\n";
  return 2;
}
