// The decoder's products, each with the norm before it and what comes of gates and ups: by one kernel where
// rows are few and that was found to be faster.
#include "kernels/cuda/elementwise/residual_norm.hpp"
#include "kernels/cuda/elementwise/rotate_and_store.hpp"
#include "kernels/cuda/elementwise/silu_multiply.hpp"
#include "kernels/cuda/products/few_row_product.hpp"
#include "runtime/executor_cuda/model/cuda_decoder.hpp"

namespace troupe {

using kernels::cuda::few_row_output;

void cuda_decoder::norm(const cuda_stream& stream, float* residual, const float* weight, std::int32_t rows) {
  kernels::cuda::residual_rms_norm({.residual = residual,
                                    .addition = nullptr,
                                    .weight = weight,
                                    .output = normed_.data(),
                                    .rows = rows,
                                    .width = config_.hidden_size,
                                    .epsilon = config_.rms_norm_eps,
                                    .type = weights_.type},
                                   stream.get());
}

// Of `input`, or of what the norm makes of `residual`.
void cuda_decoder::multiply_few(const cuda_stream& stream, const product_way& way, const void* input,
                                const normed_rows& normed, const device_matrix& weight, std::int32_t rows,
                                few_row_output kind, void* out,
                                const kernels::cuda::rotate_and_store_arguments& rotation) {
  kernels::cuda::multiply_few_rows({.weights = weight.data,
                                    .input = input,
                                    .residual = normed.residual,
                                    .norm_weight = normed.weight,
                                    .epsilon = config_.rms_norm_eps,
                                    .output = out,
                                    .rows = rows,
                                    .outputs = weight.outputs,
                                    .inputs = weight.inputs,
                                    .multiprocessors = sizes_.multiprocessors,
                                    .kind = kind,
                                    .variant = way.variant,
                                    .type = weights_.type,
                                    .rotation = rotation},
                                   stream.get());
}

void cuda_decoder::multiply_normed(const cuda_stream& stream, const product_way& way, float* residual,
                                   const float* norm_weight, const device_matrix& weight, std::int32_t rows,
                                   few_row_output kind, void* out,
                                   const kernels::cuda::rotate_and_store_arguments& rotation) {
  if (way.norms)
    return multiply_few(stream, way, nullptr, {residual, norm_weight}, weight, rows, kind, out, rotation);
  norm(stream, residual, norm_weight, rows);
  multiply_few(stream, way, normed_.data(), {}, weight, rows, kind, out, rotation);
}

void cuda_decoder::project_qkv(const cuda_stream& stream, const device_layer& layer, std::int32_t rows) {
  if (const product_way way = few_rows_.qkv.of(rows); way.is_own)
    return multiply_normed(stream, way, hidden_.data(), layer.attention_norm, layer.qkv, rows,
                           few_row_output::rounded, qkv_.data());
  norm(stream, hidden_.data(), layer.attention_norm, rows);
  products_.multiply(stream, normed_.data(), layer.qkv, rows, gemm_output::rounded, qkv_.data());
}

void cuda_decoder::project_and_rotate(const cuda_stream& stream, const flat_step_shape& shape,
                                      const flat_step& step, const kernels::cuda::paged_kv& kv,
                                      std::int32_t layer) {
  const device_layer& weights = weights_.layers[static_cast<std::size_t>(layer)];
  const auto rotation = rotation_of(shape, step, kv, layer);
  const product_way way = few_rows_.qkv.of(shape.rows);
  if (way.is_own && kernels::cuda::can_rotate_few_rows(rotation))
    return multiply_normed(stream, way, hidden_.data(), weights.attention_norm, weights.qkv, shape.rows,
                           few_row_output::rotated, qkv_.data(), rotation);
  project_qkv(stream, weights, shape.rows);
  kernels::cuda::rotate_and_store(rotation, stream.get());
}

void cuda_decoder::project_output(const cuda_stream& stream, const device_layer& layer, std::int32_t rows) {
  if (const product_way way = few_rows_.output.of(rows); way.is_own)
    return multiply_few(stream, way, attended_.data(), {}, layer.output, rows, few_row_output::add_to_f32,
                        hidden_.data());
  products_.multiply(stream, attended_.data(), layer.output, rows, gemm_output::add_to_f32, hidden_.data());
}

void cuda_decoder::gate(const cuda_stream& stream, const device_layer& layer, std::int32_t rows) {
  if (const product_way way = few_rows_.gate_up.of(rows); way.is_own)
    return multiply_normed(stream, way, hidden_.data(), layer.ffn_norm, layer.gate_up, rows,
                           few_row_output::gated, gated_.data());
  norm(stream, hidden_.data(), layer.ffn_norm, rows);
  products_.multiply(stream, normed_.data(), layer.gate_up, rows, gemm_output::rounded, gate_up_.data());
  kernels::cuda::silu_multiply({.gate_up = gate_up_.data(),
                                .output = gated_.data(),
                                .rows = rows,
                                .width = config_.intermediate_size,
                                .type = weights_.type},
                               stream.get());
}

void cuda_decoder::project_down(const cuda_stream& stream, const device_layer& layer, std::int32_t rows) {
  if (const product_way way = few_rows_.down.of(rows); way.is_own)
    return multiply_few(stream, way, gated_.data(), {}, layer.down, rows, few_row_output::add_to_f32,
                        hidden_.data());
  products_.multiply(stream, gated_.data(), layer.down, rows, gemm_output::add_to_f32, hidden_.data());
}

void cuda_decoder::project_logits(const cuda_stream& stream, float* hidden, std::int32_t rows) {
  if (const product_way way = few_rows_.head.of(rows); way.is_own)
    return multiply_normed(stream, way, hidden, weights_.output_norm, weights_.head, rows,
                           few_row_output::f32, logits_.data());
  norm(stream, hidden, weights_.output_norm, rows);
  products_.multiply(stream, normed_.data(), weights_.head, rows, gemm_output::f32, logits_.data());
}

}  // namespace troupe
