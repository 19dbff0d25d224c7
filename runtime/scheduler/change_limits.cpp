#include <algorithm>
#include <vector>

#include "runtime/scheduler/scheduler_state.hpp"

namespace troupe {

// No table is sized by these, and no step in flight was promised anything of them.
void adopt_limits(scheduler_limits& current, const scheduler_limits& next) {
  current.max_num_seqs = next.max_num_seqs;
  current.max_num_batched_tokens = next.max_num_batched_tokens;
  current.max_num_queued_requests = next.max_num_queued_requests;
  current.policy = next.policy;
  current.priority_patience = next.priority_patience;
  current.long_prefill_token_threshold = next.long_prefill_token_threshold;
  current.max_num_partial_prefills = next.max_num_partial_prefills;
  current.long_prefill_share = next.long_prefill_share;
  current.watermark = next.watermark;
}

void scheduler::state::change_limits(const scheduler_limits& next) {
  const bool reorders = next.policy != limits.policy || next.priority_patience != limits.priority_patience ||
                        next.max_num_batched_tokens != limits.max_num_batched_tokens;
  adopt_limits(limits, next);
  if (reorders) queue_anew();
}

// Whoever runs or has run counts as admitted under the policy that begins, which knows nothing of the time
// before: from its view all have begun to wait now. (A policy that counts who was passed relies on older ones
// not having begun later.)
void scheduler::state::queue_anew() {
  const std::vector<sequence*> all = waiting->next(waiting->size());
  waiting = make_waiting_queue(limits.policy, limits.max_num_batched_tokens, limits.priority_patience);
  std::vector<sequence*> admitted;
  for (const auto& [id, who] : requests)
    if (who->details->admitted_once) admitted.push_back(who);
  std::ranges::sort(admitted, {}, &sequence::id);
  for (const sequence* who : admitted) waiting->admitted(*who, 0);
  for (const auto& [id, who] : requests) who->details->queued_at = admitted.size();
  for (sequence* who : all) waiting->add(*who);
}

}  // namespace troupe
