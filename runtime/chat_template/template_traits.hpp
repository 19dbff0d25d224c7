// What a chat template makes of chats that not every one takes: found by having it write a few.
#pragma once

namespace troupe {

class chat_template;

struct template_traits {
  bool writes_tool_calls = false;         // chat_template::writes_tool_calls
  bool knows_developers = false;          // chat_template::knows_developers
  bool takes_one_system_message = false;  // chat_template::takes_one_system_message
};

template_traits find_traits(const chat_template& chat);

}  // namespace troupe
