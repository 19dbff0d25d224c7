#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "kernels/cuda/products/quantized_product.hpp"
#include "runtime/executor_cuda/kernel_checks/device_data.hpp"
#include "runtime/executor_cuda/kernel_checks/kernel_checks.hpp"
#include "runtime/executor_cuda/kernel_checks/quantized_weights.hpp"
#include "runtime/executor_cuda/kernel_checks/sum_of_terms.hpp"

namespace troupe::checks {
namespace {

using kernels::weight_kind;
using kernels::cuda::product_output;
using bf16 = __nv_bfloat16;

struct named_kind {
  weight_kind kind;
  const char* name;
};
constexpr named_kind quantized_kinds[] = {{weight_kind::u4_min, "u4_min"},
                                          {weight_kind::s8, "s8"},
                                          {weight_kind::s8_min, "s8_min"},
                                          {weight_kind::s8_half, "s8_half"}};

quantized_weights some_weights(weight_kind kind, std::mt19937& random, const kernel_check_options& options) {
  const std::int32_t inputs = 32 * pick(random, 1, options.width / 32);
  return {kind, pick(random, 1, 300), inputs, random};
}

template <class T = bf16>
std::vector<float> some_inputs(std::int32_t rows, std::int32_t width, std::mt19937& random) {
  const auto count = static_cast<std::size_t>(rows) * static_cast<std::size_t>(width);
  return floats(rounded<T>(normal_floats(count, 1, random)));
}

// What is there before a product: some outputs are added to it.
constexpr float there_before = 2.5F;

template <class Out>
void compare_quantized(weight_kind kind, product_output output, std::mt19937& random,
                       const kernel_check_options& options, comparison& compared) {
  const quantized_weights weights = some_weights(kind, random, options);
  const std::int32_t outputs = weights.layout().outputs;
  const std::int32_t inputs = weights.layout().inputs;
  const std::int32_t rows = pick(random, 1, kernels::cuda::max_quantized_rows);
  const std::vector<float> input = some_inputs(rows, inputs, random);
  const device_data<bf16> device_input(rounded<bf16>(input));
  const device_data<Out> out(std::vector<Out>(static_cast<std::size_t>(rows * outputs), Out(there_before)));
  kernels::cuda::multiply_quantized({.weights = weights.layout(),
                                     .input = device_input.data(),
                                     .input_stride = inputs,
                                     .rows = rows,
                                     .kind = output,
                                     .output = out.data(),
                                     .output_stride = outputs},
                                    nullptr);
  const std::vector<float> found = floats(out.read());
  for (std::int32_t row = 0; row < rows; ++row) {
    for (std::int32_t o = 0; o < outputs; ++o) {
      sum_of_terms terms;
      if (output == product_output::add_to_f32) terms.add(there_before, 1.0);
      for (std::int32_t i = 0; i < inputs; ++i)
        terms.add(weights.at(o, i), input[static_cast<std::size_t>(row * inputs + i)]);
      const double rounding = output == product_output::bf16 ? rounding_of<bf16> * std::abs(terms.sum) : 0.0;
      compared.add(found[static_cast<std::size_t>(row * outputs + o)], terms.sum, terms.bound() + rounding);
    }
  }
}

void compare_dequantized(weight_kind kind, std::mt19937& random, const kernel_check_options& options,
                         comparison& compared) {
  const quantized_weights weights = some_weights(kind, random, options);
  const std::int32_t inputs = weights.layout().inputs;
  const device_data<bf16> out(static_cast<std::size_t>(weights.layout().outputs * inputs));
  kernels::cuda::dequantize(weights.layout(), out.data(), nullptr);
  const std::vector<float> found = floats(out.read());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto place = static_cast<std::int32_t>(i);
    const auto exact = static_cast<float>(weights.at(place / inputs, place % inputs));
    compared.add(found[i], static_cast<float>(bf16(exact)), 0);
  }
}

template <class In, class Out>
void compare_product(gemm_output kind, std::mt19937& random, const kernel_check_options& options,
                     comparison& compared) {
  // cuBLASLt wants rows aligned to 16 bytes to be quick, as those of every model are.
  const std::int32_t inputs = 32 * pick(random, 1, options.width / 64);
  const std::int32_t outputs = 8 * pick(random, 1, 24);
  const std::int32_t rows = pick(random, 1, options.rows);
  const std::vector<float> input = some_inputs<In>(rows, inputs, random);
  const std::vector<float> weight = some_inputs<In>(outputs, inputs, random);
  const device_data<In> device_input(rounded<In>(input)), device_weight(rounded<In>(weight));
  const device_data<Out> out(std::vector<Out>(static_cast<std::size_t>(rows * outputs), Out(there_before)));
  auto products = options.open_gemm({options.rows, false});
  if (!products) throw std::runtime_error(products.error().message);
  const cuda_stream stream;
  const device_matrix matrix{.data = device_weight.data(),
                             .outputs = outputs,
                             .inputs = inputs,
                             .type = std::is_same_v<In, bf16> ? matrix_type::bf16 : matrix_type::f16};
  (*products)->multiply(stream, device_input.data(), matrix, rows, kind, out.data());
  stream.synchronize();
  const std::vector<float> found = floats(out.read());
  for (std::int32_t row = 0; row < rows; ++row) {
    for (std::int32_t o = 0; o < outputs; ++o) {
      sum_of_terms terms;
      if (kind == gemm_output::add_to_f32) terms.add(there_before, 1.0);
      for (std::int32_t i = 0; i < inputs; ++i)
        terms.add(weight[static_cast<std::size_t>(o * inputs + i)],
                  input[static_cast<std::size_t>(row * inputs + i)]);
      compared.add(found[static_cast<std::size_t>(row * outputs + o)], terms.sum,
                   kind == gemm_output::rounded ? terms.bound(rounding_of<In>, inputs) : terms.bound());
    }
  }
}

// One batch of rows, and parts of it from somewhere in its midst: the same rows in each, beside others and in
// other places.
template <class Out>
void compare_batches(gemm_output kind, std::mt19937& random, const kernel_check_options& options,
                     comparison& compared) {
  const std::int32_t inputs = 32 * pick(random, 1, options.width / 64);
  const std::int32_t outputs = 8 * pick(random, 1, 96);
  const std::int32_t most = options.batches.back();
  const std::vector<bf16> input = rounded<bf16>(some_inputs(most, inputs, random));
  const device_data<bf16> weight(rounded<bf16>(some_inputs(outputs, inputs, random)));
  const device_matrix matrix{.data = weight.data(), .outputs = outputs, .inputs = inputs};
  const cuda_stream stream;
  auto products = options.open_gemm({most, true});
  if (!products) throw std::runtime_error(products.error().message);
  const auto multiply = [&](std::int32_t first, std::int32_t rows, bool prepares) {
    const auto begin = input.begin() + std::ptrdiff_t{first} * inputs;
    const device_data<bf16> part(std::vector<bf16>(begin, begin + std::ptrdiff_t{rows} * inputs));
    const auto count = static_cast<std::size_t>(rows) * static_cast<std::size_t>(outputs);
    const device_data<Out> out(count);
    if (prepares) (*products)->prepare(stream, part.data(), matrix, options.batches, kind, out.data());
    stream.fill(out.data(), 0, count * sizeof(Out));
    (*products)->multiply(stream, part.data(), matrix, rows, kind, out.data());
    stream.synchronize();
    return floats(out.read());
  };
  const std::vector<float> all = multiply(0, most, true);
  for (const std::int32_t rows : options.batches) {
    const std::int32_t first = pick(random, 0, most - rows);
    const std::vector<float> found = multiply(first, rows, false);
    for (std::size_t i = 0; i < found.size(); ++i)
      compared.add(found[i], all[static_cast<std::size_t>(first) * static_cast<std::size_t>(outputs) + i], 0);
  }
}

void check_quantized(check_list& list, const named_kind& weights) {
  const kernel_check_options& options = list.options();
  const auto add = [&](const char* name, product_output output, auto compare) {
    list.add(fmt::format("multiply_quantized, {}{}", weights.name, name),
             [&options, kind = weights.kind, output, compare](std::mt19937& random, comparison& compared) {
               compare(kind, output, random, options, compared);
             });
  };
  add("", product_output::f32, compare_quantized<float>);
  add(", bf16", product_output::bf16, compare_quantized<bf16>);
  add(", added to fp32", product_output::add_to_f32, compare_quantized<float>);
  list.add(fmt::format("dequantize, {}", weights.name),
           [&options, kind = weights.kind](std::mt19937& random, comparison& compared) {
             compare_dequantized(kind, random, options, compared);
           });
}

}  // namespace

void check_products(check_list& list) {
  const kernel_check_options& options = list.options();
  for (const named_kind& each : quantized_kinds) check_quantized(list, each);
  const auto add = [&](const char* name, gemm_output kind, auto compare) {
    list.add(name, [&options, kind, compare](std::mt19937& random, comparison& compared) {
      compare(kind, random, options, compared);
    });
  };
  add("product, bf16", gemm_output::rounded, compare_product<bf16, bf16>);
  add("product, fp32", gemm_output::f32, compare_product<bf16, float>);
  add("product, added to fp32", gemm_output::add_to_f32, compare_product<bf16, float>);
  add("fp16 product, fp16", gemm_output::rounded, compare_product<__half, __half>);
  add("fp16 product, added to fp32", gemm_output::add_to_f32, compare_product<__half, float>);
  add("batch-invariant product, bf16", gemm_output::rounded, compare_batches<bf16>);
  add("batch-invariant product, fp32", gemm_output::f32, compare_batches<float>);
  add("batch-invariant product, added to fp32", gemm_output::add_to_f32, compare_batches<float>);
}

}  // namespace troupe::checks
