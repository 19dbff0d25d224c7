#include "runtime/kv_cache/kv_cache_manager.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

kv_cache_manager::kv_cache_manager(const kv_cache_options& wanted)
    : block_size_(wanted.block_size),
      enable_prefix_caching_(wanted.enable_prefix_caching),
      pool_(wanted.num_blocks) {}

cached_sequence* kv_cache_manager::find(request_id id) const {
  const auto found = sequences_.find(id);
  return found == sequences_.end() ? nullptr : found->second.get();
}

cached_sequence& kv_cache_manager::find_or_make(request_id id) {
  auto& entry = sequences_[id];
  if (entry) return *entry;
  if (spare_sequences_.empty()) {
    entry = std::make_unique<cached_sequence>();
  } else {
    entry = std::move(spare_sequences_.back());
    spare_sequences_.pop_back();
  }
  entry->clear(id);
  return *entry;
}

void kv_cache_manager::add_sequence(request_id id, std::span<const token_id> prompt,
                                    const prefix_scope& scope) {
  cached_sequence& who = find_or_make(id);
  if (!who.table.empty()) return;
  who.added = true;
  who.known = static_cast<std::int32_t>(prompt.size());
  who.chain.clear();
  who.tail.clear();
  if (!enable_prefix_caching_) return;
  who.chain.push_back(hasher_.root(scope));
  who.tail.assign(prompt.begin(), prompt.end());
  who.hash_full_blocks(hasher_, static_cast<std::size_t>(block_size_));
}

void kv_cache_manager::append_tokens(request_id id, std::span<const token_id> tokens) {
  cached_sequence* who = find(id);
  if (who == nullptr || !who->added) return;
  who->known += static_cast<std::int32_t>(tokens.size());
  who->note_samples(committed_);
  if (!enable_prefix_caching_) return;
  who->tail.insert(who->tail.end(), tokens.begin(), tokens.end());
  publish(*who);
  const bool full = who->tail.size() >= static_cast<std::size_t>(block_size_);
  if (full && !std::exchange(who->queued, true)) to_index_.push_back(who);
}

void kv_cache_manager::index_blocks() {
  for (cached_sequence* who : to_index_) {
    who->queued = false;
    index(*who);
  }
  to_index_.clear();
}

void kv_cache_manager::index(cached_sequence& who) {
  who.hash_full_blocks(hasher_, static_cast<std::size_t>(block_size_));
  publish(who);
}

void kv_cache_manager::publish(cached_sequence& who) {
  if (who.outdated) return;
  const std::int32_t full =
      std::min({who.stored / block_size_, who.num_hashed(), static_cast<std::int32_t>(who.table.size())});
  for (; who.published < full; ++who.published) {
    const auto block = static_cast<std::size_t>(who.published);
    pool_.publish(who.table[block], who.chain[block + 1]);
  }
}

void kv_cache_manager::fork(request_id parent, request_id child) {
  if (parent != child) find_or_make(child).parent = parent;
}

void kv_cache_manager::commit_step(std::uint64_t step) {
  committed_ = std::max(committed_, step);
  std::erase_if(pending_, [this](pending_drop& given) {
    if (given.last_step > committed_) return false;
    drop_table(given.blocks);
    return true;
  });
  check_when_idle();
}

void kv_cache_manager::release(request_id id, std::uint64_t last_step) {
  const auto found = sequences_.find(id);
  if (found == sequences_.end()) return;
  cached_sequence& who = *found->second;
  give_up_table(who, last_step);
  if (std::exchange(who.queued, false)) std::erase(to_index_, &who);
  spare_sequences_.push_back(std::move(found->second));
  sequences_.erase(found);
  check_when_idle();
}

void kv_cache_manager::preempt(request_id id, std::uint64_t last_step) {
  cached_sequence* who = find(id);
  if (who == nullptr) return;
  give_up_table(*who, last_step);
  who->preempted = true;
  check_when_idle();
}

void kv_cache_manager::give_up_table(cached_sequence& who, std::uint64_t last_step) {
  index(who);
  if (who.copied_from && last_step < who.first_step) forget_copy(who);
  if (last_step <= committed_) {
    drop_table(who.table);
  } else {
    pending_.push_back({last_step, std::move(who.table)});
  }
  who.forget_blocks();
}

// It was granted blocks, but the step was not sent off with it: nobody will make the copy.
void kv_cache_manager::forget_copy(const cached_sequence& who) {
  const auto held = std::find_if(pending_.begin(), pending_.end(), [&who](const pending_drop& given) {
    return given.last_step == who.first_step && given.blocks.size() == 1 &&
           given.blocks[0] == *who.copied_from;
  });
  if (held == pending_.end()) return;
  drop_table(held->blocks);
  pending_.erase(held);
}

// The last block first, so that a prefix outlives what continued it.
void kv_cache_manager::drop_table(std::vector<std::int32_t>& blocks) {
  for (std::size_t i = blocks.size(); i > 0; --i) pool_.drop(blocks[i - 1]);
  blocks.clear();
  if (blocks.capacity() > 0) spare_tables_.push_back(std::move(blocks));
}

bool kv_cache_manager::reset_prefix_cache() {
  pool_.forget_contents();
  bool in_use = false;
  for (auto& [id, who] : sequences_) {
    who->outdated = !who->table.empty();
    in_use = in_use || who->outdated;
  }
  return !in_use;
}

double kv_cache_manager::usage() const {
  return 1.0 - static_cast<double>(free_blocks()) / static_cast<double>(num_blocks());
}

std::size_t kv_cache_manager::hash_bytes() const {
  std::size_t bytes = pool_.index_bytes();
  for (const auto& [id, who] : sequences_) bytes += who->chain.capacity() * sizeof(block_hash);
  for (const auto& spare : spare_sequences_) bytes += spare->chain.capacity() * sizeof(block_hash);
  return bytes;
}

}  // namespace troupe
