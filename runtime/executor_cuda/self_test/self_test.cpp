#include "runtime/executor_cuda/self_test/self_test.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <utility>

#include "runtime/executor/cpu/cpu_executor.hpp"
#include "runtime/executor/warm_up/scratch_batch.hpp"
#include "runtime/executor/warm_up/warm_up.hpp"
#include "runtime/executor_cuda/device/cuda_device.hpp"
#include "runtime/executor_cuda/model/device_weights.hpp"
#include "runtime/executor_cuda/self_test/company_check.hpp"
#include "runtime/executor_cuda/self_test/model_answer.hpp"

namespace troupe {
namespace {

constexpr double fp8_tolerance = 8;  // 3 bits of mantissa, where bf16 has 7

result<std::unique_ptr<executor>> begun(result<std::unique_ptr<executor>> made) {
  if (!made) return made;
  if (const auto measured = (*made)->profile(); !measured) return tl::unexpected(measured.error());
  if (const auto taken = (*made)->take_kv_cache({}); !taken) return tl::unexpected(taken.error());
  return made;
}

// Runs one part of the test: that it cannot be done is one of the report's errors and keeps nothing else from
// being tried. Throws device_lost alone.
bool attempt(const std::string& part, const self_test_options& options, self_test_report& report,
             const std::function<result<void>()>& run) {
  std::string why;
  try {
    const result<void> done = run();
    if (!done) why = done.error().message;
  } catch (const device_lost&) {
    throw;
  } catch (const std::exception& failure) {
    why = failure.what();
  }
  if (!why.empty()) report.errors.push_back(part + ": " + why);
  options.progress(why.empty() ? part : report.errors.back());
  return why.empty();
}

void compare(const model_answer& there, const model_answer& here, self_test_report& report) {
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
  const char* name;
  bool graphs = true;
  bool batch_invariant = false;
  step_time decode_timing::*decode = nullptr;
  double self_test_report::*prompt = nullptr;  // null: prompts run as elsewhere
};
constexpr device_variant eager_steps{.name = "the model on the device, step by step",
                                     .graphs = false,
                                     .batch_invariant = false,
                                     .decode = &decode_timing::eagerly,
                                     .prompt = nullptr};
constexpr device_variant steps_as_graphs{.name = "the model on the device, decodes as graphs",
                                         .graphs = true,
                                         .batch_invariant = false,
                                         .decode = &decode_timing::as_graph,
                                         .prompt = &self_test_report::prompt_time};
constexpr device_variant invariant_steps{.name = "the model on the device, batch-invariant",
                                         .graphs = true,
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

void time_variant(executor& device, const model_config& config, const self_test_options& options,
                  const device_variant& variant, step_watch& watch, self_test_report& report) {
  executor_limits limits = options.device.limits;
  limits.max_model_len = config.context_length;
  if (variant.prompt != nullptr)
    report.*variant.prompt = time_prompt(device, limits, config.vocab_size, options, watch);
  time_decodes(device, config, options, variant, watch, report);
}

bool keeps_bits(executor& device, const model_config& config, const self_test_options& options) {
  const executor_limits& limits = options.device.limits;
  return keeps_bits_in_company(device,
                               {.prompt = options.prompt,
                                .sequences = std::min(options.device.graph_rows.back(), limits.max_sequences),
                                .max_rows = limits.max_rows,
                                .vocab_size = config.vocab_size});
}

// What the device answers; nothing where it did not come to that.
std::optional<model_answer> try_device(const model_ptr& model, const self_test_options& options,
                                       const device_variant& variant, const std::vector<token_id>& prompt,
                                       const model_answer& here, self_test_report& report) {
  const model_config& config = model->config;
  std::optional<model_answer> out;
  attempt(variant.name, options, report, [&]() -> result<void> {
    step_watch watch;
    cuda_executor_options wanted = options.device;
    wanted.step_timed = [&watch](double busy, double idle) { watch.note(busy, idle); };
    wanted.batch_invariant = variant.batch_invariant;
    if (!variant.graphs) wanted.graph_rows.clear();
    const auto device = begun(load_cuda_executor(model, wanted));
    if (!device) return tl::unexpected(device.error());
    out = ask(**device, prompt, &here);
    attempt(std::string(variant.name) + ", its times", options, report, [&]() -> result<void> {
      time_variant(**device, config, options, variant, watch, report);
      return {};
    });
    if (variant.batch_invariant) report.keeps_bits = keeps_bits(**device, config, options);
    return {};
  });
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

void time_all(const model& model, const self_test_options& options, const cuda_device& device,
              checks::timing_report& report) {
  checks::timing_options wanted = timings_of(model.config, options);
  wanted.multiprocessors = device.multiprocessors;
  wanted.progress = options.progress;
  if (options.device.weights == weight_form::plain) return checks::time_kernels(wanted, report);
  const cuda_stream stream;
  const device_weights weights = upload_weights(model, stream, options.device.weights);
  const device_layer& layer = weights.layers.front();
  const device_matrix* const on_device[] = {&layer.qkv, &layer.output, &layer.gate_up, &layer.down,
                                            &weights.head};
  for (std::size_t i = 0; i < std::size(on_device); ++i)
    if (on_device[i]->is_quantized() || on_device[i]->type == matrix_type::e4m3)
      wanted.quantized_matrices.push_back({wanted.matrices[i].name, *on_device[i], wanted.matrices[i].kind});
  checks::time_kernels(wanted, report);
}

void test_kernels(const model& model, const self_test_options& options, const cuda_device& device,
                  self_test_report& report) {
  checks::kernel_check_options checked = options.checks;
  checked.fp8 = has_fp8_products(device);
  checked.shared_per_block = device.shared_per_block;
  checked.progress = options.progress;
  checks::check_kernels(checked, report.kernels);
  attempt("times of kernels", options, report, [&]() -> result<void> {
    time_all(model, options, device, report.times);
    return {};
  });
}

// What the CPU makes of the prompt.
std::optional<model_answer> ask_host(const model_ptr& model, const self_test_options& options,
                                     const std::vector<token_id>& prompt, self_test_report& report) {
  std::optional<model_answer> out;
  attempt("the model on the CPU", options, report, [&]() -> result<void> {
    cpu_executor_options cpu;
    cpu.limits = options.device.limits;
    cpu.limits.kv_cache_bytes = std::size_t{1} << 30U;
    const auto host = begun(load_cpu_executor(model, cpu));
    if (!host) return tl::unexpected(host.error());
    out = ask(**host, prompt, nullptr);
    return {};
  });
  return out;
}

// Of decodes as graphs, as a share of what copies reach.
void tell_bandwidth(self_test_report& report) {
  const double copied = report.times.limits.copy_bandwidth;
  if (!(copied > 0)) return;
  for (decode_timing& each : report.decodes)
    if (each.as_graph.whole > 0)
      each.bandwidth_share =
          static_cast<double>(report.weight_bytes + each.kv_bytes) / (each.as_graph.whole * 1e-6) / copied;
}

void test_model(const model_ptr& model, const self_test_options& options, self_test_report& report) {
  const std::vector<token_id> prompt = some_tokens(options.prompt, model->config.vocab_size);
  const auto here = ask_host(model, options, prompt, report);
  if (!here) return;
  const auto eager = try_device(model, options, eager_steps, prompt, *here, report);
  const auto graphs = try_device(model, options, steps_as_graphs, prompt, *here, report);
  if (graphs) compare(*graphs, *here, report);
  // The products of the two were chosen by measuring, each for itself: their last bits may differ.
  if (graphs && eager) report.graphs_agree = compare_choices(*graphs, *eager, 1).different == 0;
  tell_bandwidth(report);
  try_device(model, options, invariant_steps, prompt, *here, report);
}

// The prompt must leave room for what is decoded behind it.
result<void> check_prompt(std::int32_t prompt, const model_config& config) {
  const std::int32_t most = config.context_length - (asked_tokens - 1);
  if (prompt <= most) return {};
  return fail(
      error_code::invalid_argument,
      fmt::format("--prompt is {}, but this model has a context of {} tokens: {} are the most, since {} "
                  "are decoded behind them",
                  prompt, config.context_length, most, asked_tokens - 1),
      "prompt");
}

}  // namespace

result<self_test_report> run_self_test(const model_ptr& model, const self_test_options& options) {
  if (const auto fits = check_prompt(options.prompt, model->config); !fits)
    return tl::unexpected(fits.error());
  const auto found = open_cuda_device(options.device.device_id);
  if (!found) return tl::unexpected(found.error());
  const auto products = options.device.open_gemm({});
  if (!products) return tl::unexpected(products.error());
  self_test_report report;
  report.device = describe(*found);
  report.products = (*products)->name();
  report.weight_bytes = decoded_weight_bytes(*model, options.device.weights);
  if (options.device.weights == weight_form::fp8) report.tolerance = fp8_tolerance;
  try {
    test_kernels(*model, options, *found, report);
    test_model(model, options, report);
  } catch (const device_lost& lost) {  // what was done until then is told
    report.errors.push_back(std::string("the device was lost: ") + lost.what());
  }
  return report;
}

}  // namespace troupe
