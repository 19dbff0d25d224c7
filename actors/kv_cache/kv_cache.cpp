#include "actors/kv_cache/kv_cache.hpp"

#include <span>
#include <utility>

#include "actors/messaging/measured.hpp"

namespace troupe {

void kv_cache_state::start(const kv_cache_options& options,
                           std::shared_ptr<metrics::engine_metrics> metrics) {
  manager_ = std::make_unique<kv_cache_manager>(options);
  metrics_ = std::move(metrics);
  report();  // in place of what the one before this has left
}

void kv_cache_state::add_sequence(const engine_request& request) { manager_->add_request(request); }

step_reservation_ptr kv_cache_state::reserve(const step_demand& demand) {
  const std::shared_ptr<step_reservation> reservation = reservations_.take();
  manager_->reserve_step(demand, *reservation);
  report();
  return reservation;
}

void kv_cache_state::commit(const msg::commit_step& step) {
  manager_->commit_step(step.step);
  manager_->append_tokens(step.appends, step.appended);
  for (const block_trim& each : step.trims) manager_->trim(each);
  manager_->give_back(step.releases);
  report();
}

void kv_cache_state::lose_storage(std::uint64_t last_step) {
  manager_->lose_storage(last_step);
  report();
}

void kv_cache_state::lose_steps(std::uint64_t last_step) {
  manager_->lose_steps(last_step);
  report();
}

void kv_cache_state::release(const std::vector<block_release>& releases) {
  manager_->give_back(releases);
  report();
}

void kv_cache_state::reset(reset_call& call) { call.reply(manager_->reset_prefix_cache()); }

msg::kv_cache_counts kv_cache_state::count() const {
  return {manager_->num_blocks(), manager_->free_blocks(), manager_->consistent()};
}

void kv_cache_state::report() {
  metrics_->set_kv_cache_usage(manager_->usage());
  const prefix_cache_counts& counts = manager_->counts();
  if (counts.queries == reported_.queries) return;
  metrics_->add_prefix_cache(counts.queries - reported_.queries, counts.hits - reported_.hits);
  reported_ = counts;
}

kv_cache_actor::behavior_type kv_cache_behavior(kv_cache_actor::stateful_pointer<kv_cache_state> self,
                                                kv_cache_options options,
                                                std::shared_ptr<metrics::engine_metrics> metrics) {
  self->state.start(options, metrics);
  return measured(
      self, metrics,
      [self](const msg::add_sequence&, const engine_request_ptr& request) {
        self->state.add_sequence(*request);
      },
      // The answer goes first: what has to be hashed is hashed while the step runs.
      [self](const msg::reserve_step&, const step_demand_ptr& demand) -> caf::result<step_reservation_ptr> {
        auto answer = self->make_response_promise<step_reservation_ptr>();
        answer.deliver(self->state.reserve(*demand));
        self->state.index_blocks();
        return answer;
      },
      [self](const msg::commit_step& step) { self->state.commit(step); },
      [self](const msg::lose_storage& lost) { self->state.lose_storage(lost.last_step); },
      [self](const msg::lose_steps& lost) { self->state.lose_steps(lost.last_step); },
      [self](const msg::release_blocks& done) { self->state.release(done.releases); },
      [self](const msg::reset_prefix_cache&, const reset_call_ptr& call) { self->state.reset(*call); },
      [self](const msg::count&) { return self->state.count(); }, [](const msg::take_stock&) {});
}

}  // namespace troupe
