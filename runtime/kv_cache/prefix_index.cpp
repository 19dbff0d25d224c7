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
      sizeof(block_entry::next_in_bucket) + sizeof(block_entry::hash) + sizeof(block_entry::had_twin);
  return heads_.size() * sizeof(heads_[0]) + entries_.size() * of_entry;
}

// A digest's bytes are as good as random: any of them will do.
std::size_t prefix_index::bucket_of(const block_hash& hash) const {
  std::uint32_t number = 0;
  std::memcpy(&number, hash.data(), sizeof(number));
  return number & (heads_.size() - 1);
}

std::optional<std::int32_t> prefix_index::find_from(std::int32_t block, const block_hash& hash,
                                                    std::int32_t other_than) const {
  for (; block != last; block = at(block).next_in_bucket)
    if (block != other_than && hash_of(block) == hash) return block;
  return std::nullopt;
}

std::optional<std::int32_t> prefix_index::find(const block_hash& hash) const {
  return find_from(heads_[bucket_of(hash)], hash, absent);
}

std::optional<std::int32_t> prefix_index::twin_of(std::int32_t block) const {
  if (!at(block).had_twin) return std::nullopt;
  return find_from(heads_[bucket_of(hash_of(block))], hash_of(block), block);
}

void prefix_index::insert(std::int32_t block, const block_hash& hash) {
  std::int32_t& head = heads_[bucket_of(hash)];
  const std::optional<std::int32_t> twin = find_from(head, hash, absent);
  if (twin) at(*twin).had_twin = true;  // of several, all are marked
  at(block).next_in_bucket = head;
  at(block).hash = hash;
  at(block).had_twin = twin.has_value();
  head = block;
  ++size_;
}

void prefix_index::erase(std::int32_t block) {
  std::int32_t* from = &heads_[bucket_of(hash_of(block))];
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
      if (bucket_of(hash_of(block)) != bucket) return fmt::format("block {} is in the wrong bucket", block);
      const auto twin = find_from(at(block).next_in_bucket, hash_of(block), absent);
      if (twin && !(at(block).had_twin && at(*twin).had_twin))
        return fmt::format("blocks {} and {} are twins and not marked as such", block, *twin);
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
