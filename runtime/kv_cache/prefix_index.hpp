// From a block's hash to the block: a hash table whose entries are the blocks themselves, so that it never
// allocates after construction. Two blocks may have the same hash: two sequences that computed the same at
// the same time.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/kv_cache/block_entry.hpp"
#include "runtime/kv_cache/block_hash.hpp"
#include "runtime/prefetch.hpp"

namespace troupe {

class prefix_index {
 public:
  // Of the blocks that have these entries, none of them in the index yet; `entries` outlive it. Where it
  // begins to look for a hash lies in `memory`.
  explicit prefix_index(std::span<block_entry> entries,
                        std::pmr::memory_resource* memory = std::pmr::get_default_resource());
  prefix_index(const prefix_index&) = delete;
  prefix_index& operator=(const prefix_index&) = delete;

  // Any block of this hash.
  std::optional<std::int32_t> find(const block_hash& hash) const;
  bool contains(std::int32_t block) const { return at(block).next_in_bucket != absent; }
  // The hash of a block that is in the index.
  const block_hash& hash_of(std::int32_t block) const { return at(block).hash; }
  // Another block of the same hash; `block` is in the index. Where there has been none since it was inserted,
  // no other memory is touched.
  std::optional<std::int32_t> twin_of(std::int32_t block) const;

  void insert(std::int32_t block, const block_hash& hash);  // only for a block that is not in it
  void erase(std::int32_t block);                           // only for a block that is in it
  void clear();
  // For an erase() of the block soon: its bucket, where its entry is there.
  void prefetch_bucket(std::int32_t block) const {
    if (contains(block)) prefetch_line(&heads_[bucket_of(hash_of(block))]);
  }
  // What stands first in its bucket, where the entry and the bucket are there.
  void prefetch_neighbour(std::int32_t block) const {
    if (!contains(block)) return;
    const std::int32_t first = heads_[bucket_of(hash_of(block))];
    if (first != last) prefetch_line(&at(first));
  }
  // For a find() soon: its bucket, or (where that is there) what stands first in it.
  void prefetch_bucket(const block_hash& hash) const { prefetch_line(&heads_[bucket_of(hash)]); }
  void prefetch_first(const block_hash& hash) const {
    const std::int32_t first = heads_[bucket_of(hash)];
    if (first != last) prefetch_line(&at(first));
  }
  // For an insert() soon.
  void prefetch_insert(std::int32_t block, const block_hash& hash) const {
    prefetch_line(&at(block));
    prefetch_line(&heads_[bucket_of(hash)]);
  }

  std::int32_t size() const { return size_; }
  // The buckets, and of each entry the fields of the index.
  std::size_t bytes() const;
  // Empty, or what is wrong: an entry in the wrong bucket, twice or not at all, or a wrong count.
  std::string check() const;

 private:
  static constexpr std::int32_t last = -1;  // the end of a bucket
  static constexpr std::int32_t absent = block_entry::not_indexed;
  const block_entry& at(std::int32_t block) const { return entries_[static_cast<std::size_t>(block)]; }
  block_entry& at(std::int32_t block) { return entries_[static_cast<std::size_t>(block)]; }
  std::size_t bucket_of(const block_hash& hash) const;
  // The first from `block` on in its bucket that has this hash and is not `other_than`.
  std::optional<std::int32_t> find_from(std::int32_t block, const block_hash& hash,
                                        std::int32_t other_than) const;

  std::pmr::vector<std::int32_t> heads_;  // [a power of two, at least num_blocks]
  std::span<block_entry> entries_;        // [num_blocks]
  std::int32_t size_ = 0;
};

}  // namespace troupe
