#include "runtime/tokenizer/sentencepiece_tokenizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "runtime/utf8.hpp"

namespace troupe {
namespace {

constexpr std::string_view space_mark = "\xE2\x96\x81";  // U+2581

std::string marks_to_spaces(std::string_view text) {
  std::string spaced;
  for (std::size_t at = 0; at < text.size();) {
    const bool mark = text.substr(at).starts_with(space_mark);
    spaced += mark ? ' ' : text[at];
    at += mark ? space_mark.size() : 1;
  }
  return spaced;
}

std::string spaces_to_marks(std::string_view text) {
  std::string marked;
  marked.reserve(text.size() + text.size() / 4);
  for (const char byte : text) {
    if (byte == ' ') {
      marked += space_mark;
    } else {
      marked += byte;
    }
  }
  return marked;
}

result<std::vector<std::string>> spell_pieces(const vocabulary& vocabulary) {
  std::vector<std::string> pieces;
  pieces.reserve(vocabulary.size());
  for (std::size_t id = 0; id < vocabulary.size(); ++id) {
    const auto& text = vocabulary.texts[id];
    switch (vocabulary.types[id]) {
      case token_type::byte: {
        const auto byte = parse_byte_token(text);
        if (!byte)
          return fail(error_code::corrupt_file,
                      fmt::format("tokenizer.ggml.tokens: token {} is no byte token", id));
        pieces.emplace_back(1, static_cast<char>(*byte));
        break;
      }
      case token_type::control:
      case token_type::unknown:
        pieces.push_back(text);
        break;
      default:
        pieces.push_back(marks_to_spaces(text));
    }
  }
  return pieces;
}

std::vector<std::uint32_t> rank_by_score(const std::vector<float>& scores) {
  auto order = scores;
  std::sort(order.begin(), order.end(), std::greater<>{});
  order.erase(std::unique(order.begin(), order.end()), order.end());
  std::vector<std::uint32_t> ranks;
  ranks.reserve(scores.size());
  for (const float score : scores) {
    const auto place = std::lower_bound(order.begin(), order.end(), score, std::greater<>{});
    ranks.push_back(static_cast<std::uint32_t>(place - order.begin()));
  }
  return ranks;
}

}  // namespace

result<tokenizer_ptr> sentencepiece_tokenizer::load(const gguf::file& file) {
  // Where the file is silent: the ids that SentencePiece gives these tokens by default.
  auto vocabulary =
      read_vocabulary(file, {.add_bos = true, .byte_tokens = true, .bos = 1, .eos = 2, .unknown = 0});
  if (!vocabulary) return tl::unexpected(vocabulary.error());
  const auto scores = read_scores(file, vocabulary->size());
  if (!scores) return tl::unexpected(scores.error());
  const auto add_space_prefix = file.get_bool_or("tokenizer.ggml.add_space_prefix", true);
  if (!add_space_prefix) return tl::unexpected(add_space_prefix.error());
  auto pieces = spell_pieces(*vocabulary);
  if (!pieces) return tl::unexpected(pieces.error());
  return tokenizer_ptr(
      new sentencepiece_tokenizer(std::move(*vocabulary), std::move(*pieces), *scores, *add_space_prefix));
}

sentencepiece_tokenizer::sentencepiece_tokenizer(vocabulary vocabulary, std::vector<std::string> pieces,
                                                 const std::vector<float>& scores, bool add_space_prefix)
    : vocabulary_tokenizer(std::move(vocabulary), std::move(pieces), false),
      ranks_(rank_by_score(scores)),
      add_space_prefix_(add_space_prefix) {
  byte_tokens_.fill(-1);
  for (token_id id = 0; id < vocab_size(); ++id) {
    const auto type = words().type(id);
    if (type == token_type::user_defined) user_defined_.add(spaces_to_marks(piece(id)), id, true);
    if (type == token_type::byte) byte_tokens_[static_cast<unsigned char>(piece(id)[0])] = id;
    longest_ = std::max(longest_, words().texts[static_cast<std::size_t>(id)].size());
  }
}

std::string sentencepiece_tokenizer::decode(std::span<const token_id> ids, bool skip_special_tokens) const {
  auto text = vocabulary_tokenizer::decode(ids, skip_special_tokens);
  const auto first = std::find_if(ids.begin(), ids.end(),
                                  [&](token_id id) { return !skip_special_tokens || !is_special(id); });
  if (add_space_prefix_ && first != ids.end() && piece(*first).starts_with(' ')) text.erase(0, 1);
  return text;
}

void sentencepiece_tokenizer::encode_text(std::string_view text, bool fresh,
                                          std::vector<token_id>& ids) const {
  const auto marked =
      (fresh && add_space_prefix_ ? std::string(space_mark) : std::string()) + spaces_to_marks(text);
  const std::string_view whole = marked;
  std::size_t position = 0;
  while (const auto match = user_defined_.find(whole, position, false)) {
    encode_marked(whole.substr(position, match->begin - position), ids);
    ids.push_back(match->id);
    position = match->begin + match->size;
  }
  encode_marked(whole.substr(position), ids);
}

void sentencepiece_tokenizer::encode_marked(std::string_view marked, std::vector<token_id>& ids) const {
  std::vector<merge_symbol> symbols;
  for (auto rest = marked; !rest.empty();) {
    const auto unit = first_utf8_unit(rest);
    const auto size = unit.what == utf8_unit::kind::character ? unit.size : 1;
    symbols.push_back({rest.substr(0, size), mergeable(rest.substr(0, size)).value_or(-1)});
    rest.remove_prefix(size);
  }
  splits unused;
  greedy_merger merger;
  merger.run(symbols, [&](const merge_symbol& left, const merge_symbol& right) -> merge_candidate {
    const auto id = mergeable({left.text.data(), left.text.size() + right.text.size()});
    if (!id) return {};
    if (words().type(*id) == token_type::unused) unused.insert_or_assign(*id, split{left, right});
    return {ranks_[static_cast<std::size_t>(*id)], *id};
  });
  for (const auto& symbol : symbols) append(symbol, unused, ids);
}

std::optional<token_id> sentencepiece_tokenizer::mergeable(std::string_view text) const {
  if (text.size() > longest_) return std::nullopt;
  const auto id = words().find(text);
  if (!id) return std::nullopt;
  const auto type = words().type(*id);
  const bool text_token =
      type == token_type::normal || type == token_type::user_defined || type == token_type::unused;
  return text_token ? id : std::nullopt;
}

// An unused token may stand in the middle of merging, but not in the result: it comes apart as it was joined.
void sentencepiece_tokenizer::append(const merge_symbol& symbol, const splits& unused,
                                     std::vector<token_id>& ids) const {
  std::vector<merge_symbol> open{symbol};
  while (!open.empty()) {
    const auto next = open.back();
    open.pop_back();
    if (next.id >= 0 && words().type(next.id) != token_type::unused) {
      ids.push_back(next.id);
    } else if (const auto parts = unused.find(next.id); next.id >= 0 && parts != unused.end()) {
      open.push_back(parts->second.right);
      open.push_back(parts->second.left);
    } else {
      append_bytes(next.text, ids);
    }
  }
}

void sentencepiece_tokenizer::append_bytes(std::string_view text, std::vector<token_id>& ids) const {
  const auto byte_token = [this](char byte) { return byte_tokens_[static_cast<unsigned char>(byte)]; };
  if (std::all_of(text.begin(), text.end(), [&](char byte) { return byte_token(byte) >= 0; })) {
    for (const char byte : text) ids.push_back(byte_token(byte));
  } else if (words().unknown) {
    ids.push_back(*words().unknown);
  }
}

}  // namespace troupe
