#include "runtime/executor_cuda/device/cuda_graph.hpp"

#include "runtime/executor_cuda/device/cuda_error.hpp"

namespace troupe {
namespace {

// The plan that a capture leaves: needed until it has been made executable.
class captured_work {
 public:
  captured_work(const cuda_stream& stream, const std::function<void()>& work) {
    // Thread-local: other threads of the process may use the device meanwhile, but not wait for all of it.
    check_cuda(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal),
               "cudaStreamBeginCapture");
    try {
      work();
      check_launches("a launch that is captured");  // it would be missing in the graph
    } catch (...) {
      cudaStreamEndCapture(stream.get(), &graph_);
      if (graph_ != nullptr) cudaGraphDestroy(graph_);
      cudaGetLastError();
      throw;
    }
    check_cuda(cudaStreamEndCapture(stream.get(), &graph_), "cudaStreamEndCapture");
  }
  ~captured_work() { cudaGraphDestroy(graph_); }
  captured_work(const captured_work&) = delete;
  captured_work& operator=(const captured_work&) = delete;

  cudaGraph_t get() const { return graph_; }

 private:
  cudaGraph_t graph_ = nullptr;
};

}  // namespace

cuda_graph cuda_graph::capture(const cuda_stream& stream, const std::function<void()>& work) {
  const captured_work captured(stream, work);
  cudaGraphExec_t made = nullptr;
  check_cuda(cudaGraphInstantiate(&made, captured.get(), 0), "cudaGraphInstantiate");
  cuda_graph graph(made);
  // Else the first launch would carry it to the device.
  check_cuda(cudaGraphUpload(made, stream.get()), "cudaGraphUpload");
  return graph;
}

cuda_graph::~cuda_graph() {
  if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
}

void cuda_graph::launch(const cuda_stream& stream) const {
  check_cuda(cudaGraphLaunch(graph_, stream.get()), "cudaGraphLaunch");
}

}  // namespace troupe
