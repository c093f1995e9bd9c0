"""Kills a server with SIGKILL at random moments of uploads, and checks that every row has its bytes.

Usage: kills.py PROGRAM KILLS [LAZYFS]

With the program of LazyFS (https://github.com/dsrhaslab/lazyfs), the data folder is on a file system that loses all unsynchronized
bytes after each kill, as a power loss does. Mounting it needs root.
"""

import atexit
import json
import os
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

program, kills, lazyfs = os.path.abspath(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
folder = tempfile.mkdtemp(prefix="convoke-files-")
atexit.register(shutil.rmtree, folder, ignore_errors=True)
moments = random.Random(0x5EED)
# The longest wait of a client, in seconds. A busy machine needs some of them.
PATIENCE = 300


class Power:
    """The file system of the data folder, which loses unsynchronized bytes."""

    def __init__(self, lazyfs):
        self.data, self.fifo, self.done = (os.path.join(folder, name) for name in ("data", "faults", "faults-done"))
        disk, settings, log = (os.path.join(folder, name) for name in ("disk", "lazyfs.toml", "lazyfs.log"))
        os.mkdir(self.data)
        os.mkdir(disk)
        with open(settings, "w") as file:
            file.write(f'[faults]\nfifo_path="{self.fifo}"\nfifo_path_completed="{self.done}"\n')
            file.write('[cache]\napply_eviction=false\n[cache.simple]\ncustom_size="1GB"\nblocks_per_page=1\n')
            file.write(f'[filesystem]\nlog_all_operations=false\nlogfile="{log}"\n')
        options = ["-o", "allow_other", "-o", "modules=subdir", "-o", f"subdir={disk}", "-f"]
        command = [lazyfs, self.data, "--config-path", settings, *options]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        atexit.register(self.end)
        for _ in range(6_000):
            if os.path.ismount(self.data) and os.path.exists(self.done):
                break
            assert self.process.poll() is None, open(log).read()
            time.sleep(0.05)
        # A file system that loses nothing would make every check succeed.
        probe = os.path.join(self.data, "probe")
        with open(probe, "w") as file:
            file.write("not synchronized")
        self.fail()
        assert os.path.getsize(probe) == 0, "LazyFS loses no unsynchronized bytes"
        os.remove(probe)

    def fail(self):
        """Loses all unsynchronized bytes."""
        # LazyFS says that it has done so only to a reader who waits already.
        done = os.open(self.done, os.O_RDONLY | os.O_NONBLOCK)
        with open(self.fifo, "w") as fifo:
            fifo.write("lazyfs::clear-cache\n")
        select.select([done], [], [], 60)
        assert b"clear-cache" in os.read(done, 100)
        os.close(done)

    def end(self):
        subprocess.run(["umount", "--lazy", self.data], check=True)
        self.process.wait()


def start():
    """Starts the server. Returns its process and its address."""
    log = open(os.path.join(folder, "server.log"), "w")
    command = [program, "dev", "--no-watch", "--listen", "127.0.0.1:0"]
    server = subprocess.Popen(command, cwd=folder, stderr=log, stdout=subprocess.DEVNULL)
    atexit.register(server.kill)
    end = time.monotonic() + PATIENCE
    while server.poll() is None and time.monotonic() < end:
        found = re.search(r"^convoke: listening on (\S+)\n", open(log.name).read(), re.M)
        if found:
            return server, found.group(1)
        time.sleep(0.05)
    raise SystemExit(open(log.name).read())


def say(*args):
    return subprocess.run([program, *args], cwd=folder, capture_output=True, text=True)


def send(url, body, headers):
    with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=PATIENCE) as response:
        return json.load(response)


def call(url, token, path, args):
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    answer = send(f"{url}/api/run/{path}", json.dumps({"args": args}).encode(), headers)
    if answer["status"] != "success":
        raise RuntimeError(answer)
    return answer["value"]


def upload(url, token, meeting, acknowledged):
    """Uploads and attaches files until the server is gone."""
    try:
        while True:
            address = call(url, token, "meetings/attachments/beginUpload", {"meetingId": meeting})["url"]
            done = send(address, os.urandom(random.randrange(1, 200_000)), {"Content-Type": "text/plain"})
            args = {"meetingId": meeting, "upload": done["storageId"], "name": "a"}
            acknowledged.append(call(url, token, "meetings/attachments/add", args))
    except (OSError, RuntimeError, ValueError):
        pass


# A debug build on a busy machine takes seconds for what a release takes milliseconds.
with open(os.path.join(folder, "convoke.toml"), "w") as file:
    file.write('[limits]\nquery_timeout = "1m"\nmutation_timeout = "1m"\n')
acknowledged = []
power = Power(*lazyfs) if lazyfs else None
for number in range(kills):
    server, url = start()
    token = say("token", "--subject", f"user-{number}", "--email", f"user-{number}@example.com").stdout.strip()
    meeting = call(url, token, "meetings/lifecycle/createMeeting", {"title": "Files"})["meetingId"]
    workers = [threading.Thread(target=upload, args=(url, token, meeting, acknowledged)) for _ in range(4)]
    for worker in workers:
        worker.start()
    if number == kills - 1:
        # On a busy machine, no file may be acknowledged before the earlier kills.
        end = time.monotonic() + PATIENCE
        while not acknowledged and time.monotonic() < end:
            time.sleep(0.05)
    time.sleep(moments.uniform(0.05, 1.0))
    server.send_signal(signal.SIGKILL)
    server.wait()
    for worker in workers:
        worker.join()
    if power:
        power.fail()
    report = json.loads(say("doctor", "--full", "--json").stdout)
    wrong = [one for one in report["findings"] if one["subject"] in ("contents", "references") and one["state"] == "problem"]
    assert not wrong, wrong
    for subject in "integrity", "references":
        assert any(one["subject"] == subject and one["state"] != "problem" for one in report["findings"]), report

server, url = start()
incoming = os.path.join(folder, "data", "files", "incoming")
left = os.listdir(incoming) if acknowledged else []
server.terminate()
server.wait()
page = say("data", "attachments", "--limit", "100000", "--json").stdout
lost = [one for one in acknowledged if one not in page]
assert acknowledged, "no file was acknowledged before a kill"
assert not lost, f"{len(lost)} of {len(acknowledged)} acknowledged attachments are lost"
assert not left, f"incomplete uploads remain after the start: {left}"
print(f"files: {kills} {'power losses' if power else 'kills'}, {len(acknowledged)} acknowledged files, each with its bytes")
