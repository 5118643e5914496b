# SPDX-License-Identifier: MIT
"""dent mcp, through a real client: the `mcp` package, in both eras of the protocol.

    client_test.py <dent> <library of test kernels> <scratch folder>
"""

import asyncio
import json
import pathlib
import shutil
import subprocess
import sys
import time
import unittest

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError

DENT, KERNELS, SCRATCH = sys.argv[1:4]
ERAS = ("2026-07-28", "auto", "legacy")
TOOLS = {"preflight", "build", "check", "bench", "profile", "sanitize", "predict", "evaluate", "history", "patterns", "cost"}


def project(name, entry):
    folder = pathlib.Path(SCRATCH) / "some projects" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "dent.toml").write_text(f"""version = 1
shapes = [{{ name = "tiny", n = 37 }}, {{ name = "small", n = 1000 }}]
kernel = {{ library = "{KERNELS}", entry = "{entry}" }}
baseline.plain = {{ library = "{KERNELS}", entry = "right" }}
performance = {{ seconds = 0.3 }}
limits = {{ call_seconds = 60 }}
[operator]
name = "scale"
inputs.x = {{ shape = ["n"] }}
outputs.y = {{ shape = ["n"] }}
reference = {{ library = "{KERNELS}", entry = "reference" }}
""")
    return folder


def client(root, mode="auto"):
    return Client(StdioServerParameters(command=DENT, args=["mcp", "-p", str(root)]), mode=mode, read_timeout_seconds=120)


def at_work_in(root):
    """Processes that work in the folder or were told of it, the server itself aside."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().decode().split("\0")
            state = (folder / "stat").read_text().rsplit(")", 1)[1].split()[0]
            if state != "Z" and "mcp" not in words[:2] and (str(root) in words or (folder / "cwd").readlink() == root):
                found.append(words)
        except OSError:  # gone meanwhile
            pass
    return found


class Protocol(unittest.IsolatedAsyncioTestCase):
    async def test_every_era_lists_the_tools_with_schemas_and_annotations(self):
        root = project("listed", "right")
        for mode in ERAS:
            async with client(root, mode) as dent:
                self.assertIn(dent.protocol_version, ("2026-07-28", "2025-11-25"))
                self.assertEqual(dent.protocol_version == "2025-11-25", mode == "legacy")
                tools = {tool.name: tool for tool in (await dent.list_tools()).tools}
                self.assertEqual(set(tools), TOOLS)
                for tool in tools.values():
                    self.assertTrue(tool.title and tool.description)
                    self.assertEqual(tool.input_schema["additionalProperties"], False)
                    self.assertIn("full", tool.output_schema["required"])
                    self.assertIsNotNone(tool.annotations.read_only_hint)
                    self.assertFalse(tool.annotations.open_world_hint)
                self.assertTrue(tools["history"].annotations.read_only_hint)
                self.assertFalse(tools["bench"].annotations.read_only_hint)

    async def test_says_who_it_is(self):
        for mode in ("auto", "legacy"):
            async with client(project("who", "right"), mode) as dent:
                self.assertEqual(dent.server_info.name, "dent")
                self.assertIn("one change at a time", dent.instructions)

    async def test_an_unknown_tool_is_a_protocol_error(self):
        async with client(project("unknown", "right")) as dent:
            with self.assertRaises(MCPError) as caught:
                await dent.call_tool("destroy", {})
            self.assertEqual(caught.exception.code, -32602)

    async def test_wrong_arguments_are_tool_errors_that_name_what_is_accepted(self):
        async with client(project("arguments", "right")) as dent:
            for arguments, said in (({"shape": "tiny"}, "no such argument; there are"),
                                    ({"shapes": "tiny"}, "must be of type array"),
                                    ({"shapes": ["gigantic"]}, "gigantic"),
                                    ({"project": "../../.."}, "is not in")):
                result = await dent.call_tool("check", arguments)
                self.assertTrue(result.is_error, arguments)
                self.assertIn(said, result.content[0].text)

    def test_nothing_but_protocol_on_stdout_whatever_comes_in(self):
        lines = ["", "{", "[]", '{"jsonrpc": "2.0"}', '{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}',
                 '{"jsonrpc": "2.0", "id": {}, "method": "ping"}', '{"jsonrpc": "2.0", "id": 2, "method": "ping"}',
                 '{"jsonrpc": "2.0", "id": 3, "method": "initialize", "params": {"protocolVersion": "1999-01-01"}}',
                 '{"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": 5}}',
                 '{"jsonrpc": "2.0", "id": 5, "method": "no/such"}', '{"jsonrpc": "2.0", "method": "notifications/cancelled"}',
                 '{"jsonrpc": "2.0", "id": 6, "method": "server/discover", "params": {"_meta": '
                 '{"io.modelcontextprotocol/protocolVersion": "2030-01-01", "io.modelcontextprotocol/clientCapabilities": {}}}}']
        done = subprocess.run([DENT, "mcp", "-p", str(project("raw", "right"))], input="\n".join(lines) + "\n", text=True,
                              capture_output=True, timeout=60, check=True)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        by_id = {str(answer.get("id")): answer for answer in answers if answer.get("id") is not None}
        self.assertEqual(len(answers), len(lines) - 1)  # a notification has none
        self.assertEqual(by_id["2"]["result"], {})
        self.assertEqual(by_id["3"]["result"]["protocolVersion"], "2025-11-25")
        self.assertEqual([by_id[id]["error"]["code"] for id in ("1", "4", "5", "6")], [-32602, -32602, -32601, -32022])
        self.assertEqual(by_id["6"]["error"]["data"], {"supported": ["2026-07-28"], "requested": "2030-01-01"})


class Gates(unittest.IsolatedAsyncioTestCase):
    async def test_check_build_and_bench_answer_shortly_and_point_to_the_rest(self):
        root = project("right", "slow")
        async with client(root.parent) as dent:  # the client checks each answer against its schema
            told = []

            async def progress(done, of, doing):
                told.append((done, of, doing))

            checked = await dent.call_tool("check", {"project": "right", "shapes": ["tiny"]}, progress_callback=progress)
            answer = checked.structured_content
            self.assertFalse(checked.is_error)
            self.assertEqual((answer["verdict"], answer["exit_code"]), ("PASS", 0))
            self.assertEqual(answer["correctness"][0]["shape"], "tiny")
            self.assertEqual(json.loads(checked.content[0].text), answer)
            full = json.loads(pathlib.Path(answer["full"]).read_text())
            self.assertEqual(full["id"], answer["session"])
            self.assertTrue(told)
            self.assertEqual([t[0] for t in told], sorted({t[0] for t in told}), "progress must grow")
            self.assertTrue(any("correctness/tiny" in t[2] for t in told), told)

            built = (await dent.call_tool("build", {"project": "right"})).structured_content
            self.assertEqual(built["verdict"], "PASS")
            ready = (await dent.call_tool("preflight", {"project": "right"})).structured_content
            self.assertTrue(ready["checks"])

            measured = (await dent.call_tool("bench", {"project": "right", "shapes": ["small"]})).structured_content
            self.assertIn(measured["shapes"][0]["shape"], "small")
            row = measured["shapes"][0]
            self.assertEqual(row["verdict"], "SLOWER", row)
            self.assertAlmostEqual(row["candidate_us"], 1000, delta=5)

            history = (await dent.call_tool("history", {"project": "right", "most": 3})).structured_content
            self.assertEqual(len(history["sessions"]), 3)
            self.assertLess(len(json.dumps(measured)), 4000)

    async def test_predict_profile_patterns_and_cost_answer_in_their_form(self):
        root = project("asked", "right")
        async with client(root) as dent:
            foreseen = (await dent.call_tool("predict", {"device": "l4", "shape": "1,1,128,64"})).structured_content
            self.assertEqual(foreseen["predictions"][0]["device"], "L4")
            self.assertLess(foreseen["predictions"][0]["chip_share"], 1)
            profiled = (await dent.call_tool("profile", {"shape": "small"})).structured_content
            self.assertEqual([d["shape"] for d in profiled["diagnoses"]], ["small"])
            known = (await dent.call_tool("patterns", {})).structured_content
            self.assertEqual(len(known["patterns"]), 12)
            self.assertGreater(known["left_out"]["patterns"], 0)
            self.assertGreater(len(json.loads(pathlib.Path(known["full"]).read_text())["patterns"]), 12)
            self.assertIn("matches", (await dent.call_tool("patterns", {"session": "latest"})).structured_content)
            cost = (await dent.call_tool("cost", {})).structured_content
            self.assertGreater(cost["all"]["wall_s"], 0)

    async def test_a_kernel_that_fails_is_an_answer_and_no_error(self):
        root = project("wrong", "wrong")
        async with client(root, "legacy") as dent:
            result = await dent.call_tool("check", {})
            self.assertFalse(result.is_error)
            self.assertEqual(result.structured_content["verdict"], "INCORRECT")
            self.assertEqual(result.structured_content["exit_code"], 5)

    async def test_a_folder_without_a_manifest_is_a_tool_error_with_the_remedy(self):
        async with client(pathlib.Path(SCRATCH)) as dent:
            result = await dent.call_tool("check", {})
            self.assertTrue(result.is_error)
            self.assertIn("dent init", result.content[0].text)

    async def test_calls_that_measure_wait_for_each_other(self):
        root = project("in turn", "right")
        async with client(root) as dent:
            results = await asyncio.gather(*(dent.call_tool("check", {"shapes": ["tiny"]}) for _ in range(3)))
            self.assertEqual([r.structured_content["verdict"] for r in results], ["PASS"] * 3)


class Evaluating(unittest.IsolatedAsyncioTestCase):
    HYPOTHESIS = {"bottleneck": "work done twice", "change": "once", "expected": "2x"}

    def project_with_a_tunable(self):
        root = project("tunable", "right")
        (root / "kernel.cpp").write_text("""#ifndef TIMES
#define TIMES 4
#endif
void scale(const float* x, float* y, int n) {
  for (volatile int times = 0; times < TIMES; times = times + 1)
    for (int i = 0; i < n; ++i) y[i] = 2 * x[i];
}
extern "C" double scripted_ns(const char*) { return TIMES * 50e3; }
""")
        manifest = (root / "dent.toml").read_text().replace(
            f'kernel = {{ library = "{KERNELS}", entry = "right" }}',
            'kernel = { sources = ["kernel.cpp"], entry = "void scale(const float* x, float* y, int n)" }')
        manifest = manifest.replace("seconds = 0.3", "seconds = 2")
        (root / "dent.toml").write_text(manifest + "[tunables]\nTIMES = [4, 1]\n")
        return root

    async def test_one_change_at_a_time_in_one_session_and_the_users_files_stay(self):
        root = self.project_with_a_tunable()
        before = {f.name: f.read_bytes() for f in root.iterdir() if f.is_file()}
        patch = "--- a/{0}\n+++ b/{0}\n@@ -1,2 +1,2 @@\n-{1}\n+{2}\n {3}\n".format
        shapes = before["dent.toml"].decode().splitlines()[1]
        async with client(root) as dent:
            session = None
            for change, stage in (({"tunable": "TIMES", "value": "3"}, "refused"),
                                  ({"patch": patch("dent.toml", "version = 1", "version = 1 ", shapes)}, "refused"),
                                  ({"patch": patch("kernel.cpp", "#ifndef TIMES", "#error", "#define TIMES 4")}, "build"),
                                  ({"tunable": "TIMES", "value": "1"}, None)):
                arguments = {"hypothesis": self.HYPOTHESIS, **change}
                result = await dent.call_tool("evaluate", arguments | ({"session": session} if session else {}))
                self.assertFalse(result.is_error, result.content)
                answer = result.structured_content
                self.assertIn(session, (None, answer["session"]))
                session = answer["session"]
                self.assertEqual(answer["verdict"], "DROPPED" if stage else "KEPT", answer)
                self.assertEqual(json.loads(pathlib.Path(answer["full"]).read_text())["id"], session)
                self.assertEqual(answer["kept"], answer["verdict"] == "KEPT")
                if stage:
                    self.assertEqual((answer["stage"], answer["kept"]), (stage, False), answer)
                else:
                    self.assertEqual(answer["stage"], "kept", answer)
            two = await dent.call_tool("evaluate", {"hypothesis": self.HYPOTHESIS, "tunable": "TIMES", "value": "1",
                                                    "variant": "x", "session": session})
            self.assertIn("one variable at a time", two.structured_content["reason"])
        self.assertEqual({f.name: f.read_bytes() for f in root.iterdir() if f.is_file()}, before)


class Cancelling(unittest.IsolatedAsyncioTestCase):
    async def until(self, condition, seconds=60):
        deadline = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), deadline, "it did not happen")
            await asyncio.sleep(0.05)

    @staticmethod
    def records(root):
        return "".join(f.read_text() for f in root.glob(".dent/sessions/*/ledger.jsonl"))

    async def test_a_cancelled_call_dies_with_its_workers_and_is_on_record(self):
        for mode in ("auto", "legacy"):
            root = project("hangs " + mode, "hangs")
            async with client(root, mode) as dent:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(dent.call_tool, "check", {})
                    await self.until(lambda: '"begin","step":"correctness' in self.records(root))
                    self.assertGreater(len(at_work_in(root)), 1)  # dent, and a worker at least
                    tasks.cancel_scope.cancel()
                await self.until(lambda: "cancelled by the MCP client" in self.records(root))
                await self.until(lambda: not at_work_in(root))
                history = (await dent.call_tool("history", {})).structured_content  # it serves on
                self.assertEqual(history["sessions"][0]["verdict"], "INTERRUPTED")

    async def test_a_client_that_leaves_takes_everything_along(self):
        root = project("left", "hangs")
        async with client(root) as dent:
            call = asyncio.create_task(dent.call_tool("check", {}))
            await self.until(lambda: len(at_work_in(root)) > 1)
            call.cancel()
        await self.until(lambda: not at_work_in(root))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
