"""Runs Schemathesis against a real server with example data. description.sh starts it with the arguments
BINARY FOLDER SCHEMATHESIS."""

import json
import os
import subprocess
import sys
from pathlib import Path

from program import Client, Program

HERE = Path(__file__).parent
NOW_MS = 1_767_225_600_000

# Without these settings, most calls would exceed their rate.
SETTINGS = "[rates]\nread = 0\nwrite = 0\nnotes = 0\ntokens = 0\ntranscripts = 0\ngeneration = 0\n"


def peopled(program, base):
    """Creates example data of every kind for one user, and returns the ids."""
    ada, grace = Client(program, base, "ada"), Client(program, base, "grace")
    interests = [{"id": "chess", "name": "Chess", "category": "personal"}]
    onboarding = dict(age=36, gender="female", field="Mathematics", jobTitle="Analyst", company="Engines", bio="Hello.")
    ids = ada.call("users/mutations/saveOnboarding", **onboarding, interests=interests)
    other = grace.call("users/mutations/saveOnboarding", **onboarding, interests=interests)
    meeting = ada.call("meetings/lifecycle/createMeeting", title="Planning", participantEmails=["grace@example.com"])
    of = {"meetingId": meeting["meetingId"]}
    ada.call("meetings/lifecycle/joinMeeting", **of)
    grace.call("meetings/lifecycle/joinMeeting", **of)
    session = {"sessionId": "tab-1", "state": "connected", "metadata": {"latency": 40, "packetLoss": 0.1}}
    ada.call("meetings/webrtc/index/updateSessionState", **of, **session)
    grace.call("meetings/webrtc/signaling/createSession", **of, sessionId="tab-2")
    grace.call("meetings/webrtc/signaling/sendSignal", **of, sessionId="tab-2", kind="ice", payload={"candidate": "a"})
    edit = {"type": "insert", "position": 0, "content": "We will ship it. Ada will write the notes."}
    ada.call("notes/index/applyNoteOperation", **of, clientSequence=0, operation=edit)
    times = {"confidence": 0.9, "startTime": NOW_MS, "endTime": NOW_MS + 2_000}
    ada.call("transcripts/ingestion/ingestTranscriptChunk", **of, text="I will send the plan tomorrow.", **times)
    insights = ada.call("insights/index/generateInsights", **of)["participantInsights"]
    prompts = ada.call("prompts/generation/generatePrompts", **of, kind="in-call")["promptIds"]
    watched = {"resourceType": "meetingNotes", "resourceId": of["meetingId"], "lastValidated": 0}
    ada.call("realtime/subscriptions/validateSubscription", subscriptionId="notes-1", **watched)
    signals = ada.call("meetings/webrtc/signaling/listSignals", **of)
    found = [ids["userId"], ids["profileId"], other["userId"], of["meetingId"], *insights, *prompts]
    return ada, found + [signal["_id"] for signal in signals]


def main():
    program = Program(sys.argv[1], Path(sys.argv[2]))
    with program.server(SETTINGS, "serve", "--env", "development", "--log", "warn") as base:
        ada, ids = peopled(program, base)
        environment = {
            **os.environ,
            "SCHEMATHESIS_HOOKS": str(HERE / "hooks.py"),
            "DESCRIPTION": str(program.folder / "public.json"),
            "IDS": json.dumps(ids),
            "TOKEN": ada.token,
        }
        command = [sys.argv[3], "--config-file", str(HERE / "schemathesis.toml"), "run", f"{base}/openapi.json"]
        # Schemathesis would wait for the end of a live stream, and it cannot generate a valid `ts`.
        command += ["--exclude-path", "/api/live", "--exclude-path", "/api/query_at_ts"]
        tested = subprocess.run(command, env=environment, cwd=program.folder)
    sys.exit(tested.returncode)


main()
