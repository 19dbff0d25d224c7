#include "main/choose_device.hpp"

namespace troupe::cli {
namespace {

void set_unless_given(const config::loaded_settings& loaded, std::string_view name, std::int32_t& value,
                      std::int32_t usual) {
  if (!loaded.origins.contains(name)) value = usual;
}

}  // namespace

tl::expected<void, std::string> choose_device(config::loaded_settings& loaded, const cuda_support& cuda,
                                              const config::file_observer& before_search) {
  config::settings& settings = loaded.values;
  if (settings.device == "cpu") return {};
  if (cuda.find) before_search("the CUDA device");
  const auto found = cuda.find ? cuda.find(settings.device_id) : tl::unexpected<error>(built_without_cuda());
  if (!found) {
    if (settings.device == "auto") {
      if (cuda.find) loaded.notes.push_back("device is auto, and the CPU it is: " + found.error().message);
      return {};
    }
    return tl::unexpected(config::origin_of(loaded, "device") + ": device is cuda, but " +
                          found.error().message);
  }
  settings.device = "cuda";
  set_unless_given(loaded, "max_num_batched_tokens", settings.max_num_batched_tokens, 8192);
  set_unless_given(loaded, "max_num_seqs", settings.max_num_seqs, 256);
  return {};
}

}  // namespace troupe::cli
