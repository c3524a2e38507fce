"""Which refusals of requests are right, and what is said of those that are not."""

import unittest
from types import SimpleNamespace

import support  # noqa: F401
from judges.liveness import Refusals
from values import Number


class Refused(unittest.TestCase):
    def found(self, kind, method, params, **data):
        told = []
        run = SimpleNamespace(history=None, faults_active=False, fail=lambda *words: told.append(words))
        asked = SimpleNamespace(number=3, method=method, params=params, note={})
        Refusals(run).answered(asked, None, kind, {"message": "", "data": {"kind": kind, **data}})
        return told

    def test_an_operation_may_have_no_method_and_a_request_of_the_table_has_one(self):
        operations = [{"method": "settings.put"}, {"method": "settings.putt"}]
        params = {"operations": operations}
        self.assertEqual(self.found("methodNotFound", "transaction.apply", params, operation=Number(1)), [])
        self.assertEqual(self.found("methodNotFound", "settings.putt", {}), [])
        for wrong in (("methodNotFound", "settings.put", {}), ("methodNotFound", "transaction.apply", params), ("invalidRequest", "transaction.apply", params)):
            self.assertEqual([kind for _, kind, _ in self.found(*wrong)], ["request"])
        self.assertEqual([kind for _, kind, _ in self.found("methodNotFound", "transaction.apply", params, operation=Number(0))], ["request"])

    def test_what_was_expected_is_said(self):
        self.assertIn("where the table has its method", self.found("methodNotFound", "settings.put", {})[0][2])
        self.assertIn("while no fault is active", self.found("internalError", "settings.put", {})[0][2])


if __name__ == "__main__":
    unittest.main()
