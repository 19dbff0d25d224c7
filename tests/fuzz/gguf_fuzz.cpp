// A model file from anybody: listed, bound to weights, its vocabulary used.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/gguf/gguf.hpp"
#include "runtime/model/describe.hpp"
#include "runtime/model/model.hpp"
#include "runtime/tokenizer/tokenizer.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/require.hpp"

namespace troupe::fuzz {
namespace {

void read_tensors(const gguf::file& file) {
  unsigned sum = 0;
  for (const gguf::tensor& tensor : file.tensors()) {
    for (const std::byte byte : tensor.data) sum += std::to_integer<unsigned>(byte);
    if (!gguf::is_served(tensor.type)) continue;
    std::vector<float> values(tensor.elements());
    gguf::dequantize(tensor.type, tensor.data.data(), values.size(), values.data());
  }
  require(sum <= 0xFFU << 20U, "tensors lie within a small input");
}

void use_vocabulary(const gguf::file& file) {
  const auto text = load_tokenizer(file);
  if (!text) return;
  for (const token_id id : (*text)->encode("<|im_start|>Hello, world! 12\xf0\x9f\x98\x80\xff", {})) {
    require(id >= 0 && id < (*text)->vocab_size(), "tokens are of the vocabulary");
    (*text)->piece(id);
  }
}

}  // namespace
}  // namespace troupe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace troupe;
  const fuzz::memory_file bytes({reinterpret_cast<const char*>(data), size});
  if (const auto file = gguf::file::open(bytes.path())) {
    fuzz::require(!describe(*file).empty(), "every file that opens can be listed");
    fuzz::read_tensors(*file);
    fuzz::use_vocabulary(*file);
  }
  const auto model = load_model(bytes.path());
  fuzz::require(model || model.error().message.find('\n') == std::string::npos, "an error is one line");
  return 0;
}
