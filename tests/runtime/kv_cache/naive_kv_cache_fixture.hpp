// The KV cache's rules once more, as plainly as they can be said: contents compared whole, every question
// answered by looking at all blocks. It does not choose blocks; it judges the choice.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/kv_cache/kv_cache_manager.hpp"

namespace troupe {

// Stands for a scope and all tokens up to one position.
using prefix_key = std::uint64_t;
prefix_key extend(prefix_key prefix, token_id token);

struct naive_sequence {
  std::vector<prefix_key> prefixes = {};  // [position] of the known tokens
  std::vector<std::int32_t> table = {};
  std::optional<request_id> parent = {};
  std::int32_t stored = 0;
  std::uint64_t first_step = 0;
  bool outdated = false;
};

class naive_kv_cache {
 public:
  naive_kv_cache(std::int32_t num_blocks, std::int32_t block_size)
      : block_size_(block_size), blocks_(static_cast<std::size_t>(num_blocks)) {}

  std::map<request_id, naive_sequence> sequences;

  // Each takes the manager's answer; returns what is wrong with it, or nothing.
  std::string judge(const step_demand& demand, const step_reservation& answer);
  void append(request_id id, prefix_key prefix);
  void commit(std::uint64_t step);
  void give_up(request_id id, std::uint64_t last_step);  // release and preempt
  void reset();

  std::int32_t cached_tokens(request_id id) const;
  std::int32_t num_free() const;
  std::int32_t num_cached() const;
  std::int32_t references(std::int32_t block) const {
    return blocks_[static_cast<std::size_t>(block)].holders;
  }

 private:
  struct block_state {
    std::int32_t holders = 0;
    std::optional<prefix_key> content = {};
    std::uint64_t given_back = 0;
  };
  block_state& at(std::int32_t i) { return blocks_[static_cast<std::size_t>(i)]; }
  const block_state& at(std::int32_t i) const { return blocks_[static_cast<std::size_t>(i)]; }
  bool findable(prefix_key content, bool held) const;
  std::int32_t found_by_content(const naive_sequence& who, std::int32_t limit) const;
  std::int32_t found_at_parent(const naive_sequence& who, std::int32_t limit) const;
  std::string judge_grant(const sequence_demand& wanted, const step_reservation& answer, std::size_t i,
                          bool& refused);
  std::string judge_shared(const naive_sequence& who, const sequence_grant& grant) const;
  std::string take(std::int32_t chosen);
  void publish(naive_sequence& who);
  void drop(const std::vector<std::int32_t>& table);

  std::int32_t block_size_;
  std::vector<block_state> blocks_;
  std::vector<std::pair<std::uint64_t, std::vector<std::int32_t>>> pending_;
  std::uint64_t committed_ = 0;
  std::uint64_t clock_ = 0;
};

}  // namespace troupe
