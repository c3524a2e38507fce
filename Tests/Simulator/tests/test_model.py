"""The model's own rules: patches, selectors, the order of values."""

import unittest

import support  # noqa: F401
from matching import matches, projected
from patches import Impossible, added, merge, patched
from values import Number, canonical, order, parse, text


def value(words):
    return parse(words)


class Patches(unittest.TestCase):
    def test_the_examples_of_rfc_7396(self):
        for target, patch, result in [
            ('{"a":"b"}', '{"a":"c"}', '{"a":"c"}'), ('{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'), ('{"a":"b"}', '{"a":null}', "{}"),
            ('{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'), ('{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'),
            ("[1,2]", '{"a":"b","c":null}', '{"a":"b"}'), ("{}", '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}')]:
            self.assertEqual(text(merge(value(target), value(patch))), result)

    def test_operations_of_rfc_6902(self):
        document = value('{"a":[1,2],"b":{"c":3}}')
        operations = [{"op": "add", "path": "/a/1", "value": Number(9)}, {"op": "move", "from": "/b/c", "path": "/d"}, {"op": "test", "path": "/d", "value": Number("3.0")}]
        self.assertEqual(text(patched(document, operations)), '{"a":[1,9,2],"b":{},"d":3}')
        with self.assertRaises(Impossible):
            patched(document, [{"op": "remove", "path": "/a/2"}])

    def test_sums_keep_their_digits(self):
        changed, total = added(value('{"total":12.50}'), "total", Number("0.1"))
        self.assertEqual((text(changed), total), ('{"total":12.60}', "12.60"))
        self.assertEqual(text(added({}, "a.b", Number(2))[0]), '{"a":{"b":2}}')


class Selectors(unittest.TestCase):
    def test_where_nothing_is_no_condition_holds(self):
        self.assertFalse(matches(value('{"a":{"$ne":5}}'), value("{}")))
        self.assertFalse(matches(value('{"$not":{"a":5}}'), value("{}")))
        self.assertTrue(matches(value('{"a":{"$exists":false}}'), value("{}")))

    def test_arrays_are_looked_into_by_few_operators(self):
        self.assertFalse(matches(value('{"a":5}'), value('{"a":[5]}')))
        self.assertTrue(matches(value('{"a":{"$in":[5]}}'), value('{"a":[5]}')))
        self.assertTrue(matches(value('{"a":{"$nin":[["red"],2]}}'), value('{"a":["red"]}')))

    def test_an_or_of_nothing_is_false(self):
        self.assertFalse(matches(value('{"$or":[]}'), value("{}")))

    def test_kinds_have_an_order(self):
        values = [value(words) for words in ("null", "false", "true", "-1", "9007199254740992", "9007199254740993", '"a"', "[1]", "{}")]
        self.assertEqual(sorted(values, key=order), values)

    def test_fields_keep_their_paths(self):
        self.assertEqual(canonical(projected(value('{"a":{"b":1,"c":2},"d":3}'), ["a.b", "_id"], "x")), '{"_id":"x","a":{"b":1}}')


if __name__ == "__main__":
    unittest.main()
