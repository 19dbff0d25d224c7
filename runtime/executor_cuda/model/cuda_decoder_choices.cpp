// How the decoder's products of few rows are computed: chosen by measuring at the start.
#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/executor_cuda/device/cuda_graph.hpp"
#include "runtime/executor_cuda/model/cuda_decoder.hpp"
#include "runtime/executor_cuda/products/choose_ways.hpp"
#include "runtime/executor_cuda/products/cold_timer.hpp"

namespace troupe {
namespace {

bool is_plain(const device_matrix& weight) {
  return weight.data != nullptr && weight.type != matrix_type::e4m3;
}

// All ways of products with matrices of this size; none where no own kernel can.
product_candidates candidates_of(few_row_ways& product, const device_matrix& weight, std::int32_t rows,
                                 bool is_normed) {
  product_candidates found{&product, {}};
  for (const bool norms : {true, false}) {
    if (norms && !is_normed) continue;
    for (const kernels::cuda::few_row_variant variant : kernels::cuda::few_row_variants) {
      if (kernels::cuda::can_multiply_few_rows(variant, rows, weight.inputs, norms))
        found.ways.push_back({.is_own = true, .norms = norms, .variant = variant});
    }
  }
  if (!found.ways.empty()) found.ways.push_back({});
  return found;
}

}  // namespace

// Several layers' products behind one another, as a graph: how long one takes depends on whether those before
// and behind it begin early. What is rotated is stored nowhere.
float cuda_decoder::time_layer_products(const cuda_stream& stream, const product_trial& trial,
                                        std::int32_t rows) {
  constexpr std::int32_t most_layers = 4;
  const std::int32_t layers = std::min(most_layers, config_.num_layers);
  flat_step_shape shape;
  shape.rows = rows;
  flat_step step;
  step.slots = trial.no_slots.data();
  const cuda_graph graph = cuda_graph::capture(stream, [&] {
    for (std::int32_t i = 0; i < layers; ++i) {
      const device_layer& layer = weights_.layers[static_cast<std::size_t>(i)];
      project_and_rotate(stream, shape, step, trial.kv, i);
      project_output(stream, layer, rows);
      gate(stream, layer, rows);
      project_down(stream, layer, rows);
    }
  });
  return trial.timer.time([&] { graph.launch(stream); });
}

void cuda_decoder::choose_layer_products(const cuda_stream& stream, const product_trial& trial,
                                         std::int32_t rows) {
  std::vector<product_candidates> products;
  // The first layer stands for all, where all have such weights: a file may have quantised some.
  const auto add = [&](few_row_ways& product, device_matrix device_layer::*weight, bool is_normed) {
    if (!std::ranges::all_of(weights_.layers,
                             [&](const device_layer& each) { return is_plain(each.*weight); }))
      return;
    auto candidates = candidates_of(product, weights_.layers.front().*weight, rows, is_normed);
    if (!candidates.ways.empty()) products.push_back(std::move(candidates));
  };
  add(few_rows_.qkv, &device_layer::qkv, true);
  add(few_rows_.output, &device_layer::output, false);
  add(few_rows_.gate_up, &device_layer::gate_up, true);
  add(few_rows_.down, &device_layer::down, false);
  if (products.empty()) return;
  if (sizes_.few_rows != few_row_products::always)
    return choose_ways(products, rows, [&] { return time_layer_products(stream, trial, rows); });
  for (const product_candidates& each : products) each.product->set(rows, each.ways.front());
}

// Large enough to be timed by itself.
void cuda_decoder::choose_head_product(const cuda_stream& stream, const product_trial& trial,
                                       std::int32_t rows) {
  if (!is_plain(weights_.head)) return;
  const product_candidates head = candidates_of(few_rows_.head, weights_.head, rows, true);
  if (head.ways.empty()) return;
  if (sizes_.few_rows == few_row_products::always) return head.product->set(rows, head.ways.front());
  choose_ways({&head, 1}, rows,
              [&] { return trial.timer.time([&] { project_logits(stream, hidden_.data(), rows); }); });
}

// What is known is run as well: a kernel is loaded when it is first launched, and takes memory then.
void cuda_decoder::load_few_rows(const cuda_stream& stream, const product_trial& trial, std::int32_t most) {
  const std::int32_t rows = std::min(most, sizes_.rows);
  const auto is_own = [rows](const few_row_ways& product) { return product.of(rows).is_own; };
  if (2 * sizes_.rows > most && (is_own(few_rows_.qkv) || is_own(few_rows_.output) ||
                                 is_own(few_rows_.gate_up) || is_own(few_rows_.down)))
    time_layer_products(stream, trial, rows);
  const std::int32_t logit_rows = std::min(most, sizes_.logit_rows);
  if (2 * sizes_.logit_rows > most && few_rows_.head.of(logit_rows).is_own)
    project_logits(stream, hidden_.data(), logit_rows);
}

void cuda_decoder::choose_few_rows(const cuda_stream& stream, kernels::cuda::kv_element element,
                                   const std::optional<few_row_choices>& known) {
  few_rows_ = known.value_or(few_row_choices{});
  if (!known && sizes_.few_rows == few_row_products::never) return;
  const std::size_t rounds = known || sizes_.few_rows == few_row_products::measured_once ? 1 : 7;
  const product_trial trial{.timer = cold_timer(stream, rounds),
                            .kv = {.element = element,
                                   .num_layers = config_.num_layers,
                                   .num_kv_heads = config_.num_kv_heads,
                                   .head_dim = config_.head_dim},
                            .no_slots = device_array<std::int32_t>(kernels::cuda::max_few_rows)};
  stream.fill(trial.no_slots.data(), 0xFF, trial.no_slots.bytes());  // no_slot each
  // The last range as far as there are rows.
  for (std::int32_t most = 1; most <= kernels::cuda::max_few_rows; most *= 2) {
    if (known) {
      load_few_rows(stream, trial, most);
      continue;
    }
    if (2 * sizes_.rows > most) choose_layer_products(stream, trial, std::min(most, sizes_.rows));
    if (2 * sizes_.logit_rows > most) choose_head_product(stream, trial, std::min(most, sizes_.logit_rows));
  }
}

}  // namespace troupe
