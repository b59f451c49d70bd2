// SPDX-License-Identifier: BSL-1.0
// The main function of every test program that uses Catch2, compiled once.
#if __has_include(<catch2/catch_all.hpp>)
#  include <catch2/catch_session.hpp>
int main(int count, char** words) { return Catch::Session().run(count, words); }
#else
#  define CATCH_CONFIG_RUNNER
#  include <catch2/catch.hpp>
int main(int count, char** words) {
  Catch::Session session;
  if (int const wrong = session.applyCommandLine(count, words)) return wrong;
  // As in the third version: no test is a failure.
  auto& warnings = session.configData().warnings;
  warnings = static_cast<Catch::WarnAbout::What>(warnings | Catch::WarnAbout::NoTests);
  return session.run();
}
#endif
