"""Each candidate of candidates/ gets the verdict that its first comments name, and its plans agree with its cubins.

    # expected: plan | KIND reason     # says: a part of the message     # steps: those of the last shape
"""
import unittest

from client import ZygoteTest, request_for
from plans import check_reply, step_kinds
from tasks import CANDIDATES, headers


class Candidates(ZygoteTest):
    def judge(self, path):
        source = path.read_text()
        said, request = headers(source), request_for(source)
        reply, cubins = self.zygote.plan(request)
        got = "plan" if reply["status"] == "ok" else f"{reply['kind']} {reply['reason']}"
        self.assertEqual(got, said["expected"], reply.get("message"))
        if "says" in said:
            self.assertIn(said["says"], reply["message"])
        if got == "plan":
            self.assertEqual(len(reply["plans"]), len(request["shapes"]))
            self.assertEqual(check_reply(reply, cubins, request), [])
            self.assertEqual(step_kinds(reply["plans"][-1]["steps"]), said["steps"].split())
        else:
            self.assertNotRegex(reply["message"] + reply["details"], r"(^|\s)/\w", "a path of this machine")
            self.assertEqual(reply["message"], " ".join(reply["message"].split()))

    def test_there_are_many(self):
        said = [headers(path.read_text()) for path in CANDIDATES.glob("*.py")]
        self.assertGreaterEqual(len({one["task"] for one in said if "task" in one}), 50)
        self.assertGreaterEqual(sum(one["expected"] != "plan" for one in said), 40)


def one_test(path):
    return lambda self: self.judge(path)


for path in sorted(CANDIDATES.glob("*.py")):
    setattr(Candidates, f"test_{path.stem}", one_test(path))

if __name__ == "__main__":
    unittest.main()
