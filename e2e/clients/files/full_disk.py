"""Fills the disk of the files while clients upload, and checks that no row lacks its bytes, that no part of a file is
served, and that uploads work again when there is space. As root the disk is a small file system in memory. Otherwise,
the largest size of a file is limited.

Usage: full_disk.py PROGRAM
"""

import hashlib
import http.client
import json
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

program = sys.argv[1]
folder = tempfile.mkdtemp(prefix="convoke-full-disk-")
files = os.path.join(folder, "files")
os.mkdir(files)
MIB = 1 << 20
# The longest wait of a client, in seconds. A busy machine needs some of them.
PATIENCE = 300
is_root = os.geteuid() == 0


def mount(mib, *options):
    subprocess.run(["mount", "-t", "tmpfs", "-o", ",".join([f"size={mib}m", *options]), "none", files], check=True)


def limited():
    """Limits the size of a file to 24 MiB. Without the ignored signal, the limit would end the process."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (24 * MIB, 24 * MIB))


def start():
    with open(os.path.join(folder, "convoke.toml"), "w") as settings:
        # Only the file system itself may stop a write.
        limits = 'disk_free_bytes_min = 0\nquery_timeout = "1m"\nmutation_timeout = "1m"\n'
        settings.write(f'[limits]\n{limits}[files]\ndir = "{files}"\n')
    log = open(os.path.join(folder, "server.log"), "w")
    command = [program, "dev", "--no-watch", "--listen", "127.0.0.1:0"]
    server = subprocess.Popen(
        command, cwd=folder, stderr=log, stdout=subprocess.DEVNULL, preexec_fn=None if is_root else limited
    )
    end = time.monotonic() + PATIENCE
    while server.poll() is None and time.monotonic() < end:
        found = re.search(r"^convoke: listening on (\S+)\n", open(log.name).read(), re.M)
        if found:
            return server, found.group(1)
        time.sleep(0.05)
    raise SystemExit(open(log.name).read())


def call(path, args):
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    body = json.dumps({"args": args}).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{url}/api/run/meetings/{path}", body, headers)) as response:
        answer = json.load(response)
    assert answer["status"] == "success", answer
    return answer["value"]


def send(method, address, content=b"", headers={}):
    """Sends a body without a declared length, so that the server cannot know that it does not fit. It ends when the
    server responds: a server reads only for some seconds after its response, and then resets the connection."""
    parts = urllib.parse.urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=PATIENCE)
    connection.putrequest(method, parts.path)
    for name, value in {**headers, "Transfer-Encoding": "chunked"}.items():
        connection.putheader(name, value)
    connection.endheaders()
    for at in range(0, len(content), 65536):
        if select.select([connection.sock], [], [], 0)[0]:
            break
        piece = content[at : at + 65536]
        connection.send(b"%x\r\n%b\r\n" % (len(piece), piece))
    else:
        connection.send(b"0\r\n\r\n")
    response = connection.getresponse()
    return response.status, dict(response.getheaders()), response.read()


def begin():
    return call("attachments/beginUpload", {"meetingId": meeting})["url"]


def attach(content, results):
    """Uploads a content and attaches it. Appends the status and the message of the upload."""
    status, _, body = send("POST", begin(), content)
    answer = json.loads(body)
    if status == 200:
        name = hashlib.sha256(content).hexdigest()
        call("attachments/add", {"meetingId": meeting, "upload": answer["storageId"], "name": name})
    results.append((status, answer.get("errorMessage", "")))


def check():
    """Reads all attachments, compares them with their hashes, and asks the doctor. Returns their number."""
    listed = call("attachments/list", {"meetingId": meeting})
    for one in listed:
        with urllib.request.urlopen(one["url"]) as response:
            content = response.read()
        assert hashlib.sha256(content).hexdigest() == one["name"], f"{one['_id']} is not what its client sent"
    report = subprocess.run([program, "doctor", "--full", "--json"], cwd=folder, capture_output=True, text=True)
    findings = {(one["subject"], one["state"]) for one in json.loads(report.stdout)["findings"]}
    assert ("contents", "ok") in findings and ("references", "ok") in findings, report.stdout
    return len(listed)


if is_root:
    mount(9)
server, url = start()
try:
    command = [program, "token", "--subject", "ada", "--email", "ada@example.com"]
    token = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()
    meeting = call("lifecycle/createMeeting", {"title": "Files"})["meetingId"]

    first = []
    attach(os.urandom(2 * MIB), first)
    assert first == [(200, "")], first

    # Together they do not fit.
    size = 3 * MIB if is_root else 25 * MIB
    results = []
    workers = [threading.Thread(target=attach, args=(os.urandom(size), results)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    full = [message for status, message in results if status == 503]
    assert full and len(results) == 4, results
    assert all("no room for this file" in message for message in full), full
    stored = 1 + sum(status == 200 for status, _ in results)
    assert check() == stored
    # A part is removed after the response to its client.
    end = time.monotonic() + PATIENCE
    while (left := os.listdir(os.path.join(files, "incoming"))) and time.monotonic() < end:
        time.sleep(0.05)
    assert not left, f"parts of failed uploads remain: {left}"

    # An upload in parts keeps what fitted, and continues when there is space.
    content, tus = os.urandom(8 * MIB), {"Tus-Resumable": "1.0.0"}
    if is_root:
        address = begin()
        part = {**tus, "Content-Type": "application/offset+octet-stream"}
        status, _, body = send("PATCH", address, content, {**part, "Upload-Offset": "0", "Upload-Length": str(len(content))})
        assert status == 503 and b"no room" in body, (status, body)
        _, headers, _ = send("HEAD", address, headers=tus)
        offset = int(headers.get("Upload-Offset", headers.get("upload-offset")))
        assert 0 < offset < len(content), offset
        mount(64, "remount")
        status, headers, _ = send("PATCH", address, content[offset:], {**part, "Upload-Offset": str(offset)})
        assert status == 204, status
        storage_id = {name.lower(): value for name, value in headers.items()}["x-convoke-storage-id"]
        name = hashlib.sha256(content).hexdigest()
        call("attachments/add", {"meetingId": meeting, "upload": storage_id, "name": name})
        stored += 1
    last = []
    attach(os.urandom(4 * MIB), last)
    assert last == [(200, "")], last
    assert check() == stored + 1
    print(f"files: {len(full)} of 4 uploads found the disk full, {stored + 1} files are stored, each with its bytes")
finally:
    server.terminate()
    server.wait()
    if is_root:
        subprocess.run(["umount", files], check=True)
    shutil.rmtree(folder, ignore_errors=True)
