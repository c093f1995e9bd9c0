"""Kills a server with SIGKILL at random moments of uploads, and checks that every row has its bytes.

Usage: kills.py PROGRAM KILLS
"""

import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

program, kills = sys.argv[1], int(sys.argv[2])
folder = tempfile.mkdtemp(prefix="convoke-files-")
moments = random.Random(0x5EED)


def start():
    """Starts the server. Returns its process and its address."""
    log = open(os.path.join(folder, "server.log"), "w")
    command = [program, "dev", "--no-watch", "--listen", "127.0.0.1:0"]
    server = subprocess.Popen(command, cwd=folder, stderr=log, stdout=subprocess.DEVNULL)
    for _ in range(600):
        found = re.search(r"^convoke: listening on (\S+)", open(log.name).read(), re.M)
        if found:
            return server, found.group(1)
        time.sleep(0.05)
    raise SystemExit(open(log.name).read())


def say(*args):
    return subprocess.run([program, *args], cwd=folder, capture_output=True, text=True)


def send(url, body, headers):
    with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=10) as response:
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


acknowledged, total = [], 0
for number in range(kills):
    server, url = start()
    token = say("token", "--subject", f"user-{number}", "--email", f"user-{number}@example.com").stdout.strip()
    meeting = call(url, token, "meetings/lifecycle/createMeeting", {"title": "Files"})["meetingId"]
    workers = [threading.Thread(target=upload, args=(url, token, meeting, acknowledged)) for _ in range(4)]
    for worker in workers:
        worker.start()
    time.sleep(moments.uniform(0.05, 1.0))
    server.send_signal(signal.SIGKILL)
    server.wait()
    for worker in workers:
        worker.join()
    report = json.loads(say("doctor", "--full", "--json").stdout)
    wrong = [one for one in report["findings"] if one["subject"] in ("contents", "references") and one["state"] == "problem"]
    assert not wrong, wrong
    assert any(one["subject"] == "references" for one in report["findings"]), report

server, url = start()
page = say("data", "attachments", "--limit", "100000", "--json").stdout
lost = [one for one in acknowledged if one not in page]
left = os.listdir(os.path.join(folder, "data", "files", "incoming"))
server.terminate()
server.wait()
assert not lost, f"{len(lost)} of {len(acknowledged)} acknowledged attachments are lost"
assert not left, f"incomplete uploads remain after the start: {left}"
print(f"files: {kills} kills, {len(acknowledged)} acknowledged files, each with its bytes")
