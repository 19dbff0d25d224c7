#include "runtime/isolation/executor_place.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "tests/runtime/executor/executor_fixture.hpp"
#include "tests/support/gguf_writer.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/tiny_model.hpp"

namespace troupe {
namespace {

runner_program test_runner() { return {test::runner_program_path(), {"runner", "any"}}; }

cpu_executor_options small() {
  cpu_executor_options options;
  options.limits = {.max_rows = 16, .max_sequences = 2, .block_size = 16, .kv_cache_bytes = 1U << 20U};
  options.threads = 1;
  return options;
}

std::vector<token_id> some_tokens_of(executor_place& place, std::size_t model) {
  const auto device = place.load(model, small());
  EXPECT_TRUE(device.has_value()) << device.error().message;
  EXPECT_TRUE((*device)->take_kv_cache({}).has_value());
  test::executor_driver driver(**device);
  const std::size_t sequence = driver.add({6, 7, 8}, test::greedy());
  driver.generate(sequence, 5);
  return driver.output(sequence);
}

TEST(executor_place, runs_each_model_the_same_here_and_in_a_process) {
  const test::temporary_file target(test::tiny_model({.seed = 1}));
  const test::temporary_file draft(test::tiny_model({.seed = 2}));
  executor_place here(std::nullopt);
  executor_place there(test_runner());
  for (executor_place* place : {&here, &there}) {
    ASSERT_TRUE(place->add_model(target.path()).has_value());
    ASSERT_TRUE(place->add_model(draft.path()).has_value());
    ASSERT_TRUE(place->begin().has_value());
  }
  EXPECT_EQ(here.process(), nullptr);
  const auto process = there.process();
  ASSERT_NE(process, nullptr);
  const auto device = there.load(0, small());
  EXPECT_EQ(some_tokens_of(there, 1), some_tokens_of(here, 1));
  EXPECT_EQ(some_tokens_of(there, 0), some_tokens_of(here, 0));
  EXPECT_EQ(there.process(), process);
}

TEST(executor_place, begins_no_process_with_a_file_that_has_been_written_to) {
  const test::temporary_file model(test::tiny_model({.seed = 1}));
  executor_place place(test_runner());
  ASSERT_TRUE(place.add_model(model.path()).has_value());
  ASSERT_TRUE(place.begin().has_value());
  std::fstream(model.path(), std::ios::in | std::ios::out | std::ios::binary)
      .seekp(-1, std::ios::end)
      .put('x');
  std::filesystem::last_write_time(model.path(), std::filesystem::file_time_type::clock::now());
  const auto begun = place.begin();
  ASSERT_FALSE(begun.has_value());
  EXPECT_NE(begun.error().message.find(model.path() + " has been written to"), std::string::npos)
      << begun.error().message;
}

TEST(executor_place, begins_a_process_with_a_file_whose_times_alone_are_others) {
  const test::temporary_file model(test::tiny_model({.seed = 1}));
  executor_place place(test_runner());
  ASSERT_TRUE(place.add_model(model.path()).has_value());
  std::filesystem::last_write_time(model.path(),
                                   std::filesystem::file_time_type::clock::now() + std::chrono::hours(1));
  const auto begun = place.begin();
  EXPECT_TRUE(begun.has_value()) << begun.error().message;
}

TEST(executor_place, reads_the_file_that_it_was_given_whatever_lies_there_later) {
  const test::temporary_file model(test::tiny_model({.seed = 1}));
  executor_place place(test_runner());
  ASSERT_TRUE(place.add_model(model.path()).has_value());
  ASSERT_TRUE(place.begin().has_value());
  const auto before = some_tokens_of(place, 0);
  std::filesystem::remove(model.path());
  std::ofstream(model.path()) << "something else";
  ASSERT_TRUE(place.begin().has_value());
  EXPECT_EQ(some_tokens_of(place, 0), before);
}

TEST(executor_place, names_the_file_that_is_not_there_or_no_model) {
  const test::temporary_file other("something else");
  for (const std::string& path : {std::string("no-such-file.gguf"), std::string(other.path())}) {
    executor_place here(std::nullopt);
    executor_place there(test_runner());
    const auto refused = there.add_model(path);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().message, here.add_model(path).error().message);
  }
}

TEST(executor_place, ends_a_process_before_the_next_and_counts_its_time) {
  const test::temporary_file model(test::tiny_model());
  executor_place place(test_runner());
  ASSERT_TRUE(place.add_model(model.path()).has_value());
  ASSERT_TRUE(place.begin().has_value());
  const auto first = place.process();
  const auto device = place.load(0, small());
  EXPECT_EQ(place.ended_cpu_seconds(), 0);
  EXPECT_FALSE(first->has_ended());
  ASSERT_TRUE(place.begin().has_value());
  EXPECT_TRUE(first->has_ended());
  EXPECT_NE(place.process(), first);
  EXPECT_EQ(place.ended_cpu_seconds(), first->cpu_seconds());
  EXPECT_GT(place.ended_cpu_seconds(), 0);
  EXPECT_THROW(static_cast<void>((*device)->take_kv_cache({})), device_lost);
}

}  // namespace
}  // namespace troupe
