#define PCRE2_CODE_UNIT_WIDTH 8
#include "runtime/tokenizer/pre_tokenizer.hpp"

#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <vector>

#include "runtime/tokenizer/split_rules.hpp"
#include "runtime/utf8.hpp"

namespace troupe {
namespace {

// Backtracking steps per byte: more than the patterns can need, so that a limit is met only where PCRE2
// itself fails.
constexpr std::size_t steps_per_byte = 64;

// One pattern at work: on a piece that the pattern before it has left.
struct pass {
  const pcre2_code* code = nullptr;
  std::string_view piece = {};
  std::size_t position = 0;                    // in the piece; all before it is handed out
  std::size_t match_begin = 0, match_end = 0;  // what was found last
};

}  // namespace

struct pre_tokenizer::compiled {
  const split_rules* rules = nullptr;
  std::vector<pcre2_code*> codes;
  compiled() = default;
  compiled(const compiled&) = delete;
  compiled& operator=(const compiled&) = delete;
  ~compiled() {
    for (auto* const code : codes) pcre2_code_free(code);
  }
};

struct pre_tokenizer::splitter::state {
  std::shared_ptr<const pre_tokenizer::compiled> rules;
  std::vector<pass> passes;
  pcre2_match_data* match = nullptr;
  pcre2_match_context* limits = nullptr;
  state() = default;
  state(const state&) = delete;
  state& operator=(const state&) = delete;
  ~state() {
    pcre2_match_data_free(match);
    pcre2_match_context_free(limits);
  }

  void find(pass& at) const;
  std::string_view next_of(std::size_t number);
};

result<pre_tokenizer> pre_tokenizer::named(std::string_view wanted) {
  const auto* const rules = find_split_rules(wanted);
  if (rules == nullptr) {
    return fail(error_code::unsupported,
                fmt::format("tokenizer.ggml.pre: the pre-tokenizer '{}' is not supported; these are: {}",
                            replace_invalid_utf8(wanted.substr(0, 100)), split_rule_names()));
  }
  auto made = std::make_shared<compiled>();
  made->rules = rules;
  for (const char* const pattern : rules->patterns) {
    int code = 0;
    PCRE2_SIZE offset = 0;
    made->codes.push_back(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern), PCRE2_ZERO_TERMINATED,
                                        PCRE2_UTF, &code, &offset, nullptr));
    if (made->codes.back() == nullptr) {
      return fail(error_code::internal,
                  fmt::format("PCRE2 refuses a pattern of '{}': error {} at {}", wanted, code, offset));
    }
    // Where the machine has no JIT, the interpreter does the same.
    pcre2_jit_compile(made->codes.back(), PCRE2_JIT_COMPLETE);
  }
  pre_tokenizer pattern;
  pattern.compiled_ = std::move(made);
  return pattern;
}

bool pre_tokenizer::prefers_whole_pieces() const { return compiled_->rules->whole_pieces; }
bool pre_tokenizer::adds_bos() const { return compiled_->rules->add_bos; }
bool pre_tokenizer::composes() const { return compiled_->rules->composes; }

pre_tokenizer::splitter::splitter(const pre_tokenizer& rules, std::string_view text)
    : state_(std::make_unique<state>()) {
  state_->rules = rules.compiled_;
  for (const auto* const code : rules.compiled_->codes) state_->passes.push_back({.code = code});
  state_->passes.front().piece = text;
  state_->match = pcre2_match_data_create(1, nullptr);
  state_->limits = pcre2_match_context_create(nullptr);
  if (state_->match == nullptr || state_->limits == nullptr) throw std::bad_alloc();
  const auto steps = std::min<std::size_t>(steps_per_byte * text.size() + 10'000, UINT32_MAX);
  pcre2_set_match_limit(state_->limits, static_cast<std::uint32_t>(steps));
}

pre_tokenizer::splitter::~splitter() = default;

std::string_view pre_tokenizer::splitter::next() { return state_->next_of(state_->passes.size() - 1); }

// The next match, or an empty one at the piece's end. Patterns see no further than their piece.
void pre_tokenizer::splitter::state::find(pass& at) const {
  const int found = pcre2_match(at.code, reinterpret_cast<PCRE2_SPTR>(at.piece.data()), at.piece.size(),
                                at.position, PCRE2_NO_UTF_CHECK, match, limits);
  if (found == PCRE2_ERROR_NOMATCH) {
    at.match_begin = at.match_end = at.piece.size();
    return;
  }
  // Should PCRE2 give up, one character goes alone and nothing is lost.
  at.match_begin = at.position;
  at.match_end = at.position + first_utf8_unit(at.piece.substr(at.position)).size;
  const PCRE2_SIZE* const places = pcre2_get_ovector_pointer(match);
  if (found < 0 || places[1] == places[0]) return;
  at.match_begin = places[0];
  at.match_end = places[1];
}

std::string_view pre_tokenizer::splitter::state::next_of(std::size_t number) {
  auto& at = passes[number];
  if (at.position == at.piece.size()) {
    if (number == 0) return {};
    at = {.code = at.code, .piece = next_of(number - 1)};
    if (at.piece.empty()) return {};
  }
  if (at.position >= at.match_end) find(at);
  const auto end = at.position < at.match_begin ? at.match_begin : at.match_end;
  const auto piece = at.piece.substr(at.position, end - at.position);
  at.position = end;
  return piece;
}

}  // namespace troupe
