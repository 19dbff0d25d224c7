// The oracle itself, checked against logits that another implementation computed for the real model.
#include "tests/support/reference_model.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "runtime/model/model.hpp"
#include "tests/support/paths.hpp"

namespace troupe {
namespace {

TEST(reference_model, agrees_with_the_golden_logits_of_the_real_model) {
  const auto loaded = load_model(test::default_model_path());
  ASSERT_TRUE(loaded) << loaded.error().message;
  std::ifstream golden(test::source_path("tests/data/smollm2_logits.jsonl"));
  std::string line;
  ASSERT_TRUE(std::getline(golden, line));
  const auto expected = nlohmann::json::parse(line);
  const auto tokens = expected.at("token_ids").get<std::vector<token_id>>();
  const auto logits = test::reference_logits(**loaded, tokens, true).at(0);
  const auto ids = expected.at("top_ids").get<std::vector<std::size_t>>();
  const auto values = expected.at("top_logits").get<std::vector<float>>();
  for (std::size_t i = 0; i < ids.size(); ++i) EXPECT_NEAR(logits.at(ids[i]), values[i], 1e-3F) << ids[i];
  double sum = 0.0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
  EXPECT_NEAR(std::log(sum), expected.at("logsumexp").get<double>(), 1e-3);
}

}  // namespace
}  // namespace troupe
