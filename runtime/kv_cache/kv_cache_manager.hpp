// Who holds which block of KV memory. The only writer of block tables.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "runtime/kv_cache/free_queue.hpp"
#include "runtime/request.hpp"

namespace troupe {

// "After this step the sequence holds `num_tokens` tokens": idempotent, asking twice costs nothing.
struct sequence_demand {
  request_id id = 0;
  std::int32_t num_tokens = 0;
};
struct step_demand {
  std::uint64_t step = 0;
  std::vector<sequence_demand> sequences;  // in order of precedence
};

struct sequence_grant {
  request_id id = 0;
  bool granted = false;
  std::int32_t blocks_needed = 0;  // where refused: how many more it wanted
  // Where granted: its whole table is block_tables[table_offset .. table_offset + table_length).
  std::int32_t table_offset = 0;
  std::int32_t table_length = 0;
};
struct step_reservation {
  std::uint64_t step = 0;
  std::int32_t free_blocks = 0;  // after the grants
  std::vector<sequence_grant>
      sequences;  // one per demand, same order; all after the first refusal are refused
  std::vector<std::int32_t> block_tables;
};

class kv_cache_manager {
 public:
  // Both at least 1.
  kv_cache_manager(std::int32_t num_blocks, std::int32_t block_size);

  // All or nothing per sequence, in the order of the demand.
  step_reservation reserve_step(const step_demand& demand);
  // Step `step` has been executed (or its runner is gone): blocks released under it come back to the pool.
  void commit_step(std::uint64_t step);
  // The sequence's references are dropped; blocks that no one else holds are free after `last_step` is
  // committed. Unknown ids are ignored.
  void release(request_id id, std::uint64_t last_step);

  std::int32_t num_blocks() const { return static_cast<std::int32_t>(references_.size()); }
  std::int32_t free_blocks() const { return free_.size(); }
  std::int32_t block_size() const { return block_size_; }
  double usage() const;  // 0..1
  // free + held + pending == all, every reference count right. For tests and idle checks.
  bool consistent() const;

 private:
  struct pending_release {
    std::uint64_t last_step = 0;
    std::vector<std::int32_t> blocks;
  };
  void drop_references(const std::vector<std::int32_t>& blocks);

  std::int32_t block_size_;
  std::vector<std::int32_t> references_;  // [num_blocks] tables and pending releases that hold the block
  free_queue free_;
  std::unordered_map<request_id, std::vector<std::int32_t>> tables_;
  std::vector<pending_release> pending_;  // released, but a step that may write them has not been committed
  std::uint64_t committed_ = 0;
};

}  // namespace troupe
