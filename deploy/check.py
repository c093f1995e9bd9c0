"""Checks what promtool does not: the metrics of the alerts and the dashboard exist, and each alert has an entry in the
operator's guide. Usage: check.py PAGE, a scraped page of a running server."""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Metrics that Prometheus adds itself.
ELSEWHERE = {"up"}
NAME = re.compile(r"\b(?:app|convoke|process)_[a-z0-9_]+|\bup\b(?=\{)")


def missing(where: str, text: str, samples: set[str]) -> list[str]:
    names = set(NAME.findall(text)) - ELSEWHERE
    assert names, f"{where} names no metric"
    return [f"{where}: the server has no metric `{name}`" for name in sorted(names - samples)]


def slug(heading: str) -> str:
    """Returns the anchor that Markdown renderers give a heading."""
    return re.sub(r"[^a-z0-9 -]", "", heading.lower()).strip().replace(" ", "-")


def main() -> int:
    page = pathlib.Path(sys.argv[1]).read_text()
    samples = {re.split(r"[{ ]", line, maxsplit=1)[0] for line in page.splitlines() if not line.startswith("#")}
    rules = (ROOT / "deploy/alerts.yml").read_text()
    problems = missing("deploy/alerts.yml", rules, samples)

    dashboard = json.loads((ROOT / "deploy/dashboard.json").read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
    problems += missing("deploy/dashboard.json", "\n".join(queries), samples)

    guide = (ROOT / "docs/how-to/alerts.md").read_text()
    anchors = {slug(line.lstrip("#")) for line in guide.splitlines() if line.startswith("#")}
    alerts = re.findall(r"- alert: (\w+)", rules)
    runbooks = re.findall(r"runbook: docs/how-to/alerts\.md#(\S+)", rules)
    assert len(alerts) == len(runbooks) > 0, "each alert must have a runbook"
    for alert, runbook in zip(alerts, runbooks):
        expected = "alert-" + re.sub(r"(?<!^)(?=[A-Z])", "-", alert).lower()
        if runbook != expected:
            problems.append(f"{alert}: the runbook is #{runbook} instead of #{expected}")
        if runbook not in anchors:
            problems.append(f"{alert}: docs/how-to/alerts.md has no heading for #{runbook}")

    print("\n".join(problems) if problems else f"{len(alerts)} alerts, {len(queries)} panels: all metrics exist")
    return 1 if problems else 0


sys.exit(main())
