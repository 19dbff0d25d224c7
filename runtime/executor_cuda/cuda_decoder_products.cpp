// The decoder's products, each with the norm before it and what comes of gates and ups: by one kernel where
// rows are few and that was found to be faster.
#include <algorithm>
#include <functional>

#include "kernels/cuda/few_row_product.hpp"
#include "kernels/cuda/residual_norm.hpp"
#include "kernels/cuda/rotate_and_store.hpp"
#include "kernels/cuda/silu_multiply.hpp"
#include "runtime/executor_cuda/cold_timer.hpp"
#include "runtime/executor_cuda/cuda_decoder.hpp"

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
void cuda_decoder::multiply_few(const cuda_stream& stream, const void* input, const normed_rows& normed,
                                const device_matrix& weight, std::int32_t rows, few_row_output kind,
                                void* out, const kernels::cuda::rotate_and_store_arguments& rotation) {
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
                                    .type = weights_.type,
                                    .rotation = rotation},
                                   stream.get());
}

void cuda_decoder::project_qkv(const cuda_stream& stream, const device_layer& layer, std::int32_t rows) {
  if (rows <= few_rows_.qkv)
    return multiply_few(stream, nullptr, {hidden_.data(), layer.attention_norm}, layer.qkv, rows,
                        few_row_output::rounded, qkv_.data());
  norm(stream, hidden_.data(), layer.attention_norm, rows);
  products_.multiply(stream, normed_.data(), layer.qkv, rows, gemm_output::rounded, qkv_.data());
}

void cuda_decoder::project_and_rotate(const cuda_stream& stream, const flat_step_shape& shape,
                                      const flat_step& step, const kernels::cuda::paged_kv& kv,
                                      std::int32_t layer) {
  const device_layer& weights = weights_.layers[static_cast<std::size_t>(layer)];
  const auto rotation = rotation_of(shape, step, kv, layer);
  if (shape.rows <= few_rows_.qkv && kernels::cuda::can_rotate_few_rows(rotation))
    return multiply_few(stream, nullptr, {hidden_.data(), weights.attention_norm}, weights.qkv, shape.rows,
                        few_row_output::rotated, qkv_.data(), rotation);
  project_qkv(stream, weights, shape.rows);
  kernels::cuda::rotate_and_store(rotation, stream.get());
}

void cuda_decoder::project_output(const cuda_stream& stream, const device_layer& layer, std::int32_t rows) {
  if (rows <= few_rows_.output)
    return multiply_few(stream, attended_.data(), {}, layer.output, rows, few_row_output::add_to_f32,
                        hidden_.data());
  products_.multiply(stream, attended_.data(), layer.output, rows, gemm_output::add_to_f32, hidden_.data());
}

void cuda_decoder::gate(const cuda_stream& stream, const device_layer& layer, std::int32_t rows) {
  if (rows <= few_rows_.gate_up)
    return multiply_few(stream, nullptr, {hidden_.data(), layer.ffn_norm}, layer.gate_up, rows,
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
  if (rows <= few_rows_.down)
    return multiply_few(stream, gated_.data(), {}, layer.down, rows, few_row_output::add_to_f32,
                        hidden_.data());
  products_.multiply(stream, gated_.data(), layer.down, rows, gemm_output::add_to_f32, hidden_.data());
}

void cuda_decoder::project_logits(const cuda_stream& stream, float* hidden, std::int32_t rows) {
  if (rows <= few_rows_.head)
    return multiply_few(stream, nullptr, {hidden, weights_.output_norm}, weights_.head, rows,
                        few_row_output::f32, logits_.data());
  norm(stream, hidden, weights_.output_norm, rows);
  products_.multiply(stream, normed_.data(), weights_.head, rows, gemm_output::f32, logits_.data());
}

// Each product of the first layer stands for those of all.
void cuda_decoder::choose_few_rows(const cuda_stream& stream) {
  few_rows_ = {};
  if (sizes_.few_rows == few_row_products::never) return;
  const bool is_measured = sizes_.few_rows == few_row_products::measured;
  constexpr std::size_t rounds = 7;
  const cold_timer timer(stream, rounds);
  const device_layer& layer = weights_.layers.front();
  const auto is_possible = [](const device_matrix& weight, bool is_normed, std::int32_t rows) {
    return weight.data != nullptr && weight.type != matrix_type::e4m3 && weight.inputs % 8 == 0 &&
           (!is_normed || kernels::cuda::can_norm_few_rows(rows, weight.inputs));
  };
  // Up to `most` rows, for which there is room where the product goes.
  const auto choose = [&](std::int32_t& limit, const device_matrix& weight, bool is_normed, std::int32_t most,
                          const std::function<void(std::int32_t rows)>& work) {
    for (std::int32_t rows = 1; rows <= std::min(most, kernels::cuda::max_few_rows); rows *= 2) {
      if (!is_possible(weight, is_normed, rows)) return;
      const std::int32_t before = limit;
      const auto apart = is_measured ? timer.time([&] { work(rows); }) : 0.0F;
      limit = rows;
      if (!is_measured || timer.time([&] { work(rows); }) < apart) continue;
      limit = before;
      return;
    }
  };
  choose(few_rows_.qkv, layer.qkv, true, sizes_.rows,
         [&](std::int32_t rows) { project_qkv(stream, layer, rows); });
  choose(few_rows_.output, layer.output, false, sizes_.rows,
         [&](std::int32_t rows) { project_output(stream, layer, rows); });
  choose(few_rows_.gate_up, layer.gate_up, true, sizes_.rows,
         [&](std::int32_t rows) { gate(stream, layer, rows); });
  choose(few_rows_.down, layer.down, false, sizes_.rows,
         [&](std::int32_t rows) { project_down(stream, layer, rows); });
  choose(few_rows_.head, weights_.head, true, sizes_.logit_rows,
         [&](std::int32_t rows) { project_logits(stream, hidden_.data(), rows); });
}

}  // namespace troupe
