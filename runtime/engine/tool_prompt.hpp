// Tools, calls and their results as messages, for chat templates that know nothing of tools.
#pragma once
#include "runtime/json/json.hpp"

namespace troupe {

// `messages`: an array of objects whose contents are strings (openai::read_messages), their calls' arguments
// objects; `tools`: an array, or null for none. The tools and how to call them are added to the system
// message, or become one; an assistant's calls are written out behind its text, in the form of
// runtime/grammar/notations/tool_calls.hpp, and results become a user's message, together with what users say
// before the next answer, since there are templates that want users and assistants to take turns.
void write_out_tools(json& messages, const json& tools);

// For templates that have no system message: what it says is put in front of the first user's. False where
// there is none of the one or the other.
bool tell_the_user_instead(json& messages);

}  // namespace troupe
