// The actor that owns the executor. Whoever spawns it decides whether it has a thread of its own
// (caf::detached).
#pragma once
#include <memory>

#include "actors/interfaces.hpp"
#include "runtime/executor/executor.hpp"
#include "runtime/executor/token_feed.hpp"

namespace troupe {

class model_runner_state {
 public:
  static inline const char* name = "model_runner";

  void start(std::shared_ptr<executor> device) { device_ = std::move(device); }
  caf::result<msg::warmed_up> warm_up(const msg::warm_up& request, const step_batch& batch);
  // An exception of the executor becomes an error; the text goes to the log only.
  caf::result<msg::step_done, step_result_ptr> run_step(const step_batch& batch);

 private:
  // Nothing where the executor threw.
  std::optional<std::chrono::nanoseconds> execute(const step_batch& batch, step_result& result);
  std::shared_ptr<executor> device_;
  token_feed feed_;
};

model_runner_actor::behavior_type model_runner_behavior(
    model_runner_actor::stateful_pointer<model_runner_state> self, std::shared_ptr<executor> device);

}  // namespace troupe
