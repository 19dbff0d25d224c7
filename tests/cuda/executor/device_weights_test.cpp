#include "runtime/executor_cuda/model/device_weights.hpp"

#include <cuda_fp8.h>

#include <bit>
#include <cmath>

#include "runtime/executor_cuda/model/weight_uploader.hpp"
#include "tests/cuda/cuda_fixture.hpp"
#include "tests/support/gguf_writer.hpp"
#include "tests/support/tiny_model.hpp"

namespace troupe {
namespace {

using kernels::cuda::element_type;

class device_weights_of : public test::cuda_kernels {
 protected:
  static model_ptr load(const test::tiny_model_options& options) {
    const test::temporary_file file(test::tiny_model(options));
    auto model = load_model(file.path());
    EXPECT_TRUE(model.has_value()) << model.error().message;
    return *model;
  }

  template <class T>
  static std::vector<float> read(const T* from, std::size_t count) {
    std::vector<T> values(count);
    EXPECT_EQ(cudaMemcpy(values.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
    return test::floats(values);
  }

  static std::vector<float> dequantized(const gguf::tensor& tensor) {
    std::vector<float> values(tensor.elements());
    gguf::dequantize(tensor.type, tensor.data.data(), values.size(), values.data());
    return values;
  }

  // By NVIDIA's own rounding.
  static std::vector<float> in_bf16(const std::vector<float>& values) {
    return test::floats(test::rounded<__nv_bfloat16>(values));
  }

  static void expect_matrix(const device_matrix& there, std::initializer_list<const gguf::tensor*> parts) {
    std::vector<float> expected;
    for (const gguf::tensor* part : parts) {
      const std::vector<float> values = in_bf16(dequantized(*part));
      expected.insert(expected.end(), values.begin(), values.end());
    }
    const auto count = static_cast<std::size_t>(there.outputs) * static_cast<std::size_t>(there.inputs);
    ASSERT_GE(count, expected.size());
    expected.resize(count, 0.0F);
    EXPECT_EQ(read(static_cast<const __nv_bfloat16*>(there.data), count), expected);
  }
};

TEST_F(device_weights_of, every_kind_of_model_arrives_rounded_and_fused) {
  for (const test::tiny_kind kind : test::all_tiny_kinds) {
    const model_ptr model = load({.kind = kind, .weights = gguf::tensor_type::q8_0});
    const cuda_stream stream;
    const device_weights there = upload_weights(*model, stream);
    ASSERT_EQ(there.layers.size(), model->layers.size());
    expect_matrix(there.embedding, {model->embedding});
    expect_matrix(there.head, {model->head});
    EXPECT_EQ(there.head.outputs % device_weights::head_multiple, 0);
    EXPECT_EQ(there.head.data == there.embedding.data, model->head == model->embedding);
    for (std::size_t i = 0; i < there.layers.size(); ++i) {
      const device_layer& layer = there.layers[i];
      const layer_weights& file = model->layers[i];
      expect_matrix(layer.qkv, {file.query, file.key, file.value});
      expect_matrix(layer.output, {file.output});
      expect_matrix(layer.gate_up, {file.gate, file.up});
      expect_matrix(layer.down, {file.down});
      EXPECT_EQ(read(layer.attention_norm, file.attention_norm->elements()),
                dequantized(*file.attention_norm));
      EXPECT_EQ(layer.query_norm != nullptr, file.query_norm != nullptr);
      ASSERT_EQ(layer.qkv_bias != nullptr, file.query_bias != nullptr);
      if (layer.qkv_bias == nullptr) continue;
      std::vector<float> biases;
      for (const gguf::tensor* each : {file.query_bias, file.key_bias, file.value_bias})
        for (const float value : dequantized(*each)) biases.push_back(value);
      EXPECT_EQ(read(layer.qkv_bias, biases.size()), biases);
    }
  }
}

TEST_F(device_weights_of, a_tensor_of_many_pieces_arrives_whole) {
  const model_ptr model = load({.weights = gguf::tensor_type::f16});
  const gguf::tensor& tensor = *model->layers[0].gate;
  const cuda_stream stream;
  const device_array<__nv_bfloat16> there(tensor.elements());
  const device_array<float> floats(tensor.elements());
  {
    weight_uploader uploader(stream, 256);
    ASSERT_GT(tensor.elements(), 256U * 5);
    uploader.upload_rounded(tensor, element_type::bf16, reinterpret_cast<std::uint16_t*>(there.data()));
    uploader.upload_f32(tensor, floats.data());
  }
  EXPECT_EQ(read(there.data(), there.size()), in_bf16(dequantized(tensor)));
  EXPECT_EQ(read(floats.data(), floats.size()), dequantized(tensor));
}

TEST_F(device_weights_of, bf16_weights_keep_their_bits_and_nan_stays_nan) {
  const std::vector<float> values{std::nanf(""), -0.0F, 1.00390625F, 3.4e38F, INFINITY, 1e-40F};
  std::string bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  gguf::tensor tensor;
  tensor.type = gguf::tensor_type::f32;
  tensor.shape[0] = values.size();
  tensor.data = std::as_bytes(std::span(bytes));
  const cuda_stream stream;
  const device_array<__nv_bfloat16> there(values.size());
  {
    weight_uploader(stream, 256)
        .upload_rounded(tensor, element_type::bf16, reinterpret_cast<std::uint16_t*>(there.data()));
  }
  const std::vector<float> rounded = read(there.data(), values.size());
  const std::vector<float> expected = in_bf16(values);
  EXPECT_TRUE(std::isnan(rounded[0]));
  for (std::size_t i = 1; i < values.size(); ++i)
    EXPECT_EQ(std::bit_cast<std::uint32_t>(rounded[i]), std::bit_cast<std::uint32_t>(expected[i])) << i;
}

TEST_F(device_weights_of, fp16_weights_are_rounded_to_it) {
  const model_ptr model = load({.weights = gguf::tensor_type::q8_0});
  const cuda_stream stream;
  const device_weights there = upload_weights(*model, stream, weight_form::plain, element_type::f16);
  const device_matrix& down = there.layers[0].down;
  ASSERT_EQ(down.type, matrix_type::f16);
  EXPECT_EQ(read(static_cast<const __half*>(down.data), model->layers[0].down->elements()),
            test::floats(test::rounded<__half>(dequantized(*model->layers[0].down))));
}

// Of a scale for each output no value is further from its code than a sixteenth, or than the codes' least
// step.
TEST_F(device_weights_of, fp8_weights_are_near_in_every_part_whatever_the_pieces) {
  const model_ptr model = load({.weights = gguf::tensor_type::bf16});
  const cuda_stream stream;
  const device_weights there = upload_weights(*model, stream, weight_form::fp8);
  EXPECT_TRUE(there.has_fp8);
  EXPECT_EQ(there.head.type, matrix_type::bf16);
  const device_matrix& qkv = there.layers[0].qkv;
  ASSERT_EQ(qkv.type, matrix_type::e4m3);
  const auto inputs = static_cast<std::size_t>(qkv.inputs);
  const auto outputs = static_cast<std::size_t>(qkv.outputs);
  const auto codes = read(static_cast<const __nv_fp8_e4m3*>(qkv.data), outputs * inputs);
  const auto scales = read(qkv.scales, outputs);
  std::vector<float> expected;
  for (const gguf::tensor* part : {model->layers[0].query, model->layers[0].key, model->layers[0].value})
    for (const float value : dequantized(*part)) expected.push_back(value);
  ASSERT_EQ(expected.size(), codes.size());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const float scale = scales[i / inputs];
    EXPECT_NEAR(codes[i] * scale, expected[i], std::abs(expected[i]) / 16 + scale * 0x1p-10F) << i;
  }
  const gguf::tensor& tensor = *model->layers[0].gate;
  const device_array<std::byte> by_pieces(tensor.elements()), whole(tensor.elements());
  const device_array<float> of_pieces(tensor.shape[1]), of_whole(tensor.shape[1]);
  {
    weight_uploader few(stream, 3 * tensor.shape[0] + 32), many(stream);
    few.upload_fp8(tensor, element_type::bf16, by_pieces.data(), of_pieces.data());
    many.upload_fp8(tensor, element_type::bf16, whole.data(), of_whole.data());
  }
  const auto as_codes = [&](const device_array<std::byte>& of) {
    return read(reinterpret_cast<const __nv_fp8_e4m3*>(of.data()), of.size());
  };
  EXPECT_EQ(as_codes(by_pieces), as_codes(whole));
  EXPECT_EQ(read(of_pieces.data(), of_pieces.size()), read(of_whole.data(), of_whole.size()));
}

}  // namespace
}  // namespace troupe
