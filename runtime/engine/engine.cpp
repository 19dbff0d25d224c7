#include "runtime/engine/engine.hpp"

#include <exception>
#include <utility>

namespace troupe {

namespace {

scheduler_limits with_pool_of(scheduler_limits limits, const executor& device) {
  const kv_layout layout = device.layout();
  limits.num_blocks = layout.num_blocks;
  limits.block_size = layout.block_size;
  return limits;
}

}  // namespace

engine::engine(std::unique_ptr<executor> device, scheduler_limits limits)
    : device_(std::move(device)),
      scheduler_(with_pool_of(std::move(limits), *device_)),
      kv_cache_({device_->layout().num_blocks, device_->layout().block_size}) {}

result<void> engine::submit(engine_request request) { return scheduler_.submit(std::move(request)); }

token_batch engine::abort(request_id id) {
  scheduler_output output = scheduler_.end(id, finish_reason::abort);
  release(output.releases);
  return std::move(output.events);
}

token_batch engine::step() {
  std::optional<step_demand> demand = scheduler_.plan();
  while (demand) {
    resolved_step resolved = scheduler_.resolve(kv_cache_.reserve_step(*demand));
    release(resolved.releases);
    if (resolved.batch) return run(*resolved.batch);
    demand = std::move(resolved.demand);
  }
  return {};
}

token_batch engine::run(const step_batch& batch) {
  scheduler_output output;
  try {
    device_->forward(batch);
    device_->sample(batch, result_);
    output = scheduler_.commit(result_);
  } catch (const std::exception&) {
    output = scheduler_.fail_step(batch.step, {error_code::internal, "the model's step failed"});
  }
  kv_cache_.commit_step(batch.step);
  release(output.releases);
  return std::move(output.events);
}

bool engine::idle() const {
  const scheduler_counts counts = scheduler_.counts();
  return counts.running == 0 && counts.waiting == 0;
}

void engine::release(const std::vector<block_release>& releases) {
  for (const block_release& given : releases) kv_cache_.release(given.id, given.last_step);
}

}  // namespace troupe
