#include "tests/runtime/scheduler/simulation_fixture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

#include "runtime/kv_cache/kv_cache_manager.hpp"
#include "runtime/scheduler/scheduler.hpp"
#include "tests/runtime/scheduler/paged_executor_fixture.hpp"

namespace troupe {

namespace {

constexpr std::int32_t vocab = 50;

struct broken_promise : std::runtime_error {
  using std::runtime_error::runtime_error;
};
void require(bool kept, const std::string& promise) {
  if (!kept) throw broken_promise(promise);
}

// What one request is owed: its tokens when it runs alone.
struct ledger_entry {
  std::vector<token_id> prompt;
  std::shared_ptr<const sampling_params> sampling;
  std::optional<steady_time> deadline;
  std::vector<token_id> expected;
  finish_reason expected_reason = finish_reason::length;
  std::vector<token_id> received;
  bool ended = false;
};

void fill_expected(ledger_entry& entry, const scheduler_limits& limits) {
  const sampling_params& params = *entry.sampling;
  std::vector<token_id> tokens = entry.prompt;
  const auto room = limits.max_model_len - static_cast<std::int32_t>(entry.prompt.size());
  const auto pool =
      limits.num_blocks * limits.block_size - static_cast<std::int32_t>(entry.prompt.size()) + 1;
  const std::int32_t most = params.max_tokens.value_or(std::min(room, pool));
  const auto among = [](const std::vector<token_id>& ids, token_id id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  };
  while (static_cast<std::int32_t>(entry.expected.size()) < most) {
    const token_id token = expect_row(tokens, params, vocab).token;
    tokens.push_back(token);
    entry.expected.push_back(token);
    if (static_cast<std::int32_t>(entry.expected.size()) <= params.min_tokens) continue;
    const bool end = !params.ignore_eos && among(limits.end_tokens, token);
    if (end || among(params.stop_token_ids, token)) {
      entry.expected_reason = finish_reason::stop;
      return;
    }
  }
}

class simulation {
 public:
  explicit simulation(const simulation_options& options)
      : random_(options.seed),
        num_requests_(options.num_requests),
        limits_(draw_limits()),
        scheduler_(limits_),
        kv_cache_({limits_.num_blocks, limits_.block_size}),
        device_({limits_.block_size, limits_.num_blocks, 1}, vocab) {}

  simulation_story run() {
    try {
      while (submitted_ < num_requests_ || scheduler_.counts().running + scheduler_.counts().waiting > 0)
        turn();
      check_end();
    } catch (const broken_promise& promise) {
      story_.fault = promise.what();
    }
    story_.preemptions = scheduler_.counts().preemptions;
    return story_;
  }

 private:
  enum class moment { idle, planning, in_flight };

  std::int32_t pick(std::int32_t least, std::int32_t most) {
    return least + static_cast<std::int32_t>(random_() % static_cast<std::uint64_t>(most - least + 1));
  }
  bool chance(std::int32_t percent) { return pick(1, 100) <= percent; }

  scheduler_limits draw_limits() {
    scheduler_limits limits;
    constexpr std::int32_t block_sizes[] = {1, 2, 4, 16};
    limits.block_size = block_sizes[pick(0, 3)];
    limits.max_num_seqs = pick(1, 8);
    limits.max_num_batched_tokens = pick(1, 40);
    limits.max_model_len = pick(4, 80);
    // From pools that hold one sequence to pools that hold them all.
    limits.num_blocks = pick(1, 1 + limits.max_model_len * pick(1, 6) / limits.block_size);
    limits.max_num_queued_requests = static_cast<std::size_t>(pick(2, 40));
    limits.end_tokens = {3, 5};
    return limits;
  }

  std::shared_ptr<const sampling_params> draw_sampling() {
    sampling_params params;
    if (chance(80)) params.max_tokens = pick(1, 40);
    if (chance(20)) params.min_tokens = pick(0, params.max_tokens.value_or(10));
    params.seed = random_();
    params.ignore_eos = chance(40);
    if (chance(20)) params.stop_token_ids = {static_cast<token_id>(pick(0, vocab - 1))};
    if (chance(20)) params.logprobs = 1;
    if (chance(25)) params.prompt_logprobs = 1;
    if (chance(20)) params.frequency_penalty = 0.5F;
    return std::make_shared<const sampling_params>(std::move(params));
  }

  void submit() {
    ledger_entry entry;
    entry.prompt.resize(static_cast<std::size_t>(pick(0, limits_.max_model_len + 2)));
    for (token_id& token : entry.prompt) token = pick(0, vocab - 1);
    entry.sampling = draw_sampling();
    if (chance(15)) entry.deadline = now_ + std::chrono::milliseconds(pick(0, 60));
    const request_id id = ++submitted_;
    const auto queued = static_cast<std::size_t>(scheduler_.counts().waiting);
    const auto accepted = scheduler_.submit({.id = id,
                                             .prompt = entry.prompt,
                                             .sampling = entry.sampling,
                                             .arrival = now_,
                                             .deadline = entry.deadline});
    check_admission(entry, accepted, queued);
    if (!accepted) return;
    fill_expected(entry, limits_);
    ledger_.emplace(id, std::move(entry));
  }

  void check_admission(const ledger_entry& entry, const result<void>& accepted, std::size_t queued) {
    const auto prompt = static_cast<std::int32_t>(entry.prompt.size());
    const std::int32_t output = entry.sampling->max_tokens.value_or(1);
    const bool fits = prompt > 0 && prompt + output <= limits_.max_model_len &&
                      prompt + output - 1 <= limits_.num_blocks * limits_.block_size;
    if (fits && queued < limits_.max_num_queued_requests) {
      require(accepted.has_value(), "a request that fits was refused");
    } else {
      require(!accepted, "a request that can never fit, or finds the queue full, was accepted");
      require(accepted.error().code == (fits ? error_code::resource_exhausted : error_code::invalid_argument),
              "a refusal has the wrong code: " + accepted.error().message);
    }
  }

  // Anything that the world may do between two messages.
  void disturb(moment when) {
    now_ += std::chrono::milliseconds(pick(0, 3));
    while (submitted_ < num_requests_ && chance(30)) submit();
    if (chance(8)) end_one(when);
    if (chance(30)) take(scheduler_.expire(now_));
  }

  void end_one(moment when) {
    std::vector<request_id> alive;
    for (const auto& [id, entry] : ledger_) {
      if (!entry.ended) alive.push_back(id);
    }
    if (alive.empty()) return;
    const request_id id =
        alive[static_cast<std::size_t>(pick(0, static_cast<std::int32_t>(alive.size()) - 1))];
    const bool running = scheduler_.describe(id)->phase == request_phase::running;
    if (when == moment::in_flight && running) ++story_.ended_in_flight;
    if (when == moment::planning) ++story_.ended_in_planning;
    if (chance(30)) {
      const auto output = scheduler_.stopped(id);
      require(output.events.empty(), "a stopped request got an event");
      ledger_.at(id).ended = true;
      take(output);
    } else {
      const auto output = scheduler_.end(id, finish_reason::abort);
      require(output.events.size() == 1 && output.events[0].id == id, "an abort did not give its one event");
      take(output);
    }
    require(!scheduler_.describe(id), "an ended request is still described");
    require(scheduler_.end(id, finish_reason::abort).events.empty(), "a request ended twice");
  }

  void take(const scheduler_output& output) {
    for (const token_event& event : output.events) take(event);
    release(output.releases);
  }
  void release(const std::vector<block_release>& releases) {
    for (const block_release& given : releases) kv_cache_.release(given.id, given.last_step);
    require(kv_cache_.consistent(), "the KV cache is inconsistent after a release");
  }

  void take(const token_event& event) {
    ledger_entry& entry = ledger_.at(event.id);
    require(!entry.ended, fmt::format("request {} got an event after its end", event.id));
    const bool first = entry.received.empty() && !event.tokens.empty();
    entry.received.insert(entry.received.end(), event.tokens.begin(), event.tokens.end());
    require(entry.received.size() <= entry.expected.size() &&
                std::equal(entry.received.begin(), entry.received.end(), entry.expected.begin()),
            fmt::format("request {} has other tokens than alone, from {}", event.id, entry.received.size()));
    check_logprobs(entry, event, first);
    if (event.end) check_finished(entry, *event.end, event.id);
  }

  void check_logprobs(const ledger_entry& entry, const token_event& event, bool first) {
    require(event.logprobs.size() == (entry.sampling->logprobs ? event.tokens.size() : 0U),
            "not one log-probability per token");
    const bool owed = first && entry.sampling->prompt_logprobs;
    require(event.prompt_logprobs.size() == (owed ? entry.prompt.size() - 1 : 0U),
            "prompt log-probabilities are not told once, whole, with the first token");
    std::vector<token_id> prefix;
    for (std::size_t i = 0; i < event.prompt_logprobs.size(); ++i) {
      prefix.push_back(entry.prompt[i]);
      require(event.prompt_logprobs[i].token == entry.prompt[i + 1] &&
                  event.prompt_logprobs[i].logprob == expect_row(prefix, *entry.sampling, vocab).logprob,
              "a wrong prompt log-probability");
    }
  }

  void check_finished(ledger_entry& entry, const finished& end, request_id id) {
    entry.ended = true;
    require(end.tokens.prompt_tokens == static_cast<std::int32_t>(entry.prompt.size()), "wrong prompt usage");
    require(end.tokens.completion_tokens == static_cast<std::int32_t>(entry.received.size()), "wrong usage");
    require((end.reason == finish_reason::error) == end.failure.has_value(), "a failure without error");
    if (end.reason == finish_reason::timeout) require(*entry.deadline <= now_, "timed out too early");
    if (end.reason != finish_reason::stop && end.reason != finish_reason::length) return;
    ++story_.finished;
    require(entry.received == entry.expected, fmt::format("request {} ended too early", id));
    require(end.reason == entry.expected_reason, fmt::format("request {} has the wrong reason", id));
  }

  // One step, with disturbances between every two messages. The KV cache gets its messages in the order in
  // which the scheduler sent them: a demand before the releases of what ended since.
  void turn() {
    require(++turns_ < 200 * (num_requests_ + 10), "no progress: a request starves");
    disturb(moment::idle);
    std::optional<step_demand> demand = scheduler_.plan();
    step_batch_ptr batch;
    for (int rounds = 0; demand && !batch; ++rounds) {
      require(rounds < 100, "planning comes to no end");
      const step_reservation reservation = kv_cache_.reserve_step(*demand);
      require(kv_cache_.consistent(), "the KV cache is inconsistent after a reservation");
      disturb(moment::planning);
      resolved_step resolved = scheduler_.resolve(reservation);
      release(resolved.releases);
      batch = resolved.batch;
      demand = std::move(resolved.demand);
      require(!(batch && demand), "a batch and a demand at once");
    }
    if (batch) return run(*batch);
    const auto counts = scheduler_.counts();
    require(counts.running + counts.waiting == 0, "there is work, nothing runs, and nobody will plan again");
  }

  void run(const step_batch& batch) {
    ++story_.steps;
    const std::string fault = batch_fault(batch, limits_.block_size, limits_.num_blocks,
                                          limits_.max_num_batched_tokens, limits_.max_num_seqs);
    require(fault.empty(), "the batch: " + fault);
    require(scheduler_.step_in_flight() && !scheduler_.plan(), "planned while a step is in flight");
    const std::int32_t free_before = kv_cache_.free_blocks();
    disturb(moment::in_flight);
    require(kv_cache_.free_blocks() <= free_before, "a block was freed while a step that may write it runs");

    scheduler_output output;
    if (chance(2)) {
      ++story_.failed_steps;
      output = scheduler_.fail_step(batch.step, {error_code::internal, "the step failed"});
    } else {
      device_.forward(batch);
      device_.sample(batch, result_);
      require(scheduler_.commit({batch.step + 1, {}, {}}).events.empty(), "another step's result was taken");
      output = scheduler_.commit(result_);
    }
    if (chance(50)) kv_cache_.commit_step(batch.step);
    take(output);
    kv_cache_.commit_step(batch.step);
    require(!scheduler_.step_in_flight(), "the step is still in flight after its end");
    require(kv_cache_.consistent(), "the KV cache is inconsistent after a step");
  }

  void check_end() {
    for (const auto& [id, entry] : ledger_) require(entry.ended, fmt::format("request {} never ended", id));
    require(kv_cache_.free_blocks() == limits_.num_blocks, "blocks were lost");
    require(!scheduler_.next_deadline(), "a deadline of nobody is left");
  }

  std::mt19937_64 random_;
  std::size_t num_requests_;
  scheduler_limits limits_;
  scheduler scheduler_;
  kv_cache_manager kv_cache_;
  paged_executor device_;
  step_result result_;
  steady_time now_{};
  request_id submitted_ = 0;
  std::size_t turns_ = 0;
  std::map<request_id, ledger_entry> ledger_;
  simulation_story story_;
};

}  // namespace

simulation_story simulate(const simulation_options& options) { return simulation(options).run(); }

}  // namespace troupe
