// One request inside the scheduler: its tokens, how far they are computed, where it stands.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/request.hpp"
#include "runtime/stream.hpp"

namespace troupe {

struct sequence {
  request_id id = 0;
  std::vector<token_id> tokens = {};  // prompt + output
  std::int32_t prompt_length = 0;
  std::int32_t max_tokens = 0;  // output tokens at most, at least 1
  std::shared_ptr<const sampling_params> sampling = {};
  std::optional<steady_time> deadline = {};

  bool running = false;
  bool ended = false;             // no longer in the request table; a plan or a step may still name it
  std::int32_t num_computed = 0;  // leading tokens whose K and V are stored
  std::int32_t num_reserved = 0;  // leading tokens that its blocks have room for
  std::uint64_t last_step = 0;    // the last step that holds rows of it
  // Those of the tokens after the first, collected chunk by chunk until the first output token; kept by
  // preemption.
  std::vector<token_logprobs> prompt_logprobs = {};

  std::int32_t num_tokens() const { return static_cast<std::int32_t>(tokens.size()); }
  std::int32_t num_generated() const { return num_tokens() - prompt_length; }
  std::int32_t num_missing() const { return num_tokens() - num_computed; }
  usage tokens_used() const { return {prompt_length, num_generated()}; }
};

// A sequence's part in a step: its next num_rows tokens. The last row is sampled where no token is missing
// after it.
struct planned_rows {
  sequence* who = nullptr;
  std::int32_t num_rows = 0;
  std::int32_t num_tokens = 0;  // demanded room
  std::int32_t table_offset = 0;
  std::int32_t table_length = 0;

  bool samples() const { return num_rows == who->num_missing(); }
};

}  // namespace troupe
