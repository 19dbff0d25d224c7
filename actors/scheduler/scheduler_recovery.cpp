// The scheduler's part when others come, go and lose what they kept: whom it works with, which requests end
// with those who are gone, what is computed again.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "actors/lost_part.hpp"
#include "actors/scheduler/scheduler.hpp"

namespace troupe {
namespace {

// What a reservation, a draft, or work on masks may take before its answer is taken for lost: stock is taken
// once a second. All are a matter of milliseconds, but for a draft model that waits for the end of a step.
constexpr int most_stocks_without_answer = 180;

}  // namespace

void scheduler_state::meet(const company_roster& roster) {
  const bool is_gone = drafter_ != roster.drafter || structured_output_ != roster.structured_output;
  if (is_gone) forget_drafts();
  if (drafter_ != roster.drafter) untold_.forget();
  drafter_ = roster.drafter;
  meet_tokenizers(roster.tokenizers);
  if (roster.structured_output != structured_output_) meet_structured_output(roster.structured_output);
  if (roster.model_runner != model_runner_) {
    model_runner_ = roster.model_runner;
    out_.send(model_runner_, msg::abandon_masks{});  // those of a scheduler before this one
  }
  if (roster.kv_cache != kv_cache_) {
    scheduler_->change_storage(roster.num_blocks);
    meet_kv_cache(roster.kv_cache);
  }
  changed_ = true;
  plan();
  report();
}

// The streams of a tokenizer that is gone have ended with it.
void scheduler_state::meet_tokenizers(const tokenizer_pool& tokenizers) {
  std::vector<request_id> lost;
  for (const request_id id : scheduler_->open_requests())
    if (tokenizers_[id % tokenizers_.size()] != tokenizers[id % tokenizers.size()]) lost.push_back(id);
  end_all(lost, finish_reason::abort, std::nullopt);
  tokenizers_ = tokenizers;
}

// Where a request stands in its grammar is lost, but whoever waits for one can ask again.
void scheduler_state::meet_structured_output(const structured_output_actor& structured_output) {
  std::vector<request_id> lost;
  for (const auto& [id, wait] : with_grammar_)
    if (!without_grammar_.contains(id)) lost.push_back(id);
  end_all(lost, finish_reason::error, lost_part());
  if (structured_output_) out_.send(model_runner_, msg::abandon_masks{});
  structured_output_ = structured_output;
  masks_.is_open = false;
  for (const auto& [id, wanted] : without_grammar_) ask_for_grammar(id, wanted);
}

// The steps in flight still write and read what the one that is gone has given them.
void scheduler_state::meet_kv_cache(const kv_cache_actor& kv_cache) {
  is_storage_lost_ = is_storage_lost_ || kv_cache_ != nullptr;
  kv_cache_ = kv_cache;
  ++num_kv_caches_;
  if (kv_cache_) tell_requests();
  if (phase_ == phase::reserving) phase_ = phase::idle;
  if (is_storage_lost_ && running_.empty()) lose_storage(blame::nobody);
}

// Whoever waits is looked for among prefixes, and shares a prompt, as with the one before.
void scheduler_state::tell_requests() {
  for (engine_request& request : scheduler_->requests_for_new_cache()) {
    const request_id id = request.id;
    out_.send(kv_cache_, msg::add_sequence{id}, std::make_shared<const engine_request>(std::move(request)));
  }
}

msg::runner_missed scheduler_state::runner_lost(const msg::runner_lost& lost) {
  model_runner_ = nullptr;
  forget_drafts();  // a draft model that was asked has gone with it, and may have left no answer
  const bool was_running = !running_.empty() && !lost.was_for_nobody;
  const std::int32_t rows = was_running ? running_.front().rows : 0;
  for (const running_step& each : running_) tell_first_steps(each);
  running_.clear();
  board_->step_ended();
  if (lost.lacked_memory && runs_smaller_steps()) return {.runs_on = true};
  const bool has_served = std::exchange(has_served_, false);
  if (was_running && !lost.was_killed) deadly_rows_ = rows;
  // That there was no memory says little against a single row.
  const bool is_in_doubt = lost.was_killed || (lost.lacked_memory && rows == 1);
  const blame whose_step = is_in_doubt ? blame::perhaps_oldest_step : blame::oldest_step;
  lose_storage(was_running ? whose_step : blame::nobody);
  return {.is_excused = was_running || lost.was_for_nobody, .has_served = has_served, .rows = deadly_rows_};
}

// Where the KV cache has gone, too, nothing stored is worth keeping.
bool scheduler_state::runs_smaller_steps() {
  if (is_storage_lost_ || !scheduler_->lacks_memory()) return false;
  const step_bounds& now = scheduler_->bounds();
  const auto told = [](std::optional<std::int32_t> bound) {
    return bound ? std::to_string(*bound) : std::string("as many as usual");
  };
  spdlog::warn("whoever ran is preempted; steps may have {} sequences and {} rows{}", told(now.sequences()),
               told(now.rows()),
               now.is_set() ? fmt::format(", and more when {} have ended", now.patience()) : "");
  out_.send(kv_cache_, msg::lose_steps{scheduler_->last_step()});
  settle({});
  return true;
}

// Whose first step was lost has waited until it began, all the same.
void scheduler_state::tell_first_steps(const running_step& of) {
  token_batch none;
  deliver(of, none);
}

void scheduler_state::lose_storage(blame whose) {
  is_storage_lost_ = false;
  scheduler_output output = scheduler_->device_lost(whose);
  out_.send(kv_cache_, msg::lose_storage{scheduler_->last_step()});
  settle(std::move(output));
}

void scheduler_state::take_stock(const msg::take_stock& stock) {
  if (!stock.is_for_all) return;
  out_.take_stock();
  if (phase_ == phase::reserving && ++stocks_without_reservation_ > most_stocks_without_answer)
    replace_kv_cache();
  if (masks_.is_open && ++masks_.stocks > most_stocks_without_answer) {
    masks_.is_open = false;
    ask_for_masks();
  }
  if (drafts_.is_open && ++drafts_.stocks > most_stocks_without_answer) {
    forget_drafts();
    plan();
  }
}

// It is a tokenizer or the supervisor, and either reacts to this.
void scheduler_state::make_up_for(const caf::strong_actor_ptr& sender, msg::message_number first,
                                  std::uint64_t count) {
  out_.send(caf::actor_cast<tokenizer_actor>(sender), msg::send_again{first, count});
}

// What came before is here by now, so that nobody is taken for ended whose request is still on its way.
void scheduler_state::end_all_but(const std::vector<request_id>& open) {
  const std::unordered_set<request_id> kept(open.begin(), open.end());
  std::vector<request_id> ended;
  for (const request_id id : scheduler_->open_requests())
    if (knows_sender(id) && !kept.contains(id)) ended.push_back(id);
  stopped(ended);
}

bool scheduler_state::knows_sender(request_id id) const {
  if (tokenizers_.empty()) return false;
  const tokenizer_actor& tokenizer = tokenizers_[id % tokenizers_.size()];
  return tokenizer && self_->current_sender() && tokenizer.id() == self_->current_sender()->id();
}

void scheduler_state::replace_kv_cache() { caf::anon_send_exit(kv_cache_, caf::exit_reason::kill); }

void scheduler_state::end_all(const std::vector<request_id>& ids, finish_reason reason,
                              const std::optional<error>& failure) {
  for (const request_id id : ids) settle(scheduler_->end(id, reason, failure));
}

}  // namespace troupe
