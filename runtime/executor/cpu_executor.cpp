#include "runtime/executor/cpu_executor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <span>
#include <utility>

#include "kernels/dispatch.hpp"
#include "runtime/executor/available_memory.hpp"
#include "runtime/executor/check_batch.hpp"
#include "runtime/executor/decoder.hpp"
#include "runtime/executor/usable_cores.hpp"
#include "runtime/sampling/sampler.hpp"

namespace troupe {
namespace {

// No log-probabilities and nothing that changes a logit: the arg-max of the row is the answer.
bool is_plain_greedy(const sample_row& row) {
  const sampling_params& params = *row.sampling;
  return is_greedy(params) && !params.logprobs && params.logit_bias.empty() && !params.needs_history() &&
         row.num_generated >= params.min_tokens;
}

// Which member samples which row is a matter of chance: each has its room from the start.
void reserve(sampler_scratch& scratch, std::size_t vocab_size) {
  scratch.logits.reserve(vocab_size);
  scratch.masked.reserve(vocab_size);
  scratch.probabilities.reserve(vocab_size);
  scratch.counts.reserve(vocab_size);
  scratch.ids.reserve(vocab_size);
  scratch.kept.reserve(vocab_size);
  scratch.keys.reserve(vocab_size);
}

class cpu_executor final : public executor {
 public:
  cpu_executor(model_ptr source, packed_model weights, kv_pool pool, const kernels::kernel_table& kernels,
               const executor_limits& limits, const cpu_executor_options& options, std::int32_t threads)
      : config_(source->config),
        limits_(limits),
        kernels_(kernels),
        end_tokens_(options.end_tokens),
        team_(threads),
        decoder_(std::move(source), std::move(weights), std::move(pool), kernels, team_, limits),
        scratch_(static_cast<std::size_t>(threads)) {
    rows_.reserve(static_cast<std::size_t>(limits.max_rows) + static_cast<std::size_t>(limits.max_sequences));
    for (sampler_scratch& scratch : scratch_) reserve(scratch, static_cast<std::size_t>(config_.vocab_size));
  }

  kv_layout layout() const override { return decoder_.layout(); }
  std::string kernel_path() const override { return kernels_.name; }

  void forward(const device_batch& batch) override {
    check_batch(batch, config_, limits_, decoder_.layout());
    if (batch.num_rows() > 0) decoder_.forward(batch);
  }

  void load_dummy_hidden_states(std::int32_t rows) override { decoder_.load_dummy_hidden_states(rows); }

  void sample(const device_batch& batch, const step_masks* masks, step_result& result) override {
    result.step = batch.step;
    result.tokens.clear();
    result.tokens.resize(batch.samples.size());
    result.prompt_logprobs.clear();
    result.prompt_logprobs.resize(batch.prompt_logprobs.size());
    rows_.clear();
    for (const sample_row& sample : batch.samples) rows_.push_back(sample.row);
    for (const prompt_logprob_row& prompt : batch.prompt_logprobs) rows_.push_back(prompt.row);
    if (rows_.empty()) return;
    team_.run([&](std::int32_t member) { sample_member(member, batch, masks, result); });
  }

 private:
  // The head runs for a bounded number of rows at a time; each row's logits are reduced at once.
  void sample_member(std::int32_t member, const device_batch& batch, const step_masks* masks,
                     step_result& result) {
    const auto total = static_cast<std::int32_t>(rows_.size());
    for (std::int32_t first = 0; first < total; first += decoder::head_rows) {
      const std::int32_t count = std::min(decoder::head_rows, total - first);
      decoder_.compute_logits(member, rows_.data() + first, count);
      for (std::int64_t i = team_.claim(1); i < count; i = team_.claim(1)) {
        const auto index = static_cast<std::int32_t>(i);
        reduce(member, batch, masks, first + index, decoder_.logits(index), result);
      }
      team_.barrier();
    }
  }

  void reduce(std::int32_t member, const device_batch& batch, const step_masks* masks, std::int32_t index,
              const float* logits, step_result& result) {
    const std::span<const float> row(logits, static_cast<std::size_t>(config_.vocab_size));
    const auto i = static_cast<std::size_t>(index);
    if (i >= batch.samples.size()) {
      const prompt_logprob_row& prompt = batch.prompt_logprobs[i - batch.samples.size()];
      result.prompt_logprobs[i - batch.samples.size()] =
          log_probabilities(row, prompt.next_token, prompt.top);
      return;
    }
    const sample_row& sample = batch.samples[i];
    const std::span<const std::uint32_t> mask =
        masks == nullptr ? std::span<const std::uint32_t>() : masks->mask_of(i);
    if (mask.empty() && is_plain_greedy(sample)) {
      result.tokens[i].token = kernels_.arg_max(logits, config_.vocab_size);
    } else {
      result.tokens[i] =
          sample_token(row, sample, end_tokens_, scratch_[static_cast<std::size_t>(member)], mask);
    }
    result.tokens[i].id = batch.sequences[static_cast<std::size_t>(sample.sequence)].id;
  }

  const model_config& config_;
  executor_limits limits_;
  const kernels::kernel_table& kernels_;
  std::vector<token_id> end_tokens_;
  thread_team team_;
  decoder decoder_;
  std::vector<sampler_scratch> scratch_;  // [threads]
  std::vector<std::int32_t> rows_;        // the rows whose logits are wanted
};

result<kernels::kv_dtype> find_kv_dtype(const std::string& name) {
  if (name == "auto" || name == "f16") return kernels::kv_dtype::f16;
  if (name == "int8") return kernels::kv_dtype::int8;
  return fail(error_code::invalid_argument, "kv_cache_dtype must be auto, f16 or int8", "kv_cache_dtype");
}

result<void> check_options(const model_config& config, const cpu_executor_options& options) {
  const executor_limits& limits = options.limits;
  if (limits.max_rows < 1 || limits.max_rows > 1 << 20) {
    return fail(error_code::invalid_argument, "max_num_batched_tokens must be 1 to 1048576",
                "max_num_batched_tokens");
  }
  if (limits.max_sequences < 1 || limits.max_sequences > 1 << 20) {
    return fail(error_code::invalid_argument, "max_num_seqs must be 1 to 1048576", "max_num_seqs");
  }
  if (options.threads < 0 || options.threads > 1024) {
    return fail(error_code::invalid_argument, "threads must be 0 to 1024", "threads");
  }
  if (!(options.memory_utilization >= 0 && options.memory_utilization <= 1)) {
    return fail(error_code::invalid_argument, "memory_utilization must be 0 to 1", "memory_utilization");
  }
  if (config.head_dim % kernels::panel_outputs != 0) {
    return fail(error_code::unsupported, "attention heads of a size that is no multiple of 16");
  }
  return {};
}

// To be called once the weights are in memory.
result<std::size_t> kv_cache_bytes(const cpu_executor_options& options) {
  const std::size_t wanted = options.limits.kv_cache_bytes;
  const result<std::uint64_t> available = available_memory();
  if (options.memory_utilization > 0) {
    if (!available) return tl::unexpected(available.error());
    return static_cast<std::size_t>(static_cast<double>(*available) * options.memory_utilization);
  }
  // Pages come when they are first written: too many would end the process in the midst of its work.
  if (available && wanted > *available)
    return fail(error_code::invalid_argument,
                fmt::format("kv_cache_memory is {} MiB, but only {} MiB are free beside the weights: lower "
                            "kv_cache_memory, or give a share by memory_utilization",
                            wanted >> 20U, *available >> 20U),
                "kv_cache_memory");
  return wanted;
}

}  // namespace

result<std::unique_ptr<executor>> make_cpu_executor(const model_ptr& model,
                                                    const cpu_executor_options& options) {
  const model_config& config = model->config;
  if (auto checked = check_options(config, options); !checked) return tl::unexpected(checked.error());
  const kernels::kernel_table* kernels = kernels::find_kernels(options.kernel_path);
  if (kernels == nullptr) {
    return fail(error_code::unsupported,
                "kernel path '" + options.kernel_path + "' is not one that this CPU can run", "kernel_path");
  }
  executor_limits limits = options.limits;
  if (limits.max_model_len <= 0 || limits.max_model_len > config.context_length) {
    limits.max_model_len = config.context_length;
  }
  const auto dtype = find_kv_dtype(options.kv_cache_dtype);
  if (!dtype) return tl::unexpected(dtype.error());
  auto weights = pack_model(*model);
  if (!weights) return tl::unexpected(weights.error());
  const result<std::size_t> kv_bytes = kv_cache_bytes(options);
  if (!kv_bytes) return tl::unexpected(kv_bytes.error());
  auto pool = kv_pool::create(config, *dtype, limits.block_size, *kv_bytes);
  if (!pool) return tl::unexpected(pool.error());
  const std::int32_t threads = options.threads > 0 ? options.threads : usable_cores();
  try {
    return std::make_unique<cpu_executor>(model, std::move(*weights), std::move(*pool), *kernels, limits,
                                          options, threads);
  } catch (const std::bad_alloc&) {
    return fail(error_code::resource_exhausted,
                "not enough memory for steps of " + std::to_string(limits.max_rows) +
                    " tokens: lower max_num_batched_tokens",
                "max_num_batched_tokens");
  }
}

}  // namespace troupe
