#include "runtime/kv_cache/block_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe {

std::int32_t block_pool::take() {
  const std::int32_t block = queue_.pop_front();
  if (index_.contains(block)) evict(block);
  look_ahead();
  ++taken_;
  references_of(block) = 1;
  return block;
}

// Blocks are taken one after another: what the next ones need is asked for now. One more than was taken,
// until there are enough. A block that has left the queue since is asked for in vain.
void block_pool::look_ahead() {
  for (int i = 0; i < 2; ++i)
    if (const std::optional<std::int32_t> block = queue_.ahead(coming_.size())) expect(*block);
}

void block_pool::expect_as_many_takes() {
  const std::size_t count = std::min(std::exchange(taken_, 0), most_expected);
  queue_.visit_next(count, [this](std::int32_t block) { expect(block); });
}

// Each part is asked for when that which names it has come.
void block_pool::expect(std::int32_t block) {
  prefetch_block(block);
  next_coming_ = (next_coming_ + 1) % coming_.size();
  const auto earlier = [this](std::size_t calls) {
    return coming_[(next_coming_ + coming_.size() - calls) % coming_.size()];
  };
  index_.prefetch_bucket(earlier(coming_.size() / 2));
  index_.prefetch_neighbour(earlier(coming_.size() * 3 / 4));
  coming_[next_coming_] = block;
}

// The only place where a cached content is lost for want of room: a lower tier of memory would take it over
// here, and be asked where find() finds nothing.
void block_pool::evict(std::int32_t block) {
  index_.erase(block);
  --cached_;
}

void block_pool::share(std::int32_t block) {
  std::int32_t& count = references_of(block);
  if (count++ > 0) return;
  queue_.remove(block);
  --cached_;
}

void block_pool::drop(std::int32_t block) {
  if (--references_of(block) > 0) return;
  if (!index_.contains(block)) return queue_.push_front(block);
  // One unused copy of a content is enough: the one that somebody holds, else the one used last.
  if (const auto twin = index_.twin_of(block)) {
    if (references(*twin) > 0) {
      index_.erase(block);
      return queue_.push_front(block);
    }
    forget_cached(*twin);
  }
  queue_.push_back(block);
  ++cached_;
}

void block_pool::forget_cached(std::int32_t block) {
  index_.erase(block);
  queue_.remove(block);
  queue_.push_front(block);
  --cached_;
}

void block_pool::publish(std::int32_t block, const block_hash& hash) {
  if (!index_.contains(block)) index_.insert(block, hash);
}

std::optional<block_hash> block_pool::published(std::int32_t block) const {
  if (!index_.contains(block)) return std::nullopt;
  return index_.hash_of(block);
}

void block_pool::forget_contents() {
  index_.clear();
  cached_ = 0;
}

std::string block_pool::check(std::span<const std::int32_t> expected) const {
  for (std::int32_t block = 0; block < num_blocks(); ++block) {
    const std::int32_t holders = expected[static_cast<std::size_t>(block)];
    if (references(block) != holders) {
      return fmt::format("block {} counts {} holders and has {}", block, references(block), holders);
    }
  }
  if (std::string wrong = index_.check(); !wrong.empty()) return wrong;
  return check_queue();
}

std::string block_pool::check_queue() const {
  const std::vector<std::int32_t> queued = queue_.blocks();
  if (static_cast<std::int32_t>(queued.size()) != queue_.size()) return "the free queue's links are broken";
  std::vector<bool> seen(static_cast<std::size_t>(num_blocks()), false);
  std::int32_t cached = 0;
  for (const std::int32_t block : queued) {
    if (references(block) != 0) return fmt::format("block {} is held and free", block);
    if (seen[static_cast<std::size_t>(block)]) return fmt::format("block {} is free twice", block);
    seen[static_cast<std::size_t>(block)] = true;
    if (!index_.contains(block)) {
      if (cached > 0) return fmt::format("block {} is free, but queued behind cached ones", block);
      continue;
    }
    ++cached;
    const auto twin = index_.twin_of(block);
    if (twin && references(*twin) == 0) return fmt::format("blocks {} and {} cache the same", block, *twin);
  }
  const auto held = static_cast<std::int32_t>(std::count_if(
      entries_.begin(), entries_.end() - 1, [](const block_entry& each) { return each.references > 0; }));
  const auto free = static_cast<std::int32_t>(queued.size()) - cached;
  if (cached != cached_ || free + cached + held != num_blocks()) {
    return fmt::format("{} free + {} cached (counted as {}) + {} referenced blocks are not {}", free, cached,
                       cached_, held, num_blocks());
  }
  return {};
}

}  // namespace troupe
