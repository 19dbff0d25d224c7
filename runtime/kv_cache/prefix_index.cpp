#include "runtime/kv_cache/prefix_index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace troupe {

prefix_index::prefix_index(std::int32_t num_blocks)
    : heads_(std::bit_ceil(std::max<std::size_t>(static_cast<std::size_t>(num_blocks), 1)), last),
      entries_(static_cast<std::size_t>(num_blocks)) {}

// A digest's bytes are as good as random: any of them are the bucket.
std::size_t prefix_index::bucket_of(const block_hash& hash) const {
  std::uint64_t head = 0;
  std::memcpy(&head, hash.data(), sizeof(head));
  return static_cast<std::size_t>(head) & (heads_.size() - 1);
}

std::optional<std::int32_t> prefix_index::find(const block_hash& hash) const {
  for (std::int32_t block = heads_[bucket_of(hash)]; block != last; block = entry_of(block).next) {
    if (entry_of(block).hash == hash) return block;
  }
  return std::nullopt;
}

std::optional<std::int32_t> prefix_index::twin_of(std::int32_t block) const {
  const block_hash& hash = hash_of(block);
  for (std::int32_t other = heads_[bucket_of(hash)]; other != last; other = entry_of(other).next) {
    if (other != block && entry_of(other).hash == hash) return other;
  }
  return std::nullopt;
}

void prefix_index::insert(std::int32_t block, const block_hash& hash) {
  std::int32_t& head = heads_[bucket_of(hash)];
  entry_of(block) = {hash, head};
  head = block;
  ++size_;
}

void prefix_index::erase(std::int32_t block) {
  std::int32_t* link = &heads_[bucket_of(hash_of(block))];
  while (*link != block) link = &entry_of(*link).next;
  *link = entry_of(block).next;
  entry_of(block).next = absent;
  --size_;
}

void prefix_index::clear() {
  std::fill(heads_.begin(), heads_.end(), last);
  for (entry& each : entries_) each.next = absent;
  size_ = 0;
}

std::string prefix_index::check() const {
  std::vector<bool> seen(entries_.size(), false);
  std::int32_t count = 0;
  for (std::size_t bucket = 0; bucket < heads_.size(); ++bucket) {
    for (std::int32_t block = heads_[bucket]; block != last; block = entry_of(block).next) {
      if (!contains(block)) return fmt::format("block {} is in a bucket but not in the index", block);
      if (seen[static_cast<std::size_t>(block)]) return fmt::format("block {} is indexed twice", block);
      if (bucket_of(hash_of(block)) != bucket) return fmt::format("block {} is in the wrong bucket", block);
      seen[static_cast<std::size_t>(block)] = true;
      ++count;
    }
  }
  const auto marked =
      std::count_if(entries_.begin(), entries_.end(), [](const entry& each) { return each.next != absent; });
  if (count != size_ || marked != size_) {
    return fmt::format("{} blocks are indexed, {} are marked so, the count says {}", count, marked, size_);
  }
  return {};
}

}  // namespace troupe
