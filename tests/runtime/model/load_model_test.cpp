#include <gtest/gtest.h>

#include <string>

#include "runtime/model/model.hpp"
#include "tests/support/tiny_model.hpp"

namespace troupe {
namespace {

using test::temporary_file;
using test::tiny_kind;
using test::tiny_model;
using test::tiny_model_options;

result<model_ptr> load(const tiny_model_options& options) {
  const temporary_file file(tiny_model(options));
  return load_model(file.path());
}

TEST(load_model, reads_every_served_kind_in_every_served_type) {
  using enum gguf::tensor_type;
  for (const auto kind : test::all_tiny_kinds) {
    for (const auto type : {f32, f16, bf16, q4_0, q4_1, q5_0, q5_1, q8_0, q4_k, q5_k, q6_k}) {
      const auto loaded = load({.kind = kind, .weights = type, .embedding = type});
      ASSERT_TRUE(loaded) << test::to_string(kind) << " " << to_string(type) << ": "
                          << loaded.error().message;
      EXPECT_EQ((*loaded)->layers.size(), 2U);
      EXPECT_EQ((*loaded)->layers[1].down->type, type);
    }
  }
}

}  // namespace
}  // namespace troupe
