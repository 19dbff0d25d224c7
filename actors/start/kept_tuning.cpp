#include "actors/start/kept_tuning.hpp"

#include <spdlog/spdlog.h>

#include "kernels/dispatch.hpp"
#include "runtime/executor/machine/usable_cores.hpp"

namespace troupe {

tuning_key tuning_key_of(executor& device, std::int32_t threads) {
  tuning_key key;
  key.cpu = kernels::cpu_model();
  key.kernel_path = device.kernel_path();
  key.threads = threads > 0 ? threads : usable_cores();
  if (const step_plans* plans = device.plans()) key.shape = plans->shape();
  return key;
}

result<std::size_t> use_plans(executor& device, const tuning_key& key, const std::filesystem::path& file) {
  const result<tuned_plans> kept = read_tuning_file(file, key);
  if (!kept) return tl::unexpected<error>(kept.error());
  for (const auto& [rows, plan] : *kept) device.plans()->use(rows, plan);
  return kept->size();
}

bool use_kept_tuning(executor& device, const tuning_key& key, const std::filesystem::path& file) {
  if (file.empty() || device.plans() == nullptr) return false;
  const result<std::size_t> kept = use_plans(device, key, file);
  if (!kept) {
    if (kept.error().code != error_code::not_found)
      spdlog::warn("{}: plans are chosen anew", kept.error().message);
    return false;
  }
  spdlog::info("tuning of {} row counts read from {}", *kept, file.string());
  return true;
}

}  // namespace troupe
