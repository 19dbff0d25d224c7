// What a CUDA device stores a model's matrices as (--gpu-weights).
#pragma once
#include <cstdint>
#include <string_view>

namespace troupe {

enum class weight_form : std::uint8_t {
  plain,    // all of them in the 16 bits that activations have
  in_file,  // what the file has quantised stays so, in 4 or 8 bits; the embedding's rows alone have 16
  fp8,      // the layers' matrices in e4m3, each output with a scale; embedding and head have 16 bits
};

// bf16 | fp8 | file.
inline weight_form weight_form_of(std::string_view name) {
  if (name == "file") return weight_form::in_file;
  return name == "fp8" ? weight_form::fp8 : weight_form::plain;
}

}  // namespace troupe
