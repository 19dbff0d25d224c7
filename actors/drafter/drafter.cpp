#include "actors/drafter/drafter.hpp"

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <utility>

#include "actors/messaging/measured.hpp"
#include "runtime/sampling/sampler.hpp"

namespace troupe {

void drafter_state::start(const drafter_options& options, std::shared_ptr<metrics::engine_metrics> metrics) {
  drafter_ = std::make_unique<drafter>(options);
  metrics_ = std::move(metrics);
}

void drafter_state::open(const engine_request& request) {
  // No two pairs give one key.
  const std::string key = fmt::format("{}:{}{}", request.tenant.size(), request.tenant, request.cache_salt);
  const sampling_params& sampling = *request.sampling;
  drafter_->open(request.id, key, request.prompt, is_greedy(sampling) ? 0.0F : sampling.temperature);
  go_on_indexing();
}

void drafter_state::observe(const draft_news& news) {
  news.tell(*drafter_);
  go_on_indexing();
}

drafts_ptr drafter_state::propose(const draft_news& news) {
  using clock = std::chrono::steady_clock;
  const auto begin = clock::now();
  observe(news);
  auto drafts = std::make_shared<std::vector<draft>>();
  for (const draft_news::output& each : news.outputs) {
    draft guess = drafter_->propose(each.id);
    if (!guess.tokens.empty()) drafts->push_back(std::move(guess));
  }
  metrics_->observe_step(metrics::step_phase::draft, metrics::in_seconds(clock::now() - begin));
  return drafts;
}

// One piece at a time, so that nobody who asks for drafts waits for a long prompt.
void drafter_state::work() {
  is_indexing_ = false;
  drafter_->work();
  go_on_indexing();
}

void drafter_state::go_on_indexing() {
  const std::uint64_t forgotten = drafter_->num_forgotten_requests();
  metrics_->set_drafter_memory(drafter_->bytes(), forgotten - std::exchange(reported_forgotten_, forgotten));
  if (!drafter_->has_work() || std::exchange(is_indexing_, true)) return;
  self_->send(drafter_actor(self_), msg::index_drafts{});
}

drafter_actor::behavior_type drafter_behavior(drafter_actor::stateful_pointer<drafter_state> self,
                                              drafter_options options,
                                              std::shared_ptr<metrics::engine_metrics> metrics) {
  self->state.start(options, metrics);
  return measured(
      self, metrics, [](const msg::meet&, const company_roster_ptr&) {},
      [self](const msg::open_drafts&, const engine_request_ptr& request) { self->state.open(*request); },
      [self](const msg::observe_tokens&, const draft_news_ptr& news) { self->state.observe(*news); },
      [self](const msg::propose_drafts&, const draft_news_ptr& news) { return self->state.propose(*news); },
      [self](const msg::index_drafts&) { self->state.work(); }, [](const msg::take_stock&) {});
}

}  // namespace troupe
