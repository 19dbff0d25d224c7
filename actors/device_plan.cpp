#include "actors/device_plan.hpp"

#include <spdlog/spdlog.h>

#include <exception>
#include <utility>

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

}  // namespace

result<std::unique_ptr<executor>> load_target(executor_place& place, const cpu_executor_options& cpu) {
  if (const auto begun = place.begin(); !begun) return tl::unexpected<error>(begun.error());
  if (const auto process = place.process()) spdlog::info("runner process {} started", process->id());
  return place.load(target_model, cpu);
}

result<runner_device> reopen(const device_plan& plan) {
  auto device = load_target(*plan.place, plan.cpu);
  if (!device) return tl::unexpected<error>(device.error());
  if (const auto room = (*device)->reserve_steps(plan.padded.rows, plan.padded.sequences); !room)
    return tl::unexpected<error>(room.error());
  if (const auto taken = (*device)->take_kv_cache(); !taken) return tl::unexpected<error>(taken.error());
  use_kept_tuning(**device, plan.tuned_for, plan.tuning_file);
  return runner_device{std::move(*device), reopen_draft(plan)};
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
  out.describe_threads = ask([](const process_handle& process) { return process.describe_threads(); });
  out.kill = [place] {
    if (const auto process = place->process()) process->kill();
  };
  out.ended_cpu_seconds = [place] { return place->ended_cpu_seconds(); };
  return out;
}

}  // namespace troupe
