// How to sample, and a tokenized request. Plain values that every layer above shares.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

using token_id = std::int32_t;
using request_id = std::uint64_t;
using steady_time = std::chrono::steady_clock::time_point;  // always handed in, never read inside runtime/

enum class finish_reason { stop, length, abort, timeout, error };

// The wire's word for a reason: "stop", "length", "abort", "timeout", "error".
const char* to_string(finish_reason reason);

struct grammar_spec;  // runtime/grammar/specification/grammar_spec.hpp

// vLLM's names and meanings. Ranges are checked by validate() in sampling/sampler.hpp.
struct sampling_params {
  std::optional<std::int32_t> max_tokens = {};       // unset: as many as the context holds
  std::string_view max_tokens_field = "max_tokens";  // a literal: the client's name for it, for errors
  std::int32_t min_tokens = 0;  // no stop token or stop string is obeyed before this many
  float temperature = 1.0F;     // 0 is greedy
  float top_p = 1.0F;           // so is 0 here
  std::int32_t top_k = 0;       // 0: all
  float min_p = 0.0F;
  float presence_penalty = 0.0F;
  float frequency_penalty = 0.0F;
  float repetition_penalty = 1.0F;
  std::uint64_t seed = 0;  // HTTP and TCP draw one where the client gave none; who embeds draws its own
  bool is_seeded = true;   // it was given: its tokens are those that this seed draws
  std::vector<std::string> stop = {};
  std::vector<token_id> stop_token_ids = {};
  bool include_stop_str_in_output = false;
  bool ignore_eos = false;
  bool skip_special_tokens = true;
  std::optional<std::int32_t> logprobs = {};         // top-k log-probabilities beside the sampled token's own
  std::optional<std::int32_t> prompt_logprobs = {};  // the same for each prompt token after the first
  std::vector<std::pair<token_id, float>> logit_bias = {};
  std::optional<std::int32_t> num_speculative_tokens = {};  // drafts in a step at most; 0: none
  // What the answer is held to. Its end ends the request, whatever min_tokens and ignore_eos say.
  std::shared_ptr<const grammar_spec> grammar = {};

  // Penalties look at what the sequence holds so far; most requests need no such history.
  bool needs_history() const {
    return presence_penalty != 0.0F || frequency_penalty != 0.0F || repetition_penalty != 1.0F;
  }
};

// A tokenized request as the scheduler holds it.
struct engine_request {
  request_id id = 0;
  std::vector<token_id> prompt = {};
  std::string_view prompt_field = "prompt";  // a literal: where the client's request has it, for errors
  std::shared_ptr<const sampling_params> sampling = {};
  steady_time arrival{};
  std::optional<steady_time> deadline = {};        // ends by then in any state: `timeout`
  std::optional<steady_time> queue_deadline = {};  // refused with `unavailable` where it has not run by then
  std::int32_t priority = 0;                       // lower goes first, where the policy looks at it
  std::string tenant = {};
  std::string cache_salt = {};
  // One of several answers to one prompt: waits until the first of them, named here, has computed the prompt,
  // and shares its blocks. Runs alone where that one is gone.
  std::optional<request_id> fork_of = {};
  // One of several prompts of a client's request: the first answer to the first of them.
  std::optional<request_id> joins = {};

  // Of all answers that the queue takes in, refuses and gives up together.
  request_id first_answer() const { return joins ? *joins : fork_of.value_or(id); }
};

}  // namespace troupe
