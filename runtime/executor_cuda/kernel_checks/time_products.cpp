#include <cuda_bf16.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernels/cuda/products/few_row_product.hpp"
#include "runtime/executor_cuda/device/device_memory.hpp"
#include "runtime/executor_cuda/kernel_checks/kernel_timer.hpp"

namespace troupe::checks {
namespace {

constexpr std::size_t most_copies = 256;

double output_bytes(gemm_output kind) {
  return kind == gemm_output::rounded ? 2 : kind == gemm_output::f32 ? 4 : 8;
}

std::unique_ptr<gemm> opened(const gemm_opener& open, const timing_options& options, bool batch_invariant) {
  auto products = open({std::ranges::max(options.product_rows), batch_invariant});
  if (!products) throw std::runtime_error(products.error().message);
  return std::move(*products);
}

kernels::cuda::few_row_output few_row_kind(gemm_output kind) {
  using kernels::cuda::few_row_output;
  if (kind == gemm_output::rounded) return few_row_output::rounded;
  return kind == gemm_output::f32 ? few_row_output::f32 : few_row_output::add_to_f32;
}

// As in the midst of a step: no weight is in the L2 cache, because copies of it take turns.
class cold_product {
 public:
  cold_product(const kernel_timer& timer, const timing_options::matrix& matrix, std::int32_t rows)
      : timer_(timer),
        matrix_(matrix),
        rows_(rows),
        elements_(static_cast<std::size_t>(matrix.outputs) * static_cast<std::size_t>(matrix.inputs)),
        copies_(std::clamp<std::size_t>(timer.options().cold_bytes / (2 * elements_) + 1, 1, most_copies)),
        weights_(copies_ * elements_),
        input_(static_cast<std::size_t>(rows) * static_cast<std::size_t>(matrix.inputs)),
        out_(static_cast<std::size_t>(rows) * static_cast<std::size_t>(matrix.outputs)) {
    fill_normal_bf16(weights_.data(), weights_.bytes(), 0.02F);
    fill_normal_bf16(input_.data(), input_.bytes(), 1);
    fill_normal_f32(out_.data(), out_.bytes(), 1);
  }

  // For fewer rows too.
  void prepare(gemm& products, std::span<const std::int32_t> rows) const {
    products.prepare(timer_.stream(), input_.data(), weight(0), rows, matrix_.kind, out_.data());
  }
  void multiply(gemm& products, std::int32_t number) const {
    products.multiply(timer_.stream(), input_.data(), weight(number), rows_, matrix_.kind, out_.data());
  }
  // By a kernel for few rows, without a norm before it.
  void multiply_few(kernels::cuda::few_row_variant variant, std::int32_t number) const {
    kernels::cuda::multiply_few_rows({.weights = weight(number).data,
                                      .input = input_.data(),
                                      .output = out_.data(),
                                      .rows = rows_,
                                      .outputs = matrix_.outputs,
                                      .inputs = matrix_.inputs,
                                      .multiprocessors = timer_.options().multiprocessors,
                                      .kind = few_row_kind(matrix_.kind),
                                      .variant = variant,
                                      .type = kernels::cuda::element_type::bf16},
                                     timer_.stream().get());
  }
  std::int32_t launches() const {
    return std::max(timer_.options().launches, static_cast<std::int32_t>(copies_));
  }

 private:
  device_matrix weight(std::int32_t number) const {
    return {.data = weights_.data() + static_cast<std::size_t>(number) % copies_ * elements_,
            .outputs = matrix_.outputs,
            .inputs = matrix_.inputs};
  }

  const kernel_timer& timer_;
  const timing_options::matrix& matrix_;
  std::int32_t rows_;
  std::size_t elements_;
  std::size_t copies_;
  device_array<__nv_bfloat16> weights_;
  device_array<__nv_bfloat16> input_;
  device_array<float> out_;
};

using launches = std::function<void(std::int32_t)>;

// The gemms that products are timed with.
struct product_ways {
  std::unique_ptr<gemm> chosen;
  std::unique_ptr<gemm> thorough;
  std::unique_ptr<gemm> invariant;  // null: it cannot be had
};

launches launches_of(const cold_product& product, gemm& products) {
  return [&product, &products](std::int32_t i) { product.multiply(products, i); };
}

kernel_timing describe(const timing_options::matrix& matrix, std::int32_t rows) {
  kernel_timing timing;
  timing.shape = fmt::format("{} x {} x {}", rows, matrix.outputs, matrix.inputs);
  const double outputs = 1.0 * rows * matrix.outputs;
  timing.bytes =
      2.0 * matrix.outputs * matrix.inputs + 2.0 * rows * matrix.inputs + output_bytes(matrix.kind) * outputs;
  timing.operations = 2.0 * outputs * matrix.inputs;
  return timing;
}

void time_library(kernel_timer& timer, const cold_product& product, const product_ways& ways,
                  kernel_timing timing, std::int32_t rows, bool is_invariant) {
  product.prepare(*ways.chosen, {&rows, 1});
  product.prepare(*ways.thorough, {&rows, 1});
  std::vector<launches> turns = {launches_of(product, *ways.chosen), launches_of(product, *ways.thorough)};
  if (is_invariant) turns.push_back(launches_of(product, *ways.invariant));
  const std::vector<double> took = timer.time_in_turns(turns, product.launches());
  timing.microseconds = took[0];
  timing.best_microseconds = took[1];
  if (is_invariant) timing.invariant_microseconds = took[2];
  timer.add(std::move(timing));
}

void time_few_rows(kernel_timer& timer, const cold_product& product, kernel_timing timing, std::int32_t rows,
                   std::int32_t inputs) {
  std::vector<launches> variants;
  for (const kernels::cuda::few_row_variant variant : kernels::cuda::few_row_variants) {
    if (kernels::cuda::can_multiply_few_rows(variant, rows, inputs, false))
      variants.push_back([&product, variant](std::int32_t i) { product.multiply_few(variant, i); });
  }
  if (variants.empty()) return;
  timing.microseconds = std::ranges::min(timer.time_in_turns(variants, product.launches()));
  timer.add(std::move(timing));
}

void time_matrix(kernel_timer& timer, const timing_options::matrix& matrix, const product_ways& ways) {
  const timing_options& options = timer.options();
  const bool is_invariant =
      ways.invariant && timer.attempt(fmt::format("batch-invariant product, {}", matrix.name), [&] {
        cold_product(timer, matrix, options.product_rows.back())
            .prepare(*ways.invariant, options.product_rows);
      });
  for (const std::int32_t rows : options.product_rows) {
    kernel_timing timing = describe(matrix, rows);
    timer.attempt(fmt::format("products, {}, {}", matrix.name, timing.shape), [&] {
      const cold_product product(timer, matrix, rows);
      timing.name = fmt::format("product, {}", matrix.name);
      timer.attempt(fmt::format("{}, {}", timing.name, timing.shape),
                    [&] { time_library(timer, product, ways, timing, rows, is_invariant); });
      timing.name = fmt::format("few_row_product, {}", matrix.name);
      timer.attempt(fmt::format("{}, {}", timing.name, timing.shape),
                    [&] { time_few_rows(timer, product, timing, rows, matrix.inputs); });
    });
  }
}

}  // namespace

void time_products(kernel_timer& timer) {
  const timing_options& options = timer.options();
  if (options.matrices.empty()) return;
  product_ways ways;
  const bool is_open = timer.attempt("products", [&] {
    ways.chosen = opened(options.open_gemm, options, false);
    ways.thorough = opened(options.open_thorough_gemm, options, false);
  });
  if (!is_open) return;
  timer.attempt("batch-invariant products",
                [&] { ways.invariant = opened(options.open_gemm, options, true); });
  for (const timing_options::matrix& matrix : options.matrices) time_matrix(timer, matrix, ways);
}

}  // namespace troupe::checks
