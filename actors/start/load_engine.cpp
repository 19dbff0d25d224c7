#include "actors/start/load_engine.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "actors/start/context_length.hpp"
#include "actors/start/device_plan.hpp"
#include "actors/start/kept_tuning.hpp"
#include "actors/start/load_chat_template.hpp"
#include "actors/start/load_draft_model.hpp"
#include "actors/start/open_at_start.hpp"
#include "actors/start/opening_guard.hpp"
#include "actors/start/start_device.hpp"
#include "runtime/drafting/draft_model.hpp"
#include "runtime/executor/cpu/cpu_device.hpp"
#include "runtime/executor/warm_up/fit_buckets.hpp"
#include "runtime/isolation/executor_place.hpp"
#include "runtime/model/model.hpp"

namespace troupe {
namespace {

// In a line for people.
result<std::string> check_device(const engine_options& options) {
  if (!options.cuda) {
    const auto cpu = check_cpu_device(options.kernel_path, options.dtype, options.kv_cache_dtype);
    if (!cpu) return tl::unexpected<error>(cpu.error());
    return describe(*cpu);
  }
  if (!options.cuda_devices.find) return tl::unexpected<error>(built_without_cuda());
  return options.cuda_devices.find(options.cuda->device_id);
}

result<std::optional<draft_file>> read_draft_file(executor_place& place, const engine_options& options,
                                                  const tokenizer& vocabulary) {
  if (!options.draft) return std::nullopt;
  auto file = read_draft_model(place, options, vocabulary);
  if (!file) return tl::unexpected<error>(file.error());
  return std::move(*file);
}

result<model_files> read_files(executor_place& place, const engine_options& options) {
  const result<model_ptr> model = place.add_model(options.model_path);
  if (!model) return tl::unexpected<error>(model.error());
  const result<tokenizer_ptr> vocabulary = load_tokenizer((*model)->file);
  if (!vocabulary) return tl::unexpected<error>(vocabulary.error());
  auto loaded = load_chat_template((*model)->file, **vocabulary, options);
  if (!loaded) return tl::unexpected<error>(loaded.error());
  const auto chat = std::make_shared<const chat_template>(std::move(*loaded));
  const result<std::int32_t> context = context_length(options, (*model)->config.context_length);
  if (!context) return tl::unexpected<error>(context.error());
  const auto draft = read_draft_file(place, options, **vocabulary);
  if (!draft) return tl::unexpected<error>(draft.error());
  return model_files{*model, *vocabulary, chat, *context, *draft};
}

// Its buckets, and the plans that it runs by as far as an earlier start has left them.
result<void> set_up_steps(loaded_engine& engine, const engine_options& options, const started_device& started,
                          std::int32_t num_blocks) {
  engine.steps.pad_to_buckets = options.pad_to_buckets;
  engine.steps.padded = started.padded;
  engine.steps.graphs = started.graphs;
  auto buckets = make_buckets(options.bucketing, sizes_of(options, engine.max_model_len, num_blocks));
  if (!buckets) return tl::unexpected<error>(buckets.error());
  if (started.too_many_rows) remove_from(*buckets, *started.too_many_rows);
  engine.steps.buckets = std::move(*buckets);
  engine.steps.tuned_for = tuning_key_of(*engine.device, options.threads);
  engine.steps.tuning_file = tuning_path(engine.steps.tuned_for, options.tuning_file, options.tuning_folder);
  engine.steps.tune = options.tune && engine.device->plans() != nullptr;
  if (engine.steps.tune && use_kept_tuning(*engine.device, engine.steps.tuned_for, engine.steps.tuning_file))
    for (const auto& [rows, plan] : engine.device->plans()->chosen()) engine.steps.tuned.insert(rows);
  return {};
}

result<void> add_draft_model(loaded_engine& engine, const started_device& started, const draft_file& draft,
                             const engine_options& options, const drafted_for& target) {
  const std::int32_t num_blocks = started.device->layout().num_blocks;
  auto drafting = start_draft_model(started.draft_device, draft, options, target, num_blocks);
  if (!drafting) return tl::unexpected<error>(drafting.error());
  engine.draft = std::move(*drafting);
  if (engine.draft->wants_tuning()) {  // the same steps, whatever is known of the model's own
    engine.steps.tune = true;
    engine.steps.tuned.clear();
  }
  return {};
}

// Opens the device, for the first time.
result<loaded_engine> open_engine(const std::shared_ptr<executor_place>& place, const model_files& files,
                                  const engine_options& options) {
  result<started_device> started = start_device(*place, options, files);
  if (!started) return tl::unexpected<error>(started.error());
  const kv_layout layout = started->device->layout();
  const result<std::int32_t> max_model_len = context_in_cache(options, files.context, *started);
  if (!max_model_len) return tl::unexpected<error>(max_model_len.error());
  if (started->last_resort && *max_model_len < files.context) {
    cpu_executor_options served = started->options;
    served.limits.max_model_len = *max_model_len;
    auto last_resort = options_on_cpu(options, files.model->config, served);
    if (!last_resort) return tl::unexpected<error>(last_resort.error());
    started->last_resort = std::move(*last_resort);
  }

  loaded_engine engine;
  engine.device = started->device;
  engine.vocabulary = files.vocabulary;
  engine.chat = files.chat;
  engine.name = std::filesystem::path(options.model_path).stem().string();
  engine.max_model_len = *max_model_len;
  if (const auto set = set_up_steps(engine, options, *started, layout.num_blocks); !set)
    return tl::unexpected<error>(set.error());
  const drafted_for target{*max_model_len, engine.vocabulary->vocab_size()};
  if (files.draft)
    if (const auto added = add_draft_model(engine, *started, *files.draft, options, target); !added)
      return tl::unexpected<error>(added.error());
  const engine_options unwatched;  // whoever watched the first start may be gone
  engine_options quiet = options;
  quiet.on_phase = unwatched.on_phase;
  quiet.on_stall = unwatched.on_stall;
  quiet.on_hang = unwatched.on_hang;
  quiet.cpu_seconds_beside = unwatched.cpu_seconds_beside;
  const device_plan plan{place,
                         started->options,
                         started->last_resort,
                         started->padded,
                         engine.steps.tuned_for,
                         engine.steps.tuning_file,
                         started->choices,
                         files.draft,
                         started->draft_choices,
                         quiet,
                         target,
                         layout.num_blocks};
  engine.open_device = [plan](bool with_draft) { return reopen(plan, with_draft); };
  if (plan.last_resort)
    engine.open_last_resort = [plan](bool with_draft) { return reopen_on_cpu(plan, with_draft); };
  if (place->is_isolated()) engine.process = process_of(place);
  return engine;
}

// Passes each name on when it comes for the first time.
std::function<void(const std::string&)> once_each(std::function<void(const std::string&)> on_phase) {
  return [on_phase = std::move(on_phase), told = std::set<std::string>()](const std::string& phase) mutable {
    if (told.insert(phase).second) on_phase(phase);
  };
}

}  // namespace

result<loaded_engine> load_engine(const engine_options& options) {
  const auto place = std::make_shared<executor_place>(options.isolation, options.cuda, options.cuda_devices);
  opening_guard guard(
      place, {options.patience_at_start, options.on_stall, options.on_hang, options.cpu_seconds_beside});
  options.on_phase("device check");
  const result<std::string> checked = check_device(options);
  if (!checked) return tl::unexpected<error>(checked.error());
  spdlog::info("device: {}", *checked);
  if (options.cuda && !options.cuda->batch_invariant)
    spdlog::info("without batch_invariant a request may get other tokens beside other requests");

  options.on_phase("weights");
  spdlog::info("loading {}", options.model_path);
  const result<model_files> files = read_files(*place, options);
  if (!files) return tl::unexpected<error>(files.error());
  engine_options wanted = options;
  wanted.on_phase = once_each(options.on_phase);  // an opening that is tried again is in all of them again
  auto opened = open_at_start(*place, options.pauses_at_start, guard,
                              [&] { return open_engine(place, *files, wanted); });
  if (!opened) return opened;
  guard.end_well();
  for (const std::string& warning : files->vocabulary->warnings()) spdlog::warn("{}", warning);
  return opened;
}

}  // namespace troupe
