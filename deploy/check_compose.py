"""Checks that deploy/compose.yaml is consistent with deploy/haproxy.cfg and with itself."""

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
expect(len(nodes) == 3, f"there must be three nodes, not {sorted(nodes)}")
expect({name for name, _, _ in served} == set(nodes), f"the load balancer has {served}, but the file has {sorted(nodes)}")
listen = re.search(r"CONVOKE_LISTEN=\S+:(\d+)", (folder / "Dockerfile").read_text()).group(1)
expect(all(host == name and port == listen for name, host, port in served), f"nodes listen on {listen}, but the load balancer has {served}")

data = [volume.split(":")[0] for node in nodes.values() for volume in node["volumes"] if volume.endswith(":/data")]
expect(len(set(data)) == len(nodes), f"each node needs its own data folder: {data}")
used = {volume.split(":")[0] for service in services.values() for volume in service.get("volumes", [])}
named = {volume for volume in used if re.fullmatch(r"[\w-]+", volume)}
expect(named == set(compose["volumes"]), f"the services use the volumes {sorted(named)}, but the file declares {sorted(compose['volumes'])}")
for volume in used - named:
    expect(volume.startswith("${") or (folder / volume).is_file(), f"{volume} is not a file")

for name, service in services.items():
    for other in service.get("depends_on", {}):
        expect("healthcheck" in services[other], f"{name} waits for {other}, which has no health check")
    for secret in service.get("secrets", []):
        expect(secret in compose["secrets"], f"{name} uses the secret {secret}, which is not declared")

subnet = compose["networks"]["default"]["ipam"]["config"][0]["subnet"]
for name, node in nodes.items():
    expect(node["environment"]["CONVOKE_TRUSTED_PROXY"] == subnet, f"{name} trusts other proxies than the load balancer")
    host, database = re.fullmatch(r"postgres://convoke@([\w-]+)/(\w+)\?.*", node["environment"]["CONVOKE_STORE"]).groups()
    expect(host in services and host in node["depends_on"], f"{name} uses {host} but does not wait for it")
    expect(services[host]["environment"]["POSTGRES_DB"] == database, f"{host} has no database {database}")

for problem in problems:
    print(f"deploy/compose.yaml: {problem}", file=sys.stderr)
sys.exit(1 if problems else 0)
