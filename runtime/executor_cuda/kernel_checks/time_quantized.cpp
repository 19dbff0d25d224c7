#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "runtime/executor_cuda/device/device_memory.hpp"
#include "runtime/executor_cuda/kernel_checks/kernel_timer.hpp"
#include "runtime/executor_cuda/products/fp8_gemm.hpp"
#include "runtime/executor_cuda/products/quantized_gemm.hpp"

namespace troupe::checks {
namespace {

constexpr std::size_t most_code_copies = 256;

std::size_t elements_of(const device_matrix& matrix) {
  return static_cast<std::size_t>(matrix.outputs) * static_cast<std::size_t>(matrix.inputs);
}

std::size_t code_bytes(const device_matrix& matrix) {
  std::size_t bytes = matrix.is_quantized() ? 0 : elements_of(matrix);
  for (std::int32_t i = 0; i < matrix.num_parts; ++i)
    bytes += kernels::tiled_bytes(matrix.parts[static_cast<std::size_t>(i)]);
  return bytes;
}

// Copies of a matrix that take turns through the L2 cache, as cold as weights are in the midst of a step.
class cold_codes {
 public:
  cold_codes(const kernel_timer& timer, const device_matrix& matrix)
      : copies_(std::clamp<std::size_t>(timer.options().cold_bytes / code_bytes(matrix) + 1, 1,
                                        most_code_copies)),
        memory_(copies_ * code_bytes(matrix)) {
    std::byte* next = memory_.data();
    for (std::size_t i = 0; i < copies_; ++i) {
      device_matrix& copy = matrices_.emplace_back(matrix);
      if (!copy.is_quantized()) {
        timer.stream().copy_on_device(next, copy.data, elements_of(copy));
        copy.data = std::exchange(next, next + elements_of(copy));
      }
      for (std::int32_t part = 0; part < copy.num_parts; ++part) {
        kernels::tiled_matrix& codes = copy.parts[static_cast<std::size_t>(part)];
        timer.stream().copy_on_device(next, codes.data, kernels::tiled_bytes(codes));
        codes.data = std::exchange(next, next + kernels::tiled_bytes(codes));
      }
    }
  }
  const device_matrix& of(std::int32_t number) const {
    return matrices_[static_cast<std::size_t>(number) % copies_];
  }
  std::int32_t count() const { return static_cast<std::int32_t>(copies_); }

 private:
  std::size_t copies_;
  device_memory memory_;
  std::vector<device_matrix> matrices_;
};

std::unique_ptr<gemm> open_quantized(const timing_options& options, const device_matrix& matrix,
                                     bool batch_invariant) {
  const std::int32_t rows = options.product_rows.back();
  auto products = options.open_gemm({rows, batch_invariant});
  if (!products) throw std::runtime_error(products.error().message);
  if (matrix.is_quantized())
    return std::make_unique<quantized_gemm>(std::move(*products), elements_of(matrix), batch_invariant);
  return std::make_unique<fp8_gemm>(
      std::move(*products), fp8_gemm::sizes{.rows = rows, .inputs = matrix.inputs, .added = matrix.outputs});
}

std::string name_of(const timing_options::quantized_matrix& matrix) {
  return fmt::format("{} product, {}", matrix.weight.is_quantized() ? "quantised" : "fp8", matrix.name);
}

void time_quantized_product(kernel_timer& timer, const timing_options::quantized_matrix& matrix,
                            const cold_codes& weights, std::int32_t rows) {
  const timing_options& options = timer.options();
  const auto many = static_cast<std::size_t>(rows);
  const device_array<__nv_bfloat16> input(many * static_cast<std::size_t>(matrix.weight.inputs));
  const device_array<float> out(many * static_cast<std::size_t>(matrix.weight.outputs));
  fill_normal_bf16(input.data(), input.bytes(), 1);
  fill_normal_f32(out.data(), out.bytes(), 1);
  const auto launches_of = [&](gemm& products) {
    products.prepare(timer.stream(), input.data(), weights.of(0), {&rows, 1}, matrix.kind, out.data());
    return [&](std::int32_t i) {
      products.multiply(timer.stream(), input.data(), weights.of(i), rows, matrix.kind, out.data());
    };
  };
  kernel_timing timing;
  timing.name = name_of(matrix);
  timing.shape = fmt::format("{} x {} x {}", rows, matrix.weight.outputs, matrix.weight.inputs);
  timing.bytes = static_cast<double>(code_bytes(matrix.weight) + input.bytes() + out.bytes());
  timing.operations = 2.0 * rows * matrix.weight.outputs * matrix.weight.inputs;
  const auto chosen = open_quantized(options, matrix.weight, false);
  std::unique_ptr<gemm> invariant;
  std::vector<std::function<void(std::int32_t)>> ways = {launches_of(*chosen)};
  timer.attempt(fmt::format("batch-invariant {}, {}", timing.name, timing.shape), [&] {
    invariant = open_quantized(options, matrix.weight, true);
    ways.emplace_back(launches_of(*invariant));
  });
  const std::vector<double> took = timer.time_in_turns(ways, std::max(options.launches, weights.count()));
  timing.microseconds = took[0];
  if (took.size() > 1) timing.invariant_microseconds = took[1];
  timer.add(std::move(timing));
}

}  // namespace

void time_quantized_products(kernel_timer& timer) {
  for (const timing_options::quantized_matrix& matrix : timer.options().quantized_matrices) {
    timer.attempt(name_of(matrix), [&] {
      const cold_codes weights(timer, matrix.weight);
      for (const std::int32_t rows : timer.options().product_rows)
        timer.attempt(fmt::format("{}, {} rows", name_of(matrix), rows),
                      [&] { time_quantized_product(timer, matrix, weights, rows); });
    });
  }
}

}  // namespace troupe::checks
