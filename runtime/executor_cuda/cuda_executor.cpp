#include "runtime/executor_cuda/cuda_executor.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "runtime/executor/check_batch.hpp"
#include "runtime/executor/warm_up/scratch_batch.hpp"
#include "runtime/executor_cuda/check_cuda_options.hpp"
#include "runtime/executor_cuda/device/cuda_device.hpp"
#include "runtime/executor_cuda/device/cuda_error.hpp"
#include "runtime/executor_cuda/device/device_memory.hpp"
#include "runtime/executor_cuda/model/device_kv_cache.hpp"
#include "runtime/executor_cuda/products/fp8_gemm.hpp"
#include "runtime/executor_cuda/products/kept_choices.hpp"
#include "runtime/executor_cuda/products/quantized_gemm.hpp"
#include "runtime/executor_cuda/step/graph_memory.hpp"
#include "runtime/executor_cuda/step/start_batch.hpp"
#include "runtime/executor_cuda/step/step_clock.hpp"
#include "runtime/executor_cuda/step/step_room.hpp"

namespace troupe {
namespace {

tl::unexpected<error> no_room(const std::string& what, const std::exception& why, std::string param) {
  return fail(error_code::resource_exhausted, fmt::format("{}: {}", what, why.what()), std::move(param));
}

class cuda_executor final : public executor {
 public:
  cuda_executor(model_ptr source, const cuda_executor_options& options, cuda_device device,
                kernels::cuda::element_type type, kernels::cuda::kv_element element)
      : source_(std::move(source)),
        config_(source_->config),
        options_(options),
        limits_(options.limits),
        device_(std::move(device)),
        element_(element),
        weights_(upload_weights(*source_, stream_, options_.weights, type)),
        kv_(config_, element, limits_.block_size, 0) {
    if (limits_.max_model_len <= 0 || limits_.max_model_len > config_.context_length)
      limits_.max_model_len = config_.context_length;
    limits_.max_rows = 0;
    limits_.max_sequences = 0;
    if (options_.step_timed) clock_.emplace();
  }
  ~cuda_executor() override { cudaSetDevice(device_.id); }

  kv_layout layout() const override { return kv_.layout(); }
  std::string kernel_path() const override { return "cuda"; }

  result<void> reserve_steps(std::int32_t rows, std::int32_t sequences) override;
  result<memory_profile> profile() override;
  std::string choices() const override;
  void use_choices(const std::string& choices) override;
  result<void> take_kv_cache(const kv_cache_claim& claim) override;

  void forward(const device_batch& batch) override;
  void sample(const device_batch& batch, const step_masks* masks, step_result& result) override;
  bool overlaps() const override { return true; }
  bool begin_sample(const device_batch& batch, const step_masks* masks) override;
  bool collect(step_result& result) override;
  void load_dummy_hidden_states(std::int32_t rows) override;
  std::optional<device_figures> figures() override;
  void synchronize() override {
    use_device();
    stream_.synchronize();
    copies_.synchronize();
  }

 private:
  // What is current belongs to the thread, and any thread may call.
  void use_device() const { check_cuda(cudaSetDevice(device_.id), "cudaSetDevice"); }
  std::string measures_with() const;
  void reserve_graphs();
  // Both say why there is no graph of the step, where there should be one.
  std::optional<std::string> run(const device_batch& batch, std::int32_t layers);
  std::optional<std::string> run_as_graph(const flat_step_shape& shape, bool needs_graph);
  void note_eager_step(const flat_step_shape& shape);
  device_sampler::work sampling_of(const device_batch& batch, const step_masks* masks);

  model_ptr source_;
  const model_config& config_;
  cuda_executor_options options_;
  executor_limits limits_;  // rows and sequences: what has been reserved
  cuda_device device_;
  kernels::cuda::kv_element element_;
  cuda_stream stream_;  // computes
  cuda_stream copies_;  // carries what sampling needs and gives, beside that
  device_weights weights_;
  device_kv_cache kv_;
  device_memory for_graphs_;
  std::optional<kept_choices> given_choices_;
  std::unique_ptr<gemm> products_;
  std::unique_ptr<step_room> room_;
  flat_step step_;  // on the device, of the last forward()
  // The logits that are wanted are those of the first rows, in their order: of a decode, and of dummies.
  bool takes_first_rows_ = false;
  std::uint64_t eager_steps_ = 0;
  std::uint64_t eager_decodes_ = 0;
  std::optional<step_clock> clock_;  // where steps are timed
};

result<void> cuda_executor::reserve_steps(std::int32_t rows, std::int32_t sequences) try {
  use_device();
  for_graphs_ = device_memory();
  rows = std::max(rows, limits_.max_rows);
  sequences = std::max(sequences, limits_.max_sequences);
  if (rows > most_rows_of_a_step || sequences > most_rows_of_a_step)
    return fail(error_code::unsupported, fmt::format("a step of {} rows and {} sequences is beyond {}", rows,
                                                     sequences, most_rows_of_a_step));
  executor_limits limits = limits_;
  limits.max_rows = rows;
  limits.max_sequences = sequences;
  const std::int32_t most_rows = step_room::most_rows(limits, options_.graph_rows);
  auto products = options_.open_gemm({most_rows, options_.batch_invariant});
  if (!products) return tl::unexpected(products.error());
  if (weights_.largest_quantized > 0)
    *products = std::make_unique<quantized_gemm>(std::move(*products), weights_.largest_quantized,
                                                 options_.batch_invariant);
  if (weights_.has_fp8)
    *products = std::make_unique<fp8_gemm>(std::move(*products), fp8_gemm::sizes_of(weights_, most_rows));
  auto room = std::make_unique<step_room>(
      config_, weights_, **products, limits, options_.graph_rows, options_.end_tokens, device_, stream_,
      options_.batch_invariant ? few_row_products::never : options_.few_rows);
  stream_.synchronize();
  room_ = std::move(room);
  products_ = std::move(*products);
  limits_ = limits;
  return {};
} catch (const out_of_device_memory& why) {
  return no_room(fmt::format("the device has no room for a step of {} rows", rows), why,
                 "max_num_batched_tokens");
}

std::string cuda_executor::measures_with() const {
  return fmt::format("{}, {}.{}, {} multiprocessors, {}", device_.name, device_.major, device_.minor,
                     device_.multiprocessors, products_->name());
}

std::string cuda_executor::choices() const {
  kept_choices kept{.measured_with = measures_with(), .few_rows = room_->decoder.few_rows(), .products = {}};
  products_->tell_choices(kept.products);
  return to_bytes(kept);
}

// Until there is a KV cache, so that nobody's takes what the graphs will: of a model, or of another beside
// it. Such decodes read the scratch block alone, and write nowhere. Without room for graphs decodes run
// eagerly.
void cuda_executor::reserve_graphs() try {
  const std::size_t bytes = measure_graph_memory(room_->graphs, [this](std::int32_t rows) {
    const warm_up_item step{.phase = warm_up_phase::decode, .shape = {rows, 1, 1}};
    run(scratch_batch(step, kv_.layout(), limits_, config_.vocab_size), config_.num_layers);
    stream_.synchronize();
  });
  for_graphs_ = device_memory(bytes);
} catch (const out_of_device_memory& why) {
  room_->graphs.clear();
  options_.warn(fmt::format("the device has no room for all graphs: {}", why.what()));
}

void cuda_executor::use_choices(const std::string& choices) { given_choices_ = read_kept_choices(choices); }

// Kernels are loaded when they are first launched, and take memory then: so the products are measured before.
result<memory_profile> cuda_executor::profile() try {
  use_device();
  std::optional<few_row_choices> known;
  if (given_choices_ && given_choices_->measured_with == measures_with()) {
    products_->use_choices(given_choices_->products);
    known = given_choices_->few_rows;
  } else if (given_choices_) {
    options_.warn("another device or library than the last runner's: products are chosen anew");
  }
  room_->decoder.prepare(stream_, room_->rows, element_, known);
  kept_distribution kept;
  const device_batch batch = start_batch(config_, kv_.layout(), limits_, kept);
  run(batch, 1);
  step_result unused;
  sample(batch, nullptr, unused);
  reserve_graphs();
  memory_profile out;
  out.graphs = for_graphs_.size();
  out.weights = weights_.memory.size();
  out.activations = room_->bytes();
  out.available = ask_device_memory().free;
  return out;
} catch (const no_invariant_product& why) {
  return fail(error_code::unsupported, why.what(), "batch_invariant");
} catch (const out_of_device_memory& why) {
  return no_room(fmt::format("the device has no room for a step of {} rows", limits_.max_rows), why,
                 "max_num_batched_tokens");
}

result<void> cuda_executor::take_kv_cache(const kv_cache_claim& claim) {
  use_device();
  room_->graphs.clear();
  stream_.synchronize();
  kv_ = device_kv_cache();
  kv_cache_wish wish{element_, limits_.block_size, options_.memory_utilization,
                     options_.limits.kv_cache_bytes, claim};
  auto taken = take_device_kv_cache(config_, wish, options_.warn);
  if (!taken) return tl::unexpected(taken.error());
  kv_ = std::move(*taken);
  for_graphs_ = device_memory();
  return {};
}

void cuda_executor::forward(const device_batch& batch) {
  use_device();
  check_batch(batch, config_, limits_, kv_.layout());
  if (clock_) clock_->begin(stream_);
  if (const auto why_not = run(batch, config_.num_layers)) options_.warn(*why_not);
}

std::optional<std::string> cuda_executor::run(const device_batch& batch, std::int32_t layers) {
  const flat_step_shape exact = room_->flattener.shape_of(batch);
  const auto padded =
      layers == config_.num_layers ? room_->graphs.padded(exact, batch.needs_graph) : std::nullopt;
  const flat_step_shape shape = padded.value_or(exact);
  step_ = room_->stage.send(batch, shape, room_->flattener, stream_);
  step_.sampled = room_->sampler.tokens();
  takes_first_rows_ = room_->flattener.logits_are_first_rows();
  room_->decoder.copy_blocks(stream_, shape, step_, kv_.memory());
  check_launches("the copies of a step's blocks");
  if (padded) return run_as_graph(shape, batch.needs_graph);
  if (shape.rows > 0) {
    if (layers == config_.num_layers) note_eager_step(shape);
    room_->decoder.forward(stream_, shape, step_, kv_.memory(), layers);
  }
  check_launches("a step's kernels");
  return std::nullopt;
}

std::optional<std::string> cuda_executor::run_as_graph(const flat_step_shape& shape, bool needs_graph) {
  const auto missing = room_->graphs.run(shape, stream_, [&] {
    room_->decoder.forward(stream_, shape, step_, kv_.memory(), config_.num_layers, true);
  });
  check_launches("a decode step");
  if (!missing) return std::nullopt;
  if (needs_graph && missing->lacked_memory) throw out_of_device_memory(missing->why);
  return fmt::format("no graph of {} rows, such decodes run eagerly: {}", shape.rows, missing->why);
}

// Of decodes, which graphs are for, it is told less and less often.
void cuda_executor::note_eager_step(const flat_step_shape& shape) {
  eager_steps_ += 1;
  if (shape.rows != shape.sequences) return;
  eager_decodes_ += 1;
  if ((eager_decodes_ & (eager_decodes_ - 1)) != 0 || options_.graph_rows.empty()) return;
  options_.warn(
      fmt::format("no graph is there for a decode of {} sequences, which runs eagerly ({} such steps so far)",
                  shape.rows, eager_decodes_));
}

device_sampler::work cuda_executor::sampling_of(const device_batch& batch, const step_masks* masks) {
  return {.compute = stream_,
          .copies = copies_,
          .batch = batch,
          .masks = masks,
          .logits =
              [this](std::int32_t first, std::int32_t count) {
                return room_->decoder.logits(stream_, takes_first_rows_ ? nullptr : step_.logit_rows, first,
                                             count);
              },
          .clock = clock_ ? &*clock_ : nullptr};
}

void cuda_executor::sample(const device_batch& batch, const step_masks* masks, step_result& result) {
  use_device();
  room_->sampler.sample(sampling_of(batch, masks), result);
  check_launches("the sampler's kernels");
  if (clock_ && !batch.samples.empty()) clock_->tell(options_.step_timed);
}

bool cuda_executor::begin_sample(const device_batch& batch, const step_masks* masks) {
  use_device();
  if (!room_->sampler.begin(sampling_of(batch, masks))) return false;
  check_launches("the sampler's kernels");
  return true;
}

bool cuda_executor::collect(step_result& result) {
  use_device();
  if (!room_->sampler.collect(result)) return false;
  if (clock_) clock_->tell(options_.step_timed);
  return true;
}

std::optional<device_figures> cuda_executor::figures() {
  use_device();
  const auto [free, total] = ask_device_memory();
  return device_figures{.bus_id = device_.bus_id,
                        .memory_total = total,
                        .memory_free = free,
                        .graphs = room_ ? room_->graphs.count() : 0,
                        .eager_steps = eager_steps_,
                        .eager_decodes = eager_decodes_};
}

void cuda_executor::load_dummy_hidden_states(std::int32_t rows) {
  use_device();
  if (rows < 0 || rows > limits_.max_rows) throw std::invalid_argument("warm-up: too many rows");
  room_->decoder.load_dummy_hidden_states(stream_);
  takes_first_rows_ = true;
}

}  // namespace

result<std::unique_ptr<executor>> load_cuda_executor(const model_ptr& model,
                                                     const cuda_executor_options& options) try {
  const auto type = find_element_type(options.dtype);
  if (!type) return tl::unexpected(type.error());
  const auto element = find_kv_element(options.kv_cache_dtype, *type);
  if (!element) return tl::unexpected(element.error());
  if (auto checked = check_cuda_options(model->config, options, *type, *element); !checked)
    return tl::unexpected(checked.error());
  auto device = open_cuda_device(options.device_id);
  if (!device) return tl::unexpected(device.error());
  if (auto checked = check_weights(options.weights, *device); !checked)
    return tl::unexpected(checked.error());
  if (auto checked = check_heads(model->config.head_dim, *device); !checked)
    return tl::unexpected(checked.error());
  auto made = std::make_unique<cuda_executor>(model, options, std::move(*device), *type, *element);
  const executor_limits& limits = options.limits;
  if (auto room = made->reserve_steps(limits.max_rows, limits.max_sequences); !room)
    return tl::unexpected(room.error());
  return made;
} catch (const out_of_device_memory& why) {
  return no_room("the device has no room for the weights", why, "model");
}

}  // namespace troupe
