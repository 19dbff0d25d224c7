// One request inside the scheduler: its tokens, how far they are computed, where it stands.
#pragma once
#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "runtime/kv_cache/step_demand.hpp"
#include "runtime/prefetch.hpp"
#include "runtime/request.hpp"
#include "runtime/scheduler/newest_tokens.hpp"
#include "runtime/scheduler/sequence_details.hpp"
#include "runtime/step_batch.hpp"

namespace troupe {

// What a step looks at, line by line, and nothing else: planning reads the first, a batch is built from two,
// and committing it reads the third, too.
struct alignas(64) sequence {
  // Who samples the tokens after the known ones, in order: one for each sample in flight.
  boost::container::small_vector<token_source, 2> pending = {};
  std::int32_t num_known = 0;  // tokens: prompt + output, as far as it is known
  std::int32_t prompt_length = 0;
  std::int32_t max_tokens = 0;    // output tokens at most, at least 1
  std::int32_t num_computed = 0;  // leading tokens whose K and V are stored, or will be by a step in flight
  std::int32_t table_length = 0;
  std::int32_t last_slot = no_slot;  // where the last of the computed ones is stored

  alignas(64) request_id id = 0;
  const std::int32_t* table = nullptr;  // its blocks, where the KV cache keeps them, as the last grant said
  const sampling_params* sampling = nullptr;
  details_ptr details = {};
  std::uint64_t last_step = 0;      // the last step that holds rows of it
  std::uint64_t admitted_step = 0;  // since when it has been running
  std::int32_t num_stored = 0;      // of the computed ones, those whose steps are committed
  std::int32_t index_at = 0;        // how many tokens there are when the KV cache is told the next ones
  std::int32_t place = no_place;    // where the KV cache keeps it
  bool running : 1 = false;
  bool ended : 1 = false;  // no longer in the request table; a plan or a step may still name it
  bool ignores_end : 1 = false;
  bool has_min_tokens : 1 = false;
  bool has_stop_tokens : 1 = false;
  bool needs_history : 1 = false;
  bool wants_prompt_logprobs : 1 = false;  // until they are told
  bool has_grammar : 1 = false;
  bool has_drafts : 1 = false;          // some of its draft may still be right
  bool waits_for_grammar : 1 = false;   // until it is compiled; not in the waiting queue
  bool awaits_mask : 1 = false;         // runs, and nothing of it is planned
  bool was_withheld : 1 = false;        // a row for its next token
  bool has_costly_grammar : 1 = false;  // the same, or of its last one
  bool tells_preemptions : 1 = false;   // with its next event

  alignas(64) newest_tokens newest = {};

  void begin_with(std::vector<token_id> prompt) {
    num_known = prompt_length = static_cast<std::int32_t>(prompt.size());
    details->prompt = std::move(prompt);
  }
  void add_token(token_id token) { newest.add(token, details->older_output, prompt_length, num_known++); }
  // Only for a token that is known.
  token_id token(std::int32_t i) const {
    if (i < prompt_length) return details->prompt[static_cast<std::size_t>(i)];
    const auto after_prompt = static_cast<std::size_t>(i - prompt_length);
    return after_prompt < details->older_output.size() ? details->older_output[after_prompt] : newest[i];
  }
  // All output that is known, in one piece; until the next change.
  std::span<const token_id> output() {
    newest.move_to(details->older_output, prompt_length, num_known);
    return details->older_output;
  }
  // Whether the next add_token(), or what comes of it, moves the newest tokens.
  bool moves_tokens_soon() const { return newest.is_full(num_known) || num_known + 1 >= index_at; }
  void prefetch_output() const { prefetch_line(details->older_output.data() + details->older_output.size()); }
  bool is_first_answer() const { return details->first_answer == id; }
  std::int32_t num_tokens() const { return num_known; }
  std::int32_t num_pending() const { return static_cast<std::int32_t>(pending.size()); }
  std::int32_t num_generated() const { return num_tokens() - prompt_length; }
  // Tokens that no step has computed or will compute so far.
  std::int32_t num_missing() const { return num_tokens() + num_pending() - num_computed; }
  // The first token of its draft behind what is known and pending, as long as nothing that is known
  // contradicts the draft.
  std::optional<std::int32_t> next_draft() const {
    const draft& guess = details->guess;
    const std::int32_t known = num_tokens() - guess.after;
    const std::int32_t next = known + num_pending();
    if (known < 0 || next >= static_cast<std::int32_t>(guess.tokens.size())) return std::nullopt;
    for (std::int32_t i = 0; i < known; ++i)
      if (guess.tokens[static_cast<std::size_t>(i)] != token(guess.after + i)) return std::nullopt;
    return next;
  }
  // That one and those behind it, no more than `most`.
  std::span<const token_id> next_drafts(std::int32_t most) const {
    const std::optional<std::int32_t> next = next_draft();
    return next ? drafts_from(*next, most) : std::span<const token_id>();
  }
  std::span<const token_id> drafts_from(std::int32_t first, std::int32_t most) const {
    const std::span<const token_id> rest =
        std::span(details->guess.tokens).subspan(static_cast<std::size_t>(first));
    return rest.first(std::min(rest.size(), static_cast<std::size_t>(std::max(most, 0))));
  }
  // Every output token that it may have is sampled or will be by a step in flight.
  bool is_sampled_out() const { return num_generated() + num_pending() >= max_tokens; }
  usage tokens_used() const { return {prompt_length, num_generated()}; }
};
static_assert(sizeof(sequence) == 192);

}  // namespace troupe
