// The model and its context.
#include "config/option_table.hpp"

namespace troupe::config {

using group = option_group;

std::vector<option> model_options() {
  return {
      text_option("model", group::model, &settings::model, "Model file (GGUF); empty: the default model"),
      text_option("served_model_name", group::model, &settings::served_model_name,
                  "Name of the model in the API, or several separated by commas: requests may give any of "
                  "them, answers and metrics name the first; empty: the file's name without quantisation and "
                  "extension"),
      with_aliases(text_option("chat_template", group::model, &settings::chat_template,
                               "File of a chat template (Jinja) to use in place of the model's own"),
                   {"chat_template_file"}),
      text_option(
          "default_chat_template_kwargs", group::model, &settings::default_chat_template_kwargs,
          "What the chat template is told beside each chat that does not say so itself; a JSON object "
          "such as {\"enable_thinking\": false}"),
      text_option("reasoning_format", group::model, &settings::reasoning_format,
                  "Whether what a model thinks first, between <think> and </think>, is told apart from its "
                  "answer (reasoning_content): auto: where its chat template knows these marks; deepseek: "
                  "always; none: never",
                  {"auto", "none", "deepseek"}),
      number_option("max_model_len", group::engine, &settings::max_model_len, 0, 1 << 24,
                    "Longest context, prompt and answer together, in tokens; 0: the model's own, as far as "
                    "the KV cache holds it"),
      text_option("dtype", group::engine, &settings::dtype,
                  "Type to compute in; the CPU has one arithmetic (float32 activations, int8 products) and "
                  "takes auto alone; a CUDA device computes in bfloat16 (auto) or float16",
                  {"auto", "half", "float16", "bfloat16", "float", "float32"}),
  };
}

}  // namespace troupe::config
