#include "runtime/near_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <memory>
#include <new>

namespace troupe {
namespace {

constexpr std::size_t first_chunk = std::size_t{64} << 10;
constexpr std::size_t small_page = std::size_t{4} << 10;
constexpr std::size_t huge_page = std::size_t{2} << 20;

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

}  // namespace troupe
