#include "runtime/executor_cuda/model/cuda_decoder.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cuda/elementwise/copy_kv_blocks.hpp"
#include "kernels/cuda/elementwise/gather_embeddings.hpp"
#include "kernels/cuda/elementwise/gather_rows.hpp"
#include "kernels/cuda/elementwise/rope_angles.hpp"

namespace troupe {
namespace {

std::size_t elements(std::int32_t rows, std::int32_t width) {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(width);
}

// 1, 2, 4, ... and `most`.
std::vector<std::int32_t> powers_of_two(std::int32_t most) {
  std::vector<std::int32_t> numbers;
  for (std::int32_t next = 1; next < 2 * most; next *= 2) numbers.push_back(std::min(next, most));
  return numbers;
}

// Of a weight one matrix of each kind that layers have it in: their sizes are the same, but a file may have
// quantised it in some layers alone.
std::vector<device_matrix> one_of_each_kind(const std::vector<device_layer>& layers,
                                            device_matrix device_layer::*weight) {
  std::vector<device_matrix> found;
  for (const device_layer& layer : layers) {
    const device_matrix& matrix = layer.*weight;
    const auto is_alike = [&matrix](const device_matrix& each) {
      return each.type == matrix.type && each.is_quantized() == matrix.is_quantized();
    };
    if (std::ranges::none_of(found, is_alike)) found.push_back(matrix);
  }
  return found;
}

}  // namespace

cuda_decoder::cuda_decoder(const model_config& config, const device_weights& weights, gemm& products,
                           const sizes& sizes, const cuda_stream& stream)
    : config_(config),
      weights_(weights),
      products_(products),
      sizes_(sizes),
      query_width_(config.num_heads * config.head_dim),
      hidden_(elements(std::max(sizes.rows, sizes.logit_rows), config.hidden_size)),
      normed_(elements(std::max(sizes.rows, sizes.logit_rows), config.hidden_size)),
      qkv_(elements(sizes.rows, weights.layers.front().qkv.outputs)),
      attended_(elements(sizes.rows, query_width_)),
      gate_up_(elements(sizes.rows, weights.layers.front().gate_up.outputs)),
      gated_(elements(sizes.rows, config.intermediate_size)),
      gathered_(elements(sizes.logit_rows, config.hidden_size)),
      angles_(elements(sizes.rows, config.rope_dim)),
      logits_(elements(sizes.logit_rows, weights.head.outputs)),
      partial_outputs_(elements(sizes.partial_rows, config.num_kv_heads * config.head_dim)),
      partial_states_(elements(sizes.partial_rows, config.num_kv_heads * 2)),
      arrived_(elements(sizes.partial_rows, config.num_kv_heads)) {
  stream.fill(arrived_.data(), 0, arrived_.bytes());
}

std::size_t cuda_decoder::bytes() const {
  return hidden_.bytes() + normed_.bytes() + qkv_.bytes() + attended_.bytes() + gate_up_.bytes() +
         gated_.bytes() + gathered_.bytes() + angles_.bytes() + logits_.bytes() + partial_outputs_.bytes() +
         partial_states_.bytes() + arrived_.bytes();
}

void cuda_decoder::prepare(const cuda_stream& stream, std::int32_t most, kernels::cuda::kv_element element,
                           const std::optional<few_row_choices>& known) {
  load_dummy_hidden_states(stream);
  const std::vector<std::int32_t> rows = powers_of_two(most);
  const auto choose = [&](const device_array<std::uint16_t>& input, device_matrix device_layer::*weight,
                          gemm_output kind, void* out) {
    for (const device_matrix& each : one_of_each_kind(weights_.layers, weight))
      products_.prepare(stream, input.data(), each, rows, kind, out);
  };
  choose(normed_, &device_layer::qkv, gemm_output::rounded, qkv_.data());
  choose(attended_, &device_layer::output, gemm_output::add_to_f32, hidden_.data());
  choose(normed_, &device_layer::gate_up, gemm_output::rounded, gate_up_.data());
  choose(gated_, &device_layer::down, gemm_output::add_to_f32, hidden_.data());
  products_.prepare(stream, normed_.data(), weights_.head, powers_of_two(sizes_.logit_rows), gemm_output::f32,
                    logits_.data());
  choose_few_rows(stream, element, known);
}

void cuda_decoder::forward(const cuda_stream& stream, const flat_step_shape& shape, const flat_step& step,
                           const kernels::cuda::paged_kv& kv, std::int32_t layers, bool captured) {
  embed(stream, shape, step);
  for (std::int32_t layer = 0; layer < layers; ++layer) run_layer(stream, shape, step, kv, layer, captured);
}

// Each block adds to the residual stream in its last product: a norm reads it and adds nothing.
void cuda_decoder::run_layer(const cuda_stream& stream, const flat_step_shape& shape, const flat_step& step,
                             const kernels::cuda::paged_kv& kv, std::int32_t layer, bool captured) {
  const device_layer& weights = weights_.layers[static_cast<std::size_t>(layer)];
  const std::int32_t rows = shape.rows;
  project_and_rotate(stream, shape, step, kv, layer);
  attend(stream, shape, step, kv, layer, captured);
  project_output(stream, weights, rows);
  gate(stream, weights, rows);
  project_down(stream, weights, rows);
}

void cuda_decoder::attend(const cuda_stream& stream, const flat_step_shape& shape, const flat_step& step,
                          const kernels::cuda::paged_kv& kv, std::int32_t layer, bool captured) {
  kernels::cuda::attention_arguments arguments;
  arguments.kv = kv;
  arguments.workspace = {partial_outputs_.data(), partial_states_.data(), arrived_.data()};
  arguments.queries = qkv_.data();
  arguments.out = attended_.data();
  arguments.query_stride = weights_.layers.front().qkv.outputs;
  arguments.out_stride = query_width_;
  arguments.positions = step.positions;
  arguments.block_tables = step.first;
  arguments.layer = layer;
  arguments.group = config_.num_heads / config_.num_kv_heads;
  arguments.scale = 1.0F / std::sqrt(static_cast<float>(config_.head_dim));
  // A graph's blocks take items in turn: as many as the device holds, or as such a step has at most.
  const std::int32_t held = kernels::cuda::split_residents(config_.head_dim) * sizes_.multiprocessors;
  const std::int64_t most = shape.rows * kernels::cuda::split_items_of_a_row(arguments.group, sizes_.context);
  const std::int32_t blocks =
      captured ? static_cast<std::int32_t>(std::clamp<std::int64_t>(held / config_.num_kv_heads, 1, most))
               : shape.split_items;
  if (captured || shape.split_items > 0) {
    arguments.items = step.split_items;
    arguments.num_items = step.item_counts;
    kernels::cuda::attend_split(arguments, weights_.type, blocks, stream.get());
  }
  if (captured || shape.chunk_items == 0) return;
  arguments.items = step.chunk_items;
  arguments.num_items = step.item_counts + 1;
  kernels::cuda::attend_chunks(arguments, weights_.type, shape.chunk_items, stream.get());
}

device_logits cuda_decoder::logits(const cuda_stream& stream, const std::int32_t* rows, std::int32_t first,
                                   std::int32_t count) {
  float* hidden = hidden_.data() + elements(first, config_.hidden_size);
  if (rows != nullptr) {
    kernels::cuda::gather_rows(hidden_.data(), rows + first, count, config_.hidden_size, gathered_.data(),
                               stream.get());
    hidden = gathered_.data();
  }
  project_logits(stream, hidden, count);
  return {logits_.data(), static_cast<std::size_t>(weights_.head.outputs)};
}

// Every byte alike: a small number in bf16, fp16 and fp32, so that no weight meets infinities or NaN.
void cuda_decoder::load_dummy_hidden_states(const cuda_stream& stream) {
  constexpr int small = 0x3c;
  for (const device_array<std::uint16_t>* each : {&normed_, &attended_, &gated_})
    stream.fill(each->data(), small, each->bytes());
  stream.fill(hidden_.data(), small, hidden_.bytes());
}

void cuda_decoder::copy_blocks(const cuda_stream& stream, const flat_step_shape& shape, const flat_step& step,
                               const kernels::cuda::paged_kv& kv) {
  if (shape.copies > 0) kernels::cuda::copy_kv_blocks({kv, step.copies, shape.copies}, stream.get());
}

void cuda_decoder::embed(const cuda_stream& stream, const flat_step_shape& shape, const flat_step& step) {
  kernels::cuda::gather_embeddings({.table = weights_.embedding.data,
                                    .tokens = step.tokens,
                                    .sources = step.sources,
                                    .sampled = step.sampled,
                                    .residual = hidden_.data(),
                                    .rows = shape.rows,
                                    .width = config_.hidden_size,
                                    .type = weights_.type},
                                   stream.get());
  kernels::cuda::rope_angles({.positions = step.positions,
                              .inverse_frequencies = weights_.rope_frequencies,
                              .scale = config_.rope_attention_scale,
                              .angles = angles_.data(),
                              .rows = shape.rows,
                              .pairs = config_.rope_dim / 2},
                             stream.get());
}

kernels::cuda::rotate_and_store_arguments cuda_decoder::rotation_of(const flat_step_shape& shape,
                                                                    const flat_step& step,
                                                                    const kernels::cuda::paged_kv& kv,
                                                                    std::int32_t layer) {
  const device_layer& weights = weights_.layers[static_cast<std::size_t>(layer)];
  return {.qkv = qkv_.data(),
          .qkv_stride = weights.qkv.outputs,
          .kv = kv,
          .bias = weights.qkv_bias,
          .query_norm = weights.query_norm,
          .key_norm = weights.key_norm,
          .epsilon = config_.rms_norm_eps,
          .angles = angles_.data(),
          .slots = step.slots,
          .rows = shape.rows,
          .num_heads = config_.num_heads,
          .rope_dim = config_.rope_dim,
          .pairs = config_.rope == rope_layout::halves ? kernels::cuda::rope_pairs::halves
                                                       : kernels::cuda::rope_pairs::interleaved,
          .layer = layer,
          .type = weights_.type};
}

}  // namespace troupe
