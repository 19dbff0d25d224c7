// The actor that owns the block tables.
#pragma once
#include <memory>
#include <vector>

#include "actors/interfaces.hpp"
#include "metrics/engine_metrics.hpp"
#include "runtime/executor/executor.hpp"
#include "runtime/kv_cache/kv_cache_manager.hpp"

namespace troupe {

class kv_cache_state {
 public:
  static inline const char* name = "kv_cache";

  void start(const kv_layout& layout, std::shared_ptr<metrics::engine_metrics> metrics);
  step_reservation_ptr reserve(const step_demand& demand);
  void commit(const msg::commit_step& step);
  void release(const std::vector<block_release>& releases);
  void reset(reset_call& call);
  msg::kv_cache_counts count() const;

 private:
  void report();
  std::unique_ptr<kv_cache_manager> manager_;
  std::shared_ptr<metrics::engine_metrics> metrics_;
};

kv_cache_actor::behavior_type kv_cache_behavior(kv_cache_actor::stateful_pointer<kv_cache_state> self,
                                                kv_layout layout,
                                                std::shared_ptr<metrics::engine_metrics> metrics);

}  // namespace troupe
