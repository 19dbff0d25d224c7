// The token list of a model file, checked.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/gguf/gguf.hpp"
#include "runtime/request.hpp"
#include "runtime/result.hpp"

namespace troupe {

// tokenizer.ggml.token_type's own numbers.
enum class token_type : std::uint8_t { normal = 1, unknown, control, user_defined, unused, byte };

struct vocabulary {
  vocabulary() = default;
  vocabulary(const vocabulary&) = delete;  // `ids` looks into `texts`, which a move keeps in place
  vocabulary& operator=(const vocabulary&) = delete;
  vocabulary(vocabulary&&) = default;
  vocabulary& operator=(vocabulary&&) = default;

  std::vector<std::string> texts;                      // [token], as spelled in the file
  std::vector<token_type> types;                       // [token]
  std::vector<bool> ends_generation;                   // [token]
  std::unordered_map<std::string_view, token_id> ids;  // into texts; empty texts are left out
  std::optional<token_id> bos, eos, unknown;
  bool add_bos = false;
  bool add_eos = false;
  std::vector<std::string> warnings;  // of what the file says wrongly, or not at all, in lines for people

  std::optional<token_id> find(std::string_view text) const;
  token_type type(token_id id) const { return types[static_cast<std::size_t>(id)]; }
  std::size_t size() const { return texts.size(); }
};

// What a kind of tokenizer takes for granted where the file is silent.
struct vocabulary_defaults {
  bool add_bos = false;
  bool byte_tokens = false;  // "<0x0A>" is a byte even in a file without token types
  std::optional<token_id> bos, eos, unknown;
};

// Reads tokenizer.ggml.tokens, token_type and the special ids. Errors: corrupt_file, naming the field.
result<vocabulary> read_vocabulary(const gguf::file& file, const vocabulary_defaults& defaults);

// An array of strings, or one number per token. Errors: corrupt_file when it is missing or of another kind or
// size.
result<const std::vector<std::string_view>*> read_strings(const gguf::file& file, std::string_view key);
result<std::vector<float>> read_scores(const gguf::file& file, std::size_t tokens);

// "<0x0A>" -> 10.
std::optional<unsigned char> parse_byte_token(std::string_view text);

}  // namespace troupe
