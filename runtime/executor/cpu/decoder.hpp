// The forward pass on the CPU as a static sequence of phases, each run by all members of the team between
// barriers: norm + QKV | rotation + KV write | attention | output + residual | norm + gate + up + SiLU | down
// + residual.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/kernel_table.hpp"
#include "runtime/executor/cpu/activation_buffer.hpp"
#include "runtime/executor/cpu/kv_pool.hpp"
#include "runtime/executor/cpu/packed_model.hpp"
#include "runtime/executor/cpu/paged_attention.hpp"
#include "runtime/executor/cpu/product_grid.hpp"
#include "runtime/executor/cpu/step_plan.hpp"
#include "runtime/executor/device_batch.hpp"
#include "runtime/executor/executor.hpp"
#include "runtime/executor/threads/thread_team.hpp"
#include "runtime/model/model.hpp"

namespace troupe {

class decoder {
 public:
  // Has no room for rows yet. `kernels` and `team` outlive it.
  decoder(model_ptr source, std::shared_ptr<const packed_model> weights, kv_pool pool,
          const kernels::kernel_table& kernels, thread_team& team, std::int32_t block_size);

  // Takes all memory that steps of so many rows and sequences need. Throws std::bad_alloc.
  void reserve(std::int32_t rows, std::int32_t sequences);
  // The bytes that reserve() takes.
  std::size_t bytes_for(std::int32_t rows) const;
  std::size_t weight_bytes() const { return weights_->memory.size(); }

  step_plans& plans() { return plans_; }

  const kv_layout& layout() const { return pool_.layout(); }
  void replace_pool(kv_pool pool) { pool_ = std::move(pool); }

  // Runs the batch's rows through all layers; hidden states stay until the next call.
  void forward(const device_batch& batch) { forward(batch, config_.num_layers); }
  // The same through the first `layers`; all layers use the same memory.
  void forward(const device_batch& batch, std::int32_t layers);

  // Hidden states without a forward pass. Throws std::invalid_argument for more rows than a step may have.
  void load_dummy_hidden_states(std::int32_t rows);

  // Before compute_logits(), once a step: by the plan for so many rows.
  void plan_logits(std::int32_t rows) { plan_ = plans_.of(rows); }
  // Inside a task of the team, by every member: logits of `count` rows of the last forward pass, named by
  // `rows`, into logits(0 .. count). Ends with a barrier. count <= head_rows.
  void compute_logits(std::int32_t member, const std::int32_t* rows, std::int32_t count);
  const float* logits(std::int32_t index) const {
    return logits_.data() + static_cast<std::size_t>(index) * logits_width_;
  }

  static constexpr std::int32_t head_rows = 32;  // rows of logits held at once

 private:
  void run_member(std::int32_t member, const device_batch& batch, std::int32_t layers);
  void embed(const device_batch& batch);
  void run_layer(std::int32_t member, const device_batch& batch, std::int32_t layer);
  void rotate_and_store(const device_batch& batch, const packed_layer& weights, std::int32_t layer);
  void place_heads(std::int32_t row, const packed_layer& weights);
  void gate_and_up(const fused_linear& linear, const kernels::activation_rows& input, std::int32_t rows);
  void multiply(const fused_linear& linear, const kernels::activation_rows& input, std::int32_t rows,
                float* out, std::size_t out_stride, bool accumulate);
  const kernels::activation_rows& prepare(std::int32_t member, const fused_linear& linear, std::int32_t rows,
                                          const float* values, std::size_t stride,
                                          const std::vector<float>* norm,
                                          const std::int32_t* indices = nullptr);
  void multiply_item(const kernels::packed_matrix& part, const product_item& item,
                     const kernels::activation_rows& input, float* out, std::size_t out_stride,
                     bool accumulate);
  // Inside a task: act(row) for each of `rows` rows, by whichever member has claimed it. Where there are many
  // for each member they are claimed some at a time: what stands side by side stays in one core's cache.
  template <class Act>
  void each_row(std::int32_t rows, const Act& act) {
    const std::int32_t step = rows >= 4 * team_.size() * kernels::row_block ? kernels::row_block : 1;
    for (std::int64_t first = team_.claim(step); first < rows; first = team_.claim(step)) {
      const std::int32_t last = std::min(static_cast<std::int32_t>(first) + step, rows);
      for (auto row = static_cast<std::int32_t>(first); row < last; ++row) act(row);
    }
  }
  // `panels`: the linear's, or its first matrix's where an item takes the same panels of each.
  product_grid grid_of(const fused_linear& linear, std::int32_t rows, std::int32_t panels) const;

  model_ptr source_;
  const model_config& config_;
  std::shared_ptr<const packed_model> weights_;
  kv_pool pool_;
  const kernels::kernel_table& kernels_;
  thread_team& team_;
  paged_attention attention_;

  step_plans plans_;
  step_plan plan_;  // of the phase that runs

  std::size_t hidden_width_;
  std::size_t qkv_width_;
  std::size_t attention_width_;
  std::size_t gate_width_;
  std::size_t logits_width_;
  std::vector<float> hidden_;           // [rows][hidden_width_]: the residual stream
  std::vector<float> qkv_;              // [rows][qkv_width_]
  std::vector<float> attended_;         // [rows][attention_width_]
  std::vector<float> gate_;             // [rows][gate_width_]: gate, then up; SiLU(gate) * up replaces gate
  std::vector<float> cosines_;          // [rows][rope_dim / 2]
  std::vector<float> sines_;            // [rows][rope_dim / 2]
  std::vector<float> logits_;           // [head_rows][logits_width_]
  activation_buffer shared_;            // [max_rows]
  std::vector<activation_buffer> own_;  // [members]: a few rows, computed by each member for itself
};

}  // namespace troupe
