#include "runtime/executor_cuda/self_test/model_answer.hpp"

#include <memory>

#include "runtime/executor_cuda/self_test/step_timings.hpp"

namespace troupe {
namespace {

constexpr double sure_margin = 0.5;

std::shared_ptr<sampling_params> greedy_params() {
  auto params = std::make_shared<sampling_params>();
  params->temperature = 0.0F;
  params->logprobs = 2;
  return params;
}

// The rows of one sequence in blocks 0, 1, ... from `first` on; the last one sampled.
device_batch asked_rows(const std::vector<token_id>& tokens, std::int32_t first, const kv_layout& layout) {
  device_batch batch = rows_of(tokens, first, 0, layout);
  const auto count = static_cast<std::int32_t>(tokens.size());
  sample_row sample;
  sample.row = count - 1;
  sample.position = first + count;
  sample.prompt_length = first + count;
  sample.sampling = greedy_params();
  batch.samples.push_back(sample);
  return batch;
}

void note(const token_logprobs& of, model_answer& out) {
  out.best.push_back(of.top.at(0).first);
  out.margins.push_back(of.top.at(0).second - of.top.at(1).second);
}

}  // namespace

model_answer ask(executor& device, const std::vector<token_id>& prompt, const model_answer* leader) {
  model_answer out;
  step_result result;
  device_batch batch = asked_rows(prompt, 0, device.layout());
  for (std::int32_t row = 0; row + 1 < batch.num_rows(); ++row)
    batch.prompt_logprobs.push_back({0, row, prompt[static_cast<std::size_t>(row) + 1], 2});
  device.forward(batch);
  device.sample(batch, nullptr, result);
  for (const token_logprobs& each : result.prompt_logprobs) {
    out.prompt_logprobs.push_back(each.logprob);
    note(each, out);
  }
  note(*result.tokens[0].logprobs, out);
  for (std::int32_t i = 1; i < asked_tokens; ++i) {
    const token_id token = (leader == nullptr ? out : *leader).best[out.best.size() - 1];
    const auto position = static_cast<std::int32_t>(prompt.size()) + i - 1;
    const device_batch next = asked_rows({token}, position, device.layout());
    device.forward(next);
    device.sample(next, nullptr, result);
    note(*result.tokens[0].logprobs, out);
  }
  return out;
}

choices compare_choices(const model_answer& other, const model_answer& sure, double tolerance) {
  choices out;
  for (std::size_t i = 0; i < sure.best.size(); ++i) {
    if (!(sure.margins[i] >= sure_margin * tolerance)) continue;
    out.compared += 1;
    out.different += other.best[i] == sure.best[i] ? 0 : 1;
  }
  return out;
}

}  // namespace troupe
