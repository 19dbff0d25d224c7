// The company's actors: one typed interface per role, one sentence per message.
#pragma once
#include <caf/all.hpp>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "actors/messaging/message_types.hpp"
#include "runtime/generation_request.hpp"

namespace troupe {

// gateway: one stream per client, between a server's sockets (or the embedding program) and the tokenizers.
using gateway_actor = caf::typed_actor<
    // Opens a stream for a client's request and sends it on to the tokenizer of its shard.
    caf::reacts_to<msg::open_stream, client_stream_ptr, generation_request_ptr>,
    // The client has left: passes that on to the request's tokenizer.
    caf::reacts_to<msg::abort>,
    // Hands each event to its client.
    caf::reacts_to<msg::stream_output, stream_batch_ptr>,
    // Learns who the tokenizers are; ends the streams of those that are gone.
    caf::reacts_to<msg::meet, company_roster_ptr>,
    // Opens no more streams; those opened before are with their tokenizers when this is answered.
    caf::replies_to<msg::close_doors>::with<msg::drained>,
    // Answers when no stream is open any more and every connection has ended.
    caf::replies_to<msg::drain>::with<msg::drained>,
    // From its own server: the last connection has ended.
    caf::reacts_to<msg::connections_closed>,
    // Answers a drain now, whatever is still open.
    caf::reacts_to<msg::abandon_connections>,
    // Bounds its connections by new limits; those that are open stay.
    caf::reacts_to<msg::reload, company_limits_ptr>,
    // Answers how many streams are open.
    caf::replies_to<msg::count>::with<msg::gateway_counts>,
    // Ends where a message was lost on its way here; tells those whom it sends to how many there were.
    caf::reacts_to<msg::take_stock>>;

// tokenizer: one shard of the streams; text to tokens on the way in, tokens to text on the way out.
using tokenizer_actor = caf::typed_actor<
    // Learns who the scheduler is and which gateways there are; ends streams whose scheduler is gone, aborts
    // those whose gateway is.
    caf::reacts_to<msg::meet, company_roster_ptr>,
    // Renders, encodes and validates a request, opens its stream and submits it to the scheduler.
    caf::reacts_to<msg::generate, generation_request_ptr, gateway_actor>,
    // Passes the wish of a gateway on to the scheduler, where the request is still open.
    caf::reacts_to<msg::abort>,
    // Turns a step's tokens into text, one stream_output per gateway; tells the scheduler which streams
    // stopped.
    caf::reacts_to<msg::token_output, token_batch_ptr>,
    // Answers a /tokenize or /detokenize call.
    caf::reacts_to<msg::convert_text, text_call_ptr>,
    // Ends every stream with an error and refuses new ones.
    caf::reacts_to<msg::company_failed>,
    // Asks the scheduler to end every open stream.
    caf::reacts_to<msg::abort_all>,
    // Gives the requests to come other timeouts.
    caf::reacts_to<msg::reload, company_limits_ptr>,
    // Refuses new requests; answers when no stream is open any more.
    caf::replies_to<msg::drain>::with<msg::drained>,
    // Answers how many streams are open.
    caf::replies_to<msg::count>::with<msg::tokenizer_counts>,
    // Ends where a message was lost on its way here; tells those whom it sends to how many there were.
    caf::reacts_to<msg::take_stock>,
    // Submits again what the scheduler has never heard of, and tells which streams are open.
    caf::reacts_to<msg::send_again>>;
using tokenizer_pool = std::vector<tokenizer_actor>;

// scheduler: the request table and the step loop.
using scheduler_actor = caf::typed_actor<
    // Learns who the others are: a request's tokenizer is the one at its id modulo their number. Ends the
    // requests of a tokenizer that is gone, and those with a grammar where structured_output is; has all
    // computed again where kv_cache is.
    caf::reacts_to<msg::meet, company_roster_ptr>,
    // Takes back all steps, so that their requests are computed again by the next runner; answers whether a
    // step may be to blame. A question, since the answer decides whether the end counts.
    caf::replies_to<msg::runner_lost>::with<msg::runner_missed>,
    // Puts a request into the waiting queue; a refusal comes back as the request's end.
    caf::reacts_to<msg::submit, engine_request_ptr>,
    // Ends a request in any state; unknown ids are ignored.
    caf::reacts_to<msg::abort>,
    // Takes requests out that a stop string has ended; unknown ids are ignored.
    caf::reacts_to<msg::stopped>,
    // Ends the requests whose deadline has passed.
    caf::reacts_to<msg::expire>,
    // Goes on without drafts that a step has waited for long enough.
    caf::reacts_to<msg::drafts_due>,
    // Learns what drafts cost, which decides how long they may be.
    caf::reacts_to<msg::step_cost>,
    // Drafts nothing until it has learnt that anew.
    caf::reacts_to<msg::forget_step_costs>,
    // Plans by new limits; whoever runs or waits goes on.
    caf::reacts_to<msg::reload, company_limits_ptr>,
    // Answers where a request stands; nothing for an unknown id.
    caf::reacts_to<msg::describe, describe_call_ptr>,
    // Answers how many requests run and wait.
    caf::replies_to<msg::count>::with<msg::request_counts>,
    // Asks for messages that were lost on their way here to be sent again; tells those whom it sends to how
    // many there were.
    caf::reacts_to<msg::take_stock>,
    // Ends the sender's requests but for these.
    caf::reacts_to<msg::still_open>>;

// kv_cache: who holds which block; the only writer of block tables.
using kv_cache_actor = caf::typed_actor<
    // Hashes the prompt of a request that waits, so that its cached prefix is found.
    caf::reacts_to<msg::add_sequence, engine_request_ptr>,
    // Grants or refuses, per sequence and in order, the blocks of a whole step.
    caf::replies_to<msg::reserve_step, step_demand_ptr>::with<step_reservation_ptr>,
    // Takes note that a step is over, of its tokens, and takes back the blocks of sequences that are done.
    caf::reacts_to<msg::commit_step>,
    // Forgets what is stored, and takes back every block.
    caf::reacts_to<msg::lose_storage>,
    // Takes back what steps hold that will never be executed.
    caf::reacts_to<msg::lose_steps>,
    // Takes back the blocks of sequences that are done, between steps.
    caf::reacts_to<msg::release_blocks>,
    // Forgets every cached prefix; answers whether no sequence holds blocks of them any more.
    caf::reacts_to<msg::reset_prefix_cache, reset_call_ptr>,
    // Answers how many blocks are free.
    caf::replies_to<msg::count>::with<msg::kv_cache_counts>,
    // Ends where a message was lost on its way here.
    caf::reacts_to<msg::take_stock>>;

// grammar_compiler: from specifications to grammars, off everybody's way.
using grammar_compiler_actor = caf::typed_actor<
    // Compiles one grammar; a refusal is an outcome like any other.
    caf::replies_to<msg::compile_grammar, grammar_spec_ptr>::with<msg::grammar_compiled, compile_outcome_ptr>,
    // Ends where a message was lost on its way here.
    caf::reacts_to<msg::take_stock>>;

// One for each lane of the compile_queue.
struct grammar_compilers {
  grammar_compiler_actor quick;
  grammar_compiler_actor patient;
};

// structured_output: compiled grammars, and where each request stands in its own.
using structured_output_actor = caf::typed_actor<
    // Learns who the compilers and the runner are; forgets the steps of a runner that is gone.
    caf::reacts_to<msg::meet, company_roster_ptr>,
    // Finds or has compiled the request's grammar; answers when it is there, or refused.
    caf::replies_to<msg::open_grammar, grammar_spec_ptr>::with<msg::grammar_opened, error_ptr>,
    // Forgets requests that have ended; unknown ids are ignored.
    caf::reacts_to<msg::release_grammars>,
    // Answers with these drafts, each cut before the first token that its request's grammar does not have.
    caf::replies_to<msg::filter_drafts, held_drafts_ptr>::with<drafts_ptr>,
    // Fills a step's masks as soon as the tokens before it are known, and sends them to the runner.
    caf::reacts_to<msg::fill_masks, step_batch_ptr>,
    // Works for a while on masks that took too long for a step; answers with those that need no more of it.
    caf::replies_to<msg::prepare_masks>::with<msg::masks_prepared>,
    // Answers how many requests it knows.
    caf::replies_to<msg::count>::with<msg::structured_output_counts>,
    // Ends where a message was lost on its way here; tells those whom it sends to how many there were.
    caf::reacts_to<msg::take_stock>>;

// drafter: guesses how running requests go on.
using drafter_actor = caf::typed_actor<
    // Learns who the runner is.
    caf::reacts_to<msg::meet, company_roster_ptr>,
    // Reads a prompt, piece by piece, to guess from it.
    caf::reacts_to<msg::open_drafts, engine_request_ptr>,
    // Takes note of tokens and ends; unknown ids are ignored.
    caf::reacts_to<msg::observe_tokens, draft_news_ptr>,
    // Does the same, and answers with a draft for whoever it has one.
    caf::replies_to<msg::propose_drafts, draft_news_ptr>::with<drafts_ptr>,
    // Goes on reading.
    caf::reacts_to<msg::index_drafts>,
    // Ends where a message was lost on its way here; tells those whom it sends to how many there were.
    caf::reacts_to<msg::take_stock>>;

// model_runner: the executor; the only one that touches the device and the only one that blocks.
using model_runner_actor = caf::typed_actor<
    // Opens its device; answers an error, and ends, where that cannot be done.
    caf::replies_to<msg::open_device>::with<msg::device_opened>,
    // Executes an item of the warm-up and forgets it; a bucket that fails is left out.
    caf::replies_to<msg::warm_up, warm_up_task_ptr>::with<msg::warmed_up>,
    // Executes one step; ends where the step throws. One with masked samples is sampled once its masks are
    // there; later steps are held back so long.
    caf::replies_to<msg::run_step, step_batch_ptr>::with<msg::step_done, step_result_ptr>,
    // Brings a step's masks; answers with what the step has sampled.
    caf::replies_to<msg::apply_masks, step_masks_ptr>::with<step_result_ptr>,
    // Samples without masks what has been asked for so far.
    caf::reacts_to<msg::abandon_masks>,
    // Its own: tells what a step has sampled once the device says so. What comes before that goes first.
    caf::reacts_to<msg::collect_tokens>,
    // Tells the draft model of requests, tokens and ends.
    caf::reacts_to<msg::observe_tokens, draft_work_ptr>,
    // Does the same, and has it draft; at once, between two steps, also while one is held. Null: nothing
    // pays, or there is no draft model any more.
    caf::replies_to<msg::propose_drafts, draft_work_ptr>::with<drafts_ptr>,
    // Ends where a message was lost on its way here.
    caf::reacts_to<msg::take_stock>>;

// Everybody that the supervisor has started. Null: nobody fills this role, now or for ever.
struct company_roster {
  kv_cache_actor kv_cache;
  std::int32_t num_blocks = 0;  // that it keeps
  model_runner_actor model_runner;
  grammar_compilers compilers;
  structured_output_actor structured_output;
  drafter_actor drafter;  // null: nobody guesses
  scheduler_actor scheduler;
  tokenizer_pool tokenizers;    // the shards of the streams; the last takes those with long prompts
  tokenizer_actor text_worker;  // /tokenize and /detokenize, so that long texts delay no stream
  gateway_actor gateway;        // the embedding program's own
  std::vector<gateway_actor> socket_gateways;
};

// Makes a gateway like the one that has ended, on the same port; null where that cannot be done.
using gateway_starter = std::function<gateway_actor(const company_roster_ptr&)>;

// supervisor: starts, warms up, watches, drains.
using supervisor_actor = caf::typed_actor<
    // Starts the actors in order and answers with their handles, then warms up; readiness shows on the board.
    caf::replies_to<msg::start_company>::with<company_roster_ptr>,
    // Goes on with a lazy warm-up where nothing has run for a while.
    caf::reacts_to<msg::continue_warm_up>,
    // Ends a device that hangs, and the runner whose device has ended.
    caf::reacts_to<msg::look_after_device>,
    // Its own: the pause before another runner is over.
    caf::reacts_to<msg::start_next_runner>,
    // Its own, once in a while: has everybody told how many messages were sent to them. From others: asks for
    // those that were lost.
    caf::reacts_to<msg::take_stock>,
    // Tells the scheduler once more all that it must know.
    caf::reacts_to<msg::send_again>,
    // Watches, drains and ends this gateway with the others, and answers with all. Twice is once.
    caf::replies_to<msg::add_gateway, gateway_actor, gateway_starter>::with<company_roster_ptr>,
    // Refuses new requests, lets open ones finish within the grace and aborts the rest; answers when all have
    // ended.
    caf::replies_to<msg::drain_company>::with<msg::company_drained>,
    // Checks new limits, then tells them to everybody, or to nobody; answers which.
    caf::reacts_to<msg::reload, company_limits_ptr, reload_call_ptr>,
    // Answers who fills which role of the tree, and how they are.
    caf::reacts_to<msg::describe_company, company_call_ptr>,
    // Whoever waits for a drain does not want to wait any longer.
    caf::reacts_to<msg::end_grace>,
    // The grace of a drain is nearly over: aborts what is still open.
    caf::reacts_to<msg::abort_all>,
    // The grace of a drain is over: waits for no connection any more.
    caf::reacts_to<msg::abandon_connections>>;

// How a company wants its actor system: the scheduling policy ("sharing", "stealing", or "testing" for one
// that runs only when a test asks it to) and the number of worker threads.
inline void configure(caf::actor_system_config& config, const std::string& policy, std::size_t threads) {
  config.set("scheduler.policy", caf::atom_from_string(policy));
  config.set("scheduler.max-threads", threads);
}

}  // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::gateway_starter)
