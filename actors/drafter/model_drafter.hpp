// The drafter's actor where a draft model guesses: it gathers what that must hear, and directs it. The model
// itself runs inside model_runner, between the steps.
#pragma once
#include <memory>

#include "actors/interfaces.hpp"
#include "actors/messaging/outbox.hpp"
#include "metrics/engine_metrics.hpp"

namespace troupe {

class model_drafter_state {
 public:
  static inline const char* name = "drafter";
  explicit model_drafter_state(drafter_actor::base* self) : self_(self), out_(self) {}

  void start(std::shared_ptr<metrics::engine_metrics> metrics) { metrics_ = std::move(metrics); }
  // The draft model of another runner knows no request that is open now.
  void meet(const company_roster& roster) { runner_ = roster.model_runner; }
  // Told with the next news: no prompt is computed before its first token is there.
  void open(engine_request_ptr request);
  void observe(const draft_news& news);
  // Answers when the runner has; with nothing where that ends with the question in its mailbox, and never
  // where it has lost the question, or ends by that. While drafts do not pay the runner is told,
  // and asked only once in a while: a question makes the next step wait for this one's end.
  caf::result<drafts_ptr> propose(const draft_news& news);
  void take_stock(const msg::take_stock& stock) {
    if (stock.is_for_all) out_.take_stock();
  }

 private:
  draft_work_ptr work_of(const draft_news& news);
  // The next runner is told of no request that has ended or gone on by then: it would not know all tokens.
  void forget(const draft_news& news);

  drafter_actor::base* self_;
  outbox<drafter_actor::base> out_;
  model_runner_actor runner_;
  std::shared_ptr<metrics::engine_metrics> metrics_;
  std::int32_t pause_ = 0;                  // questions that are not passed on
  std::vector<engine_request_ptr> opened_;  // that the runner has not heard of
  bool is_first_ = true;                    // no runner has heard of this drafter
};

drafter_actor::behavior_type model_drafter_behavior(drafter_actor::stateful_pointer<model_drafter_state> self,
                                                    std::shared_ptr<metrics::engine_metrics> metrics);

}  // namespace troupe
