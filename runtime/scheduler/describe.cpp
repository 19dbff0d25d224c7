#include <fmt/format.h>

#include "runtime/scheduler/scheduler_state.hpp"

namespace troupe {

std::optional<request_state> scheduler::state::describe(request_id id) const {
  const auto found = requests.find(id);
  if (found == requests.end()) return std::nullopt;
  const sequence& who = *found->second;
  request_state now;
  now.id = id;
  now.phase = who.running ? request_phase::running : request_phase::waiting;
  now.reason = who.running ? how_running(who) : why_waiting(who);
  now.prompt_tokens = who.prompt_length;
  now.computed_tokens = who.num_computed;
  now.generated_tokens = who.num_generated();
  now.cached_tokens = who.details->num_cached;
  now.preemptions = who.details->num_preemptions;
  return now;
}

std::string scheduler::state::how_running(const sequence& who) {
  if (who.awaits_mask) return "running: its grammar works out which tokens may come next";
  return who.num_missing() > 1 ? "running: prefill" : "running";
}

std::string scheduler::state::why_waiting(const sequence& who) const {
  if (who.waits_for_grammar) return "waiting: grammar";
  if (!tried.may_run(who.id))
    return "waiting: a step has ended the model runner, its requests are tried first";
  if (who.last_step > committed) return "waiting: preempted, its last step still runs";
  if (const std::size_t ahead = waiting->ahead_of(who); ahead > 0)
    return fmt::format("waiting: {} ahead", ahead);
  if (is_held(who)) return "waiting: the first choice computes the prompt";
  if (most_running() < limits.max_num_seqs && running.size() >= static_cast<std::size_t>(most_running()))
    return fmt::format("waiting: {} sequences are running, the device had no memory for a step of more",
                       running.size());
  if (running.size() >= static_cast<std::size_t>(limits.max_num_seqs))
    return fmt::format("waiting: {} sequences are running (max_num_seqs)", running.size());
  if (refused.who == &who) {
    const std::int32_t needed = refused.blocks_wanted + refused.keep_free;
    return fmt::format("waiting: no blocks (needs {}, free {})", needed, refused.blocks_free);
  }
  if (stopped_by != nullptr) return fmt::format("waiting: {}", stopped_by);
  return "waiting: for the next step";
}

}  // namespace troupe
