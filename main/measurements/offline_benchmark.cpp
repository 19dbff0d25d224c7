#include "main/measurements/offline_benchmark.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <random>
#include <unordered_set>
#include <utility>
#include <vector>

#include "actors/start/kept_tuning.hpp"
#include "actors/start/load_engine.hpp"
#include "runtime/blocks_for.hpp"
#include "runtime/engine/engine.hpp"

namespace troupe::cli {
namespace {

using clock = std::chrono::steady_clock;

double time_since(clock::time_point begin) {
  return std::chrono::duration<double>(clock::now() - begin).count();
}

// Submits rounds of requests to one engine and drives it.
class offline_run {
 public:
  offline_run(engine& driven, std::int32_t vocab_size, std::uint64_t seed)
      : engine_(driven), random_(seed), vocab_size_(vocab_size) {}

  // `count` new random prompts; greedy, end-of-text ignored.
  result<void> submit(std::int32_t count, std::int32_t length, std::int32_t max_tokens) {
    const auto sampling = std::make_shared<sampling_params>();
    sampling->temperature = 0.0F;
    sampling->ignore_eos = true;
    sampling->max_tokens = max_tokens;
    open_.clear();
    awaiting_first_.clear();
    std::uniform_int_distribution<token_id> any(0, vocab_size_ - 1);
    for (std::int32_t i = 0; i < count; ++i) {
      engine_request request{
          .id = next_id_++, .prompt = {}, .sampling = sampling, .arrival = {}, .deadline = {}};
      request.prompt.resize(static_cast<std::size_t>(length));
      for (token_id& token : request.prompt) token = any(random_);
      open_.push_back(request.id);
      awaiting_first_.insert(request.id);
      if (auto submitted = engine_.submit(std::move(request)); !submitted)
        return tl::unexpected(std::move(submitted.error()));
    }
    return {};
  }

  // One step; gives the number of tokens that came of it.
  std::int64_t step() {
    std::int64_t tokens = 0;
    for (const token_event& event : engine_.step()) {
      tokens += static_cast<std::int64_t>(event.tokens.size());
      if (!event.tokens.empty()) awaiting_first_.erase(event.id);
    }
    return tokens;
  }

  bool all_prefilled() const { return awaiting_first_.empty(); }
  std::int64_t prefilled() const { return static_cast<std::int64_t>(open_.size() - awaiting_first_.size()); }
  bool idle() const { return engine_.idle(); }

  void abort_all() {
    for (const request_id id : open_) engine_.abort(id);
    while (!engine_.idle()) engine_.step();
  }

 private:
  engine& engine_;
  std::mt19937_64 random_;
  std::int32_t vocab_size_;
  request_id next_id_ = 1;
  std::vector<request_id> open_;
  std::unordered_set<request_id> awaiting_first_;
};

// Runs steps until every prompt has its first token; false where the engine stood still before that.
bool prefill(offline_run& run, std::int64_t count, const char* phase, const benchmark_progress& progress) {
  while (!run.all_prefilled()) {
    if (run.idle()) return false;
    run.step();
    progress(phase, run.prefilled(), count);
  }
  return true;
}

tl::unexpected<error> stalled() {
  return fail(error_code::internal, "the engine stopped before every prompt had its first token");
}

struct plan {
  executor_limits device;
  std::int32_t decode_max_tokens =
      0;  // beyond output_len: what early sequences generate while others prefill
};

result<plan> make_plan(const model_config& model, const benchmark_options& options) {
  const std::int64_t length = std::int64_t{options.input_len} + options.output_len;
  if (length > model.context_length) {
    return fail(error_code::invalid_argument, "input-len + output-len is " + std::to_string(length) +
                                                  ", more than the model's context of " +
                                                  std::to_string(model.context_length) + " tokens");
  }
  plan out;
  // Sequences that have their first token decode beside the prompts of the others; at least half of a step is
  // for those.
  const std::int32_t rows = std::max(options.max_num_batched_tokens, 2 * options.batch);
  const std::int64_t prefill_steps =
      std::int64_t{options.batch} * options.input_len / (rows - options.batch) + options.batch + 1;
  const std::int64_t longest = std::min<std::int64_t>(length + prefill_steps, model.context_length);
  out.decode_max_tokens = static_cast<std::int32_t>(longest - options.input_len);
  out.device.max_rows = rows;
  out.device.max_sequences = options.batch;
  out.device.max_model_len = static_cast<std::int32_t>(longest);
  out.device.block_size = options.block_size;
  const auto blocks = static_cast<std::size_t>(options.batch) *
                      static_cast<std::size_t>(blocks_for(out.device.max_model_len, options.block_size) + 1);
  // K and V of every layer, at most 4 bytes an element.
  const std::size_t block_bytes =
      static_cast<std::size_t>(options.block_size) * static_cast<std::size_t>(model.num_layers) * 2 *
      static_cast<std::size_t>(model.num_kv_heads) * static_cast<std::size_t>(model.head_dim) * 4;
  out.device.kv_cache_bytes = blocks * block_bytes;
  return out;
}

result<void> warm_up(offline_run& run, const benchmark_options& options, const benchmark_progress& progress) {
  progress("warm-up", 0, 1);
  const std::int32_t length = std::min(options.input_len, 64);
  if (auto submitted = run.submit(options.batch, length, std::min(options.output_len, 4)); !submitted)
    return submitted;
  while (!run.idle()) run.step();
  progress("warm-up", 1, 1);
  return {};
}

result<void> measure_prefill(offline_run& run, const benchmark_options& options, benchmark_report& report,
                             const benchmark_progress& progress) {
  if (auto submitted = run.submit(options.batch, options.input_len, 1); !submitted) return submitted;
  const auto begin = clock::now();
  if (!prefill(run, options.batch, "prefill", progress)) return stalled();
  report.prefill_seconds = time_since(begin);
  report.prefill_tokens = std::int64_t{options.batch} * options.input_len;
  run.abort_all();
  return {};
}

result<void> measure_decode(offline_run& run, const benchmark_options& options, std::int32_t max_tokens,
                            benchmark_report& report, const benchmark_progress& progress) {
  if (auto submitted = run.submit(options.batch, options.input_len, max_tokens); !submitted) return submitted;
  if (!prefill(run, options.batch, "prompts of the decode", progress)) return stalled();
  std::vector<double> steps;
  steps.reserve(static_cast<std::size_t>(options.output_len));
  for (std::int32_t i = 1; i < options.output_len && !run.idle(); ++i) {
    const auto begin = clock::now();
    report.decode_tokens += run.step();
    steps.push_back(time_since(begin));
    progress("decode", i, options.output_len - 1);
  }
  for (const double step : steps) report.decode_seconds += step;
  report.step_ms_p50 = 1e3 * quantile(steps, 0.5);
  report.step_ms_p99 = 1e3 * quantile(steps, 0.99);
  run.abort_all();
  return {};
}

// Plans that a start of the service has kept for this machine and model; nothing is measured here.
bool use_tuning(executor& device, const benchmark_options& options) {
  const tuning_key key = tuning_key_of(device, options.threads);
  return use_plans(device, key, tuning_path(key, options.tuning_file, options.tuning_folder)).value_or(0) > 0;
}

}  // namespace

double quantile(std::vector<double> values, double p) {
  if (values.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(p * static_cast<double>(values.size())));
  const std::size_t index = std::clamp<std::size_t>(rank, 1, values.size()) - 1;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(index), values.end());
  return values[index];
}

result<benchmark_report> run_offline_benchmark(const model_ptr& model, const benchmark_options& options,
                                               const benchmark_progress& progress) {
  const auto planned = make_plan(model->config, options);
  if (!planned) return tl::unexpected(planned.error());
  benchmark_report report;
  const auto begin = clock::now();
  cpu_executor_options device_options;
  device_options.limits = planned->device;
  device_options.threads = options.threads;
  device_options.kernel_path = options.kernel_path;
  device_options.dtype = options.dtype;
  device_options.kv_cache_dtype = options.kv_cache_dtype;
  auto device = make_cpu_executor(model, device_options);
  if (!device) return tl::unexpected(device.error());
  report.tuned = use_tuning(**device, options);
  report.load_seconds = time_since(begin);
  report.kernel_path = (*device)->kernel_path();
  report.kv_cache_dtype = (*device)->layout().dtype;

  scheduler_limits limits;
  limits.max_num_seqs = options.batch;
  limits.max_num_batched_tokens = planned->device.max_rows;
  limits.max_model_len = planned->device.max_model_len;
  limits.max_num_queued_requests = static_cast<std::size_t>(options.batch);
  engine driven(std::move(*device), limits);
  offline_run run(driven, model->config.vocab_size, options.seed);
  if (auto done = warm_up(run, options, progress); !done) return tl::unexpected(done.error());
  if (auto done = measure_prefill(run, options, report, progress); !done) return tl::unexpected(done.error());
  if (auto done = measure_decode(run, options, planned->decode_max_tokens, report, progress); !done) {
    return tl::unexpected(done.error());
  }
  return report;
}

}  // namespace troupe::cli
