// Continuous batching: which tokens of which requests run in the next step. No clock, no thread, no message.
//
//   plan() -> step_demand -> [kv_cache] -> resolve() -> batch or another demand -> [runner] -> commit()
//
// Up to max_steps_in_flight steps may be between resolve() and commit(): the next step is planned while one
// runs. A sequence counts as computed from the moment on in which a step is sent off; what is sampled by a
// step in flight is known by its place only (token_source), and the runner feeds it forward.
#pragma once
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/drafting/draft.hpp"
#include "runtime/drafting/verification_costs.hpp"
#include "runtime/kv_cache/kv_cache_manager.hpp"
#include "runtime/request.hpp"
#include "runtime/request_state.hpp"
#include "runtime/result.hpp"
#include "runtime/scheduler/blame.hpp"
#include "runtime/scheduler/step_bounds.hpp"
#include "runtime/scheduler/waiting_queue.hpp"
#include "runtime/step_batch.hpp"
#include "runtime/stream.hpp"

namespace troupe {

using step_demand_ptr = std::shared_ptr<const step_demand>;

struct scheduler_limits {
  std::int32_t max_num_seqs = 64;              // that run side by side
  std::int32_t max_num_batched_tokens = 512;   // rows of a step
  std::int32_t max_model_len = 0;              // tokens of a prompt and its output; at least 1
  std::int32_t block_size = 16;                // tokens of a KV block
  std::int32_t num_blocks = 0;                 // of the KV cache; at least 1
  std::size_t max_num_queued_requests = 1024;  // that wait while max_num_seqs run
  std::vector<token_id> end_tokens = {};       // end of generation, unless ignore_eos

  std::int32_t max_steps_in_flight = 1;  // 1: no overlap; at most most_steps_in_flight
  scheduling_policy policy = scheduling_policy::fcfs;
  std::int32_t priority_patience = 256;  // admissions after which priority makes nobody wait; 0: no bound
  // Off: a prompt runs whole in one step, and max_num_batched_tokens is at least max_model_len.
  bool enable_chunked_prefill = true;
  std::int32_t long_prefill_token_threshold = 0;  // most rows of one prompt in a step; 0: the budget alone
  // Sequences that are in the midst of their prompts. Long ones beyond that pause: those that a better one
  // has gone before.
  std::int32_t max_num_partial_prefills = 1;
  // What prompts that fill more than a few steps keep of a step's rows for prompts: brief ones get the rest
  // as far as they need it, and pass long ones that wait. 1: first come, first served.
  double long_prefill_share = 0.25;
  // Share of the blocks that stays free when a request is admitted beside others.
  double watermark = 0.0;
  // Also keep room free for what the running requests may still generate (new_token_ratio.hpp).
  bool reserve_new_tokens = false;
  // Drafts: as many as are expected to pay; else all that are proposed. None while more requests than that
  // run.
  bool adaptive_drafts = true;
  std::optional<std::int32_t> disable_drafts_by_batch_size = {};
  bool enable_prefix_caching = false;  // tokens are told to the KV cache as its blocks fill up
};

// Takes over those of `next` that may change while requests run.
void adopt_limits(scheduler_limits& current, const scheduler_limits& next);

// What came of a reservation: either a batch to run, or (batch null, demand set) a smaller demand after
// preemption, or nothing to do. Releases come first in every case.
struct resolved_step {
  std::vector<block_release> releases = {};
  step_batch_ptr batch = {};
  step_demand_ptr demand = {};
};

// What came of a step, an abort or an expiry: tokens and ends for the tokenizer; tokens and then releases for
// the KV cache.
struct scheduler_output {
  token_batch events = {};
  std::vector<token_append> appends = {};
  std::vector<token_id> appended = {};  // of all appends, in order
  std::vector<block_release> releases = {};
  std::vector<block_trim> trims = {};  // once the step is committed

  void clear() {
    trims.clear();
    events.clear();
    appends.clear();
    appended.clear();
    releases.clear();
  }

  // Adds what ends and gives back blocks beside no step.
  void add_ended(scheduler_output&& more) {
    std::ranges::move(more.events, std::back_inserter(events));
    std::ranges::move(more.releases, std::back_inserter(releases));
  }
};

// Of drafts that steps verified.
struct draft_counts {
  std::uint64_t drafts = 0;    // of a sequence in a step, whatever their lengths
  std::uint64_t tokens = 0;    // of all these
  std::uint64_t accepted = 0;  // tokens that were right
  struct {
    std::uint64_t tokens = 0;
    std::uint64_t accepted = 0;
  } numbered = {};  // those of drafts that are accepted or rejected by chance
};
// Their tokens, by their places in their drafts.
struct draft_places {
  std::array<std::uint64_t, most_draft_tokens> verified = {};
  std::array<std::uint64_t, most_draft_tokens> accepted = {};
};

struct scheduler_counts {
  std::int32_t running = 0;
  std::int32_t waiting = 0;  // for a grammar too
  std::int32_t waiting_for_grammar = 0;
  std::int32_t steps_in_flight = 0;
  std::uint64_t preemptions = 0;
  std::uint64_t prompt_tokens = 0;
  std::uint64_t cached_tokens = 0;  // of the prompt tokens, those that were not computed
  std::uint64_t generation_tokens = 0;
  std::uint64_t forced_tokens = 0;  // of those, the ones that took no step of their own
  std::uint64_t withheld_samples = 0;
  draft_counts drafts = {};
};

// One caller at a time; what it gives for the KV cache goes there in the order in which it is given here.
// Nothing is allocated from step to step once every table has grown to its size.
class scheduler {
 public:
  // Its steps are numbered from the one behind `last_step`.
  explicit scheduler(scheduler_limits limits, std::uint64_t last_step = 0);
  ~scheduler();
  scheduler(scheduler&&) noexcept;
  scheduler& operator=(scheduler&&) noexcept;

  // Refuses what can never fit (invalid_argument) and what finds the queue full (resource_exhausted). Gives
  // the ends of those who gave way for it in a full queue: a request that has not begun, with all its answers
  // (unavailable). A request with a grammar waits for grammar_ready(), keeps nobody else waiting meanwhile,
  // and may be ended like any other.
  result<scheduler_output> submit(engine_request request);
  // Its grammar is compiled: it joins the queue, behind all that wait there. Unknown ids are ignored.
  void grammar_ready(request_id id);
  // Ends a request in any state, also while its steps run. Gives its one end event; nothing for an unknown
  // id.
  scheduler_output end(request_id id, finish_reason reason, std::optional<error> failure = {});
  // The tokenizer found a stop string: the request leaves without an event (the tokenizer emits it).
  scheduler_output stopped(request_id id);
  // Ends every request whose deadline has passed, and with all their answers those that have waited past
  // their queue deadline and have not begun.
  scheduler_output expire(steady_time now);
  std::optional<steady_time> next_deadline() const;

  // How a running request may go on; replaces what was said before. The next step verifies as much of it as
  // pays, or where it has a number as there is room for. Unknown ids are ignored.
  void propose(draft guess);
  // How many output tokens of its request come before a draft that is to be held to the request's grammar
  // before it is proposed, so that no step computes rows for tokens that are masked. Nothing where there is
  // none.
  std::optional<std::int32_t> place_in_grammar(const draft& guess) const;
  // How long such a step takes. Before at least two of these are known no draft without a number is verified,
  // unless all are (not adaptive_drafts).
  void measured_step(const timed_step& step, std::chrono::nanoseconds took);
  // They are another device's from here on: nothing is known of them.
  void forget_step_costs();
  // The oldest step in flight has taken so long; called before its commit().
  void served_step(std::chrono::nanoseconds took);
  // Whether a draft could pay now: beside as many as run a further row has to cost less than a step shared,
  // and none is being verified.
  bool wants_drafts() const;
  // Tokens of a request that steps in flight sample, and which only their commits make known. 0 for an
  // unknown id.
  std::int32_t pending_tokens(request_id id) const;
  // Null while a plan is open, as many steps are in flight as may be, drafts are being verified (how many
  // tokens they give is not known), or there is nothing to run.
  step_demand_ptr plan();
  resolved_step resolve(const step_reservation& reservation);
  // Steps end in the order in which they were planned; the result of any but the oldest is ignored. It has a
  // token for every sample of its batch, and the log-probabilities of every prompt row. `output` is cleared,
  // not freed.
  void commit(const step_result& result, scheduler_output& output);
  // Who runs and has samples withheld (step_result::withheld), who waited longest first: nothing of them is
  // planned before masks_ready(), which ignores all others.
  const std::vector<request_id>& awaiting_masks() const;
  void masks_ready(std::span<const request_id> ids);
  // Everybody who runs has had samples of its next token or its last withheld: work on masks keeps nobody
  // else waiting.
  bool have_all_costly_grammars() const;
  // What a KV cache that takes the place of another is told of everybody who is open (add_request()), in the
  // order of their ids: the tokens that the one before knew, and whose prompt is shared. What is appended
  // goes on behind these.
  std::vector<engine_request> requests_for_new_cache() const;
  // What the device stored is lost, and so are the steps in flight and a plan that is open: they have no end.
  // Whoever ran waits again and is computed from its prompt and the tokens that are known. Gives the end of
  // the request that is found guilty (suspects.hpp), if one is. The KV cache is to be told: everything up to
  // last_step() is lost.
  scheduler_output device_lost(blame whose);
  // The device had no memory for the oldest step: the same, but what earlier steps have stored is kept,
  // whoever ran counts as preempted, and where it was the size steps are smaller from here on
  // (step_bounds.hpp). False, and nothing is changed, where that was a single row, or a prompt that is not to
  // be cut.
  bool lacks_memory();
  // What steps may hold for want of memory.
  const step_bounds& bounds() const;
  // adopt_limits(), from the next plan on; requests that run or wait go on. A step is within what the device
  // was made for, and without chunked prefill it still holds the longest context.
  void change_limits(const scheduler_limits& next);
  // The KV cache has so many blocks from the next plan on, of which none is in use. Every request that was
  // accepted before still fits.
  void change_storage(std::int32_t num_blocks);
  // The number of the last step that was planned.
  std::uint64_t last_step() const;

  std::vector<request_id> open_requests() const;
  std::int32_t steps_in_flight() const;
  scheduler_counts counts() const;
  const draft_places& drafts_by_place() const;
  // Nothing for an unknown id.
  std::optional<request_state> describe(request_id id) const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace troupe
