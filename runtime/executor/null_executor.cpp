#include "runtime/executor/null_executor.hpp"

#include <utility>

namespace troupe {

namespace {

token_logprobs certain(token_id token) {
  token_logprobs logprobs;
  logprobs.token = token;
  logprobs.rank = 1;
  return logprobs;
}

class null_executor final : public executor {
 public:
  null_executor(kv_layout layout, token_script script) : layout_(layout), script_(std::move(script)) {}

  kv_layout layout() const override { return layout_; }
  void forward(const device_batch&) override {}

  void sample(const device_batch& batch, const step_masks* masks, step_result& result) override {
    result.step = batch.step;
    result.tokens.clear();
    result.prompt_logprobs.clear();
    for (const sample_row& row : batch.samples) {
      sampled_token& sampled = result.tokens.emplace_back();
      sampled.id = batch.sequences[static_cast<std::size_t>(row.sequence)].id;
      sampled.token = script_(row);
      if (masks != nullptr)
        sampled.token = next_allowed(masks->mask_of(result.tokens.size() - 1), sampled.token);
      if (row.sampling->logprobs) sampled.logprobs = certain(sampled.token);
    }
    for (const prompt_logprob_row& row : batch.prompt_logprobs) {
      result.prompt_logprobs.push_back(certain(row.next_token));
    }
  }

  std::string kernel_path() const override { return "null"; }

 private:
  kv_layout layout_;
  token_script script_;
};

}  // namespace

std::unique_ptr<executor> make_null_executor(kv_layout layout, token_script script) {
  return std::make_unique<null_executor>(layout, std::move(script));
}

}  // namespace troupe
