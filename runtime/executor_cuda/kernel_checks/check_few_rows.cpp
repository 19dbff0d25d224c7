#include <cmath>

#include "kernels/cuda/few_row_product.hpp"
#include "runtime/executor_cuda/kernel_checks/device_data.hpp"
#include "runtime/executor_cuda/kernel_checks/kernel_checks.hpp"
#include "runtime/executor_cuda/kernel_checks/sum_of_terms.hpp"

namespace troupe::checks {
namespace {

std::vector<float> some_numbers(std::int32_t rows, std::int32_t width, std::mt19937& random) {
  return normal_floats(static_cast<std::size_t>(rows) * static_cast<std::size_t>(width), 1, random);
}

// Of rows as they are, or as the norm makes them.
template <class T, bool is_normed>
void compare_few_rows(std::mt19937& random, const kernel_check_options& options, comparison& compared) {
  constexpr float epsilon = 1e-5F;
  const std::int32_t inputs = 8 * pick(random, 1, std::min(options.width, 4096) / 8);
  const std::int32_t outputs = pick(random, 1, 300);
  const std::int32_t rows = pick(random, 1, kernels::cuda::max_few_rows);
  const std::vector<float> input = floats(rounded<T>(some_numbers(rows, inputs, random)));
  const std::vector<float> weight = floats(rounded<T>(some_numbers(outputs, inputs, random)));
  const std::vector<float> norm = some_numbers(1, inputs, random);
  const device_data<T> device_input(rounded<T>(input)), device_weight(rounded<T>(weight));
  const device_data<float> residual(input), norm_weight(norm);
  const device_data<float> out(static_cast<std::size_t>(rows * outputs));
  kernels::cuda::multiply_few_rows({.weights = device_weight.data(),
                                    .input = is_normed ? nullptr : device_input.data(),
                                    .residual = residual.data(),
                                    .norm_weight = norm_weight.data(),
                                    .epsilon = epsilon,
                                    .output = out.data(),
                                    .rows = rows,
                                    .outputs = outputs,
                                    .inputs = inputs,
                                    .multiprocessors = 2,
                                    .kind = kernels::cuda::few_row_output::f32,
                                    .type = type_of<T>},
                                   nullptr);
  const std::vector<float> found = out.read();
  for (std::int32_t row = 0; row < rows; ++row) {
    const float* const of_row = input.data() + static_cast<std::ptrdiff_t>(row) * inputs;
    double squares = 0;
    for (std::int32_t i = 0; i < inputs; ++i) squares += double{of_row[i]} * double{of_row[i]};
    const double scale = 1.0 / std::sqrt(squares / inputs + epsilon);
    for (std::int32_t o = 0; o < outputs; ++o) {
      sum_of_terms terms;
      for (std::int32_t i = 0; i < inputs; ++i) {
        const double by_norm = is_normed ? scale * double{norm[static_cast<std::size_t>(i)]} : 1.0;
        terms.add(weight[static_cast<std::size_t>(o * inputs + i)], of_row[i] * by_norm);
      }
      compared.add(found[static_cast<std::size_t>(row * outputs + o)], terms.sum,
                   terms.bound() + (is_normed ? rounding_of<T> * terms.magnitude : 0.0));
    }
  }
}

}  // namespace

void check_few_rows(check_list& list) {
  const kernel_check_options& options = list.options();
  const auto add = [&](const char* name, auto compare) {
    list.add(name, [&options, compare](std::mt19937& random, comparison& compared) {
      compare(random, options, compared);
    });
  };
  add("few_row_product, bf16", compare_few_rows<__nv_bfloat16, false>);
  add("few_row_product, fp16", compare_few_rows<__half, false>);
  add("few_row_product, normed, bf16", compare_few_rows<__nv_bfloat16, true>);
  add("few_row_product, normed, fp16", compare_few_rows<__half, true>);
}

}  // namespace troupe::checks
