#include <cuda_bf16.h>
#include <fmt/format.h>

#include "kernels/cuda/elementwise/residual_norm.hpp"
#include "kernels/cuda/elementwise/silu_multiply.hpp"
#include "runtime/executor_cuda/device/device_memory.hpp"
#include "runtime/executor_cuda/kernel_checks/kernel_timer.hpp"

namespace troupe::checks {
namespace {

using kernels::cuda::element_type;

void time_norm(kernel_timer& timer) {
  const timing_options& options = timer.options();
  const auto width = static_cast<std::size_t>(options.width);
  const std::size_t count = static_cast<std::size_t>(options.rows) * width;
  const device_array<float> residual(count), weight(width);
  const device_array<__nv_bfloat16> addition(count), output(count);
  fill_normal_f32(residual.data(), residual.bytes(), 1);
  fill_normal_f32(weight.data(), weight.bytes(), 1);
  fill_normal_bf16(addition.data(), addition.bytes(), 1);
  kernel_timing timing;
  timing.name = "residual_norm";
  timing.shape = fmt::format("{} x {}, bf16", options.rows, options.width);
  timing.bytes = 12.0 * static_cast<double>(count);
  timing.microseconds = timer.time([&](std::int32_t) {
    kernels::cuda::residual_rms_norm({.residual = residual.data(),
                                      .addition = addition.data(),
                                      .weight = weight.data(),
                                      .output = output.data(),
                                      .rows = options.rows,
                                      .width = options.width,
                                      .epsilon = 1e-5F,
                                      .type = element_type::bf16},
                                     timer.stream().get());
  });
  timer.add(std::move(timing));
}

void time_silu(kernel_timer& timer) {
  const timing_options& options = timer.options();
  const std::size_t count =
      static_cast<std::size_t>(options.rows) * static_cast<std::size_t>(options.intermediate);
  const device_array<__nv_bfloat16> gate_up(2 * count), output(count);
  fill_normal_bf16(gate_up.data(), gate_up.bytes(), 1);
  kernel_timing timing;
  timing.name = "silu_multiply";
  timing.shape = fmt::format("{} x {}, bf16", options.rows, options.intermediate);
  timing.bytes = 6.0 * static_cast<double>(count);
  timing.microseconds = timer.time([&](std::int32_t) {
    kernels::cuda::silu_multiply({.gate_up = gate_up.data(),
                                  .output = output.data(),
                                  .rows = options.rows,
                                  .width = options.intermediate,
                                  .type = element_type::bf16},
                                 timer.stream().get());
  });
  timer.add(std::move(timing));
}

}  // namespace

void time_elementwise(kernel_timer& timer) {
  timer.attempt("residual_norm", [&] { time_norm(timer); });
  timer.attempt("silu_multiply", [&] { time_silu(timer); });
}

}  // namespace troupe::checks
