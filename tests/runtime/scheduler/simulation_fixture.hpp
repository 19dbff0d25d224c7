// A seeded run of the scheduler, the KV cache, grammars and a paged device as four parties that send each
// other messages, in virtual time: arrivals, aborts, stops, deadlines, full pools, drafts right and wrong,
// slow and failing steps at any moment between two messages, with steps planned ahead or not.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace troupe {

struct simulation_options {
  std::uint64_t seed = 0;
  std::size_t num_requests = 24;  // fewer give a shorter story of the same kind
};

struct simulation_story {
  std::optional<std::string> fault;  // the first promise that was broken
  std::uint64_t steps = 0;
  std::uint64_t planned_ahead = 0;  // steps sent off while another was in flight
  std::uint64_t fed_tokens = 0;
  std::uint64_t preemptions = 0;
  std::uint64_t changed_limits = 0;
  std::uint64_t shared_steps = 0;   // with a long prompt and a brief one that wanted more
  std::uint64_t failed_steps = 0;   // that took the device along
  std::uint64_t lacking_steps = 0;  // that the device had no memory for
  std::uint64_t lost_caches = 0;    // without a step that is to blame
  std::uint64_t convicted = 0;      // requests that did it themselves
  std::uint64_t cached_tokens = 0;
  std::uint64_t copied_blocks = 0;
  std::uint64_t ended_in_flight = 0;    // requests ended while their step ran
  std::uint64_t ended_in_planning = 0;  // between plan and resolve
  std::uint64_t queue_refusals = 0;     // by queue deadlines
  std::uint64_t displaced = 0;          // requests that gave way to a better one in a full queue
  std::uint64_t masked_steps = 0;
  std::uint64_t masks_awaited = 0;    // steps whose forward pass was over before their masks were there
  std::uint64_t draft_tokens = 0;     // that steps verified
  std::uint64_t accepted_tokens = 0;  // of these
  std::uint64_t numbered_tokens = 0;  // verified, of drafts whose length nothing but room may cut
  std::uint64_t accepted_numbered_tokens = 0;
  std::uint64_t masked_drafts = 0;         // steps with drafts and grammars
  std::uint64_t fed_drafts = 0;            // steps with drafts behind tokens that nobody knew
  std::uint64_t refused_draft_tokens = 0;  // by grammars, before a step had rows for them
  std::uint64_t trims = 0;                 // of blocks that rejected drafts had taken
  std::uint64_t forced_tokens = 0;
  std::uint64_t withheld_samples = 0;
  std::uint64_t finished = 0;  // by stop or length
};

simulation_story simulate(const simulation_options& options);

}  // namespace troupe
