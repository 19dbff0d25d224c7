// The answer of /tokenize in vLLM's shape, written a piece at a time: as a whole it is many times as long as
// its request.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/openai/logprobs.hpp"
#include "runtime/request.hpp"

namespace troupe::openai {

// {"count", "max_model_len", "tokens", "token_strs"}
class tokenize_answer {
 public:
  // `text_of`: of each token, for "token_strs"; empty: that member is null.
  tokenize_answer(std::vector<token_id> tokens, token_namer text_of, std::int32_t max_model_len);

  // The next piece, of `bytes` or a token more; empty: there is none.
  std::string next(std::size_t bytes);

 private:
  enum class part { head, ids, texts, end };
  void write_head(std::string& out);
  void write_ids(std::string& out, std::size_t bytes);
  void write_texts(std::string& out, std::size_t bytes);

  std::vector<token_id> tokens_;
  token_namer text_of_;
  std::int32_t max_model_len_;
  part part_ = part::head;
  std::size_t at_ = 0;  // the next token of this part
};

}  // namespace troupe::openai
