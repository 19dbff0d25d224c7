// All that steps within some limits need on the device and beside it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/executor/executor.hpp"
#include "runtime/executor_cuda/device/cuda_device.hpp"
#include "runtime/executor_cuda/model/cuda_decoder.hpp"
#include "runtime/executor_cuda/sampling/device_sampler.hpp"
#include "runtime/executor_cuda/step/decode_graphs.hpp"
#include "runtime/executor_cuda/step/flat_step.hpp"
#include "runtime/executor_cuda/step/step_stage.hpp"

namespace troupe {

struct step_room {
  // config, weights and products outlive it. Throws what check_cuda() throws.
  step_room(const model_config& config, const device_weights& weights, gemm& products,
            const executor_limits& limits, std::span<const std::int32_t> graph_rows,
            const std::vector<token_id>& end_tokens, const cuda_device& device, const cuda_stream& stream,
            few_row_products few_rows);

  // The rows of the largest step or graph.
  static std::int32_t most_rows(const executor_limits& limits, std::span<const std::int32_t> graph_rows);
  std::size_t bytes() const;  // on the device

  std::int32_t rows;
  step_flattener flattener;
  step_stage stage;
  cuda_decoder decoder;
  device_sampler sampler;
  decode_graphs graphs;

 private:
  struct sizes;
  step_room(const model_config& config, const device_weights& weights, gemm& products,
            const executor_limits& limits, const std::vector<token_id>& end_tokens, const cuda_device& device,
            const cuda_stream& stream, few_row_products few_rows, const sizes& sizes);
};

}  // namespace troupe
