// What runs, waits and is refused.
#include "config/option_table.hpp"

namespace troupe::config {

using group = option_group;

std::vector<option> scheduler_options() {
  return {
      reloadable(with_aliases(
          number_option("max_num_seqs", group::engine, &settings::max_num_seqs, 1, 4096,
                        "Requests that run at the same time; 256 on a GPU where nothing is said"),
          {"max_running_requests"})),
      reloadable(with_aliases(
          number_option(
              "max_num_batched_tokens", group::engine, &settings::max_num_batched_tokens, 1, 65'536,
              "Tokens of one step: prefill chunks and decodes together; where nothing is said 8192 on a GPU, "
              "and on a CPU 64 for each thread, 128 to 512"),
          {"max_prefill_tokens"})),
      reloadable(number_option(
          "max_num_queued_requests", group::engine, &settings::max_num_queued_requests, 0, 1'000'000,
          "Requests that may wait beside the max_num_seqs that run; more are refused with status 429. "
          "One is let in, or refused, with all of its n answers")),
      reloadable(duration_option(
          "queue_timeout", group::engine, &settings::queue_timeout, 0, 7 * day,
          "Longest wait for the first step; then the request is refused with status 503; 0: no limit")),
      reloadable(text_option(
          "scheduling_policy", group::engine, &settings::scheduling_policy,
          "Who runs first; fcfs: who came first, priority: the lowest number, which also preempts, "
          "lpm: the longest cached prefix, drr: tenants in turn, by tokens",
          {"fcfs", "priority", "lpm", "drr"})),
      reloadable(
          number_option("priority_patience", group::engine, &settings::priority_patience, 0, 1'000'000,
                        "Admissions after which a waiting request goes before all lower numbers under the "
                        "priority policy; 0: never")),
      switch_option(
          "async_scheduling", group::engine, &settings::async_scheduling,
          "Plan one more step while others run; the same tokens either way, on a CUDA device only with "
          "--batch-invariant"),
      number_option(
          "num_scheduler_steps", group::engine, &settings::num_scheduler_steps, 1, 16,
          "Steps handed to the device before a result is waited for; the same tokens, on a CUDA device "
          "only with --batch-invariant"),
      switch_option("enable_chunked_prefill", group::engine, &settings::enable_chunked_prefill,
                    "Cut long prompts, so that they share steps with running requests; without it "
                    "max_num_batched_tokens must hold the longest context"),
      reloadable(with_aliases(
          number_option("long_prefill_token_threshold", group::engine,
                        &settings::long_prefill_token_threshold, 0, 65'536,
                        "Longest chunk of one prompt in a step; 0: as max_num_batched_tokens allows"),
          {"chunked_prefill_size"})),
      reloadable(number_option(
          "max_num_partial_prefills", group::engine, &settings::max_num_partial_prefills, 1, 4096,
          "Prompts that may be cut at the same time, of long ones and of brief ones each")),
      reloadable(
          ratio_option("long_prefill_share", group::engine, &settings::long_prefill_share, 1, 1000,
                       "Share of a step that prompts of more than four steps keep beside briefer ones, which "
                       "get the rest as far as they need it; 1: first come, first served")),
      reloadable(ratio_option("watermark", group::engine, &settings::watermark, 0, 500,
                              "Share of the KV cache that stays free when a request joins others")),
      switch_option("new_token_ratio", group::engine, &settings::new_token_ratio,
                    "Also keep room for a share of what running requests may still generate: fewer "
                    "preemptions, fewer requests at once"),
      text_option(
          "speculative_config", group::engine, &settings::speculative_config,
          "How the next tokens are guessed, to verify several in one step; a JSON object as vLLM's, "
          "such as {\"method\": \"suffix\"}, or off. Drafts change no token (on a CUDA device only with "
          "--batch-invariant); with a draft model and without a seed they keep the distribution"),
      size_option("drafter_memory", group::engine, &settings::drafter_memory, mib, tib,
                  "Memory for the tokens that ngram and suffix guess from; beyond it earlier answers are "
                  "forgotten, then requests, which run on without drafts"),
  };
}

}  // namespace troupe::config
