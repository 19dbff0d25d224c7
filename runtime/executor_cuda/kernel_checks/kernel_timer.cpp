#include "runtime/executor_cuda/kernel_checks/kernel_timer.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>
#include <stdexcept>
#include <utility>

#include "kernels/cuda/stream_copy.hpp"
#include "runtime/executor/executor.hpp"
#include "runtime/executor_cuda/device/cuda_error.hpp"
#include "runtime/executor_cuda/device/cuda_event.hpp"
#include "runtime/executor_cuda/device/cuda_graph.hpp"
#include "runtime/executor_cuda/device/device_memory.hpp"
#include "runtime/executor_cuda/kernel_checks/device_data.hpp"
#include "runtime/executor_cuda/products/median.hpp"

namespace troupe::checks {
namespace {

using launches = std::function<void(std::int32_t)>;

class timed_graph {
 public:
  timed_graph(const cuda_stream& stream, const launches& launch, std::int32_t count)
      : stream_(stream), count_(count), graph_(warm_up_and_capture(stream, launch, count)) {}

  void run() {
    begin_.record(stream_);
    graph_.launch(stream_);
    end_.record(stream_);
    end_.synchronize();
    took_.push_back(1000.0 * end_.milliseconds_since(begin_) / count_);
  }
  const std::vector<double>& took() const { return took_; }  // microseconds of one launch, of each run()

 private:
  // The first launch loads kernels, which no capture may do.
  static cuda_graph warm_up_and_capture(const cuda_stream& stream, const launches& launch,
                                        std::int32_t count) {
    launch(0);
    check_launches("what is timed");
    stream.synchronize();
    auto graph = cuda_graph::capture(stream, [&] {
      for (std::int32_t i = 0; i < count; ++i) launch(i);
    });
    graph.launch(stream);
    stream.synchronize();
    return graph;
  }

  const cuda_stream& stream_;
  std::int32_t count_;
  cuda_graph graph_;
  cuda_event begin_{cuda_event::use::timing};
  cuda_event end_{cuda_event::use::timing};
  std::vector<double> took_;
};

template <class T>
void fill_with(void* memory, std::size_t bytes, const std::vector<T>& values) {
  fill_repeating(memory, bytes, std::as_bytes(std::span(values)));
}

std::vector<float> some_normal(float deviation) {
  std::mt19937 random(7);
  return normal_floats(1U << 16U, deviation, random);
}

// What the device multiplies in a second where nothing else limits it.
double measure_arithmetic(const kernel_timer& timer) {
  const timing_options& options = timer.options();
  auto products = options.open_gemm({options.product, false});
  if (!products) throw std::runtime_error(products.error().message);
  const auto edge = static_cast<std::size_t>(options.product);
  const device_array<__nv_bfloat16> input(edge * edge), weight(edge * edge), out(edge * edge);
  fill_normal_bf16(input.data(), input.bytes(), 1);
  fill_normal_bf16(weight.data(), weight.bytes(), 1);
  const device_matrix matrix{.data = weight.data(), .outputs = options.product, .inputs = options.product};
  (*products)->prepare(timer.stream(), input.data(), matrix, {&options.product, 1}, gemm_output::rounded,
                       out.data());
  const double took = timer.time([&](std::int32_t) {
    (*products)->multiply(timer.stream(), input.data(), matrix, options.product, gemm_output::rounded,
                          out.data());
  });
  return 2.0 * std::pow(static_cast<double>(options.product), 3) / (took * 1e-6);
}

}  // namespace

double kernel_timer::time(const launches& launch) const {
  timed_graph graph(stream_, launch, options_.launches);
  for (std::int32_t i = 0; i < options_.rounds; ++i) graph.run();
  return median(graph.took());
}

std::vector<double> kernel_timer::time_in_turns(const std::vector<launches>& all, std::int32_t count) const {
  std::vector<std::unique_ptr<timed_graph>> graphs;
  for (const launches& each : all) graphs.push_back(std::make_unique<timed_graph>(stream_, each, count));
  for (std::int32_t i = 0; i < options_.rounds; ++i)
    for (const auto& each : graphs) each->run();
  std::vector<double> medians;
  for (const auto& each : graphs) medians.push_back(median(each->took()));
  return medians;
}

void kernel_timer::add(kernel_timing timing) {
  const double seconds = timing.microseconds * 1e-6;
  const device_limits& limits = report_.limits;
  if (limits.copy_bandwidth > 0) timing.bandwidth_share = timing.bytes / seconds / limits.copy_bandwidth;
  if (limits.arithmetic > 0) timing.arithmetic_share = timing.operations / seconds / limits.arithmetic;
  options_.progress(fmt::format("{}, {}: {:.1f} us", timing.name, timing.shape, timing.microseconds));
  report_.timings.push_back(std::move(timing));
}

bool kernel_timer::attempt(const std::string& what, const std::function<void()>& part) {
  try {
    part();
    return true;
  } catch (const device_lost&) {
    throw;
  } catch (const std::exception& why) {
    report_.failures.push_back(fmt::format("{} could not be timed: {}", what, why.what()));
    options_.progress(report_.failures.back());
  }
  return false;
}

// Of what is there already is made twice as much, again and again.
void fill_repeating(void* memory, std::size_t bytes, std::span<const std::byte> pattern) {
  auto* const begin = static_cast<std::byte*>(memory);
  std::size_t there = std::min(bytes, pattern.size());
  check_cuda(cudaMemcpy(begin, pattern.data(), there, cudaMemcpyHostToDevice), "cudaMemcpy");
  while (there < bytes) {
    const std::size_t more = std::min(there, bytes - there);
    check_cuda(cudaMemcpy(begin + there, begin, more, cudaMemcpyDeviceToDevice), "cudaMemcpy");
    there += more;
  }
  check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

void fill_normal_bf16(void* memory, std::size_t bytes, float deviation) {
  fill_with(memory, bytes, rounded<__nv_bfloat16>(some_normal(deviation)));
}

void fill_normal_f32(void* memory, std::size_t bytes, float deviation) {
  fill_with(memory, bytes, some_normal(deviation));
}

double measure_copies(std::size_t bytes) {
  const device_memory from(bytes);
  const device_memory to(bytes);
  fill_normal_f32(from.data(), bytes, 1);
  const timing_options options;
  timing_report unused;
  const kernel_timer timer(options, unused);
  const std::vector<double> took = timer.time_in_turns(
      {[&](std::int32_t) { timer.stream().copy_on_device(to.data(), from.data(), bytes); },
       [&](std::int32_t) {
         kernels::cuda::stream_copy(to.data(), from.data(), bytes, timer.stream().get());
       }},
      options.launches);
  return 2.0 * static_cast<double>(bytes) / (std::ranges::min(took) * 1e-6);
}

void time_kernels(const timing_options& options, timing_report& report) {
  kernel_timer timer(options, report);
  timer.attempt("copies", [&] { report.limits.copy_bandwidth = measure_copies(options.copied_bytes); });
  timer.attempt("a large product", [&] { report.limits.arithmetic = measure_arithmetic(timer); });
  time_elementwise(timer);
  time_attention(timer);
  time_sampling(timer);
  time_products(timer);
  time_quantized_products(timer);
}

}  // namespace troupe::checks
