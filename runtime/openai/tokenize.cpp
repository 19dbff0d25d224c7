#include "runtime/openai/tokenize.hpp"

#include <utility>

#include "runtime/json/json_writer.hpp"
#include "runtime/openai/field_reader.hpp"
#include "runtime/openai/messages.hpp"
#include "runtime/openai/tools.hpp"

namespace troupe::openai {
namespace {

result<std::variant<chat_prompt, text_prompt>> read_source(field_reader& fields) {
  if (const json* const messages = fields.find("messages")) {
    auto conversation = read_messages(*messages);
    if (!conversation) return tl::unexpected<error>(conversation.error());
    chat_prompt chat{std::move(*conversation)};
    chat.tools = read_offered_tools(fields);
    read_rendering(fields, chat);
    return chat;
  }
  const json* const prompt = fields.find("prompt");
  if (prompt == nullptr) return fail(error_code::invalid_argument, "prompt or messages is missing", "prompt");
  if (!prompt->is_string()) return fail(error_code::invalid_argument, "prompt must be a string", "prompt");
  text_prompt text{prompt->get<std::string>()};
  fields.read("add_special_tokens", text.add_special_tokens);
  return text;
}

}  // namespace

result<tokenize_request> parse_tokenize(const json& body, const request_context& context) {
  if (auto known = check_model(body, context); !known) return tl::unexpected<error>(known.error());
  field_reader fields(body);
  auto source = read_source(fields);
  if (!source) return tl::unexpected<error>(source.error());
  tokenize_request parsed{std::move(*source)};
  fields.read("return_token_strs", parsed.return_token_strs);
  if (auto status = fields.status(); !status) return tl::unexpected<error>(status.error());
  return parsed;
}

result<std::vector<token_id>> parse_detokenize(const json& body, const request_context& context) {
  if (auto known = check_model(body, context); !known) return tl::unexpected<error>(known.error());
  const json* const tokens = field_reader(body).find("tokens");
  if (tokens == nullptr) return fail(error_code::invalid_argument, "tokens is missing", "tokens");
  if (!tokens->is_array()) {
    return fail(error_code::invalid_argument, "tokens must be an array of token ids", "tokens");
  }
  return read_token_ids(*tokens, context.vocab_size, "tokens");
}

std::string detokenize_answer(std::string_view text) {
  std::string body;
  json_writer(body).begin_object().key("prompt").string(text).end_object();
  return body;
}

}  // namespace troupe::openai
