// Memory straight from the operating system: zero, page-aligned, and free of cost until it is touched.
#pragma once
#include <cstddef>
#include <string>
#include <utility>

#include "runtime/result.hpp"

namespace troupe {

class page_memory {
 public:
  page_memory() = default;
  page_memory(page_memory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)),
        descriptor_(std::exchange(other.descriptor_, -1)) {}
  page_memory& operator=(page_memory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~page_memory();

  // `huge`: asks for 2 MiB pages, which what is streamed often reads faster from; a hint that may be refused.
  // Errors: resource_exhausted.
  static result<page_memory> allocate(std::size_t bytes, bool huge);
  // The same for all processes that are given its descriptor (memfd_create(2)); `name` is for /proc alone.
  // Has small pages: see make_huge(). Errors: resource_exhausted, unavailable.
  static result<page_memory> allocate_shared(std::size_t bytes, const std::string& name);
  // What another process has allocated; the descriptor stays the caller's. Errors: those of
  // allocate_shared().
  static result<page_memory> map_shared(int descriptor, bool writable);

  // Shared memory that has been filled gets 2 MiB pages, where the system has any: most give it none by
  // themselves, and what is streamed from small ones may take a fifth longer.
  void make_huge();
  // Of shared memory: gives the address back and keeps what is there for others, who have the descriptor.
  void unmap();

  std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }
  // Of shared memory, closed with it; -1: not shared.
  int descriptor() const { return descriptor_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  int descriptor_ = -1;
};

// Tells the kernel that the whole pages within [data, data + bytes) of a file's mapping are not needed for
// now.
void release_file_pages(const std::byte* data, std::size_t bytes);

}  // namespace troupe
