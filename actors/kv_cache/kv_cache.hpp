// The actor that owns the block tables.
#pragma once
#include <memory>
#include <vector>

#include "actors/interfaces.hpp"
#include "metrics/engine_metrics.hpp"
#include "runtime/kv_cache/kv_cache_manager.hpp"
#include "runtime/recycler.hpp"

namespace troupe {

class kv_cache_state {
 public:
  static inline const char* name = "kv_cache";

  void start(const kv_cache_options& options, std::shared_ptr<metrics::engine_metrics> metrics);
  void add_sequence(const engine_request& request);
  step_reservation_ptr reserve(const step_demand& demand);
  // While the step runs.
  void index_blocks() { manager_->index_blocks(); }
  void commit(const msg::commit_step& step);
  void lose_storage(std::uint64_t last_step);
  void lose_steps(std::uint64_t last_step);
  void release(const std::vector<block_release>& releases);
  void reset(reset_call& call);
  msg::kv_cache_counts count() const;

 private:
  void report();
  std::unique_ptr<kv_cache_manager> manager_;
  recycler<step_reservation> reservations_;
  prefix_cache_counts reported_;
  std::shared_ptr<metrics::engine_metrics> metrics_;
};

kv_cache_actor::behavior_type kv_cache_behavior(kv_cache_actor::stateful_pointer<kv_cache_state> self,
                                                kv_cache_options options,
                                                std::shared_ptr<metrics::engine_metrics> metrics);

}  // namespace troupe
