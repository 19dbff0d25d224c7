// The whole company with a device in a process of its own that is lost for good.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "actors/company.hpp"
#include "actors/net/options.hpp"
#include "actors/start/load_engine.hpp"
#include "metrics/exposition.hpp"
#include "runtime/generation_request.hpp"
#include "tests/actors/real_company_fixture.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/tiny_model.hpp"

namespace troupe::test {
namespace {

class CpuAfterDeviceLoss : public testing::Test {
 protected:
  ~CpuAfterDeviceLoss() override {
    std::filesystem::remove(lost_);
    std::filesystem::remove(held_);
  }
  company_options options() const {
    company_options out = small_company(file_.path());
    out.engine.cuda = cuda_choice{};
    out.engine.cuda_devices.find = [](std::int32_t) -> result<std::string> {
      return std::string("a device");
    };
    out.engine.cpu_after_device_loss = true;
    out.engine.isolation = runner_program{runner_program_path(), {"runner", "no-cuda:" + lost_}};
    return out;
  }
  // What comes of it; `on_first` is called when the first token has come.
  static std::vector<token_id> generate(company& company, const std::function<void()>& on_first) {
    auto made = std::make_shared<generation_request>();
    made->prompt = token_prompt{{6, 7, 8}};
    made->sampling.max_tokens = 100;
    made->sampling.ignore_eos = true;
    made->sampling.temperature = 0.0F;
    std::vector<token_id> tokens;
    std::promise<finish_reason> end;
    std::promise<void> first;
    company.port()->generate(made, [&](const stream_event& event) {
      if (tokens.empty() && !event.tokens.empty()) first.set_value();
      tokens.insert(tokens.end(), event.tokens.begin(), event.tokens.end());
      if (event.end) end.set_value(event.end->reason);
    });
    first.get_future().wait();
    on_first();
    EXPECT_EQ(end.get_future().get(), finish_reason::length);
    return tokens;
  }

  temporary_file file_{tiny_model()};
  std::string lost_ = file_.path() + ".lost";
  std::string held_ = lost_ + ".hold";
};

double metric(company& company, const std::string& name) {
  return metrics::exposition(company.port()->metrics_text()).sum(name).value_or(-1);
}

// Of the samples that tell what serves.
std::vector<std::string> serving(company& company) {
  std::vector<std::string> lines;
  std::istringstream text(company.port()->metrics_text());
  for (std::string line; std::getline(text, line);)
    if (line.starts_with("troupe_info{") || line.starts_with("vllm:cache_config_info{"))
      lines.push_back(line);
  return lines;
}

// Over HTTP.
std::string complete(std::uint16_t port) {
  return talk(port, post("/v1/completions", R"({"prompt":[6,7,8],"max_tokens":9,"ignore_eos":true})"));
}

TEST_F(CpuAfterDeviceLoss, RequestsGoOnAndReadinessAndMetricsSayWhatServesThem) {
  company_options wanted = options();
  auto engine = load_engine(wanted.engine);
  ASSERT_TRUE(engine) << engine.error().message;
  EXPECT_TRUE(engine->device->kernel_path().starts_with("cuda"));
  const auto kill = engine->process->kill;
  wanted.loaded = std::move(*engine);
  auto started = company::start(std::move(wanted));
  ASSERT_TRUE(started) << started.error().message;
  company& company = **started;
  ASSERT_TRUE(company.wait_ready());
  EXPECT_NE(serving(company).back().find("kernel_path=\"cuda"), std::string::npos);
  EXPECT_EQ(company.status().degraded, "");
  EXPECT_EQ(metric(company, "troupe_degraded"), 0);
  const auto http = company.serve_http({});
  ASSERT_TRUE(http) << http.error().message;
  EXPECT_NE(complete(*http).find(" 200 "), std::string::npos);
  const auto before = generate(company, [] {});
  expect_idle(company);
  const double actors = metric(company, "troupe_actors");
  const std::size_t files = descriptors();
  std::ofstream(held_) << "held";  // else the device may be done with the answer before it is lost
  const auto after = generate(company, [&] {
    std::ofstream(lost_) << "lost";
    kill();
  });
  EXPECT_EQ(after, before);
  EXPECT_EQ(company.status().degraded, "the device is lost: the model runs on the CPU");
  EXPECT_EQ(metric(company, "troupe_degraded"), 1);
  const auto serving_after = serving(company);
  EXPECT_EQ(serving_after.size(), 2U);
  for (const std::string& line : serving_after) {
    EXPECT_EQ(line.find("cuda"), std::string::npos) << line;
    EXPECT_NE(line.find("} 1"), std::string::npos) << line;
  }
  const std::string readiness = talk(*http, get("/readyz"));
  EXPECT_NE(readiness.find(" 200 "), std::string::npos) << readiness;
  EXPECT_NE(readiness.find("the model runs on the CPU"), std::string::npos) << readiness;
  EXPECT_NE(complete(*http).find(" 200 "), std::string::npos);
  expect_idle(company);
  EXPECT_EQ(metric(company, "troupe_actors"), actors);
  // One more: of the weights that are packed for the CPU. A connection may still be on its way out.
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (descriptors() > files + 1 && std::chrono::steady_clock::now() < patience) std::this_thread::yield();
  EXPECT_LE(descriptors(), files + 1);
}

}  // namespace
}  // namespace troupe::test
