"""Checks that the compose files are consistent with themselves, with their load balancers and with the cluster's settings."""

import re
import sys
from pathlib import Path

from ruamel.yaml import YAML

folder = Path(__file__).parent
listen = re.search(r"CONVOKE_LISTEN=\S+:(\d+)", (folder / "Dockerfile").read_text()).group(1)
problems = []


class File:
    """A compose file with its load balancer."""

    def __init__(self, name, balancer):
        self.name = name
        self.compose = YAML(typ="safe").load(folder / name)
        self.services = self.compose["services"]
        self.nodes = {name: service for name, service in self.services.items() if service["image"] == "convoke"}
        self.balancer = (folder / balancer).read_text()
        used = [volume for volume in self.services["balancer"]["volumes"] if volume.startswith(f"./{balancer}:")]
        self.expect(len(used) == 1, f"the load balancer does not read {balancer}")

    def expect(self, holds, problem):
        if not holds:
            problems.append(f"deploy/{self.name}: {problem}")

    def section(self, heading):
        """Returns the lines of a section of the load balancer's configuration."""
        found = re.search(rf"^{heading}$((?:\n[ \t].*|\n)*)", self.balancer, re.MULTILINE)
        self.expect(found, f"the load balancer has no section `{heading}`")
        return found.group(1) if found else ""

    def served(self, heading):
        return re.findall(r"^\s+server (\S+) (\S+):(\d+)$", self.section(heading), re.MULTILINE)

    def check(self, count):
        services, nodes, expect = self.services, self.nodes, self.expect
        expect(len(nodes) == count, f"there must be {count} nodes, not {sorted(nodes)}")
        served = self.served("backend nodes")
        expect({name for name, _, _ in served} == set(nodes), f"the load balancer has {served}, but the file has {sorted(nodes)}")
        expect(all(host == name and port == listen for name, host, port in served), f"nodes listen on {listen}, but the load balancer has {served}")
        front = re.search(r"bind :(\d+)", self.section("frontend calls")).group(1)
        expect(all(port.endswith(f":{front}") for port in services["balancer"]["ports"]), f"the load balancer listens on {front}")

        data = [volume.split(":")[0] for node in nodes.values() for volume in node["volumes"] if volume.endswith(":/data")]
        expect(len(set(data)) == len(nodes), f"each node needs its own data folder: {data}")
        used = {volume.split(":")[0] for service in services.values() for volume in service.get("volumes", [])}
        named = {volume for volume in used if re.fullmatch(r"[\w-]+", volume)}
        declared = set(self.compose["volumes"])
        expect(named == declared, f"the services use the volumes {sorted(named)}, but the file declares {sorted(declared)}")
        for volume in used - named:
            expect(volume.startswith("${") or (folder / volume).is_file(), f"{volume} is not a file")

        for name, service in services.items():
            for other, wait in service.get("depends_on", {}).items():
                expect(other in services, f"{name} waits for {other}, which does not exist")
                is_healthy = wait["condition"] == "service_healthy"
                expect(not is_healthy or "healthcheck" in services.get(other, {}), f"{name} waits for {other}, which has no health check")
            for secret in service.get("secrets", []):
                expect(secret in self.compose["secrets"], f"{name} uses the secret {secret}, which is not declared")
            if "build" in service:
                build = service["build"]
                file = folder / build["context"] / build.get("dockerfile", "Dockerfile")
                expect(file.is_file(), f"{name} is built from {file}, which does not exist")

        subnet = self.compose["networks"]["default"]["ipam"]["config"][0]["subnet"]
        for name, node in nodes.items():
            expect(node["environment"]["CONVOKE_TRUSTED_PROXY"] == subnet, f"{name} trusts other proxies than the load balancer")

    def stores(self):
        """Returns the name, the host and the database of each node's store."""
        for name, node in self.nodes.items():
            host, database = re.fullmatch(r"postgres://convoke@([\w-]+)/(\w+)\?.*", node["environment"]["CONVOKE_STORE"]).groups()
            self.expect(host in self.services and host in node["depends_on"], f"{name} uses {host} but does not wait for it")
            yield name, host, database


def one_database():
    file = File("compose.yaml", "haproxy.cfg")
    file.check(count=3)
    for _, host, database in file.stores():
        file.expect(file.services[host]["environment"]["POSTGRES_DB"] == database, f"{host} has no database {database}")


def cluster():
    file = File("compose.ha.yaml", "haproxy.ha.cfg")
    file.check(count=2)
    expect, services = file.expect, file.services
    patroni = YAML(typ="safe").load(folder / "patroni/patroni.yml")
    api, port = (patroni[part]["listen"].rsplit(":", 1)[1] for part in ("restapi", "postgresql"))
    databases = {name: service for name, service in services.items() if service["image"] == "convoke-patroni"}
    expect(len(databases) == 3, f"there must be three servers, not {sorted(databases)}")
    served = file.served("listen postgres")
    expect(sorted(served) == [(name, name, port) for name in sorted(databases)], f"the load balancer has {served}")
    section = file.section("listen postgres")
    for option in (f"bind :{port}", f"default-server port {api} check ", " on-marked-down shutdown-sessions", "meth OPTIONS uri /primary"):
        expect(option in section, f"the section `listen postgres` of the load balancer lacks `{option.strip()}`")
    for name, service in databases.items():
        environment = service["environment"]
        expect(environment["PATRONI_NAME"] == name, f"the name of {name} is {environment['PATRONI_NAME']}")
        expect(environment["PATRONI_RESTAPI_CONNECT_ADDRESS"] == f"{name}:{api}", f"{name} has the API on {api}")
        expect(environment["PATRONI_POSTGRESQL_CONNECT_ADDRESS"] == f"{name}:{port}", f"{name} listens on {port}")
        expect(f":{api}/" in service["healthcheck"]["test"][-1], f"the health check of {name} uses another port than {api}")
        parent = patroni["postgresql"]["data_dir"].rsplit("/", 1)[0]
        expect(any(volume.endswith(f":{parent}") for volume in service["volumes"]), f"{name} has no volume on {parent}")
    rows = [volume.split(":")[0] for service in databases.values() for volume in service["volumes"]]
    expect(len(set(rows)) == len(databases), f"each server needs its own volume: {rows}")
    lease, client = patroni["etcd3"]["hosts"].split(":")
    expect(services[lease]["environment"]["ETCD_ADVERTISE_CLIENT_URLS"] == f"http://{lease}:{client}", f"{lease} has another address")
    image = re.search(r"^FROM postgres:(\d+)", (folder / "patroni/Dockerfile").read_text(), re.MULTILINE).group(1)
    expect(f"/{image}/" in patroni["postgresql"]["bin_dir"], f"the image has PostgreSQL {image}")

    for name, host, database in file.stores():
        store = file.nodes[name]["environment"]["CONVOKE_STORE"]
        expect(host == "balancer" and "target_session_attrs=read-write" in store, f"{name} may reach a standby: {store}")
        expect(f"DATABASE {database} OWNER convoke" in (folder / "patroni/create-database.sh").read_text(), f"there is no database {database}")

    # The settings that the guide recommends.
    guide = (folder.parent / "docs/how-to/failover.md").read_text()
    shown = YAML(typ="safe").load(re.search(r"^```yaml\n(.*?)^```", guide, re.MULTILINE | re.DOTALL).group(1))["bootstrap"]["dcs"]
    dcs = patroni["bootstrap"]["dcs"]
    for key in ("ttl", "loop_wait", "retry_timeout", "synchronous_mode"):
        expect(dcs[key] == shown[key], f"docs/how-to/failover.md has {key}: {shown[key]}, but patroni.yml has {dcs[key]}")
    parameters, wanted = dcs["postgresql"]["parameters"], shown["postgresql"]["parameters"]
    expect(wanted.items() <= parameters.items(), f"docs/how-to/failover.md has the parameters {wanted}, but patroni.yml has {parameters}")


one_database()
cluster()
for problem in problems:
    print(problem, file=sys.stderr)
sys.exit(1 if problems else 0)
