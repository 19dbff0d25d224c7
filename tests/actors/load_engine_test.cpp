#include "actors/load_engine.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "runtime/executor/forwarding_executor.hpp"
#include "runtime/executor/step_plan.hpp"
#include "tests/support/gguf_writer.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/tiny_model.hpp"

namespace troupe {
namespace {

struct LoadEngine : testing::Test {
  engine_options options() const {
    engine_options out;
    out.model_path = file.path();
    out.max_num_seqs = 4;
    out.max_num_batched_tokens = 64;
    out.kv_cache_bytes = std::size_t{4} << 20U;
    out.threads = 1;
    return out;
  }
  // Whole KV memory for `tokens` tokens.
  std::size_t bytes_for(std::int32_t tokens) const {
    const auto loaded = load_engine(options());
    const kv_layout layout = loaded->device->layout();
    return static_cast<std::size_t>(tokens / layout.block_size) * layout.bytes_per_block;
  }

  test::temporary_file file{test::tiny_model()};
};

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
  EXPECT_EQ(loaded->buckets.prompt, (std::vector<bucket>{{1, 32, 0}}));
  EXPECT_EQ(loaded->buckets.decode, (std::vector<bucket>{{2, 1, 4}}));
  EXPECT_GE(loaded->padded.rows, 64 + 4);
  EXPECT_LT(loaded->padded.rows, 1 << 20);
}

TEST_F(LoadEngine, ABucketThatNoStepIsPaddedToIsLeftInPlace) {
  const test::temporary_file buckets("(1, 16777216, 0)\n(1, 32, 0)\n");
  engine_options unpadded = options();
  unpadded.bucketing.from_file = buckets.path();
  const auto loaded = load_engine(unpadded);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->buckets.prompt.size(), 2U);
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
  EXPECT_FALSE(load_engine(kept)->tune);
  kept.tune = true;
  EXPECT_TRUE(load_engine(kept)->tune);
  kept.tuning_folder = folder;
  const auto first = load_engine(kept);
  EXPECT_TRUE(first->tune);
  EXPECT_EQ(first->tuning_file.parent_path(), folder);
  ASSERT_TRUE(write_tuning_file(first->tuning_file, first->tuned_for, {{4, {2}}, {64, {8}}}));
  const auto second = load_engine(kept);
  EXPECT_EQ(second->tuned, (std::set<std::int32_t>{4, 64}));
  EXPECT_EQ(second->device->plans()->of(4).items_per_member, 2);
  EXPECT_EQ(second->device->plans()->of(5).items_per_member, 8);
  std::ofstream(first->tuning_file) << "damaged";
  const auto third = load_engine(kept);
  EXPECT_TRUE(third->tuned.empty());
  EXPECT_EQ(third->device->plans()->of(4), step_plan{});
  kept.threads = 2;
  EXPECT_NE(load_engine(kept)->tuning_file, first->tuning_file) << "another number of threads";
  std::filesystem::remove_all(folder);
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
  EXPECT_TRUE(loaded->open_device().has_value());
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

struct LoadEngineOnCuda : LoadEngine {
  // The CPU in its place; `asked` is what was asked for.
  struct request {
    cpu_executor_options options;
    cuda_choice choice;
    int times = 0;
  };
  engine_options on_cuda() {
    engine_options out = options();
    out.kernel_path = "no such path";  // of the CPU: not looked at
    out.cuda = cuda_choice{.device_id = 2, .memory_utilization = 0.5};
    out.cuda_devices.find = [](std::int32_t id) -> result<std::string> {
      if (id != 2) return fail(error_code::unavailable, "no such device", "device_id");
      return std::string("a device");
    };
    out.cuda_devices.open = [this](const model_ptr& model, const cpu_executor_options& options,
                                   const cuda_choice& choice) {
      asked = {options, choice, asked.times + 1};
      cpu_executor_options cpu = options;
      cpu.kernel_path = "auto";
      cpu.memory_utilization = 0;
      cpu.limits.kv_cache_bytes = std::size_t{4} << 20U;
      return load_cpu_executor(model, cpu);
    };
    return out;
  }
  request asked;
};

// Nobody can end it here.
TEST_F(LoadEngineOnCuda, ADeviceThatHangsInThisProcessIsToldOnce) {
  engine_options hanging = on_cuda();
  std::promise<std::string> told;
  std::vector<std::optional<std::string>> stalls;
  hanging.patience_at_start = std::chrono::milliseconds(200);
  hanging.on_stall = [&](const std::optional<std::string>& why) { stalls.push_back(why); };
  hanging.on_hang = [&](const std::string& why) { told.set_value(why); };
  hanging.cuda_devices.open = [&](const model_ptr&, const cpu_executor_options&,
                                  const cuda_choice&) -> result<std::unique_ptr<executor>> {
    const std::string why = told.get_future().get();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return fail(error_code::unavailable, why);
  };
  const auto loaded = load_engine(hanging);
  ASSERT_FALSE(loaded);
  EXPECT_TRUE(
      loaded.error().message.starts_with("the service, which loads the model, has got nowhere for 0.2"))
      << loaded.error().message;
  ASSERT_EQ(stalls.size(), 1U) << "a start that fails has not got on";
  EXPECT_TRUE(stalls[0].has_value());
}

// As a server that answers probes all the while.
TEST_F(LoadEngineOnCuda, WhatOthersComputeMeanwhileIsNoProgress) {
  std::atomic<bool> is_over = false;
  std::thread beside([&is_over] {
    while (!is_over) std::this_thread::yield();
  });
  clockid_t clock{};
  EXPECT_EQ(pthread_getcpuclockid(beside.native_handle(), &clock), 0);
  engine_options hanging = on_cuda();
  std::promise<std::string> told;
  hanging.patience_at_start = std::chrono::seconds(1);
  hanging.on_hang = [&](const std::string& why) { told.set_value(why); };
  hanging.cpu_seconds_beside = [clock] { return cpu_seconds_on(clock).value_or(0); };
  hanging.cuda_devices.open = [&](const model_ptr&, const cpu_executor_options&,
                                  const cuda_choice&) -> result<std::unique_ptr<executor>> {
    return fail(error_code::unavailable, told.get_future().get());
  };
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_FALSE(load_engine(hanging).has_value());
  const auto took = std::chrono::steady_clock::now() - begun;
  is_over = true;
  beside.join();
  EXPECT_LT(took, 5 * hanging.patience_at_start) << "who computes hangs later";
}

TEST_F(LoadEngineOnCuda, TheChosenDeviceIsOpenedAndOpenedAnewWithTheSameWishes) {
  const auto loaded = load_engine(on_cuda());
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(asked.choice.device_id, 2);
  EXPECT_EQ(asked.choice.graph_rows.front(), 1);
  EXPECT_EQ(asked.choice.graph_rows.back(), 4) << "the batch sizes of the decode buckets";
  const auto first = asked;
  ASSERT_TRUE(loaded->open_device().has_value());
  EXPECT_EQ(asked.times, 2);
  EXPECT_EQ(asked.choice.graph_rows, first.choice.graph_rows);
  EXPECT_EQ(asked.options.limits.max_model_len, first.options.limits.max_model_len);
}

// What it multiplies with is chosen while it is profiled: the next one is to compute as this one.
TEST_F(LoadEngineOnCuda, EveryDeviceIsProfiledBeforeItTakesItsMemory) {
  struct watching final : forwarding_executor {
    watching(std::unique_ptr<executor> inner, std::vector<std::string>& calls)
        : forwarding_executor(std::move(inner)), calls_(calls) {}
    result<memory_profile> profile() override {
      calls_.emplace_back("profile");
      return forwarding_executor::profile();
    }
    result<void> take_kv_cache() override {
      calls_.emplace_back("take");
      return forwarding_executor::take_kv_cache();
    }
    std::vector<std::string>& calls_;
  };
  std::vector<std::string> calls;
  engine_options watched = on_cuda();
  watched.cuda_devices.open = [&, open = watched.cuda_devices.open](
                                  const auto& model, const auto& options,
                                  const auto& choice) -> result<std::unique_ptr<executor>> {
    auto opened = open(model, options, choice);
    if (!opened) return opened;
    return std::make_unique<watching>(std::move(*opened), calls);
  };
  const auto loaded = load_engine(watched);
  ASSERT_TRUE(loaded) << loaded.error().message;
  ASSERT_TRUE(loaded->open_device().has_value());
  EXPECT_EQ(calls, (std::vector<std::string>{"profile", "take", "profile", "take"}));
}

TEST_F(LoadEngineOnCuda, TheStepsThatAreCapturedAreTold) {
  engine_options short_blocks = on_cuda();
  short_blocks.max_num_seqs = 3;
  const auto loaded = load_engine(short_blocks);
  ASSERT_TRUE(loaded) << loaded.error().message;
  ASSERT_FALSE(loaded->graphs.empty());
  std::set<std::int32_t> batches;
  for (const bucket& each : loaded->graphs) batches.insert(each.batch);
  EXPECT_EQ(*batches.rbegin(), *std::ranges::lower_bound(asked.choice.graph_rows, 3));
  EXPECT_TRUE(load_engine(options())->graphs.empty()) << "on the CPU";
}

TEST_F(LoadEngineOnCuda, TheCpuTakesItsPlaceWhereThatIsWanted) {
  engine_options lost = on_cuda();
  lost.kernel_path = "reference";
  lost.kv_cache_dtype = "bf16";
  lost.kv_cache_bytes = 1;  // for one context there is room all the same
  lost.cpu_after_device_loss = true;
  lost.cuda_devices.open = [this, open = lost.cuda_devices.open](const auto& model, const auto& options,
                                                                 const auto& choice) {
    cpu_executor_options cpu = options;
    cpu.kv_cache_dtype = "auto";
    auto opened = open(model, cpu, choice);
    return asked.times == 1 ? std::move(opened) : fail(error_code::unavailable, "off the bus");
  };
  const auto loaded = load_engine(lost);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_FALSE(loaded->open_device().has_value());
  ASSERT_TRUE(loaded->open_last_resort);
  const auto other = loaded->open_last_resort();
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_EQ(other->target->kernel_path(), "reference");
  const kv_layout layout = other->target->layout();
  EXPECT_GE(layout.num_blocks * layout.block_size, loaded->max_model_len);
  EXPECT_LT(layout.num_blocks * layout.block_size, loaded->max_model_len + 2 * layout.block_size);
  EXPECT_TRUE(loaded->open_last_resort().has_value()) << "that one may end, too";
  EXPECT_EQ(asked.times, 2);
}

TEST_F(LoadEngineOnCuda, ACpuThatCouldNotTakeItsPlaceIsToldAtTheStart) {
  engine_options other = on_cuda();
  EXPECT_FALSE(load_engine(other)->open_last_resort);
  other.cpu_after_device_loss = true;
  EXPECT_EQ(load_engine(other).error().param, "kernel_path");
}

TEST_F(LoadEngineOnCuda, GraphsAreLeftOutWhereNobodyWantsThem) {
  engine_options eager = on_cuda();
  eager.cuda->graphs = false;
  ASSERT_TRUE(load_engine(eager).has_value());
  EXPECT_TRUE(asked.choice.graph_rows.empty());
}

TEST_F(LoadEngineOnCuda, AProgramWithoutCudaAndADeviceThatIsNotThereAreToldApart) {
  engine_options without = on_cuda();
  without.cuda_devices = {};
  EXPECT_EQ(load_engine(without).error().param, "device");
  engine_options other = on_cuda();
  other.cuda->device_id = 1;
  EXPECT_EQ(load_engine(other).error().param, "device_id");
  engine_options drafting = on_cuda();
  drafting.draft.emplace();
  EXPECT_EQ(load_engine(drafting).error().param, "speculative_config");
}

TEST_F(LoadEngineOnCuda, AContextThatNobodyAskedForIsAtMostTheUsualOne) {
  const test::temporary_file longer(test::tiny_model({.context_length = 6000}));
  engine_options usual = on_cuda();
  usual.model_path = longer.path();
  ASSERT_TRUE(load_engine(usual).has_value());
  EXPECT_EQ(asked.options.limits.max_model_len, 4096);
  usual.max_model_len = 5000;
  ASSERT_TRUE(load_engine(usual).has_value());
  EXPECT_EQ(asked.options.limits.max_model_len, 5000);
}

}  // namespace
}  // namespace troupe
