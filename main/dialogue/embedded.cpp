#include "main/dialogue/embedded.hpp"

#include <unistd.h>

#include <utility>

#include "main/exit_code.hpp"
#include "main/load.hpp"
#include "main/log/logging.hpp"
#include "main/screen/progress.hpp"
#include "main/screen/terminal.hpp"
#include "main/setup/company_options.hpp"
#include "main/setup/default_model.hpp"

namespace troupe::cli {

tl::expected<std::unique_ptr<company>, int> start_embedded(config::setting_sources sources) {
  auto loaded = load(std::move(sources));
  if (!loaded) return tl::unexpected(loaded.error());
  config::settings& settings = loaded->values;
  if (!loaded->origins.contains("max_num_seqs")) settings.max_num_seqs = 1;
  if (!loaded->origins.contains("log_level")) settings.log_level = "warn";
  start_logging(settings);
  const auto path = find_model(settings.model);
  if (!path) return tl::unexpected(report(with_origin(*loaded, path.error())));

  auto options = to_company_options(settings, *path);
  if (!options) return tl::unexpected(report(with_origin(*loaded, options.error())));
  options->traces.reset();  // of requests to gateways, which there are none of
  auto started = company::start(std::move(*options));
  if (!started) return tl::unexpected(report(with_origin(*loaded, started.error())));
  progress_bar bar(can_be_drawn_over(STDERR_FILENO));
  const auto ready = (*started)->wait_ready(
      [&bar](const auto& item) { bar.update(item.done, item.total, "warm-up: " + item.what); });
  if (!ready) {
    bar.clear();
    return tl::unexpected(report(ready.error()));
  }
  return std::move(*started);
}

}  // namespace troupe::cli
