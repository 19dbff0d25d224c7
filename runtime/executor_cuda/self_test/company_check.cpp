#include "runtime/executor_cuda/self_test/company_check.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/executor_cuda/self_test/step_timings.hpp"

namespace troupe {
namespace {

constexpr std::int32_t compared_tokens = 20;  // of each step

using best_tokens = std::vector<std::pair<token_id, float>>;

// Of the last row of the batch.
void add_sample(device_batch& batch, std::int32_t logprobs) {
  auto params = std::make_shared<sampling_params>();
  params->temperature = 0.0F;
  if (logprobs > 0) params->logprobs = logprobs;
  sample_row sample;
  sample.sequence = static_cast<std::int32_t>(batch.sequences.size()) - 1;
  sample.row = batch.num_rows() - 1;
  sample.position = batch.positions.back() + 1;
  sample.prompt_length = sample.position;
  sample.sampling = std::move(params);
  batch.samples.push_back(std::move(sample));
}

best_tokens ask_last_row(executor& device, device_batch& batch) {
  add_sample(batch, compared_tokens);
  step_result result;
  device.forward(batch);
  device.sample(batch, nullptr, result);
  return result.tokens.back().logprobs->top;
}

// The others begin behind the blocks of the one that is asked, and stay within a block each.
struct company {
  const company_check_options& options;
  kv_layout layout;
  std::vector<token_id> text;
  std::int32_t others;
  std::int32_t rows;  // of each, in the first step

  company(const company_check_options& of, const kv_layout& kv)
      : options(of), layout(kv), text(some_tokens(of.prompt + 1, of.vocab_size)) {
    const std::int32_t blocks = of.prompt / kv.block_size + 1;
    others = std::clamp(of.sequences - 1, 0, std::max(0, kv.num_blocks - blocks));
    rows = std::clamp((of.max_rows - of.prompt) / std::max(1, others), 1, kv.block_size - 2);
  }
  void add_others(device_batch& batch, std::int32_t first, std::int32_t count) const {
    const std::int32_t behind = options.prompt / layout.block_size + 1;
    for (std::int32_t i = 0; i < others; ++i) {
      const std::vector<token_id> tokens(static_cast<std::size_t>(count), (i + first) % options.vocab_size);
      add_rows(batch, tokens, first, behind + i, layout);
      add_sample(batch, 0);
    }
  }
  // Tokens [first, end) of the text.
  void add_asked(device_batch& batch, std::int32_t first, std::int32_t end) const {
    add_rows(batch, {text.begin() + first, text.begin() + end}, first, 0, layout);
  }
};

}  // namespace

bool keeps_bits_in_company(executor& device, const company_check_options& options) {
  const company of(options, device.layout());
  const std::int32_t half = options.prompt / 2;
  const auto step = [&](std::int32_t first, std::int32_t end, std::int32_t others_first,
                        std::int32_t others_rows) {
    device_batch batch;
    if (others_rows > 0) of.add_others(batch, others_first, others_rows);
    of.add_asked(batch, first, end);
    return ask_last_row(device, batch);
  };
  const best_tokens prompt = step(0, options.prompt, 0, 0);
  const best_tokens decode = step(options.prompt, options.prompt + 1, 0, 0);
  step(0, half, 0, of.rows);
  return step(half, options.prompt, of.rows, 1) == prompt &&
         step(options.prompt, options.prompt + 1, of.rows + 1, 1) == decode;
}

}  // namespace troupe
