#include "config/reload.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "tests/config/config_fixture.hpp"
#include "tests/support/paths.hpp"

namespace troupe::config {
namespace {

loaded_settings of_file(const temporary_file& file) {
  auto loaded = load_settings({.flags = {}, .environment = {}, .file = file.path()});
  EXPECT_TRUE(loaded) << loaded.error();
  return std::move(*loaded);
}

TEST(Reload, NothingIsDifferentBetweenTwoReadingsOfTheSame) {
  const temporary_file file("max_num_seqs = 8\nlog_level = \"warn\"\n");
  const auto planned = plan_reload(of_file(file).values, of_file(file));
  ASSERT_TRUE(planned) << planned.error();
  EXPECT_TRUE(planned->empty());
}

TEST(Reload, TellsWhatIsDifferentByNameWithBothValues) {
  const temporary_file before("max_num_seqs = 8\n");
  const temporary_file after("shutdown_grace = \"30s\"\nmax_num_seqs = 4\nlog_level = \"debug\"\n");
  const auto planned = plan_reload(of_file(before).values, of_file(after));
  ASSERT_TRUE(planned) << planned.error();
  EXPECT_EQ(describe(*planned), "max_num_seqs 8 -> 4, shutdown_grace 15s -> 30s, log_level info -> debug");
}

TEST(Reload, WhatNeedsARestartIsRefusedByNameWithItsOrigin) {
  const temporary_file after("log_level = \"debug\"\nport = 81\nblock_size = 32\n");
  const auto planned = plan_reload(settings{}, of_file(after));
  ASSERT_FALSE(planned);
  EXPECT_EQ(planned.error(), after.path() + ":3: block_size: 16 -> 32 needs a restart; " + after.path() +
                                 ":2: port: 8000 -> 81 needs a restart");
}

TEST(Reload, ASettingThatIsGoneFromTheFileIsItsDefaultAgain) {
  const temporary_file before("queue_timeout = \"5s\"\nmodel = \"a.gguf\"\n");
  const temporary_file after("");
  const auto planned = plan_reload(of_file(before).values, of_file(after));
  ASSERT_FALSE(planned);
  EXPECT_EQ(planned.error(), "model (default): model: a.gguf -> (empty) needs a restart");
}

TEST(Reload, TheDocumentNamesWhatCanBeTakenUp) {
  std::ifstream in(test::source_path("docs/operators.md"));
  std::string text{std::istreambuf_iterator<char>(in), {}};
  const std::size_t begin = text.find("## New settings without a restart");
  ASSERT_NE(begin, std::string::npos);
  text = text.substr(begin);
  for (const option& which : options())
    EXPECT_EQ(text.find("`" + which.flag() + "`") != std::string::npos, which.reloads) << which.name;
}

}  // namespace
}  // namespace troupe::config
