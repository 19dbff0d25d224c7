#include "runtime/executor_cuda/step/step_room.hpp"

#include <algorithm>

#include "runtime/executor/warm_up/graph_sizes.hpp"

namespace troupe {
namespace {

constexpr std::int64_t most_partial_bytes = std::int64_t{256} << 20U;
constexpr std::int32_t most_logit_rows = 256;
// Also where few sequences run: prompts may want the log-probabilities of all their tokens.
constexpr std::int32_t least_logit_rows = 64;

std::int32_t parts(std::int32_t whole, std::int32_t size) { return (whole + size - 1) / size; }

// Most sequences of a decode step.
std::int32_t decodes_of(const executor_limits& limits) {
  return std::min(limits.max_sequences, limits.max_rows);
}

}  // namespace

struct step_room::sizes {
  sizes(const model_config& config, const executor_limits& limits, std::span<const std::int32_t> graph_rows)
      : rows(most_rows(limits, graph_rows)), sequences(limits.max_sequences) {
    group = config.num_heads / config.num_kv_heads;
    table_entries = std::int64_t{sequences} * parts(limits.max_model_len, limits.block_size);
    graphs = graph_sizes(graph_rows, decodes_of(limits));
    const std::int64_t bytes_of_a_row = std::int64_t{config.num_kv_heads} * (config.head_dim + 2) * 4;
    const std::int64_t wanted =
        std::int64_t{sequences} * parts(limits.max_model_len, kernels::cuda::tokens_of_a_stretch) * group;
    partial_rows = static_cast<std::int32_t>(std::min(wanted, most_partial_bytes / bytes_of_a_row));
    chunk_items = rows * group / kernels::cuda::pairs_of_a_chunk + sequences;
    split_items = partial_rows + kernels::cuda::most_items_of_a_stretch(group) * sequences;
    const std::int64_t samples = std::int64_t{limits.max_sequences} * limits.samples_of_sequence;
    logit_rows = static_cast<std::int32_t>(
        std::clamp<std::int64_t>(samples, std::min(rows, least_logit_rows), most_logit_rows));
  }

  std::size_t integers() const {
    const flat_step_shape largest{.rows = rows,
                                  .sequences = sequences,
                                  .split_items = split_items,
                                  .table_entries = table_entries,
                                  .chunk_items = chunk_items,
                                  .logits = 2 * rows,
                                  .copies = sequences};
    return lay_out(largest, nullptr).count;
  }

  std::int32_t rows;
  std::int32_t sequences;
  std::int64_t table_entries = 0;
  std::int32_t group = 1;
  std::int32_t partial_rows = 0;
  std::int32_t split_items = 0;
  std::int32_t chunk_items = 0;
  std::int32_t logit_rows = 1;
  std::vector<std::int32_t> graphs;
};

std::int32_t step_room::most_rows(const executor_limits& limits, std::span<const std::int32_t> graph_rows) {
  const std::vector<std::int32_t> graphs = graph_sizes(graph_rows, decodes_of(limits));
  return graphs.empty() ? limits.max_rows : std::max(limits.max_rows, graphs.back());
}

step_room::step_room(const model_config& config, const device_weights& weights, gemm& products,
                     const executor_limits& limits, std::span<const std::int32_t> graph_rows,
                     const std::vector<token_id>& end_tokens, const cuda_device& device,
                     const cuda_stream& stream, few_row_products few_rows)
    : step_room(config, weights, products, limits, end_tokens, device, stream, few_rows,
                sizes(config, limits, graph_rows)) {}

step_room::step_room(const model_config& config, const device_weights& weights, gemm& products,
                     const executor_limits& limits, const std::vector<token_id>& end_tokens,
                     const cuda_device& device, const cuda_stream& stream, few_row_products few_rows,
                     const sizes& sizes)
    : rows(sizes.rows),
      flattener(kernels::cuda::attention_plan(sizes.group, sizes.partial_rows,
                                              std::max(sizes.split_items, sizes.chunk_items))),
      stage(sizes.integers()),
      decoder(config, weights, products,
              {.rows = sizes.rows,
               .logit_rows = sizes.logit_rows,
               .partial_rows = sizes.partial_rows,
               .context = limits.max_model_len,
               .multiprocessors = device.multiprocessors,
               .few_rows = few_rows},
              stream),
      sampler(config.vocab_size, limits, sizes.logit_rows, 2 * sizes.rows, end_tokens),
      graphs(sizes.graphs) {}

std::size_t step_room::bytes() const { return decoder.bytes() + stage.bytes() + sampler.bytes(); }

}  // namespace troupe
