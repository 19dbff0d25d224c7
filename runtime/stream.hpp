// What a request gets back, step by step, and the one event that ends it.
#pragma once
#include <boost/container/small_vector.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/boxed.hpp"
#include "runtime/request.hpp"
#include "runtime/result.hpp"

namespace troupe {

// Log-probabilities at one position: the token that stands there, and the most probable ones, best first.
// Natural logarithm of the softmax of the raw logits (before temperature and penalties), as vLLM's default;
// under a grammar, as there, of those that it allows.
struct token_logprobs {
  token_id token = 0;
  float logprob = 0.0F;
  std::int32_t rank = 0;  // 1: the most probable of all
  std::vector<std::pair<token_id, float>> top = {};
};

struct usage {
  std::int32_t prompt_tokens = 0;
  std::int32_t completion_tokens = 0;
  std::int32_t cached_tokens = 0;     // of the prompt's: not computed anew
  std::int32_t reasoning_tokens = 0;  // of the completion's: told with the end
};

// When a request came and what it reached; absent: not that far.
struct request_times {
  steady_time arrival{};
  std::optional<steady_time> scheduled = {};  // its first step began
  std::optional<steady_time> first_token = {};
  std::optional<steady_time> last_token = {};
};

// Exactly one per request. `failure` is set when reason is error.
struct finished {
  finish_reason reason = finish_reason::stop;
  std::optional<std::string> stop_string = {};  // which stop string ended it
  std::optional<token_id> stop_token = {};      // which stop token id ended it (not the end-of-text token)
  std::optional<error> failure = {};
  usage tokens = {};
  std::int32_t preemptions = 0;
  std::int32_t accepted_drafts = 0;          // tokens
  std::chrono::nanoseconds grammar_wait{0};  // until its grammar was there
  boxed<request_times> times = {};           // none where it was refused before it was let in
};

// What one request gets in one step: few tokens, without a place of their own on the heap.
using token_list = boost::container::small_vector<token_id, 4>;

// What few tokens come with.
struct token_details {
  std::int32_t cached_tokens = 0;             // of the prompt, not computed anew; told with the first token
  std::vector<token_logprobs> logprobs = {};  // one per token where asked for, else empty
  std::vector<token_logprobs> prompt_logprobs =
      {};                            // [prompt - 1], once, with the first token, where asked for
  std::int32_t preemptions = 0;      // so far; told once after each
  std::int32_t accepted_drafts = 0;  // of these tokens
};

// The tokens that a step sampled for a request (there may be none beside an end), as the scheduler hands them
// to the tokenizer. A cache line each: a step writes one for every running request.
struct token_event {
  request_id id = 0;
  token_list tokens = {};  // may be empty where only `end` is told
  boxed<token_details> details = {};
  boxed<finished> end = {};
};
static_assert(sizeof(token_event) <= 64);
using token_batch = std::vector<token_event>;
using token_batch_ptr = std::shared_ptr<const token_batch>;

// One piece of a stream as a client sees it. Its texts are whole UTF-8 characters, never a part of a stop
// string.
struct stream_event {
  request_id id = 0;
  std::string reasoning = {};  // what the model thinks first; comes before any text
  std::string text = {};
  std::vector<token_id> tokens = {};
  std::vector<token_logprobs> logprobs = {};
  std::vector<token_id> prompt_tokens = {};          // on the first event only
  bool is_prompt_cut = false;                        // likewise: that prompt is the end of what was sent
  std::vector<token_logprobs> prompt_logprobs = {};  // on the first event only, where asked for
  // On the first event only: what was done to the request that it did not ask for, or what of it means
  // nothing.
  std::vector<std::string> warnings = {};
  // With the first tokens, for whoever does not wait for the end.
  std::int32_t cached_tokens = 0;
  boxed<request_times> times = {};
  std::optional<finished> end = {};
};
using stream_batch = std::vector<stream_event>;
using stream_batch_ptr = std::shared_ptr<const stream_batch>;

}  // namespace troupe
