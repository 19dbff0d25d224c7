// --dtype=float16: weights, activations and KV memory in fp16.
#include <memory>
#include <vector>

#include "tests/cuda/cuda_fixture.hpp"
#include "tests/cuda/executor/executors_fixture.hpp"
#include "tests/runtime/executor/executor_fixture.hpp"
#include "tests/support/tiny_model.hpp"

namespace troupe {
namespace {

// fp16 has three bits more than bf16: the CPU's own rounding of activations is what is left.
constexpr float sure_with_fp16 = 0.05F;

class float16 : public test::cuda_kernels {
 protected:
  static model_ptr load(test::tiny_kind kind) {
    return test::load_from_memory(test::tiny_model({.kind = kind,
                                                    .weights = gguf::tensor_type::f16,
                                                    .embedding = gguf::tensor_type::f16,
                                                    .num_layers = 2}));
  }
};

TEST_F(float16, has_the_greedy_tokens_of_the_cpu_for_every_kind_of_model) {
  for (const test::tiny_kind kind : test::all_tiny_kinds) {
    SCOPED_TRACE(test::to_string(kind));
    const model_ptr model = load(kind);
    cuda_executor_options options = test::small_cuda_options();
    options.dtype = "float16";
    const auto device = test::start_cuda(model, options);
    EXPECT_EQ(device->layout().dtype, "f16");
    const auto cpu = test::start_cpu(model);
    std::size_t compared = 0;
    for (const std::int32_t length : {1, 5, 17, 33})
      compared += test::compare_greedy(*device, *cpu, test::prompt_of(length), 6, sure_with_fp16);
    EXPECT_GE(compared, 6U) << "too little was compared to mean anything";
  }
}

// Of other rows of the step, which a row does not see, the values are beyond fp16.
TEST_F(float16, a_row_is_the_same_beside_values_that_are_beyond_its_numbers) {
  const auto with_large_values = [](test::gguf_writer& file) {
    file.drop_tensor("blk.0.attn_v.weight")
        .add_tensor("blk.0.attn_v.weight", {64, 32}, gguf::tensor_type::f32,
                    test::random_tensor(gguf::tensor_type::f32, std::uint64_t{64} * 32, 5000.0F, 5));
  };
  const model_ptr model =
      test::load_from_memory(test::tiny_model({.num_layers = 1, .edit = with_large_values}));
  sampling_params params = test::greedy();
  params.logprobs = 3;
  for (const char* dtype : {"auto", "int8"}) {
    for (const few_row_products few_rows : {few_row_products::always, few_row_products::never}) {
      cuda_executor_options options = test::small_cuda_options();
      options.dtype = "float16";
      options.kv_cache_dtype = dtype;
      options.few_rows = few_rows;
      const auto device = test::start_cuda(model, options);
      const auto first_row = [&](const std::vector<token_id>& tokens) {
        test::executor_driver driver(*device);
        driver.add(tokens, params);
        device_batch batch = driver.build({{0, static_cast<std::int32_t>(tokens.size())}});
        batch.samples.front().row = 0;
        step_result out;
        device->forward(batch);
        device->sample(batch, nullptr, out);
        return std::pair(out.tokens.front().token, out.tokens.front().logprobs->logprob);
      };
      for (const token_id token : {3, 4, 5}) {
        const auto alone = first_row({token});
        EXPECT_GT(alone.second, -100.0F) << dtype;
        for (token_id other = 10; other < 26; ++other)
          EXPECT_EQ(first_row({token, other}), alone) << token << " beside " << other << ", " << dtype;
      }
    }
  }
}

TEST_F(float16, goes_with_its_own_and_8_bit_kv_memory_and_not_with_codes) {
  const model_ptr model = load(test::tiny_kind::llama);
  cuda_executor_options options = test::small_cuda_options();
  options.dtype = "half";
  for (const char* dtype : {"f16", "fp8", "int8"}) {
    options.kv_cache_dtype = dtype;
    const auto device = test::start_cuda(model, options);
    EXPECT_EQ(device->layout().dtype, dtype);
    test::executor_driver driver(*device);
    const auto one = driver.add(test::prompt_of(20), test::greedy());
    driver.generate(one, 3);
    EXPECT_EQ(driver.output(one).size(), 3U);
  }
  options.kv_cache_dtype = "bf16";
  EXPECT_EQ(load_cuda_executor(model, options).error().param, "kv_cache_dtype");
  options.kv_cache_dtype = "auto";
  options.weights = weight_form::in_file;
  EXPECT_EQ(load_cuda_executor(model, options).error().param, "gpu_weights");
}

}  // namespace
}  // namespace troupe
