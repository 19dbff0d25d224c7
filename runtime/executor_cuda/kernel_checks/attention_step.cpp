#include "runtime/executor_cuda/kernel_checks/attention_step.hpp"

#include <cuda_fp8.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <stdexcept>

#include "runtime/blocks_for.hpp"

namespace troupe::checks {
namespace {

using kernels::cuda::attention_item;
using kernels::cuda::element_type;
using kernels::cuda::kv_element;
using kernels::cuda::kv_part;

constexpr std::int32_t attention_layers = 2;
constexpr std::int32_t attention_layer = 1;

float as_stored(element_type type, float value) {
  return type == element_type::bf16 ? static_cast<float>(__nv_bfloat16(value))
                                    : static_cast<float>(__half(value));
}

struct step_items {
  std::vector<attention_item> split;
  std::vector<attention_item> chunks;
  std::int32_t partial_rows = 0;
};

// `max_blocks`: entries of each block table.
step_items items_of(attention_way way, std::int32_t group, std::int32_t max_blocks,
                    const std::vector<attention_sequence>& sequences) {
  if (way == attention_way::planned) {
    kernels::cuda::attention_plan plan(group, 1 << 20, 1024);
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      plan.add(static_cast<std::int32_t>(i) * max_blocks, sequences[i].rows, sequences[i].context);
    }
    return {{plan.split().begin(), plan.split().end()},
            {plan.chunks().begin(), plan.chunks().end()},
            plan.partial_rows()};
  }
  step_items items;
  kernels::cuda::attended_sequence of;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    of = {static_cast<std::int32_t>(i) * max_blocks, of.first_row, sequences[i].rows, sequences[i].context};
    const std::int32_t pairs = of.num_rows * group;
    const std::int32_t stretches = (of.context + 255) / 256;
    for (std::int32_t pair = 0; way == attention_way::chunks && pair < pairs; pair += 64)
      items.chunks.push_back(item_of(of, group, pair, 64));
    for (std::int32_t pair = 0; way != attention_way::chunks && pair < pairs; pair += 16) {
      attention_item item = item_of(of, group, pair, 16);
      item.partial_row = items.partial_rows;
      for (item.stretch = 0; item.stretch < stretches; ++item.stretch) items.split.push_back(item);
      items.partial_rows += 16 * stretches;
    }
    of.first_row += of.num_rows;
  }
  return items;
}

}  // namespace

std::string to_string(const attention_shape& shape) {
  const char* const stored[] = {"bf16", "fp16", "fp8", "int8"};
  return std::string(shape.type == element_type::bf16 ? "bf16" : "fp16") + " over " +
         stored[static_cast<int>(shape.stored)] + ", head_dim " + std::to_string(shape.head_dim) + ", " +
         std::to_string(shape.kv_heads) + " KV heads of " + std::to_string(shape.group) + ", blocks of " +
         std::to_string(shape.block_size);
}

attention_step::attention_step(const attention_shape& shape, std::vector<attention_sequence> sequences,
                               unsigned seed)
    : shape_(shape), sequences_(std::move(sequences)) {
  std::int32_t blocks = 3;  // that nobody uses
  for (const attention_sequence& sequence : sequences_) {
    const std::int32_t needs = blocks_for(sequence.context, shape.block_size);
    blocks += needs;
    max_blocks_ = std::max(max_blocks_, needs + 1);
  }
  kv_ = {.element = shape.stored,
         .num_layers = attention_layers,
         .num_blocks = blocks,
         .num_kv_heads = shape.kv_heads,
         .block_size = shape.block_size,
         .head_dim = shape.head_dim};
  fill_memory(seed);
}

void attention_step::fill_memory(unsigned seed) {
  // What no row may read is NaN, where a type has one: tokens behind a context, other layers and blocks.
  data_.assign(kv_.data_bytes(), 0xFF);
  scales_.assign(kv_.scale_bytes() / sizeof(float), std::nanf(""));
  std::vector<std::int32_t> free(static_cast<std::size_t>(kv_.num_blocks));
  std::iota(free.begin(), free.end(), 0);
  std::mt19937 shuffler(seed);
  std::shuffle(free.begin(), free.end(), shuffler);
  const auto dim = static_cast<std::size_t>(shape_.head_dim);
  starts_.push_back(0);
  for (std::size_t s = 0; s < sequences_.size(); ++s) {
    const attention_sequence& sequence = sequences_[s];
    std::mt19937 random(seed + 1000 * (sequence.number + 1));
    tables_.resize((s + 1) * static_cast<std::size_t>(max_blocks_), -1);
    for (std::int32_t token = 0; token < sequence.context; token += shape_.block_size) {
      tables_[s * static_cast<std::size_t>(max_blocks_) +
              static_cast<std::size_t>(token / shape_.block_size)] = free.back();
      free.pop_back();
    }
    contexts_.resize((s + 1) * static_cast<std::size_t>(shape_.kv_heads));
    for (std::int32_t token = 0; token < sequence.context; ++token) {
      const std::int32_t block = tables_[s * static_cast<std::size_t>(max_blocks_) +
                                         static_cast<std::size_t>(token / shape_.block_size)];
      for (std::int32_t head = 0; head < shape_.kv_heads; ++head) {
        const std::int32_t place = token % shape_.block_size;
        const auto key = normal_floats(dim, 1, random);
        const auto value = normal_floats(dim, 1, random);
        contexts_[s * static_cast<std::size_t>(shape_.kv_heads) + static_cast<std::size_t>(head)].push_back(
            {store(block, kv_part::key, head, place, key), store(block, kv_part::value, head, place, value)});
      }
    }
    // Queries in the order of positions from the context's end, so that fewer rows are the last ones.
    const auto heads = static_cast<std::size_t>(shape_.kv_heads * shape_.group);
    std::vector<float> all;
    for (std::int32_t row = 0; row < sequence.rows; ++row) {
      std::mt19937 of_row(seed + 77 * static_cast<unsigned>(sequence.context - row) + sequence.number);
      std::vector<float> query = normal_floats(heads * dim, 1.5F, of_row);
      for (float& element : query) element = as_stored(shape_.type, element);
      all.insert(all.begin(), query.begin(), query.end());
    }
    queries_.insert(queries_.end(), all.begin(), all.end());
    for (std::int32_t row = 0; row < sequence.rows; ++row) {
      positions_.push_back(sequence.context - sequence.rows + row);
    }
    starts_.push_back(static_cast<std::int32_t>(positions_.size()));
  }
}

// What the memory then holds of the values.
std::vector<double> attention_step::store(std::int32_t block, kv_part part, std::int32_t head,
                                          std::int32_t place, const std::vector<float>& values) {
  const auto first = static_cast<std::size_t>(kv_.element_index(attention_layer, block, part, head, place));
  std::vector<double> held;
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  const float scale = largest / 127;
  if (shape_.stored == kv_element::int8) {
    scales_[static_cast<std::size_t>(kv_.token_index(attention_layer, block, part, head, place))] = scale;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    unsigned char* at = data_.data() + (first + i) * kernels::cuda::kv_element_bytes(shape_.stored);
    if (shape_.stored == kv_element::int8) {
      const auto code = static_cast<std::int8_t>(std::lround(values[i] / scale));
      std::memcpy(at, &code, 1);
      held.push_back(static_cast<double>(code) * scale);
    } else if (shape_.stored == kv_element::fp8) {
      // Every thirtieth element is below what is normal in fp8.
      const __nv_fp8_e4m3 code(i % 30 == 7 ? values[i] * 0.005F : values[i]);
      std::memcpy(at, &code, 1);
      held.push_back(static_cast<float>(code));
    } else if (shape_.stored == kv_element::bf16) {
      const __nv_bfloat16 element(values[i]);
      std::memcpy(at, &element, 2);
      held.push_back(static_cast<float>(element));
    } else {
      const __half element(values[i]);
      std::memcpy(at, &element, 2);
      held.push_back(static_cast<float>(element));
    }
  }
  return held;
}

std::vector<float> attention_step::run(attention_way way, std::int32_t blocks) const {
  if (shape_.type == element_type::bf16) return run_typed<__nv_bfloat16>(way, blocks);
  return run_typed<__half>(way, blocks);
}

template <class T>
std::vector<float> attention_step::run_typed(attention_way way, std::int32_t blocks) const {
  const step_items items = items_of(way, shape_.group, max_blocks_, sequences_);
  const auto row_elements = static_cast<std::size_t>(shape_.kv_heads * shape_.group * shape_.head_dim);
  const auto partial = static_cast<std::size_t>(std::max(items.partial_rows, 1) * shape_.kv_heads);
  const device_data<unsigned char> data(data_);
  const device_data<float> scales(scales_.empty() ? std::vector<float>(1) : scales_);
  const device_data<std::int32_t> tables(tables_), positions(positions_);
  const device_data<T> queries(rounded<T>(queries_));
  const device_data<T> out(
      std::vector<T>(queries_.size() + row_elements, T(-77.0F)));  // one row that is not asked for
  const device_data<float> outputs(partial * static_cast<std::size_t>(shape_.head_dim));
  const device_data<float> states(partial * 2);
  const device_data<std::int32_t> arrived(std::vector<std::int32_t>(partial, 0));
  kernels::cuda::attention_arguments arguments{
      .kv = kv_,
      .workspace = {outputs.data(), states.data(), arrived.data()},
      .queries = queries.data(),
      .out = out.data(),
      .query_stride = static_cast<std::int64_t>(row_elements),
      .out_stride = static_cast<std::int64_t>(row_elements),
      .positions = positions.data(),
      .block_tables = tables.data(),
      .layer = attention_layer,
      .group = shape_.group,
      .scale = 1.0F / std::sqrt(static_cast<float>(shape_.head_dim))};
  arguments.kv.data = data.data();
  arguments.kv.scales = scales_.empty() ? nullptr : scales.data();
  if (!kernels::cuda::can_attend(arguments.kv, shape_.type))
    throw std::logic_error("no attention kernel for " + to_string(shape_));
  const auto launch = [&](const std::vector<attention_item>& list, auto attend) {
    if (list.empty()) return;
    const device_data<attention_item> device_items(list);
    const auto count = static_cast<std::int32_t>(list.size());
    const device_data<std::int32_t> number(std::vector<std::int32_t>{count});
    arguments.items = device_items.data();
    arguments.num_items = number.data();
    attend(arguments, shape_.type, blocks == 0 ? count : blocks, nullptr);
    check_launches("attention");
    check_cuda(cudaStreamSynchronize(nullptr), "attention");
  };
  launch(items.split, kernels::cuda::attend_split);
  launch(items.chunks, kernels::cuda::attend_chunks);
  std::vector<float> result = floats(out.read());
  for (std::size_t i = queries_.size(); i < result.size(); ++i)
    if (result[i] != -77.0F) throw std::logic_error("attention wrote behind its rows");
  result.resize(queries_.size());
  if (arrived.read() != std::vector<std::int32_t>(partial, 0))
    throw std::logic_error("attention left counters behind");
  return result;
}

std::vector<float> attention_step::rows_of(const std::vector<float>& all, std::size_t sequence) const {
  const auto row = static_cast<std::ptrdiff_t>(shape_.kv_heads * shape_.group * shape_.head_dim);
  return {all.begin() + row * starts_[sequence], all.begin() + row * starts_[sequence + 1]};
}

void attention_step::compare(const std::vector<float>& outputs, comparison& with) const {
  const auto dim = static_cast<std::size_t>(shape_.head_dim);
  const auto heads = static_cast<std::size_t>(shape_.kv_heads * shape_.group);
  const double rounding =
      shape_.type == element_type::bf16 ? rounding_of<__nv_bfloat16> : rounding_of<__half>;
  for (std::size_t s = 0; s < sequences_.size(); ++s) {
    for (auto row = static_cast<std::size_t>(starts_[s]); row < static_cast<std::size_t>(starts_[s + 1]);
         ++row) {
      for (std::size_t head = 0; head < heads; ++head) {
        const auto& context = contexts_[s * static_cast<std::size_t>(shape_.kv_heads) +
                                        head / static_cast<std::size_t>(shape_.group)];
        const float* query = queries_.data() + (row * heads + head) * dim;
        const auto visible = static_cast<std::size_t>(positions_[row]) + 1;
        std::vector<double> weights(visible);
        for (std::size_t t = 0; t < visible; ++t) {
          for (std::size_t d = 0; d < dim; ++d) weights[t] += query[d] * context[t].key[d];
          weights[t] /= std::sqrt(static_cast<double>(dim));
        }
        const double largest = *std::max_element(weights.begin(), weights.end());
        double sum = 0;
        for (double& weight : weights) sum += weight = std::exp(weight - largest);
        for (std::size_t d = 0; d < dim; ++d) {
          double expected = 0;
          double magnitude = 0;
          for (std::size_t t = 0; t < visible; ++t) {
            expected += weights[t] / sum * context[t].value[d];
            magnitude += weights[t] / sum * std::abs(context[t].value[d]);
          }
          with.add(outputs[(row * heads + head) * dim + d], expected,
                   rounding * (magnitude + std::abs(expected)) + 1e-4 * magnitude + 1e-6);
        }
      }
    }
  }
}

}  // namespace troupe::checks
