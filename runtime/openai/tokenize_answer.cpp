#include "runtime/openai/tokenize_answer.hpp"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "runtime/json/json_writer.hpp"

namespace troupe::openai {

tokenize_answer::tokenize_answer(std::vector<token_id> tokens, token_namer text_of,
                                 std::int32_t max_model_len)
    : tokens_(std::move(tokens)), text_of_(std::move(text_of)), max_model_len_(max_model_len) {}

std::string tokenize_answer::next(std::size_t bytes) {
  std::string out;
  if (part_ == part::head) write_head(out);
  if (part_ == part::ids) write_ids(out, bytes);
  if (part_ == part::texts) write_texts(out, bytes);
  return out;
}

void tokenize_answer::write_head(std::string& out) {
  fmt::format_to(std::back_inserter(out), R"({{"count":{},"max_model_len":{},"tokens":[)", tokens_.size(),
                 max_model_len_);
  part_ = part::ids;
}

void tokenize_answer::write_ids(std::string& out, std::size_t bytes) {
  for (; at_ < tokens_.size() && out.size() < bytes; ++at_)
    fmt::format_to(std::back_inserter(out), "{}{}", at_ == 0 ? "" : ",", tokens_[at_]);
  if (at_ < tokens_.size()) return;
  out += text_of_ ? R"(],"token_strs":[)" : R"(],"token_strs":null})";
  part_ = text_of_ ? part::texts : part::end;
  at_ = 0;
}

void tokenize_answer::write_texts(std::string& out, std::size_t bytes) {
  for (; at_ < tokens_.size() && out.size() < bytes; ++at_) {
    if (at_ > 0) out += ',';
    append_json_string(out, text_of_(tokens_[at_]));
  }
  if (at_ < tokens_.size()) return;
  out += "]}";
  part_ = part::end;
}

}  // namespace troupe::openai
