#include "main/screen/top_view.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "main/service/actor_tree.hpp"

namespace troupe::cli {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<tree_row> tree(std::size_t actors) {
  std::vector<tree_row> rows{{.name = "company", .is_group = true, .state = "one_for_one"}};
  for (std::size_t i = 0; i < actors; ++i)
    rows.push_back({.name = "actor " + std::to_string(i), .depth = 1, .state = "running"});
  return rows;
}

std::vector<std::string> view(std::size_t actors, view_size size) {
  const std::vector<tree_row> rows = tree(actors);
  return lines_of(top_view(
      {}, "ready", [&](std::size_t most) { return actor_tree_lines(rows, rows, 1, most); }, size));
}

TEST(TopView, IsNeverLargerThanItsTerminal) {
  for (std::size_t height = 3; height < 40; ++height)
    for (std::size_t actors = 0; actors < 40; ++actors) {
      const auto lines = view(actors, {.width = 40, .height = height});
      ASSERT_LE(lines.size(), height) << actors;
      for (const std::string& line : lines) ASSERT_LE(line.size(), 40U);
    }
}

TEST(TopView, ShowsNoNameThatWouldMoveTheCursor) {
  metrics::service_figures figures;
  figures.model = "a\x1b[2Jb\n\rc\x7f";
  const std::string text = top_view(figures, "ready", {}, {});
  EXPECT_TRUE(text.find("a?[2Jb??c?\n") != std::string::npos) << text;
}

TEST(TopView, ShowsAShareThatIsNoNumberAsNone) {
  for (const double share :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    metrics::service_figures figures;
    figures.kv_cache_usage = share;
    const std::string text = top_view(figures, "ready", {}, {});
    EXPECT_TRUE(text.find("KV cache   [" + std::string(30, '.') + "] -") != std::string::npos) << text;
  }
}

TEST(TopView, ALineIsNoWiderThanTheTerminalAndMovesNoCursor) {
  EXPECT_EQ(view_line("not ready: \x1b[2J\nmore", {.width = 20}), "not ready: ?[2J?more\n");
  EXPECT_EQ(view_line(std::string(100, 'x'), {.width = 30}), std::string(30, 'x') + "\n");
  EXPECT_EQ(view_line("a\xC2\x9B"
                      "2Jb\xC2\xA0",
                      {.width = 20}),
            "a?2Jb\xC2\xA0\n")
      << "an order of U+009B";
  EXPECT_EQ(view_line(std::string(19, 'x') + "\xC3\xA9", {.width = 20}), std::string(19, 'x') + "\n");
}

TEST(TopView, LeavesOutGroupsAndEmptyLinesBeforeActors) {
  const auto all = view(8, {});
  EXPECT_EQ(std::ranges::count(all, ""), 2);
  EXPECT_TRUE(std::ranges::any_of(all, [](const auto& line) { return line.starts_with("company "); }));
  const auto tight = view(8, {.width = 80, .height = all.size() - 1});
  EXPECT_EQ(std::ranges::count(tight, ""), 0);
  EXPECT_TRUE(tight.back().find("actor 7") != std::string::npos) << tight.back();
  const auto tighter = view(8, {.width = 80, .height = all.size() - 4});
  EXPECT_EQ(tighter.back(), "... 2 more lines: they need a larger terminal");
}

}  // namespace
}  // namespace troupe::cli
