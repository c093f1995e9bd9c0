"""Holds deploy/compose.yaml against deploy/haproxy.cfg and itself, beyond what its schema says."""

import re
import sys
from pathlib import Path

from ruamel.yaml import YAML

folder = Path(__file__).parent
compose = YAML(typ="safe").load(folder / "compose.yaml")
services = compose["services"]
nodes = {name: service for name, service in services.items() if service["image"] == "convoke"}
problems = []


def expect(holds, problem):
    if not holds:
        problems.append(problem)


served = re.findall(r"^\s+server (\S+) (\S+):(\d+)$", (folder / "haproxy.cfg").read_text(), re.MULTILINE)
expect(len(nodes) == 3, f"three nodes, not {sorted(nodes)}")
expect({name for name, _, _ in served} == set(nodes), f"the load balancer has {served}, the file {sorted(nodes)}")
listen = re.search(r"CONVOKE_LISTEN=\S+:(\d+)", (folder / "Dockerfile").read_text()).group(1)
expect(all(host == name and port == listen for name, host, port in served), f"nodes listen on {listen}: {served}")

data = [volume.split(":")[0] for node in nodes.values() for volume in node["volumes"] if volume.endswith(":/data")]
expect(len(set(data)) == len(nodes), f"each node has a data folder of its own: {data}")
used = {volume.split(":")[0] for service in services.values() for volume in service.get("volumes", [])}
named = {volume for volume in used if re.fullmatch(r"[\w-]+", volume)}
expect(named == set(compose["volumes"]), f"volumes used {sorted(named)}, declared {sorted(compose['volumes'])}")
for volume in used - named:
    expect(volume.startswith("${") or (folder / volume).is_file(), f"{volume} is no file")

for name, service in services.items():
    for other in service.get("depends_on", {}):
        expect("healthcheck" in services[other], f"{name} waits for {other}, which has no check")
    for secret in service.get("secrets", []):
        expect(secret in compose["secrets"], f"{name} takes the secret {secret}, which is not declared")

subnet = compose["networks"]["default"]["ipam"]["config"][0]["subnet"]
for name, node in nodes.items():
    expect(node["environment"]["CONVOKE_TRUSTED_PROXY"] == subnet, f"{name} believes others than the load balancer")
    host, database = re.fullmatch(r"postgres://convoke@([\w-]+)/(\w+)\?.*", node["environment"]["CONVOKE_STORE"]).groups()
    expect(host in services and host in node["depends_on"], f"{name} asks {host}, for which it does not wait")
    expect(services[host]["environment"]["POSTGRES_DB"] == database, f"{host} has no database {database}")

for problem in problems:
    print(f"deploy/compose.yaml: {problem}", file=sys.stderr)
sys.exit(1 if problems else 0)
