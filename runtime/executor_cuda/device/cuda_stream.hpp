// A queue of work on the device.
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <utility>

namespace troupe {

class cuda_stream {
 public:
  // Does not wait for the legacy stream and is not waited for by it. Throws what check_cuda() throws.
  cuda_stream();
  ~cuda_stream();
  cuda_stream(const cuda_stream&) = delete;
  cuda_stream& operator=(const cuda_stream&) = delete;

  cudaStream_t get() const { return stream_; }
  // Returns when all that was asked for is done. Throws what check_cuda() throws: faults of kernels show
  // here.
  void synchronize() const;

  // `from` is pinned and stays as it is until the copy is over.
  void copy_to_device(void* to, const void* from, std::size_t bytes) const;
  // `to` is pinned and means nothing until the copy is over.
  void copy_to_host(void* to, const void* from, std::size_t bytes) const;
  void copy_on_device(void* to, const void* from, std::size_t bytes) const;
  void fill(void* to, int value, std::size_t bytes) const;

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace troupe
