// From a block's hash to the block: a hash table whose entries are the blocks themselves, so that it never
// allocates after construction. Two blocks may have the same hash: two sequences that computed the same at
// the same time.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <string>
#include <vector>

#include "runtime/kv_cache/block_hash.hpp"
#include "runtime/prefetch.hpp"

namespace troupe {

class prefix_index {
 public:
  explicit prefix_index(std::int32_t num_blocks,
                        std::pmr::memory_resource* memory = std::pmr::get_default_resource());

  // Any block of this hash.
  std::optional<std::int32_t> find(const block_hash& hash) const;
  bool contains(std::int32_t block) const { return link_of(block).next != absent; }
  // The hash of a block that is in the index.
  const block_hash& hash_of(std::int32_t block) const { return hashes_[static_cast<std::size_t>(block)]; }
  // Another block of the same hash; `block` is in the index.
  std::optional<std::int32_t> twin_of(std::int32_t block) const;

  void insert(std::int32_t block, const block_hash& hash);  // only for a block that is not in it
  void erase(std::int32_t block);                           // only for a block that is in it
  void clear();
  // For an erase() of the block soon: its link, or (where the link is there) its bucket.
  void prefetch_link(std::int32_t block) const { prefetch_line(&link_of(block)); }
  void prefetch_bucket(std::int32_t block) const {
    if (contains(block)) prefetch_line(&heads_[bucket_of(link_of(block).tag)]);
  }
  // What stands first in its bucket, where the link and the bucket are there.
  void prefetch_neighbour(std::int32_t block) const {
    if (!contains(block)) return;
    const std::int32_t first = heads_[bucket_of(link_of(block).tag)];
    if (first != last) prefetch_line(&link_of(first));
  }
  // For a find() soon: its bucket, or (where that is there) what stands first in it.
  void prefetch_bucket(const block_hash& hash) const { prefetch_line(&heads_[bucket_of(tag_of(hash))]); }
  void prefetch_first(const block_hash& hash) const {
    const std::int32_t first = heads_[bucket_of(tag_of(hash))];
    if (first == last) return;
    prefetch_line(&link_of(first));
    prefetch_line(&hash_of(first));
  }
  // For an insert() soon.
  void prefetch_insert(std::int32_t block, const block_hash& hash) const {
    prefetch_line(&link_of(block));
    prefetch_line(&hash_of(block));
    prefetch_line(&heads_[bucket_of(tag_of(hash))]);
  }

  std::int32_t size() const { return size_; }
  std::size_t bytes() const {
    return heads_.size() * sizeof(heads_[0]) + links_.size() * (sizeof(link) + sizeof(block_hash));
  }
  // Empty, or what is wrong: an entry in the wrong bucket, twice or not at all, or a wrong count.
  std::string check() const;

 private:
  static constexpr std::int32_t last = -1;    // the end of a bucket
  static constexpr std::int32_t absent = -2;  // not in the index
  // What is walked through; the hashes, four times as large, are looked at only where the tags are equal.
  struct link {
    std::int32_t next = absent;  // in its bucket
    std::uint32_t tag = 0;       // of its hash
  };
  const link& link_of(std::int32_t block) const { return links_[static_cast<std::size_t>(block)]; }
  link& link_of(std::int32_t block) { return links_[static_cast<std::size_t>(block)]; }
  static std::uint32_t tag_of(const block_hash& hash);
  std::size_t bucket_of(std::uint32_t tag) const { return tag & (heads_.size() - 1); }
  // The first from `block` on in its bucket that has this hash and is not `other_than`.
  std::optional<std::int32_t> find_from(std::int32_t block, const block_hash& hash, std::uint32_t tag,
                                        std::int32_t other_than) const;

  std::pmr::vector<std::int32_t> heads_;  // [a power of two, at least num_blocks]
  std::pmr::vector<link> links_;          // [num_blocks]
  std::pmr::vector<block_hash> hashes_;   // [num_blocks]
  std::int32_t size_ = 0;
};

}  // namespace troupe
