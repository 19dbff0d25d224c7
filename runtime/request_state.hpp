// Where a request stands, as a client may ask.
#pragma once
#include <cstdint>
#include <string>

#include "runtime/request.hpp"

namespace troupe {

enum class request_phase { waiting, running };

struct request_state {
  request_id id = 0;
  request_phase phase = request_phase::waiting;
  std::string reason = {};  // "waiting: no blocks (needs 12, free 3)", "running: prefill"
  std::int32_t prompt_tokens = 0;
  std::int32_t computed_tokens =
      0;  // leading tokens whose K and V are stored, or will be by a step in flight
  std::int32_t generated_tokens = 0;  // those told so far
  std::int32_t cached_tokens = 0;  // of the prompt: found in the prefix cache, or shared with another answer
  std::int32_t preemptions = 0;
};

}  // namespace troupe
