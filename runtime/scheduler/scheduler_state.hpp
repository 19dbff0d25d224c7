// The scheduler's request table and queues; its methods are spread over the .cpp files of this folder by
// concern.
#pragma once
#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/blocks_for.hpp"
#include "runtime/drafting/draft_lengths.hpp"
#include "runtime/near_memory.hpp"
#include "runtime/object_pool.hpp"
#include "runtime/recycler.hpp"
#include "runtime/scheduler/new_token_ratio.hpp"
#include "runtime/scheduler/schedule_batch.hpp"
#include "runtime/scheduler/scheduler.hpp"
#include "runtime/scheduler/sequence.hpp"
#include "runtime/scheduler/step_bounds.hpp"
#include "runtime/scheduler/step_samples.hpp"
#include "runtime/scheduler/steps_in_flight.hpp"
#include "runtime/scheduler/suspects.hpp"

namespace troupe {

// What a token ends.
enum class token_end { none, end_token, stop_token, length };

struct scheduler::state {
  state(scheduler_limits given, std::uint64_t last_step);

  // admission.cpp
  result<scheduler_output> submit(engine_request request);
  result<std::int32_t> admissible_tokens(const engine_request& request) const;
  // full_queue.cpp: the ends of those who make room for it in a full queue.
  result<scheduler_output> make_room_in_queue(const engine_request& request);
  bool is_queue_full() const;
  // Of a request that are in, by the first of them: its own message may have been lost, and come again.
  std::vector<request_id> answers_of(request_id first) const;
  bool refused_first(request_id first) const;
  void remember_refused(request_id first);
  scheduler_output displace(request_id first, steady_time now);
  tl::unexpected<error> queue_is_full(steady_time arrival) const;
  std::int32_t seconds_the_next_waits(steady_time now) const;
  sequence& add(engine_request request, std::int32_t max_tokens);
  void grammar_ready(request_id id);

  // plan.cpp
  step_demand_ptr plan();
  // Both give what is left of the token budget. `turn`: who had no token in the last step, if anybody.
  std::int32_t plan_running(const sequence* turn);
  // Those of some running sequences; the others of them are put on the lists of who has more to compute, or
  // where all take turns are planned a token, too.
  void plan_decodes(std::span<sequence* const> some, bool take_turns, std::int32_t& budget);
  std::int32_t plan_waiting(std::int32_t budget);
  const char* why_not_now(const sequence& who) const;
  std::int32_t missing_of_waiting(const sequence& who) const;  // tokens of its prompt to compute, nearly
  void stop_for(const char* reason);
  const char* step_is_full() const;
  enum class readiness { ready, held, blocks_others };
  readiness readiness_of(sequence& who);
  bool is_held(const sequence& who) const;  // until the request whose prompt it is to share has computed it
  std::int32_t blocks_to_keep_free() const;
  step_demand_ptr demand_planned();

  // prefill.cpp
  // Each as many rows as it wants, in order.
  void plan_chunks(std::span<sequence* const> some, std::int32_t& budget);
  void plan_chunk(sequence& who, std::int32_t num_rows, std::int32_t& budget);
  // As many in all as `kept`, in equal parts; a row each where that is too little. Those beyond
  // max_num_partial_prefills pause, but for what the others leave of that.
  void plan_long_prompts(std::int32_t kept, std::int32_t& budget);
  void rank_long_prompts();
  bool shares_steps() const { return limits.enable_chunked_prefill && limits.long_prefill_share < 1; }
  // Whether a prompt with so many tokens to compute makes room for others: it fills more than a few steps.
  bool is_long(std::int32_t num_missing) const;
  std::int32_t share_of_long_prompts(std::int32_t budget) const;  // rows that they keep beside others
  bool is_waited_for() const;  // by somebody whom the long prompts make room for
  std::int32_t rows_of(const sequence& who, std::int32_t budget) const;
  // Of a waiting request in this step: nothing where it has to wait for others.
  std::int32_t rows_of_waiting(const sequence& who, std::int32_t budget) const;
  std::int32_t num_long_before(const sequence& who) const;  // in their midst, that do not pause for it

  // drafts.cpp
  void served_step(std::chrono::nanoseconds took);
  void propose(draft guess);
  std::optional<std::int32_t> place_in_grammar(const draft& guess) const;
  bool is_verifying() const;
  bool wants_drafts() const;
  // Gives the decodes that are planned their drafts, as many as pay and `budget` has rows for.
  void plan_drafts(std::int32_t budget);
  void plan_drafts_of(planned_rows& rows, std::int32_t count, std::int32_t& budget);
  void add_candidates(std::int32_t& budget);
  void add_candidate(planned_rows& rows, std::size_t count);
  // What the rows of the plan are, and what they take beside.
  step_load planned_load() const;
  double beside_usual(const planned_rows& rows, bool draws_further) const;
  // Drops those that make no sense any more, or that found no room; true where they hold blocks, be they
  // dropped or not.
  bool drop_vain_drafts();
  void count_drafts(const planned_rows& rows, std::int32_t right);
  // Gives back the blocks that drafts have taken which were rejected or dropped.
  void trim(sequence& who, scheduler_output& output) const;

  // resolve.cpp
  resolved_step resolve(const step_reservation& reservation);
  void learn_prefixes(const step_reservation& reservation);
  // False where a running sequence was refused.
  bool take_grants(const step_reservation& reservation);
  static void take_grant(planned_rows& rows, const sequence_grant& grant);
  static const sequence_grant& grant_of(const planned_rows& demanded, const step_reservation& reservation);
  // Admits the waiting requests that were granted; false where one was refused.
  bool admit_joining(const step_reservation& reservation);
  void admit(planned_rows& rows, std::int32_t num_cached);
  void tell_first_answer(const sequence& who);
  // What prompts in their midst have left to others, and these have not taken.
  void fill_up();
  void send_off(const step_reservation& reservation, resolved_step& resolved);

  // preempt.cpp
  // Running requests were refused blocks: takes the worst out until those left have what they want, now or
  // when the steps in flight are committed. Gives the blocks that are free at once.
  std::int32_t relieve(const step_reservation& reservation, std::vector<block_release>& releases);
  // The same for the first waiting request, where it is worth more than running ones.
  void make_room_for_refused(std::vector<block_release>& releases);
  // Takes and gives what is left of the token budget behind those that run.
  std::int32_t make_place_for_first(std::int32_t left, const sequence* turn);
  const sequence* first_to_admit();  // null where it has to wait whatever places there are
  std::optional<std::size_t> worst_running() const;
  // For want of blocks or places. Gives the blocks that are free at once.
  std::int32_t preempt(std::size_t index, std::vector<block_release>& releases);
  void count_preemption(sequence& victim);
  // The same for whatever reason; counts nothing.
  std::int32_t set_aside(std::size_t index, std::vector<block_release>& releases);
  std::int32_t returning_blocks() const;

  // commit.cpp
  void commit(const step_result& result, scheduler_output& output);
  void commit_rows(const step_in_flight& done, const step_result& result, scheduler_output& output);
  // Takes its tokens up to the first wrong draft or its end.
  void commit_samples(sequence& who, const planned_rows& rows, bool keeps_blocks, step_samples& samples,
                      scheduler_output& output);
  // The first of a sequence's samples, and those behind drafts that were right.
  struct taken_samples {
    std::int32_t behind = 0;  // drafts that a sample was looked for behind
    std::int32_t right = 0;   // drafts: of these the last may have nothing behind it that counts
    token_end by = token_end::none;
  };
  taken_samples take_samples(sequence& who, const planned_rows& rows, step_samples& samples,
                             token_event& event);
  // Its token, and those that are forced behind it: true where any are. `by`: what the last of them ends.
  bool take_sample(sequence& who, step_samples& samples, std::size_t sample, token_event& event,
                   token_end& by);
  void begin_answer(sequence& who, token_event& event);
  static void add_history(sequence& who, std::int32_t accepted_drafts, token_event& event);
  void finish_by(token_end by, sequence& who, token_event& event, scheduler_output& output);
  token_end take_token(sequence& who, token_id token, token_event& event);
  void commit_end(sequence& who, const sample_end& end, scheduler_output& output);
  // Ends with a sample of the step that is committed.
  void leave(sequence& who, scheduler_output& output);
  void take_out_leavers();
  void append_to_cache(sequence& who, scheduler_output& output) const;
  void finish_step();

  // withheld.cpp
  void compute_again(sequence& who, bool keeps_blocks);
  void mask_was_there(sequence& who);
  void masks_ready(std::span<const request_id> ids);
  void forget_mask(sequence& who);

  // replay.cpp
  std::vector<engine_request> requests_for_new_cache() const;
  scheduler_output device_lost(blame whose);
  bool lacks_memory();
  // Whether somebody was in many steps that lacked memory and has got no further in between: as all of its
  // steps do.
  bool note_shortage(const step_in_flight& step);
  step_size size_of(const step_in_flight& step) const;
  // Whoever runs waits again; nobody knows of a step any more.
  void start_over();
  std::optional<request_id> accuse_oldest_step(blame whose);
  void forget_steps();
  void send_back(sequence& who);  // to the waiting queue, with nothing computed
  void clear_stage_for_suspects(std::vector<block_release>& releases);

  // ending.cpp
  static void add_end(const sequence& who, finish_reason reason, std::optional<error> failure,
                      scheduler_output& output);
  scheduler_output end(request_id id, finish_reason reason, std::optional<error> failure);
  // In the order of their ids.
  scheduler_output end_answers(std::vector<request_id> answers, const error& failure);
  std::map<request_id, std::vector<request_id>> late_answers(steady_time time) const;
  scheduler_output stopped(request_id id);
  scheduler_output expire(steady_time time);
  // Takes a request out of the table, the deadlines and the waiting queue. Where it runs, it stays in
  // `running` for the caller to remove.
  block_release retire(sequence& who);
  void return_blocks(const sequence& who);
  // When a request comes or nothing is to be done: memory is given back when nobody waits for a step.
  void forget_retired();
  // Rounded up; from a second to an hour.
  static std::int32_t seconds_between(steady_time from, steady_time to);

  // change_limits.cpp
  void change_limits(const scheduler_limits& next);
  void queue_anew();

  // describe.cpp
  std::optional<request_state> describe(request_id id) const;
  static std::string how_running(const sequence& who);
  std::string why_waiting(const sequence& who) const;

  // Of a step.
  std::int32_t most_running() const {
    return std::min(std::max(limits.max_num_seqs, 0), bounds.sequences().value_or(limits.max_num_seqs));
  }
  std::int32_t token_budget() const;
  std::int32_t rows_for_drafts(std::int32_t budget) const;  // of `budget`, behind what is planned
  std::int32_t blocks_of(std::int32_t tokens) const { return blocks_for(tokens, limits.block_size); }

  scheduler_limits limits;
  // Shared with the batches, whose samples point to the sequences' parameters.
  struct sequence_memory {
    near_memory memory;
    object_pool<sequence> pool{memory.lasting()};
  };
  std::shared_ptr<sequence_memory> sequences = std::make_shared<sequence_memory>();
  boost::unordered_flat_map<request_id, sequence*> requests;
  std::set<std::pair<request_id, request_id>> further_answers;  // by the first one's id
  // Those with sequence::running, in the order of admission; who has ended is still here until it is taken
  // out.
  std::vector<sequence*> running;
  std::vector<request_id> awaiting_masks;  // of these, who waited longest first
  std::unique_ptr<waiting_queue> waiting;
  std::size_t num_held = 0;             // waiting ones that share another's prompt
  std::size_t num_without_grammar = 0;  // that wait for theirs, outside of the queue
  std::size_t num_waiting() const { return waiting->size() + num_without_grammar; }
  // By the full queue or a queue deadline, not long ago: their further choices follow close behind.
  static constexpr std::size_t most_refused_firsts = 1024;
  std::deque<request_id> refused_firsts;
  std::set<std::pair<steady_time, request_id>> deadlines;
  std::set<std::pair<steady_time, request_id>> queue_deadlines;

  bool some_have_drafts = false;
  bool has_planned_drafts = false;
  verification_costs costs;  // ns
  struct {                   // work space of plan_drafts()
    std::vector<planned_rows*> rows;
    std::vector<float> probabilities;  // of all, in order
    std::vector<std::span<const float>> of_rows;
    std::vector<double> row_costs;
    draft_lengths chosen;
  } candidates;
  bool is_planned = false;                 // a plan is open: its demand has no answer yet
  std::uint64_t step = 0;                  // the number of the last plan
  std::uint64_t committed = 0;             // the last step that is over
  std::vector<request_id> prefix_queries;  // of the plan that is open
  std::size_t num_demanded = 0;            // sequences in its demand
  schedule_batch planned;                  // of the open plan: running sequences ...
  schedule_batch joining;                  // ... and waiting ones
  std::vector<sequence*> brief_prompts;  // work space of a plan: who computes its prompt, which ends soon ...
  std::vector<sequence*> long_prompts;   // ... or does not, and ...
  std::vector<sequence*> past_prompt;    // ... who has several tokens behind it to compute
  std::int32_t num_ending = 0;           // of those planned last, whose prompt ends with this step
  std::int32_t num_partial_brief = 0;    // prompts of the plan that do not, brief ones ...
  std::int32_t num_partial_long = 0;     // ... and long ones
  std::int32_t wanted_rows = 0;          // that prompts in their midst could have beside those planned
  bool passes_brief = false;             // `passed` has no long prompt
  std::optional<request_id> passed;      // the first waiting request that has to wait for others' prompts
  const sequence* left_out = nullptr;    // the first that the last plan had no token for
  steps_in_flight_ring flights;
  recycler<step_batch> batches;
  recycler<step_demand> demands;
  std::vector<const sequence*> leavers;      // work space of a commit: who runs no longer
  std::vector<sequence*> retired;            // ended, but named by a plan or a step in flight
  suspects tried;                            // after a step that took the device along
  step_bounds bounds;                        // after one that the device had no memory for
  std::vector<block_release> owed_releases;  // of preemptions in plan(): told with the next demand
  bool room_came_back = false;               // since the open plan was made
  bool some_left = false;                    // since then, too

  struct {
    sequence* who = nullptr;
    std::int32_t blocks_wanted = 0;
    std::int32_t blocks_free = 0;
    std::int32_t keep_free = 0;
    bool passes = false;  // another one, for which it gives way
  } refused;              // the first waiting request, when it was refused last
  const char* stopped_by =
      nullptr;  // why the last plan took no more waiting requests, where no blocks are to blame
  new_token_ratio new_tokens;
  std::uint64_t tickets = 0;
  scheduler_counts totals;
  draft_places by_place = {};
};

}  // namespace troupe
