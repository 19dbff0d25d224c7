#include "runtime/tokenizer/bpe_tokenizer.hpp"

#include <fmt/format.h>

#include <utility>

#include "runtime/tokenizer/byte_level.hpp"
#include "runtime/tokenizer/compose.hpp"
#include "runtime/utf8.hpp"

namespace troupe {
namespace {

constexpr std::string_view unsaid = "default";

result<merge_table> read_merges(const gguf::file& file, const vocabulary& vocabulary) {
  constexpr std::string_view key = "tokenizer.ggml.merges";
  const auto rules = read_strings(file, key);
  if (!rules) return tl::unexpected(rules.error());
  if ((*rules)->size() >= merge_candidate::no_rank)
    return fail(error_code::corrupt_file, fmt::format("{} is too long", key));
  merge_table merges((*rules)->size());
  std::string joined;
  for (std::size_t rank = 0; rank < (*rules)->size(); ++rank) {
    const auto rule = (**rules)[rank];
    const auto space = rule.find(' ', 1);
    if (space == std::string_view::npos) {
      return fail(error_code::corrupt_file, fmt::format("{}: entry {} is not a pair", key, rank));
    }
    joined.assign(rule.substr(0, space)).append(rule.substr(space + 1));
    const auto left = vocabulary.find(rule.substr(0, space));
    const auto right = vocabulary.find(rule.substr(space + 1));
    const auto merged = vocabulary.find(joined);
    if (!left || !right || !merged) {
      return fail(error_code::corrupt_file,
                  fmt::format("{}: entry {} names a token that is not in the vocabulary", key, rank));
    }
    merges.add(*left, *right, *merged);
  }
  return merges;
}

std::vector<std::string> spell_out(const vocabulary& vocabulary) {
  std::vector<std::string> pieces;
  pieces.reserve(vocabulary.size());
  for (std::size_t id = 0; id < vocabulary.size(); ++id) {
    const bool spelled =
        vocabulary.types[id] == token_type::normal || vocabulary.types[id] == token_type::unused;
    pieces.push_back(spelled ? spelled_bytes(vocabulary.texts[id]) : vocabulary.texts[id]);
  }
  return pieces;
}

}  // namespace

result<tokenizer_ptr> bpe_tokenizer::load(const gguf::file& file) {
  constexpr std::string_view key = "tokenizer.ggml.pre";
  const bool is_missing = file.find(key) == nullptr;
  const auto name = is_missing ? result<std::string_view>(unsaid) : file.get_string(key);
  if (!name) return tl::unexpected(name.error());
  auto pattern = pre_tokenizer::named(*name);
  if (!pattern) return tl::unexpected(pattern.error());
  vocabulary_defaults defaults;
  defaults.add_bos = pattern->adds_bos();
  auto vocabulary = read_vocabulary(file, defaults);
  if (!vocabulary) return tl::unexpected(vocabulary.error());
  if (*name == unsaid)
    vocabulary->warnings.push_back(
        fmt::format("{} {}: text is split as llama.cpp splits it then, maybe not as the model has learned it",
                    key, is_missing ? "is missing" : "does not say how text is split"));
  auto merges = read_merges(file, *vocabulary);
  if (!merges) return tl::unexpected(merges.error());
  auto pieces = spell_out(*vocabulary);
  return tokenizer_ptr(
      new bpe_tokenizer(std::move(*vocabulary), std::move(pieces), std::move(*pattern), std::move(*merges)));
}

bpe_tokenizer::bpe_tokenizer(vocabulary vocabulary, std::vector<std::string> pieces, pre_tokenizer pattern,
                             merge_table merges)
    : vocabulary_tokenizer(std::move(vocabulary), std::move(pieces), true),
      pattern_(std::move(pattern)),
      merges_(std::move(merges)) {
  for (std::size_t byte = 0; byte < 256; ++byte)
    byte_tokens_[byte] = words().find(byte_spellings()[byte]).value_or(-1);
}

void bpe_tokenizer::encode_text(std::string_view text, bool /*fresh*/, std::vector<token_id>& ids) const {
  greedy_merger merger;
  std::vector<merge_symbol> symbols;
  std::string composed;
  while (!text.empty()) {
    const auto valid = text.substr(0, valid_utf8_prefix(text));
    pre_tokenizer::splitter splitter(pattern_, pattern_.composes() ? compose(valid, composed) : valid);
    for (auto piece = splitter.next(); !piece.empty(); piece = splitter.next())
      encode_piece(piece, merger, symbols, ids);
    text.remove_prefix(valid.size());
    while (!text.empty() && valid_utf8_prefix(text.substr(0, 4)) == 0) {
      append_byte(text[0], ids);
      text.remove_prefix(1);
    }
  }
}

std::size_t bpe_tokenizer::most_bytes_for_one() const {
  return pattern_.composes() ? most_bytes_composed_to_one : 1;
}

void bpe_tokenizer::encode_piece(std::string_view piece, greedy_merger& merger,
                                 std::vector<merge_symbol>& symbols, std::vector<token_id>& ids) const {
  if (const auto whole = whole_piece(piece)) {
    ids.push_back(*whole);
    return;
  }
  symbols.clear();
  symbols.reserve(piece.size());
  for (std::size_t at = 0; at < piece.size(); ++at) {
    symbols.push_back({piece.substr(at, 1), byte_tokens_[static_cast<unsigned char>(piece[at])]});
  }
  merger.run(symbols, [this](const merge_symbol& left, const merge_symbol& right) {
    return left.id < 0 || right.id < 0 ? merge_candidate{} : merges_.find(left.id, right.id);
  });
  for (const auto& symbol : symbols) {
    if (symbol.id >= 0) {
      ids.push_back(symbol.id);
    } else {
      append_byte(symbol.text[0], ids);
    }
  }
}

void bpe_tokenizer::append_byte(char byte, std::vector<token_id>& ids) const {
  const auto id = byte_tokens_[static_cast<unsigned char>(byte)];
  if (id >= 0) ids.push_back(id);
}

std::optional<token_id> bpe_tokenizer::whole_piece(std::string_view piece) const {
  if (!pattern_.prefers_whole_pieces()) return std::nullopt;
  std::string spelled;
  for (const char byte : piece) spelled += byte_spellings()[static_cast<unsigned char>(byte)];
  const auto id = words().find(spelled);
  return id && words().type(*id) == token_type::normal ? id : std::nullopt;
}

}  // namespace troupe
