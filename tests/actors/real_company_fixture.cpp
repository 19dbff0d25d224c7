#include "tests/actors/real_company_fixture.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

namespace troupe::test {
namespace {

std::size_t entries(const char* folder) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}

}  // namespace

std::size_t threads() { return entries("/proc/self/task"); }
std::size_t descriptors() { return entries("/proc/self/fd"); }

company_options small_company(const std::string& model_path) {
  company_options options;
  options.engine.model_path = model_path;
  options.engine.max_num_seqs = 8;
  options.engine.max_num_batched_tokens = 64;
  options.engine.kv_cache_bytes = 4U << 20U;
  options.engine.threads = 1;  // a team of two would wait for the cores that the actors take
  options.served_model_name = "tiny";
  return options;
}

std::string talk(std::uint16_t port, const std::string& text) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::send(socket, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size())) {
    char buffer[4096];
    for (ssize_t n = 0; (n = ::recv(socket, buffer, sizeof buffer, 0)) > 0;)
      answer.append(buffer, static_cast<std::size_t>(n));
  }
  ::close(socket);
  return answer;
}

std::string post(const std::string& path, const std::string& body) {
  return "POST " + path +
         " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n" +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string get(const std::string& path) {
  return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
}

void expect_idle(const company& company) {
  auto counts = company.count();
  // The last step may still run when its requests have ended: their blocks come back with its answer.
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (counts && counts->free_blocks != counts->blocks && std::chrono::steady_clock::now() < patience) {
    counts = company.count();
  }
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->client_streams, 0U);
  EXPECT_EQ(counts->tokenizer_streams, 0U);
  EXPECT_EQ(counts->running + counts->waiting, 0);
  EXPECT_EQ(counts->free_blocks, counts->blocks);
  EXPECT_TRUE(counts->blocks_consistent);
}

}  // namespace troupe::test
