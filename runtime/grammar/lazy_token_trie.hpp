// The trie of a vocabulary for several threads, made by the first that needs it.
#pragma once
#include <mutex>
#include <utility>

#include "runtime/grammar/token_trie.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace troupe::grammar {

class lazy_token_trie {
 public:
  explicit lazy_token_trie(tokenizer_ptr vocabulary) : vocabulary_(std::move(vocabulary)) {}

  // Waits for who makes it. Throws where that throws (std::bad_alloc); the next caller tries again.
  token_trie_ptr get() {
    const std::lock_guard held(mutex_);
    if (!trie_) trie_ = make_token_trie(*vocabulary_);
    return trie_;
  }

 private:
  tokenizer_ptr vocabulary_;
  std::mutex mutex_;
  token_trie_ptr trie_;
};

}  // namespace troupe::grammar
