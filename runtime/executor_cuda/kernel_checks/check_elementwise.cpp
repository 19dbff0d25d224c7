#include <algorithm>
#include <cmath>

#include "kernels/cuda/elementwise/copy_kv_blocks.hpp"
#include "kernels/cuda/elementwise/gather_embeddings.hpp"
#include "kernels/cuda/elementwise/gather_rows.hpp"
#include "kernels/cuda/elementwise/residual_norm.hpp"
#include "kernels/cuda/elementwise/rope_angles.hpp"
#include "kernels/cuda/elementwise/silu_multiply.hpp"
#include "kernels/cuda/stream_copy.hpp"
#include "runtime/executor_cuda/kernel_checks/device_data.hpp"
#include "runtime/executor_cuda/kernel_checks/kernel_checks.hpp"

namespace troupe::checks {
namespace {

std::size_t area(std::int32_t rows, std::int32_t width) {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(width);
}

struct size_of_rows {
  std::int32_t rows;
  std::int32_t width;
};

// Widths that are read 16 bytes at a time, and any others up to what the norm takes.
size_of_rows some_size(std::mt19937& random, const kernel_check_options& options) {
  const std::int32_t rows = pick(random, 1, options.rows);
  if (pick(random, 0, 1) == 0) return {rows, 8 * pick(random, 1, options.width / 8)};
  return {rows, pick(random, 1, std::min(options.width, 4096))};
}

template <class T>
void compare_norm(std::mt19937& random, const kernel_check_options& options, comparison& compared) {
  const auto [rows, width] = some_size(random, options);
  const bool adds = pick(random, 0, 1) == 0;
  const std::vector<float> residual = normal_floats(area(rows, width), 2, random);
  const std::vector<T> addition = rounded<T>(normal_floats(area(rows, width), 1, random));
  const std::vector<float> weight = normal_floats(static_cast<std::size_t>(width), 1, random);
  const device_data<float> device_residual(residual), device_weight(weight);
  const device_data<T> device_addition(addition), output(residual.size());
  kernels::cuda::residual_rms_norm({.residual = device_residual.data(),
                                    .addition = adds ? device_addition.data() : nullptr,
                                    .weight = device_weight.data(),
                                    .output = output.data(),
                                    .rows = rows,
                                    .width = width,
                                    .epsilon = 1e-5F,
                                    .type = type_of<T>},
                                   nullptr);
  const std::vector<float> left = device_residual.read();
  const std::vector<float> normed = floats(output.read());
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
    const std::size_t first = row * static_cast<std::size_t>(width);
    double squares = 0;
    for (std::size_t i = first; i < first + weight.size(); ++i) {
      const float sum = adds ? residual[i] + static_cast<float>(addition[i]) : residual[i];
      compared.add(left[i], sum, 0);
      squares += static_cast<double>(sum) * sum;
    }
    const double factor = 1 / std::sqrt(squares / width + 1e-5);
    for (std::size_t i = 0; i < weight.size(); ++i) {
      const double expected = left[first + i] * factor * weight[i];
      compared.add(normed[first + i], expected, std::abs(expected) * rounding_of<T> + 1e-6);
    }
  }
}

template <class T>
void compare_silu(std::mt19937& random, const kernel_check_options& options, comparison& compared) {
  const auto [rows, width] = some_size(random, options);
  const std::vector<T> gate_up = rounded<T>(normal_floats(2 * area(rows, width), 4, random));
  const device_data<T> input(gate_up), output(area(rows, width));
  kernels::cuda::silu_multiply(
      {.gate_up = input.data(), .output = output.data(), .rows = rows, .width = width, .type = type_of<T>},
      nullptr);
  const std::vector<float> found = floats(output.read());
  const auto columns = static_cast<std::size_t>(width);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::size_t place = i / columns * 2 * columns + i % columns;
    const double gate = static_cast<float>(gate_up[place]);
    const double expected =
        gate / (1 + std::exp(-gate)) * static_cast<double>(static_cast<float>(gate_up[place + columns]));
    compared.add(found[i], expected, std::abs(expected) * rounding_of<T> + 1e-6);
  }
}

// Every other row's token is one that an earlier step sampled.
template <class T>
void compare_embeddings(std::mt19937& random, const kernel_check_options& options, comparison& compared) {
  const auto [rows, width] = some_size(random, options);
  const std::int32_t vocabulary = pick(random, 1, 40);
  const std::vector<T> table = rounded<T>(normal_floats(area(vocabulary, width), 1, random));
  std::vector<std::int32_t> tokens, sources, sampled, expected;
  for (std::int32_t row = 0; row < rows; ++row) {
    sampled.push_back(pick(random, 0, vocabulary - 1));
    expected.push_back(pick(random, 0, vocabulary - 1));
    tokens.push_back(row % 2 == 0 ? expected.back() : -1);
    sources.push_back(row % 2 == 0 ? -1 : pick(random, 0, row));
    if (row % 2 != 0) expected.back() = sampled[static_cast<std::size_t>(sources.back())];
  }
  const device_data<T> device_table(table);
  const device_data<std::int32_t> device_tokens(tokens), device_sources(sources), device_sampled(sampled);
  const device_data<float> residual(area(rows, width));
  kernels::cuda::gather_embeddings({.table = device_table.data(),
                                    .tokens = device_tokens.data(),
                                    .sources = device_sources.data(),
                                    .sampled = device_sampled.data(),
                                    .residual = residual.data(),
                                    .rows = rows,
                                    .width = width,
                                    .type = type_of<T>},
                                   nullptr);
  const std::vector<float> found = residual.read();
  const auto columns = static_cast<std::size_t>(width);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto token = static_cast<std::size_t>(expected[i / columns]);
    compared.add(found[i], static_cast<float>(table[token * columns + i % columns]), 0);
  }
  const std::vector<std::int32_t> fed = device_tokens.read();
  for (std::size_t i = 0; i < fed.size(); ++i) compared.add(fed[i], expected[i], 0);
}

void compare_gathered_rows(std::mt19937& random, const kernel_check_options& options, comparison& compared) {
  const std::int32_t rows = pick(random, 1, options.rows);
  const std::int32_t width = 4 * pick(random, 1, options.width / 4);
  const std::int32_t count = pick(random, 1, options.rows);
  const std::vector<float> values = normal_floats(area(rows, width), 1, random);
  std::vector<std::int32_t> indices;
  for (std::int32_t i = 0; i < count; ++i) indices.push_back(pick(random, 0, rows - 1));
  const device_data<float> from(values), out(area(count, width));
  const device_data<std::int32_t> device_indices(indices);
  kernels::cuda::gather_rows(from.data(), device_indices.data(), count, width, out.data(), nullptr);
  const std::vector<float> found = out.read();
  const auto columns = static_cast<std::size_t>(width);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto row = static_cast<std::size_t>(indices[i / columns]);
    compared.add(found[i], values[row * columns + i % columns], 0);
  }
}

void compare_angles(std::mt19937& random, const kernel_check_options& options, comparison& compared) {
  const std::int32_t pairs = 8 * pick(random, 1, 16);
  std::vector<std::int32_t> positions;
  for (std::int32_t rows = pick(random, 1, options.rows); rows > 0; --rows)
    positions.push_back(pick(random, 0, 1 << pick(random, 0, 20)));
  std::vector<float> frequencies;
  for (std::int32_t i = 0; i < pairs; ++i)
    frequencies.push_back(static_cast<float>(std::pow(10'000.0, -static_cast<double>(i) / pairs)));
  const device_data<std::int32_t> device_positions(positions);
  const device_data<float> device_frequencies(frequencies), angles(2 * positions.size() * frequencies.size());
  kernels::cuda::rope_angles({.positions = device_positions.data(),
                              .inverse_frequencies = device_frequencies.data(),
                              .scale = 1.25F,
                              .angles = angles.data(),
                              .rows = static_cast<std::int32_t>(positions.size()),
                              .pairs = pairs},
                             nullptr);
  const std::vector<float> found = angles.read();
  for (std::size_t i = 0; 2 * i < found.size(); ++i) {
    const double angle =
        static_cast<double>(positions[i / frequencies.size()]) * frequencies[i % frequencies.size()];
    compared.add(found[2 * i], 1.25 * std::cos(angle), 2e-7);
    compared.add(found[2 * i + 1], 1.25 * std::sin(angle), 2e-7);
  }
}

// Copies within a memory of random bytes, one after another.
void compare_block_copies(std::mt19937& random, comparison& compared) {
  using kernels::cuda::kv_element;
  kernels::cuda::paged_kv kv{.element = pick(random, 0, 1) == 0 ? kv_element::bf16 : kv_element::int8,
                             .num_layers = pick(random, 1, 4),
                             .num_blocks = pick(random, 2, 9),
                             .num_kv_heads = pick(random, 1, 4),
                             .block_size = 8 << pick(random, 0, 3),
                             .head_dim = 16 * pick(random, 1, 8)};
  std::vector<std::uint8_t> bytes(kv.data_bytes());
  for (std::uint8_t& each : bytes) each = static_cast<std::uint8_t>(random());
  std::vector<float> scales = normal_floats(kv.scale_bytes() / sizeof(float), 1, random);
  std::vector<std::int32_t> copies;
  for (std::int32_t i = 2 * pick(random, 1, 6); i > 0; --i)
    copies.push_back(pick(random, 0, kv.num_blocks - 1));
  const device_data<std::uint8_t> data(bytes);
  const device_data<float> device_scales(scales);
  const device_data<std::int32_t> device_copies(copies);
  kv.data = data.data();
  kv.scales = scales.empty() ? nullptr : device_scales.data();
  kernels::cuda::copy_kv_blocks(
      {.kv = kv, .copies = device_copies.data(), .count = static_cast<std::int32_t>(copies.size() / 2)},
      nullptr);
  const auto compare = [&](auto& memory, const auto& found) {
    const std::size_t block = memory.size() / area(kv.num_layers, kv.num_blocks);
    for (std::size_t i = 0; i < copies.size(); i += 2) {
      for (std::int32_t layer = 0; layer < kv.num_layers; ++layer) {
        const auto at = [&](std::int32_t number) {
          return memory.begin() +
                 static_cast<std::ptrdiff_t>(area(layer * kv.num_blocks + number, 1) * block);
        };
        const std::vector moved(at(copies[i]), at(copies[i]) + static_cast<std::ptrdiff_t>(block));
        std::copy(moved.begin(), moved.end(), at(copies[i + 1]));
      }
    }
    for (std::size_t i = 0; i < memory.size(); ++i) compared.add(found[i], memory[i], 0);
  };
  compare(bytes, data.read());
  compare(scales, device_scales.read());
}

// Around what a block takes, 16 KB; what lies behind stays.
void compare_stream_copy(std::mt19937& random, comparison& compared) {
  const std::size_t count = area(4, pick(random, 1, 5000));
  const std::vector<float> values = normal_floats(count, 1, random);
  const device_data<float> from(values), to(std::vector<float>(count + 4, 7.0F));
  kernels::cuda::stream_copy(to.data(), from.data(), count * sizeof(float), nullptr);
  const std::vector<float> found = to.read();
  for (std::size_t i = 0; i < found.size(); ++i) compared.add(found[i], i < count ? values[i] : 7.0F, 0);
}

}  // namespace

void check_elementwise(check_list& list) {
  const kernel_check_options& options = list.options();
  const auto add_both = [&](const std::string& name, auto bf16, auto f16) {
    list.add(name + ", bf16", [&, bf16](std::mt19937& random, comparison& c) { bf16(random, options, c); });
    list.add(name + ", fp16", [&, f16](std::mt19937& random, comparison& c) { f16(random, options, c); });
  };
  add_both("residual_norm", compare_norm<__nv_bfloat16>, compare_norm<__half>);
  add_both("silu_multiply", compare_silu<__nv_bfloat16>, compare_silu<__half>);
  add_both("gather_embeddings", compare_embeddings<__nv_bfloat16>, compare_embeddings<__half>);
  list.add("gather_rows",
           [&](std::mt19937& random, comparison& c) { compare_gathered_rows(random, options, c); });
  list.add("rope_angles", [&](std::mt19937& random, comparison& c) { compare_angles(random, options, c); });
  list.add("copy_kv_blocks", compare_block_copies);
  list.add("stream_copy", compare_stream_copy);
}

}  // namespace troupe::checks
