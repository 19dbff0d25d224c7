#include "main/screen/terminal.hpp"

#include <spdlog/details/os.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace troupe::cli {

bool on_terminal() { return ::isatty(STDERR_FILENO) == 1; }

bool can_be_drawn_over(int descriptor) {
  const char* const kind = std::getenv("TERM");
  return ::isatty(descriptor) == 1 && kind != nullptr && std::string_view(kind) != "dumb";
}

bool may_have_colors(int descriptor) {
  const char* const unwanted = std::getenv("NO_COLOR");
  if (unwanted != nullptr && *unwanted != '\0') return false;
  return can_be_drawn_over(descriptor) && spdlog::details::os::is_color_terminal();
}

}  // namespace troupe::cli
