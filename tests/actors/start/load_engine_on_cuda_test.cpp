// Engines on a CUDA device: what it is asked for, whatever computes in its place.
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/drafting/draft_model.hpp"
#include "runtime/executor/forwarding_executor.hpp"
#include "runtime/isolation/process_work.hpp"
#include "tests/actors/start/load_engine_fixture.hpp"

namespace troupe {
namespace {

using LoadEngineOnCuda = test::load_engine_on_cuda_test;

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
  engine_options options = on_cuda();
  options.most_guesses = 4;
  const auto loaded = load_engine(options);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(asked.choice.device_id, 2);
  EXPECT_EQ(asked.options.limits.samples_of_sequence, 5);
  EXPECT_EQ(asked.choice.graph_rows.front(), 1);
  EXPECT_EQ(asked.choice.graph_rows.back(), 4) << "the batch sizes of the decode buckets";
  const auto first = asked;
  ASSERT_TRUE(loaded->open_device(true).has_value());
  EXPECT_EQ(asked.times, 2);
  EXPECT_EQ(asked.choice.graph_rows, first.choice.graph_rows);
  EXPECT_EQ(asked.options.limits.samples_of_sequence, 5);
  EXPECT_EQ(asked.options.limits.max_model_len, first.options.limits.max_model_len);
}

// Tells what is asked of every executor that is opened, in order.
struct LoadEngineOnWatchedCuda : LoadEngineOnCuda {
  struct watched_call {
    std::string name;
    std::int32_t executor = 0;  // in the order in which they were opened
    kv_cache_claim claim = {};
  };
  class watching final : public forwarding_executor {
   public:
    watching(std::unique_ptr<executor> inner, std::int32_t number, LoadEngineOnWatchedCuda& of)
        : forwarding_executor(std::move(inner)), number_(number), of_(of) {}
    result<memory_profile> profile() override {
      of_.calls.push_back({"profile", number_});
      if (of_.fails_beside && number_ == 3 && ++of_.profiled_third == 1)
        return fail(error_code::resource_exhausted, "no room for a step");
      return forwarding_executor::profile();
    }
    std::string choices() const override { return "chosen by " + std::to_string(number_); }
    void use_choices(const std::string& choices) override {
      if (!choices.empty()) of_.calls.push_back({choices + ",", number_});
    }
    result<void> take_kv_cache(const kv_cache_claim& claim) override {
      of_.calls.push_back({"take", number_, claim});
      if (claim.bytes_beside > 0 && !of_.has_room_beside)
        return fail(error_code::resource_exhausted, "no room beside");
      return forwarding_executor::take_kv_cache(claim);
    }

   private:
    std::int32_t number_;
    LoadEngineOnWatchedCuda& of_;
  };
  engine_options on_watched_cuda() {
    engine_options out = on_cuda();
    out.cuda_devices.open = [this, open = out.cuda_devices.open](
                                const auto& model, const auto& options,
                                const auto& choice) -> result<std::unique_ptr<executor>> {
      auto opened = open(model, options, choice);
      if (!opened || fails_from <= asked.times) return fail(error_code::unavailable, "off the bus");
      return std::make_unique<watching>(std::move(*opened), asked.times, *this);
    };
    return out;
  }
  engine_options drafting() {
    engine_options out = on_watched_cuda();
    out.draft.emplace();
    out.draft->method = speculative_method::draft_model;
    out.draft->model = file.path();
    return out;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const watched_call& each : calls) out.push_back(each.name + " " + std::to_string(each.executor));
    return out;
  }
  int fails_from = 100;         // the executor that is opened as this one and those after it
  bool has_room_beside = true;  // for another model's cache
  bool fails_beside = false;    // the third one's first profile()
  int profiled_third = 0;
  std::vector<watched_call> calls;
};

// What it multiplies with is chosen while it is profiled: those that follow are to compute as the first one.
TEST_F(LoadEngineOnWatchedCuda, EveryDeviceIsProfiledBeforeItTakesItsMemory) {
  const auto loaded = load_engine(on_watched_cuda());
  ASSERT_TRUE(loaded) << loaded.error().message;
  ASSERT_TRUE(loaded->open_device(true).has_value());
  ASSERT_TRUE(loaded->open_device(true).has_value());
  EXPECT_EQ(names(), (std::vector<std::string>{"profile 1", "take 1",                    //
                                               "chosen by 1, 2", "profile 2", "take 2",  //
                                               "chosen by 1, 3", "profile 3", "take 3"}));
  const std::int32_t first_blocks = loaded->device->layout().num_blocks;
  for (const watched_call& each : calls) {
    EXPECT_EQ(each.claim.bytes_beside, 0U);
    const bool is_later = each.name == "take" && each.executor > 1;
    EXPECT_EQ(each.claim.most_blocks, is_later ? first_blocks : 0) << "the KV cache stays as large as it was";
  }
}

TEST_F(LoadEngineOnWatchedCuda, ADraftModelIsThereTooBeforeTheModelTakesTheMemoryThatIsLeft) {
  const auto loaded = load_engine(drafting());
  ASSERT_TRUE(loaded) << loaded.error().message;
  ASSERT_TRUE(loaded->draft);
  const auto again = loaded->open_device(true);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->draft);
  EXPECT_EQ(names(),
            (std::vector<std::string>{"profile 2", "profile 1", "take 1", "take 2",                  //
                                      "chosen by 2, 4", "profile 4", "chosen by 1, 3", "profile 3",  //
                                      "take 3", "take 4"}));
  const kv_layout layout = loaded->device->layout();
  for (const watched_call& each : calls) {
    if (each.name != "take") continue;
    const bool is_draft = each.executor % 2 == 0;
    EXPECT_EQ(each.claim.num_blocks, is_draft ? layout.num_blocks : 0);
    EXPECT_EQ(each.claim.bytes_beside, is_draft ? 0 : loaded->draft->layout().bytes_per_block);
  }
  EXPECT_EQ(loaded->draft->layout().num_blocks, layout.num_blocks);
}

TEST_F(LoadEngineOnWatchedCuda, ADraftModelThatDoesNotOpenAgainLeavesTheModelAllTheMemory) {
  const auto loaded = load_engine(drafting());
  ASSERT_TRUE(loaded) << loaded.error().message;
  fails_from = 4;
  const auto again = loaded->open_device(true);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_FALSE(again->draft);
  EXPECT_EQ(calls.back().name, "take");
  EXPECT_EQ(calls.back().executor, 3);
  EXPECT_EQ(calls.back().claim.bytes_beside, 0U);
  EXPECT_EQ(calls.back().claim.most_blocks, 0);
  fails_from = 2;
  asked.times = 0;
  EXPECT_EQ(load_engine(drafting()).error().param, "speculative_config") << "at the start it is an error";
}

TEST_F(LoadEngineOnWatchedCuda, NoDraftModelIsOpenedAgainWhereNoneIsWanted) {
  const auto loaded = load_engine(drafting());
  ASSERT_TRUE(loaded) << loaded.error().message;
  const auto again = loaded->open_device(false);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_FALSE(again->draft);
  EXPECT_EQ(asked.times, 3);
  EXPECT_EQ(calls.back().claim.bytes_beside, 0U);
}

TEST_F(LoadEngineOnWatchedCuda, ADraftModelThatThereIsNoRoomBesideLeavesTheModelAllTheMemory) {
  const auto loaded = load_engine(drafting());
  ASSERT_TRUE(loaded) << loaded.error().message;
  for (const bool is_for_steps : {false, true}) {
    asked.times = 2;
    fails_beside = is_for_steps;
    has_room_beside = is_for_steps;
    const auto again = loaded->open_device(true);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_FALSE(again->draft);
    EXPECT_EQ(names().back(), "take 3");
    EXPECT_EQ(calls.back().claim.bytes_beside, 0U);
  }
}

// What the options say of the device is not the CPU's.
TEST_F(LoadEngineOnWatchedCuda, OnTheCpuThatTakesItsPlaceThereIsADraftModelToo) {
  engine_options lost = drafting();
  lost.kernel_path = "reference";
  lost.dtype = "bfloat16";
  lost.kv_cache_dtype = "fp8";
  lost.cpu_after_device_loss = true;
  const auto loaded = load_engine(lost);
  ASSERT_TRUE(loaded) << loaded.error().message;
  ASSERT_TRUE(loaded->open_last_resort);
  const auto other = loaded->open_last_resort(true);
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_EQ(other->target->kernel_path(), "reference");
  ASSERT_TRUE(other->draft);
  EXPECT_EQ(other->draft->layout().num_blocks, other->target->layout().num_blocks);
  EXPECT_EQ(asked.times, 2);
}

// The host would have to verify its drafts: only where that is asked for.
TEST_F(LoadEngineOnWatchedCuda, DraftsAreVerifiedByChanceWhereThatIsAskedForAlone) {
  const auto is_by_chance = [](const engine_options& options) {
    const auto loaded = load_engine(options);
    const std::vector<token_id> prompt = {5, 6, 7};
    loaded->draft->open(1, prompt, {.is_seeded = false, .ignore_eos = true});
    const std::vector<request_id> ids = {1};
    for (token_id next = 8; next < 20; ++next) {
      loaded->draft->append(1, std::span(&next, 1));
      for (const draft& each : loaded->draft->propose(ids)) return each.number != 0;
    }
    ADD_FAILURE() << "no draft";
    return false;
  };
  engine_options wanted = drafting();
  wanted.draft->adaptive = false;
  EXPECT_FALSE(is_by_chance(wanted));
  wanted.draft->rejection_sample_method = rejection_method::probabilistic;
  EXPECT_TRUE(is_by_chance(wanted));
}

TEST_F(LoadEngineOnCuda, TheStepsThatAreCapturedAreTold) {
  engine_options short_blocks = on_cuda();
  short_blocks.max_num_seqs = 3;
  const auto loaded = load_engine(short_blocks);
  ASSERT_TRUE(loaded) << loaded.error().message;
  ASSERT_FALSE(loaded->steps.graphs.empty());
  EXPECT_EQ(loaded->steps.graphs.back(), *std::ranges::lower_bound(asked.choice.graph_rows, 3));
  EXPECT_TRUE(load_engine(options())->steps.graphs.empty()) << "on the CPU";
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
  EXPECT_FALSE(loaded->open_device(true).has_value());
  ASSERT_TRUE(loaded->open_last_resort);
  const auto other = loaded->open_last_resort(true);
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_EQ(other->target->kernel_path(), "reference");
  const kv_layout layout = other->target->layout();
  EXPECT_GE(layout.num_blocks * layout.block_size, loaded->max_model_len);
  EXPECT_LT(layout.num_blocks * layout.block_size, loaded->max_model_len + 2 * layout.block_size);
  EXPECT_TRUE(loaded->open_last_resort(true).has_value()) << "that one may end, too";
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
}

// The next runner's cache may be smaller, and this one may shrink by a quarter.
TEST_F(LoadEngineOnCuda, AContextThatNobodyAskedForLeavesAQuarterOfTheCache) {
  const test::temporary_file longer(test::tiny_model({.context_length = 6000}));
  engine_options options = on_cuda();
  options.model_path = longer.path();
  options.cpu_after_device_loss = true;
  options.kernel_path = "reference";
  options.kv_cache_bytes = 1;
  std::int32_t blocks = 200;
  options.cuda_devices.open = [&](const auto& model, const auto& asked_for, const auto&) {
    cpu_executor_options cpu = asked_for;
    cpu.kernel_path = cpu.dtype = cpu.kv_cache_dtype = "auto";
    cpu.memory_utilization = 0;
    cpu.limits.kv_cache_bytes = std::size_t{4} << 20U;
    const std::size_t bytes_per_block = (*load_cpu_executor(model, cpu))->layout().bytes_per_block;
    cpu.limits.kv_cache_bytes = static_cast<std::size_t>(blocks) * bytes_per_block;
    return load_cpu_executor(model, cpu);
  };
  const auto loaded = load_engine(options);
  ASSERT_TRUE(loaded) << loaded.error().message;
  const std::int32_t block_size = loaded->device->layout().block_size;
  EXPECT_EQ(loaded->max_model_len, 150 * block_size);
  blocks = 150;
  EXPECT_TRUE(loaded->open_device(true).has_value());
  const auto last_resort = loaded->open_last_resort(true);
  ASSERT_TRUE(last_resort) << last_resort.error().message;
  EXPECT_EQ(last_resort->target->layout().num_blocks, 150) << "room for what is served";
  blocks = 200;
  options.max_model_len = 200 * block_size;
  const auto asked_for = load_engine(options);
  ASSERT_TRUE(asked_for) << asked_for.error().message;
  EXPECT_EQ(asked_for->max_model_len, 200 * block_size);
}

TEST_F(LoadEngineOnCuda, AContextThatNobodyAskedForIsTheModels) {
  const test::temporary_file longer(test::tiny_model({.context_length = 6000}));
  engine_options options = on_cuda();
  options.model_path = longer.path();
  ASSERT_TRUE(load_engine(options).has_value());
  EXPECT_EQ(asked.options.limits.max_model_len, 6000);
  options.max_model_len = 5000;
  ASSERT_TRUE(load_engine(options).has_value());
  EXPECT_EQ(asked.options.limits.max_model_len, 5000);
}

}  // namespace
}  // namespace troupe
