"""The method table: names, parameters in their order, their schemas. openrpc.json is the only source."""

import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "../../proto-docs/openrpc.json"), encoding="utf-8") as _file:
    _document = json.load(_file)
METHODS = {method["name"]: method for method in _document["methods"]}
ERRORS = {name: {**error, **error["data"], **_document["components"]["x-errors"][name]} for name, error in _document["components"]["errors"].items()}
for _method in METHODS.values():
    _method["errors"] = {error["$ref"].rsplit("/", 1)[1] for error in _method.get("errors") or ()}


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
