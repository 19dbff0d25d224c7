#include "actors/drafter/model_drafter.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "actors/messaging/measured.hpp"

namespace troupe {

namespace {

constexpr std::int32_t questions_between = 8;

drafts_ptr no_drafts() { return std::make_shared<const std::vector<draft>>(); }

}  // namespace

void model_drafter_state::open(engine_request_ptr request) {
  opened_.push_back(std::move(request));
  pause_ = 0;
}

void model_drafter_state::observe(const draft_news& news) {
  if (!runner_) return forget(news);
  out_.send(runner_, msg::observe_tokens{}, work_of(news));
}

caf::result<drafts_ptr> model_drafter_state::propose(const draft_news& news) {
  if (pause_ > 0 || !runner_) {
    pause_ = std::max(pause_ - 1, 0);
    observe(news);
    return no_drafts();
  }
  auto answer = self_->make_response_promise<drafts_ptr>();
  const auto begin = std::chrono::steady_clock::now();
  out_.ask(runner_, msg::propose_drafts{}, work_of(news))
      .then(
          [this, answer, begin](const drafts_ptr& drafts) mutable {
            metrics_->observe_step(metrics::step_phase::draft,
                                   metrics::in_seconds(std::chrono::steady_clock::now() - begin));
            if (!drafts) pause_ = questions_between;
            answer.deliver(drafts ? drafts : no_drafts());
          },
          [answer](const caf::error&) mutable { answer.deliver(no_drafts()); });
  return answer;
}

void model_drafter_state::forget(const draft_news& news) {
  std::erase_if(opened_, [&news](const engine_request_ptr& request) {
    return std::ranges::find(news.ended, request->id) != news.ended.end() ||
           std::ranges::find(news.outputs, request->id, &draft_news::output::id) != news.outputs.end();
  });
}

draft_work_ptr model_drafter_state::work_of(const draft_news& news) {
  auto work = std::make_shared<draft_work>();
  work->opened = std::exchange(opened_, {});
  work->news = news;
  work->is_first = std::exchange(is_first_, false);
  return work;
}

drafter_actor::behavior_type model_drafter_behavior(drafter_actor::stateful_pointer<model_drafter_state> self,
                                                    std::shared_ptr<metrics::engine_metrics> metrics) {
  self->state.start(metrics);
  return measured(
      self, metrics,
      [self](const msg::meet&, const company_roster_ptr& roster) { self->state.meet(*roster); },
      [self](const msg::open_drafts&, const engine_request_ptr& request) { self->state.open(request); },
      [self](const msg::observe_tokens&, const draft_news_ptr& news) { self->state.observe(*news); },
      [self](const msg::propose_drafts&, const draft_news_ptr& news) { return self->state.propose(*news); },
      [](const msg::index_drafts&) {},
      [self](const msg::take_stock& stock) { self->state.take_stock(stock); });
}

}  // namespace troupe
