#include "runtime/executor/cpu/cpu_executor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <span>
#include <utility>

#include "runtime/blocks_for.hpp"
#include "runtime/executor/check_batch.hpp"
#include "runtime/executor/cpu/cpu_device.hpp"
#include "runtime/executor/cpu/decoder.hpp"
#include "runtime/executor/machine/available_memory.hpp"
#include "runtime/executor/machine/usable_cores.hpp"
#include "runtime/executor/warm_up/scratch_batch.hpp"
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
  cpu_executor(model_ptr source, std::shared_ptr<const packed_model> weights, kv_pool scratch,
               const cpu_device& device, const executor_limits& limits, const cpu_executor_options& options,
               std::int32_t threads)
      : config_(source->config),
        limits_(limits),
        device_(device),
        kernels_(*device.kernels),
        options_(options),
        resident_before_(resident_memory()),
        team_(threads),
        decoder_(std::move(source), std::move(weights), std::move(scratch), kernels_, team_,
                 limits.block_size),
        scratch_(static_cast<std::size_t>(threads)) {
    limits_.max_rows = 0;
    limits_.max_sequences = 0;
    for (sampler_scratch& each : scratch_) reserve(each, static_cast<std::size_t>(config_.vocab_size));
  }

  kv_layout layout() const override { return decoder_.layout(); }
  std::string kernel_path() const override { return kernels_.name; }

  result<void> reserve_steps(std::int32_t rows, std::int32_t sequences) override;
  result<memory_profile> profile() override;
  result<void> take_kv_cache(const kv_cache_claim& claim) override;

  void forward(const device_batch& batch) override {
    check_batch(batch, config_, limits_, decoder_.layout());
    if (batch.num_rows() > 0) decoder_.forward(batch);
  }

  step_plans* plans() override { return &decoder_.plans(); }

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
    decoder_.plan_logits(static_cast<std::int32_t>(rows_.size()));
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
    sampler_scratch& scratch = scratch_[static_cast<std::size_t>(member)];
    if (!batch.kept.empty() && batch.kept[i] != nullptr) {
      result.tokens[i] = sample_draft(row, sample, options_.end_tokens, scratch, *batch.kept[i]);
    } else if (mask.empty() && is_plain_greedy(sample)) {
      result.tokens[i].token = kernels_.arg_max(logits, config_.vocab_size);
    } else {
      const drafted_token* draft = batch.verified.empty() ? nullptr : batch.verified[i];
      result.tokens[i] = sample_token(row, sample, options_.end_tokens, scratch, mask, draft);
    }
    result.tokens[i].id = batch.sequences[static_cast<std::size_t>(sample.sequence)].id;
  }

  // What the KV cache must find when the steps have their room.
  std::uint64_t kept_for_kv_cache() const;
  result<std::size_t> kv_cache_bytes(const kv_cache_claim& claim) const;

  const model_config& config_;
  executor_limits limits_;  // rows and sequences: what has been reserved
  cpu_device device_;
  const kernels::kernel_table& kernels_;
  cpu_executor_options options_;
  std::uint64_t resident_before_;  // bytes, with the weights and without any step
  thread_team team_;
  decoder decoder_;
  std::vector<sampler_scratch> scratch_;  // [threads]
  std::vector<std::int32_t> rows_;        // the rows whose logits are wanted
};

constexpr std::int32_t most_rows = 1 << 20;

std::string mebibytes(std::uint64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / static_cast<double>(1U << 20U));
}

std::uint64_t cpu_executor::kept_for_kv_cache() const {
  if (options_.memory_utilization <= 0) return options_.limits.kv_cache_bytes;
  const kv_layout layout = decoder_.layout();
  const std::int64_t blocks = blocks_for(limits_.max_model_len, layout.block_size);
  const double context = static_cast<double>(blocks) * static_cast<double>(layout.bytes_per_block);
  return static_cast<std::uint64_t>(context / options_.memory_utilization);
}

// Buffers are written when they are taken: what the machine does not have must be refused before.
result<void> cpu_executor::reserve_steps(std::int32_t rows, std::int32_t sequences) try {
  rows = std::max(rows, limits_.max_rows);
  sequences = std::max(sequences, limits_.max_sequences);
  if (rows > most_rows || sequences > most_rows)
    return fail(error_code::unsupported,
                fmt::format("a step of {} rows and {} sequences is beyond {}", rows, sequences, most_rows));
  const std::uint64_t more = decoder_.bytes_for(rows) - decoder_.bytes_for(limits_.max_rows);
  const result<std::uint64_t> available = options_.available();
  const std::uint64_t kept = limits_.max_rows > 0 ? kept_for_kv_cache() : 0;
  if (available && more > *available - std::min(*available, kept))
    return fail(error_code::resource_exhausted,
                fmt::format("a step of {} rows takes {}, {} are free{}", rows,
                            mebibytes(decoder_.bytes_for(rows)), mebibytes(*available),
                            kept > 0 ? fmt::format(" and {} of these kept for the KV cache", mebibytes(kept))
                                     : std::string()));
  decoder_.reserve(rows, sequences);
  rows_.reserve(static_cast<std::size_t>(rows) + static_cast<std::size_t>(sequences));
  limits_.max_rows = rows;
  limits_.max_sequences = sequences;
  return {};
} catch (const std::bad_alloc&) {
  return fail(error_code::resource_exhausted, fmt::format("there is no memory for a step of {} rows", rows));
}

// One layer, since all layers use the same memory, and every sequence sampled at random.
result<memory_profile> cpu_executor::profile() try {
  const device_batch batch = profiling_batch(decoder_.layout(), limits_, config_.vocab_size);
  check_batch(batch, config_, limits_, decoder_.layout());
  decoder_.forward(batch, 1);
  step_result unused;
  sample(batch, nullptr, unused);
  memory_profile out;
  out.weights = decoder_.weight_bytes();
  const std::uint64_t resident = resident_memory();
  // Memory that loading the model has left behind may have been used again: then the buffers alone count.
  out.activations = std::max<std::uint64_t>(resident - std::min(resident, resident_before_),
                                            decoder_.bytes_for(limits_.max_rows));
  out.available = options_.available().value_or(0);
  return out;
} catch (const std::bad_alloc&) {
  return fail(
      error_code::resource_exhausted,
      fmt::format("not enough memory for a step of {} rows: lower max_num_batched_tokens", limits_.max_rows),
      "max_num_batched_tokens");
}

result<std::size_t> cpu_executor::kv_cache_bytes(const kv_cache_claim& claim) const {
  const std::size_t block = decoder_.layout().bytes_per_block;
  const result<std::uint64_t> available = options_.available();
  if (claim.num_blocks == 0 && options_.memory_utilization > 0) {
    if (!available) return tl::unexpected(available.error());
    const double own_part = static_cast<double>(block) / static_cast<double>(block + claim.bytes_beside);
    return static_cast<std::size_t>(static_cast<double>(*available) * options_.memory_utilization * own_part);
  }
  const std::size_t wanted = claim.num_blocks > 0 ? static_cast<std::size_t>(claim.num_blocks) * block
                                                  : options_.limits.kv_cache_bytes;
  // Pages come when they are first written: too many would end the process in the midst of its work.
  const std::size_t beside = wanted / block * claim.bytes_beside;
  const bool never_fits = wanted + beside + decoder_.weight_bytes() > options_.total().value_or(0);
  if (!claim.is_granted && available && wanted + beside > *available)
    return fail(
        never_fits ? error_code::invalid_argument : error_code::resource_exhausted,
        fmt::format(
            "kv_cache_memory is {} MiB{}, but only {} MiB are free beside the weights ({}): "
            "lower kv_cache_memory, or give a share by memory_utilization",
            wanted >> 20U,
            beside > 0 ? fmt::format(" and the draft model's cache takes {} MiB", beside >> 20U) : "",
            *available >> 20U,
            is_memory_of_group() ? "of the memory limit of its control group" : "of the machine's memory"),
        "kv_cache_memory");
  return wanted;
}

result<void> cpu_executor::take_kv_cache(const kv_cache_claim& claim) {
  const result<std::size_t> bytes = kv_cache_bytes(claim);
  if (!bytes) return tl::unexpected(bytes.error());
  auto pool = kv_pool::create(config_, device_.kv_dtype, limits_.block_size, *bytes);
  if (!pool) return tl::unexpected(pool.error());
  decoder_.replace_pool(std::move(*pool));
  return {};
}

result<void> check_options(const model_config& config, const cpu_executor_options& options) {
  const executor_limits& limits = options.limits;
  if (limits.max_rows < 1 || limits.max_rows > most_rows) {
    return fail(error_code::invalid_argument, "max_num_batched_tokens must be 1 to 1048576",
                "max_num_batched_tokens");
  }
  if (limits.max_sequences < 1 || limits.max_sequences > most_rows) {
    return fail(error_code::invalid_argument, "max_num_seqs must be 1 to 1048576", "max_num_seqs");
  }
  if (options.threads < 0 || options.threads > 1024) {
    return fail(error_code::invalid_argument, "threads must be 0 to 1024", "threads");
  }
  if (!(options.memory_utilization >= 0 && options.memory_utilization <= 1)) {
    return fail(error_code::invalid_argument, "memory_utilization must be 0 to 1", "memory_utilization");
  }
  if (config.head_dim % kernels::panel_outputs != 0) {
    return fail(
        error_code::unsupported,
        fmt::format(
            "attention.key_length: heads of {} dimensions are not served on the CPU, which computes with "
            "multiples of {} alone",
            config.head_dim, kernels::panel_outputs),
        "attention.key_length");
  }
  return {};
}

}  // namespace

result<std::unique_ptr<executor>> load_cpu_executor(const model_ptr& model,
                                                    const cpu_executor_options& options) {
  const model_config& config = model->config;
  const result<cpu_device> device =
      check_cpu_device(options.kernel_path, options.dtype, options.kv_cache_dtype);
  if (!device) return tl::unexpected(device.error());
  if (auto checked = check_options(config, options); !checked) return tl::unexpected(checked.error());
  executor_limits limits = options.limits;
  if (limits.max_model_len <= 0 || limits.max_model_len > config.context_length) {
    limits.max_model_len = config.context_length;
  }
  auto scratch = kv_pool::create_scratch(config, device->kv_dtype, limits.block_size);
  if (!scratch) return tl::unexpected(scratch.error());
  std::shared_ptr<const packed_model> weights = options.weights;
  if (!weights) {
    auto packed = pack_model(*model);
    if (!packed) return tl::unexpected(packed.error());
    weights = std::make_shared<const packed_model>(std::move(*packed));
  }
  const std::int32_t threads = options.threads > 0 ? options.threads : usable_cores();
  try {
    auto made = std::make_unique<cpu_executor>(model, std::move(weights), std::move(*scratch), *device,
                                               limits, options, threads);
    if (auto room = made->reserve_steps(limits.max_rows, limits.max_sequences); !room)
      return fail(room.error().code, room.error().message + ": lower max_num_batched_tokens",
                  "max_num_batched_tokens");
    return made;
  } catch (const std::bad_alloc&) {
    return fail(error_code::resource_exhausted,
                fmt::format("not enough memory beside the weights for {} threads", threads), "threads");
  }
}

result<std::unique_ptr<executor>> make_cpu_executor(const model_ptr& model,
                                                    const cpu_executor_options& options) {
  auto made = load_cpu_executor(model, options);
  if (!made) return made;
  if (const auto measured = (*made)->profile(); !measured) return tl::unexpected(measured.error());
  if (const auto taken = (*made)->take_kv_cache({}); !taken) return tl::unexpected(taken.error());
  return made;
}

}  // namespace troupe
