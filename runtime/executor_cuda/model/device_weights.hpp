// A model's weights on the device: matrices in bf16, fp16 or e4m3, or as the file has quantised them, norms
// and biases in fp32, what is multiplied together side by side.
#pragma once
#include <cstddef>
#include <vector>

#include "kernels/cuda/element_type.hpp"
#include "runtime/executor/weight_form.hpp"
#include "runtime/executor_cuda/device/cuda_stream.hpp"
#include "runtime/executor_cuda/device/device_memory.hpp"
#include "runtime/executor_cuda/products/gemm.hpp"
#include "runtime/model/model.hpp"

namespace troupe {

// Null where the model has none.
struct device_layer {
  const float* attention_norm = nullptr;  // (hidden)
  device_matrix qkv;                      // (heads * head_dim + 2 * kv_heads * head_dim x hidden)
  const float* qkv_bias = nullptr;        // (qkv.outputs)
  const float* query_norm = nullptr;      // (head_dim)
  const float* key_norm = nullptr;        // (head_dim)
  device_matrix output;                   // (hidden x heads * head_dim)
  const float* ffn_norm = nullptr;        // (hidden)
  device_matrix gate_up;                  // (2 * intermediate x hidden): all of gate, then all of up
  device_matrix down;                     // (hidden x intermediate)
};

struct device_weights {
  // The head's outputs are rounded up to this, so that rows of logits begin at multiples of 16 bytes.
  static constexpr std::int32_t head_multiple = 8;

  device_memory memory;
  kernels::cuda::element_type type = kernels::cuda::element_type::bf16;  // of the activations too
  device_matrix embedding;                                               // (vocab x hidden)
  std::vector<device_layer> layers;
  const float* output_norm = nullptr;  // (hidden)
  device_matrix head;                  // (vocab, rounded up, x hidden); the embedding where tied and plain
  std::size_t largest_quantized = 0;   // elements of a matrix, padding included; 0: none is
  bool has_fp8 = false;                // whether a matrix is e4m3
  const float* rope_frequencies = nullptr;  // (rope_dim / 2): model_config::rope_inverse_frequencies
};

// Whether the head is multiplied with as the embedding's rows lie.
bool head_is_embedding(const model& source, weight_form form);

// Bytes that upload_weights() takes on the device.
std::size_t device_weight_bytes(const model& source, weight_form form = weight_form::plain);

// Dequantises the file's weights, rounds the matrices to `type` (nearest, ties to even), from there to e4m3
// (kernels/cuda/products/fp8_rows.hpp), or packs their codes (kernels/tiled_weights.hpp), and copies them, in
// pieces: the host never holds more than a few of them. Returns when all is there. Throws
// out_of_device_memory and what check_cuda() throws besides.
device_weights upload_weights(const model& source, const cuda_stream& stream,
                              weight_form form = weight_form::plain,
                              kernels::cuda::element_type type = kernels::cuda::element_type::bf16);

}  // namespace troupe
