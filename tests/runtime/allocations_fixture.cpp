#include "tests/runtime/allocations_fixture.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

// The replaced operators below are a matching pair; GCC 12 sees only one of them once it inlines the other.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

namespace {

std::atomic<long> count{0};

void* counted(std::size_t bytes, std::size_t alignment) {
  ++count;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  if (void* memory = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded)) return memory;
  throw std::bad_alloc();
}

}  // namespace

// The whole family, so that what one form takes is given back by the same one also under a sanitizer.
void* operator new(std::size_t bytes) { return counted(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++count;
  return std::malloc(bytes == 0 ? 1 : bytes);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace troupe::test {

long allocations() { return count.load(); }

}  // namespace troupe::test
