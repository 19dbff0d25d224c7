#include "runtime/executor/page_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <limits>

namespace troupe {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;

}  // namespace

page_memory::~page_memory() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

result<page_memory> page_memory::allocate(std::size_t bytes, bool huge) {
  page_memory memory;
  if (bytes == 0) return memory;
  if (bytes > std::numeric_limits<std::size_t>::max() - huge_page) {
    return fail(error_code::resource_exhausted, "an allocation is larger than the address space");
  }
  // Whole huge pages, so that the mapping starts where one can stand.
  if (huge) bytes = (bytes + huge_page - 1) / huge_page * huge_page;
  void* data =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) {
    return fail(error_code::resource_exhausted, "no memory for " + std::to_string(bytes >> 20) + " MiB");
  }
  if (huge) ::madvise(data, bytes, MADV_HUGEPAGE);
  memory.data_ = static_cast<std::byte*>(data);
  memory.bytes_ = bytes;
  return memory;
}

void release_file_pages(const std::byte* data, std::size_t bytes) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<std::uintptr_t>(data) + page - 1) / page * page;
  const auto end = (reinterpret_cast<std::uintptr_t>(data) + bytes) / page * page;
  // The mapping is read-only and backed by the file: dropped pages come back from it when read again.
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace troupe
