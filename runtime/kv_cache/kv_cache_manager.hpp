// Who holds which block of KV memory. The only writer of block tables.
#pragma once
#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

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
  std::int32_t blocks_needed = 0;          // how many more it wanted, for the reason that a waiting request shows
  std::vector<std::int32_t> block_table;   // the whole table, where granted
};
struct step_reservation {
  std::uint64_t step = 0;
  std::int32_t free_blocks = 0;            // after the grants
  std::vector<sequence_grant> sequences;   // one per demand, same order; all after the first refusal are refused
};

class kv_cache_manager {
 public:
  kv_cache_manager(std::int32_t num_blocks, std::int32_t block_size);

  step_reservation reserve_step(const step_demand& demand);
  // Step `step` has been executed (or its runner is gone): blocks released under it come back to the pool.
  void commit_step(std::uint64_t step);
  // The sequence's references are dropped; blocks that no one else holds are free after `last_step` is committed.
  // Unknown ids are ignored.
  void release(request_id id, std::uint64_t last_step);

  std::int32_t num_blocks() const;
  std::int32_t free_blocks() const;
  std::int32_t block_size() const;
  double usage() const;  // 0..1
  // free + held + pending == all, every reference count right. For tests and idle checks.
  bool consistent() const;

 private:
  struct held { std::vector<std::int32_t> blocks; };
  struct pending { std::uint64_t step; std::vector<std::int32_t> blocks; };
  std::int32_t block_size_;
  std::vector<std::int32_t> references_;  // [num_blocks]
  std::deque<std::int32_t> free_;
  std::unordered_map<request_id, held> sequences_;
  std::deque<pending> pending_;
  std::uint64_t committed_ = 0;
};

}  // namespace troupe
