#include "runtime/tokenizer/tokenizer.hpp"

#include <fmt/format.h>

#include "runtime/tokenizer/bpe_tokenizer.hpp"
#include "runtime/tokenizer/sentencepiece_tokenizer.hpp"
#include "runtime/utf8.hpp"

namespace troupe {

result<tokenizer_ptr> load_tokenizer(const gguf::file& file) {
  constexpr std::string_view key = "tokenizer.ggml.model";
  if (file.find(key) == nullptr) return fail(error_code::corrupt_file, fmt::format("{} is missing", key));
  const auto kind = file.get_string(key);
  if (!kind) return tl::unexpected(kind.error());
  if (*kind == "gpt2") return bpe_tokenizer::load(file);
  if (*kind == "llama") return sentencepiece_tokenizer::load(file);
  return fail(error_code::unsupported, fmt::format("{}: tokenizers of the kind '{}' are not supported", key,
                                                   replace_invalid_utf8(kind->substr(0, 100))));
}

}  // namespace troupe
