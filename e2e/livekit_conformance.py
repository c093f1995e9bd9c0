"""Checks a real server with LiveKit's own library. livekit.sh starts it with the arguments BINARY FOLDER."""

import json
import os
import queue
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from google.protobuf import json_format
from livekit import api
from livekit.api import TokenVerifier
from livekit.protocol import models

from program import Client, Program

KEY, SECRET = "key1", "a secret of thirty-two characters"
REQUESTS = {
    "ListParticipants": api.ListParticipantsRequest,
    "RemoveParticipant": api.RoomParticipantIdentity,
    "UpdateParticipant": api.UpdateParticipantRequest,
    "DeleteRoom": api.DeleteRoomRequest,
}
told = queue.Queue()
# The participant that the media server reports in every room: a client that never opened a session.
inside = api.ListParticipantsResponse()


class RoomService(BaseHTTPRequestHandler):
    """A media server that accepts only tokens of its key, and messages of its protocol without unknown fields."""

    def do_POST(self):
        method = self.path.removeprefix("/twirp/livekit.RoomService/")
        token = self.headers["Authorization"].removeprefix("Bearer ")
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            grants = TokenVerifier(KEY, SECRET).verify(token).video
            told.put((method, grants, json_format.Parse(body, REQUESTS[method]())))
        except Exception as error:  # an invalid request is the result of the test
            told.put((method, error, body))
        answer = json_format.MessageToJson(inside).encode() if method == "ListParticipants" else b"{}"
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def grant(user, meeting, session):
    path = "meetings/webrtc/rooms/generateParticipantAccessToken"
    return user.call(path, meetingId=meeting, sessionId=session)


def check_token(grant, key, secret, role, user, meeting, publishes, administers):
    claims = TokenVerifier(key, secret).verify(grant["token"])
    video = claims.video
    assert claims.identity == grant["participantId"], claims
    assert claims.attributes == {"role": role, "userId": user}, claims
    expected = {"meetingId": meeting, "userId": user, "sessionId": grant["participantId"], "role": role}
    assert json.loads(claims.metadata) == expected, claims
    assert (video.room, video.room_join) == (grant["roomId"], True), video
    assert (video.can_subscribe, video.can_publish_data, video.can_publish) == (True, True, publishes), video
    sources = ["camera", "microphone", "screen_share", "screen_share_audio"] if publishes else None
    assert video.can_publish_sources == sources, video
    assert bool(video.room_admin) == administers, video
    assert not (video.room_create or video.room_list or video.room_record or video.ingress_admin), video
    try:
        TokenVerifier(key, "another secret of thirty-two chars").verify(grant["token"])
    except Exception:
        return
    raise AssertionError("a token verifies with a foreign key")


def expect(method):
    got, grants, message = told.get(timeout=300)
    assert got == method, (got, grants, message)
    if isinstance(grants, Exception):
        raise grants
    return grants, message


def check(program, base):
    ada, bob = Client(program, base, "ada"), Client(program, base, "bob")
    ada_id, bob_id = (who.call("users/queries/getCurrentUser")["_id"] for who in (ada, bob))
    everybody = ["bob@example.com"]
    create = "meetings/lifecycle/createMeeting"

    small = ada.call(create, title="Small", maxParticipants=2, participantEmails=everybody)
    assert (small["videoProvider"], small["webrtcReady"]) == ("webrtc", True), small
    own = (program.folder / "data/secrets/ROOM_KEY").as_posix()
    grants = [grant(who, small["meetingId"], session) for who, session in ((ada, "ada-1"), (bob, "bob-1"))]
    assert os.stat(own).st_mode & 0o777 == 0o600
    key = Path(own).read_text()
    check_token(grants[0], "convoke", key, "host", ada_id, small["meetingId"], True, True)
    check_token(grants[1], "convoke", key, "participant", bob_id, small["meetingId"], True, False)

    webinar = ada.call(create, title="Webinar", meetingType="webinar", participantEmails=everybody)
    assert (webinar["videoProvider"], webinar["webrtcReady"]) == ("livekit", True), webinar
    meeting = webinar["meetingId"]
    granted = grant(bob, meeting, "bob-2")
    room = granted["roomId"]
    check_token(granted, KEY, SECRET, "participant", bob_id, meeting, False, False)
    check_token(grant(ada, meeting, "ada-2"), KEY, SECRET, "host", ada_id, meeting, True, True)

    ada.call("meetings/lifecycle/updateParticipantRole", meetingId=meeting, userId=bob_id, newRole="host")
    grants, message = expect("UpdateParticipant")
    assert (grants.room_admin, grants.room) == (True, room), grants
    assert (message.room, message.identity) == (room, "bob-2"), message
    permission = message.permission
    assert permission.can_subscribe and permission.can_publish and permission.can_publish_data, message
    names = [models.TrackSource.Name(source) for source in permission.can_publish_sources]
    assert names == ["CAMERA", "MICROPHONE", "SCREEN_SHARE", "SCREEN_SHARE_AUDIO"], message
    assert dict(message.attributes) == {"role": "host", "userId": bob_id}, message

    # The media server has a client whose session was closed long ago. It must be removed as well.
    attributes = {"role": "participant", "userId": bob_id}
    inside.participants.add(sid="PA_1", identity="bob-old", state="ACTIVE", attributes=attributes)
    ada.call("meetings/lifecycle/removeParticipant", meetingId=meeting, userId=bob_id)
    grants, message = expect("ListParticipants")
    assert (grants.room_admin, grants.room, message.room) == (True, room, room), (grants, message)
    put_out = set()
    for _ in range(2):
        grants, message = expect("RemoveParticipant")
        assert (grants.room_admin, grants.room, message.room) == (True, room, room), grants
        put_out.add(message.identity)
    assert put_out == {"bob-2", "bob-old"}, put_out

    ada.call("meetings/lifecycle/endMeeting", meetingId=meeting)
    grants, message = expect("DeleteRoom")
    assert (grants.room_create, message.room) == (True, room), (grants, message)


def main():
    room_service = HTTPServer(("127.0.0.1", 0), RoomService)
    threading.Thread(target=room_service.serve_forever, daemon=True).start()
    address = f"ws://127.0.0.1:{room_service.server_port}"
    settings = f'[livekit]\nurl = "{address}"\napi_key = "{KEY}"\n'
    environment = {**os.environ, "CONVOKE_SECRET_LIVEKIT_API_SECRET": SECRET}
    program = Program(sys.argv[1], Path(sys.argv[2]))
    with program.server(settings, "dev", env=environment) as base:
        check(program, base)
    print("LiveKit's library takes the tokens and the calls.")


main()
