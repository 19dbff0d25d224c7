// Plans one step and reserves its blocks, where scheduler and KV cache are at hand at once.
#pragma once
#include <utility>

#include "runtime/kv_cache/kv_cache_manager.hpp"
#include "runtime/scheduler/scheduler.hpp"

namespace troupe {

// Null where there is no step to plan. give_back(releases) is called after each round, before the next one;
// `reservation` is work space.
template <class GiveBack>
step_batch_ptr dispatch_step(scheduler& plans, kv_cache_manager& blocks, step_reservation& reservation,
                             GiveBack give_back) {
  step_demand_ptr demand = plans.plan();
  while (demand) {
    blocks.reserve_step(*demand, reservation);
    resolved_step resolved = plans.resolve(reservation);
    give_back(resolved.releases);
    if (resolved.batch) return std::move(resolved.batch);
    demand = std::move(resolved.demand);
  }
  return nullptr;
}

}  // namespace troupe
