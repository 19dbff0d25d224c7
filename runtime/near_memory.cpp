#include "runtime/near_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <new>
#include <utility>

namespace troupe {
namespace {

constexpr std::size_t first_chunk = std::size_t{64} << 10;
constexpr std::size_t small_page = std::size_t{4} << 10;
constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t cache_line = 64;

struct piece_size {
  std::size_t number = 0;
  std::size_t bytes = 0;
};

// 5, 6, 7 or 8 times a power of two, from 64 bytes on. Those from 256 bytes on are whole cache lines.
piece_size size_for(std::size_t bytes, std::size_t alignment) {
  if (alignment > cache_line) throw std::bad_alloc();
  const std::size_t least = alignment > alignof(std::max_align_t) ? 4 * cache_line : cache_line;
  const std::size_t wanted = std::max(bytes, least) - 1;
  const auto shift = static_cast<std::size_t>(std::bit_width(wanted)) - 3;
  const std::size_t eighths = (wanted >> shift) + 1;
  return {4 * shift + eighths - 5, eighths << shift};
}

}  // namespace

lasting_memory::~lasting_memory() {
  for (const chunk& each : chunks_) ::operator delete(each.data, std::align_val_t(each.alignment));
}

void* lasting_memory::do_allocate(std::size_t bytes, std::size_t alignment) {
  if (std::align(alignment, bytes, next_, left_) == nullptr) {
    add_chunk(bytes + alignment);
    std::align(alignment, bytes, next_, left_);
  }
  void* const given = next_;
  next_ = static_cast<std::byte*>(next_) + bytes;
  left_ -= bytes;
  return given;
}

void lasting_memory::add_chunk(std::size_t at_least) {
  const bool is_small = chunks_.empty() && at_least <= first_chunk;
  const std::size_t bytes = is_small ? first_chunk : (at_least + huge_page - 1) / huge_page * huge_page;
  chunks_.reserve(chunks_.size() + 1);
  const std::size_t alignment = is_small ? small_page : huge_page;
  auto* const data = static_cast<std::byte*>(::operator new(bytes, std::align_val_t(alignment)));
  if (!is_small) ::madvise(data, bytes, MADV_HUGEPAGE);
  chunks_.push_back({data, alignment});
  next_ = data;
  left_ = bytes;
}

void* passing_memory::do_allocate(std::size_t bytes, std::size_t alignment) {
  const piece_size size = size_for(bytes, alignment);
  free_piece*& first = free_[size.number];
  if (first != nullptr) return std::exchange(first, first->next);
  const bool whole_lines = size.bytes % cache_line == 0;
  return upstream_->allocate(size.bytes, whole_lines ? cache_line : alignof(std::max_align_t));
}

void passing_memory::do_deallocate(void* piece, std::size_t bytes, std::size_t alignment) {
  free_piece*& first = free_[size_for(bytes, alignment).number];
  first = ::new (piece) free_piece{first};
}

}  // namespace troupe
