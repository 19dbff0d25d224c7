#!/usr/bin/env python3
"""Asks troupe one question over its OpenAI-compatible HTTP interface and streams the answer. Standard library only.

    examples/http_chat.py "What is the capital of Japan?"

A service with keys (--api-key-file) wants one of them in TROUPE_API_KEY.
"""
import argparse
import ipaddress
import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request


def is_this_machine(host):
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def open_url(request, timeout):
    """Past any proxy where the service is on this machine: http_proxy is meant for others."""
    host = urllib.parse.urlsplit(request if isinstance(request, str) else request.full_url).hostname
    handlers = [urllib.request.ProxyHandler({})] if is_this_machine(host or "") else []
    return urllib.request.build_opener(*handlers).open(request, timeout=timeout)


def is_ready(url):
    try:
        with open_url(url + "/readyz", timeout=2) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False


def stream_chat(url, prompt, max_tokens):
    """Yields the pieces of the answer as they arrive."""
    body = {"messages": [{"role": "user", "content": prompt}], "temperature": 0, "max_tokens": max_tokens, "stream": True}
    headers = {"Content-Type": "application/json"}
    if os.environ.get("TROUPE_API_KEY"):
        headers["Authorization"] = "Bearer " + os.environ["TROUPE_API_KEY"]
    request = urllib.request.Request(url + "/v1/chat/completions", json.dumps(body).encode(), headers)
    with open_url(request, timeout=120) as answer:
        for line in answer:
            if not line.startswith(b"data: ") or line.strip() == b"data: [DONE]":
                continue
            event = json.loads(line[len(b"data: "):])
            if "error" in event:
                raise RuntimeError(event["error"]["message"])
            for choice in event["choices"]:
                yield choice["delta"].get("content") or ""
                if choice.get("finish_reason") == "length":
                    yield f"\n[cut after {max_tokens} tokens]"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prompt", nargs="?", default="What is the capital of Japan?")
    parser.add_argument("--url", default="http://127.0.0.1:8000")
    parser.add_argument("--max-tokens", type=int, default=256)
    parser.add_argument("--is-ready", action="store_true", help="only tell, by the exit code, whether the service is ready")
    options = parser.parse_args()
    if options.is_ready:
        return 0 if is_ready(options.url) else 1
    try:
        for piece in stream_chat(options.url, options.prompt, options.max_tokens):
            print(piece, end="", flush=True)
        print()
    except urllib.error.HTTPError as failure:
        print(f"{failure.code}: {failure.read().decode(errors='replace')}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print()
        return 130
    except (OSError, RuntimeError) as failure:
        print(f"no answer from {options.url}: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
