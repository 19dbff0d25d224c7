#include "runtime/kv_cache/kv_cache_manager.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

kv_cache_manager::kv_cache_manager(std::int32_t num_blocks, std::int32_t block_size)
    : block_size_(block_size), references_(static_cast<std::size_t>(num_blocks), 0), free_(num_blocks) {}

step_reservation kv_cache_manager::reserve_step(const step_demand& demand) {
  step_reservation reservation;
  reservation.step = demand.step;
  reservation.sequences.reserve(demand.sequences.size());
  bool refused = false;
  for (const sequence_demand& wanted : demand.sequences) {
    sequence_grant& grant = reservation.sequences.emplace_back();
    grant.id = wanted.id;
    const auto found = tables_.find(wanted.id);
    const auto held = found == tables_.end() ? 0 : static_cast<std::int32_t>(found->second.size());
    const std::int32_t total = (wanted.num_tokens + block_size_ - 1) / block_size_;
    const std::int32_t more = std::max(total - held, 0);
    refused = refused || more > free_.size();
    if (refused) {
      grant.blocks_needed = more;
      continue;
    }
    auto& table = found == tables_.end() ? tables_[wanted.id] : found->second;
    for (std::int32_t i = 0; i < more; ++i) {
      const std::int32_t block = free_.pop();
      references_[static_cast<std::size_t>(block)] = 1;
      table.push_back(block);
    }
    grant.granted = true;
    grant.table_offset = static_cast<std::int32_t>(reservation.block_tables.size());
    grant.table_length = static_cast<std::int32_t>(table.size());
    reservation.block_tables.insert(reservation.block_tables.end(), table.begin(), table.end());
  }
  reservation.free_blocks = free_.size();
  return reservation;
}

void kv_cache_manager::commit_step(std::uint64_t step) {
  committed_ = std::max(committed_, step);
  std::erase_if(pending_, [this](const pending_release& release) {
    if (release.last_step > committed_) return false;
    drop_references(release.blocks);
    return true;
  });
}

void kv_cache_manager::release(request_id id, std::uint64_t last_step) {
  const auto found = tables_.find(id);
  if (found == tables_.end()) return;
  if (last_step <= committed_) {
    drop_references(found->second);
  } else {
    pending_.push_back({last_step, std::move(found->second)});
  }
  tables_.erase(found);
}

void kv_cache_manager::drop_references(const std::vector<std::int32_t>& blocks) {
  for (const std::int32_t block : blocks) {
    if (--references_[static_cast<std::size_t>(block)] == 0) free_.push(block);
  }
}

double kv_cache_manager::usage() const {
  return 1.0 - static_cast<double>(free_.size()) / static_cast<double>(references_.size());
}

bool kv_cache_manager::consistent() const {
  std::vector<std::int32_t> expected(references_.size(), 0);
  for (const auto& [id, table] : tables_) {
    for (const std::int32_t block : table) ++expected[static_cast<std::size_t>(block)];
  }
  for (const pending_release& release : pending_) {
    for (const std::int32_t block : release.blocks) ++expected[static_cast<std::size_t>(block)];
  }
  if (expected != references_) return false;
  for (std::int32_t i = 0; i < free_.size(); ++i) {
    std::int32_t& count = expected[static_cast<std::size_t>(free_.at(i))];
    if (count != 0) return false;  // held, or free twice
    count = -1;
  }
  return std::find(expected.begin(), expected.end(), 0) == expected.end();  // neither held nor free: lost
}

}  // namespace troupe
