#include "tests/runtime/scheduler/simulation_fixture.hpp"

#include <fmt/format.h>

#include <algorithm>

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "runtime/executor/token_feed.hpp"
#include "runtime/grammar/grammar_sessions.hpp"
#include "runtime/kv_cache/kv_cache_manager.hpp"
#include "runtime/scheduler/scheduler.hpp"
#include "tests/runtime/scheduler/ledger_fixture.hpp"
#include "tests/runtime/scheduler/simulated_grammars_fixture.hpp"
#include "tests/support/dice.hpp"
#include "tests/support/draw_limits.hpp"
#include "tests/support/paged_executor.hpp"
#include "tests/support/promise.hpp"

namespace troupe {

namespace {

constexpr std::int32_t vocab = ledger::vocab;

scheduler_limits draw_limits(dice& random) {
  scheduler_limits limits;
  constexpr std::int32_t block_sizes[] = {1, 2, 4, 16};
  limits.block_size = block_sizes[random.pick(0, 3)];
  limits.max_num_seqs = random.pick(1, 8);
  limits.max_num_batched_tokens = random.chance(20) ? random.pick(2, 6) : random.pick(1, 40);
  limits.max_model_len = random.pick(4, 80);
  // From pools that hold one sequence to pools that hold them all.
  limits.num_blocks = random.pick(1, 1 + limits.max_model_len * random.pick(1, 6) / limits.block_size);
  limits.max_num_queued_requests = static_cast<std::size_t>(random.pick(2, 40));
  limits.end_tokens = {3, 5};
  limits.max_steps_in_flight = random.chance(30) ? 1 : random.chance(60) ? 2 : random.pick(3, 6);
  constexpr scheduling_policy policies[] = {scheduling_policy::fcfs, scheduling_policy::priority,
                                            scheduling_policy::lpm, scheduling_policy::drr};
  limits.priority_patience = random.pick(0, 20);
  limits.policy = random.chance(50) ? scheduling_policy::fcfs : policies[random.pick(1, 3)];
  limits.enable_prefix_caching = random.chance(60);
  limits.adaptive_drafts = random.chance(30);
  draw_prefill_limits(random, limits);
  return limits;
}

// The four parties are scheduler, KV cache, device and who fills masks; what one sends another arrives in
// order. Who acts next is drawn.
class simulation {
 public:
  explicit simulation(const simulation_options& options)
      : random_(options.seed),
        num_requests_(options.num_requests),
        limits_(draw_limits(random_)),
        widest_(limits_),
        spells_forced_(random_.chance(50) ? simulated_tokenizer() : nullptr),
        ledger_(limits_, spells_forced_),
        scheduler_(limits_),
        kv_cache_({limits_.num_blocks, limits_.block_size, limits_.enable_prefix_caching}),
        device_({limits_.block_size, limits_.num_blocks, 1}, vocab),
        withholds_(random_.chance(50)),
        sessions_(spells_forced_,
                  withholds_ ? static_cast<std::uint64_t>(random_.pick(1, 8)) : grammar::matcher::no_bound),
        slow_(random_.chance(30)),
        changes_limits_(random_.chance(30)),
        lacks_memory_(random_.chance(30) ? 5 : 0),
        drafts_(random_.chance(50)),
        wrong_drafts_(random_.chance(20) ? 0 : random_.pick(5, 100)) {}

  simulation_story run() {
    try {
      while (submitted_ < num_requests_ || is_busy()) turn();
      check_end();
    } catch (const broken_promise& promise) {
      story_.fault = promise.what();
    }
    story_.preemptions = scheduler_.counts().preemptions;
    story_.cached_tokens = scheduler_.counts().cached_tokens;
    story_.forced_tokens = scheduler_.counts().forced_tokens;
    story_.withheld_samples = scheduler_.counts().withheld_samples;
    story_.draft_tokens = scheduler_.counts().drafts.tokens;
    story_.accepted_tokens = scheduler_.counts().drafts.accepted;
    story_.numbered_tokens = scheduler_.counts().drafts.numbered.tokens;
    story_.accepted_numbered_tokens = scheduler_.counts().drafts.numbered.accepted;
    story_.finished = ledger_.num_finished();
    return story_;
  }

 private:
  using message = std::function<void()>;

  bool is_busy() const {
    const scheduler_counts counts = scheduler_.counts();
    return counts.running + counts.waiting + counts.steps_in_flight > 0 || !to_cache_.empty() ||
           reservation_ != nullptr || !to_grammars_.empty();
  }

  void turn() {
    require(++turns_ < 3000 * (num_requests_ + 10), "no progress: a request starves");
    now_ += std::chrono::milliseconds(random_.pick(0, 1));
    disturb();
    if (device_can_act() && random_.chance(slow_ ? 10 : 40)) return execute();
    if (!to_grammars_.empty() && random_.chance(60)) return act(to_grammars_);
    if (random_.chance(40) && fill_masks()) return;
    if (!to_cache_.empty() && random_.chance(60)) return act(to_cache_);
    if (reservation_ && random_.chance(60)) return resolve();
    if (!results_.empty() && random_.chance(60)) return act(results_);
    if (random_.chance(30) && ask_for_masks()) return;
    plan();
    if (to_cache_.empty() && !reservation_ && results_.empty()) {
      if (device_can_act()) return execute();
      if (!to_grammars_.empty()) return act(to_grammars_);
      if (fill_masks() || ask_for_masks()) return;
      const scheduler_counts counts = scheduler_.counts();
      require(counts.running + counts.waiting == 0,
              "there is work, nothing runs, and nobody will plan again");
    }
  }

  static void act(std::deque<message>& inbox) {
    const message next = std::move(inbox.front());
    inbox.pop_front();
    next();
  }

  // ---- the scheduler's actor ----

  void plan() {
    if (awaits_device_) return;
    const std::uint64_t preemptions = scheduler_.counts().preemptions;
    step_demand_ptr demand = scheduler_.plan();
    const bool has_preempted = scheduler_.counts().preemptions > preemptions;
    const bool are_too_many = scheduler_.counts().running >= limits_.max_num_seqs;
    require(!has_preempted || are_too_many || (demand && admits_somebody(*demand)),
            "a request was preempted for one that does not begin");
    if (!demand) return;
    limits_changed_ = is_disturbed_ = false;
    ask(std::move(demand));
  }

  bool admits_somebody(const step_demand& demand) const {
    return std::ranges::any_of(demand.sequences, [&](const sequence_demand& wanted) {
      return scheduler_.describe(wanted.id)->phase == request_phase::waiting;
    });
  }

  void ask(step_demand_ptr demand) {
    planning_ = true;
    to_cache_.push_back([this, demand = std::move(demand)] {
      auto answer = std::make_unique<step_reservation>();
      kv_cache_.reserve_step(*demand, *answer);
      reservation_ = std::move(answer);
      if (random_.chance(50)) kv_cache_.index_blocks();
      check_cache();
    });
  }

  void resolve() {
    const std::unique_ptr<step_reservation> answer = std::move(reservation_);
    all_granted_ = std::ranges::all_of(answer->sequences, &sequence_grant::granted);
    resolved_step resolved = scheduler_.resolve(*answer);
    planning_ = false;
    release(resolved.releases);
    require(!(resolved.batch && resolved.demand), "a batch and a demand at once");
    if (resolved.demand) {
      require(++rounds_ < 100, "planning comes to no end");
      return ask(std::move(resolved.demand));
    }
    rounds_ = 0;
    if (resolved.batch) send_off(std::move(resolved.batch));
    plan();
  }

  void send_off(step_batch_ptr batch) {
    ++story_.steps;
    const step_size size = size_of(*batch);
    const step_bounds& now = scheduler_.bounds();
    require(size.sequences <= now.sequences().value_or(size.sequences) &&
                size.rows <= std::max(now.rows().value_or(size.rows), size.sequences),
            "a step is as large as one that there was no memory for");
    if (!in_flight_.empty()) ++story_.planned_ahead;
    story_.fed_tokens += batch->fed_rows.size();
    story_.copied_blocks += batch->copies.size();
    if (!batch->drafts.empty() && !batch->masked_samples.empty()) ++story_.masked_drafts;
    if (!batch->drafts.empty() && !batch->fed_rows.empty()) ++story_.fed_drafts;
    const std::string fault = batch_fault(*batch, limits_.block_size, limits_.num_blocks,
                                          widest_.max_num_batched_tokens, widest_.max_num_seqs);
    require(fault.empty(), "the batch: " + fault);
    check_chunks(*batch);
    check_shares(*batch);
    if (!batch->masked_samples.empty()) {
      ++story_.masked_steps;
      to_grammars_.push_back([this, batch] {
        if (withholds_ && random_.chance(40)) forget_simulated_masks();
        sessions_.begin(*batch);
      });
    }
    in_flight_.push_back(batch);
    to_device_.push_back(std::move(batch));
    require(static_cast<std::int32_t>(in_flight_.size()) <= limits_.max_steps_in_flight,
            "more steps in flight than allowed");
  }

  bool ask_for_masks() {
    if (asks_for_masks_ || scheduler_.awaiting_masks().empty()) return false;
    asks_for_masks_ = true;
    to_grammars_.push_back([this, ids = scheduler_.awaiting_masks()] {
      results_.push_back([this, ready = sessions_.prepare(ids)] {
        asks_for_masks_ = false;
        scheduler_.masks_ready(ready);
        plan();
      });
    });
    return true;
  }

  void check_chunks(const step_batch& batch) const {
    std::vector<std::int32_t> samples(batch.sequences.size(), 0);
    for (const sample_row& sample : batch.samples) ++samples[static_cast<std::size_t>(sample.sequence)];
    for (std::size_t i = 0; i < batch.sequences.size(); ++i) {
      const sequence_rows& rows = batch.sequences[i];
      const std::int32_t certain = rows.num_rows - std::max(samples[i] - 1, 0);
      require(samples[i] <= 1 || certain == 1, "drafts behind a prompt's chunk");
      const bool is_chunk = certain > 1 && limits_.enable_chunked_prefill;
      require(!is_chunk || widest_.long_prefill_token_threshold == 0 ||
                  certain <= widest_.long_prefill_token_threshold,
              "a chunk is longer than allowed");
      const auto last = static_cast<std::size_t>(rows.first_row + certain - 1);
      const auto prompt = static_cast<std::int32_t>(ledger_.at(rows.id).prompt.size());
      require(limits_.enable_chunked_prefill || samples[i] > 0 || batch.positions[last] + 1 >= prompt,
              "a prompt was cut although that is switched off");
    }
  }

  // What a request knows when it is admitted is computed as a prompt is, an answer that is computed again,
  // too: where it fills more than a few steps, it keeps its share of one beside those that are soon done.
  void check_shares(const step_batch& batch) {
    const prompts_under_way found = look_at_prompts(batch);
    bool admits = found.admits_again;
    for (const sequence_rows& each : batch.sequences) {
      const auto now = scheduler_.describe(each.id);
      const admission first{now->prompt_tokens + now->generated_tokens, now->computed_tokens};
      admits |= known_at_admission_.try_emplace(each.id, first).second;
    }
    const bool shares = limits_.enable_chunked_prefill && limits_.long_prefill_share < 1;
    if (!shares || limits_changed_ || !all_granted_ || found.num_long == 0) return;
    if (!found.brief_wants_more && (admits || is_disturbed_ || !keeps_brief_waiting())) return;
    ++story_.shared_steps;
    const double share = limits_.long_prefill_share * limits_.max_num_batched_tokens;
    require(found.rows_of_long <= std::max(static_cast<std::int32_t>(share), 1) + found.num_long,
            "what is long keeps more than its share of a step");
  }

  bool is_long(std::int32_t missing) const { return missing > 4 * limits_.max_num_batched_tokens; }

  // Of those that ran before the step.
  struct prompts_under_way {
    std::int32_t num_long = 0;
    std::int32_t rows_of_long = 0;
    bool brief_wants_more = false;
    bool admits_again = false;  // somebody who was preempted since
  };
  prompts_under_way look_at_prompts(const step_batch& batch) {
    prompts_under_way found;
    std::set<request_id> sampled;
    std::map<request_id, std::int32_t> rows;
    for (const sequence_rows& each : batch.sequences) rows[each.id] = each.num_rows;
    for (const sample_row& sample : batch.samples)
      sampled.insert(batch.sequences[static_cast<std::size_t>(sample.sequence)].id);
    for (auto& [id, its] : known_at_admission_) {
      const auto now = scheduler_.describe(id);
      if (!now || now->phase != request_phase::running) continue;
      const std::int32_t computed = std::exchange(its.computed, now->computed_tokens);
      if (sampled.contains(id)) continue;
      const std::int32_t given = rows.contains(id) ? rows.at(id) : 0;
      const std::int32_t before = now->computed_tokens - given;
      const std::int32_t missing = now->prompt_tokens + now->generated_tokens - before;
      if (before < computed) {
        its.known = now->prompt_tokens + now->generated_tokens;
        found.admits_again = true;
        continue;
      }
      if (missing <= 1 || before >= its.known) continue;
      const std::int32_t most = limits_.long_prefill_token_threshold;
      if (is_long(missing)) {
        found.rows_of_long += given;
        ++found.num_long;
      } else if (given < (most > 0 ? std::min(missing, most) : missing)) {
        found.brief_wants_more = true;
      }
    }
    return found;
  }

  // Under the other policies the next one need not be the one that was when the step was planned, or to have
  // rows.
  bool keeps_brief_waiting() const {
    if (limits_.policy != scheduling_policy::fcfs) return false;
    return std::ranges::any_of(ledger_.open_requests(), [this](request_id id) {
      const auto now = scheduler_.describe(id);
      return now && now->reason.starts_with("waiting: the steps are full") &&
             !is_long(now->prompt_tokens + now->generated_tokens);
    });
  }

  void commit(const step_result& result) {
    step_result of_another = result;
    ++of_another.step;
    scheduler_.commit(of_another, output_);
    require(output_.events.empty(), "another step's result was taken");
    scheduler_.commit(result, output_);
    for (const token_event& event : output_.events) take(event);
    story_.trims += output_.trims.size();
    to_cache_.push_back([this, step = result.step, appends = output_.appends, appended = output_.appended,
                         trims = output_.trims] {
      kv_cache_.commit_step(step);
      kv_cache_.append_tokens(appends, appended);
      for (const block_trim& given : trims) kv_cache_.trim(given);
      in_flight_.pop_front();
      check_cache();
    });
    release(output_.releases);
    plan();
  }

  // A new device is there when who fills masks has forgotten the steps that are lost, or the same one.
  void lose_device() {
    lose_storage(blame::oldest_step);
    await_device([this] { device_ = paged_executor({limits_.block_size, limits_.num_blocks, 1}, vocab); });
  }

  void lack_memory() {
    require(scheduler_.lacks_memory(), "a step that could be smaller is to blame");
    lose_in_cache(&kv_cache_manager::lose_steps);
    await_device([] {});
  }

  void await_device(const std::function<void()>& open) {
    awaits_device_ = true;
    to_device_.clear();
    masks_.clear();
    to_grammars_.push_back([this, open] {
      sessions_.forget_steps();
      results_.push_back([this, open] {
        open();
        feed_ = {};
        has_died_ = false;
        awaits_device_ = false;
        plan();
      });
    });
  }

  void lose_storage(blame whose) {
    const scheduler_output output = scheduler_.device_lost(whose);
    lose_in_cache(&kv_cache_manager::lose_storage);
    settle(output);
  }

  // All steps so far, and what that takes along.
  void lose_in_cache(void (kv_cache_manager::*lose)(std::uint64_t)) {
    lost_up_to_ = scheduler_.last_step();
    known_at_admission_.clear();
    to_cache_.push_back([this, lose, last = lost_up_to_] {
      (kv_cache_.*lose)(last);
      in_flight_.clear();
      check_cache();
    });
  }

  void take(const token_event& event) {
    if (event.end && event.end->failure && event.end->failure->code == error_code::internal)
      ++story_.convicted;
    if (event.end && event.end->failure && event.end->failure->code == error_code::unavailable)
      ++story_.queue_refusals;
    ledger_.take(event, now_);
  }

  void release(const std::vector<block_release>& releases) {
    if (releases.empty()) return;
    is_disturbed_ = true;
    for (const block_release& given : releases) known_at_admission_.erase(given.id);
    for (const block_release& given : releases)
      if (!given.preempted) to_grammars_.push_back([this, id = given.id] { sessions_.release(id); });
    to_cache_.push_back([this, releases] {
      kv_cache_.give_back(releases);
      check_cache();
    });
  }

  // ---- the device ----

  // A step whose forward pass is over waits for its masks; the next one may not begin before.
  bool has_masks(const step_batch& batch) const {
    return batch.masked_samples.empty() || (!masks_.empty() && masks_.front()->step == batch.step);
  }
  bool device_can_act() const {
    return !has_died_ && !to_device_.empty() && (rows_ == nullptr || has_masks(*to_device_.front()));
  }

  void execute() {
    const step_batch_ptr batch = to_device_.front();
    if (rows_ == nullptr) {
      rows_ = &feed_.resolve(*batch);
      if (kills(*batch)) return die(*batch);
      if (lacks_memory_for(*batch)) return run_out();
      device_.forward(*rows_);
      if (has_masks(*batch)) return sample();
      ++story_.masks_awaited;
      return;
    }
    sample();
  }

  // Chance never makes it look as if a request were to blame.
  bool kills(const step_batch& batch) {
    for (const sample_row& sample : batch.samples) {
      const request_id id = batch.sequences[static_cast<std::size_t>(sample.sequence)].id;
      const std::optional<std::int32_t>& poison = ledger_.at(id).kills_at;
      if (poison && sample.num_generated >= *poison) return true;
    }
    const bool looks_guilty = batch.sequences.size() == 1 && losses_.contains(batch.sequences.front().id);
    return !looks_guilty && random_.chance(2);
  }

  void die(const step_batch& batch) {
    ++story_.failed_steps;
    for (const sequence_rows& rows : batch.sequences) losses_.insert(rows.id);
    has_died_ = true;
    rows_ = nullptr;
    results_.push_back([this] { lose_device(); });
  }

  // Only where there is a smaller one: else the device is lost, or a request to blame.
  bool lacks_memory_for(const step_batch& batch) {
    return size_of(batch).rows > 1 && random_.chance(lacks_memory_);
  }

  // Of a prompt that is not to be cut a row.
  step_size size_of(const step_batch& batch) const {
    const auto sequences = static_cast<std::int32_t>(batch.sequences.size());
    if (limits_.enable_chunked_prefill) return {sequences, batch.num_rows()};
    std::int32_t rows = sequences;
    for (const draft_samples& each : batch.drafts) rows += each.count;
    return {sequences, rows};
  }

  void run_out() {
    ++story_.lacking_steps;
    device_.scribble(*rows_);
    has_died_ = true;
    rows_ = nullptr;
    results_.push_back([this, is_first = !std::exchange(lacks_again_, true)] {
      lack_memory();
      const step_bounds& now = scheduler_.bounds();
      require(is_first || now.is_set(), "two steps in a row lacked memory, and nothing is bound");
    });
  }

  void sample() {
    const step_batch_ptr batch = std::move(to_device_.front());
    to_device_.pop_front();
    step_masks_ptr masks;
    if (!batch->masked_samples.empty()) {
      masks = std::move(masks_.front());
      masks_.pop_front();
    }
    auto result = std::make_shared<step_result>();
    result->step = batch->step;
    device_.sample(*rows_, masks.get(), *result);
    if (masks) note_masks(*masks, *result);
    feed_.remember(*result);
    rows_ = nullptr;
    lacks_again_ = false;
    results_.push_back([this, result] { commit(*result); });
    if (masks) to_grammars_.push_back([this, result] { sessions_.advance(*result); });
  }

  // ---- who fills masks ----

  bool fill_masks() {
    if (sessions_.fill_one()) return true;
    step_masks_ptr masks = sessions_.take();
    if (!masks) return false;
    if (masks->step > lost_up_to_) masks_.push_back(std::move(masks));
    return true;
  }

  void open_grammar(request_id id, const grammar_spec_ptr& spec) {
    to_grammars_.push_back([this, id, spec] {
      sessions_.open(id, compiled(spec));
      results_.push_back([this, id] {
        scheduler_.grammar_ready(id);
        plan();
      });
    });
  }

  // ---- the drafter ----

  // It knows what is to come, but for the tokens that it gets wrong; what it says may be old.
  void draft_one() {
    const std::vector<request_id> alive = ledger_.open_requests();
    if (alive.empty()) return;
    draft guess;
    guess.id = alive[static_cast<std::size_t>(random_.number() % alive.size())];
    const ledger_entry& entry = ledger_.at(guess.id);
    const auto told = static_cast<std::int32_t>(entry.received.size());
    const std::int32_t from = std::max(told - random_.pick(0, 2), 0);
    guess.after = static_cast<std::int32_t>(entry.prompt.size()) + from;
    const auto expected = static_cast<std::int32_t>(entry.expected.size());
    if (random_.chance(30)) guess.number = ++num_numbered_;
    if (random_.chance(30)) guess.lead = random_.pick(0, 2);
    std::size_t right = 0;  // tokens, from the first
    for (std::int32_t i = from; i < from + random_.pick(1, 6); ++i) {
      const bool is_right = i < expected && !random_.chance(wrong_drafts_);
      if (is_right && right == guess.tokens.size()) ++right;
      guess.tokens.push_back(is_right ? entry.expected[static_cast<std::size_t>(i)]
                                      : random_.pick(0, vocab - 1));
      guess.probabilities.push_back(0.9F);
    }
    const std::optional<std::int32_t> place = scheduler_.place_in_grammar(guess);
    if (!place || random_.chance(75)) return scheduler_.propose(std::move(guess));
    to_grammars_.push_back([this, guess, place = static_cast<std::size_t>(*place), right]() mutable {
      const std::size_t possible = sessions_.count_possible(guess.id, place, guess.tokens);
      require(possible >= right, "a grammar refuses what its request is to have");
      const std::size_t drawn = guess.tokens.size();
      guess.cut_for_grammar(possible);
      story_.refused_draft_tokens += drawn - guess.tokens.size();
      results_.push_back([this, guess] { scheduler_.propose(guess); });
    });
  }

  // ---- the world ----

  // Anything that may happen between two messages.
  void disturb() {
    while (submitted_ < num_requests_ && random_.chance(10)) submit();
    if (random_.chance(3)) end_one();
    if (random_.chance(10))
      scheduler_.measured_step({.rows = random_.pick(1, 40)}, std::chrono::milliseconds(random_.pick(1, 9)));
    while (drafts_ && random_.chance(50)) draft_one();
    if (random_.chance(10)) expire();
    if (changes_limits_ && random_.chance(4)) change_limits();
    if (random_.chance(1)) to_cache_.push_back([this] { kv_cache_.reset_prefix_cache(); });
    if (random_.chance(1) && random_.chance(50) && scheduler_.steps_in_flight() == 0) {
      ++story_.lost_caches;
      lose_storage(blame::nobody);
    }
  }

  void expire() {
    const scheduler_output output = scheduler_.expire(now_);
    settle(output);
    for (const token_event& event : output.events) {
      if (event.end->reason == finish_reason::timeout) continue;
      for (const request_id id : ledger_.open_requests())
        require(ledger_.at(id).first != event.id, "half a request was refused by its queue deadline");
    }
  }

  // As a reload does: at any moment, and also to less than runs or waits.
  void change_limits() {
    scheduler_limits next = draw_limits(random_);
    if (!limits_.enable_chunked_prefill)
      next.max_num_batched_tokens = limits_.max_model_len + random_.pick(0, 20);
    scheduler_.change_limits(next);
    adopt_limits(limits_, next);
    limits_changed_ = true;
    const auto widen = [&](std::int32_t scheduler_limits::*limit) {
      widest_.*limit = std::max(widest_.*limit, limits_.*limit);
    };
    widen(&scheduler_limits::max_num_seqs);
    widen(&scheduler_limits::max_num_batched_tokens);
    const bool is_unlimited =
        std::min(widest_.long_prefill_token_threshold, limits_.long_prefill_token_threshold) == 0;
    widen(&scheduler_limits::long_prefill_token_threshold);
    if (is_unlimited) widest_.long_prefill_token_threshold = 0;
    ++story_.changed_limits;
  }

  std::shared_ptr<const sampling_params> draw_sampling() {
    sampling_params params;
    if (random_.chance(80)) params.max_tokens = random_.pick(1, 40);
    if (random_.chance(20)) params.min_tokens = random_.pick(0, params.max_tokens.value_or(10));
    params.seed = random_.number();
    params.ignore_eos = random_.chance(40);
    if (random_.chance(20)) params.stop_token_ids = {static_cast<token_id>(random_.pick(0, vocab - 1))};
    if (random_.chance(20)) params.logprobs = 1;
    if (random_.chance(25)) params.prompt_logprobs = 1;
    if (random_.chance(20)) params.frequency_penalty = 0.5F;
    const auto& grammars = simulated_grammars();
    if (random_.chance(25))
      params.grammar =
          grammars[static_cast<std::size_t>(random_.pick(0, static_cast<std::int32_t>(grammars.size()) - 1))];
    return std::make_shared<const sampling_params>(std::move(params));
  }

  // Often the beginning of an earlier request, with what it was answered: a conversation goes on.
  std::vector<token_id> draw_prompt() {
    std::vector<token_id> prompt;
    if (!prompts_.empty() && random_.chance(60))
      prompt =
          prompts_[static_cast<std::size_t>(random_.pick(0, static_cast<std::int32_t>(prompts_.size()) - 1))];
    const auto length = static_cast<std::size_t>(random_.pick(0, limits_.max_model_len + 2));
    const std::size_t kept = std::min(prompt.size(), length);
    prompt.resize(length);
    for (std::size_t i = kept; i < length; ++i) prompt[i] = random_.pick(0, vocab - 1);
    return prompt;
  }

  void submit() {
    engine_request request;
    request.prompt = draw_prompt();
    request.sampling = draw_sampling();
    request.arrival = now_;
    request.priority = random_.pick(0, 3);
    request.tenant = std::string(1, static_cast<char>('a' + random_.pick(0, 2)));
    if (random_.chance(15)) request.deadline = now_ + std::chrono::milliseconds(random_.pick(0, 300));
    if (random_.chance(10)) request.queue_deadline = now_ + std::chrono::milliseconds(random_.pick(0, 100));
    submit(request);
    // Several answers to one prompt, or to several.
    const bool has_more_prompts = random_.chance(30);
    for (std::int32_t n = random_.chance(22) ? random_.pick(1, 3) : 0; n > 0 && submitted_ < num_requests_;
         --n) {
      engine_request another = request;
      if (has_more_prompts) {
        another.joins = first_answer_;
        another.prompt = draw_prompt();
      } else {
        another.fork_of = first_answer_;
      }
      another.sampling = random_.chance(80) ? with_seed(*request.sampling, n) : draw_sampling();
      submit(another, true);
    }
  }

  static std::shared_ptr<const sampling_params> with_seed(sampling_params params, std::int32_t n) {
    params.seed += static_cast<std::uint64_t>(n);
    return std::make_shared<const sampling_params>(std::move(params));
  }

  void submit(engine_request request, bool is_fork = false) {
    request.id = ++submitted_;
    if (!is_fork) first_answer_ = request.id;
    const auto queued = static_cast<std::size_t>(scheduler_.counts().waiting);
    const std::size_t may_queue =
        limits_.max_num_queued_requests +
        static_cast<std::size_t>(std::max(0, limits_.max_num_seqs - scheduler_.counts().running));
    const auto accepted = scheduler_.submit(request);
    const bool is_made_room = accepted && !accepted->events.empty();
    const bool finds_room = is_fork ? !first_found_queue_full_ : queued < may_queue || is_made_room;
    require(!is_made_room || queued >= may_queue, "a request gave way in a queue that was not full");
    if (is_made_room) take_displacement(*accepted, request, queued);
    if (!is_fork) first_found_queue_full_ = ledger_.fits(request) && !finds_room;
    if (ledger_.fits(request) && finds_room) {
      require(accepted.has_value(), "a request that fits was refused");
    } else {
      require(!accepted, "a request that can never fit, or finds the queue full, was accepted");
      const bool is_full = ledger_.fits(request);
      const error_code misfit =
          request.prompt.empty() ? error_code::invalid_argument : error_code::context_length_exceeded;
      require(accepted.error().code == (is_full ? error_code::resource_exhausted : misfit),
              "a refusal has the wrong code: " + accepted.error().message);
      require(!is_full || accepted.error().retry_after > 0, "a refusal says nothing of another try");
      return;
    }
    ledger_.open(request);
    is_disturbed_ = true;
    if (random_.chance(6)) ledger_.poison(request.id, random_.pick(0, 10));
    if (request.sampling->grammar) open_grammar(request.id, request.sampling->grammar);
    std::vector<token_id> conversation = request.prompt;
    const std::vector<token_id>& answer = ledger_.at(request.id).expected;
    conversation.insert(conversation.end(), answer.begin(), answer.end());
    prompts_.push_back(std::move(conversation));
    if (request.sampling->prompt_logprobs) return;
    to_cache_.push_back([this, request] {
      kv_cache_.add_sequence(request.id, request.prompt, {});
      if (request.fork_of) kv_cache_.fork(*request.fork_of, request.id);
    });
  }

  void take_displacement(const scheduler_output& output, const engine_request& by, std::size_t queued) {
    require(limits_.policy == scheduling_policy::priority && !by.fork_of, "nobody gives way to this one");
    require(static_cast<std::size_t>(scheduler_.counts().waiting) <= queued, "a full queue has grown");
    ledger_.give_way(output.events, by.priority);
    ++story_.displaced;
    settle(output);
  }

  void settle(const scheduler_output& output) {
    for (const token_event& event : output.events) take(event);
    release(output.releases);
  }

  void end_one() {
    const std::vector<request_id> alive = ledger_.open_requests();
    if (alive.empty()) return;
    const request_id id =
        alive[static_cast<std::size_t>(random_.pick(0, static_cast<std::int32_t>(alive.size()) - 1))];
    const auto state = scheduler_.describe(id);
    require(state && state->computed_tokens <=
                         state->prompt_tokens + state->generated_tokens + limits_.max_steps_in_flight,
            "an open request is not described, or described wrongly");
    if (state->phase == request_phase::running && !in_flight_.empty()) ++story_.ended_in_flight;
    if (planning_) ++story_.ended_in_planning;
    if (random_.chance(30)) {
      const auto output = scheduler_.stopped(id);
      require(output.events.empty(), "a stopped request got an event");
      ledger_.stop(id);
      settle(output);
    } else {
      const auto output = scheduler_.end(id, finish_reason::abort);
      require(output.events.size() == 1 && output.events[0].id == id, "an abort did not give its one event");
      settle(output);
    }
    require(!scheduler_.describe(id), "an ended request is still described");
    require(scheduler_.end(id, finish_reason::abort).events.empty(), "a request ended twice");
  }

  // No block is free, or cached for others to take, that a step in flight may write.
  void check_cache() {
    const std::string wrong = kv_cache_.check();
    require(wrong.empty(), "the KV cache: " + wrong);
    for (const step_batch_ptr& batch : in_flight_)
      for (const std::int32_t slot : batch->slots)
        require(kv_cache_.references(slot / limits_.block_size) > 0,
                "a block was freed while a step that may write it runs");
  }

  void check_end() {
    ledger_.check_all_ended();
    require(kv_cache_.free_blocks() == limits_.num_blocks, "blocks were lost");
    require(!scheduler_.next_deadline(), "a deadline of nobody is left");
    require(sessions_.size() == 0, "a matcher of nobody is left");
  }

  dice random_;
  std::size_t num_requests_;
  scheduler_limits limits_;
  scheduler_limits widest_;      // that were ever in force
  tokenizer_ptr spells_forced_;  // null: nothing is forced
  ledger ledger_;
  scheduler scheduler_;
  kv_cache_manager kv_cache_;
  paged_executor device_;
  token_feed feed_;
  bool withholds_;
  grammar::grammar_sessions sessions_;
  bool slow_;  // a device that takes its time: more happens while a step runs
  bool changes_limits_;
  std::int32_t lacks_memory_;  // for so many of a hundred steps
  bool drafts_;                // somebody guesses, and ...
  std::int32_t wrong_drafts_;  // ... so many of a hundred tokens are made up
  scheduler_output output_;

  std::deque<message> to_cache_;
  std::unique_ptr<step_reservation> reservation_;  // the cache's answer, on its way
  bool planning_ = false;
  bool limits_changed_ = false;  // since the plan was made
  bool is_disturbed_ = false;    // somebody has come or left since then
  bool all_granted_ = false;     // what it asked for
  struct admission {
    std::int32_t known = 0;     // tokens, then
    std::int32_t computed = 0;  // by now
  };
  std::map<request_id, admission> known_at_admission_;  // of those that run
  int rounds_ = 0;
  std::deque<step_batch_ptr> to_device_;
  const device_batch* rows_ = nullptr;  // of the step whose forward pass is over
  bool has_died_ = false;               // and no new one is there yet
  bool awaits_device_ = false;          // the scheduler knows
  bool asks_for_masks_ = false;
  bool lacks_again_ = false;      // no step has ended since one lacked memory
  std::uint64_t lost_up_to_ = 0;  // these steps
  std::set<request_id> losses_;   // who was in a step that took the device along
  std::deque<message> to_grammars_;
  std::deque<step_masks_ptr> masks_;      // on their way to the device
  std::deque<message> results_;           // the device's answers, on their way
  std::deque<step_batch_ptr> in_flight_;  // until the cache has heard of their end

  steady_time now_{};
  request_id submitted_ = 0;
  request_id first_answer_ = 0;
  bool first_found_queue_full_ = false;
  std::uint64_t num_numbered_ = 0;  // drafts, to be accepted or rejected by chance
  std::size_t turns_ = 0;
  std::vector<std::vector<token_id>> prompts_;
  simulation_story story_;
};

}  // namespace

simulation_story simulate(const simulation_options& options) { return simulation(options).run(); }

}  // namespace troupe
