#include "actors/kv_cache.hpp"

#include <utility>

namespace troupe {

void kv_cache_state::start(const kv_layout& layout, std::shared_ptr<metrics::engine_metrics> metrics) {
  manager_ = std::make_unique<kv_cache_manager>(kv_cache_options{layout.num_blocks, layout.block_size});
  metrics_ = std::move(metrics);
}

step_reservation_ptr kv_cache_state::reserve(const step_demand& demand) {
  auto reservation = std::make_shared<step_reservation>();
  manager_->reserve_step(demand, *reservation);
  report();
  return reservation;
}

void kv_cache_state::commit(const msg::commit_step& step) {
  manager_->commit_step(step.step);
  for (const block_release& each : step.releases) manager_->release(each.id, each.last_step);
  report();
}

void kv_cache_state::release(const std::vector<block_release>& releases) {
  for (const block_release& each : releases) manager_->release(each.id, each.last_step);
  report();
}

// No block is kept once its sequence has given it back: there is nothing to forget.
void kv_cache_state::reset(reset_call& call) {
  call.reply(manager_->free_blocks() == manager_->num_blocks());
}

msg::kv_cache_counts kv_cache_state::count() const {
  return {manager_->num_blocks(), manager_->free_blocks(), manager_->consistent()};
}

void kv_cache_state::report() { metrics_->set_kv_cache_usage(manager_->usage()); }

kv_cache_actor::behavior_type kv_cache_behavior(kv_cache_actor::stateful_pointer<kv_cache_state> self,
                                                kv_layout layout,
                                                std::shared_ptr<metrics::engine_metrics> metrics) {
  self->state.start(layout, std::move(metrics));
  return {
      [self](const msg::reserve_step&, const step_demand_ptr& demand) {
        return self->state.reserve(*demand);
      },
      [self](const msg::commit_step& step) { self->state.commit(step); },
      [self](const msg::release_blocks& done) { self->state.release(done.releases); },
      [self](const msg::reset_prefix_cache&, const reset_call_ptr& call) { self->state.reset(*call); },
      [self](const msg::count&) { return self->state.count(); },
  };
}

}  // namespace troupe
