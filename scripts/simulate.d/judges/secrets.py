"""Secrets: each account of each service is a register whose value is sealed."""

from collections import defaultdict

from judges.base import Reading
from values import ABSENT, ANY, text, whole


class Secrets(Reading):
    name = store = "secrets"
    sentence = ("exactly, while no key was rotated and nothing locked: each account is a register by revision, and what is read is "
                "what was put; after that values alone. A version that was destroyed is never shown again; after an end everything "
                "acknowledged is found")

    def __init__(self, run):
        super().__init__(run)
        self.destroyed = {}       # by service, account, version: the tick
        self.destroying = defaultdict(list)   # by service, account, group, version: all requests to destroy it
        self.shown = set()        # those of them that are done, by what others were shown

    def sent(self, asked):
        if asked.method == "secrets.destroyVersion" and isinstance(asked.params, dict):
            self.destroying[key_of(asked.params, asked.params.get("version"))].append(asked)

    def answered(self, asked, result, kind, error):
        params = asked.params
        if kind in ("conflict", "notFound", "sealed") and asked in self.shown:
            self.fail("refused", f"request {asked.number} has destroyed a version, as others were shown, and is refused: {kind}")
        if result is not None and asked.method == "secrets.versions":
            self.look(params, result["versions"])
        if result is None or not asked.method.startswith("secrets."):
            return
        service = params.get("service")
        if isinstance(params.get("account"), str) and not self.history.is_main(params["account"], params.get("accessGroup")):
            return
        if asked.method == "secrets.get":
            if "version" in params:
                self.version(asked, params, result)
            elif "field" in params or "sealTo" in params:
                self.show(asked, service, params["account"], ANY, result["rev"])
            else:
                self.show(asked, service, params["account"], value(result), result["rev"])
        elif asked.method == "secrets.getMany" and "accessGroup" not in params:
            for secret in result["secrets"]:
                if "sealTo" not in params:
                    self.show(asked, service, secret["account"], value(secret), secret["rev"])
            for missing in result["missing"]:
                if not self.history.is_grouped(missing):
                    self.show(asked, service, missing, ABSENT, 0)
        elif asked.method == "secrets.delete" and result["deleted"] is False:
            self.show(asked, service, params["account"], ABSENT, 0)
        elif asked.method == "secrets.destroyVersion":
            self.destroyed.setdefault((service, params["account"], whole(params["version"])), asked.answered)
        elif asked.method in ("secrets.put", "secrets.generate", "secrets.restoreVersion") and whole(result["version"]) == 1:
            # A secret that begins anew counts its versions anew.
            for key in [key for key in self.destroyed if key[:2] == (service, params["account"])]:
                del self.destroyed[key]

    def look(self, params, versions):
        for each in versions:
            requests = self.destroying.get(key_of(params, each["version"]), ())
            # Who alone has asked for it has done it.
            if each.get("destroyed") and len(requests) == 1:
                self.shown.add(requests[0])

    def moved(self, held, rev, only):
        self.destroyed = {}

    def version(self, asked, params, result):
        key = params["service"], params["account"], whole(params["version"])
        if self.destroyed.get(key, asked.sent) < asked.sent and ("secret" in result or "secretBase64" in result):
            self.fail("destroyed", f"request {asked.number} shows version {key[2]} of {key[:2]}, which was destroyed")


def key_of(params, version):
    return text([params.get("service"), params.get("account"), params.get("accessGroup"), version])


def value(result):
    if "secret" in result:
        return result["secret"]
    return {"base64": result["secretBase64"]} if "secretBase64" in result else ANY if result["rev"] != "0" else ABSENT
