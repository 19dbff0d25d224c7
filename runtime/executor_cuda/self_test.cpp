#include "runtime/executor_cuda/self_test.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <utility>

#include "runtime/executor/cpu_executor.hpp"
#include "runtime/executor/warm_up.hpp"
#include "runtime/executor_cuda/company_check.hpp"
#include "runtime/executor_cuda/cuda_device.hpp"
#include "runtime/executor_cuda/device_weights.hpp"

namespace troupe {
namespace {

constexpr std::int32_t greedy_tokens = 16;
constexpr double sure_margin = 0.5;
constexpr double fp8_tolerance = 8;  // 3 bits of mantissa, where bf16 has 7

result<std::unique_ptr<executor>> begun(result<std::unique_ptr<executor>> made) {
  if (!made) return made;
  if (const auto measured = (*made)->profile(); !measured) return tl::unexpected(measured.error());
  if (const auto taken = (*made)->take_kv_cache(); !taken) return tl::unexpected(taken.error());
  return made;
}

std::shared_ptr<sampling_params> greedy_params() {
  auto params = std::make_shared<sampling_params>();
  params->temperature = 0.0F;
  params->logprobs = 2;
  return params;
}

// The rows of one sequence in blocks 0, 1, ... from `first` on; the last one sampled.
device_batch asked_rows(const std::vector<token_id>& tokens, std::int32_t first, const kv_layout& layout) {
  device_batch batch = rows_of(tokens, first, 0, layout);
  const auto count = static_cast<std::int32_t>(tokens.size());
  sample_row sample;
  sample.row = count - 1;
  sample.position = first + count;
  sample.prompt_length = first + count;
  sample.sampling = greedy_params();
  batch.samples.push_back(sample);
  return batch;
}

// What one executor makes of a text: of each row the best token, and by how much it is the best.
struct answer {
  std::vector<float> prompt_logprobs;
  std::vector<token_id> best;
  std::vector<float> margins;
};

void note(const token_logprobs& of, answer& out) {
  out.best.push_back(of.top.at(0).first);
  out.margins.push_back(of.top.at(0).second - of.top.at(1).second);
}

// The prompt in one step, then decodes: of the tokens that `leader` found best, so that all go on with the
// same text whatever they would choose themselves; of its own where there is none.
answer ask(executor& device, const std::vector<token_id>& prompt, const answer* leader) {
  answer out;
  step_result result;
  device_batch batch = asked_rows(prompt, 0, device.layout());
  for (std::int32_t row = 0; row + 1 < batch.num_rows(); ++row)
    batch.prompt_logprobs.push_back({0, row, prompt[static_cast<std::size_t>(row) + 1], 2});
  device.forward(batch);
  device.sample(batch, nullptr, result);
  for (const token_logprobs& each : result.prompt_logprobs) {
    out.prompt_logprobs.push_back(each.logprob);
    note(each, out);
  }
  note(*result.tokens[0].logprobs, out);
  for (std::int32_t i = 1; i < greedy_tokens; ++i) {
    const token_id token = (leader == nullptr ? out : *leader).best[out.best.size() - 1];
    const auto position = static_cast<std::int32_t>(prompt.size()) + i - 1;
    const device_batch next = asked_rows({token}, position, device.layout());
    device.forward(next);
    device.sample(next, nullptr, result);
    note(*result.tokens[0].logprobs, out);
  }
  return out;
}

// The rows of whose best token `sure` is sure, and of those where `other` has another one.
struct choices {
  std::int32_t compared = 0;
  std::int32_t different = 0;
};

choices compare_choices(const answer& other, const answer& sure, double tolerance) {
  choices out;
  for (std::size_t i = 0; i < sure.best.size(); ++i) {
    if (!(sure.margins[i] >= sure_margin * tolerance)) continue;
    out.compared += 1;
    out.different += other.best[i] == sure.best[i] ? 0 : 1;
  }
  return out;
}

void compare(const answer& there, const answer& here, self_test_report& report) {
  double sum = 0;
  for (std::size_t i = 0; i < here.prompt_logprobs.size(); ++i) {
    const double apart = std::abs(double{there.prompt_logprobs[i]} - double{here.prompt_logprobs[i]});
    sum += std::isfinite(apart) ? apart : 1e9;
    report.largest_difference = std::max(report.largest_difference, apart);
  }
  report.compared = static_cast<std::int32_t>(here.prompt_logprobs.size());
  report.mean_difference = report.compared > 0 ? sum / report.compared : 0;
  const choices chosen = compare_choices(there, here, report.tolerance);
  report.greedy_compared = chosen.compared;
  report.greedy_different = chosen.different;
}

double time_prompt(executor& device, const executor_limits& limits, std::int32_t vocab_size,
                   const self_test_options& options, step_watch& watch) {
  warm_up_item item;
  item.phase = warm_up_phase::prompt;
  item.shape = {1, options.prompt, 0};
  const device_batch batch = scratch_batch(item, device.layout(), limits, vocab_size);
  return time_steps(device, batch, options.rounds, options.now, watch).whole;
}

// A way in which the model runs on the device, and where its times are told.
struct device_variant {
  bool graphs = true;
  bool batch_invariant = false;
  step_time decode_timing::*decode = nullptr;
  double self_test_report::*prompt = nullptr;  // null: prompts run as elsewhere
};
constexpr device_variant eager_steps{
    .graphs = false, .batch_invariant = false, .decode = &decode_timing::eagerly, .prompt = nullptr};
constexpr device_variant steps_as_graphs{.graphs = true,
                                         .batch_invariant = false,
                                         .decode = &decode_timing::as_graph,
                                         .prompt = &self_test_report::prompt_time};
constexpr device_variant invariant_steps{.graphs = true,
                                         .batch_invariant = true,
                                         .decode = &decode_timing::batch_invariant,
                                         .prompt = &self_test_report::batch_invariant_prompt_time};

void time_decodes(executor& device, const model_config& config, const self_test_options& options,
                  const device_variant& variant, step_watch& watch, self_test_report& report) {
  for (std::size_t i = 0; i < options.device.graph_rows.size(); ++i) {
    if (i == report.decodes.size()) report.decodes.push_back({.sequences = options.device.graph_rows[i]});
    decode_timing& timing = report.decodes[i];
    const decode_step step =
        prepare_decode(device, timing.sequences, std::min(options.context, config.context_length),
                       options.device.limits.max_rows, config.vocab_size);
    timing.context = step.context;
    timing.kv_bytes = device.layout().bytes_per_block / static_cast<std::size_t>(device.layout().block_size) *
                      static_cast<std::size_t>(step.context) * static_cast<std::size_t>(timing.sequences);
    timing.*variant.decode = time_steps(device, step.batch, options.rounds, options.now, watch);
  }
}

// The device of the report is open from here on, one executor after another.
result<answer> try_device(const model_ptr& model, const self_test_options& options,
                          const device_variant& variant, const std::vector<token_id>& prompt,
                          const answer& here, self_test_report& report) {
  step_watch watch;
  cuda_executor_options wanted = options.device;
  wanted.step_timed = [&watch](double busy, double idle) { watch.note(busy, idle); };
  wanted.batch_invariant = variant.batch_invariant;
  if (!variant.graphs) wanted.graph_rows.clear();
  auto device = begun(load_cuda_executor(model, wanted));
  if (!device) return tl::unexpected(device.error());
  answer out = ask(**device, prompt, &here);
  executor_limits limits = wanted.limits;
  limits.max_model_len = model->config.context_length;
  if (variant.prompt != nullptr)
    report.*variant.prompt = time_prompt(**device, limits, model->config.vocab_size, options, watch);
  time_decodes(**device, model->config, options, variant, watch, report);
  if (variant.batch_invariant)
    report.keeps_bits = keeps_bits_in_company(
        **device, {.prompt = options.prompt,
                   .sequences = std::min(options.device.graph_rows.back(), limits.max_sequences),
                   .max_rows = limits.max_rows,
                   .vocab_size = model->config.vocab_size});
  return out;
}

// What a decode reads of the weights: of an embedding that is not the head as well only some rows.
std::size_t decoded_weight_bytes(const model& model, weight_form form) {
  const std::size_t all = device_weight_bytes(model, form);
  if (head_is_embedding(model, form)) return all;
  return all - 2 * static_cast<std::size_t>(model.config.vocab_size) *
                   static_cast<std::size_t>(model.config.hidden_size);
}

// The products of a step of this model.
checks::timing_options timings_of(const model_config& config, const self_test_options& options) {
  checks::timing_options wanted = options.timings;
  wanted.model_heads = {config.num_heads, config.num_kv_heads, config.head_dim};
  wanted.model_context = std::min(options.context, config.context_length);
  wanted.model_batches = options.device.graph_rows;
  const std::int32_t attended = config.num_heads * config.head_dim;
  const std::int32_t qkv = attended + 2 * config.num_kv_heads * config.head_dim;
  wanted.matrices = {
      {"queries, keys and values", qkv, config.hidden_size, gemm_output::rounded},
      {"attention's output", config.hidden_size, attended, gemm_output::add_to_f32},
      {"gates and ups", 2 * config.intermediate_size, config.hidden_size, gemm_output::rounded},
      {"downs", config.hidden_size, config.intermediate_size, gemm_output::add_to_f32},
      {"logits", config.vocab_size, config.hidden_size, gemm_output::f32}};
  return wanted;
}

checks::timing_report time_all(const model& model, const self_test_options& options,
                               const cuda_device& device) {
  checks::timing_options wanted = timings_of(model.config, options);
  wanted.multiprocessors = device.multiprocessors;
  wanted.progress = options.progress;
  if (options.device.weights == weight_form::plain) return checks::time_kernels(wanted);
  const cuda_stream stream;
  const device_weights weights = upload_weights(model, stream, options.device.weights);
  const device_layer& layer = weights.layers.front();
  const device_matrix* const on_device[] = {&layer.qkv, &layer.output, &layer.gate_up, &layer.down,
                                            &weights.head};
  for (std::size_t i = 0; i < std::size(on_device); ++i)
    if (on_device[i]->is_quantized() || on_device[i]->type == matrix_type::e4m3)
      wanted.quantized_matrices.push_back({wanted.matrices[i].name, *on_device[i], wanted.matrices[i].kind});
  return checks::time_kernels(wanted);
}

}  // namespace

std::vector<std::string> self_test_report::failures() const {
  std::vector<std::string> found;
  for (const checks::kernel_check& each : kernels)
    if (!each.passed) found.push_back("the kernel " + each.name + " is wrong");
  if (kernels.empty()) found.emplace_back("no kernel was tried");
  if (!graphs_agree) found.emplace_back("graphs and eager steps disagree");
  if (!keeps_bits) found.emplace_back("batch-invariant steps do not keep a row's bits");
  if (greedy_different > 0)
    found.push_back(
        fmt::format("{} of {} tokens that the CPU is sure of differ", greedy_different, greedy_compared));
  if (greedy_compared == 0)
    found.emplace_back("the CPU is sure of no token of this model, so that none was compared: try another");
  if (!(mean_difference < 0.3 * tolerance))
    found.push_back(fmt::format("log-probabilities are {:.3g} apart on average, where {:.3g} is allowed",
                                mean_difference, 0.3 * tolerance));
  return found;
}

result<self_test_report> run_self_test(const model_ptr& model, const self_test_options& options) {
  self_test_report report;
  const auto found = open_cuda_device(options.device.device_id);
  if (!found) return tl::unexpected(found.error());
  report.device = describe(*found);
  const auto products = options.device.open_gemm({});
  if (!products) return tl::unexpected(products.error());
  report.products = (*products)->name();
  report.weight_bytes = decoded_weight_bytes(*model, options.device.weights);
  if (options.device.weights == weight_form::fp8) report.tolerance = fp8_tolerance;
  checks::kernel_check_options checked = options.checks;
  checked.fp8 = has_fp8_products(*found);
  checked.progress = options.progress;
  report.kernels = checks::check_kernels(checked);
  auto timed = time_all(*model, options, *found);
  report.limits = timed.limits;
  report.timings = std::move(timed.timings);

  cpu_executor_options cpu;
  cpu.limits = options.device.limits;
  cpu.limits.kv_cache_bytes = std::size_t{1} << 30U;
  const auto host = begun(load_cpu_executor(model, cpu));
  if (!host) return tl::unexpected(host.error());
  const std::vector<token_id> prompt = some_tokens(options.prompt, model->config.vocab_size);
  const answer here = ask(**host, prompt, nullptr);
  options.progress("the model on the CPU");
  const auto eager = try_device(model, options, eager_steps, prompt, here, report);
  if (!eager) return tl::unexpected(eager.error());
  options.progress("the model on the device, step by step");
  const auto graphs = try_device(model, options, steps_as_graphs, prompt, here, report);
  if (!graphs) return tl::unexpected(graphs.error());
  options.progress("the model on the device, decodes as graphs");
  const auto invariant = try_device(model, options, invariant_steps, prompt, here, report);
  if (!invariant) return tl::unexpected(invariant.error());
  options.progress("the model on the device, batch-invariant");
  compare(*graphs, here, report);
  // The products of the two were chosen by measuring, each for itself: their last bits may differ.
  report.graphs_agree = compare_choices(*graphs, *eager, 1).different == 0;
  for (decode_timing& each : report.decodes)
    each.bandwidth_share = static_cast<double>(report.weight_bytes + each.kv_bytes) /
                           (each.as_graph.whole * 1e-6) / report.limits.copy_bandwidth;
  return report;
}

}  // namespace troupe
