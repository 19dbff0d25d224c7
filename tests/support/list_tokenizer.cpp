#include "tests/support/list_tokenizer.hpp"

#include <utility>

namespace troupe::test {
namespace {

class list_tokenizer final : public tokenizer {
 public:
  explicit list_tokenizer(std::vector<std::string> texts) : texts_(std::move(texts)) {}

  std::vector<token_id> encode(std::string_view text, const encode_options&) const override {
    std::vector<token_id> ids;
    while (!text.empty()) {
      const std::optional<token_id> longest = longest_at(text);
      if (longest) ids.push_back(*longest);
      text.remove_prefix(longest ? piece(*longest).size() : 1);
    }
    return ids;
  }
  std::string_view piece(token_id id) const override {
    return id < 0 || id >= vocab_size() ? std::string_view() : texts_[static_cast<std::size_t>(id)];
  }
  std::string decode(std::span<const token_id> ids, bool) const override {
    std::string text;
    for (const token_id id : ids) text += piece(id);
    return text;
  }
  std::int32_t vocab_size() const override { return static_cast<std::int32_t>(texts_.size()); }
  bool is_special(token_id id) const override { return piece(id).empty(); }
  bool is_end_of_generation(token_id id) const override { return piece(id).empty(); }
  std::optional<token_id> bos() const override { return std::nullopt; }
  std::optional<token_id> eos() const override { return std::nullopt; }
  std::optional<token_id> find(std::string_view) const override { return std::nullopt; }

 private:
  std::optional<token_id> longest_at(std::string_view text) const {
    std::optional<token_id> longest;
    for (token_id id = 0; id < vocab_size(); ++id)
      if (piece(id).size() > (longest ? piece(*longest).size() : 0) && text.starts_with(piece(id)))
        longest = id;
    return longest;
  }

  std::vector<std::string> texts_;
};

}  // namespace

tokenizer_ptr make_list_tokenizer(std::vector<std::string> texts) {
  return std::make_shared<const list_tokenizer>(std::move(texts));
}

tokenizer_ptr byte_tokenizer() {
  std::vector<std::string> texts;
  for (int byte = 0; byte < 256; ++byte) texts.emplace_back(1, static_cast<char>(byte));
  texts.emplace_back();
  return make_list_tokenizer(std::move(texts));
}

}  // namespace troupe::test
