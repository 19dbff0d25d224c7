#include "tests/actors/company_simulation_fixture.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

#include "actors/clients/gateway.hpp"
#include "actors/grammars/structured_output.hpp"
#include "actors/kv_cache/kv_cache.hpp"
#include "actors/scheduler/scheduler.hpp"
#include "runtime/drafting/draft_model.hpp"
#include "runtime/generation_request.hpp"
#include "tests/actors/company_fixture.hpp"
#include "tests/support/dice.hpp"
#include "tests/support/draw_limits.hpp"
#include "tests/support/overlapping_executor.hpp"
#include "tests/support/promise.hpp"

namespace troupe::test {
namespace {

using std::chrono::milliseconds;

struct simulated_setup {
  scheduler_limits limits;
  device_rules device;
  std::optional<int> overlaps = {};  // it goes on by itself; after so many looks its tokens are there
  milliseconds request_timeout{0};
  milliseconds queue_timeout{0};
  std::int32_t tokenizer_workers = 1;
  bool slow = false;  // a device that takes its time: more happens while a step runs
  bool slow_compilers = false;
  std::int32_t grammar_percent = 0;  // of the requests
  bool jump_forward = false;
  std::optional<drafter_options> drafts;
  device_rules draft_device;  // of a draft model
  draft_model_options draft_limits;
  std::size_t grammar_memory = 0;
  std::uint64_t mask_steps = 0;  // for which a step waits
};

scheduler_limits draw_limits(dice& random) {
  scheduler_limits limits;
  limits.block_size = random.one_of(std::vector<std::int32_t>{1, 2, 4, 16});
  limits.max_num_seqs = random.pick(1, 8);
  limits.max_num_batched_tokens = random.pick(1, 40);
  limits.max_model_len = random.pick(8, 64);
  // From pools that hold a part of one context to pools that hold several.
  limits.num_blocks =
      1 + limits.max_model_len * random.pick(2, random.chance(70) ? 8 : 20) / 4 / limits.block_size;
  limits.max_num_queued_requests = static_cast<std::size_t>(random.pick(1, 20));
  limits.end_tokens = {end_token};
  limits.max_steps_in_flight = random.chance(30) ? 1 : random.pick(2, 5);
  limits.policy = random.one_of(std::vector<scheduling_policy>{
      scheduling_policy::fcfs, scheduling_policy::priority, scheduling_policy::lpm, scheduling_policy::drr});
  limits.priority_patience = random.pick(0, 20);
  limits.enable_prefix_caching = random.chance(70);
  draw_prefill_limits(random, limits);
  return limits;
}

// Its room is a part of one context, or several; some guess well, and some fail.
void draw_draft_model(dice& random, simulated_setup& setup) {
  const scheduler_limits& limits = setup.limits;
  draft_model_options& options = setup.draft_limits;
  options.max_sequences = limits.max_num_seqs;
  options.max_rows = std::max(limits.max_num_seqs, random.pick(1, 40));
  options.max_model_len = random.chance(80) ? limits.max_model_len : random.pick(4, limits.max_model_len);
  options.vocab_size = end_token + 1;
  options.num_tokens = setup.drafts->config.num_speculative_tokens;
  options.end_tokens = {end_token};
  options.rejection = random.one_of(std::vector{rejection_method::automatic, rejection_method::probabilistic,
                                                rejection_method::probabilistic, rejection_method::strict});
  options.most_pending = limits.max_steps_in_flight;
  const std::int32_t contexts = random.pick(1, 4) * limits.max_model_len / limits.block_size;
  setup.draft_device = {.layout = {limits.block_size, random.pick(1, 1 + contexts), 1},
                        .max_rows = options.max_rows,
                        .max_sequences = options.max_sequences,
                        .failing_percent = random.chance(40) ? random.pick(1, 3) : 0,
                        .lacking_percent = random.chance(30) ? random.pick(1, 30) : 0,
                        .is_draft_model = true,
                        .wrong_percent = random.pick(1, 30)};
}

void draw_drafts(dice& random, simulated_setup& setup) {
  setup.drafts.emplace();
  speculative_config& config = setup.drafts->config;
  config.method = random.chance(50)
                      ? speculative_method::draft_model
                      : random.one_of(std::vector{speculative_method::ngram, speculative_method::suffix});
  config.num_speculative_tokens = random.pick(1, 6);
  config.prompt_lookup_min = 1;
  config.prompt_lookup_max = random.pick(1, 3);
  config.suffix_decoding_min_token_prob = 0.01;
  config.suffix_decoding_max_spec_factor = 4.0;
  config.adaptive = config.method != speculative_method::draft_model && random.chance(20);
  setup.drafts->work_tokens = static_cast<std::size_t>(random.pick(1, 40));
  if (config.method == speculative_method::draft_model) draw_draft_model(random, setup);
}

simulated_setup draw_setup(dice& random) {
  simulated_setup setup;
  setup.limits = draw_limits(random);
  const scheduler_limits& limits = setup.limits;
  setup.device = {.layout = {limits.block_size, limits.num_blocks, 1},
                  .max_rows = limits.max_num_batched_tokens,
                  .max_sequences = limits.max_num_seqs,
                  .longest_chunk = limits.enable_chunked_prefill ? limits.long_prefill_token_threshold : 0,
                  .failing_percent = random.chance(30) ? random.pick(1, 6) : 0,
                  .lacking_percent = random.chance(30) ? random.pick(1, 6) : 0};
  if (random.chance(40)) setup.overlaps = random.pick(0, 8);
  if (random.chance(25)) setup.request_timeout = milliseconds(random.pick(1, 2000));
  if (random.chance(25)) setup.queue_timeout = milliseconds(random.pick(1, 600));
  setup.tokenizer_workers = random.pick(1, 3);
  setup.slow = random.chance(30);
  setup.slow_compilers = random.chance(40);
  setup.grammar_percent = random.one_of(std::vector<std::int32_t>{0, 40, 70, 70, 100});
  setup.jump_forward = random.chance(50);
  if (random.chance(70)) draw_drafts(random, setup);
  // Little: nothing is kept that nobody uses, nothing is compiled while anything is used.
  setup.grammar_memory = random.chance(25) ? 1 : grammar::grammar_cache_limits{}.max_bytes;
  setup.mask_steps = random.chance(50) ? grammar::usual_mask_steps_per_step : random.number() % 10 + 1;
  return setup;
}

// A company's log: thousands of warm-ups and failed steps.
class quiet_log {
 public:
  quiet_log() {
    if (std::getenv("TROUPE_SIMULATION_LOG") == nullptr) spdlog::set_level(spdlog::level::off);
  }
  ~quiet_log() { spdlog::set_level(before_); }
  quiet_log(const quiet_log&) = delete;
  quiet_log& operator=(const quiet_log&) = delete;

 private:
  spdlog::level::level_enum before_ = spdlog::get_level();
};

class simulation {
 public:
  explicit simulation(const company_simulation_options& options)
      : random_(options.seed),
        num_requests_(options.num_requests),
        setup_(draw_setup(random_)),
        ledger_({setup_.limits, setup_.request_timeout, setup_.queue_timeout}),
        deaths_left_(random_.chance(40) ? random_.pick(1, 3) : 0),
        stage_(company()) {}

  company_story run() {
    try {
      while (sent_ < num_requests_ || ledger_.num_open() > 0) turn();
      check_end();
      check_what_was_computed_last_is_found();
      story_.refused_drafts = metric("troupe_grammar_refused_draft_tokens_total");
      story_.withheld_rows = metric("troupe_grammar_withheld_rows_total");
      story_.verified_by_chance = metric("troupe_rejection_sampled_draft_tokens_total");
      story_.accepted_by_chance = metric("troupe_rejection_sampled_accepted_tokens_total");
      story_.failed_draft_models = draft_log_->failed_steps;
      story_.draft_shortages = draft_log_->lacking_steps;
    } catch (const broken_promise& promise) {
      story_.fault = promise.what();
    }
    over_ = true;
    story_.device = *log_;
    story_.streams = ledger_.counts();
    return story_;
  }

 private:
  std::uint64_t metric(const std::string& name) {
    const double value = stage_.metric(name);
    require(value >= 0, "a metric is missing");
    return static_cast<std::uint64_t>(value);
  }

  company_setup company() {
    company_setup made;
    made.block_size = setup_.limits.block_size;
    made.num_blocks = setup_.limits.num_blocks;
    made.max_model_len = setup_.limits.max_model_len;
    made.tokenizer_workers = setup_.tokenizer_workers;
    made.request_timeout = setup_.request_timeout;
    made.adjust = [this](supervisor_parts& parts) {
      parts.limits = setup_.limits;
      parts.open_device = [this](bool) -> result<runner_device> {
        auto device = std::make_unique<letter_device>(setup_.device, random_.number(), log_);
        if (!setup_.overlaps) return runner_device{std::move(device), open_draft_model()};
        return runner_device{std::make_shared<overlapping_executor>(std::move(device), *setup_.overlaps),
                             open_draft_model()};
      };
      parts.tokenizer.queue_timeout = setup_.queue_timeout;
      parts.grammars.limits = company_grammar_limits;
      parts.grammars.cache.max_bytes = setup_.grammar_memory;
      parts.grammars.jump_forward = setup_.jump_forward;
      parts.grammars.mask_steps_per_step = setup_.mask_steps;
      parts.drafts = setup_.drafts;
      parts.device_clock = [this] { return device_time_ += draw_moment(); };
    };
    return made;
  }

  // Between two looks at the clock: how busy this machine is shall be no part of a story.
  std::chrono::microseconds draw_moment() {
    return std::chrono::microseconds(random_.pick(1, random_.chance(5) ? 50'000 : 500));
  }

  std::shared_ptr<draft_model> open_draft_model() {
    if (!setup_.drafts || setup_.drafts->config.method != speculative_method::draft_model) return nullptr;
    return std::make_shared<draft_model>(
        std::make_unique<letter_device>(setup_.draft_device, random_.number(), draft_log_),
        setup_.draft_limits);
  }

  // ---- one turn ----

  void turn() {
    require(++turns_ < 4000 * (num_requests_ + 10), "no progress: a request starves");
    disturb();
    if (!stage_.run_any(random_.number(), who_takes_time()) && !stage_.run_any(random_.number()))
      nobody_has_anything_to_do();
    check();
  }

  const caf::abstract_actor* who_takes_time() {
    const grammar_compilers& compilers = stage_.roster().compilers;
    if (setup_.slow_compilers && random_.chance(70))
      return address_of(random_.chance(50) ? compilers.quick : compilers.patient);
    return setup_.slow && random_.chance(70) ? runner() : nullptr;
  }

  template <class Handle>
  static const caf::abstract_actor* address_of(const Handle& actor) {
    return actor ? caf::actor_cast<caf::abstract_actor*>(actor) : nullptr;
  }
  const caf::abstract_actor* runner() { return address_of(stage_.roster().model_runner); }

  void nobody_has_anything_to_do() {
    if (ledger_.num_open() == 0 && sent_ < num_requests_) return send();
    if (ledger_.num_open() > 0 && stocks_to_take_ > 0) return take_stock();
    require(ledger_.num_open() == 0,
            "a request is open, and nobody has anything to do: " + where_they_stand());
  }

  std::string where_they_stand() {
    std::string all;
    for (const request_id id : ledger_.open_requests()) {
      describe_call asked(
          [&](const std::optional<request_state>& state) {
            all += fmt::format(" {}: {};", id, state ? state->reason : "not with the scheduler");
          },
          std::nullopt);
      stage_.state_of<scheduler_state>(stage_.roster().scheduler).describe(id, asked);
    }
    return all;
  }

  // Anything that may happen between two messages.
  void disturb() {
    if (random_.chance(3))
      for (std::int32_t burst = random_.pick(1, 6); burst > 0 && sent_ < num_requests_; --burst) send();
    if (random_.chance(1)) leave();
    if (random_.chance(4)) advance(milliseconds(random_.pick(0, 10)));
    if (random_.chance(1) && random_.chance(50)) stage_.port().reset_prefix_cache([](bool) {});
    if (random_.chance(1)) describe_one();
    if (random_.chance(1) && random_.chance(50)) stall();
    if (deaths_left_ > 0 && random_.chance(1)) kill_one();
  }

  // Of the actors whose end costs nobody anything, or those requests alone that it takes along.
  void kill_one() {
    --deaths_left_;
    ++story_.deaths;
    const company_roster& roster = stage_.roster();
    const bool by_loss = random_.chance(40);  // of a message: the end comes when it is missed
    const auto kill = [this, by_loss](const auto& actor) {
      if (!stage_.lives(actor)) return;
      if (by_loss && lose_message(actor)) return;
      stage_.kill(actor);
    };
    const std::int32_t drawn = random_.pick(0, 6);
    // A third of them would take its neighbours along.
    const bool is_keeper = drawn == 2 || drawn == 4 || drawn == 5;
    if (is_keeper && ++dead_keepers_ > 2) return;
    switch (drawn) {
      case 0:
      case 1:
        // Twice would make it look as if a request were to blame.
        if (std::exchange(runner_was_lost_, true) || setup_.device.failing_percent > 0) return;
        return kill(roster.model_runner);
      case 2:
        return kill(roster.kv_cache);
      case 3:
        may_fail(false);
        dying_compiler_ = roster.compilers.patient;
        return kill(roster.compilers.patient);
      case 4:
        return kill(roster.drafter);
      case 5:
        may_fail(false);
        dying_matchers_ = roster.structured_output;
        return kill(roster.structured_output);
      default:
        return kill_with_requests();
    }
  }

  template <class Handle>
  bool lose_message(const Handle& actor) {
    if (!stage_.lose_message(actor)) return false;
    ++story_.losses;
    stocks_to_take_ = 3;
    return true;
  }

  // Whoever asks before the next one is there may get no answer either.
  void kill_with_requests() {
    const company_roster& roster = stage_.roster();
    const bool scheduler = random_.chance(50);
    const tokenizer_actor& tokenizer = random_.one_of(roster.tokenizers);
    if (scheduler ? !stage_.lives(roster.scheduler) : !stage_.lives(tokenizer)) return;
    const bool by_loss = random_.chance(40);
    if (by_loss && scheduler && lose_message(roster.scheduler)) return take_stock();  // costs nobody anything
    may_fail(true);
    if (by_loss && !scheduler && lose_message(tokenizer)) return take_stock();
    if (scheduler)
      stage_.kill(roster.scheduler);
    else
      stage_.kill(tokenizer);
    run_out();
  }

  // Who has missed a message ends at the latest now.
  void take_stock() {
    for (run_out(); stocks_to_take_ > 0; run_out()) {
      --stocks_to_take_;
      advance(std::chrono::seconds(1));
    }
  }

  // Those that are open, or those of them that have a grammar.
  void may_fail(bool all) {
    for (const request_id id : ledger_.open_requests())
      if (all || ledger_.at(id).grammar) may_fail_.insert(id);
  }

  void check() {
    if (!fault_.empty()) throw broken_promise(fault_);
    require(log_->fault.empty(), "a step: " + log_->fault);
    require(draft_log_->fault.empty(), "a step of the draft model: " + draft_log_->fault);
    if (stage_.lives(stage_.roster().kv_cache)) {
      const auto blocks = stage_.state_of<kv_cache_state>(stage_.roster().kv_cache).count();
      require(blocks.consistent && blocks.free_blocks <= blocks.blocks, "the KV cache contradicts itself");
    }
    if (!stage_.lives(stage_.roster().scheduler)) return;
    const auto requests = stage_.state_of<scheduler_state>(stage_.roster().scheduler).count();
    require(requests.running <= setup_.limits.max_num_seqs, "too many requests run");
    story_.preemptions = requests.preemptions;
    story_.draft_tokens = requests.draft_tokens;
    story_.accepted_tokens = requests.accepted_tokens;
    if (setup_.queue_timeout.count() > 0 && requests.running > 0) note_admitted();
  }

  // Also those that the device never sees, since the runner ends before their step.
  void note_admitted() {
    const scheduler_state& scheduler = stage_.state_of<scheduler_state>(stage_.roster().scheduler);
    for (const request_id id : ledger_.open_requests()) {
      if (admitted_.contains(id)) continue;
      describe_call call(
          [&](const std::optional<request_state>& state) {
            if (state && state->phase == request_phase::running) admitted_.insert(id);
          },
          std::nullopt);
      scheduler.describe(id, call);
    }
  }

  // ---- the clients ----

  // What one request can hold at most.
  std::int32_t room() const {
    return std::min(setup_.limits.max_model_len, setup_.limits.num_blocks * setup_.limits.block_size);
  }

  // Often the beginning of an earlier one, with what it was answered: a conversation goes on.
  std::vector<token_id> draw_prompt() {
    std::vector<token_id> prompt;
    if (!conversations_.empty() && random_.chance(60)) prompt = random_.one_of(conversations_);
    const bool is_odd = random_.chance(4);
    const auto length =
        static_cast<std::size_t>(is_odd ? random_.pick(0, 2 * room()) : random_.pick(1, 1 + room() / 2));
    const std::size_t kept = std::min(prompt.size(), length);
    prompt.resize(length);
    for (std::size_t i = kept; i < length; ++i) prompt[i] = 'a' + random_.pick(0, 25);
    return prompt;
  }

  sampling_params draw_sampling() {
    sampling_params sampling;
    if (random_.chance(90)) sampling.max_tokens = random_.pick(1, std::max(1, room() / 2));
    if (random_.chance(20)) sampling.min_tokens = random_.pick(0, sampling.max_tokens.value_or(10));
    sampling.seed = random_.number();
    sampling.is_seeded = random_.chance(30);
    sampling.ignore_eos = random_.chance(30);
    const auto letter = [this] { return static_cast<char>('a' + random_.pick(0, 25)); };
    if (random_.chance(20)) sampling.stop_token_ids = {letter()};
    if (random_.chance(25)) sampling.stop = {std::string{letter()}, std::string{letter(), letter()}};
    sampling.include_stop_str_in_output = random_.chance(30);
    if (random_.chance(20)) sampling.logprobs = 1;
    if (random_.chance(15)) sampling.prompt_logprobs = 1;
    if (random_.chance(20)) sampling.frequency_penalty = 0.5F;
    if (random_.chance(setup_.grammar_percent)) sampling.grammar = random_.one_of(company_grammars()).spec;
    return sampling;
  }

  void send() {
    generation_request request;
    request.sampling = draw_sampling();
    request.n = random_.chance(20) ? random_.pick(2, 4) : 1;
    request.priority = random_.pick(0, 3);
    request.user = std::string(1, static_cast<char>('a' + random_.pick(0, 2)));
    if (random_.chance(20)) request.cache_salt = "salt";
    // Short ones, too, for those whose grammar takes time before they can run.
    const bool is_held = request.sampling.grammar != nullptr;
    if (random_.chance(is_held ? 30 : 15))
      request.timeout = milliseconds(random_.pick(1, is_held ? 40 : 600));
    send(std::move(request), draw_prompt());
  }

  std::vector<request_id> send(generation_request request, const std::vector<token_id>& prompt) {
    sent_ += static_cast<std::size_t>(request.n);
    if (random_.chance(50)) {
      request.prompt = token_prompt{prompt};
    } else {
      request.prompt = text_prompt{std::string(prompt.begin(), prompt.end())};
    }
    const auto shared = std::make_shared<const generation_request>(std::move(request));
    const auto ids = stage_.port().generate_choices(
        shared, [this](std::int32_t, const stream_event& event) { take(event); });
    for (std::size_t i = 0; i < ids.size(); ++i)
      ledger_.open(ids[i], ids.front(), prompt, *shared, static_cast<std::int32_t>(i), stage_.now());
    // It may still be taken in by one that is about to end, or come to a compiler that has.
    if (shared->sampling.grammar && (stage_.lives(dying_matchers_) || knows_dying_compiler()))
      may_fail_.insert(ids.begin(), ids.end());
    std::vector<token_id> conversation = prompt;
    for (const token_id token : ledger_.at(ids.front()).expected.tokens)
      if (token != end_token) conversation.push_back(token);
    conversations_.push_back(std::move(conversation));
    return ids;
  }

  bool knows_dying_compiler() const {
    const structured_output_actor& matchers = stage_.roster().structured_output;
    return dying_compiler_ && (!stage_.lives(matchers) ||
                               stage_.state_of<structured_output_state>(matchers).knows(dying_compiler_));
  }

  // Inside an actor: what it throws would be the actor's end.
  void take(const stream_event& event) {
    if (over_ || !fault_.empty()) return;
    story_.told += fmt::format("turn {}, request {}: {}{}\n", turns_, event.id, fmt::join(event.tokens, " "),
                               event.end ? ", the end" : "");
    try {
      ledger_.take(event, may_fail_, stage_.now());
      if (!ledger_.at(event.id).fits) ++story_.refused;
    } catch (const broken_promise& promise) {
      fault_ = fmt::format("request {}: {}", event.id, promise.what());
    }
  }

  void leave() {
    const std::vector<request_id> open = ledger_.open_requests();
    if (open.empty()) return;
    const request_id id = random_.one_of(open);
    if (waits_for_grammar(id)) ++story_.left_waiting;
    ledger_.abort(id);
    stage_.port().abort(id);
  }

  bool waits_for_grammar(request_id id) const {
    if (!ledger_.at(id).grammar || !stage_.lives(stage_.roster().scheduler)) return false;
    bool waits = false;
    describe_call asked(
        [&](const std::optional<request_state>& state) {
          waits = state && state->reason == "waiting: grammar";
        },
        std::nullopt);
    stage_.state_of<scheduler_state>(stage_.roster().scheduler).describe(id, asked);
    return waits;
  }

  void advance(milliseconds time) {
    for (const request_id id : ledger_.open_requests()) {
      const stream_entry& entry = ledger_.at(id);
      const auto left = entry.asked + entry.timeout - stage_.now();
      if (entry.timeout.count() > 0 && left.count() > 0 && left <= time && waits_for_grammar(id))
        ++story_.late_waiting;
    }
    stage_.advance(time);
  }

  void describe_one() {
    const std::vector<request_id> open = ledger_.open_requests();
    if (open.empty()) return;
    const request_id id = random_.one_of(open);
    stage_.port().describe(id, [this, id](const std::optional<request_state>& state) {
      if (over_ || !state) return;
      if (state->id != id || state->computed_tokens > state->prompt_tokens + state->generated_tokens +
                                                          setup_.limits.max_steps_in_flight)
        fault_ = "a request is described wrongly";
    });
  }

  // The device takes very long; everybody else does all there is to do. Nobody is past a deadline then, and
  // who has ended has left the scheduler.
  void stall() {
    ++story_.stalls;
    const auto catch_up = [this] {
      while (stage_.run_any(random_.number(), runner())) check();
    };
    catch_up();
    if (!stage_.lives(stage_.roster().scheduler) || !stage_.lives(stage_.roster().model_runner)) return;
    const steady_time before = stage_.now();
    std::vector<request_id> open = ledger_.open_requests();
    advance(milliseconds(random_.pick(1, 500)));
    catch_up();
    std::erase_if(open, [this](request_id id) { return ledger_.at(id).ended; });
    const auto requests = stage_.state_of<scheduler_state>(stage_.roster().scheduler).count();
    require(static_cast<std::size_t>(requests.running + requests.waiting) <= open.size(),
            "the scheduler keeps a request that has ended");
    for (const request_id id : open) {
      const auto timeout = ledger_.at(id).timeout;
      require(timeout.count() == 0 || before + timeout > stage_.now(), "a request is open past its deadline");
    }
    if (setup_.queue_timeout.count() > 0 && before + setup_.queue_timeout <= stage_.now())
      for (const request_id id : open) check_has_run(id);
  }

  void check_has_run(request_id id) {
    if (ledger_.at(id).is_choice || log_->seen.contains(id) || admitted_.contains(id)) return;
    const auto asked = [](const std::optional<request_state>& state) {
      return !state || state->phase == request_phase::running || state->preemptions > 0;
    };
    stage_.port().describe(id, [this, asked](const std::optional<request_state>& state) {
      if (!over_ && !asked(state)) fault_ = "a request waits past its queue deadline";
    });
    while (stage_.run_any(random_.number(), runner())) check();
  }

  // ---- the end ----

  void run_out() {
    while (stage_.run_any(random_.number())) check();
  }

  void check_end() {
    take_stock();
    const company_roster& roster = stage_.roster();
    const auto blocks = stage_.state_of<kv_cache_state>(roster.kv_cache).count();
    require(blocks.free_blocks == blocks.blocks, "blocks were lost");
    const auto requests = stage_.state_of<scheduler_state>(roster.scheduler).count();
    require(requests.running == 0 && requests.waiting == 0, "the scheduler keeps a request that has ended");
    const auto grammars = stage_.state_of<structured_output_state>(roster.structured_output).count();
    require(grammars.open == 0 && grammars.waiting == 0, "a grammar is held for a request that has ended");
    std::uint64_t streams = stage_.state_of<gateway_state>(roster.gateway).count().streams;
    for (const tokenizer_actor& tokenizer : roster.tokenizers)
      streams += stage_.state_of<tokenizer_state>(tokenizer).count().streams;
    require(streams == 0, "a stream is left of a request that has ended");
  }

  // The same prompt twice, alone: the second finds all whole blocks before its last token.
  void check_what_was_computed_last_is_found() {
    const scheduler_limits& limits = setup_.limits;
    if (!limits.enable_prefix_caching || setup_.device.failing_percent > 0) return;
    if (setup_.request_timeout.count() + setup_.queue_timeout.count() > 0) return;
    generation_request request;
    request.sampling.max_tokens = 1;
    std::vector<token_id> prompt(static_cast<std::size_t>(room() - 1), 'z');
    if (prompt.empty()) return;
    for (int i = 0; i < 2; ++i) {
      cached_before_ = ledger_.counts().cached_tokens;
      send(request, prompt);
      run_out();
      require(ledger_.num_open() == 0, "a request that is alone does not end");
    }
    const std::int32_t whole = (room() - 2) / limits.block_size * limits.block_size;
    require(ledger_.counts().cached_tokens - cached_before_ == static_cast<std::uint64_t>(whole),
            "what was computed last is not found");
  }

  quiet_log quiet_;
  dice random_;
  std::size_t num_requests_;
  simulated_setup setup_;
  std::shared_ptr<device_log> log_ = std::make_shared<device_log>();
  std::shared_ptr<device_log> draft_log_ = std::make_shared<device_log>();  // the draft model's device's
  stream_ledger ledger_;
  std::size_t sent_ = 0;
  std::size_t turns_ = 0;
  std::uint64_t cached_before_ = 0;
  std::vector<std::vector<token_id>> conversations_;
  std::string fault_;  // found inside an actor
  bool over_ = false;
  steady_time device_time_{};
  company_story story_;
  std::int32_t deaths_left_;
  bool runner_was_lost_ = false;
  int dead_keepers_ = 0;
  int stocks_to_take_ = 0;  // until the last message that was lost is missed
  structured_output_actor dying_matchers_;
  grammar_compiler_actor dying_compiler_;
  std::set<request_id> may_fail_;  // whose actor was killed
  std::set<request_id> admitted_;  // with a queue deadline that counts no more
  stage stage_;                    // last: its actors end before what they call
};

}  // namespace

company_story simulate_company(const company_simulation_options& options) {
  return simulation(options).run();
}

}  // namespace troupe::test
