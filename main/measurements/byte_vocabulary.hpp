// One token per byte: the cheapest vocabulary there is, for measurements that are not to measure text.
#pragma once
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tokenizer/tokenizer.hpp"

namespace troupe::cli {

class byte_vocabulary final : public tokenizer {
 public:
  byte_vocabulary() {
    for (std::size_t i = 0; i < pieces_.size(); ++i) pieces_[i] = static_cast<char>(i);
  }
  std::vector<token_id> encode(std::string_view text, const encode_options&) const override {
    std::vector<token_id> ids;
    for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
    return ids;
  }
  std::string_view piece(token_id id) const override {
    if (id < 0 || id >= vocab_size()) return {};
    return {&pieces_[static_cast<std::size_t>(id)], 1};
  }
  std::string decode(std::span<const token_id> ids, bool) const override {
    std::string text;
    for (const token_id id : ids) text += piece(id);
    return text;
  }
  std::int32_t vocab_size() const override { return static_cast<std::int32_t>(pieces_.size()); }
  bool is_special(token_id) const override { return false; }
  bool is_end_of_generation(token_id) const override { return false; }
  std::optional<token_id> bos() const override { return std::nullopt; }
  std::optional<token_id> eos() const override { return std::nullopt; }
  std::optional<token_id> find(std::string_view) const override { return std::nullopt; }

 private:
  std::array<char, 256> pieces_{};
};

}  // namespace troupe::cli
