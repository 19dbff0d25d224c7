// Every message of the company. A message is a small named struct; what is large travels beside it as
// shared_ptr<const T>, by pointer and never serialised, since one company lives in one process.
//
// What CAF has to know of each beside its fields stands in message_types.hpp.
#pragma once
#include <caf/timespan.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "actors/clients/client_calls.hpp"
#include "actors/company_limits.hpp"
#include "actors/drain_outcome.hpp"
#include "runtime/drafting/draft.hpp"
#include "runtime/executor/warm_up/warm_up.hpp"
#include "runtime/generation_request.hpp"
#include "runtime/grammar/compiled_grammar.hpp"
#include "runtime/grammar/specification/grammar_spec.hpp"
#include "runtime/kv_cache/kv_cache_manager.hpp"
#include "runtime/request.hpp"
#include "runtime/scheduler/scheduler.hpp"
#include "runtime/step_batch.hpp"
#include "runtime/step_masks.hpp"
#include "runtime/stream.hpp"

namespace troupe {

using engine_request_ptr = std::shared_ptr<const engine_request>;
using step_reservation_ptr = std::shared_ptr<const step_reservation>;
using error_ptr = std::shared_ptr<const error>;
using draft_news_ptr = std::shared_ptr<const draft_news>;
// What a draft model must hear before it drafts: new requests, then what has come of all that run.
struct draft_work {
  std::vector<engine_request_ptr> opened = {};
  draft_news news = {};
  bool is_first = false;  // of its drafter: nobody will say any more how requests of an earlier one go on
};
using draft_work_ptr = std::shared_ptr<const draft_work>;
using drafts_ptr = std::shared_ptr<const std::vector<draft>>;
// A draft of a request that has a grammar.
struct held_draft {
  draft guess = {};
  std::int32_t num_generated = 0;  // output tokens of the request that come before it
};
using held_drafts_ptr = std::shared_ptr<const std::vector<held_draft>>;
// Who fills which role (interfaces.hpp).
struct company_roster;
using company_roster_ptr = std::shared_ptr<const company_roster>;
using compile_outcome_ptr = std::shared_ptr<const result<grammar::compiled_grammar_ptr>>;

namespace msg {

// The place of a message among those that its sender has for its receiver, from 1 on (outbox.hpp); 0: it is
// not counted.
using message_number = std::uint64_t;

// ---- a request on its way in ----

// A client's request, once for each answer that it wants. Beside it: client_stream_ptr,
// generation_request_ptr.
struct open_stream {
  request_id id = 0;
  std::int32_t index = 0;  // of the answer
  request_id first = 0;    // the id of the one at index 0
  // In seconds since the epoch: the date that a chat template may tell, the same for every answer, since they
  // share their prompt.
  std::int64_t asked_at = 0;
};
// The same request, timed. Beside it: generation_request_ptr, gateway_actor.
struct generate {
  request_id id = 0;
  steady_time arrival{};
  std::int32_t index = 0;
  request_id first = 0;
  std::int64_t asked_at = 0;
  message_number number = 0;
};
// The same request in tokens. Beside it: engine_request_ptr.
struct submit {
  request_id id = 0;
  message_number number = 0;
};
// A request that waits now: its prompt, for the prefix cache. Beside it: engine_request_ptr.
struct add_sequence {
  request_id id = 0;
  message_number number = 0;
};
// A request whose output may be guessed ahead. Beside it: engine_request_ptr.
struct open_drafts {
  request_id id = 0;
  message_number number = 0;
};
// A request that is to be held to a grammar. Beside it: grammar_spec_ptr.
struct open_grammar {
  request_id id = 0;
  std::string tenant = {};
  message_number number = 0;
};
// Its grammar is there, or refused. Beside it: error_ptr, null where it is there.
struct grammar_opened {
  request_id id = 0;
};
// These requests have ended, also where their grammars are not compiled yet.
struct release_grammars {
  std::vector<request_id> ids;
  message_number number = 0;
};
// Rows of these requests were withheld: work on their masks for a while, in this order.
struct prepare_masks {
  std::vector<request_id> ids;
  message_number number = 0;
};
// Of these the rows are to be computed again.
struct masks_prepared {
  std::vector<request_id> ids;
};
// Make a grammar of a specification. Beside it: grammar_spec_ptr.
struct compile_grammar {
  message_number number = 0;
};
// Beside it: compile_outcome_ptr.
struct grammar_compiled {
  std::int64_t nanoseconds = 0;
};
// Nobody waits for this request any more.
struct abort {
  request_id id = 0;
  message_number number = 0;
};
// Where a request stands. Beside it: describe_call_ptr.
struct describe {
  request_id id = 0;
};
// Forget every cached prefix. Beside it: reset_call_ptr.
struct reset_prefix_cache {};
// Text to tokens or back, outside any request. Beside it: text_call_ptr.
struct convert_text {
  std::int64_t asked_at = 0;  // of messages, as of open_stream
};

// ---- one step ----

// Room for a whole step, all of it or a refusal per sequence. Beside it: step_demand_ptr.
struct reserve_step {
  std::uint64_t step = 0;
  message_number number = 0;
};
// The step has been executed or will never be: its sequences have these tokens more, and some of them are
// done with their blocks.
struct commit_step {
  std::uint64_t step = 0;
  std::vector<token_append> appends;
  std::vector<token_id> appended;  // of all appends, in order
  std::vector<block_trim> trims;
  std::vector<block_release> releases;
  message_number number = 0;
};
// What is stored is lost, and the steps up to this one will never be executed.
struct lose_storage {
  std::uint64_t last_step = 0;
  message_number number = 0;
};
// The steps up to this one will never be executed; what is stored is kept.
struct lose_steps {
  std::uint64_t last_step = 0;
  message_number number = 0;
};
// These sequences are done with their blocks. No step has ended.
struct release_blocks {
  std::vector<block_release> releases;
  message_number number = 0;
};
// What a step has sampled, and who has ended. Beside it: draft_news_ptr, or draft_work_ptr.
struct observe_tokens {
  message_number number = 0;
};
// The same, and now: how do they go on? Beside it: draft_news_ptr, or draft_work_ptr.
struct propose_drafts {
  message_number number = 0;
};
// Which of their tokens do the grammars have? Beside it: held_drafts_ptr.
struct filter_drafts {
  message_number number = 0;
};
// The drafter's own: index a further piece of the prompts that wait for it.
struct index_drafts {};
// How long such a step takes: timed_step.
struct step_cost {
  std::int32_t rows = 0;
  std::int32_t context = 0;
  bool is_random = false;
  std::int64_t nanoseconds = 0;
  message_number number = 0;
};
// What steps take is that of another device now: nothing is known of this one.
struct forget_step_costs {
  message_number number = 0;
};
// Execute one step. Beside it: step_batch_ptr.
struct run_step {
  std::uint64_t step = 0;
  message_number number = 0;
};
// Fill the masks of this step. Beside it: step_batch_ptr.
struct fill_masks {
  std::uint64_t step = 0;
  message_number number = 0;
};
// What a step that is marked (step_batch::masked_samples) may sample. Beside it: step_masks_ptr.
struct apply_masks {
  std::uint64_t step = 0;
  message_number number = 0;
};
// Nobody is left who would fill the masks of the steps that have been asked for by now.
struct abandon_masks {
  message_number number = 0;
};
// A step's sampled tokens and how long it took. Beside it: step_result_ptr.
struct step_done {
  std::uint64_t step = 0;
  std::int64_t nanoseconds = 0;
};
// A request that ran for the first time.
struct first_step {
  request_id id = 0;
  std::int64_t grammar_wait = 0;  // nanoseconds until its grammar was there
};
// A shard's tokens and ends, of one step or between steps. Beside it: token_batch_ptr.
struct token_output {
  std::uint64_t step = 0;
  steady_time step_began{};           // of the step
  std::vector<first_step> scheduled;  // whose first step this was
  message_number number = 0;
};
// A gateway's text of one step. Beside it: stream_batch_ptr.
struct stream_output {
  std::uint64_t step = 0;
  message_number number = 0;
};
// These streams were ended by a stop string: no more tokens for them.
struct stopped {
  std::vector<request_id> ids;
  message_number number = 0;
};
// The scheduler's timer: some request's deadline has come.
struct expire {};
// The scheduler's timer: drafts that a step waits for may be late.
struct drafts_due {};

// ---- starting, watching, ending ----

// Who fills the roles now. Beside it: company_roster_ptr.
struct meet {
  message_number number = 0;
};
// The model runner is gone, and all that it had stored, unless its device is kept.
struct runner_lost {
  bool was_killed = false;      // from outside
  bool was_for_nobody = false;  // a step of no request ended it: of the draft model, or of the warm-up
  bool lacked_memory = false;   // for its oldest step; the device is the next runner's
  message_number number = 0;
};
// What the scheduler knows of that.
struct runner_missed {
  bool is_excused = false;  // a step may be to blame, or a draft
  bool runs_on = false;     // whoever lacked memory: in smaller steps, on the same device
  bool has_served = false;  // a step has come to its end since the runner before this one was lost
  std::int32_t rows = 0;  // of the step that ended it, or one before it where none has come to its end since
};
// Make the device ready to run.
struct open_device {
  std::int32_t proof_rows = 0;    // of a prompt of nobody's that it has to answer first; 0: none
  bool has_drafter = false;       // else nobody directs a draft model, and there is none
  std::int32_t most_blocks = 0;   // a larger KV cache gives way to one of so many; 0: none does
  std::int32_t least_blocks = 0;  // a runner whose smaller cache has fewer has not opened
  message_number number = 0;
};
struct device_opened {
  std::int32_t num_blocks = 0;   // of its KV cache
  std::string cache_dtype = {};  // kv_layout::dtype
  std::string kernel_path = {};  // executor::kernel_path()
};
// Execute one item of the warm-up and forget it. Beside it: warm_up_task_ptr.
struct warm_up {
  std::int32_t item = 0;
  message_number number = 0;
};
struct warmed_up {
  std::int32_t item = 0;
  std::int64_t nanoseconds = 0;
  bool succeeded = true;
  bool is_over = true;  // false: a plan is being chosen, and the same item is wanted again
};
// The supervisor's reminder to itself: look whether nothing runs and go on warming up.
struct continue_warm_up {};
// So many messages have been sent to you, this one included. Supervisor to itself, once in a while: tell
// everybody.
struct take_stock {
  bool is_for_all = false;  // and tell those to whom you send
  message_number number = 0;
};
// Scheduler to whoever sends to it: `count` of your messages, from this one on, never came.
struct send_again {
  message_number first = 0;
  std::uint64_t count = 0;
  message_number number = 0;
};
// Tokenizer to scheduler, where messages were lost: it has these streams and no others.
struct still_open {
  std::vector<request_id> ids;
  message_number number = 0;
};
// Supervisor to itself, once in a while: does the device hang?
struct look_after_device {};
// Supervisor to itself: the pause before another runner is over.
struct start_next_runner {};
// The model runner to itself: are the tokens of the last step there?
struct collect_tokens {};
// To the supervisor: start everybody, answer with their handles, then warm up.
struct start_company {};
// To the supervisor: watch this gateway too, and start it again where it ends. Beside it: gateway_actor,
// gateway_starter.
struct add_gateway {
  std::string name;  // of its role: one that no other has
  std::string kind;  // by which the metrics know it
};
// The company cannot go on: end every stream with an error, take no more.
struct company_failed {
  message_number number = 0;
};
// Take no more requests; the answer, drained, comes when those before are with their tokenizers.
struct close_doors {
  message_number number = 0;
};
// Take no more requests; the answer comes when the last open one has ended.
struct drain {
  message_number number = 0;
};
struct drained {
  std::uint64_t aborted = 0;  // requests that had no end of their own
};
// The company has drained.
struct company_drained {
  drain_outcome outcome = drain_outcome::complete;
  std::uint64_t aborted = 0;  // requests, as far as is known
};
// A gateway's server has no connection left.
struct connections_closed {};
// Wait for connections no longer.
struct abandon_connections {
  message_number number = 0;
};
// The grace is over: end what is still open.
struct abort_all {
  message_number number = 0;
};
// To the supervisor: the grace of a drain is over, also of one that is to come.
struct end_grace {};
// To the supervisor: drain everybody, at most so long.
struct drain_company {
  caf::timespan grace{};
};
// To the supervisor: check and pass on new limits; beside it: company_limits_ptr, reload_call_ptr. From it:
// go by these limits from now on; beside it: company_limits_ptr.
struct reload {
  message_number number = 0;
};
// To the supervisor: how everybody is. Beside it: company_call_ptr.
struct describe_company {};
// What an actor has open at the moment.
struct count {};
struct gateway_counts {
  std::uint64_t streams = 0;
};
struct tokenizer_counts {
  std::uint64_t streams = 0;
};
struct kv_cache_counts {
  std::int32_t blocks = 0;
  std::int32_t free_blocks = 0;
  bool consistent = true;
};
struct structured_output_counts {
  std::uint64_t open = 0;     // requests with a grammar at work
  std::uint64_t waiting = 0;  // requests whose grammar is not there yet
};
struct request_counts {
  std::int32_t running = 0;
  std::int32_t waiting = 0;
  std::uint64_t preemptions = 0;
  std::uint64_t draft_tokens = 0;     // that steps verified
  std::uint64_t accepted_tokens = 0;  // of these
};

}  // namespace msg
}  // namespace troupe
