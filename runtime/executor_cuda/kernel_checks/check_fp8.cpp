#include <cuda_fp8.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>

#include "kernels/cuda/products/fp8_rows.hpp"
#include "runtime/executor_cuda/kernel_checks/device_data.hpp"
#include "runtime/executor_cuda/kernel_checks/kernel_checks.hpp"
#include "runtime/executor_cuda/kernel_checks/sum_of_terms.hpp"
#include "runtime/executor_cuda/products/fp8_gemm.hpp"

namespace troupe::checks {
namespace {

using e4m3 = __nv_fp8_e4m3;

// Rows as 8-bit floats with scales, made on the host.
struct fp8_rows {
  std::int32_t width = 0;
  std::vector<e4m3> codes;
  std::vector<float> scales;

  double at(std::int32_t row, std::int32_t i) const {
    const auto index =
        static_cast<std::size_t>(row) * static_cast<std::size_t>(width) + static_cast<std::size_t>(i);
    return static_cast<double>(static_cast<float>(codes[index])) * scales[static_cast<std::size_t>(row)];
  }
};

fp8_rows quantized_on_host(const std::vector<float>& values, std::int32_t width) {
  fp8_rows out{.width = width, .codes = {}, .scales = {}};
  for (auto row = values.begin(); row != values.end(); row += width) {
    float greatest = 0;
    std::for_each(row, row + width, [&](float value) { greatest = std::max(greatest, std::abs(value)); });
    float scale = std::ldexp(1.0F, -100);
    while (greatest > 448.0F * scale) scale *= 2;
    out.scales.push_back(scale);
    std::for_each(row, row + width, [&](float value) { out.codes.emplace_back(value / scale); });
  }
  return out;
}

template <class T>
std::vector<float> some_rows(std::int32_t rows, std::int32_t width, std::mt19937& random) {
  std::vector<float> values =
      normal_floats(static_cast<std::size_t>(rows) * static_cast<std::size_t>(width), 1, random);
  for (std::size_t i = 0; i < values.size(); ++i)  // rows of all sizes
    values[i] *= std::ldexp(1.0F, static_cast<int>(i / static_cast<std::size_t>(width) % 14) - 7);
  return floats(rounded<T>(values));
}

template <class T>
void compare_codes(std::mt19937& random, const kernel_check_options& options, comparison& compared) {
  const std::int32_t width = 16 * pick(random, 1, options.width / 16);
  const std::int32_t rows = pick(random, 1, options.rows);
  std::vector<float> input = some_rows<T>(rows, width, random);
  std::fill_n(input.begin(), width, 0.0F);  // a row of nothing
  const fp8_rows expected = quantized_on_host(input, width);
  const device_data<T> device_input(rounded<T>(input));
  const device_data<e4m3> codes(input.size());
  const device_data<float> scales(static_cast<std::size_t>(rows));
  kernels::cuda::quantize_to_fp8({.input = device_input.data(),
                                  .output = codes.data(),
                                  .scales = scales.data(),
                                  .rows = rows,
                                  .width = width,
                                  .type = type_of<T>},
                                 nullptr);
  const fp8_rows found{.width = width, .codes = codes.read(), .scales = scales.read()};
  for (std::size_t i = 0; i < found.scales.size(); ++i) compared.add(found.scales[i], expected.scales[i], 0);
  for (std::size_t i = 0; i < input.size(); ++i)
    compared.add(static_cast<float>(found.codes[i]), static_cast<float>(expected.codes[i]), 0);
}

// Tensor cores sum such products with fewer bits than fp32 has (13 of a fraction, of the largest term).
template <class Out>
void compare_fp8_product(gemm_output kind, std::mt19937& random, const kernel_check_options& options,
                         comparison& compared) {
  constexpr double lost_bits = 0x1p-9;
  const std::int32_t inputs = 16 * pick(random, 1, options.width / 32);
  const std::int32_t outputs = 16 * pick(random, 1, 12);
  const std::int32_t rows = pick(random, 1, options.rows);
  const std::vector<float> input = some_rows<__nv_bfloat16>(rows, inputs, random);
  const fp8_rows by_row = quantized_on_host(input, inputs);
  const fp8_rows weight = quantized_on_host(some_rows<__nv_bfloat16>(outputs, inputs, random), inputs);
  const device_data<__nv_bfloat16> device_input(rounded<__nv_bfloat16>(input));
  const device_data<e4m3> codes(weight.codes);
  const device_data<float> scales(weight.scales);
  const device_data<Out> out(std::vector<Out>(static_cast<std::size_t>(rows * outputs), Out(2.5F)));
  auto opened = options.open_gemm({options.rows, false});
  if (!opened) throw std::runtime_error(opened.error().message);
  fp8_gemm products(std::move(*opened), {.rows = rows, .inputs = inputs, .added = outputs});
  const cuda_stream stream;
  products.multiply(stream, device_input.data(),
                    {.data = codes.data(),
                     .outputs = outputs,
                     .inputs = inputs,
                     .type = matrix_type::e4m3,
                     .scales = scales.data()},
                    rows, kind, out.data());
  stream.synchronize();
  const std::vector<float> found = floats(out.read());
  for (std::int32_t row = 0; row < rows; ++row) {
    for (std::int32_t o = 0; o < outputs; ++o) {
      sum_of_terms terms;
      if (kind == gemm_output::add_to_f32) terms.add(2.5, 1.0);
      for (std::int32_t i = 0; i < inputs; ++i) terms.add(weight.at(o, i), by_row.at(row, i));
      const double bound =
          kind == gemm_output::rounded ? terms.bound(rounding_of<__nv_bfloat16>, inputs) : terms.bound();
      compared.add(found[static_cast<std::size_t>(row * outputs + o)], terms.sum,
                   bound + lost_bits * terms.magnitude);
    }
  }
}

}  // namespace

void check_fp8(check_list& list) {
  const kernel_check_options& options = list.options();
  const auto add = [&](const char* name, auto compare) {
    list.add(name, [&options, compare](std::mt19937& random, comparison& compared) {
      compare(random, options, compared);
    });
  };
  add("quantize_to_fp8, bf16", compare_codes<__nv_bfloat16>);
  add("quantize_to_fp8, fp16", compare_codes<__half>);
  if (!options.fp8) return;
  const auto add_product = [&](const char* name, gemm_output kind, auto compare) {
    add(name, [kind, compare](std::mt19937& random, const kernel_check_options& of, comparison& compared) {
      compare(kind, random, of, compared);
    });
  };
  add_product("fp8 product, bf16", gemm_output::rounded, compare_fp8_product<__nv_bfloat16>);
  add_product("fp8 product, fp32", gemm_output::f32, compare_fp8_product<float>);
  add_product("fp8 product, added to fp32", gemm_output::add_to_f32, compare_fp8_product<float>);
}

}  // namespace troupe::checks
