"""What Schemathesis makes up is mostly about ids that do not exist. Every second id becomes one that does, so that what
lies behind the rights is reached as well."""

import json
import os
import re

import schemathesis

IDS = {}
for known in json.loads(os.environ["IDS"]):
    IDS.setdefault(known.split("_")[0], []).append(known)
ID = re.compile(r"^([a-z]+)_[0-7][0-9a-hjkmnp-tv-z]{25}$")


def real(value):
    if isinstance(value, dict):
        return {name: real(member) for name, member in value.items()}
    if isinstance(value, list):
        return [real(item) for item in value]
    found = ID.match(value) if isinstance(value, str) else None
    known = IDS.get(found[1], []) if found else []
    # The id itself decides, so that a run can be repeated.
    place = sum(value.encode()) if known else 0
    return known[place // 2 % len(known)] if known and place % 2 == 0 else value


@schemathesis.hook
def map_body(context, body):
    return real(body)
