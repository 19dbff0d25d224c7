#include "actors/device_plan.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "runtime/blocks_for.hpp"
#include "runtime/executor/cpu_device.hpp"
#include "runtime/executor/kv_pool.hpp"
#include "runtime/isolation/exit_with_children.hpp"

namespace troupe {
namespace {

// Drafts are no reason to end: without them the same is served.
std::shared_ptr<draft_model> reopen_draft(const device_plan& plan) try {
  if (!plan.draft) return nullptr;
  auto draft = load_draft_model(*plan.place, *plan.draft, plan.options, plan.target);
  if (draft) return std::move(*draft);
  spdlog::warn("{}: there are no drafts any more", draft.error().message);
  return nullptr;
} catch (const device_lost&) {
  throw;
} catch (const std::exception& fault) {
  spdlog::warn("the draft model failed at its start: {}: there are no drafts any more", fault.what());
  return nullptr;
}

// An executor with steps and a KV cache as large as requests need that were accepted before. A CUDA device
// chooses its products while it is profiled, as at first; on the CPU that would only take time.
result<std::unique_ptr<executor>> start_anew(const device_plan& plan, const cpu_executor_options& cpu,
                                             bool is_profiled) {
  auto device = load_target(*plan.place, cpu);
  if (!device) return device;
  if (const auto room = (*device)->reserve_steps(plan.padded.rows, plan.padded.sequences); !room)
    return tl::unexpected<error>(room.error());
  if (is_profiled)
    if (const auto profile = (*device)->profile(); !profile) return tl::unexpected<error>(profile.error());
  if (const auto taken = (*device)->take_kv_cache(); !taken) return tl::unexpected<error>(taken.error());
  const kv_layout layout = (*device)->layout();
  const std::int64_t held = std::int64_t{layout.num_blocks} * layout.block_size;
  if (held >= plan.target.max_model_len) return device;
  return fail(error_code::resource_exhausted,
              fmt::format("the KV cache holds {} tokens, but a context may have {}", held,
                          plan.target.max_model_len));
}

}  // namespace

result<std::unique_ptr<executor>> load_target(executor_place& place, const cpu_executor_options& cpu) {
  if (const auto begun = place.begin(); !begun) return tl::unexpected<error>(begun.error());
  if (const auto process = place.process()) spdlog::info("runner process {} started", process->id());
  return place.load(target_model, cpu);
}

result<runner_device> reopen(const device_plan& plan) {
  auto device = start_anew(plan, plan.cpu, plan.options.cuda.has_value());
  if (!device) return tl::unexpected<error>(device.error());
  use_kept_tuning(**device, plan.tuned_for, plan.tuning_file);
  return runner_device{std::move(*device), reopen_draft(plan)};
}

result<runner_device> reopen_on_cpu(const device_plan& plan) {
  if (const auto turned = plan.place->turn_to_cpu(); !turned) return tl::unexpected<error>(turned.error());
  auto device = start_anew(plan, *plan.last_resort, false);
  if (!device) return tl::unexpected<error>(device.error());
  const tuning_key key = tuning_key_of(**device, plan.options.threads);
  use_kept_tuning(**device, key, tuning_path(key, plan.options.tuning_file, plan.options.tuning_folder));
  return runner_device{std::move(*device), reopen_draft(plan)};
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
    kill_children();  // the next one, which hangs before anybody knows it
  };
  out.ended_cpu_seconds = [place] { return place->ended_cpu_seconds(); };
  return out;
}

}  // namespace troupe
