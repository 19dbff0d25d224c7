// The answer of GET /v1/requests/{id}: where a request stands, in a shape of our own.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/request_state.hpp"
#include "runtime/stream.hpp"

namespace troupe::openai {

// One of the answers to a request. Told of and no longer known: it has run, and its end is on its way.
struct choice_status {
  std::optional<request_state> known = {};  // what the scheduler says
  std::optional<usage> told = {};           // what was told of it before
  std::optional<usage> ended = {};          // what its end said
};

// {"id", "object": "request", "model", "state", "reason", "choices": [{"index", "state", "reason",
// "prompt_tokens", "cached_tokens", "computed_tokens", "completion_tokens", "preemptions"}]}
// "state" is "waiting", "running" or "finished"; that of the whole is the first of these that a choice has.
// Each choice has every number: what nothing is known of, or is no longer, is 0.
std::string request_status_answer(std::string_view id, std::string_view model,
                                  const std::vector<choice_status>& choices);

}  // namespace troupe::openai
