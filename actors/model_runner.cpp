#include "actors/model_runner.hpp"

#include <spdlog/spdlog.h>

#include <exception>
#include <utility>

namespace troupe {

std::optional<std::chrono::nanoseconds> model_runner_state::execute(const step_batch& batch,
                                                                    step_result& result) try {
  const auto begin = std::chrono::steady_clock::now();
  const device_batch& rows = feed_.resolve(batch);
  device_->forward(rows);
  device_->sample(rows, result);
  return std::chrono::steady_clock::now() - begin;
} catch (const std::exception& fault) {
  spdlog::error("step {} of {} rows failed: {}", batch.step, batch.num_rows(), fault.what());
  return std::nullopt;
}

caf::result<msg::warmed_up> model_runner_state::warm_up(const msg::warm_up& request,
                                                        const step_batch& batch) {
  step_result scratch;
  const auto took = execute(batch, scratch);
  if (!took) return caf::make_error(caf::sec::runtime_error, "warm-up failed");
  return msg::warmed_up{request.item, took->count()};
}

caf::result<msg::step_done, step_result_ptr> model_runner_state::run_step(const step_batch& batch) {
  auto result = std::make_shared<step_result>();
  const auto took = execute(batch, *result);
  if (!took) return caf::make_error(caf::sec::runtime_error, "step failed");
  feed_.remember(*result);
  return {msg::step_done{batch.step, took->count()}, step_result_ptr(std::move(result))};
}

model_runner_actor::behavior_type model_runner_behavior(
    model_runner_actor::stateful_pointer<model_runner_state> self, std::shared_ptr<executor> device) {
  self->state.start(std::move(device));
  return {
      [self](const msg::warm_up& request, const step_batch_ptr& batch) {
        return self->state.warm_up(request, *batch);
      },
      [self](const msg::run_step&, const step_batch_ptr& batch) { return self->state.run_step(*batch); },
  };
}

}  // namespace troupe
