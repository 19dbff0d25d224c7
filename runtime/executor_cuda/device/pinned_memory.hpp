// Memory of the host that the device reads and writes by itself: copies from and to it need no copy between.
#pragma once
#include <cstddef>
#include <span>
#include <utility>

namespace troupe {

class pinned_memory {
 public:
  pinned_memory() = default;
  // Not cleared. Throws what check_cuda() throws.
  explicit pinned_memory(std::size_t bytes);
  ~pinned_memory();
  pinned_memory(pinned_memory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  pinned_memory& operator=(pinned_memory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }
  template <class T>
  std::span<T> as() const {
    return {reinterpret_cast<T*>(data_), bytes_ / sizeof(T)};
  }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace troupe
