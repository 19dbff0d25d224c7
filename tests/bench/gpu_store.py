"""What tests/bench/gpu.py keeps between its commands, DIR/gpu.json: the measurements of one program on one kind of device, and what
went wrong, part by part.

    identity       the program's hash and the devices' names (nvidia-smi's), by which a command knows that it may go on from
                   here, and the name of the device that was measured (the self-test's)
    machine        that device, for the page
    device_code    what each kernel takes of a multiprocessor
    self_tests     {model: the answer of the last gpu-selftest}
    steps          {model: {"troupe": [decode steps of a turn, ...], "torch": {key: [result of a turn, ...]}}}
    torch          torch's version, and the device that it names
    torch_kernels  {key: result}
    problems       {part: {piece of work: why}}

Keys and results are those of gpu_torch.py.
"""
import hashlib
import json
import os

from gpu_page import markdown
from gpu_process import say

FORMAT = 2  # one more whenever the above changes its meaning


def hash_of(program):
    return hashlib.sha256(program.read_bytes()).hexdigest()


class Store:
    def __init__(self, folder):
        self.file, self.page = folder / "gpu.json", folder / "gpu.md"
        self.begun = set()
        self.data = {}
        if self.file.exists():
            try:
                self.data = json.loads(self.file.read_text())
            except ValueError:
                pass  # as of another format
            if not isinstance(self.data, dict) or self.data.get("format") != FORMAT:
                self.set_aside("written in another format")
        self.data = {"format": FORMAT, "identity": {}, "problems": {}, **self.data}

    def set_aside(self, why):
        """What other programs, devices or versions left is no part of the page, but was dear to measure."""
        earlier = self.file.with_name("gpu.earlier.json")
        say(f"{self.file.name} is {why}: it is now {earlier.name}, and everything is measured anew")
        os.replace(self.file, earlier)
        problems = {} if not self.begun else {part: of for part, of in self.data["problems"].items() if part in self.begun}
        self.data = {"format": FORMAT, "identity": {}, "problems": problems}

    def belongs_to(self, program, devices):
        """Before anything is measured: what is of another program or of another machine's devices is set aside."""
        known = self.data["identity"]
        if known.get("program", program) != program:
            self.set_aside("of another program")
        elif known.get("devices", devices) != devices:
            self.set_aside(f"of another device ({', '.join(known['devices'])})")
        self.data["identity"].update(program=program, devices=devices)

    def measured_on(self, machine):
        """What a self-test says of its device: where there are several, not always the one that nvidia-smi names first."""
        identity = self.data["identity"]
        if identity.get("device", machine["device"]) != machine["device"]:
            self.set_aside(f"of another device ({identity['device']})")
        self.data["identity"] = {**identity, "device": machine["device"]}
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
        if part == "kernels":
            self.data.pop("torch_kernels", None)
        self.data.get("steps", {}).pop(part, None)
        self.data.get("self_tests", {}).pop(part, None)

    def steps(self, model):
        return self.data.setdefault("steps", {}).setdefault(model, {"troupe": [], "torch": {}})

    def self_tests(self):
        return self.data.setdefault("self_tests", {})

    def torch_kernels(self):
        return self.data.setdefault("torch_kernels", {})

    def save(self):
        unfinished = self.file.with_suffix(".part")
        unfinished.write_text(json.dumps(self.data, indent=1))
        os.replace(unfinished, self.file)
        self.page.write_text(markdown(self.data))
