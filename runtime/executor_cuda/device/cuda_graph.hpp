// A fixed course of work that one call starts: what a stream was asked for while it was captured.
#pragma once
#include <cuda_runtime_api.h>

#include <functional>
#include <utility>

#include "runtime/executor_cuda/device/cuda_stream.hpp"

namespace troupe {

class cuda_graph {
 public:
  // Notes what `work` asks of `stream`, runs none of it. Throws what check_cuda() and `work` throw; the
  // stream is usable afterwards.
  static cuda_graph capture(const cuda_stream& stream, const std::function<void()>& work);

  ~cuda_graph();
  cuda_graph(cuda_graph&& other) noexcept : graph_(std::exchange(other.graph_, nullptr)) {}
  cuda_graph& operator=(cuda_graph&& other) noexcept {
    std::swap(graph_, other.graph_);
    return *this;
  }

  void launch(const cuda_stream& stream) const;

 private:
  explicit cuda_graph(cudaGraphExec_t graph) : graph_(graph) {}
  cudaGraphExec_t graph_ = nullptr;
};

}  // namespace troupe
