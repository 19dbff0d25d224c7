// How the decoder's products of few rows are computed: chosen by measuring at the start.
#include <algorithm>
#include <vector>

#include "runtime/executor_cuda/cold_timer.hpp"
#include "runtime/executor_cuda/cuda_decoder.hpp"
#include "runtime/executor_cuda/cuda_graph.hpp"

namespace troupe {
namespace {

// Of a product that there are such ways of; where it can be computed here at all, the last is the library's.
struct open_choice {
  few_row_ways* of;
  std::vector<product_way> ways;
};

open_choice choice_of(few_row_ways& of, const device_matrix& weight, std::int32_t rows, bool is_normed) {
  open_choice choice{&of, {}};
  if (weight.data == nullptr || weight.type == matrix_type::e4m3) return choice;
  for (const bool norms : {is_normed, false}) {
    for (const kernels::cuda::few_row_variant variant : kernels::cuda::few_row_variants) {
      const product_way way{.is_own = true, .norms = norms, .variant = variant};
      if (kernels::cuda::can_multiply_few_rows(variant, rows, weight.inputs, norms) &&
          std::ranges::find(choice.ways, way) == choice.ways.end())
        choice.ways.push_back(way);
    }
  }
  if (!choice.ways.empty()) choice.ways.push_back({});
  return choice;
}

}  // namespace

// Several layers' products behind one another, as a graph: how long one takes depends on whether those before
// and behind it begin early. What is rotated is stored nowhere.
float cuda_decoder::time_layer_products(const cuda_stream& stream, const cold_timer& timer, std::int32_t rows,
                                        kernels::cuda::kv_element element) {
  constexpr std::int32_t most_layers = 4;
  const std::int32_t layers = std::min(most_layers, config_.num_layers);
  const device_array<std::int32_t> slots(static_cast<std::size_t>(rows));
  stream.fill(slots.data(), 0xFF, slots.bytes());
  flat_step_shape shape;
  shape.rows = rows;
  flat_step step;
  step.slots = slots.data();
  const kernels::cuda::paged_kv kv{.element = element,
                                   .num_layers = config_.num_layers,
                                   .num_kv_heads = config_.num_kv_heads,
                                   .head_dim = config_.head_dim};
  const cuda_graph graph = cuda_graph::capture(stream, [&] {
    for (std::int32_t i = 0; i < layers; ++i) {
      const device_layer& layer = weights_.layers[static_cast<std::size_t>(i)];
      project_and_rotate(stream, shape, step, kv, i);
      project_output(stream, layer, rows);
      gate(stream, layer, rows);
      project_down(stream, layer, rows);
    }
  });
  return timer.time([&] { graph.launch(stream); });
}

// One product after the other, and once more the library's for all: where a way makes the whole faster.
void cuda_decoder::choose_layer_products(const cuda_stream& stream, const cold_timer& timer,
                                         std::int32_t rows, kernels::cuda::kv_element element) {
  constexpr float gain = 0.99F;  // less may be chance
  const device_layer& layer = weights_.layers.front();
  std::vector<open_choice> open{choice_of(few_rows_.qkv, layer.qkv, rows, true),
                                choice_of(few_rows_.output, layer.output, rows, false),
                                choice_of(few_rows_.gate_up, layer.gate_up, rows, true),
                                choice_of(few_rows_.down, layer.down, rows, false)};
  std::erase_if(open, [](const open_choice& each) { return each.ways.empty(); });
  if (open.empty()) return;
  const bool is_measured = sizes_.few_rows != few_row_products::always;
  const auto time = [&] { return time_layer_products(stream, timer, rows, element); };
  const float without = is_measured ? time() : 0.0F;
  for (const open_choice& each : open) each.of->set(rows, each.ways.front());
  if (!is_measured) return;
  float best = time();
  for (const open_choice& each : open) {
    for (const product_way& way : each.ways) {
      const product_way before = each.of->of(rows);
      if (way == before) continue;
      each.of->set(rows, way);
      const float took = time();
      if (took < gain * best) {
        best = took;
      } else {
        each.of->set(rows, before);
      }
    }
  }
  if (without <= best)
    for (const open_choice& each : open) each.of->set(rows, {});
}

// Large enough to be timed by itself.
void cuda_decoder::choose_head_product(const cuda_stream& stream, const cold_timer& timer,
                                       std::int32_t rows) {
  const open_choice open = choice_of(few_rows_.head, weights_.head, rows, true);
  if (open.ways.empty()) return;
  few_rows_.head.set(rows, open.ways.front());
  if (sizes_.few_rows == few_row_products::always) return;
  float best = 0;
  product_way fastest;
  for (const product_way& way : open.ways) {
    few_rows_.head.set(rows, way);
    const float took = timer.time([&] { project_logits(stream, hidden_.data(), rows); });
    if (best > 0 && took >= best) continue;
    best = took;
    fastest = way;
  }
  few_rows_.head.set(rows, fastest);
}

void cuda_decoder::choose_few_rows(const cuda_stream& stream, kernels::cuda::kv_element element) {
  few_rows_ = {};
  if (sizes_.few_rows == few_row_products::never) return;
  const std::size_t rounds = sizes_.few_rows == few_row_products::measured_once ? 1 : 7;
  const cold_timer timer(stream, rounds);
  for (std::int32_t rows = 1; rows <= kernels::cuda::max_few_rows; rows *= 2) {
    if (rows <= sizes_.rows) choose_layer_products(stream, timer, rows, element);
    if (rows <= sizes_.logit_rows) choose_head_product(stream, timer, rows);
  }
}

}  // namespace troupe
