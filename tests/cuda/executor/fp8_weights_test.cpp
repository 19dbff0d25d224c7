// Models whose layers multiply 8-bit floats.
#include <memory>
#include <vector>

#include "kernels/cuda/emulation/faults.hpp"
#include "runtime/executor_cuda/cuda_executor.hpp"
#include "runtime/executor_cuda/products/fp8_gemm.hpp"
#include "tests/cuda/cuda_fixture.hpp"
#include "tests/cuda/executor/executors_fixture.hpp"
#include "tests/cuda/executor/reference_gemm_fixture.hpp"
#include "tests/runtime/executor/executor_fixture.hpp"
#include "tests/support/tiny_model.hpp"

namespace troupe {
namespace {

// Codes have 3 bits of mantissa: where the two best tokens are nearer, either choice is right.
constexpr float sure_with_fp8 = 3.0F;

class fp8_weights : public test::cuda_kernels {
 protected:
  static model_ptr load(test::tiny_kind kind = test::tiny_kind::llama) {
    return test::load_from_memory(test::tiny_model({.kind = kind,
                                                    .weights = gguf::tensor_type::bf16,
                                                    .embedding = gguf::tensor_type::bf16,
                                                    .num_layers = 2}));
  }
  static cuda_executor_options in_fp8() {
    cuda_executor_options options = test::small_cuda_options();
    options.weights = weight_form::fp8;
    return options;
  }
};

// Log-probabilities of a prompt's tokens.
std::vector<float> told(executor& device, const std::vector<token_id>& prompt) {
  test::executor_driver driver(device);
  driver.add(prompt, test::greedy());
  device_batch batch = driver.build({{0, static_cast<std::int32_t>(prompt.size())}});
  for (std::int32_t row = 0; row + 1 < batch.num_rows(); ++row)
    batch.prompt_logprobs.push_back({0, row, batch.tokens[static_cast<std::size_t>(row) + 1], 0});
  step_result result;
  device.forward(batch);
  device.sample(batch, nullptr, result);
  std::vector<float> out;
  for (const token_logprobs& each : result.prompt_logprobs) out.push_back(each.logprob);
  return out;
}

double apart(const std::vector<float>& one, const std::vector<float>& other) {
  double sum = 0;
  for (std::size_t i = 0; i < one.size(); ++i) sum += std::abs(double{one[i]} - double{other[i]});
  return sum / static_cast<double>(one.size());
}

// A tiny model of random weights has a spread of logits of about 13, and e4m3 is apart by 3 or 4 in a
// hundred.
TEST_F(fp8_weights, have_nearly_the_probabilities_of_the_cpu) {
  for (const test::tiny_kind kind : {test::tiny_kind::llama, test::tiny_kind::qwen3}) {
    const model_ptr model = load(kind);
    const auto device = test::start_cuda(model, in_fp8());
    const auto plain = test::start_cuda(model, test::small_cuda_options());
    const auto cpu = test::start_cpu(model);
    const std::vector<float> expected = told(*cpu, test::prompt_of(24));
    const double difference = apart(told(*device, test::prompt_of(24)), expected);
    EXPECT_LT(difference, 1.0) << test::to_string(kind);
    EXPECT_GT(difference, 2 * apart(told(*plain, test::prompt_of(24)), expected))
        << "these are other weights";
  }
}

TEST_F(fp8_weights, have_the_greedy_tokens_of_the_cpu_where_it_is_sure_of_them) {
  std::size_t compared = 0;
  for (const test::tiny_kind kind : test::all_tiny_kinds) {
    SCOPED_TRACE(test::to_string(kind));
    const model_ptr model = load(kind);
    const auto device = test::start_cuda(model, in_fp8());
    const auto cpu = test::start_cpu(model);
    for (const std::int32_t length : {1, 3, 5, 9, 17, 23, 33, 40})
      compared += test::compare_greedy(*device, *cpu, test::prompt_of(length), 4, sure_with_fp8);
  }
  EXPECT_GE(compared, 10U) << "too little was compared to mean anything";
}

// Beside others and in chunks, with products that keep bits: an activation's scale is its row's alone.
TEST_F(fp8_weights, give_a_row_the_same_bits_in_any_company) {
  const model_ptr model = load(test::tiny_kind::qwen3);
  const auto device = test::start_cuda(model, in_fp8());
  sampling_params with_logprobs = test::greedy();
  with_logprobs.logprobs = 20;
  test::executor_driver alone(*device), beside(*device);
  const auto one = alone.add(test::prompt_of(30), with_logprobs);
  alone.generate(one, 3);
  const auto other = beside.add(test::prompt_of(9), test::greedy());
  const auto same = beside.add(test::prompt_of(30), with_logprobs);
  beside.step({{other, 9}, {same, 13}});
  beside.step({{other, 1}, {same, 17}});
  beside.step({{other, 1}, {same, 1}});
  beside.step({{same, 1}});
  ASSERT_EQ(beside[same].logprobs.size(), alone[one].logprobs.size());
  for (std::size_t i = 0; i < alone[one].logprobs.size(); ++i)
    EXPECT_EQ(beside[same].logprobs[i].top, alone[one].logprobs[i].top) << i;
}

TEST_F(fp8_weights, take_about_half_the_memory_and_products_of_codes) {
  const model_ptr model = load();
  const std::size_t all = device_weight_bytes(*model);
  const cuda_stream stream;
  const device_weights weights = upload_weights(*model, stream, weight_form::fp8);
  const std::size_t embedding = 2 * static_cast<std::size_t>(weights.embedding.outputs) *
                                static_cast<std::size_t>(weights.embedding.inputs);
  const std::size_t layers = all - embedding * (model->head == model->embedding ? 1 : 2);
  const std::size_t in_fp8 = device_weight_bytes(*model, weight_form::fp8);
  EXPECT_LT(all - in_fp8, layers / 2);
  EXPECT_GT(all - in_fp8, layers / 3) << "scales and what is aligned are the rest";
  auto inner = std::make_unique<test::reference_gemm>();
  test::reference_gemm& sums = *inner;
  fp8_gemm products(std::move(inner), fp8_gemm::sizes_of(weights, 4));
  const device_matrix& down = weights.layers[0].down;
  const test::device_array<__nv_bfloat16> input(
      std::vector<__nv_bfloat16>(4 * static_cast<std::size_t>(down.inputs), __nv_bfloat16(0.5F)));
  const test::device_array<float> out(std::vector<float>(4 * static_cast<std::size_t>(down.outputs), 1.0F));
  const std::int32_t rows[] = {1, 4};
  products.prepare(stream, input.data(), down, rows, gemm_output::add_to_f32, out.data());
  EXPECT_EQ(sums.prepared, (std::vector<std::int32_t>{1, 4}));
  stream.synchronize();
  EXPECT_EQ(out.read()[0], 1.0F) << "sums have a place of their own";

  sums.prepared.clear();
  const auto before = kernels::cuda::emulation::faults();
  kernels::cuda::emulation::faults().failing_call = 1;
  kernels::cuda::emulation::faults().error = cudaErrorMemoryAllocation;
  EXPECT_THROW(products.prepare(stream, input.data(), down, rows, gemm_output::add_to_f32, out.data()),
               out_of_device_memory);
  kernels::cuda::emulation::faults() = before;
  EXPECT_TRUE(sums.prepared.empty()) << "ways are measured with codes that were never written";
}

TEST_F(fp8_weights, are_refused_by_name_where_they_cannot_be) {
  const model_ptr model = load();
  cuda_executor_options options = in_fp8();
  options.dtype = "float16";
  EXPECT_EQ(load_cuda_executor(model, options).error().param, "gpu_weights");
  const auto before = kernels::cuda::emulation::faults();
  kernels::cuda::emulation::faults().compute_capability = 86;
  const auto refused = load_cuda_executor(model, in_fp8());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, error_code::unsupported);
  EXPECT_EQ(refused.error().param, "gpu_weights");
  EXPECT_NE(refused.error().message.find("8.9"), std::string::npos) << refused.error().message;
  kernels::cuda::emulation::faults().compute_capability = 89;
  EXPECT_TRUE(load_cuda_executor(model, in_fp8()).has_value());
  kernels::cuda::emulation::faults() = before;
}

}  // namespace
}  // namespace troupe
