// What stands above a chat, as its template takes it.
#pragma once
#include "runtime/chat_template/chat_template.hpp"
#include "runtime/json/json.hpp"

namespace troupe {

// `messages`: an array of objects whose contents are strings (openai::read_messages). The role `developer`,
// OpenAI's newer name for what `system` is, becomes `system` for templates that do not know it; and for those
// that take one system message alone the ones at the beginning become one, with blank lines between their
// texts and the first one's role.
void fit_system_messages(json& messages, const chat_template& chat);

}  // namespace troupe
