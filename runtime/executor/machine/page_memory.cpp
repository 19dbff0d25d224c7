#include "runtime/executor/machine/page_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>

namespace troupe {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr int make_huge_now =
    25;  // MADV_COLLAPSE of Linux 6.1, which the C library's headers do not know yet

std::size_t whole_pages(std::size_t bytes) { return (bytes + huge_page - 1) / huge_page * huge_page; }

tl::unexpected<error> no_memory_for(std::size_t bytes) {
  return fail(error_code::resource_exhausted, "no memory for " + std::to_string(bytes >> 20) + " MiB");
}

// Beyond it the system would end the process instead of refusing.
bool is_beyond_file_limit(std::size_t bytes) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur;
}

// What the system says of it: no memory is not the only reason.
tl::unexpected<error> no_shared_memory(std::size_t bytes, int reason) {
  const bool is_lack = reason == ENOMEM || reason == EFBIG || reason == EMFILE || reason == ENFILE;
  std::string why = ::strerror(reason);
  if (reason == EFBIG) why += " (ulimit -f, LimitFSIZE)";
  if (reason == EMFILE) why += " (ulimit -n, LimitNOFILE)";
  if (reason == ENFILE) why += " (fs.file-max)";
  return fail(is_lack ? error_code::resource_exhausted : error_code::unavailable,
              "no shared memory of " + std::to_string(bytes >> 20) + " MiB: " + why);
}

// Shared memory at an address where a huge page can stand: MAP_FAILED, and errno, where it cannot be had.
void* map_aligned(int descriptor, std::size_t bytes, int protection) {
  void* room =
      ::mmap(nullptr, bytes + huge_page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return room;
  auto* const begin = static_cast<std::byte*>(room);
  std::byte* const aligned = begin + (huge_page - reinterpret_cast<std::uintptr_t>(begin) % huge_page);
  ::munmap(begin, static_cast<std::size_t>(aligned - begin));
  std::byte* const end = aligned + bytes;
  if (const std::byte* const last = begin + bytes + huge_page; end < last)
    ::munmap(end, static_cast<std::size_t>(last - end));
  void* data = ::mmap(aligned, bytes, protection, MAP_SHARED | MAP_FIXED, descriptor, 0);
  if (data == MAP_FAILED) {
    const int reason = errno;
    ::munmap(aligned, bytes);
    errno = reason;
  }
  return data;
}

}  // namespace

void page_memory::make_huge() { ::madvise(data_, bytes_, make_huge_now); }

void page_memory::unmap() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
  data_ = nullptr;
  bytes_ = 0;
}

page_memory::~page_memory() {
  unmap();
  if (descriptor_ >= 0) ::close(descriptor_);
}

result<page_memory> page_memory::allocate_shared(std::size_t bytes, const std::string& name) {
  page_memory memory;
  bytes = whole_pages(bytes);
  memory.descriptor_ = ::memfd_create(name.c_str(), MFD_CLOEXEC);
  if (memory.descriptor_ < 0) return no_shared_memory(bytes, errno);
  if (is_beyond_file_limit(bytes)) return no_shared_memory(bytes, EFBIG);
  if (::ftruncate(memory.descriptor_, static_cast<off_t>(bytes)) != 0) return no_shared_memory(bytes, errno);
  void* data = map_aligned(memory.descriptor_, bytes, PROT_READ | PROT_WRITE);
  if (data == MAP_FAILED) return no_shared_memory(bytes, errno);
  memory.data_ = static_cast<std::byte*>(data);
  memory.bytes_ = bytes;
  return memory;
}

result<page_memory> page_memory::map_shared(int descriptor, bool writable) {
  page_memory memory;
  struct stat found {};
  if (::fstat(descriptor, &found) != 0 || found.st_size <= 0)
    return fail(error_code::io_error, "a descriptor of shared memory is none");
  const auto bytes = static_cast<std::size_t>(found.st_size);
  memory.descriptor_ = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (memory.descriptor_ < 0) return no_shared_memory(bytes, errno);
  void* data = map_aligned(memory.descriptor_, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ);
  if (data == MAP_FAILED) return no_shared_memory(bytes, errno);
  memory.data_ = static_cast<std::byte*>(data);
  memory.bytes_ = bytes;
  return memory;
}

result<page_memory> page_memory::allocate(std::size_t bytes, bool huge) {
  page_memory memory;
  if (bytes == 0) return memory;
  if (bytes > std::numeric_limits<std::size_t>::max() - huge_page) {
    return fail(error_code::resource_exhausted, "an allocation is larger than the address space");
  }
  // Whole huge pages, so that the mapping starts where one can stand.
  if (huge) bytes = whole_pages(bytes);
  void* data =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return no_memory_for(bytes);
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
