"""The method table: names, parameters in their order, their schemas. openrpc.json is the only source."""

import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "../../proto-docs/openrpc.json"), encoding="utf-8") as _file:
    METHODS = {method["name"]: method for method in json.load(_file)["methods"]}


def parameters(method):
    return METHODS[method]["params"]


def named(method, params):
    """Parameters by name, when they came by position and the method is known."""
    if params is None:
        return {}
    if isinstance(params, list) and isinstance(method, str) and method in METHODS:
        names = [parameter["name"] for parameter in parameters(method)]
        if len(params) <= len(names):
            return dict(zip(names, params))
    return params
