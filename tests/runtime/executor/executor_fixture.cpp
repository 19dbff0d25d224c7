#include "tests/runtime/executor/executor_fixture.hpp"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "tests/support/gguf_writer.hpp"

namespace troupe::test {

model_ptr load_from_memory(const std::string& bytes) {
  const temporary_file file(bytes);
  auto loaded = load_model(file.path());
  if (!loaded) throw std::runtime_error(loaded.error().message);
  return *loaded;
}

sampling_params greedy() {
  sampling_params params;
  params.temperature = 0;
  return params;
}

executor_driver::executor_driver(executor& device, std::vector<std::int32_t> block_order)
    : device_(device), free_blocks_(std::move(block_order)) {
  if (free_blocks_.empty()) {
    free_blocks_.resize(static_cast<std::size_t>(device.layout().num_blocks));
    std::iota(free_blocks_.begin(), free_blocks_.end(), 0);
  }
  std::reverse(free_blocks_.begin(), free_blocks_.end());
}

std::size_t executor_driver::add(std::vector<token_id> prompt, sampling_params sampling) {
  driver_sequence sequence;
  sequence.prompt_length = static_cast<std::int32_t>(prompt.size());
  sequence.tokens = std::move(prompt);
  sequence.sampling = std::make_shared<const sampling_params>(std::move(sampling));
  sequences_.push_back(std::move(sequence));
  return sequences_.size() - 1;
}

void executor_driver::add_rows(device_batch& batch, const chunk& part) {
  driver_sequence& sequence = sequences_[part.sequence];
  const std::int32_t block_size = device_.layout().block_size;
  const std::int32_t end = sequence.computed + part.rows;
  while (static_cast<std::int32_t>(sequence.blocks.size()) * block_size < end) {
    if (free_blocks_.empty()) throw std::runtime_error("no free block");
    sequence.blocks.push_back(free_blocks_.back());
    free_blocks_.pop_back();
  }
  const auto index = static_cast<std::int32_t>(batch.sequences.size());
  batch.sequences.push_back({part.sequence, batch.num_rows(), part.rows,
                             static_cast<std::int32_t>(batch.block_tables.size()),
                             static_cast<std::int32_t>(sequence.blocks.size())});
  batch.block_tables.insert(batch.block_tables.end(), sequence.blocks.begin(), sequence.blocks.end());
  for (std::int32_t position = sequence.computed; position < end; ++position) {
    const auto block = static_cast<std::size_t>(position / block_size);
    batch.tokens.push_back(sequence.tokens[static_cast<std::size_t>(position)]);
    batch.positions.push_back(position);
    batch.slots.push_back(sequence.blocks[block] * block_size + position % block_size);
  }
  if (end == static_cast<std::int32_t>(sequence.tokens.size())) {
    sample_row sample{index,
                      batch.num_rows() - 1,
                      end,
                      end - sequence.prompt_length,
                      sequence.sampling,
                      sequence.prompt_length,
                      {}};
    if (sequence.sampling->needs_history()) sample.history = sequence.tokens;
    batch.samples.push_back(std::move(sample));
  }
}

device_batch executor_driver::build(const std::vector<chunk>& chunks) {
  device_batch batch;
  batch.step = ++step_;
  for (const chunk& part : chunks) add_rows(batch, part);
  return batch;
}

void executor_driver::step(const std::vector<chunk>& chunks) {
  const device_batch built = build(chunks);
  const device_batch& batch = change_(built);
  step_result result;
  device_.forward(batch);
  device_.sample(batch, nullptr, result);
  for (const chunk& part : chunks) sequences_[part.sequence].computed += part.rows;
  for (sampled_token& sampled : result.tokens) {
    driver_sequence& sequence = sequences_[sampled.id];
    sequence.tokens.push_back(sampled.token);
    if (sampled.logprobs) sequence.logprobs.push_back(std::move(*sampled.logprobs));
  }
}

void executor_driver::generate(std::size_t sequence, std::int32_t count) {
  step({{sequence,
         static_cast<std::int32_t>(sequences_[sequence].tokens.size()) - sequences_[sequence].computed}});
  for (std::int32_t i = 1; i < count; ++i) step({{sequence, 1}});
}

void executor_driver::release(std::size_t sequence) {
  auto& blocks = sequences_[sequence].blocks;
  free_blocks_.insert(free_blocks_.end(), blocks.rbegin(), blocks.rend());
  blocks.clear();
  sequences_[sequence].computed = 0;
}

std::vector<token_id> executor_driver::output(std::size_t sequence) const {
  const driver_sequence& of = sequences_[sequence];
  return {of.tokens.begin() + of.prompt_length, of.tokens.end()};
}

}  // namespace troupe::test
