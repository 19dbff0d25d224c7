// What the scheduler knows of a request and seldom looks at: whose it is, how it waits, what it is told once.
#pragma once
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <string>
#include <vector>

#include "runtime/drafting/draft.hpp"
#include "runtime/request.hpp"
#include "runtime/stream.hpp"

namespace troupe {

struct sequence_details {
  std::pmr::vector<token_id> older_output;  // but for the newest tokens
  std::vector<token_id> prompt = {};
  std::int32_t num_indexed = 0;  // tokens that the KV cache knows of; at least the prompt
  std::int32_t min_tokens = 0;
  std::int32_t number = 0;  // the sequence's own, in the scheduler's pool
  std::shared_ptr<const sampling_params> sampling = {};
  std::uint64_t ticket = 0;        // order of arrival
  std::uint64_t queued_at = 0;     // admissions before it began to wait first; where the policy counts them
  std::int32_t cached_prefix = 0;  // tokens, as the KV cache said last; where the policy asks
  std::int32_t priority = 0;
  std::int32_t known_at_admission = 0;  // tokens: its prompt, and what it had been answered by then
  std::int32_t num_cached = 0;          // of the prompt, not computed by itself when it was admitted first
  std::int32_t num_preemptions = 0;
  std::int32_t furthest = 0;   // most tokens that were stored when it was sent back
  std::int32_t shortages = 0;  // steps of it that lacked memory in a row, the last of them with no more ...
  std::int32_t furthest_at_shortage = 0;  // ... tokens stored at any time than these
  bool admitted_once = false;
  bool another_answer_has_begun = false;       // told of the first one
  request_id first_answer = 0;                 // of its request; its own id, where it is that
  std::optional<request_id> fork_of = {};      // until it need not wait for that one's prompt any more
  std::optional<request_id> shares_with = {};  // the same one, for ever
  std::optional<steady_time> deadline = {};
  std::optional<steady_time> queue_deadline = {};
  steady_time arrival{};
  std::string tenant = {};
  std::string cache_salt = {};
  draft guess = {};  // how it goes on, as the drafter said last
  // Those of the tokens after the first, collected chunk by chunk until the first output token; kept by
  // preemption.
  std::vector<token_logprobs> prompt_logprobs = {};
};

// Details lie in the same memory as their output.
struct details_deleter {
  void operator()(sequence_details* details) const {
    std::pmr::polymorphic_allocator<>(details->older_output.get_allocator().resource())
        .delete_object(details);
  }
};
using details_ptr = std::unique_ptr<sequence_details, details_deleter>;
inline details_ptr make_details(std::pmr::memory_resource* memory) {
  using tokens = std::pmr::vector<token_id>;
  // Not new_object(), which has parentheses around what it gives an aggregate: Clang takes those from 16 on.
  auto* const place = std::pmr::polymorphic_allocator<>(memory).allocate_object<sequence_details>();
  return details_ptr(new (place) sequence_details{tokens(memory)});
}

}  // namespace troupe
