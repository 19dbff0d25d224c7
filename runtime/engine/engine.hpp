// The whole engine on the caller's thread: scheduler, KV cache, executor. No actors, no text. For embedding
// without actors, offline measurement and tests; the actors drive the same parts by messages.
#pragma once
#include <memory>

#include "runtime/executor/executor.hpp"
#include "runtime/kv_cache/kv_cache_manager.hpp"
#include "runtime/scheduler/scheduler.hpp"

namespace troupe {

class engine {
 public:
  // num_blocks and block_size of `limits` are taken from the executor.
  engine(std::unique_ptr<executor> device, scheduler_limits limits);

  result<void> submit(engine_request request);
  token_batch abort(request_id id);
  // Plans, reserves, runs and commits one step: its tokens and ends. May be empty, also while there is more
  // to do: a chunk of a prompt gives no token. A step that the executor failed ends its requests with error.
  token_batch step();
  bool idle() const;  // nothing running, nothing waiting

  const kv_cache_manager& kv_cache() const { return kv_cache_; }
  const class scheduler& scheduler() const { return scheduler_; }
  executor& device() { return *device_; }

 private:
  token_batch run(const step_batch& batch);
  void release(const std::vector<block_release>& releases);
  std::unique_ptr<executor> device_;
  class scheduler scheduler_;
  kv_cache_manager kv_cache_;
  step_result result_;
};

}  // namespace troupe
