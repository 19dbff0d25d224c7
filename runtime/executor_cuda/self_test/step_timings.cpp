#include "runtime/executor_cuda/self_test/step_timings.hpp"

#include <algorithm>
#include <memory>

#include "runtime/blocks_for.hpp"
#include "runtime/executor_cuda/products/median.hpp"

namespace troupe {
namespace {

constexpr std::int32_t warm_up_rounds = 3;  // loads, captures, launches the graph for the first time

// One row of a sequence whose context is there already.
void add_decode(device_batch& batch, std::int32_t context, std::int32_t first_block, token_id token,
                const std::shared_ptr<const sampling_params>& params, const kv_layout& layout) {
  add_rows(batch, {token}, context - 1, first_block, layout);
  sample_row sample;
  sample.sequence = static_cast<std::int32_t>(batch.sequences.size()) - 1;
  sample.row = batch.num_rows() - 1;
  sample.position = context;
  sample.prompt_length = context;
  sample.sampling = params;
  batch.samples.push_back(sample);
}

}  // namespace

// Knuth's multiplicative hash.
std::vector<token_id> some_tokens(std::int32_t count, std::int32_t vocab_size) {
  std::vector<token_id> tokens;
  for (std::int32_t i = 0; i < count; ++i)
    tokens.push_back(static_cast<token_id>((static_cast<std::uint32_t>(i) + 1) * 2654435761U %
                                           static_cast<std::uint32_t>(vocab_size)));
  return tokens;
}

void add_rows(device_batch& batch, const std::vector<token_id>& tokens, std::int32_t first,
              std::int32_t first_block, const kv_layout& layout) {
  const auto count = static_cast<std::int32_t>(tokens.size());
  sequence_rows rows;
  rows.first_row = batch.num_rows();
  rows.num_rows = count;
  rows.table_offset = static_cast<std::int32_t>(batch.block_tables.size());
  rows.table_length = blocks_for(first + count, layout.block_size);
  for (std::int32_t i = 0; i < rows.table_length; ++i) batch.block_tables.push_back(first_block + i);
  for (std::int32_t i = 0; i < count; ++i) {
    batch.positions.push_back(first + i);
    batch.slots.push_back(first_block * layout.block_size + first + i);
  }
  batch.tokens.insert(batch.tokens.end(), tokens.begin(), tokens.end());
  batch.sequences.push_back(rows);
}

device_batch rows_of(const std::vector<token_id>& tokens, std::int32_t first, std::int32_t first_block,
                     const kv_layout& layout) {
  device_batch batch;
  add_rows(batch, tokens, first, first_block, layout);
  return batch;
}

decode_step prepare_decode(executor& device, std::int32_t sequences, std::int32_t context,
                           std::int32_t max_rows, std::int32_t vocab_size) {
  const kv_layout layout = device.layout();
  const std::int32_t affordable = layout.num_blocks / sequences;  // of each
  const std::int32_t blocks = std::min(affordable, blocks_for(context, layout.block_size));
  decode_step step;
  step.context = std::max(1, std::min(context, blocks * layout.block_size));
  const std::vector<token_id> text = some_tokens(step.context, vocab_size);
  auto params = std::make_shared<sampling_params>();
  params->temperature = 0.0F;
  for (std::int32_t i = 0; i < sequences; ++i) {
    for (std::int32_t first = 0; first < step.context; first += max_rows) {
      const auto begin = text.begin() + first;
      const auto end = text.begin() + std::min(first + max_rows, step.context);
      device.forward(rows_of({begin, end}, first, i * blocks, layout));
    }
    add_decode(step.batch, step.context, i * blocks, text.back(), params, layout);
  }
  device.synchronize();
  return step;
}

step_time time_steps(executor& device, const device_batch& batch, std::int32_t rounds,
                     const std::function<double()>& now, step_watch& watch) {
  step_result unused;
  std::vector<double> took;
  bool is_uncollected = false;
  const auto collect = [&] {
    while (is_uncollected && !device.collect(unused)) {
    }
    is_uncollected = false;
  };
  for (std::int32_t i = 0; i < rounds + warm_up_rounds; ++i) {
    if (i == warm_up_rounds) watch = {};
    const double begin = now();
    device.forward(batch);
    collect();
    is_uncollected = device.begin_sample(batch, nullptr);
    if (!is_uncollected) device.sample(batch, nullptr, unused);
    if (i >= warm_up_rounds) took.push_back(now() - begin);
  }
  collect();
  return {median(std::move(took)), median(watch.device), median(watch.gaps)};
}

}  // namespace troupe
