#include "main/setup/runner_program.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "runtime/isolation/child_process.hpp"

namespace troupe {
namespace {

std::optional<int> run(const std::vector<std::string>& arguments) {
  std::vector<const char*> argv;
  for (const std::string& each : arguments) argv.push_back(each.c_str());
  return run_if_runner_process(static_cast<int>(argv.size()), argv.data());
}

TEST(runner_program, is_told_from_every_other_start_of_the_program) {
  const std::string parent = std::to_string(::getppid());
  EXPECT_FALSE(run({"mine", "runner-process", "2", parent})) << "nobody's child";
  ::setenv(child_process::parent_variable, parent.c_str(), 1);
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {},
           {"mine"},
           {"mine", "runner-process"},
           {"mine", "serve", "2", parent},
           {"mine", "runner-process", "two", parent},
           {"mine", "runner-process", "2", "1" + parent},  // another's child
           {"mine", "runner-process", "2", parent + "x"},
           {"mine", "runner-process", "2", parent, "more"}})
    EXPECT_FALSE(run(arguments)) << testing::PrintToString(arguments);
  ::unsetenv(child_process::parent_variable);
}

TEST(runner_program, gets_none_of_the_services_keys) {
  const runner_program program = this_program();
  ASSERT_EQ(program.arguments.size(), 2U) << "what run_if_runner_process() looks for";
  for (const char* key : {"TROUPE_API_KEY", "TROUPE_ADMIN_KEY"})
    EXPECT_EQ(std::ranges::count(program.withheld, key), 1) << key;
}

}  // namespace
}  // namespace troupe
