#include <fmt/format.h>
#include <algorithm>
#include <utility>

#include "runtime/least_tokens.hpp"
#include "runtime/longest_context.hpp"
#include "runtime/scheduler/scheduler_state.hpp"

namespace troupe {

namespace {

tl::unexpected<error> beyond_context(std::string message, std::string_view param) {
  return fail(error_code::context_length_exceeded, std::move(message), std::string(param));
}

}  // namespace

// How many output tokens the request may have, or why it can never run. The last output token is never
// computed, so that a sequence needs room for prompt + max_tokens - 1.
result<std::int32_t> scheduler::state::admissible_tokens(const engine_request& request) const {
  const auto prompt = static_cast<std::int64_t>(request.prompt.size());
  const std::int64_t context = limits.max_model_len;
  const std::int64_t pool = static_cast<std::int64_t>(limits.num_blocks) * limits.block_size;
  if (prompt == 0)
    return fail(error_code::invalid_argument, "the prompt must hold at least one token",
                std::string(request.prompt_field));
  if (prompt + 1 > context) {
    return beyond_context(fmt::format("{}, one of them generated at least. However, the prompt alone has {}",
                                      longest_context(context), prompt),
                          request.prompt_field);
  }
  if (prompt > pool) {
    return beyond_context(fmt::format("the prompt has {} tokens, but the KV cache holds {} ({} blocks of {})",
                                      prompt, pool, limits.num_blocks, limits.block_size),
                          request.prompt_field);
  }
  const std::optional<std::int32_t> wanted = request.sampling->max_tokens;
  const std::string_view field = request.sampling->max_tokens_field;
  if (!wanted) {
    const std::int64_t left = std::min(context - prompt, pool - prompt + 1);
    const std::int32_t least = least_tokens(*request.sampling);
    if (least > left)
      return beyond_context(fmt::format("min_tokens is too large: {}. The prompt has {} tokens, which leaves "
                                        "{} of context and KV cache",
                                        least, prompt, left),
                            "min_tokens");
    return static_cast<std::int32_t>(left);
  }
  if (*wanted < 1)
    return fail(error_code::invalid_argument, fmt::format("{} must be at least 1, got {}", field, *wanted),
                std::string(field));
  if (prompt + *wanted > context) {
    return beyond_context(fmt::format("{}. However, {} is {} and the prompt has {}, which leaves {}",
                                      longest_context(context), field, *wanted, prompt, context - prompt),
                          field);
  }
  if (prompt + *wanted - 1 > pool) {
    return beyond_context(
        fmt::format("{} is too large: {}. The KV cache holds {} tokens ({} blocks of {}) and the "
                    "prompt has {}, which leaves {}",
                    field, *wanted, pool, limits.num_blocks, limits.block_size, prompt, pool - prompt + 1),
        field);
  }
  return *wanted;
}

result<scheduler_output> scheduler::state::submit(engine_request request) {
  if (!request.sampling) return fail(error_code::internal, "a request came without sampling parameters");
  if (requests.contains(request.id))
    return fail(error_code::internal, fmt::format("request {} is known", request.id));
  const result<std::int32_t> max_tokens = admissible_tokens(request);
  if (!max_tokens) return tl::unexpected(max_tokens.error());
  result<scheduler_output> made_room = make_room_in_queue(request);
  if (!made_room) return made_room;
  sequence& added = add(std::move(request), *max_tokens);
  if (added.waits_for_grammar) {
    ++num_without_grammar;
  } else {
    waiting->add(added);
  }
  return made_room;
}

// The policies count on it that who joins the queue is the youngest in it.
void scheduler::state::grammar_ready(request_id id) {
  const auto found = requests.find(id);
  if (found == requests.end() || !found->second->waits_for_grammar) return;
  sequence& who = *found->second;
  who.waits_for_grammar = false;
  who.details->ticket = ++tickets;
  --num_without_grammar;
  waiting->add(who);
}

sequence& scheduler::state::add(engine_request request, std::int32_t max_tokens) {
  forget_retired();
  const sampling_params& params = *request.sampling;
  const std::int32_t number = sequences->pool.take();
  sequence* added = &sequences->pool[number];
  added->details = make_details(sequences->memory.passing());
  added->details->number = number;
  added->id = request.id;
  added->begin_with(std::move(request.prompt));
  added->max_tokens = max_tokens;
  added->has_grammar = params.grammar != nullptr;
  added->waits_for_grammar = added->has_grammar;
  added->details->min_tokens = least_tokens(params);
  added->has_min_tokens = added->details->min_tokens > 0;
  added->ignores_end = params.ignore_eos && !added->has_grammar;
  added->has_stop_tokens = !params.stop_token_ids.empty();
  added->needs_history = params.needs_history();
  added->wants_prompt_logprobs = params.prompt_logprobs.has_value();
  added->sampling = request.sampling.get();
  added->details->sampling = std::move(request.sampling);
  added->details->num_indexed = added->prompt_length;
  added->index_at = added->prompt_length + 1;
  added->details->ticket = ++tickets;
  added->details->arrival = request.arrival;
  added->details->priority = request.priority;
  added->details->tenant = std::move(request.tenant);
  added->details->cache_salt = std::move(request.cache_salt);
  added->details->shares_with = request.fork_of;
  added->details->first_answer = request.first_answer();
  // Its prompt has to be computed by itself: all of its log-probabilities are wanted.
  if (!added->wants_prompt_logprobs) added->details->fork_of = request.fork_of;
  if (added->details->fork_of) ++num_held;
  added->details->deadline = request.deadline;
  if (added->details->deadline) deadlines.emplace(*added->details->deadline, added->id);
  // A request's first choice alone has to run by then: the others belong to an answer that has begun.
  if (added->is_first_answer()) added->details->queue_deadline = request.queue_deadline;
  if (added->details->queue_deadline) queue_deadlines.emplace(*added->details->queue_deadline, added->id);
  if (!added->is_first_answer()) further_answers.emplace(added->details->first_answer, added->id);
  requests.emplace(added->id, added);
  return *added;
}

}  // namespace troupe
