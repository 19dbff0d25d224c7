#include "actors/start/device_plan.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "actors/start/kept_tuning.hpp"
#include "runtime/blocks_for.hpp"
#include "runtime/executor/cpu/cpu_device.hpp"
#include "runtime/executor/cpu/kv_pool.hpp"
#include "runtime/isolation/child_process.hpp"

namespace troupe {
namespace {

// Drafts are no reason to end: without them the same is served. `start` gives null where they are over.
template <class Start>
auto start_draft(const Start& start) -> typename decltype(start())::value_type try {
  auto started = start();
  if (started) return std::move(*started);
  spdlog::warn("{}: there are no drafts any more", started.error().message);
  return nullptr;
} catch (const device_lost&) {
  throw;
} catch (const std::exception& fault) {
  spdlog::warn("the draft model failed at its start: {}: there are no drafts any more", fault.what());
  return nullptr;
}

// Steps and a KV cache as large as requests need that were accepted before, beside the draft model's device
// (null: there is none). A CUDA device is profiled, as at first, and computes products as the first one has
// chosen to; on the CPU that would only take time, and the cache has the size that it had: its memory comes
// page after page, so that whoever took some meanwhile is no reason to serve nobody.
result<void> take_memory_anew(executor& device, const executor* drafting, const device_plan& plan,
                              bool is_cuda) {
  if (auto room = device.reserve_steps(plan.padded.rows, plan.padded.sequences); !room) return room;
  if (is_cuda) {
    device.use_choices(plan.choices);
    if (const auto profile = device.profile(); !profile) return tl::unexpected<error>(profile.error());
  }
  kv_cache_claim claim = claim_beside(drafting);
  // The first one has loaded more kernels, to choose among them, and they stay in the device's memory:
  // without them the cache would be larger, and whoever hands out its blocks would have to be started anew.
  const bool is_alike = plan.draft.has_value() == (drafting != nullptr);
  if (is_cuda && is_alike) claim.most_blocks = plan.num_blocks;
  claim.is_granted = !plan.options.cuda;  // the CPU that takes a CUDA device's place has been granted nothing
  if (auto taken = device.take_kv_cache(claim); !taken) return taken;
  const kv_layout layout = device.layout();
  const std::int64_t held = std::int64_t{layout.num_blocks} * layout.block_size;
  if (held >= plan.target.max_model_len) return {};
  return fail(error_code::resource_exhausted,
              fmt::format("the KV cache holds {} tokens, but a context may have {}", held,
                          plan.target.max_model_len));
}

result<runner_device> start_anew(const device_plan& plan, const engine_options& options,
                                 const cpu_executor_options& cpu, bool with_draft) {
  auto device = load_target(*plan.place, cpu);
  if (!device) return tl::unexpected<error>(device.error());
  std::shared_ptr<executor> drafting;  // first, so that all else is measured beside it
  if (plan.draft && with_draft)
    drafting = start_draft([&] {
      return open_draft_device(*plan.place, *plan.draft, options, plan.target.max_model_len,
                               plan.draft_choices);
    });
  auto taken = take_memory_anew(**device, drafting.get(), plan, options.cuda.has_value());
  if (!taken && drafting) {
    spdlog::warn("{}: there are no drafts any more", taken.error().message);
    drafting.reset();
    taken = take_memory_anew(**device, nullptr, plan, options.cuda.has_value());
  }
  if (!taken) return tl::unexpected<error>(taken.error());
  runner_device started{std::move(*device), nullptr};
  const std::int32_t num_blocks = started.target->layout().num_blocks;
  if (drafting)
    started.draft = start_draft(
        [&] { return start_draft_model(drafting, *plan.draft, options, plan.target, num_blocks); });
  return started;
}

}  // namespace

result<std::unique_ptr<executor>> load_target(executor_place& place, const cpu_executor_options& cpu) {
  if (const auto begun = place.begin(); !begun) return tl::unexpected<error>(begun.error());
  if (const auto process = place.process()) spdlog::info("runner process {} started", process->id());
  return place.load(target_model, cpu);
}

result<runner_device> reopen(const device_plan& plan, bool with_draft) {
  auto started = start_anew(plan, plan.options, plan.cpu, with_draft);
  if (started) use_kept_tuning(*started->target, plan.tuned_for, plan.tuning_file);
  return started;
}

result<runner_device> reopen_on_cpu(const device_plan& plan, bool with_draft) {
  if (const auto turned = plan.place->turn_to_cpu(); !turned) return tl::unexpected<error>(turned.error());
  engine_options on_cpu = plan.options;
  on_cpu.cuda.reset();
  on_cpu.dtype = plan.last_resort->dtype;
  on_cpu.kv_cache_dtype = plan.last_resort->kv_cache_dtype;
  auto started = start_anew(plan, on_cpu, *plan.last_resort, with_draft);
  if (!started) return started;
  const tuning_key key = tuning_key_of(*started->target, on_cpu.threads);
  use_kept_tuning(*started->target, key, tuning_path(key, on_cpu.tuning_file, on_cpu.tuning_folder));
  return started;
}

result<cpu_executor_options> options_on_cpu(const engine_options& options, const model_config& config,
                                            const cpu_executor_options& cpu) {
  cpu_executor_options out = cpu;
  out.dtype = "auto";
  if (out.kv_cache_dtype != "int8") out.kv_cache_dtype = "auto";
  out.memory_utilization = 0;
  const auto checked = check_cpu_device(out.kernel_path, out.dtype, out.kv_cache_dtype);
  if (!checked) return tl::unexpected<error>(checked.error());
  const auto scratch = kv_pool::create_scratch(config, checked->kv_dtype, out.limits.block_size);
  if (!scratch) return tl::unexpected<error>(scratch.error());
  const std::int32_t blocks = blocks_for(out.limits.max_model_len, out.limits.block_size);
  out.limits.kv_cache_bytes =
      std::max(options.kv_cache_bytes, static_cast<std::size_t>(blocks) * scratch->layout().bytes_per_block);
  return out;
}

device_process process_of(const std::shared_ptr<executor_place>& place) {
  const auto ask = [place](auto question) {
    return [place, question] {
      const auto process = place->process();
      return process ? question(*process) : decltype(question(*process)){};
    };
  };
  device_process out;
  out.id = ask([](const process_handle& process) -> std::int32_t { return process.id(); });
  out.has_ended = ask([](const process_handle& process) { return process.has_ended(); });
  out.was_killed = ask([](process_handle& process) { return process.was_killed_by_others(); });
  out.work = [place] {
    const auto process = place->process();
    const bool is_there = process && !process->has_ended();
    return is_there ? process->work() : read_work_of_other_threads();  // of who makes ready for the next
  };
  out.describe_end = ask([](process_handle& process) {
    return fmt::format("the runner process {} has ended: {}", process.id(), process.how_it_ended());
  });
  out.describe_threads = ask([](const process_handle& process) { return process.describe_threads(); });
  out.kill = [place] {
    const auto process = place->process();
    if (process && !process->has_ended()) return process->kill();
    kill_child_being_started();  // the next one, which hangs before anybody knows it
  };
  out.ended_cpu_seconds = [place] { return place->ended_cpu_seconds(); };
  return out;
}

}  // namespace troupe
