#include "main/setup/choose_device.hpp"

#include <algorithm>

#include "runtime/executor/machine/usable_cores.hpp"

namespace troupe {
namespace {

void set_unless_given(const config::loaded_settings& loaded, std::string_view name, std::int32_t& value,
                      std::int32_t usual) {
  if (!loaded.origins.contains(name)) value = usual;
}

// A running request waits for the steps of prompts beside it. Larger ones compute no more tokens a second on
// two cores (docs/benchmarks.md, "The service under load"); more threads have more rows to share.
void choose_for_cpu(config::loaded_settings& loaded) {
  config::settings& settings = loaded.values;
  if (!settings.enable_chunked_prefill) return;
  const std::int32_t threads = settings.threads > 0 ? settings.threads : usable_cores();
  const std::int32_t wanted = std::max(64 * std::min(threads, 64), 2 * settings.max_num_seqs);
  set_unless_given(loaded, "max_num_batched_tokens", settings.max_num_batched_tokens,
                   std::clamp(wanted, 128, 512));
}

void choose_for_cuda(config::loaded_settings& loaded) {
  config::settings& settings = loaded.values;
  set_unless_given(loaded, "max_num_batched_tokens", settings.max_num_batched_tokens, 8192);
  set_unless_given(loaded, "max_num_seqs", settings.max_num_seqs, 256);
}

}  // namespace

tl::expected<void, std::string> choose_device(config::loaded_settings& loaded, const cuda_support& cuda) {
  config::settings& settings = loaded.values;
  if (settings.device == "cpu") {
    choose_for_cpu(loaded);
    return {};
  }
  const auto found = cuda.find ? cuda.find(settings.device_id) : tl::unexpected<error>(built_without_cuda());
  if (!found) {
    if (settings.device == "auto") {
      if (cuda.find) loaded.notes.push_back("device is auto, and the CPU it is: " + found.error().message);
      choose_for_cpu(loaded);
      return {};
    }
    return tl::unexpected(config::origin_of(loaded, "device") + ": device is cuda, but " +
                          found.error().message);
  }
  settings.device = "cuda";
  choose_for_cuda(loaded);
  return {};
}

void keep_device(config::loaded_settings& loaded, const std::string& in_use) {
  std::string& device = loaded.values.device;
  if (device == "auto") device = in_use;
  if (device == "cuda")
    choose_for_cuda(loaded);
  else
    choose_for_cpu(loaded);
}

}  // namespace troupe
