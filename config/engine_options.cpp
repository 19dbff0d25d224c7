// The machine, and what a request may ask for.
#include "config/option_table.hpp"

namespace troupe::config {

using group = option_group;

std::vector<option> engine_options() {
  return {
      number_option("threads", group::engine, &settings::threads, 0, 1024,
                    "Compute threads; 0: one per core that the process may use"),
      text_option("kernel_path", group::engine, &settings::kernel_path,
                  "Arithmetic to use; auto: the fastest that the CPU has",
                  {"auto", "avx512vnni", "avx2", "reference"}),
      text_option(
          "device", group::engine, &settings::device,
          "Where the model runs; auto: a CUDA device where this program was built for them and there is one",
          {"auto", "cpu", "cuda"}),
      number_option("device_id", group::engine, &settings::device_id, 0, 1023, "Which CUDA device"),
      text_option(
          "gpu_weights", group::engine, &settings::gpu_weights,
          "Weights on a CUDA device; fp8: the layers' in 8-bit floats, as their products are (half the "
          "memory; compute capability 8.9); file: what the model file has quantised stays so (less memory, "
          "quicker steps of up to 16 rows, slower ones of more); bf16: all in bfloat16, or what --dtype says",
          {"bf16", "fp8", "file"}),
      switch_option(
          "batch_invariant", group::engine, &settings::batch_invariant,
          "On a CUDA device: a request's tokens never depend on what else runs, as on the CPU; one "
          "kernel computes all products of a matrix, instead of the fastest for each number of rows"),
      text_option(
          "on_device_loss", group::engine, &settings::on_device_loss,
          "When a CUDA device is lost and does not come back; cpu: the CPU goes on, much slower; end: "
          "the service ends",
          {"end", "cpu"}),
      number_option("tokenizer_workers", group::engine, &settings::tokenizer_workers, 1, 64,
                    "Tokenizer actors that share the requests"),
      number_option("max_logprobs", group::engine, &settings::max_logprobs, 0, 1024,
                    "Most log-probabilities per token that a request may ask for"),
      switch_option(
          "allow_auto_truncate", group::engine, &settings::allow_auto_truncate,
          "Cut a prompt that is too long at its front, and say so in the answer, instead of refusing it"),
      reloadable(duration_option("request_timeout", group::engine, &settings::request_timeout, 0, 7 * day,
                                 "Longest life of a request, waiting included; 0: no limit")),
  };
}

}  // namespace troupe::config
