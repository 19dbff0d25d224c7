// The vocabularies of the small model files.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/gguf_writer.hpp"

namespace troupe::test {

struct tiny_vocabulary {
  std::vector<std::string> tokens;
  std::vector<std::int32_t> types;  // GGUF: 1 normal, 2 unknown, 3 control, 6 byte
  std::vector<float> scores;        // SentencePiece only
  std::vector<std::string> merges;  // byte-level BPE only
  std::int32_t bos = 0;
  std::int32_t eos = 0;
};

// 3 control tokens (<|endoftext|>, <|im_start|>, <|im_end|>: ids 0 to 2), 256 bytes in GPT-2's alphabet, 40
// merges.
tiny_vocabulary tiny_bpe_vocabulary();
// <unk>, <s>, </s>, 256 bytes, <|im_start|>, <|im_end|>, printable characters and some pieces with scores.
tiny_vocabulary tiny_sentencepiece_vocabulary();

// Writes the "tokenizer.ggml.*" keys and the chat template. `pre` is the pre-tokenizer; empty: SentencePiece.
void add_vocabulary(gguf_writer& writer, const tiny_vocabulary& vocabulary, const std::string& pre);

}  // namespace troupe::test
