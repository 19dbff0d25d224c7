// Samples whose masks were not worked out in time: the request is left out of steps until its mask is known.
#include <algorithm>

#include "runtime/scheduler/scheduler_state.hpp"

namespace troupe {

// The row of the last token that is known, for its logits; what steps in flight compute behind it is in vain.
void scheduler::state::compute_again(sequence& who, bool keeps_blocks) {
  ++totals.withheld_samples;
  who.pending.clear();
  if (!keeps_blocks) return;
  who.num_computed = who.num_tokens() - 1;
  who.num_stored = std::min(who.num_stored, who.num_computed);
  who.last_slot = no_slot;
  who.was_withheld = who.has_costly_grammar = true;
  if (!who.awaits_mask) awaiting_masks.push_back(who.id);
  who.awaits_mask = true;
}

// Also of a step that was being planned when a row was withheld.
void scheduler::state::mask_was_there(sequence& who) {
  forget_mask(who);
  who.has_costly_grammar = who.was_withheld;
  who.was_withheld = false;
}

void scheduler::state::masks_ready(std::span<const request_id> ids) {
  for (const request_id id : ids)
    if (const auto found = requests.find(id); found != requests.end()) forget_mask(*found->second);
}

void scheduler::state::forget_mask(sequence& who) {
  if (!who.awaits_mask) return;
  who.awaits_mask = false;
  std::erase(awaiting_masks, who.id);
}

}  // namespace troupe
