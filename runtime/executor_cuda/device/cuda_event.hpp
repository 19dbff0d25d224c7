// A place in a stream: whether and when the device has come by.
#pragma once
#include <cuda_runtime_api.h>

#include "runtime/executor_cuda/device/cuda_stream.hpp"

namespace troupe {

class cuda_event {
 public:
  enum class use { order, timing };
  // Throws what check_cuda() throws.
  explicit cuda_event(use use = use::order);
  ~cuda_event();
  cuda_event(const cuda_event&) = delete;
  cuda_event& operator=(const cuda_event&) = delete;

  void record(const cuda_stream& stream);
  // Returns at once where nothing has been recorded.
  void synchronize() const;
  // Whether the device has come by; true where nothing has been recorded.
  bool is_over() const;
  // What `stream` is asked for from here on waits for it on the device.
  void hold(const cuda_stream& stream) const;
  // From `begin` to this one, both recorded with use::timing and over.
  float milliseconds_since(const cuda_event& begin) const;

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace troupe
