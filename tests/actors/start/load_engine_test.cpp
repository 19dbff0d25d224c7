#include "actors/start/load_engine.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "actors/start/device_plan.hpp"
#include "runtime/executor/cpu/step_plan.hpp"
#include "tests/actors/start/load_engine_fixture.hpp"
#include "tests/support/paths.hpp"

namespace troupe {
namespace {

using LoadEngine = test::load_engine_test;

TEST_F(LoadEngine, AContextThatTheKvCacheHoldsIsKept) {
  const auto all = load_engine(options());
  ASSERT_TRUE(all) << all.error().message;
  engine_options some = options();
  some.max_model_len = 64;
  some.kv_cache_bytes = bytes_for(64);
  const auto loaded = load_engine(some);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->max_model_len, 64);
  EXPECT_GT(all->max_model_len, 64);
}

TEST_F(LoadEngine, AContextThatTheKvCacheDoesNotHoldIsRefusedWhereItWasAskedFor) {
  engine_options small = options();
  small.kv_cache_bytes = bytes_for(48);
  small.max_model_len = 64;
  const auto loaded = load_engine(small);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, error_code::invalid_argument);
  EXPECT_EQ(loaded.error().param, "max_model_len");
  for (const char* word : {"64", "48", "lower max_model_len", "raise kv_cache_memory", "(it is 0 MiB)"})
    EXPECT_NE(loaded.error().message.find(word), std::string::npos) << loaded.error().message;
}

TEST_F(LoadEngine, AContextThatTheKvCacheDoesNotHoldIsLoweredWhereItIsTheModels) {
  engine_options small = options();
  small.kv_cache_bytes = bytes_for(48);
  const auto loaded = load_engine(small);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->max_model_len, 48);
}

TEST_F(LoadEngine, MoreKvMemoryThanTheMachineHasIsRefused) {
  engine_options large = options();
  large.kv_cache_bytes = std::size_t{1} << 50U;
  const auto loaded = load_engine(large);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().param, "kv_cache_memory");
}

// A bucket that no machine holds, one that every machine does, and a decode.
TEST_F(LoadEngine, ABucketThatMemoryDoesNotHoldIsLeftOutAndTheStartGoesOn) {
  const test::temporary_file buckets("(1, 16777216, 0)\n(1, 32, 0)\n(2, 1, 4)\n");
  engine_options padded = options();
  padded.bucketing.from_file = buckets.path();
  padded.pad_to_buckets = true;
  const auto loaded = load_engine(padded);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->steps.buckets.prompt, (std::vector<bucket>{{1, 32, 0}}));
  EXPECT_EQ(loaded->steps.buckets.decode, (std::vector<bucket>{{2, 1, 4}}));
  EXPECT_GE(loaded->steps.padded.rows, 64 + 4);
  EXPECT_LT(loaded->steps.padded.rows, 1 << 20);
}

TEST_F(LoadEngine, ABucketThatNoStepIsPaddedToIsLeftInPlace) {
  const test::temporary_file buckets("(1, 16777216, 0)\n(1, 32, 0)\n");
  engine_options unpadded = options();
  unpadded.bucketing.from_file = buckets.path();
  const auto loaded = load_engine(unpadded);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->steps.buckets.prompt.size(), 2U);
}

TEST_F(LoadEngine, GoesThroughItsPhasesInOrder) {
  std::vector<std::string> phases;
  engine_options watched = options();
  watched.on_phase = [&](const std::string& phase) { phases.push_back(phase); };
  ASSERT_TRUE(load_engine(watched));
  EXPECT_EQ(phases, (std::vector<std::string>{"device check", "weights", "profiling"}));
}

TEST_F(LoadEngine, ATypeThatTheCpuDoesNotComputeInIsRefusedBeforeTheModelIsRead) {
  engine_options other = options();
  other.model_path = "/nowhere";
  other.dtype = "bfloat16";
  const auto loaded = load_engine(other);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().param, "dtype");
}

TEST_F(LoadEngine, TunesAllButWhatAnEarlierStartHasLeft) {
  const auto folder = std::filesystem::temp_directory_path() / ("troupe_load_" + std::to_string(::getpid()));
  engine_options kept = options();
  EXPECT_FALSE(load_engine(kept)->steps.tune);
  kept.tune = true;
  EXPECT_TRUE(load_engine(kept)->steps.tune);
  kept.tuning_folder = folder;
  const auto first = load_engine(kept);
  EXPECT_TRUE(first->steps.tune);
  EXPECT_EQ(first->steps.tuning_file.parent_path(), folder);
  ASSERT_TRUE(write_tuning_file(first->steps.tuning_file, first->steps.tuned_for, {{4, {2}}, {64, {8}}}));
  const auto second = load_engine(kept);
  EXPECT_EQ(second->steps.tuned, (std::set<std::int32_t>{4, 64}));
  EXPECT_EQ(second->device->plans()->of(4).items_per_member, 2);
  EXPECT_EQ(second->device->plans()->of(5).items_per_member, 8);
  std::ofstream(first->steps.tuning_file) << "damaged";
  const auto third = load_engine(kept);
  EXPECT_TRUE(third->steps.tuned.empty());
  EXPECT_EQ(third->device->plans()->of(4), step_plan{});
  kept.threads = 2;
  EXPECT_NE(load_engine(kept)->steps.tuning_file, first->steps.tuning_file) << "another number of threads";
  std::filesystem::remove_all(folder);
}

TEST_F(LoadEngine, ADeviceComesBackThoughOthersHaveTakenMemoryMeanwhile) {
  device_plan plan;
  plan.place = std::make_shared<executor_place>(std::nullopt);
  ASSERT_TRUE(plan.place->add_model(file.path()));
  plan.options = options();
  plan.target.max_model_len = 64;
  plan.cpu.threads = 1;
  plan.cpu.limits = {.max_rows = 64, .max_sequences = 4, .kv_cache_bytes = plan.options.kv_cache_bytes};
  plan.cpu.available = []() -> result<std::uint64_t> { return std::uint64_t{2} << 20U; };
  const auto back = reopen(plan, false);
  ASSERT_TRUE(back) << back.error().message;
  const kv_layout layout = back->target->layout();
  EXPECT_GT(static_cast<std::size_t>(layout.num_blocks + 1) * layout.bytes_per_block, std::size_t{4} << 20U);
}

struct LoadEngineInAProcess : LoadEngine {
  // As it opens its device, until so many have ended.
  engine_options whose_process_ends(int times) {
    engine_options out = options();
    out.isolation = runner_program{test::runner_program_path(),
                                   {"runner", "dies:" + std::to_string(times) + ":" + ends.path()}};
    out.pauses_at_start = {std::chrono::milliseconds(1), std::chrono::milliseconds(1)};
    out.on_phase = [this](const std::string& phase) { phases.push_back(phase); };
    return out;
  }
  std::uintmax_t count() const { return std::filesystem::file_size(ends.path()); }

  test::temporary_file ends{""};
  std::vector<std::string> phases;
};

TEST_F(LoadEngineInAProcess, AProcessThatEndsAsItOpensItsDeviceIsFollowedByAnother) {
  const auto loaded = load_engine(whose_process_ends(2));
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(count(), 2);
  EXPECT_FALSE(loaded->process->has_ended());
  EXPECT_TRUE(loaded->open_device(true).has_value());
  EXPECT_EQ(phases, (std::vector<std::string>{"device check", "weights", "profiling"}));
}

TEST_F(LoadEngineInAProcess, ProcessesThatEndAgainAndAgainAreGivenUp) {
  const auto loaded = load_engine(whose_process_ends(1000));
  ASSERT_FALSE(loaded);
  EXPECT_EQ(count(), 6) << "as often as the company would start it again, and once";
  EXPECT_EQ(loaded.error().code, error_code::internal);
  EXPECT_EQ(loaded.error().message,
            "the runner process has ended 6 times in a row before its device was open, the last time by "
            "signal 9 (Killed)");
}

// A main() that goes its own way.
TEST_F(LoadEngineInAProcess, AProgramThatRunsNoModelIsToldWhatItsMainMustDo) {
  engine_options with = options();
  with.isolation = runner_program{"/bin/false", {"false"}};
  with.pauses_at_start = {std::chrono::milliseconds(1), std::chrono::milliseconds(1)};
  const auto loaded = load_engine(with);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().message,
            "the runner process has ended 6 times in a row before its device was open, the last time by "
            "exit code 1 (is it a runner? A program that embeds the company begins with "
            "run_if_runner_process())");
}

struct LoadEngineInAProcessThatStops : LoadEngineInAProcess {
  // As it opens its device, until so many have been killed.
  engine_options whose_process_stops(int times) {
    engine_options out = whose_process_ends(0);
    out.isolation->arguments = {"runner", "stops:" + std::to_string(times) + ":" + ends.path()};
    out.patience_at_start = std::chrono::milliseconds(400);
    out.on_stall = [this](const std::optional<std::string>& why) { stalls.push_back(why); };
    out.on_hang = [](const std::string& why) { ADD_FAILURE() << why; };
    return out;
  }
  std::vector<std::optional<std::string>> stalls;
};

TEST_F(LoadEngineInAProcessThatStops, IsToldAndKilledAndFollowedByAnother) {
  const auto loaded = load_engine(whose_process_stops(1));
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(count(), 1);
  EXPECT_FALSE(loaded->process->has_ended());
  ASSERT_FALSE(stalls.empty());
  ASSERT_TRUE(stalls[0].has_value());
  EXPECT_TRUE(stalls[0]->starts_with("the runner process ")) << *stalls[0];
  EXPECT_NE(stalls[0]->find(", which opens its device, has got nowhere for 0.2"), std::string::npos);
}

TEST_F(LoadEngineInAProcessThatStops, IsGivenUpTheSecondTime) {
  const auto loaded = load_engine(whose_process_stops(1000));
  ASSERT_FALSE(loaded);
  EXPECT_EQ(count(), 2) << "another one would take as long again";
  EXPECT_EQ(loaded.error().code, error_code::internal);
  EXPECT_EQ(loaded.error().message,
            "the runner process has ended 2 times in a row before its device was open, the last time by a "
            "kill, since it had got nowhere for 0.4 s");
}

TEST_F(LoadEngineInAProcess, WhatTheDeviceRefusesIsNotTriedAgain) {
  engine_options refused = whose_process_ends(0);
  refused.kv_cache_bytes = 1;
  const auto loaded = load_engine(refused);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().message, load_engine([&] {
                                      engine_options here = refused;
                                      here.isolation.reset();
                                      return here;
                                    }())
                                        .error()
                                        .message);
}

}  // namespace
}  // namespace troupe
