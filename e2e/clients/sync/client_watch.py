"""Watches a count with PyPI's `convex` (`client_watch.py watch URL NAME`) and says `seen N` of each result; or counts for each
line of standard input (`client_watch.py count URL NAME`) and says `done N`. Its client does one thing at a time."""

import sys

from convex import ConvexClient

role, url, name = sys.argv[1:]
client = ConvexClient(url)


def say(what, count):
    print(what, int(count), flush=True)


if role == "watch":
    for count in client.subscribe("probes/values:counted", {"name": name}):
        say("seen", count)
else:
    for _ in sys.stdin:
        say("done", client.mutation("probes/values:count", {"name": name}))
