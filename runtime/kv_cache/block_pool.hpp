// All blocks of KV memory: who counts on each, which are free, and which of the free ones still hold a
// content that can be found by its hash.
//
// A block is referenced (by tables), cached (by nobody, but its content can be found) or free. Free ones are
// taken first, the one given back last before the others: its memory is warm, and memory never touched costs
// none. Cached ones follow, least recently used first.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/kv_cache/block_entry.hpp"
#include "runtime/kv_cache/free_queue.hpp"
#include "runtime/kv_cache/prefix_index.hpp"
#include "runtime/prefetch.hpp"

namespace troupe {

class block_pool {
 public:
  // What it knows of the blocks lies in `memory`.
  explicit block_pool(std::int32_t num_blocks,
                      std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : entries_(make_block_entries(num_blocks, memory)),
        queue_(entries_),
        index_(std::span(entries_).first(static_cast<std::size_t>(num_blocks)), memory) {}
  block_pool(const block_pool&) = delete;
  block_pool& operator=(const block_pool&) = delete;

  std::int32_t num_blocks() const { return static_cast<std::int32_t>(entries_.size()) - 1; }
  // Blocks that take() can give: the cached ones too.
  std::int32_t available() const { return queue_.size(); }
  std::int32_t num_cached() const { return cached_; }
  std::int32_t references(std::int32_t block) const {
    return entries_[static_cast<std::size_t>(block)].references;
  }

  // A block for one holder; evicts the content used least recently where no block is free. Only while
  // available() > 0.
  std::int32_t take();
  // Asks for the memory that as many take()s need as there were since the last call. The queue is a list: its
  // next blocks come one miss after another, however far one looks ahead, so it is better done in time.
  void expect_as_many_takes();
  // One more holder, of a block that is referenced or cached.
  void share(std::int32_t block);
  // One holder less. The last one gone, the block is cached where its content can be found, else free.
  void drop(std::int32_t block);
  // For a drop() soon.
  void prefetch_block(std::int32_t block) const { prefetch_line(&entries_[static_cast<std::size_t>(block)]); }
  // For a find() soon: where it looks; where that is there, what it finds first.
  void prefetch_bucket(const block_hash& hash) const { index_.prefetch_bucket(hash); }
  void prefetch_first(const block_hash& hash) const { index_.prefetch_first(hash); }
  // For a publish() soon.
  void prefetch_publish(std::int32_t block, const block_hash& hash) const {
    index_.prefetch_insert(block, hash);
  }

  // Any block, referenced or cached, of this content.
  std::optional<std::int32_t> find(const block_hash& hash) const { return index_.find(hash); }
  // From now on the content of this referenced block can be found.
  void publish(std::int32_t block, const block_hash& hash);
  // The hash under which the block's content can be found.
  std::optional<block_hash> published(std::int32_t block) const;
  // No content can be found any more; what was cached is free.
  void forget_contents();

  std::size_t index_bytes() const { return index_.bytes(); }
  // Empty, or what is wrong. `expected` holds every block's number of holders.
  std::string check(std::span<const std::int32_t> expected) const;

 private:
  void look_ahead();
  void expect(std::int32_t block);
  void evict(std::int32_t block);
  void forget_cached(std::int32_t block);
  std::string check_queue() const;

  std::int32_t& references_of(std::int32_t block) {
    return entries_[static_cast<std::size_t>(block)].references;
  }

  block_entries entries_;
  free_queue queue_;  // free ones, then cached ones
  prefix_index index_;
  std::int32_t cached_ = 0;
  static constexpr std::size_t most_expected = 1024;  // more than that would not stay near
  std::size_t taken_ = 0;                             // since expect_as_many_takes()
  std::array<std::int32_t, 16> coming_ = {};          // what expect() was called with
  std::size_t next_coming_ = 0;
};

}  // namespace troupe
