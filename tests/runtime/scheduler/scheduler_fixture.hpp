// The scheduler with its cache, driven step by step; every sampled token is what the test says.
#pragma once
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/kv_cache/kv_cache_manager.hpp"
#include "runtime/scheduler/scheduler.hpp"

namespace troupe {

struct request_options {
  std::optional<std::int32_t> max_tokens = 100;
  std::string_view max_tokens_field = "max_tokens";
  std::int32_t min_tokens = 0;
  bool ignore_eos = false;
  std::vector<token_id> stop_token_ids = {};
  std::optional<std::int32_t> prompt_logprobs = {};
  float frequency_penalty = 0.0F;
  std::optional<steady_time> deadline = {};
  std::optional<steady_time> queue_deadline = {};
  std::int32_t priority = 0;
  std::optional<request_id> fork_of = {};
  std::optional<request_id> joins = {};
};

inline engine_request make_request(request_id id, std::size_t prompt, request_options options = {}) {
  const sampling_params params{.max_tokens = options.max_tokens,
                               .max_tokens_field = options.max_tokens_field,
                               .min_tokens = options.min_tokens,
                               .frequency_penalty = options.frequency_penalty,
                               .stop_token_ids = options.stop_token_ids,
                               .ignore_eos = options.ignore_eos,
                               .prompt_logprobs = options.prompt_logprobs};
  return {.id = id,
          .prompt = std::vector<token_id>(prompt, 7),
          .sampling = std::make_shared<const sampling_params>(params),
          .deadline = options.deadline,
          .queue_deadline = options.queue_deadline,
          .priority = options.priority,
          .tenant = {},
          .cache_salt = {},
          .fork_of = options.fork_of,
          .joins = options.joins};
}

// The scheduler with its cache.
class scheduler_test : public ::testing::Test {
 protected:
  scheduler_test() { set_up({}); }

  void set_up(scheduler_limits limits) {
    limits.max_model_len = limits.max_model_len > 0 ? limits.max_model_len : 1000;
    limits.num_blocks = limits.num_blocks > 0 ? limits.num_blocks : 1000;
    limits.end_tokens = {0};
    tested = std::make_unique<scheduler>(limits);
    cache = std::make_unique<kv_cache_manager>(
        kv_cache_options{limits.num_blocks, limits.block_size, limits.enable_prefix_caching});
  }

  void submit(engine_request request) {
    const engine_request known = request;
    const auto accepted = tested->submit(std::move(request));
    ASSERT_TRUE(accepted) << accepted.error().message;
    cache->add_request(known);
  }

  void give_back(const std::vector<block_release>& releases) { cache->give_back(releases); }

  scheduler_output commit(const step_result& result) {
    scheduler_output output;
    tested->commit(result, output);
    return output;
  }

  step_batch_ptr dispatch() {
    auto demand = tested->plan();
    for (int rounds = 0; demand && rounds < 100; ++rounds) {
      const resolved_step resolved = tested->resolve(cache->reserve_step(*demand));
      give_back(resolved.releases);
      if (resolved.batch) return resolved.batch;
      demand = resolved.demand;
    }
    return nullptr;
  }

  // The same token for every sample.
  static step_result sampled(const step_batch& batch, token_id token = 9) {
    step_result result;
    result.step = batch.step;
    for (const sample_row& row : batch.samples) {
      result.tokens.push_back({batch.sequences[static_cast<std::size_t>(row.sequence)].id, token});
    }
    result.prompt_logprobs.resize(batch.prompt_logprobs.size());
    return result;
  }

  token_batch complete(const step_batch& batch, token_id token = 9) {
    return complete(sampled(batch, token));
  }

  token_batch complete(const step_result& result) {
    const scheduler_output output = commit(result);
    cache->commit_step(result.step);
    cache->append_tokens(output.appends, output.appended);
    for (const block_trim& given : output.trims) cache->trim(given);
    cache->index_blocks();
    give_back(output.releases);
    return output.events;
  }

  token_batch lose_device(blame whose) {
    const scheduler_output output = tested->device_lost(whose);
    cache->lose_storage(tested->last_step());
    give_back(output.releases);
    return output.events;
  }

  // For the oldest step. False: it cannot be smaller.
  bool lack_memory() {
    if (!tested->lacks_memory()) return false;
    cache->lose_steps(tested->last_step());
    return true;
  }

  step_batch_ptr dispatch_and_complete() {
    step_batch_ptr batch = dispatch();
    if (batch) complete(*batch);
    // Copied: the scheduler uses a batch again once it is committed.
    return batch ? std::make_shared<const step_batch>(*batch) : nullptr;
  }

  token_batch step(token_id token = 9) {
    const auto batch = dispatch();
    return batch ? complete(*batch, token) : token_batch{};
  }

  // "id x rows" of each sequence, in order.
  static std::string shape(const step_batch_ptr& batch) {
    std::string text;
    if (!batch) return text;
    for (const auto& rows : batch->sequences) {
      text += (text.empty() ? "" : " ") + std::to_string(rows.id) + "x" + std::to_string(rows.num_rows);
    }
    return text;
  }

  std::unique_ptr<scheduler> tested;
  std::unique_ptr<kv_cache_manager> cache;
};

}  // namespace troupe
