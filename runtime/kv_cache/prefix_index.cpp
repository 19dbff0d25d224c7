#include "runtime/kv_cache/prefix_index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace troupe {

prefix_index::prefix_index(std::span<block_entry> entries, std::pmr::memory_resource* memory)
    : heads_(std::bit_ceil(std::max<std::size_t>(entries.size(), 1)), last, memory), entries_(entries) {}

std::size_t prefix_index::bytes() const {
  constexpr std::size_t of_entry =
      sizeof(block_entry::next_in_bucket) + sizeof(block_entry::tag) + sizeof(block_entry::hash);
  return heads_.size() * sizeof(heads_[0]) + entries_.size() * of_entry;
}

// A digest's bytes are as good as random: any of them will do.
std::uint32_t prefix_index::tag_of(const block_hash& hash) {
  std::uint32_t tag = 0;
  std::memcpy(&tag, hash.data(), sizeof(tag));
  return tag;
}

std::optional<std::int32_t> prefix_index::find_from(std::int32_t block, const block_hash& hash,
                                                    std::uint32_t tag, std::int32_t other_than) const {
  for (; block != last; block = at(block).next_in_bucket)
    if (at(block).tag == tag && block != other_than && hash_of(block) == hash) return block;
  return std::nullopt;
}

std::optional<std::int32_t> prefix_index::find(const block_hash& hash) const {
  const std::uint32_t tag = tag_of(hash);
  return find_from(heads_[bucket_of(tag)], hash, tag, absent);
}

std::optional<std::int32_t> prefix_index::twin_of(std::int32_t block) const {
  const std::uint32_t tag = at(block).tag;
  return find_from(heads_[bucket_of(tag)], hash_of(block), tag, block);
}

void prefix_index::insert(std::int32_t block, const block_hash& hash) {
  const std::uint32_t tag = tag_of(hash);
  std::int32_t& head = heads_[bucket_of(tag)];
  block_entry& entry = at(block);
  entry.next_in_bucket = head;
  entry.tag = tag;
  entry.hash = hash;
  head = block;
  ++size_;
}

void prefix_index::erase(std::int32_t block) {
  std::int32_t* from = &heads_[bucket_of(at(block).tag)];
  while (*from != block) from = &at(*from).next_in_bucket;
  *from = at(block).next_in_bucket;
  at(block).next_in_bucket = absent;
  --size_;
}

void prefix_index::clear() {
  std::fill(heads_.begin(), heads_.end(), last);
  for (block_entry& each : entries_) each.next_in_bucket = absent;
  size_ = 0;
}

std::string prefix_index::check() const {
  std::vector<bool> seen(entries_.size(), false);
  std::int32_t count = 0;
  for (std::size_t bucket = 0; bucket < heads_.size(); ++bucket) {
    for (std::int32_t block = heads_[bucket]; block != last; block = at(block).next_in_bucket) {
      if (!contains(block)) return fmt::format("block {} is in a bucket but not in the index", block);
      if (seen[static_cast<std::size_t>(block)]) return fmt::format("block {} is indexed twice", block);
      if (at(block).tag != tag_of(hash_of(block)) || bucket_of(at(block).tag) != bucket)
        return fmt::format("block {} is in the wrong bucket", block);
      seen[static_cast<std::size_t>(block)] = true;
      ++count;
    }
  }
  const auto marked = std::count_if(entries_.begin(), entries_.end(),
                                    [](const block_entry& each) { return each.next_in_bucket != absent; });
  if (count != size_ || marked != size_) {
    return fmt::format("{} blocks are indexed, {} are marked so, the count says {}", count, marked, size_);
  }
  return {};
}

}  // namespace troupe
