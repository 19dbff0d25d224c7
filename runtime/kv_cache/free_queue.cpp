#include "runtime/kv_cache/free_queue.hpp"

namespace troupe {

free_queue::free_queue(std::span<block_entry> entries) : entries_(entries), size_(last()), ahead_(last()) {
  for (std::int32_t i = 0; i <= last(); ++i) {
    at(i).previous = i == 0 ? last() : i - 1;
    at(i).next = i == last() ? 0 : i + 1;
  }
}

std::int32_t free_queue::pop_front() {
  const std::int32_t block = entries_[end()].next;
  remove(block);
  if (num_ahead_ > 0) --num_ahead_;
  return block;
}

std::optional<std::int32_t> free_queue::ahead(std::size_t most) {
  if (num_ahead_ >= most) return std::nullopt;
  const std::int32_t next = entries_[static_cast<std::size_t>(ahead_)].next;
  if (next == last()) return std::nullopt;
  ahead_ = next;
  ++num_ahead_;
  return next;
}

void free_queue::insert_before(std::int32_t block, std::int32_t next) {
  const std::int32_t previous = at(next).previous;
  at(block).previous = previous;
  at(block).next = next;
  at(previous).next = block;
  at(next).previous = block;
  ++size_;
}

void free_queue::remove(std::int32_t block) {
  const std::int32_t previous = at(block).previous;
  const std::int32_t next = at(block).next;
  at(previous).next = next;
  at(next).previous = previous;
  if (block == ahead_) ahead_ = previous;
  if (ahead_ == last()) num_ahead_ = 0;
  --size_;
}

std::vector<std::int32_t> free_queue::blocks() const {
  std::vector<std::int32_t> found;
  auto previous = static_cast<std::int32_t>(end());
  for (std::int32_t block = entries_[end()].next; static_cast<std::size_t>(block) != end();) {
    const block_entry& here = entries_[static_cast<std::size_t>(block)];
    if (here.previous != previous || static_cast<std::int32_t>(found.size()) == size_) return {};
    found.push_back(block);
    previous = block;
    block = here.next;
  }
  if (entries_[end()].previous != previous || static_cast<std::int32_t>(found.size()) != size_) return {};
  return found;
}

}  // namespace troupe
