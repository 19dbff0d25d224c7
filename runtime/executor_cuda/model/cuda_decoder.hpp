// The forward pass on the device: a fixed course of kernels and products, asked of one stream.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/cuda/attention/paged_attention.hpp"
#include "kernels/cuda/paged_kv.hpp"
#include "kernels/cuda/products/few_row_product.hpp"
#include "runtime/executor_cuda/device/cuda_stream.hpp"
#include "runtime/executor_cuda/device/device_memory.hpp"
#include "runtime/executor_cuda/model/device_weights.hpp"
#include "runtime/executor_cuda/products/cold_timer.hpp"
#include "runtime/executor_cuda/products/few_row_products.hpp"
#include "runtime/executor_cuda/products/gemm.hpp"
#include "runtime/executor_cuda/sampling/device_sampler.hpp"
#include "runtime/executor_cuda/step/flat_step.hpp"

namespace troupe {

class cuda_decoder {
 public:
  struct sizes {
    std::int32_t rows = 0;          // of a step
    std::int32_t logit_rows = 0;    // whose logits are computed at once
    std::int32_t partial_rows = 0;  // of attention's work space
    std::int32_t context = 1;       // tokens of the longest
    std::int32_t multiprocessors = 1;
    few_row_products few_rows = few_row_products::never;
  };
  // Takes the memory of steps within `sizes`. config, weights and products outlive it. Throws what
  // check_cuda() throws.
  cuda_decoder(const model_config& config, const device_weights& weights, gemm& products, const sizes& sizes,
               const cuda_stream& stream);

  // Chooses how products of up to so many rows are computed (gemm::prepare, and what that throws): measured
  // for each power of two; then where few rows are multiplied otherwise, unless that is `known`.
  void prepare(const cuda_stream& stream, std::int32_t rows, kernels::cuda::kv_element element,
               const std::optional<few_row_choices>& known);
  const few_row_choices& few_rows() const { return few_rows_; }

  // The step's copies of whole blocks, in order.
  void copy_blocks(const cuda_stream& stream, const flat_step_shape& shape, const flat_step& step,
                   const kernels::cuda::paged_kv& kv);
  // Runs the step's rows through the first `layers`; hidden states stay until the next call. With `captured`
  // what is launched depends on the shape's rows alone, so that a graph of it serves all such steps; then
  // there are no chunk_items.
  void forward(const cuda_stream& stream, const flat_step_shape& shape, const flat_step& step,
               const kernels::cuda::paged_kv& kv, std::int32_t layers, bool captured = false);
  // Logits of `count` rows of the last forward pass: of those that `rows` names on the device, from its
  // `first` on; without names (null) of the rows from `first` on. At most sizes::logit_rows.
  device_logits logits(const cuda_stream& stream, const std::int32_t* rows, std::int32_t first,
                       std::int32_t count);

  // Hidden states without a forward pass, for logits() of rows without names.
  void load_dummy_hidden_states(const cuda_stream& stream);

  std::size_t bytes() const;

 private:
  void embed(const cuda_stream& stream, const flat_step_shape& shape, const flat_step& step);
  // Queries, keys and values of the rows, rotated, the last two in the KV memory.
  void project_and_rotate(const cuda_stream& stream, const flat_step_shape& shape, const flat_step& step,
                          const kernels::cuda::paged_kv& kv, std::int32_t layer);
  kernels::cuda::rotate_and_store_arguments rotation_of(const flat_step_shape& shape, const flat_step& step,
                                                        const kernels::cuda::paged_kv& kv,
                                                        std::int32_t layer);
  void run_layer(const cuda_stream& stream, const flat_step_shape& shape, const flat_step& step,
                 const kernels::cuda::paged_kv& kv, std::int32_t layer, bool captured);
  void attend(const cuda_stream& stream, const flat_step_shape& shape, const flat_step& step,
              const kernels::cuda::paged_kv& kv, std::int32_t layer, bool captured);
  // What the norm is to be made of, and its weights; null: nothing is normed.
  struct normed_rows {
    const float* residual = nullptr;
    const float* weight = nullptr;
  };
  void norm(const cuda_stream& stream, float* residual, const float* weight, std::int32_t rows);
  void multiply_few(const cuda_stream& stream, const product_way& way, const void* input,
                    const normed_rows& normed, const device_matrix& weight, std::int32_t rows,
                    kernels::cuda::few_row_output kind, void* out,
                    const kernels::cuda::rotate_and_store_arguments& rotation = {});
  // The same of normed rows, in a way that is not the library's.
  void multiply_normed(const cuda_stream& stream, const product_way& way, float* residual,
                       const float* norm_weight, const device_matrix& weight, std::int32_t rows,
                       kernels::cuda::few_row_output kind, void* out,
                       const kernels::cuda::rotate_and_store_arguments& rotation = {});
  // Each reads and writes what the step has of its rows.
  void project_qkv(const cuda_stream& stream, const device_layer& layer, std::int32_t rows);
  void project_output(const cuda_stream& stream, const device_layer& layer, std::int32_t rows);
  void gate(const cuda_stream& stream, const device_layer& layer, std::int32_t rows);
  void project_down(const cuda_stream& stream, const device_layer& layer, std::int32_t rows);
  void project_logits(const cuda_stream& stream, float* hidden, std::int32_t rows);
  // What products of few rows are timed with.
  struct product_trial {
    cold_timer timer;
    kernels::cuda::paged_kv kv;           // nothing is stored there:
    device_array<std::int32_t> no_slots;  // [max_few_rows]
  };
  void choose_few_rows(const cuda_stream& stream, kernels::cuda::kv_element element,
                       const std::optional<few_row_choices>& known);
  void load_few_rows(const cuda_stream& stream, const product_trial& trial, std::int32_t most);
  void choose_layer_products(const cuda_stream& stream, const product_trial& trial, std::int32_t rows);
  void choose_head_product(const cuda_stream& stream, const product_trial& trial, std::int32_t rows);
  float time_layer_products(const cuda_stream& stream, const product_trial& trial, std::int32_t rows);

  const model_config& config_;
  const device_weights& weights_;
  gemm& products_;
  sizes sizes_;
  few_row_choices few_rows_;
  std::int32_t query_width_;  // heads * head_dim

  device_array<float> hidden_;            // [rows][hidden]: the residual stream
  device_array<std::uint16_t> normed_;    // [rows or logit_rows][hidden]
  device_array<std::uint16_t> qkv_;       // [rows][qkv outputs]
  device_array<std::uint16_t> attended_;  // [rows][heads * head_dim]
  device_array<std::uint16_t> gate_up_;   // [rows][2 * intermediate]
  device_array<std::uint16_t> gated_;     // [rows][intermediate]
  device_array<float> gathered_;          // [logit_rows][hidden]
  device_array<float> angles_;            // [rows][rope_dim / 2][2]
  device_array<float> logits_;            // [logit_rows][head outputs]
  device_array<float> partial_outputs_;   // [partial_rows][kv_heads][head_dim]
  device_array<float> partial_states_;    // [partial_rows][kv_heads][2]
  device_array<std::int32_t> arrived_;    // [partial_rows][kv_heads]
};

}  // namespace troupe
