"""Spoils a request: a parameter of the wrong kind, unknown, missing, at its bounds or beyond them, as its schema says."""

from schemas import parameters

WRONG = {"string": [7, True, ["a"], {"a": 1}], "integer": ["1", True, 1.5, [1]], "boolean": [0, "true", []], "array": [{}, "a", 1], "object": [[], "a", 1]}


def spoilt(method, params, choices):
    """The parameters and how they are spoilt; nothing when they may do all the same."""
    table = parameters(method)
    params = dict(params)
    how = choices.choice(["unknown", "missing", "wrong", "least", "greatest", "beyond", "below"])
    if how == "unknown":
        return {**params, "defualt": 0}, "unknown"
    if how == "missing":
        required = [parameter["name"] for parameter in table if parameter.get("required")]
        if not required:
            return params, None
        params.pop(choices.choice(required), None)
        return params, "missing"
    candidates = [parameter for parameter in table if suits(parameter["schema"], how)]
    if not candidates:
        return params, None
    # An account's name and group are how the judges know a secret.
    candidates = [parameter for parameter in candidates if parameter["name"] not in ("accessGroup", "account", "newAccount") or how == "wrong"]
    if not candidates:
        return params, None
    parameter = choices.choice(candidates)
    schema, name = parameter["schema"], parameter["name"]
    if how == "wrong":
        params[name] = choices.choice(WRONG[schema["type"]])
        return params, "wrong"
    if schema["type"] == "integer":
        value = {"least": schema.get("minimum"), "greatest": schema.get("maximum"), "beyond": schema.get("maximum", 0) + 1,
                 "below": schema.get("minimum", 0) - 1}[how]
        params[name] = value
    else:
        least, greatest = schema.get("minLength", 0), schema["maxLength"]
        params[name] = "b" * {"least": least, "greatest": greatest, "beyond": greatest + 1, "below": least - 1}[how]
    return params, how if how in ("beyond", "below") else None


def suits(schema, how):
    kind = schema.get("type")
    if how == "wrong":
        return kind in WRONG
    if kind == "integer":
        return "maximum" in schema and "minimum" in schema
    if kind != "string" or "enum" in schema or "maxLength" not in schema or schema["maxLength"] > 4096:
        return False
    return how != "below" or schema.get("minLength", 0) > 0
