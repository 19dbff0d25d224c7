#include "runtime/kv_cache/prefix_index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace troupe {

prefix_index::prefix_index(std::int32_t num_blocks, std::pmr::memory_resource* memory)
    : heads_(std::bit_ceil(std::max<std::size_t>(static_cast<std::size_t>(num_blocks), 1)), last, memory),
      links_(static_cast<std::size_t>(num_blocks), memory),
      hashes_(static_cast<std::size_t>(num_blocks), memory) {}

// A digest's bytes are as good as random: any of them will do.
std::uint32_t prefix_index::tag_of(const block_hash& hash) {
  std::uint32_t tag = 0;
  std::memcpy(&tag, hash.data(), sizeof(tag));
  return tag;
}

std::optional<std::int32_t> prefix_index::find_from(std::int32_t block, const block_hash& hash,
                                                    std::uint32_t tag, std::int32_t other_than) const {
  for (; block != last; block = link_of(block).next)
    if (link_of(block).tag == tag && block != other_than && hash_of(block) == hash) return block;
  return std::nullopt;
}

std::optional<std::int32_t> prefix_index::find(const block_hash& hash) const {
  const std::uint32_t tag = tag_of(hash);
  return find_from(heads_[bucket_of(tag)], hash, tag, absent);
}

std::optional<std::int32_t> prefix_index::twin_of(std::int32_t block) const {
  const std::uint32_t tag = link_of(block).tag;
  return find_from(heads_[bucket_of(tag)], hash_of(block), tag, block);
}

void prefix_index::insert(std::int32_t block, const block_hash& hash) {
  const std::uint32_t tag = tag_of(hash);
  std::int32_t& head = heads_[bucket_of(tag)];
  link_of(block) = {head, tag};
  hashes_[static_cast<std::size_t>(block)] = hash;
  head = block;
  ++size_;
}

void prefix_index::erase(std::int32_t block) {
  std::int32_t* at = &heads_[bucket_of(link_of(block).tag)];
  while (*at != block) at = &link_of(*at).next;
  *at = link_of(block).next;
  link_of(block).next = absent;
  --size_;
}

void prefix_index::clear() {
  std::fill(heads_.begin(), heads_.end(), last);
  for (link& each : links_) each.next = absent;
  size_ = 0;
}

std::string prefix_index::check() const {
  std::vector<bool> seen(links_.size(), false);
  std::int32_t count = 0;
  for (std::size_t bucket = 0; bucket < heads_.size(); ++bucket) {
    for (std::int32_t block = heads_[bucket]; block != last; block = link_of(block).next) {
      if (!contains(block)) return fmt::format("block {} is in a bucket but not in the index", block);
      if (seen[static_cast<std::size_t>(block)]) return fmt::format("block {} is indexed twice", block);
      if (link_of(block).tag != tag_of(hash_of(block)) || bucket_of(link_of(block).tag) != bucket)
        return fmt::format("block {} is in the wrong bucket", block);
      seen[static_cast<std::size_t>(block)] = true;
      ++count;
    }
  }
  const auto marked =
      std::count_if(links_.begin(), links_.end(), [](const link& each) { return each.next != absent; });
  if (count != size_ || marked != size_) {
    return fmt::format("{} blocks are indexed, {} are marked so, the count says {}", count, marked, size_);
  }
  return {};
}

}  // namespace troupe
