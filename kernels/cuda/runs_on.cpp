// Of compiled_for.hpp, for the host.
#include <charconv>

#include "kernels/cuda/compiled_for.hpp"

namespace troupe::kernels::cuda {
namespace {

struct capability {
  int number = 0;   // 10 major + minor
  char kind = ' ';  // 'a', 'f'
};

// The next of them, which is taken from the list.
capability take_capability(std::string_view& list) {
  const std::string_view text = list.substr(0, list.find(','));
  list.remove_prefix(text.size() < list.size() ? text.size() + 1 : text.size());
  capability out;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), out.number).ptr;
  if (end != text.data() + text.size()) out.kind = *end;
  return out;
}

}  // namespace

bool runs_on(std::string_view capabilities, int major, int minor) {
  if (capabilities.empty()) return true;
  const int device = 10 * major + minor;
  capability newest;
  while (!capabilities.empty()) {
    const capability each = take_capability(capabilities);
    if (each.number >= newest.number) newest = each;  // the list ascends, 90 before 90a
    if (each.number == device) return true;
    if (each.kind != 'a' && each.number / 10 == major && each.number < device) return true;
  }
  return newest.kind == ' ' && device > newest.number;
}

}  // namespace troupe::kernels::cuda
