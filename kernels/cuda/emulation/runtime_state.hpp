// The runtime API's state: streams as queues of recorded calls, events as places in them, graphs as lists.
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <variant>
#include <vector>

#include "kernels/cuda/emulation/execution.hpp"

namespace troupe::kernels::cuda::emulation {

// What a stream or graph holds. Calls run when something waits for them and not before: what reads a result
// without waiting reads the poison.
using recorded_call = std::function<cudaError_t()>;

struct stream_progress {
  std::uint64_t recorded = 0;  // calls put on the stream so far
  std::uint64_t done = 0;      // of these, the first that have run
  std::deque<recorded_call> pending;
};

}  // namespace troupe::kernels::cuda::emulation

struct CUgraph_st {
  std::vector<troupe::kernels::cuda::emulation::recorded_call> calls;
};

struct CUgraphExec_st {
  std::vector<troupe::kernels::cuda::emulation::recorded_call> calls;
  void* device_memory = nullptr;  // what a device keeps of the calls lies there, in CUDA's form
};

struct CUstream_st {
  std::shared_ptr<troupe::kernels::cuda::emulation::stream_progress> progress =
      std::make_shared<troupe::kernels::cuda::emulation::stream_progress>();
  bool waits_for_default = true;  // not made with cudaStreamNonBlocking
  std::unique_ptr<CUgraph_st> capture;
  bool capture_broken = false;
};

struct CUevent_st {
  std::shared_ptr<troupe::kernels::cuda::emulation::stream_progress> stream;  // null: never recorded
  std::uint64_t place = 0;  // complete when `done` has come so far
  CUstream_st* captured_in = nullptr;
  double milliseconds = 0;
  bool timed = true;
};

namespace troupe::kernels::cuda::emulation {

struct runtime_state {
  std::recursive_mutex mutex;
  CUstream_st default_stream;
  std::vector<std::unique_ptr<CUstream_st>> streams;
  std::vector<std::unique_ptr<CUevent_st>> events;
  cudaError_t last = cudaSuccess;
  cudaError_t sticky = cudaSuccess;
};

runtime_state& state();

// Keeps an error as cudaGetLastError and, where it is one that outlives the call, cudaDeviceReset know it.
cudaError_t fail(cudaError_t error);

// The start of a call that can fail: a sticky error, an injected one, or success.
cudaError_t begin_call();

// The stream behind a handle; null where there is none.
CUstream_st* find_stream(cudaStream_t stream);

// Puts a call on the stream or into its capture.
cudaError_t record(cudaStream_t stream, recorded_call call);

// Runs a stream's calls up to the given one, or all streams' calls.
cudaError_t run_until(stream_progress& stream, std::uint64_t place);
cudaError_t run_stream(CUstream_st& stream);
cudaError_t run_all();

bool capturing_anywhere();
// What may not be called while a stream is captured breaks the capture.
cudaError_t refuse_while_capturing();

}  // namespace troupe::kernels::cuda::emulation
