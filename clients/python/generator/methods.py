"""Python of the method table: a class of methods a store, types of their results, classes of errors by kind."""

import keyword
import re
import textwrap
from typing import Any, Dict, List

Schema = Dict[str, Any]
HEAD = "# Generated from proto-docs/openrpc.json by generator/: do not edit.\n\n"
WIDTH = 120

# Reads about what the connection had: they are not sent again by themselves when it is lost. Nor are those that take a
# descriptor, which is spent.
NOT_REPEATED = {"rpc.cancel", "changes.unwatch", "documents.unwatch"}
# Writes without a request key that lead to the same, and are answered the same, done once or twice.
REPEATED = {
    "models.put", "models.putMany", "models.touch", "models.invalidate", "models.configure",
    "blobs.put", "blobs.touch", "blobs.configure", "secrets.lock", "secrets.unlock",
    # One that is lost to an earlier fault has not begun, or its effect has ended with the daemon.
    "fault.inject", "fault.clear",
}
# Those that may take minutes: without a `timeout` they are waited for as long as it takes.
SLOW = {
    "documents.import", "documents.export", "documents.purge", "documents.deleteMany", "documents.configure",
    "settings.configure", "storage.backup", "storage.record", "storage.check", "backups.verify", "backups.prune",
    "secrets.verify", "secrets.repair", "secrets.rotate", "secrets.destroyVersion", "secrets.unlock", "secrets.addSlot",
    "secrets.changePassphrase", "secrets.auditVerify",
}


def snake(name: str) -> str:
    word = re.sub("([A-Z])", r"_\1", name).lower()
    return word + "_" if keyword.iskeyword(word) else word


def capital(name: str) -> str:
    return name[0].upper() + name[1:]


def class_of(method: str) -> str:
    return "".join(capital(part) for part in method.split("."))


def comment(text: str, indent: str) -> List[str]:
    return textwrap.wrap(text, WIDTH - len(indent), initial_indent=indent + "# ", subsequent_indent=indent + "# ")


class Types:
    """Types of one module: what a schema is called, and the classes that have to be written for it."""

    def __init__(self) -> None:
        self.lines: List[str] = []

    def of(self, schema: Schema, name: str, is_parameter: bool = False) -> str:
        kind = schema.get("type")
        if kind == "string":
            if "enum" in schema:
                return "Literal[" + ", ".join(f'"{value}"' for value in schema["enum"]) + "]"
            return "str"
        if kind in ("integer", "boolean", "number"):
            return {"integer": "int", "boolean": "bool", "number": "float"}[kind]
        if kind == "array":
            return ("Sequence" if is_parameter else "List") + f"[{self.of(schema['items'], name, is_parameter)}]"
        if kind == "object":
            if schema.get("properties"):
                self.declare(schema, name, is_parameter)
                return name
            values = schema.get("additionalProperties")
            of_values = self.of(values, name, is_parameter) if isinstance(values, dict) else "JSON"
            return ("Mapping" if is_parameter else "Dict") + f"[str, {of_values}]"
        return "JSON"

    def declare(self, schema: Schema, name: str, is_parameter: bool = False, extra: str = "") -> None:
        required = set(schema.get("required", ()))
        members = schema["properties"]
        parts: Dict[bool, List[str]] = {True: [], False: []}
        if any(keyword.iskeyword(member) for member in members):
            # Such a name cannot stand in a class.
            named = [f'"{member}": {self.of(part, name + capital(member), is_parameter)}' for member, part in members.items()]
            is_total = required == set(members)
            self.lines += ["", "", f"{name} = TypedDict(", f'    "{name}",', "    {"]
            self.lines += [*(f"        {pair}," for pair in named), "    },", f"    total={is_total},", ")"]
            return
        for member, part in members.items():
            of_member = self.of(part, name + capital(member), is_parameter)
            lines = comment(part["description"], "    ") if "description" in part else []
            parts[member in required] += lines + [f"    {member}: {of_member}"]
        if extra:
            parts[False] += extra.splitlines()
        if parts[True] and parts[False]:
            self.lines += ["", "", f"class _{name}(TypedDict):", *parts[True]]
            self.lines += ["", "", f"class {name}(_{name}, total=False):", *parts[False]]
        else:
            total = "" if parts[True] else ", total=False"
            self.lines += ["", "", f"class {name}(TypedDict{total}):", *(parts[True] or parts[False] or ["    pass"])]


FD = "    # With `as_=\"fd\"`: a descriptor, open for reading, that is the caller's to close.\n    fd: int"


def is_descriptor(parameter: Schema) -> bool:
    return parameter["name"] == "fd" and parameter["schema"].get("type") == "boolean"


def gives_descriptor(method: Schema) -> bool:
    return any(p["name"] == "as" and "fd" in p["schema"].get("enum", ()) for p in method["params"])


def documentation(method: Schema, indent: str) -> List[str]:
    wrap = lambda text, deeper: textwrap.wrap(  # noqa: E731
        text.replace("\\", "\\\\"), WIDTH - len(indent) - deeper,
        subsequent_indent=" " * deeper)
    lines = wrap('"""' + method["summary"], 0)
    if method["params"]:
        lines.append("")
        for parameter in method["params"]:
            description = parameter.get("description", "")
            if is_descriptor(parameter):
                description = "A file, or its descriptor: it goes along with the request."
            lines += wrap(f"`{snake(parameter['name'])}`: {description}", 4)
    errors = sorted(error_class(e["$ref"].rsplit("/", 1)[1]) for e in method.get("errors", ()))
    if errors:
        lines += ["", *wrap("Raises " + ", ".join(errors) + ".", 4)]
    if len(lines) == 1:
        return [indent + lines[0] + '"""']
    return [(indent + line).rstrip() for line in lines] + [indent + '"""']


def function(method: Schema, types: Types, is_async: bool, indent: str = "    ") -> List[str]:
    name = method["name"]
    verb = snake(name.split(".", 1)[1])
    required: List[str] = []
    optional: List[str] = []
    always: List[str] = []
    sometimes: List[str] = []
    for parameter in method["params"]:
        word = snake(parameter["name"])
        of_it = types.of(parameter["schema"], class_of(name) + capital(parameter["name"]), is_parameter=True)
        quoted = f'"{parameter["name"]}"'
        if is_descriptor(parameter) and parameter.get("required"):
            required.append(f"{word}: Descriptor")
            always.append(f"{quoted}: True")
        elif is_descriptor(parameter):
            optional.append(f"{word}: Optional[Descriptor] = None")
            sometimes += [f"if {word} is not None:", f"    sent[{quoted}] = True"]
        elif parameter.get("required"):
            required.append(f"{word}: {of_it}")
            always.append(f"{quoted}: {word}")
        elif of_it == "JSON":
            optional.append(f"{word}: JSON = UNSET")
            sometimes += [f"if {word} is not UNSET:", f"    sent[{quoted}] = {word}"]
        else:
            optional.append(f"{word}: Optional[{of_it}] = None")
            sometimes += [f"if {word} is not None:", f"    sent[{quoted}] = {word}"]
    arguments = ["self", *required, "*", *optional, "timeout: Optional[float] = None"]
    result = class_of(name) + "Result"
    head = f"{indent}{'async ' if is_async else ''}def {verb}("
    lines = [head + ", ".join(arguments) + f") -> {result}:"]
    if len(lines[0]) > WIDTH:
        lines = [head, *(f"{indent}    {argument}," for argument in arguments), f"{indent}) -> {result}:"]
    inner = indent + "    "
    lines += documentation(method, inner)
    lines.append(f"{inner}sent: Dict[str, JSON] = {{{', '.join(always)}}}")
    lines += [inner + line for line in sometimes]
    extras = ""
    if any(is_descriptor(p) for p in method["params"]):
        extras += ", descriptor=fd"
    if gives_descriptor(method):
        extras += ', wants_descriptor=as_ == "fd"'
    waiting = "await " if is_async else ""
    lines.append(f'{inner}result = {waiting}self._caller.call("{name}", sent, timeout{extras})')
    lines.append(f"{inner}return cast({result}, result)")
    return lines


def module(store: str, methods: List[Schema]) -> str:
    types = Types()
    classes: List[str] = []
    for is_async in (False, True):
        # The parameters' own types are declared once, by the first of the two.
        declared = types if not is_async else Types()
        about = next((tag.get("description", "") for tag in methods[0].get("tags", ())), "")
        name = f"{'Async' if is_async else ''}{capital(store)}Methods"
        scopes = next((method for method in methods if method["name"] == f"{store}.scopes"), None)
        classes += ["", "", f"class {name}(Store):" if scopes else f"class {name}:", f'    """{about or "Methods of " + store + "."}"""', ""]
        if scopes:
            word = next(iter(scopes["result"]["schema"]["properties"]["scopes"]["items"]["properties"]))
            classes += [f'    _store, _word = "{store}", "{word}"', ""]
        classes += [f"    def __init__(self, caller: {'AsyncCaller' if is_async else 'Caller'}) -> None:",
                    "        self._caller = caller", "",
                    "    def __repr__(self) -> str:", '        return f"<{type(self).__name__} of {self._caller!r}>"']
        for method in methods:
            if not is_async:
                schema = method["result"]["schema"]
                extra = FD if gives_descriptor(method) else ""
                if schema.get("properties") or extra:
                    types.declare(schema, class_of(method["name"]) + "Result", extra=extra)
                else:
                    of_it = types.of(schema, class_of(method["name"]) + "Result")
                    types.lines += ["", "", f"{class_of(method['name'])}Result = {of_it}"]
            classes += ["", *function(method, declared, is_async)]
    body = "\n".join(types.lines + classes) + "\n"
    typing = [word for word in ("Dict", "List", "Literal", "Mapping", "Optional", "Sequence", "TypedDict", "cast")
              if re.search(rf"\b{word}\b", body)]
    values = [word for word in ("JSON", "UNSET") if re.search(rf"\b{word}\b", body)]
    callers = ["AsyncCaller", "Caller"] + (["Descriptor"] if "Descriptor" in body else [])
    stores = "from ..stores import Store\n" if "(Store)" in body else ""
    return (HEAD + "from __future__ import annotations\n\n" + f"from typing import {', '.join(typing)}\n\n"
            + f"from ..caller import {', '.join(callers)}\n" + stores + f"from ..values import {', '.join(values)}\n" + body)


def table(methods: List[Schema]) -> str:
    lines = [HEAD + "from __future__ import annotations\n", "from typing import Dict, NamedTuple\n\n",
             "class Method(NamedTuple):",
             '    """What the client needs to know of a method to send it."""\n',
             "    is_read: bool", "    # A write that can be named, so that it is done once however often it is sent.",
             "    takes_key: bool", "    # Done twice is as good as once.", "    repeats: bool",
             "    # May take minutes.", "    is_slow: bool\n\n",
             "METHODS: Dict[str, Method] = {"]
    for method in methods:
        name = method["name"]
        is_read = method["x-access"] == "read"
        takes_key = any(p["name"] == "requestKey" for p in method["params"])
        takes_descriptor = any(is_descriptor(p) for p in method["params"])
        repeats = name in REPEATED or (is_read and not takes_descriptor and name not in NOT_REPEATED)
        lines.append(f'    "{name}": Method({is_read}, {takes_key}, {repeats}, {name in SLOW}),')
    words = {p["name"] for method in methods for p in method["params"]}
    lines += ["}\n", "# How parameters are spelled in Python, where that is another way.", "WORDS: Dict[str, str] = {"]
    lines += [f'    "{word}": "{snake(word)}",' for word in sorted(words) if snake(word) != word]
    known = {method["name"] for method in methods}
    assert known >= NOT_REPEATED | REPEATED | SLOW, (NOT_REPEATED | REPEATED | SLOW) - known
    return "\n".join(lines) + "\n}\n"


def error_class(kind: str) -> str:
    return capital(kind) if kind.endswith("Error") else capital(kind) + "Error"


# What else an error is, for whoever catches Python's own.
BASES = {"timeout": "builtins.TimeoutError", "notFound": "KeyError"}


def errors(components: Dict[str, Schema]) -> str:
    lines = [HEAD + "from __future__ import annotations\n", "import builtins", "from typing import Dict, Type\n",
             "from ..errors import ServerError"]
    names = []
    for kind, about in components.items():
        name = error_class(kind)
        names.append((kind, name))
        bases = ", ".join(["ServerError", *([BASES[kind]] if kind in BASES else [])])
        lines += ["", "", f"class {name}({bases}):"]
        when = textwrap.wrap(about["when"].replace("\\", "\\\\"), WIDTH - 8)
        lines += ['    """' + when[0], *("    " + line for line in when[1:]), '    """', ""]
        lines += [f'    kind = "{kind}"', f"    code = {about['code']}", f"    is_retryable = {about['retryable']}"]
        lines += ["    remedy = (", *("        " + repr(part + " ") for part in textwrap.wrap(about["remedy"], 100)), "    )"]
    lines += ["", "", "KINDS: Dict[str, Type[ServerError]] = {", *(f'    "{kind}": {name},' for kind, name in names), "}"]
    lines += ["", "__all__ = [", *(f'    "{name}",' for _, name in names), "]"]
    return "\n".join(lines) + "\n"


def render(document: Schema) -> Dict[str, str]:
    stores: Dict[str, List[Schema]] = {}
    for method in document["methods"]:
        stores.setdefault(method["name"].split(".")[0], []).append(method)
    files = {f"{store}.py": module(store, methods) for store, methods in stores.items()}
    files["table.py"] = table(document["methods"])
    files["kinds.py"] = errors(document["components"]["x-errors"])
    init = [HEAD + '"""The protocol\'s methods, a module a store."""', "", "from __future__ import annotations", ""]
    for prefix in ("", "Async"):
        caller = prefix + "Caller"
        init += [] if prefix else [f"from ..caller import AsyncCaller, Caller",
                                   *(f"from .{s} import Async{capital(s)}Methods, {capital(s)}Methods" for s in sorted(stores))]
        init += ["", "", f"class {prefix}Methods:", '    """Every method of the protocol, by its store."""', "",
                 f"    def __init__(self, caller: {caller}) -> None:"]
        init += [f"        self.{store} = {prefix}{capital(store)}Methods(caller)" for store in stores]
    files["__init__.py"] = "\n".join(init) + "\n"
    return files
