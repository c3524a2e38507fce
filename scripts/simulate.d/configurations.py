"""What the daemon is configured to be: roles and who gets them; the world adds paths and sockets."""


def plain(choices):
    return {"roles": ROLES(["list", "read", "write"]), "caches": {"minFreeBytes": 0}} | small(choices)


def small(choices):
    """Sometimes bounds that are met soon."""
    result = {}
    if choices.random() < 0.2:
        result["limits"] = {"outputBytes": 4096, "requestsPerTurn": 2}
    if choices.random() < 0.2:
        result["changes"] = {"retainBytes": 1 << 20}
    return result


def ROLES(app):
    return {
        "app": {"grants": [{"store": "settings", "scope": "d0", "allow": app}, {"store": "documents", "scope": "c*", "allow": app},
                           {"store": "models", "scope": "m0", "allow": app}, {"store": "blobs", "scope": "*", "allow": app}]},
        "reader": {"grants": [{"store": "*", "scope": "*", "allow": ["list", "read"]}]},
        "bounded": {"grants": [{"store": "settings", "scope": "bounded", "allow": ["list", "read", "write"]},
                               {"store": "secrets", "scope": "*", "allow": ["admin"]}], "quotas": {"items": 3}},
        "watcher": {"grants": [{"store": "storage", "scope": "*", "allow": ["monitor"]}]},
    }


def roles(choices):
    allowed = choices.choice([["list", "read", "write"], ["list", "read"], ["list", "read", "create", "delete"], ["list", "read", "write", "admin"]])
    result = {"roles": ROLES(allowed), "caches": {"minFreeBytes": 0}} | small(choices)
    if "write" in allowed and choices.random() < 0.4:
        result["roles"]["app"]["quotas"] = {"items": choices.choice([2, 10])}
    return result


CONFIGURATIONS = {"plain": plain, "roles": roles}
