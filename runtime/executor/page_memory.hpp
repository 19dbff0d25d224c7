// Anonymous memory straight from the operating system: zero, page-aligned, and free of cost until it is
// touched.
#pragma once
#include <cstddef>
#include <utility>

#include "runtime/result.hpp"

namespace troupe {

class page_memory {
 public:
  page_memory() = default;
  page_memory(page_memory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  page_memory& operator=(page_memory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~page_memory();

  // `huge`: asks for 2 MiB pages, which what is streamed often reads faster from; a hint that may be refused.
  // Errors: resource_exhausted.
  static result<page_memory> allocate(std::size_t bytes, bool huge);

  std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// Tells the kernel that the whole pages within [data, data + bytes) of a file's mapping are not needed for
// now.
void release_file_pages(const std::byte* data, std::size_t bytes);

}  // namespace troupe
