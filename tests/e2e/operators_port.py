"""The operators' port of a service that a test starts."""
import json
import urllib.error
import urllib.request

KEY = "an-operators-key-0123456789"


class Operators:
    """The operators' port of a service that `flags` start."""

    def __init__(self, port, folder):
        self.port = port
        self.key_file = folder / "admin-key"
        self.write_key(KEY)
        self.flags = ["--admin-port", str(self.port), "--admin-key-file", str(self.key_file)]

    def write_key(self, key):
        self.key_file.write_text(key + "\n")
        self.key_file.chmod(0o600)

    def ask(self, path, body=None, key=KEY, method=None):
        """The status, the JSON of the answer and its header fields."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read()), answer.headers
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read()), error.headers

    def actors(self):
        """Every actor by the name of its role."""
        found = {}

        def add(part):
            if "members" in part:
                for member in part["members"]:
                    add(member)
            else:
                found[part["name"]] = part

        status, body, _ = self.ask("/admin/actors")
        assert status == 200, body
        add(body["tree"])
        return found
