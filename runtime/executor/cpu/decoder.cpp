#include "runtime/executor/cpu/decoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

namespace troupe {
namespace {

// Up to this many rows, each member prepares all activations for itself: cheaper than one more barrier.
constexpr std::int32_t rows_prepared_alone = 2;

// Row widths in floats: whole panels, and an odd number of cache lines, so that rows do not all fall into the
// same cache sets.
std::size_t padded(std::int32_t count) { return (((static_cast<std::size_t>(count) + 15) / 16) | 1) * 16; }

std::int32_t widest_input(const model_config& config) {
  return std::max({config.hidden_size, config.num_heads * config.head_dim, config.intermediate_size});
}

std::string shape_of(const fused_linear& linear) {
  std::string text = fmt::format(" {}:", linear.inputs);
  for (const kernels::packed_matrix& part : linear.parts)
    text += fmt::format("{}x{},", part.outputs, static_cast<std::int32_t>(part.kind));
  return text;
}

// What a plan was measured for: sizes and kinds of all matrices, heads, how K and V are kept.
std::string shape_of(const model_config& config, const packed_model& weights, const kv_layout& kv) {
  std::string text = fmt::format("heads {}/{}x{} kv {}x{} layers {}", config.num_heads, config.num_kv_heads,
                                 config.head_dim, kv.dtype, kv.block_size, config.num_layers);
  for (const packed_layer& layer : weights.layers)
    for (const fused_linear* linear : {&layer.qkv, &layer.output, &layer.gate_up, &layer.down})
      text += shape_of(*linear);
  return text + shape_of(weights.head);
}

}  // namespace

decoder::decoder(model_ptr source, std::shared_ptr<const packed_model> weights, kv_pool pool,
                 const kernels::kernel_table& kernels, thread_team& team, std::int32_t block_size)
    : source_(std::move(source)),
      config_(source_->config),
      weights_(std::move(weights)),
      pool_(std::move(pool)),
      kernels_(kernels),
      team_(team),
      attention_(kernels, config_, block_size, team.size()),
      plans_(shape_of(config_, *weights_, pool_.layout())),
      hidden_width_(padded(config_.hidden_size)),
      qkv_width_(padded(weights_->layers.front().qkv.width)),
      attention_width_(padded(config_.num_heads * config_.head_dim)),
      gate_width_(padded(weights_->layers.front().gate_up.width)),
      logits_width_(padded(config_.vocab_size)),
      shared_(0, 0) {
  logits_.resize(static_cast<std::size_t>(head_rows) * logits_width_);
  own_.reserve(static_cast<std::size_t>(team.size()));
  for (std::int32_t i = 0; i < team.size(); ++i)
    own_.emplace_back(rows_prepared_alone, widest_input(config_));
}

std::size_t decoder::bytes_for(std::int32_t rows) const {
  const auto pairs = static_cast<std::size_t>(config_.rope_dim / 2);
  const std::size_t floats = hidden_width_ + qkv_width_ + attention_width_ + gate_width_ + 2 * pairs;
  return static_cast<std::size_t>(rows) * floats * sizeof(float) +
         activation_buffer::bytes_for(std::max(rows, head_rows), widest_input(config_));
}

void decoder::reserve(std::int32_t max_rows, std::int32_t sequences) {
  const auto rows = static_cast<std::size_t>(max_rows);
  const auto pairs = static_cast<std::size_t>(config_.rope_dim / 2);
  attention_.reserve(sequences);
  activation_buffer shared(std::max(max_rows, head_rows), widest_input(config_));
  hidden_.resize(rows * hidden_width_);
  qkv_.resize(rows * qkv_width_);
  attended_.resize(rows * attention_width_);
  gate_.resize(rows * gate_width_);
  cosines_.resize(rows * pairs);
  sines_.resize(rows * pairs);
  shared_ = std::move(shared);
}

void decoder::forward(const device_batch& batch, std::int32_t layers) {
  for (const block_copy& copy : batch.copies) pool_.copy_block(copy.from, copy.to);
  plan_ = plans_.of(batch.num_rows());
  attention_.plan(batch);
  team_.run([&](std::int32_t member) { run_member(member, batch, layers); });
}

void decoder::run_member(std::int32_t member, const device_batch& batch, std::int32_t layers) {
  embed(batch);
  team_.barrier();
  for (std::int32_t layer = 0; layer < layers; ++layer) run_layer(member, batch, layer);
}

void decoder::embed(const device_batch& batch) {
  const gguf::tensor& table = *source_->embedding;
  const std::size_t row_bytes = table.data.size() / static_cast<std::size_t>(config_.vocab_size);
  const auto pairs = static_cast<std::size_t>(config_.rope_dim / 2);
  for (std::int64_t row = team_.claim(1); row < batch.num_rows(); row = team_.claim(1)) {
    const auto r = static_cast<std::size_t>(row);
    gguf::dequantize(table.type, table.data.data() + static_cast<std::size_t>(batch.tokens[r]) * row_bytes,
                     static_cast<std::size_t>(config_.hidden_size), hidden_.data() + r * hidden_width_);
    for (std::size_t i = 0; i < pairs; ++i) {
      const double angle = static_cast<double>(batch.positions[r]) * config_.rope_inverse_frequencies[i];
      cosines_[r * pairs + i] = static_cast<float>(std::cos(angle)) * config_.rope_attention_scale;
      sines_[r * pairs + i] = static_cast<float>(std::sin(angle)) * config_.rope_attention_scale;
    }
  }
}

void decoder::run_layer(std::int32_t member, const device_batch& batch, std::int32_t layer) {
  const packed_layer& weights = weights_->layers[static_cast<std::size_t>(layer)];
  const std::int32_t rows = batch.num_rows();

  const auto& normed =
      prepare(member, weights.qkv, rows, hidden_.data(), hidden_width_, &weights.attention_norm);
  multiply(weights.qkv, normed, rows, qkv_.data(), qkv_width_, false);
  team_.barrier();

  rotate_and_store(batch, weights, layer);
  team_.barrier();

  attention_.run(team_, member, batch, pool_, layer, qkv_.data(), qkv_width_, attended_.data(),
                 attention_width_);
  team_.barrier();

  const auto& attended = prepare(member, weights.output, rows, attended_.data(), attention_width_, nullptr);
  multiply(weights.output, attended, rows, hidden_.data(), hidden_width_, true);
  team_.barrier();

  const auto& ffn = prepare(member, weights.gate_up, rows, hidden_.data(), hidden_width_, &weights.ffn_norm);
  gate_and_up(weights.gate_up, ffn, rows);
  team_.barrier();

  const auto& gated = prepare(member, weights.down, rows, gate_.data(), gate_width_, nullptr);
  multiply(weights.down, gated, rows, hidden_.data(), hidden_width_, true);
  team_.barrier();
}

const kernels::activation_rows& decoder::prepare(std::int32_t member, const fused_linear& linear,
                                                 std::int32_t rows, const float* values, std::size_t stride,
                                                 const std::vector<float>* norm,
                                                 const std::int32_t* indices) {
  const auto fill = [&](activation_buffer& to, std::int32_t row) {
    const auto from = static_cast<std::size_t>(indices != nullptr ? indices[row] : row);
    to.fill(kernels_, linear, row, values + from * stride, norm != nullptr ? norm->data() : nullptr,
            config_.rms_norm_eps);
  };
  if (rows <= rows_prepared_alone) {
    activation_buffer& own = own_[static_cast<std::size_t>(member)];
    for (std::int32_t row = 0; row < rows; ++row) fill(own, row);
    return own.rows();
  }
  each_row(rows, [&](std::int32_t row) { fill(shared_, row); });
  team_.barrier();
  return shared_.rows();
}

product_grid decoder::grid_of(const fused_linear& linear, std::int32_t rows, std::int32_t panels) const {
  std::size_t bytes = 0;
  for (const kernels::packed_matrix& part : linear.parts)
    bytes += part.panel_bytes * static_cast<std::size_t>(part.panels);
  const auto inputs = static_cast<std::size_t>(linear.inputs);
  const std::size_t of_codes = inputs / kernels::group_inputs * sizeof(kernels::quantized_group);
  return product_grid(
      {.rows = rows,
       .panels = panels,
       .row_bytes = (linear.reads_codes ? of_codes : 0) + (linear.reads_values ? inputs * sizeof(float) : 0),
       .panel_bytes = bytes / static_cast<std::size_t>(panels),
       .members = team_.size(),
       .items_per_member = plan_.items_per_member});
}

void decoder::multiply_item(const kernels::packed_matrix& part, const product_item& item,
                            const kernels::activation_rows& input, float* out, std::size_t out_stride,
                            bool accumulate) {
  const auto first = static_cast<std::size_t>(item.first_row);
  kernels::activation_rows rows = input;
  rows.values += first * input.value_stride;
  rows.groups += first * input.groups_per_row;  // whole blocks
  kernels_.matmul(part, item.first_panel, item.last_panel, rows, item.last_row - item.first_row,
                  out + first * out_stride, out_stride, accumulate);
}

void decoder::multiply(const fused_linear& linear, const kernels::activation_rows& input, std::int32_t rows,
                       float* out, std::size_t out_stride, bool accumulate) {
  const product_grid grid = grid_of(linear, rows, linear.panels);
  for (std::int64_t claimed = team_.claim(1); claimed < grid.items(); claimed = team_.claim(1)) {
    const product_item item = grid.item(claimed);
    std::int32_t before = 0;
    for (std::size_t i = 0; i < linear.parts.size(); ++i) {
      const kernels::packed_matrix& part = linear.parts[i];
      product_item within = item;
      within.first_panel = std::max(item.first_panel - before, 0);
      within.last_panel = std::min(item.last_panel - before, part.panels);
      if (within.first_panel < within.last_panel)
        multiply_item(part, within, input, out + linear.columns[i], out_stride, accumulate);
      before += part.panels;
    }
  }
}

void decoder::gate_and_up(const fused_linear& linear, const kernels::activation_rows& input,
                          std::int32_t rows) {
  float* up = gate_.data() + linear.columns[1];
  const product_grid grid = grid_of(linear, rows, linear.parts[0].panels);
  for (std::int64_t claimed = team_.claim(1); claimed < grid.items(); claimed = team_.claim(1)) {
    const product_item item = grid.item(claimed);
    multiply_item(linear.parts[0], item, input, gate_.data(), gate_width_, false);
    multiply_item(linear.parts[1], item, input, up, gate_width_, false);
    const std::size_t column = static_cast<std::size_t>(item.first_panel) * kernels::panel_outputs;
    const std::int32_t count = (item.last_panel - item.first_panel) * kernels::panel_outputs;
    for (auto row = static_cast<std::size_t>(item.first_row); row < static_cast<std::size_t>(item.last_row);
         ++row) {
      float* gate = gate_.data() + row * gate_width_ + column;
      kernels_.silu_multiply(gate, up + row * gate_width_ + column, count, gate);
    }
  }
}

void decoder::rotate_and_store(const device_batch& batch, const packed_layer& weights, std::int32_t layer) {
  const std::int32_t block_size = pool_.layout().block_size;
  const auto store = kernels_.kv(pool_.dtype()).store;
  each_row(batch.num_rows(), [&](std::int32_t row) {
    place_heads(row, weights);
    const float* values = qkv_.data() + static_cast<std::size_t>(row) * qkv_width_;
    const std::int32_t slot = batch.slots[static_cast<std::size_t>(row)];
    if (slot == no_slot) {  // nor may anybody attend for it: what stands there is an older step's
      std::fill_n(attended_.begin() + static_cast<std::ptrdiff_t>(row * attention_width_), attention_width_,
                  0.0F);
      return;
    }
    for (std::int32_t head = 0; head < config_.num_kv_heads; ++head) {
      const float* key = values + weights.qkv.columns[1] + head * config_.head_dim;
      const float* value = values + weights.qkv.columns[2] + head * config_.head_dim;
      const std::int32_t offset = slot % block_size;
      store(key, value, config_.head_dim, pool_.place(slot / block_size, offset),
            pool_.tile(slot / block_size, offset, layer, head));
    }
  });
}

// Biases, per-head norms, rotation, and 1/sqrt(head_dim) into the queries.
void decoder::place_heads(std::int32_t row, const packed_layer& weights) {
  const auto pairs = static_cast<std::size_t>(config_.rope_dim / 2);
  const auto r = static_cast<std::size_t>(row);
  float* values = qkv_.data() + r * qkv_width_;
  for (std::size_t i = 0; i < weights.qkv_bias.size(); ++i) values[i] += weights.qkv_bias[i];
  const auto layout =
      config_.rope == rope_layout::halves ? kernels::rotation::halves : kernels::rotation::interleaved;
  const auto place = [&](float* head, const std::vector<float>& norm) {
    if (!norm.empty()) kernels_.rms_norm(head, norm.data(), config_.head_dim, config_.rms_norm_eps, head);
    kernels_.rotate(head, cosines_.data() + r * pairs, sines_.data() + r * pairs, config_.rope_dim / 2,
                    layout);
  };
  const float scale = 1.0F / std::sqrt(static_cast<float>(config_.head_dim));
  for (std::int32_t head = 0; head < config_.num_heads; ++head) {
    float* query = values + head * config_.head_dim;
    place(query, weights.query_norm);
    for (std::int32_t d = 0; d < config_.head_dim; ++d) query[d] *= scale;
  }
  for (std::int32_t head = 0; head < config_.num_kv_heads; ++head) {
    place(values + weights.qkv.columns[1] + head * config_.head_dim, weights.key_norm);
  }
}

void decoder::load_dummy_hidden_states(std::int32_t rows) {
  const std::size_t count = static_cast<std::size_t>(rows) * hidden_width_;
  if (rows < 0 || count > hidden_.size()) throw std::invalid_argument("warm-up: too many rows");
  for (std::size_t i = 0; i < count; ++i) hidden_[i] = static_cast<float>(i % 17) / 8.0F - 1.0F;
}

void decoder::compute_logits(std::int32_t member, const std::int32_t* rows, std::int32_t count) {
  const auto& normed =
      prepare(member, weights_->head, count, hidden_.data(), hidden_width_, &weights_->output_norm, rows);
  multiply(weights_->head, normed, count, logits_.data(), logits_width_, false);
  team_.barrier();
}

}  // namespace troupe
