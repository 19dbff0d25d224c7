#include "runtime/executor_cuda/self_test.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "runtime/executor/cpu_executor.hpp"
#include "runtime/executor/warm_up.hpp"
#include "runtime/executor_cuda/cuda_device.hpp"
#include "runtime/executor_cuda/cuda_event.hpp"
#include "runtime/executor_cuda/cuda_stream.hpp"
#include "runtime/executor_cuda/device_memory.hpp"
#include "runtime/executor_cuda/device_weights.hpp"

namespace troupe {
namespace {

constexpr std::int32_t greedy_tokens = 16;
constexpr float sure_margin = 0.5F;

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

// Any tokens, the same each time (Knuth's multiplicative hash).
std::vector<token_id> some_tokens(std::int32_t count, std::int32_t vocab_size) {
  std::vector<token_id> tokens;
  for (std::int32_t i = 0; i < count; ++i)
    tokens.push_back(static_cast<token_id>((static_cast<std::uint32_t>(i) + 1) * 2654435761U %
                                           static_cast<std::uint32_t>(vocab_size)));
  return tokens;
}

// `tokens` as the rows of one sequence in blocks 0, 1, ... from `first` on; the last one sampled.
device_batch rows_of(const std::vector<token_id>& tokens, std::int32_t first, const kv_layout& layout) {
  device_batch batch;
  const auto count = static_cast<std::int32_t>(tokens.size());
  for (std::int32_t i = 0; i < count; ++i) {
    batch.positions.push_back(first + i);
    batch.slots.push_back(first + i);
  }
  batch.tokens = tokens;
  sequence_rows rows;
  rows.num_rows = count;
  rows.table_length = (first + count + layout.block_size - 1) / layout.block_size;
  for (std::int32_t block = 0; block < rows.table_length; ++block) batch.block_tables.push_back(block);
  batch.sequences.push_back(rows);
  sample_row sample;
  sample.row = count - 1;
  sample.position = first + count;
  sample.prompt_length = first + count;
  sample.sampling = greedy_params();
  batch.samples.push_back(sample);
  return batch;
}

// What one executor makes of a prompt.
struct answer {
  std::vector<float> prompt_logprobs;
  std::vector<token_id> tokens;
  std::vector<float> margins;  // between the two best, of each
};

void note(const sampled_token& sampled, answer& out) {
  out.tokens.push_back(sampled.token);
  const auto& top = sampled.logprobs->top;
  out.margins.push_back(top.size() < 2 ? 0.0F : top[0].second - top[1].second);
}

answer ask(executor& device, const std::vector<token_id>& prompt) {
  answer out;
  step_result result;
  device_batch batch = rows_of(prompt, 0, device.layout());
  for (std::int32_t row = 0; row + 1 < batch.num_rows(); ++row)
    batch.prompt_logprobs.push_back({0, row, prompt[static_cast<std::size_t>(row) + 1], 0});
  device.forward(batch);
  device.sample(batch, nullptr, result);
  for (const token_logprobs& each : result.prompt_logprobs) out.prompt_logprobs.push_back(each.logprob);
  note(result.tokens[0], out);
  for (std::int32_t i = 1; i < greedy_tokens; ++i) {
    const auto position = static_cast<std::int32_t>(prompt.size()) + i - 1;
    const device_batch next = rows_of({out.tokens.back()}, position, device.layout());
    device.forward(next);
    device.sample(next, nullptr, result);
    note(result.tokens[0], out);
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
  for (std::size_t i = 0; i < here.tokens.size() && here.margins[i] >= sure_margin; ++i) {
    report.greedy_compared += 1;
    report.greedy_different += there.tokens[i] == here.tokens[i] ? 0 : 1;
  }
}

double median_time(executor& device, const device_batch& batch, const self_test_options& options) {
  step_result unused;
  std::vector<double> took;
  for (std::int32_t i = 0; i < options.rounds + 2; ++i) {  // the first two warm up, and capture
    const double begin = options.now();
    device.forward(batch);
    device.sample(batch, nullptr, unused);
    took.push_back(options.now() - begin);
  }
  took.erase(took.begin(), took.begin() + 2);
  const auto middle = took.begin() + static_cast<std::ptrdiff_t>(took.size() / 2);
  std::nth_element(took.begin(), middle, took.end());
  return *middle;
}

double time_of(executor& device, warm_up_phase phase, const bucket& shape, const executor_limits& limits,
               std::int32_t vocab_size, const self_test_options& options) {
  warm_up_item item;
  item.phase = phase;
  item.shape = shape;
  return median_time(device, scratch_batch(item, device.layout(), limits, vocab_size), options);
}

// Bytes a second, read and written.
double measure_copies(std::size_t bytes) {
  const cuda_stream stream;
  const device_memory from(bytes);
  const device_memory to(bytes);
  cuda_event begin(cuda_event::use::timing);
  cuda_event end(cuda_event::use::timing);
  const auto copy = [&] { stream.copy_on_device(to.data(), from.data(), bytes); };
  stream.fill(from.data(), 0, bytes);
  copy();
  begin.record(stream);
  for (int i = 0; i < 8; ++i) copy();
  end.record(stream);
  end.synchronize();
  return 8 * 2.0 * static_cast<double>(bytes) / (end.milliseconds_since(begin) * 1e-3);
}

// The device of the report is open from here on, one executor after another.
result<answer> try_device(const model_ptr& model, const self_test_options& options, bool as_graphs,
                          const std::vector<token_id>& prompt, self_test_report& report) {
  cuda_executor_options wanted = options.device;
  if (!as_graphs) wanted.graph_rows.clear();
  auto device = begun(load_cuda_executor(model, wanted));
  if (!device) return tl::unexpected(device.error());
  answer out = ask(**device, prompt);
  executor_limits limits = wanted.limits;
  limits.max_model_len = model->config.context_length;
  const std::int32_t vocab_size = model->config.vocab_size;
  const std::int32_t blocks = std::max(1, options.context / limits.block_size);
  if (as_graphs)
    report.prompt_time =
        time_of(**device, warm_up_phase::prompt, {1, options.prompt, 0}, limits, vocab_size, options);
  for (std::size_t i = 0; i < options.device.graph_rows.size(); ++i) {
    if (i == report.decodes.size()) report.decodes.push_back({.sequences = options.device.graph_rows[i]});
    decode_timing& timing = report.decodes[i];
    (as_graphs ? timing.as_graph : timing.eagerly) =
        time_of(**device, warm_up_phase::decode, {timing.sequences, 1, blocks}, limits, vocab_size, options);
  }
  return out;
}

}  // namespace

result<self_test_report> run_self_test(const model_ptr& model, const self_test_options& options) {
  self_test_report report;
  const auto found = open_cuda_device(options.device.device_id);
  if (!found) return tl::unexpected(found.error());
  report.device = describe(*found);
  const auto products = options.device.open_gemm(1);
  if (!products) return tl::unexpected(products.error());
  report.products = (*products)->name();
  report.weight_bytes = device_weight_bytes(*model);
  report.copy_bandwidth = measure_copies(options.copied_bytes);

  cpu_executor_options cpu;
  cpu.limits = options.device.limits;
  cpu.limits.kv_cache_bytes = std::size_t{1} << 30U;
  const auto here = begun(load_cpu_executor(model, cpu));
  if (!here) return tl::unexpected(here.error());
  const std::vector<token_id> prompt = some_tokens(options.prompt, model->config.vocab_size);
  const auto eager = try_device(model, options, false, prompt, report);
  if (!eager) return tl::unexpected(eager.error());
  const auto graphs = try_device(model, options, true, prompt, report);
  if (!graphs) return tl::unexpected(graphs.error());
  compare(*graphs, ask(**here, prompt), report);
  report.graphs_agree = graphs->tokens == eager->tokens;
  for (decode_timing& each : report.decodes)
    each.bandwidth_share =
        static_cast<double>(report.weight_bytes) / (each.as_graph * 1e-6) / report.copy_bandwidth;
  return report;
}

}  // namespace troupe
