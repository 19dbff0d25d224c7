#include "runtime/executor/cpu/tuning_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <random>
#include <sstream>

namespace troupe {
namespace {

namespace fs = std::filesystem;

struct TuningFile : testing::Test {
  fs::path folder = fs::temp_directory_path() / ("troupe_tuning_" + std::to_string(::getpid()));
  fs::path file = folder / "deep" / "tuning.json";
  tuning_key key{"Some CPU \"9\"", "avx2", 3, "heads 9/3x64"};
  tuned_plans plans{{1, {1}}, {8, {2}}, {512, {8}}};

  void SetUp() override { fs::remove_all(folder); }
  void TearDown() override { fs::remove_all(folder); }

  std::string text() const {
    std::stringstream all;
    all << std::ifstream(file).rdbuf();
    return all.str();
  }
  void write(const std::string& content) const {
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << content;
  }
  error_code read_error() const { return read_tuning_file(file, key).error().code; }
};

TEST_F(TuningFile, GivesBackWhatWasWritten) {
  ASSERT_TRUE(write_tuning_file(file, key, plans));
  const auto read = read_tuning_file(file, key);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, plans);
  EXPECT_EQ(std::distance(fs::directory_iterator(file.parent_path()), {}), 1) << "nothing is left beside it";
}

TEST_F(TuningFile, IsReplacedByALaterOne) {
  ASSERT_TRUE(write_tuning_file(file, key, plans));
  ASSERT_TRUE(write_tuning_file(file, key, {{2, {4}}}));
  EXPECT_EQ(read_tuning_file(file, key)->size(), 1U);
}

TEST_F(TuningFile, IsNotFoundWhereThereIsNone) { EXPECT_EQ(read_error(), error_code::not_found); }

TEST_F(TuningFile, OfAnotherMachineModelOrVersionIsNotTaken) {
  ASSERT_TRUE(write_tuning_file(file, key, plans));
  std::vector<tuning_key> others(4, key);
  others[0].cpu = "Another";
  others[1].kernel_path = "reference";
  others[2].threads = 4;
  others[3].shape = "heads 9/3x65";
  for (const tuning_key& other : others) {
    EXPECT_EQ(read_tuning_file(file, other).error().code, error_code::unsupported);
    EXPECT_NE(tuning_file_name(other), tuning_file_name(key));
  }
  std::string older = text();
  const std::string field = "\"kernel_version\":" + std::to_string(kernel_version);
  const std::size_t at = older.find(field);
  ASSERT_NE(at, std::string::npos);
  write(older.replace(at, field.size(), "\"kernel_version\":0"));
  EXPECT_EQ(read_error(), error_code::unsupported);
}

TEST_F(TuningFile, IsBelievedNothingThatMakesNoSense) {
  ASSERT_TRUE(write_tuning_file(file, key, plans));
  const std::string good = text();
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string bad = good;
    const std::size_t at = bad.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    write(bad.replace(at, from.size(), to));
    return read_error();
  };
  for (const char* items : {"0", "-1", "1025", "1e9", "18446744073709551615", "9223372036854775808", "\"1\"",
                            "null", "[1]", "1.5"})
    EXPECT_EQ(with("\"items_per_member\":1", std::string("\"items_per_member\":") + items),
              error_code::corrupt_file)
        << items;
  for (const char* rows : {"0", "-8", "99999999999", "8"})
    EXPECT_EQ(with("\"rows\":1,", std::string("\"rows\":") + rows + ","), error_code::corrupt_file) << rows;
  EXPECT_EQ(with("\"plans\":[", "\"planned\":["), error_code::corrupt_file);
  EXPECT_EQ(with("\"plans\":[", "\"plans\":[" + std::string(20'000, '[') + std::string(20'000, ']') + ","),
            error_code::corrupt_file);
  EXPECT_EQ(with("\"plans\":[", "\"plans\":[7,"), error_code::corrupt_file);
  write(std::string(1U << 20U, ' '));
  EXPECT_EQ(read_error(), error_code::corrupt_file);
  write("");
  EXPECT_EQ(read_error(), error_code::corrupt_file);
}

TEST_F(TuningFile, ThatIsDamagedAnywhereIsRefusedOrStillSensible) {
  ASSERT_TRUE(write_tuning_file(file, key, plans));
  const std::string good = text();
  for (std::size_t length = 0; length + 2 < good.size(); ++length) {
    write(good.substr(0, length));
    EXPECT_EQ(read_error(), error_code::corrupt_file) << length;
  }
  std::mt19937 random(5);
  for (int i = 0; i < 1000; ++i) {
    std::string bad = good;
    bad[random() % bad.size()] = static_cast<char>(random());
    write(bad);
    const auto read = read_tuning_file(file, key);
    if (!read) continue;
    for (const auto& [rows, plan] : *read) {
      EXPECT_GE(rows, 1);
      EXPECT_TRUE(is_valid(plan));
    }
  }
}

TEST_F(TuningFile, ThatIsNoFileIsNeitherReadNorReplaced) {
  fs::create_directories(file);
  EXPECT_EQ(read_error(), error_code::corrupt_file);
  EXPECT_FALSE(write_tuning_file(file, key, plans));
  fs::remove(file);
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  EXPECT_EQ(read_error(), error_code::corrupt_file) << "and does not wait for a writer";
  EXPECT_FALSE(write_tuning_file(file, key, plans));
}

TEST_F(TuningFile, LeavesAForeignFileAsItIs) {
  write("alias ll='ls -l'\n");
  EXPECT_EQ(read_error(), error_code::corrupt_file);
  EXPECT_EQ(write_tuning_file(file, key, plans).error().code, error_code::corrupt_file);
  EXPECT_EQ(text(), "alias ll='ls -l'\n");
}

TEST_F(TuningFile, ThatCannotBeWrittenIsAnError) {
  write("");
  const auto failed = write_tuning_file(file / "below" / "a" / "file", key, plans);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, error_code::io_error);
}

}  // namespace
}  // namespace troupe
