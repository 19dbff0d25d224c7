// The actor that guesses how running requests go on. What it says may come late or not at all: a step without
// drafts is a step like any other.
#pragma once
#include <memory>

#include "actors/interfaces.hpp"
#include "metrics/engine_metrics.hpp"
#include "runtime/drafting/drafter.hpp"

namespace troupe {

class drafter_state {
 public:
  static inline const char* name = "drafter";
  explicit drafter_state(drafter_actor::base* self) : self_(self) {}

  void start(const drafter_options& options, std::shared_ptr<metrics::engine_metrics> metrics);
  void open(const engine_request& request);
  void observe(const draft_news& news);
  // A draft for each request that the news tells a token of.
  drafts_ptr propose(const draft_news& news);
  // Indexes a piece of the prompts that wait for it.
  void work();

 private:
  void go_on_indexing();

  drafter_actor::base* self_;
  std::unique_ptr<drafter> drafter_;
  std::shared_ptr<metrics::engine_metrics> metrics_;
  bool is_indexing_ = false;
  std::uint64_t reported_forgotten_ = 0;
};

drafter_actor::behavior_type drafter_behavior(drafter_actor::stateful_pointer<drafter_state> self,
                                              drafter_options options,
                                              std::shared_ptr<metrics::engine_metrics> metrics);

}  // namespace troupe
