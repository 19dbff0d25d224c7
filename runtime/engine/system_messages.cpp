#include "runtime/engine/system_messages.hpp"

#include <algorithm>
#include <string>

namespace troupe {
namespace {

bool is_above_the_chat(const json& message) {
  const json& role = message["role"];
  return role == "system" || role == "developer";
}

void join_first_ones(json& messages) {
  const auto end = std::find_if_not(messages.begin(), messages.end(), is_above_the_chat);
  if (end - messages.begin() < 2) return;
  auto& joined = messages.front()["content"].get_ref<std::string&>();
  for (auto each = messages.begin() + 1; each != end; ++each) {
    const auto& text = (*each)["content"].get_ref<const std::string&>();
    if (!joined.empty() && !text.empty()) joined += "\n\n";
    joined += text;
  }
  messages.erase(messages.begin() + 1, end);
}

}  // namespace

void fit_system_messages(json& messages, const chat_template& chat) {
  if (!chat.knows_developers())
    for (json& message : messages)
      if (message["role"] == "developer") message["role"] = "system";
  if (chat.takes_one_system_message()) join_first_ones(messages);
}

}  // namespace troupe
