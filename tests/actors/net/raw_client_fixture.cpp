#include "tests/actors/net/raw_client_fixture.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cstdlib>
#include <utility>

namespace troupe::net::testing {

raw_client::raw_client(std::uint16_t port, int receive_buffer) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
  if (receive_buffer > 0) {
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  }
  const timeval patience{20, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  const int on = 1;
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) close();
}

raw_client::~raw_client() { close(); }

raw_client::raw_client(raw_client&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), buffer_(std::move(other.buffer_)) {}

bool raw_client::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void raw_client::finish_sending() { ::shutdown(socket_, SHUT_WR); }

void raw_client::close() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

void raw_client::reset() {
  const linger now{1, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close();
}

bool raw_client::fill() {
  std::array<char, 65536> bytes;
  const ssize_t got = ::recv(socket_, bytes.data(), bytes.size(), 0);
  if (got <= 0) return false;
  buffer_.append(bytes.data(), static_cast<std::size_t>(got));
  return true;
}

std::string raw_client::read_exactly(std::size_t bytes) {
  while (buffer_.size() < bytes && fill()) {
  }
  std::string read = buffer_.substr(0, bytes);
  buffer_.erase(0, bytes);
  return read;
}

std::string raw_client::read_to_end() {
  while (fill()) {
  }
  return std::exchange(buffer_, {});
}

bool raw_client::at_end() {
  while (fill()) {
  }
  char byte = 0;
  return ::recv(socket_, &byte, 1, MSG_DONTWAIT) == 0 || errno == ECONNRESET || errno == EPIPE ||
         errno == ENOTCONN;
}

std::string raw_client::read_line() {
  std::size_t end = std::string::npos;
  while ((end = buffer_.find("\r\n")) == std::string::npos && fill()) {
  }
  if (end == std::string::npos) return std::exchange(buffer_, {});
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 2);
  return line;
}

raw_answer raw_client::read_answer(bool head) {
  raw_answer answer;
  const std::string status = read_line();
  if (!status.starts_with("HTTP/1.1 ")) return answer;
  answer.status = std::atoi(status.c_str() + 9);
  for (std::string line = read_line(); !line.empty(); line = read_line()) {
    const auto colon = line.find(':');
    std::string name = line.substr(0, colon);
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    answer.headers[name] = colon + 2 <= line.size() ? line.substr(colon + 2) : "";
  }
  if (head || answer.status == 100) return answer;
  if (answer.headers.contains("transfer-encoding")) {
    for (;;) {
      const std::string line = read_line();
      const auto size = std::strtoul(line.c_str(), nullptr, 16);
      answer.body += read_exactly(size);
      if (read_line() != "" || size == 0 || line.empty()) break;
    }
  } else if (const auto length = answer.headers.find("content-length"); length != answer.headers.end()) {
    answer.body = read_exactly(std::strtoul(length->second.c_str(), nullptr, 10));
  } else {
    answer.body = read_to_end();
  }
  return answer;
}

raw_answer raw_client::get(std::string_view path, std::string_view method) {
  send(std::string(method) + " " + std::string(path) + " HTTP/1.1\r\nHost: test\r\n\r\n");
  return read_answer(method == "HEAD");
}

raw_answer raw_client::post(std::string_view path, std::string_view body, std::string_view headers) {
  send(post_text(path, body, headers));
  return read_answer();
}

std::string post_text(std::string_view path, std::string_view body, std::string_view headers) {
  return "POST " + std::string(path) +
         " HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n" + std::string(headers) + "\r\n" + std::string(body);
}

std::vector<std::string> sse_data(std::string_view body) {
  std::vector<std::string> events;
  while (!body.empty()) {
    const auto end = body.find("\n\n");
    std::string_view event = body.substr(0, end);
    if (event.starts_with("data: ")) event.remove_prefix(6);
    events.emplace_back(event);
    if (end == std::string_view::npos) break;
    body.remove_prefix(end + 2);
  }
  return events;
}

}  // namespace troupe::net::testing
