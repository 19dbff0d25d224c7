// The texts of an expression that has few of them.
#include <algorithm>

#include "runtime/grammar/regex/regex_store.hpp"

namespace troupe::grammar {

std::optional<std::vector<std::string>> regex_store::list(regex_id r, std::size_t most, step_budget& budget) {
  struct visit {
    regex_id id;
    unsigned next = 0;      // byte
    byte_set nowhere = {};  // bytes that lead to nothing
  };
  std::vector<std::string> out;
  std::string text;  // of the path
  std::vector<visit> path;
  // False where it goes round, so that there may be texts without end.
  const auto enter = [&](regex_id id) {
    if (std::ranges::find(path, id, &visit::id) != path.end()) return false;
    path.push_back({id});
    if (is_nullable(id)) out.push_back(text);
    return out.size() <= most;
  };
  if (!enter(r)) return std::nullopt;
  while (!path.empty()) {
    visit& top = path.back();
    if (top.next == 256) {
      path.pop_back();
      if (!path.empty()) text.pop_back();
      continue;
    }
    const auto byte = static_cast<unsigned char>(top.next++);
    if (top.nowhere.contains(byte)) continue;
    if (!budget.spend()) return std::nullopt;
    const regex_id next = derivative(top.id, byte, budget);
    if (budget.is_spent() || failure_) return std::nullopt;
    if (next == nothing()) {
      top.nowhere = top.nowhere | alike_;
      continue;
    }
    text += static_cast<char>(byte);
    if (!enter(next)) return std::nullopt;
  }
  return out;
}

}  // namespace troupe::grammar
