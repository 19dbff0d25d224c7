#include "runtime/openai/tokenizer_info.hpp"

#include <optional>
#include <string_view>

#include "runtime/json/json_writer.hpp"
#include "runtime/utf8.hpp"

namespace troupe::openai {

std::string tokenizer_info_answer(const tokenizer& vocabulary, const chat_template& chat) {
  std::string body;
  json_writer out(body);
  const auto write_token = [&](std::string_view name, std::optional<token_id> id) {
    out.key(name);
    if (id) {
      out.string(replace_invalid_utf8(vocabulary.piece(*id)));
    } else {
      out.null();
    }
  };
  out.begin_object().key("tokenizer_class").string("PreTrainedTokenizerFast");
  write_token("bos_token", vocabulary.bos());
  write_token("eos_token", vocabulary.eos());
  write_token("pad_token", vocabulary.eos());
  out.key("chat_template").string(chat.source()).end_object();
  return body;
}

}  // namespace troupe::openai
