// Memory of the device, given back by whoever holds it last.
#pragma once
#include <cstddef>
#include <span>
#include <utility>

namespace troupe {

class device_memory {
 public:
  device_memory() = default;
  // Not cleared. Throws out_of_device_memory and what check_cuda() throws besides.
  explicit device_memory(std::size_t bytes);
  ~device_memory();
  device_memory(device_memory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  device_memory& operator=(device_memory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// Of the device that is current, in bytes. Throws what check_cuda() throws.
struct device_memory_state {
  std::size_t free = 0;
  std::size_t total = 0;
};
device_memory_state ask_device_memory();

// An array on the device. The host holds its address and never looks into it.
template <class T>
class device_array {
 public:
  device_array() = default;
  explicit device_array(std::size_t count) : memory_(count * sizeof(T)) {}

  T* data() const { return reinterpret_cast<T*>(memory_.data()); }
  std::size_t size() const { return memory_.size() / sizeof(T); }
  std::size_t bytes() const { return memory_.size(); }

 private:
  device_memory memory_;
};

}  // namespace troupe
