// Models whose weights stay quantised on the device.
#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/cuda/emulation/faults.hpp"
#include "kernels/cuda/products/quantized_product.hpp"
#include "runtime/executor_cuda/cuda_executor.hpp"
#include "runtime/executor_cuda/model/device_weights.hpp"
#include "runtime/executor_cuda/products/quantized_gemm.hpp"
#include "tests/cuda/cuda_fixture.hpp"
#include "tests/cuda/executor/executors_fixture.hpp"
#include "tests/cuda/executor/reference_gemm_fixture.hpp"
#include "tests/runtime/executor/executor_fixture.hpp"
#include "tests/support/tiny_model.hpp"

namespace troupe {
namespace {

using gguf::tensor_type;

// Where the two best tokens are nearer, either choice is right: the CPU rounds activations to 8 bits where
// the device has bf16; bf16 weights lack some bits of the codes.
constexpr float sure_of_the_cpu = 0.4F;
constexpr float sure_of_bf16 = 0.1F;
constexpr std::int32_t compared_tokens = 7;

class quantized_weights_of_a_model : public test::cuda_kernels {
 protected:
  static model_ptr load(tensor_type weights, tensor_type embedding,
                        test::tiny_kind kind = test::tiny_kind::llama) {
    return test::load_from_memory(
        test::tiny_model({.kind = kind, .weights = weights, .embedding = embedding, .num_layers = 2}));
  }
  static std::unique_ptr<executor> start(const model_ptr& model, weight_form form,
                                         std::vector<std::int32_t> graphs = {1, 4},
                                         bool batch_invariant = false) {
    cuda_executor_options options = test::small_cuda_options();
    options.graph_rows = std::move(graphs);
    options.weights = form;
    options.batch_invariant = batch_invariant;
    return test::start_cuda(model, options);
  }
};

constexpr tensor_type file_types[] = {tensor_type::q4_0, tensor_type::q4_1, tensor_type::q5_1,
                                      tensor_type::q8_0, tensor_type::q4_k, tensor_type::q6_k};

// Prompts of few rows and of more than the kernel takes; decodes as graphs.
TEST_F(quantized_weights_of_a_model, have_the_greedy_tokens_of_the_cpu) {
  std::size_t compared = 0;
  for (const tensor_type type : file_types) {
    const model_ptr model = load(type, type);
    const auto device = start(model, weight_form::in_file);
    const auto cpu = test::start_cpu(model);
    for (const std::int32_t length : {3, 17})
      compared +=
          test::compare_greedy(*device, *cpu, test::prompt_of(length), compared_tokens, sure_of_the_cpu);
  }
  EXPECT_GE(compared, 25U) << "too little was compared to mean anything";
}

TEST_F(quantized_weights_of_a_model, have_the_greedy_tokens_of_the_same_weights_in_bf16) {
  std::size_t compared = 0;
  for (const tensor_type type : {tensor_type::q4_1, tensor_type::q6_k}) {
    const model_ptr model = load(type, type);
    const auto device = start(model, weight_form::in_file);
    const auto in_bf16 = start(model, weight_form::plain);
    for (const std::int32_t length : {3, 40})
      compared +=
          test::compare_greedy(*device, *in_bf16, test::prompt_of(length), compared_tokens, sure_of_bf16);
  }
  EXPECT_GE(compared, 12U) << "too little was compared to mean anything";
}

TEST_F(quantized_weights_of_a_model, are_multiplied_with_by_their_codes_for_few_rows_alone) {
  const model_ptr model = load(tensor_type::q4_1, tensor_type::q8_0);
  const cuda_stream stream;
  const device_weights weights = upload_weights(*model, stream, weight_form::in_file);
  const device_layer& layer = weights.layers.front();
  ASSERT_TRUE(layer.qkv.is_quantized());
  EXPECT_EQ(layer.qkv.num_parts, 1) << "of one kind, and each ends where a tile does";
  EXPECT_EQ(weights.largest_quantized,
            static_cast<std::size_t>(weights.head.outputs) * static_cast<std::size_t>(weights.head.inputs));
  auto inner = std::make_unique<test::reference_gemm>();
  test::reference_gemm& many = *inner;
  quantized_gemm products(std::move(inner), weights.largest_quantized, false);
  const auto inputs = static_cast<std::size_t>(layer.qkv.inputs);
  std::mt19937 random(5);
  const test::device_array<__nv_bfloat16> input(
      test::rounded<__nv_bfloat16>(test::normal_floats(17 * inputs, 1, random)));
  const auto outputs = static_cast<std::size_t>(layer.qkv.outputs);
  const test::device_array<float> few(16 * outputs);
  const test::device_array<float> all(17 * outputs);
  products.multiply(stream, input.data(), layer.qkv, 16, gemm_output::f32, few.data());
  products.multiply(stream, input.data(), layer.qkv, 17, gemm_output::f32, all.data());
  const std::int32_t counts[] = {15, 16, 17};
  products.prepare(stream, input.data(), layer.qkv, counts, gemm_output::f32, all.data());
  EXPECT_EQ(many.prepared, std::vector<std::int32_t>{17});
  stream.synchronize();
  const auto by_codes = few.read();
  const auto by_bf16 = all.read();
  std::size_t different = 0;
  for (std::size_t i = 0; i < by_codes.size(); ++i) {
    EXPECT_NEAR(by_codes[i], by_bf16[i], 0.02F + 0.01F * std::abs(by_bf16[i])) << i;
    different += by_codes[i] != by_bf16[i] ? 1 : 0;
  }
  EXPECT_GT(different, by_codes.size() / 2) << "codes are exact, bf16 weights are not";
}

TEST_F(quantized_weights_of_a_model,
       are_multiplied_with_by_their_codes_for_all_rows_where_bits_are_to_be_kept) {
  const model_ptr model = load(tensor_type::q4_1, tensor_type::q8_0);
  const cuda_stream stream;
  const device_weights weights = upload_weights(*model, stream, weight_form::in_file);
  const device_matrix& matrix = weights.layers.front().qkv;
  constexpr std::int32_t most = 40;
  quantized_gemm products(std::make_unique<test::reference_gemm>(), weights.largest_quantized, true);
  std::mt19937 random(6);
  const auto inputs = static_cast<std::size_t>(matrix.inputs);
  const test::device_array<__nv_bfloat16> input(
      test::rounded<__nv_bfloat16>(test::normal_floats(most * inputs, 1, random)));
  const auto outputs = static_cast<std::size_t>(matrix.outputs);
  const auto multiply = [&](std::int32_t first, std::int32_t rows, gemm_output kind) {
    const test::device_array<float> out(std::vector<float>(most * outputs, 1.0F));
    products.multiply(stream, input.data() + static_cast<std::size_t>(first) * inputs, matrix, rows, kind,
                      out.data());
    stream.synchronize();
    auto values = out.read();
    values.resize(static_cast<std::size_t>(rows) * outputs);
    return values;
  };
  for (const gemm_output kind : {gemm_output::f32, gemm_output::add_to_f32}) {
    const std::vector<float> all = multiply(0, most, kind);
    for (const auto& [first, rows] : {std::pair{0, 17}, {5, 1}, {7, 33}, {39, 1}}) {
      const std::vector<float> part = multiply(first, rows, kind);
      EXPECT_TRUE(std::ranges::equal(
          part, std::span(all).subspan(static_cast<std::size_t>(first) * outputs, part.size())))
          << rows << " rows from " << first;
    }
  }
}

TEST_F(quantized_weights_of_a_model, take_less_memory_and_leave_what_has_no_codes_in_bf16) {
  const model_ptr model = load(tensor_type::q4_0, tensor_type::bf16);
  EXPECT_LT(device_weight_bytes(*model, weight_form::in_file), device_weight_bytes(*model));
  const cuda_stream stream;
  const device_weights weights = upload_weights(*model, stream, weight_form::in_file);
  EXPECT_FALSE(weights.head.is_quantized());
  EXPECT_EQ(weights.head.data == weights.embedding.data, model->head == model->embedding);
  const model_ptr floats = load(tensor_type::f16, tensor_type::f16);
  EXPECT_EQ(upload_weights(*floats, stream, weight_form::in_file).largest_quantized, 0U);
  EXPECT_EQ(device_weight_bytes(*floats, weight_form::in_file), device_weight_bytes(*floats));
}

// More rows than the kernel takes at once, in one chunk and in two.
TEST_F(quantized_weights_of_a_model, give_the_same_bits_however_a_prompt_is_cut_where_that_is_asked_for) {
  const model_ptr model = load(tensor_type::q4_k, tensor_type::q6_k);
  sampling_params with_logprobs = test::greedy();
  with_logprobs.logprobs = 20;
  for (const bool batch_invariant : {true, false}) {
    const auto device = start(model, weight_form::in_file, {1}, batch_invariant);
    const auto best_of = [&](const std::vector<std::int32_t>& chunks) {
      test::executor_driver driver(*device);
      const std::size_t one = driver.add(test::prompt_of(40), with_logprobs);
      for (const std::int32_t rows : chunks) driver.step({{one, rows}});
      return driver[one].logprobs.back().top;
    };
    EXPECT_EQ(best_of({40}) == best_of({30, 10}), batch_invariant);
  }
}

// Fails the test at a product that prepare() was not called for.
class prepared_only_gemm final : public gemm {
 public:
  void multiply(const cuda_stream& stream, const void* input, const device_matrix& weight, std::int32_t rows,
                gemm_output kind, void* out) override {
    EXPECT_TRUE(prepared_.contains({weight.outputs, weight.inputs, weight.type, kind}))
        << weight.outputs << " x " << weight.inputs << ", output " << static_cast<int>(kind);
    reference_.multiply(stream, input, weight, rows, kind, out);
  }
  void prepare(const cuda_stream&, const void*, const device_matrix& weight, std::span<const std::int32_t>,
               gemm_output kind, void*) override {
    prepared_.emplace(weight.outputs, weight.inputs, weight.type, kind);
  }
  std::string name() const override { return "prepared only"; }

 private:
  std::set<std::tuple<std::int32_t, std::int32_t, matrix_type, gemm_output>> prepared_;
  test::reference_gemm reference_;
};

TEST_F(quantized_weights_of_a_model, have_their_bf16_neighbours_in_other_layers_prepared_for) {
  const auto keep_in_bf16 = [](test::gguf_writer& file) {
    const auto replace = [&file](const std::string& name, std::uint64_t inputs, std::uint64_t outputs) {
      file.drop_tensor(name).add_tensor(
          name, {inputs, outputs}, tensor_type::bf16,
          test::random_tensor(tensor_type::bf16, inputs * outputs, 0.1F, outputs));
    };
    for (const char* name : {"blk.1.attn_q.weight", "blk.1.attn_output.weight"}) replace(name, 64, 64);
    for (const char* name : {"blk.1.attn_k.weight", "blk.1.attn_v.weight"}) replace(name, 64, 32);
    replace("blk.1.ffn_gate.weight", 64, 96);
    replace("blk.1.ffn_up.weight", 64, 96);
    replace("blk.1.ffn_down.weight", 96, 64);
  };
  const model_ptr model = test::load_from_memory(test::tiny_model(
      {.weights = tensor_type::q4_0, .embedding = tensor_type::q8_0, .num_layers = 2, .edit = keep_in_bf16}));
  for (const bool batch_invariant : {true, false}) {
    cuda_executor_options options = test::small_cuda_options();
    options.weights = weight_form::in_file;
    options.batch_invariant = batch_invariant;
    options.open_gemm = [](const gemm_request&) -> result<std::unique_ptr<gemm>> {
      return std::make_unique<prepared_only_gemm>();
    };
    const auto device = test::start_cuda(model, options);
    test::executor_driver driver(*device);
    const std::size_t one = driver.add(test::prompt_of(20), test::greedy());
    driver.generate(one, 3);
    EXPECT_EQ(driver.output(one).size(), 3U);
  }
}

TEST_F(quantized_weights_of_a_model, are_dequantised_before_ways_to_multiply_them_are_measured) {
  const model_ptr model = load(tensor_type::q4_0, tensor_type::q8_0);
  const cuda_stream stream;
  const device_weights weights = upload_weights(*model, stream, weight_form::in_file);
  const device_matrix& down = weights.layers[0].down;
  auto inner = std::make_unique<test::reference_gemm>();
  test::reference_gemm& sums = *inner;
  quantized_gemm products(std::move(inner), static_cast<std::size_t>(down.outputs * down.inputs), false);
  const std::int32_t most = 2 * kernels::cuda::max_quantized_rows;
  const device_array<__nv_bfloat16> input(static_cast<std::size_t>(most * down.inputs));
  const device_array<float> out(static_cast<std::size_t>(most * down.outputs));
  const std::int32_t rows[] = {1, most};
  products.prepare(stream, input.data(), down, rows, gemm_output::f32, out.data());
  EXPECT_EQ(sums.prepared, std::vector<std::int32_t>{most});

  sums.prepared.clear();
  const auto before = kernels::cuda::emulation::faults();
  kernels::cuda::emulation::faults().failing_call = 1;
  kernels::cuda::emulation::faults().error = cudaErrorMemoryAllocation;
  EXPECT_THROW(products.prepare(stream, input.data(), down, rows, gemm_output::f32, out.data()),
               out_of_device_memory);
  kernels::cuda::emulation::faults() = before;
  EXPECT_TRUE(sums.prepared.empty()) << "they are measured with a matrix that was never written";
}

// Steps of up to 16 rows: the kernel's sums do not depend on how many there are.
TEST_F(quantized_weights_of_a_model, give_the_same_tokens_alone_and_beside_others) {
  const model_ptr model = load(tensor_type::q4_k, tensor_type::q6_k, test::tiny_kind::qwen3);
  const auto device = start(model, weight_form::in_file);
  std::vector<std::vector<token_id>> alone;
  for (const std::int32_t length : {5, 9, 2}) {
    test::executor_driver driver(*device);
    const std::size_t one = driver.add(test::prompt_of(length), test::greedy());
    driver.generate(one, 8);
    alone.push_back(driver.output(one));
  }
  test::executor_driver driver(*device);
  std::vector<test::chunk> all;
  for (const std::int32_t length : {5, 9, 2})
    all.push_back({driver.add(test::prompt_of(length), test::greedy()), length});
  driver.step(all);
  for (test::chunk& each : all) each.rows = 1;
  for (int i = 0; i < 7; ++i) driver.step(all);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(driver.output(all[i].sequence), alone[i]) << i;
}

}  // namespace
}  // namespace troupe
