"""PyPI's client of the Model Context Protocol against the application, over HTTP and over standard input: in the version
in which each request names its version, and with a handshake."""

import os
import unittest

import httpx2
from mcp import StdioServerParameters
from mcp.client import Client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

URL = os.environ["APPLICATION"] + "/mcp"


def over_http(mode, token=None):
    headers = {"authorization": f"Bearer {token}"} if token else {}
    return Client(streamable_http_client(URL, http_client=httpx2.AsyncClient(headers=headers, timeout=300)), mode=mode)


def over_pipe(mode):
    program = StdioServerParameters(command=os.environ["BINARY"], args=["mcp"], cwd=os.environ["DATA"])
    return Client(stdio_client(program), mode=mode)


class Tools(unittest.IsolatedAsyncioTestCase):
    async def test_a_call_runs_as_the_user_of_the_token_in_each_version(self):
        for mode, version in [("auto", "2026-07-28"), ("2026-07-28", "2026-07-28"), ("legacy", "2025-11-25")]:
            with self.subTest(mode=mode):
                async with over_http(mode, os.environ["APPLICATION_TOKEN"]) as client:
                    self.assertEqual(client.protocol_version, version)
                    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
                    self.assertTrue(tools["meetings_queries_getMeeting"].annotations.read_only_hint)
                    created = await client.call_tool("meetings_lifecycle_createMeeting", {"title": "Review"})
                    meeting = created.structured_content["meetingId"]
                    # The client checks each structured result against the schema that the list has.
                    for name in ["meetings_queries_getMeeting", "insights_queries_getMeetingInsights"]:
                        result = await client.call_tool(name, {"meetingId": meeting})
                        self.assertFalse(result.is_error, result)

    async def test_an_error_of_a_function_is_a_result(self):
        async with over_http("auto") as client:
            result = await client.call_tool("users_queries_getCurrentUser", {})
            self.assertTrue(result.is_error)
            self.assertTrue(result.content[0].text.startswith("UNAUTHENTICATED: "), result)
            with self.assertRaisesRegex(MCPError, "Unknown tool"):
                await client.call_tool("users_identity", {})

    async def test_a_coding_agent_reads_by_standard_input(self):
        for mode in ["auto", "legacy"]:
            with self.subTest(mode=mode):
                async with over_pipe(mode) as client:
                    names = [tool.name for tool in (await client.list_tools()).tools]
                    self.assertEqual(names, ["functions", "run", "logs", "data", "schema", "doctor", "docs"])
                    result = await client.call_tool("run", {"path": "users/queries/getCurrentUser", "as": "ada"})
                    self.assertFalse(result.is_error, result)


if __name__ == "__main__":
    unittest.main()
