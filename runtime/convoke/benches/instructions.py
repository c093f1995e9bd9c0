#!/usr/bin/env python3
"""Counts the instructions and the cache misses of one call, of Convoke and of axum with rusqlite, with callgrind.

Usage: instructions.py [ROW …]      rows: transfer, contended, insert, nothing; by default transfer and insert
Needs valgrind. Builds the benchmark `calls` with its symbols.

The counts do not depend on the load of the machine. The kernel is not counted. Callgrind runs a program some fifty times
slower. Work with a limit per second, such as the recording of calls, is therefore done for each call; the last column has
it. The ratio counts a ninth of it, as at full speed.
"""

import asyncio
import bisect
import itertools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

ACCOUNTS, CONNECTIONS, WARM_UP, REQUESTS = 100_000, 64, 2_048, 6_016
LIMITED = ("convoke_calls::recent_calls::RecentCalls::write", "convoke_core::core_wait::waited_so_far")
WEIGHTS = list(itertools.accumulate(rank**-1.5 for rank in range(1, ACCOUNTS)))


def built():
    """Returns the path of the benchmark."""
    command = ["cargo", "bench", "--no-run", "-p", "convoke", "--bench", "calls", "--message-format=json"]
    lines = subprocess.run(command, env=os.environ | {"CARGO_PROFILE_BENCH_STRIP": "none"}, stdout=subprocess.PIPE, check=True)
    return [found for line in lines.stdout.splitlines() if (found := json.loads(line).get("executable"))][-1]


def serve(program, folder, before=()):
    """Starts Convoke, and returns the process and its address."""
    log = os.path.join(folder, "serve.log")
    command = [*before, program, "serve", "--env", "development", "--listen", "127.0.0.1:0", "--data", folder]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=open(log, "w"))
    while not (found := re.search(r"listening on http://(\S+)", open(log).read())):
        assert process.poll() is None, open(log).read()
        time.sleep(0.05)
    return process, found.group(1)


def filled(program, folder):
    """Opens the accounts of a database."""
    process, address = serve(program, folder)
    for first in range(0, ACCOUNTS, 5_000):
        body = json.dumps({"args": {"first": first}}).encode()
        request = urllib.request.Request(f"http://{address}/api/run/bank/openAccounts", body, {"Content-Type": "application/json"})
        assert json.load(urllib.request.urlopen(request))["status"] == "success"
    process.send_signal(signal.SIGTERM)
    process.wait()


def call(row, chance):
    """Returns the function and the arguments of a call."""
    if row == "nothing":
        return "nothing", {}
    if row == "insert":
        return "postMessage", {"author": chance.randrange(ACCOUNTS), "text": "a message like every other"}
    if row == "contended":
        source, target = (bisect.bisect(WEIGHTS, chance.random() * WEIGHTS[-1]) for _ in range(2))
    else:
        source, target = chance.randrange(ACCOUNTS), chance.randrange(ACCOUNTS)
    return "transfer", {"from": source, "to": target if source != target else source ^ 1, "amount": 1}


async def load(address, row, requests, chance):
    """Sends requests, one after the other on each connection."""
    host, port = address.rsplit(":", 1)

    async def connection():
        reader, writer = await asyncio.open_connection(host, int(port))
        for _ in range(requests // CONNECTIONS):
            function, args = call(row, chance)
            body = json.dumps({"args": args}, separators=(",", ":"))
            head = f"POST /api/run/bank/{function} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            writer.write(f"{head}content-length: {len(body)}\r\n\r\n{body}".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(re.search(rb"content-length: (\d+)", head, re.I).group(1))
            answer = await reader.readexactly(length)
            assert b'"status":"success"' in answer, answer
        writer.close()

    await asyncio.gather(*(connection() for _ in range(CONNECTIONS)))


def totals(file):
    """Returns the events of a profile by their names, and the instructions within the functions of LIMITED."""
    names, events, summed, limited, caller, is_call = {}, [], [], 0, None, False
    for line in open(file):
        if line.startswith("events:"):
            events = line.split()[1:]
            summed = [0] * len(events)
        elif found := re.match(r"(c?)fn=\((\d+)\)(?: (.*))?", line):
            is_callee, number, name = found.groups()
            if name:
                names[number] = name
            if is_callee:
                callee = names[number]
            else:
                caller = names[number]
        elif line.startswith("calls="):
            is_call = True
        elif re.match(r"[0-9+*-]", line):
            costs = [int(cost) for cost in line.split()[1:]]
            if is_call:
                limited += costs[0] if any(name in callee and name not in caller for name in LIMITED) else 0
            else:
                summed = [cost + sum_ for cost, sum_ in itertools.zip_longest(costs, summed, fillvalue=0)]
            is_call = False
    return dict(zip(events, summed)), limited


def counted(program, contender, row, filled_folder):
    """Returns the events of one call, and the instructions that have a limit per second."""
    folder = tempfile.mkdtemp(prefix="convoke-instructions-")
    file = os.path.join(folder, "callgrind.out")
    valgrind = ["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", "--cache-sim=yes", f"--callgrind-out-file={file}"]
    try:
        if contender == "convoke":
            data = os.path.join(folder, "data")
            shutil.copytree(filled_folder, data)
            process, address = serve(program, data, valgrind)
        else:
            command = [*valgrind, program, "--contender", contender, str(ACCOUNTS), folder]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            address = json.loads(process.stdout.readline())["address"]
        chance = random.Random(7)

        def control(state):
            subprocess.run(["callgrind_control", "-i", state, str(process.pid)], capture_output=True, check=True)

        asyncio.run(load(address, row, WARM_UP, chance))
        control("on")
        asyncio.run(load(address, row, REQUESTS, chance))
        control("off")
        process.send_signal(signal.SIGTERM)
        process.wait()
        events, limited = totals(file)
        return {name: count / REQUESTS for name, count in events.items()}, limited / REQUESTS
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    program = built()
    base = tempfile.mkdtemp(prefix="convoke-instructions-")
    try:
        filled(program, base)
        print("row        instructions  axum + rusqlite  ratio   data misses  axum + rusqlite  ratio   limited")
        for row in sys.argv[1:] or ["transfer", "insert"]:
            ours, limited = counted(program, "convoke", row, base)
            if row == "nothing":
                print(f"{row:9} {ours['Ir']:13,.0f} {limited:76,.0f}")
                continue
            theirs, _ = counted(program, "AxumGrouped", row, base)
            misses = [one["D1mr"] + one["D1mw"] for one in (ours, theirs)]
            ratio = (ours["Ir"] - limited * 8 / 9) / theirs["Ir"]
            print(
                f"{row:9} {ours['Ir']:13,.0f} {theirs['Ir']:16,.0f} {ratio:6.2f} {misses[0]:13,.0f} {misses[1]:16,.0f}"
                f" {misses[0] / misses[1]:6.2f} {limited:9,.0f}"
            )
    finally:
        shutil.rmtree(base, ignore_errors=True)


main()
