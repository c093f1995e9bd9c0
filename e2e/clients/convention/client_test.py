"""The unchanged PyPI package `convex` against real servers: PROBES has functions that fail on purpose, APPLICATION is
the application."""

import contextlib
import io
import math
import os
import unittest

from convex import ConvexError, ConvexInt64
from convex.http_client import ConvexHttpClient


class Convention(unittest.TestCase):
    def setUp(self):
        self.client = ConvexHttpClient(os.environ["PROBES"])

    def test_query_mutation_and_action(self):
        echoed = self.client.query("probes/values:echo", {"text": "Zürich 🦀"})
        self.assertEqual(echoed, {"text": "Zürich 🦀", "characters": 8.0, "list": []})
        entry = {"amount": 3, "idempotencyKey": "python-1"}
        added = self.client.mutation("probes/ledger:add", entry)
        self.assertEqual(self.client.mutation("probes/ledger:add", entry), added)
        self.assertEqual(self.client.action("probes/attempts:slow", {"name": "python", "ms": 1}), 1)
        self.assertIsNone(self.client.query("probes/values:nothing"))

    def test_integers_of_64_bits_bytes_and_floats(self):
        greatest = 2**63 - 1
        sent = {"wide": ConvexInt64(greatest), "bytes": b"\x00\xff\x07", "number": -0.0, "list": [ConvexInt64(-(2**63)), 7]}
        echoed = self.client.query("probes/values:echo", sent)
        self.assertEqual(echoed["wide"].value, greatest)
        self.assertEqual(echoed["backwards"], b"\x07\xff\x00")
        self.assertEqual(math.copysign(1, echoed["number"]), -1)
        self.assertEqual([echoed["list"][0].value, echoed["list"][1]], [-(2**63), 7.0])
        with self.assertRaises(ConvexError) as caught:
            self.client.query("probes/values:echo", {"number": math.nan})
        self.assertEqual([caught.exception.data[key] for key in ("code", "field")], ["INVALID_ARGUMENT", "number"])

    def test_large_result(self):
        rows = self.client.query("probes/values:many", {"rows": 30_000})
        self.assertEqual(rows[-1], {"place": 29_999, "text": "29999".rjust(60)})

    def test_set_auth_and_clear_auth(self):
        self.client.set_auth(os.environ["PROBES_TOKEN"])
        self.assertEqual(self.client.query("probes/values:who"), "ada")
        self.client.clear_auth()
        self.assertIsNone(self.client.query("probes/values:who"))
        self.client.set_auth("no token")
        with self.assertRaisesRegex(Exception, "^401 INVALID_CREDENTIALS: .+"):
            self.client.query("probes/values:who")

    def test_function_error_has_its_data(self):
        failing = {"code": "CONFLICT", "message": "Taken already", "detail": 7}
        for call in (self.client.query, self.client.mutation, self.client.action):
            with self.assertRaises(ConvexError) as caught:
                call(f"probes/failures:{call.__name__}", failing)
            self.assertEqual(caught.exception.data, {"code": "CONFLICT", "message": "Taken already", "detail": 7.0})

    def test_error_outside_the_function_has_its_code_and_message(self):
        with self.assertRaisesRegex(Exception, '^400 FUNCTION_NOT_FOUND: No function "probes/nowhere/atAll"'):
            self.client.query("probes/nowhere:atAll")
        with self.assertRaisesRegex(Exception, "^400 WRONG_FUNCTION_KIND: probes/ledger/add is a mutation"):
            self.client.query("probes/ledger:add", {"amount": 1})
        with self.assertRaisesRegex(Exception, "^500 INTERNAL: Internal error"):
            self.client.mutation("probes/failures:panicking", {"loudly": True})
        with self.assertRaisesRegex(Exception, "^503 OVERLOADED: Later"):
            self.client.query("probes/failures:query", {"code": "OVERLOADED", "message": "Later"})
        with self.assertRaisesRegex(Exception, "^413 PAYLOAD_TOO_LARGE: "):
            self.client.query("probes/values:echo", {"text": "x" * 1_200_000})

    def test_log_lines_are_printed(self):
        self.client.set_debug(True)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self.client.query("probes/values:echo", {"text": "seen"})
        self.assertEqual(printed.getvalue(), "[INFO] echo of seen\n")

    def test_deploy_key(self):
        self.client.set_admin_auth(os.environ["PROBES_KEY"])
        self.assertEqual(self.client.query("probes/values:secret"), "for operators")

    def test_application(self):
        there = ConvexHttpClient(os.environ["APPLICATION"])
        there.set_auth(os.environ["APPLICATION_TOKEN"])
        self.assertEqual(there.query("users/queries:getCurrentUser")["email"], "ada@example.com")
        made = there.mutation("meetings/lifecycle:createMeeting", {"title": "By Python"})
        meeting = there.query("meetings/queries:getMeeting", {"meetingId": made["meetingId"]})
        self.assertEqual(meeting["title"], "By Python")
        with self.assertRaises(ConvexError) as caught:
            there.mutation("meetings/lifecycle:createMeeting", {"title": " "})
        message = "Meeting title cannot be empty"
        self.assertEqual(caught.exception.data, {"code": "INVALID_ARGUMENT", "field": "title", "message": message})


if __name__ == "__main__":
    unittest.main()
