"""PyPI's `convex`, unchanged, on the sync protocol against a real server: PROBES has it."""

import os
import unittest

from convex import ConvexClient, ConvexError, ConvexInt64

URL = os.environ["PROBES"]


class Sync(unittest.TestCase):
    def test_result_and_updates(self):
        client = ConvexClient(URL)
        counts = iter(client.subscribe("probes/values:counted", {"name": "python"}))
        self.assertEqual(next(counts), 0)
        for expected in (1, 2, 3):
            self.assertEqual(client.mutation("probes/values:count", {"name": "python"}), expected)
            self.assertEqual(next(counts), expected)

    def test_values_and_errors(self):
        client = ConvexClient(URL)
        greatest = 2**63 - 1
        echoed = client.query("probes/values:echo", {"text": "Zürich 🦀", "wide": ConvexInt64(greatest)})
        self.assertEqual((echoed["text"], echoed["wide"].value), ("Zürich 🦀", greatest))
        self.assertEqual(client.action("probes/attempts:slow", {"name": "python-sync", "ms": 1}), 1)
        with self.assertRaises(ConvexError) as caught:
            client.mutation("probes/failures:mutation", {"code": "CONFLICT", "message": "Taken"})
        self.assertEqual(caught.exception.data["code"], "CONFLICT")
        self.assertEqual(client.mutation("probes/values:count", {"name": "python-after"}), 1)

    def test_caller(self):
        client = ConvexClient(URL)
        self.assertIsNone(client.query("probes/values:who"))
        client.set_auth(os.environ["PROBES_TOKEN"])
        self.assertEqual(client.query("probes/values:who"), "ada")


if __name__ == "__main__":
    unittest.main()
