#include "runtime/tokenizer/end_texts.hpp"

namespace troupe {

std::span<const std::string_view> unmistakable_end_texts() {
  static constexpr std::string_view texts[] = {"<|im_end|>",
                                               "<|endoftext|>",
                                               "<|eot_id|>",
                                               "<|eom_id|>",
                                               "<|eot|>",
                                               "<|EOT|>",
                                               "<|end|>",
                                               "<|end_of_text|>",
                                               "<|end_of_turn|>",
                                               "<end_of_turn>",
                                               "<end_of_utterance>",
                                               "<\xEF\xBD\x9C"
                                               "end\xE2\x96\x81"
                                               "of\xE2\x96\x81sentence\xEF\xBD\x9C>"};
  return texts;
}

std::span<const std::string_view> possible_end_texts() {
  static constexpr std::string_view texts[] = {"<|return|>", "<|endofprompt|>", "<EOT>", "_<EOT>",
                                               "[EOT]",      "[EOS]",           "</s>",  "<eos>"};
  return texts;
}

}  // namespace troupe
