"""The program as the Python scripts use it: a server that runs, and users who call it."""

import json
import subprocess
import sys
import threading
import urllib.request
from contextlib import contextmanager


class Program:
    """One binary and one folder, which has the data, the secrets and `convoke.toml`."""

    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder

    def command(self, *arguments):
        data, config = self.folder / "data", self.folder / "convoke.toml"
        return [self.binary, *arguments, "--data", str(data), "--config", str(config)]

    def token(self, subject):
        user = ["--subject", subject, "--name", subject.title(), "--email", f"{subject}@example.com"]
        command = self.command("token", *user)
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    @contextmanager
    def server(self, settings, *arguments, env=None):
        """Starts a server on a free port, and gives its address. The server must end with code 0. Its log is printed
        if anything fails."""
        (self.folder / "convoke.toml").write_text(settings)
        command = self.command(*arguments, "--listen", "127.0.0.1:0")
        process = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)
        lines = []
        try:
            try:
                yield address(process.stderr, lines)
            finally:
                process.terminate()
                code = process.wait(timeout=300)
            assert code == 0, f"the server ended with {code}"
        except BaseException:
            sys.stderr.writelines(lines)
            raise


def address(log, lines):
    """Reads a server's log into `lines` until it has the server's address, and the rest on a thread, so that the server
    never waits for a reader."""
    for line in log:
        lines.append(line)
        if "listening on " in line:
            threading.Thread(target=lambda: lines.extend(log), daemon=True).start()
            return line.split("listening on ")[1].strip()
    raise AssertionError("the server did not start")


class Client:
    """A user who calls functions over HTTP."""

    def __init__(self, program, base, subject):
        self.base, self.token = base, program.token(subject)

    def call(self, path, **args):
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        body = json.dumps({"args": args}).encode()
        request = urllib.request.Request(f"{self.base}/api/run/{path}", body, headers)
        with urllib.request.urlopen(request, timeout=300) as response:
            reply = json.load(response)
        assert reply["status"] == "success", f"{path}: {reply}"
        return reply["value"]
