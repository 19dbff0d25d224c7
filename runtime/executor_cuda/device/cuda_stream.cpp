#include "runtime/executor_cuda/device/cuda_stream.hpp"

#include "runtime/executor_cuda/device/cuda_error.hpp"

namespace troupe {

cuda_stream::cuda_stream() {
  check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
}

cuda_stream::~cuda_stream() { cudaStreamDestroy(stream_); }

void cuda_stream::synchronize() const { check_cuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

void cuda_stream::copy_to_device(void* to, const void* from, std::size_t bytes) const {
  check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_), "cudaMemcpyAsync");
}

void cuda_stream::copy_to_host(void* to, const void* from, std::size_t bytes) const {
  check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_), "cudaMemcpyAsync");
}

void cuda_stream::copy_on_device(void* to, const void* from, std::size_t bytes) const {
  check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_), "cudaMemcpyAsync");
}

void cuda_stream::fill(void* to, int value, std::size_t bytes) const {
  check_cuda(cudaMemsetAsync(to, value, bytes, stream_), "cudaMemsetAsync");
}

}  // namespace troupe
