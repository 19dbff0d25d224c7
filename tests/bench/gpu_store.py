"""What tests/bench/gpu.py keeps between its commands, DIR/gpu.json: the measurements of one program on one kind of device, and what
went wrong, part by part. Those of others are beside it, in files of their own, until they are asked for again.

    identity       the program's hash and the devices' names (nvidia-smi's), by which a command knows that it may go on from
                   here, and the name of the device that was measured (the self-test's)
    machine        that device, for the page
    device_code    what each kernel takes of a multiprocessor
    self_tests     {model: the answer of the last gpu-selftest}
    steps          {model: {"troupe": [decode steps of a turn, ...], "torch": {key: [result of a turn, ...]}}}
    torch          torch's version, and the device that it names
    torch_kernels  {key: result}
    service        {server: what was tried on it, and whether all of it passed} (gpu_service.py)
    problems       {part: {piece of work: why}}

Keys and results are those of gpu_torch.py.
"""
import hashlib
import json
import os

from gpu_page import markdown
from gpu_process import say

FORMAT = 3  # one more whenever the above changes its meaning


def hash_of(program):
    return hashlib.sha256(program.read_bytes()).hexdigest()


def read(file):
    """Nothing where it is of another format."""
    try:
        data = json.loads(file.read_text())
    except ValueError:
        return {}
    return data if isinstance(data, dict) and data.get("format") == FORMAT else {}


class Store:
    def __init__(self, folder):
        self.file, self.page = folder / "gpu.json", folder / "gpu.md"
        self.begun, self.forgotten = set(), set()
        self.data = {"format": FORMAT, "identity": {}, "problems": {}}
        if self.file.exists():
            if known := read(self.file):
                self.data |= known
            else:
                self.set_aside("written in another format", self.file.read_bytes())

    def set_aside(self, why, of):
        """What other programs, devices or versions left is no part of the page, but was dear to measure. `of`: what tells it from others."""
        earlier = self.file.with_name(f"gpu.earlier.{hashlib.sha256(of).hexdigest()[:12]}.json")
        say(f"{self.file.name} is {why}: it is now {earlier.name}")
        os.replace(self.file, earlier)

    def take_up(self, identity):
        """Goes on from what was set aside of this program and device, if anything was."""
        for earlier in sorted(self.file.parent.glob("gpu.earlier*.json")):
            data = read(earlier)
            if data and identity.items() <= data["identity"].items():
                say(f"{earlier.name} is of this program and device: it is {self.file.name} again")
                os.replace(earlier, self.file)
                others = {part: of for part, of in data["problems"].items() if part not in self.begun}
                self.data |= {**data, "problems": {**others, **self.data["problems"]}}
                break
        for part in list(self.forgotten):
            self.forget(part)

    def turn_to(self, identity, why):
        """`why`: what is here is none of its measurements."""
        known = self.data["identity"]
        if why:
            self.save()
            self.set_aside(why, json.dumps(known, sort_keys=True).encode())
            problems = {part: of for part, of in self.data["problems"].items() if part in self.begun}
            kept = {"device_code"} if known.get("program") == identity["program"] else set()
            self.data = {"format": FORMAT, "identity": {}, "problems": problems, **{key: self.data[key] for key in kept & self.data.keys()}}
        if why or not known:
            self.take_up(identity)
        self.data["identity"].update(identity)

    def belongs_to(self, program, devices):
        """Before anything is measured: what is of another program or of another machine's devices is set aside."""
        known, why = self.data["identity"], None
        if known.get("program", program) != program:
            why = "of another program"
        elif known.get("devices", devices) != devices:
            why = f"of another device ({', '.join(known['devices'])})"
        self.turn_to({"program": program, "devices": devices}, why)

    def measured_on(self, machine):
        """What a self-test says of its device: where there are several, not always the one that nvidia-smi names first."""
        known, device = self.data["identity"], machine["device"]
        why = f"of another device ({known['device']})" if known.get("device", device) != device else None
        self.turn_to({**known, "device": device}, why)
        self.data["machine"] = machine

    def begin(self, part):
        """A part that is tried again has no problems yet; those of the others stay."""
        self.begun.add(part)
        self.data["problems"].pop(part, None)

    def problem(self, part, name, why):
        self.data["problems"].setdefault(part, {})[name] = why

    def problems_of(self, part):
        return self.data["problems"].get(part, {})

    def forget(self, part):
        self.forgotten.add(part)  # also in what is taken up
        if part == "kernels":
            self.data.pop("torch_kernels", None)
        if part == "service":
            self.data.pop("service", None)
        self.data.get("steps", {}).pop(part, None)
        self.data.get("self_tests", {}).pop(part, None)

    def steps(self, model):
        return self.data.setdefault("steps", {}).setdefault(model, {"troupe": [], "torch": {}})

    def self_tests(self):
        return self.data.setdefault("self_tests", {})

    def torch_kernels(self):
        return self.data.setdefault("torch_kernels", {})

    def service(self):
        return self.data.setdefault("service", {})

    def save(self):
        unfinished = self.file.with_suffix(".part")
        unfinished.write_text(json.dumps(self.data, indent=1))
        os.replace(unfinished, self.file)
        self.page.write_text(markdown(self.data))
