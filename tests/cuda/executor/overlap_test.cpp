// Steps that are asked for before the tokens of the one before are there.
#include <cuda_runtime_api.h>

#include <memory>
#include <utility>
#include <vector>

#include "kernels/cuda/emulation/faults.hpp"
#include "runtime/executor_cuda/cuda_executor.hpp"
#include "tests/cuda/cuda_fixture.hpp"
#include "tests/cuda/executor/executors_fixture.hpp"
#include "tests/cuda/executor/reference_gemm_fixture.hpp"
#include "tests/runtime/executor/executor_fixture.hpp"
#include "tests/support/overlapped_decoding.hpp"
#include "tests/support/tiny_model.hpp"

namespace troupe {
namespace {

// What was asked for and what the device has come to, in products.
struct product_counts {
  int asked = 0;
  int computed = 0;
};

class counting_gemm final : public gemm {
 public:
  explicit counting_gemm(std::shared_ptr<product_counts> counts) : counts_(std::move(counts)) {}
  void multiply(const cuda_stream& stream, const void* input, const device_matrix& weight, std::int32_t rows,
                gemm_output kind, void* out) override {
    counts_->asked += 1;
    right_.multiply(stream, input, weight, rows, kind, out);
    const auto count = [](void* counts) { static_cast<product_counts*>(counts)->computed += 1; };
    ASSERT_EQ(cudaLaunchHostFunc(stream.get(), count, counts_.get()), cudaSuccess);
  }
  void prepare(const cuda_stream&, const void*, const device_matrix&, std::span<const std::int32_t>,
               gemm_output, void*) override {}
  std::string name() const override { return "counting"; }

 private:
  std::shared_ptr<product_counts> counts_;
  test::reference_gemm right_;
};

class cuda_overlap : public test::cuda_kernels {
 protected:
  static std::unique_ptr<executor> start(std::vector<std::int32_t> graph_rows,
                                         gemm_opener open_gemm = test::open_reference_gemm) {
    cuda_executor_options options = test::small_cuda_options();
    options.graph_rows = std::move(graph_rows);
    options.open_gemm = std::move(open_gemm);
    return start_with(options);
  }
  static std::unique_ptr<executor> start_with(const cuda_executor_options& options) {
    const model_ptr model = test::load_from_memory(test::tiny_model(
        {.weights = gguf::tensor_type::bf16, .embedding = gguf::tensor_type::bf16, .num_layers = 2}));
    return test::start_cuda(model, options);
  }
};

TEST_F(cuda_overlap, the_tokens_are_those_of_steps_that_wait_eagerly_and_as_graphs) {
  std::vector<std::vector<token_id>> first;
  for (const std::vector<std::int32_t>& graphs : {std::vector<std::int32_t>{}, {1, 2, 4}}) {
    const auto device = start(graphs);
    const auto waiting = test::decode(*device, test::params_of_each_kind(), 12, false);
    EXPECT_EQ(test::decode(*device, test::params_of_each_kind(), 12, true), waiting);
    if (first.empty()) first = waiting;
    EXPECT_EQ(waiting, first);
  }
  EXPECT_NE(first[0], first[2]) << "a penalty that has no history changes nothing";
}

// Nothing that step n + 1 is asked for waits for step n, and whoever waits for n's tokens does not wait for n
// + 1.
TEST_F(cuda_overlap, a_step_is_launched_whole_before_the_tokens_that_it_begins_with_are_waited_for) {
  const auto counts = std::make_shared<product_counts>();
  const auto device = start({}, [counts](const gemm_request&) {
    return result<std::unique_ptr<gemm>>(std::make_unique<counting_gemm>(counts));
  });
  device->synchronize();
  *counts = {};
  test::decoding all(test::params_of_each_kind());
  device_batch first = all.next(false);
  device->forward(first);
  all.complete_histories(first);
  ASSERT_TRUE(device->begin_sample(first, nullptr));
  const int of_a_step = counts->asked;
  EXPECT_EQ(of_a_step, 2 * 4 + 1);
  const device_batch second = all.next(true);
  device->forward(second);
  EXPECT_EQ(counts->asked, 2 * of_a_step - 1) << "all but the logits, which are asked for with the tokens";
  EXPECT_EQ(counts->computed, 0);
  step_result sampled;
  test::wait_for(*device, sampled);
  EXPECT_EQ(counts->computed, of_a_step);
  EXPECT_EQ(sampled.tokens.size(), 3U);
  EXPECT_EQ(sampled.tokens[2].id, 3U);
  device->synchronize();
}

TEST_F(cuda_overlap, no_memory_of_the_device_is_taken_once_it_has_begun) {
  for (const std::vector<std::int32_t>& graphs : {std::vector<std::int32_t>{}, {4}}) {
    const auto device = start(graphs);
    test::decode(*device, test::params_of_each_kind(), 3, true);
    const auto before = std::exchange(kernels::cuda::emulation::faults().device_bytes, 0);
    EXPECT_NO_THROW(test::decode(*device, test::params_of_each_kind(), 6, true));
    kernels::cuda::emulation::faults().device_bytes = before;
  }
}

TEST_F(cuda_overlap, log_probabilities_come_with_the_tokens) {
  const auto device = start({});
  sampling_params with_logprobs = test::greedy();
  with_logprobs.logprobs = 2;
  test::decoding all({with_logprobs, test::greedy()});
  device_batch batch = all.next(false);
  all.complete_histories(batch);
  batch.prompt_logprobs.push_back({0, 0, 5, 3});
  device->forward(batch);
  step_result waited;
  device->sample(batch, nullptr, waited);
  ASSERT_TRUE(device->begin_sample(batch, nullptr));
  device->forward(batch);  // what comes next changes nothing
  step_result collected;
  test::wait_for(*device, collected);
  ASSERT_TRUE(collected.tokens[0].logprobs);
  EXPECT_EQ(collected.tokens[0].logprobs->logprob, waited.tokens[0].logprobs->logprob);
  EXPECT_EQ(collected.tokens[0].logprobs->top, waited.tokens[0].logprobs->top);
  EXPECT_EQ(collected.tokens[0].logprobs->token, collected.tokens[0].token);
  EXPECT_FALSE(collected.tokens[1].logprobs);
  ASSERT_EQ(collected.prompt_logprobs.size(), 1U);
  EXPECT_EQ(collected.prompt_logprobs[0].top, waited.prompt_logprobs[0].top);
  EXPECT_EQ(collected.prompt_logprobs[0].logprob, waited.prompt_logprobs[0].logprob);
  device->synchronize();
}

TEST_F(cuda_overlap, steps_that_draw_nothing_are_begun_and_collected) {
  const auto device = start({});
  test::decoding all({test::greedy()});
  device_batch prompt = all.next(false);
  const std::vector<sample_row> samples = std::exchange(prompt.samples, {});
  device->forward(prompt);
  ASSERT_TRUE(device->begin_sample(prompt, nullptr));
  step_result nothing;
  nothing.tokens.resize(3);
  test::wait_for(*device, nothing);
  EXPECT_EQ(nothing.step, prompt.step);
  EXPECT_TRUE(nothing.tokens.empty());
  device->synchronize();
}

// Their log-probabilities are of the logits before, which the device copies.
TEST_F(cuda_overlap, log_probabilities_of_changed_logits_come_with_the_tokens) {
  const auto device = start({});
  sampling_params biased = test::greedy();
  biased.logit_bias = {{9, 100.0F}};
  biased.logprobs = 3;
  sampling_params plain = test::greedy();
  plain.logprobs = 3;
  test::decoding all({biased, plain, biased});
  device_batch batch = all.next(false);
  all.complete_histories(batch);
  device->forward(batch);
  ASSERT_TRUE(device->begin_sample(batch, nullptr));
  step_result found;
  test::wait_for(*device, found);
  EXPECT_EQ(found.tokens[0].token, 9);
  EXPECT_GT(found.tokens[0].logprobs->rank, 1);
  EXPECT_LT(found.tokens[0].logprobs->logprob, -0.5F);
  EXPECT_NE(found.tokens[0].logprobs->top, found.tokens[2].logprobs->top) << "each its own copy";
  EXPECT_EQ(found.tokens[1].logprobs->top[0].first, found.tokens[1].token);
  device->synchronize();
}

// More rows than sequences.
TEST_F(cuda_overlap, steps_that_verify_guesses_are_begun_where_room_is_taken_for_them) {
  constexpr std::int32_t guesses = 40;  // more than there is room for at any rate
  std::vector<std::vector<token_id>> drawn;
  for (const bool has_room : {true, false}) {
    cuda_executor_options options = test::small_cuda_options();
    options.limits.samples_of_sequence = has_room ? 1 + guesses : 1;
    const auto device = start_with(options);
    test::decoding all({test::greedy(), test::greedy()});
    device_batch batch = all.next(false);
    all.complete_histories(batch);
    const std::vector<sample_row> samples = std::exchange(batch.samples, {});
    for (const sample_row& last : samples)
      for (std::int32_t i = 0; i <= guesses; ++i) batch.samples.push_back(last);
    device->forward(batch);
    EXPECT_EQ(device->begin_sample(batch, nullptr), has_room);
    step_result result;
    if (has_room)
      test::wait_for(*device, result);
    else
      device->sample(batch, nullptr, result);
    std::vector<token_id>& tokens = drawn.emplace_back();
    for (const sampled_token& each : result.tokens) tokens.push_back(each.token);
    EXPECT_EQ(tokens.size(), samples.size() * (1 + guesses));
    device->synchronize();
  }
  EXPECT_EQ(drawn[0], drawn[1]);
}

TEST_F(cuda_overlap, what_the_host_draws_is_not_begun) {
  const auto device = start({});
  sampling_params with_logprobs = test::greedy();
  with_logprobs.logprobs = 100;  // more than the device tells
  test::decoding all({with_logprobs, test::greedy()});
  device_batch batch = all.next(false);
  all.complete_histories(batch);
  device->forward(batch);
  EXPECT_FALSE(device->begin_sample(batch, nullptr));
  step_result result;
  device->sample(batch, nullptr, result);
  EXPECT_TRUE(result.tokens[0].logprobs);
}

}  // namespace
}  // namespace troupe
