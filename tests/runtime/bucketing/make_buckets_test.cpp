#include "runtime/bucketing/make_buckets.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "runtime/bucketing/bucket_text.hpp"

namespace troupe {
namespace {

using buckets = std::vector<bucket>;

// The engine of the documented_engine logs.
const engine_sizes documented_engine{.max_num_seqs = 4,
                                     .max_num_batched_tokens = 1024,
                                     .block_size = 128,
                                     .max_model_len = 1024,
                                     .num_blocks = 5781};

bucket_plan make(const bucketing_options& options, const engine_sizes& sizes = documented_engine) {
  auto made = make_buckets(options, sizes);
  EXPECT_TRUE(made.has_value()) << made.error().message;
  return made.value_or(bucket_plan{});
}

std::string fault_of_options(const bucketing_options& options,
                             const engine_sizes& sizes = documented_engine) {
  const auto made = make_buckets(options, sizes);
  if (made) return "none";
  EXPECT_EQ(made.error().code, error_code::invalid_argument);
  EXPECT_TRUE(made.error().message.starts_with(made.error().param)) << made.error().message;
  return made.error().message;
}

std::set<std::int32_t> batches(const buckets& from) {
  std::set<std::int32_t> out;
  for (const bucket& b : from) out.insert(b.batch);
  return out;
}

class bucket_file {
 public:
  explicit bucket_file(const std::string& content)
      : path_(std::filesystem::temp_directory_path() / ("troupe-buckets-" + std::to_string(::getpid()))) {
    std::ofstream(path_) << content;
  }
  ~bucket_file() { std::filesystem::remove(path_); }
  bucket_file(const bucket_file&) = delete;
  bucket_file& operator=(const bucket_file&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST(MakeBuckets, GivesThe36PromptBucketsOfTheDocumentedEngine) {
  buckets expected;
  for (std::int32_t query = 128; query <= 1024; query += 128)
    for (std::int32_t blocks = 0; blocks <= (1024 - query) / 128; ++blocks)
      expected.push_back({1, query, blocks});
  ASSERT_EQ(expected.size(), 36U);
  EXPECT_EQ(make({}).prompt, expected);
}

TEST(MakeBuckets, GivesThe42DecodeBucketsOfTheDocumentedEngine) {
  buckets expected;
  for (const std::int32_t batch : {1, 2, 4})
    for (const std::int32_t blocks :
         {128, 256, 384, 512, 640, 768, 896, 1024, 1408, 1792, 2432, 3328, 4352, 5888})
      expected.push_back({batch, 1, blocks});
  ASSERT_EQ(expected.size(), 42U);
  EXPECT_EQ(make({}).decode, expected);
  EXPECT_TRUE(make({}).unified.empty());
}

TEST(MakeBuckets, TellsTheDocumentedLogLines) {
  const auto lines = describe(make({}));
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0],
            "Prompt bucket config (min, step, max_warmup, limit) bs:[1, 1, 1, 1], seq:[128, 128, 1024, 11]");
  EXPECT_EQ(
      lines[1],
      "Decode bucket config (min, step, max_warmup, limit) bs:[1, 1, 4, 3], block:[128, 128, 5781, 14]");
  EXPECT_TRUE(lines[2].starts_with(
      "Generated 36 prompt buckets [bs, query, num_blocks]: [(1, 128, 0), (1, 128, 1), "))
      << lines[2];
  EXPECT_TRUE(lines[2].ends_with(", (1, 896, 1), (1, 1024, 0)]")) << lines[2];
  EXPECT_TRUE(lines[3].starts_with("Generated 42 decode buckets [bs, query, num_blocks]: [(1, 1, 128), "))
      << lines[3];
  EXPECT_TRUE(lines[3].ends_with("(4, 1, 4352), (4, 1, 5888)]")) << lines[3];
}

TEST(MakeBuckets, TellsUnifiedAndLinearBucketsLikewise) {
  engine_sizes sizes = documented_engine;
  sizes.max_num_seqs = 32;
  sizes.max_num_batched_tokens = 2048;
  const auto unified = describe(make({.strategy = bucketing_strategy::unified}, sizes));
  ASSERT_EQ(unified.size(), 1U);
  EXPECT_TRUE(
      unified[0].starts_with("Generated 375 unified buckets [query, shared_blocks, unique_blocks]: "
                             "[(8, 0, 0, 1), (8, 0, 8, 0), "))
      << unified[0];
  EXPECT_TRUE(unified[0].ends_with("(2048, 256, 2890, 1), (2048, 256, 5781, 1)]")) << unified[0];
  const auto linear = describe(make({.strategy = bucketing_strategy::linear}));
  EXPECT_EQ(linear[0], "Prompt bucket config (min, step, max_warmup) bs:[1, 1, 1], seq:[128, 128, 1024]");
  EXPECT_TRUE(describe(make({.strategy = bucketing_strategy::none})).empty());
}

TEST(MakeBuckets, WritesOutOnlyTheEndsOfALongList) {
  bucket_plan plan;
  plan.strategy = bucketing_strategy::unified;
  for (std::int32_t i = 1; i <= 2000; ++i) plan.unified.push_back({i, 0, 0, true});
  EXPECT_EQ(
      describe(plan)[0],
      "Generated 2000 unified buckets [query, shared_blocks, unique_blocks]: [(1, 0, 0, 1), (2, 0, 0, 1), "
      "(3, 0, 0, 1), (4, 0, 0, 1), (5, 0, 0, 1), (6, 0, 0, 1), (7, 0, 0, 1), (8, 0, 0, 1), ..., (1993, 0, 0, "
      "1), "
      "(1994, 0, 0, 1), (1995, 0, 0, 1), (1996, 0, 0, 1), (1997, 0, 0, 1), (1998, 0, 0, 1), (1999, 0, 0, 1), "
      "(2000, 0, 0, 1)]");
}

TEST(MakeBuckets, KeepsPromptsWithinTheContext) {
  for (const auto strategy : {bucketing_strategy::exponential, bucketing_strategy::linear}) {
    const auto plan = make({.strategy = strategy}, {64, 512, 16, 2048, 8192});
    EXPECT_FALSE(plan.prompt.empty());
    for (const bucket& b : plan.prompt) EXPECT_LE(b.query + b.blocks * 16, 2048);
    EXPECT_TRUE(std::is_sorted(plan.prompt.begin(), plan.prompt.end()));
  }
}

TEST(MakeBuckets, ReachesANumberOfSequencesThatIsNoPowerOf2WithLinearBatches) {
  engine_sizes sizes = documented_engine;
  sizes.max_num_seqs = 12;
  const auto plan = make({.strategy = bucketing_strategy::linear}, sizes);
  EXPECT_EQ(batches(plan.decode), (std::set<std::int32_t>{1, 2, 4, 8, 12}));
}

TEST(MakeBuckets, LetsALongStepWaitForNoLongerPromptThanTheContext) {
  engine_sizes sizes = documented_engine;
  sizes.max_num_batched_tokens = 8192;
  EXPECT_EQ(make({}, sizes).prompt, make({}).prompt);
}

TEST(MakeBuckets, TakesEveryDimensionFromItsOptions) {
  bucketing_options options;
  options.prompt.batch = {.min = 1, .step = 1, .max = 4};
  options.prompt.query = {.min = 128, .step = 128, .max = 512, .limit = 2};
  options.prompt.blocks = {.max = 0};
  options.decode.batch = {.min = 3, .max = 3, .limit = 1};
  options.decode.query = {.min = 2, .step = 2, .max = 4, .limit = 2};
  options.decode.blocks = {.min = 10, .step = 10, .max = 20, .limit = 2};
  const auto plan = make(options);
  EXPECT_EQ(plan.prompt,
            (buckets{{1, 128, 0}, {1, 512, 0}, {2, 128, 0}, {2, 512, 0}, {4, 128, 0}, {4, 512, 0}}));
  EXPECT_EQ(plan.decode, (buckets{{3, 2, 10}, {3, 2, 20}, {3, 4, 10}, {3, 4, 20}}));
}

TEST(MakeBuckets, DropsWhereAskedTo) {
  bucketing_options options;
  options.prompt.query = {.min = 128, .step = 128, .max = 2048, .limit = 10};
  options.prompt.blocks = {.max = 0};
  options.fill = bucket_fill::drop;
  EXPECT_EQ(make(options, {1, 2048, 128, 2048, 16}).prompt.size(), 9U);
  options.fill = bucket_fill::fill;
  EXPECT_EQ(make(options, {1, 2048, 128, 2048, 16}).prompt.size(), 10U);
}

TEST(MakeBuckets, ReplacesTheDecodeBatchesByThoseCountedDown) {
  bucketing_options options;
  options.decode_batch = decode_batch_options{decode_batch_options::strategy::exponential, 2, 2, 4};
  engine_sizes sizes = documented_engine;
  sizes.max_num_seqs = 32;
  const auto plan = make(options, sizes);
  EXPECT_EQ(batches(plan.decode), (std::set<std::int32_t>{4, 8, 16, 32}));
  EXPECT_EQ(batches(plan.prompt), (std::set<std::int32_t>{1}));
  EXPECT_TRUE(std::is_sorted(plan.decode.begin(), plan.decode.end()));
  EXPECT_EQ(plan.decode_ranges.batch, (bucket_range{2, 2, 32, 4}));
}

TEST(MakeBuckets, ReadsAFileAndSortsDecodesFromPrompts) {
  const bucket_file file("(1, 2048, 0)\n(64, 1, 1024)\n");
  const auto plan = make({.from_file = file.path()});
  EXPECT_TRUE(plan.from_file);
  EXPECT_EQ(plan.prompt, (buckets{{1, 2048, 0}}));
  EXPECT_EQ(plan.decode, (buckets{{64, 1, 1024}}));
  EXPECT_EQ(describe(plan).size(), 2U);
}

TEST(MakeBuckets, RefusesAFileTogetherWithUnifiedOrNone) {
  EXPECT_EQ(fault_of_options({.strategy = bucketing_strategy::unified, .from_file = "b.txt"}),
            "bucketing_from_file cannot go with bucketing_strategy unified, got 'b.txt'");
  EXPECT_EQ(fault_of_options({.strategy = bucketing_strategy::none, .from_file = "b.txt"}),
            "bucketing_from_file cannot go with bucketing_strategy none, got 'b.txt'");
}

TEST(MakeBuckets, NamesAFileThatCannotBeUsed) {
  EXPECT_EQ(fault_of_options({.from_file = "/no/such/file"}),
            "bucketing_from_file cannot be used: /no/such/file: no such file");
  EXPECT_EQ(fault_of_options({.from_file = "/"}), "bucketing_from_file cannot be used: /: is a directory");
  const bucket_file file("(1, 2, 3)\n(1, 2)\n");
  const auto made = make_buckets({.from_file = file.path()}, documented_engine);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, file.path() + ":2: expected ',', found ')'");
}

TEST(MakeBuckets, HasNoBucketsWhereThereAreToBeNone) {
  const auto plan = make({.strategy = bucketing_strategy::none});
  EXPECT_TRUE(plan.prompt.empty() && plan.decode.empty() && plan.unified.empty());
}

TEST(MakeBuckets, RefusesARangeThatIsNoneAndNamesOptionAndValue) {
  const auto with = [](auto change) {
    bucketing_options options;
    change(options);
    return fault_of_options(options);
  };
  EXPECT_EQ(with([](auto& o) { o.prompt.query.min = 2048; }),
            "prompt_query_bucket_min must be at most prompt_query_bucket_max (1024), got 2048");
  EXPECT_EQ(with([](auto& o) { o.prompt.batch.min = 0; }), "prompt_bs_bucket_min must be at least 1, got 0");
  EXPECT_EQ(with([](auto& o) { o.decode.batch.step = 0; }),
            "decode_bs_bucket_step must be at least 1, got 0");
  EXPECT_EQ(with([](auto& o) { o.decode.blocks.limit = 0; }),
            "decode_block_bucket_limit must be 1 to 4096, got 0");
  EXPECT_EQ(with([](auto& o) { o.decode.query.limit = 4097; }),
            "decode_query_bucket_limit must be 1 to 4096, got 4097");
  EXPECT_EQ(with([](auto& o) { o.decode.blocks.max = 1 << 25; }),
            "decode_block_bucket_max must be at most 16777216, got 33554432");
  EXPECT_EQ(with([](auto& o) { o.prompt.blocks.min = -1; }),
            "prompt_block_bucket_min must be at least 0, got -1");
  EXPECT_EQ(with([](auto& o) { o.decode_batch = decode_batch_options{.min = 5}; }),
            "decode_batch_bucket_min must be at most max_num_seqs (4), got 5");
  EXPECT_EQ(with([](auto& o) {
              o.strategy = bucketing_strategy::linear;
              o.prompt.query = {.min = 200, .step = 128, .max = 210};
            }),
            "prompt_query_bucket_step 128 has no multiple from prompt_query_bucket_min (200) to "
            "prompt_query_bucket_max (210)");
  EXPECT_EQ(
      with([](auto& o) {
        o.strategy = bucketing_strategy::linear;
        o.decode.blocks = {.min = 1, .step = 1, .max = 1 << 24};
      }),
      "decode_block_bucket_step 1 makes more than 262144 values up to decode_block_bucket_max (16777216)");
}

TEST(MakeBuckets, RefusesMoreBucketsThanCanBeUseful) {
  bucketing_options options;
  options.strategy = bucketing_strategy::linear;
  options.decode.batch = {.min = 1, .step = 1, .max = 4096};
  options.decode.blocks = {.min = 1, .step = 1, .max = 4096};
  EXPECT_EQ(fault_of_options(options),
            "bucketing_strategy: 4096 x 1 x 4096 decode buckets are more than 262144");
}

TEST(MakeBuckets, RefusesAnEngineWithoutSize) {
  EXPECT_EQ(fault_of_options({}, {0, 1, 1, 1, 1}), "max_num_seqs must be at least 1, got 0");
  EXPECT_EQ(fault_of_options({}, {1, 1, 0, 1, 1}), "block_size must be at least 1, got 0");
  EXPECT_EQ(fault_of_options({}, {1, 1, 1, 1, -4}), "num_blocks must be at least 1, got -4");
}

TEST(MakeBuckets, WorksForEverySizeOfEngine) {
  for (const std::int32_t seqs : {1, 2, 3, 5, 64, 256})
    for (const std::int32_t tokens : {1, 7, 512, 8192})
      for (const std::int32_t block : {1, 16, 128})
        for (const std::int32_t length : {1, 10, 1000, 8192})
          for (const auto strategy :
               {bucketing_strategy::exponential, bucketing_strategy::linear, bucketing_strategy::unified}) {
            const auto plan = make_buckets({.strategy = strategy}, {seqs, tokens, block, length, 300});
            if (!plan) {
              EXPECT_TRUE(plan.error().message.starts_with("bucketing_strategy: ")) << plan.error().message;
              EXPECT_EQ(strategy, bucketing_strategy::linear);
              continue;
            }
            EXPECT_FALSE(plan->decode.empty() && plan->unified.empty());
            for (const bucket& b : plan->decode) EXPECT_LE(b.batch, seqs);
          }
}

}  // namespace
}  // namespace troupe
