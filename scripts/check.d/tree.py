"""What the checks read, and how each is tried.

A check is a module with two functions: `check(tree)` gives a list of faults and a sentence to print when there is none,
`self_test(tree)` a list of what it judged wrong and how many pieces or mistakes it was tried with.
"""

import functools
import re
import shutil
import subprocess
from pathlib import Path

TEXT = r'"""(?s:.*?)"""|"(?:\\.|[^"\\\n])*"'
COMMENT = r"//[^\n]*|/\*(?s:.*?)\*/"


@functools.cache
def code(source, keeps_texts=False):
    """Swift or C with as many lines and columns, without comments and strings, which may say anything."""

    def blank(found):
        return found[0] if keeps_texts and found[0][0] == '"' else re.sub(r"[^\n]", " ", found[0])

    return re.sub(f"{TEXT}|{COMMENT}", blank, source)


def block(text, start):
    """What stands between the brace before `start` and the one that closes it."""
    depth = 1
    for brace in re.finditer(r"[{}]", text[start:]):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return text[start : start + brace.start()]
    return text[start:]


@functools.cache
def read(path):
    return path.read_text("utf-8")


class Tree:
    """The files of a directory by their names; `files` gives each a path or, in what is made up, its text."""

    def __init__(self, files):
        self.files = files

    @classmethod
    def at(cls, root):
        """What is in Git or could be added to it; without Git, all files."""
        command = ["git", "-C", root, "ls-files", "-coz", "--exclude-standard"]
        listed = subprocess.run(command, capture_output=True, text=True)
        names = listed.stdout.split("\0") if listed.returncode == 0 else [
            path.relative_to(root).as_posix() for path in root.rglob("*") if ".build" not in path.parts]
        return cls({name: root / name for name in names if (root / name).is_file()})

    def __contains__(self, name):
        """Whether there is a file or a folder of that name."""
        return name in self.files or any(file.startswith(name + "/") for file in self.files)

    def names(self, pattern):
        """The files whose whole names a regular expression matches, in order."""
        return sorted(name for name in self.files if re.fullmatch(pattern, name))

    def text(self, name):
        file = self.files[name]
        return read(file) if isinstance(file, Path) else file

    def changed(self, name, old, new):
        """A copy in which a file has `new` for the first `old`; without `old`, at its end."""
        text = self.text(name) if name in self.files else ""
        if old not in text:
            raise ValueError(f"{name} has no {old!r} to replace")
        return Tree({**self.files, name: text.replace(old, new, 1) if old else f"{text}\n{new}"})

    def write(self, folder, pattern):
        """Copies the files that a regular expression matches into a directory."""
        for name in self.names(pattern):
            place = Path(folder, name)
            place.parent.mkdir(parents=True, exist_ok=True)
            file = self.files[name]
            if isinstance(file, Path):
                shutil.copy(file, place)
            else:
                place.write_text(file)


def passed_over(check, tree, mistakes):
    """What of the mistakes (file, old, new, what a fault must say) a check does not find in a tree with that change."""
    missed = []
    for name, old, new, expected in mistakes:
        try:
            faults = check(tree.changed(name, old, new))[0]
        except ValueError as error:
            missed.append(str(error))
            continue
        if not any(expected in fault for fault in faults):
            missed.append("\n  ".join([f"not found: {new.strip()!r} in {name}", *faults[:3]]))
    return missed


def by_file(faults, looked_at, words, wrong, right, allowed=()):
    """The two functions of a check that judges each file by itself, with `faults(name, code)`; `wrong` and `right` are pieces."""

    def check(tree):
        names = [name for name in tree.names(looked_at) if name not in allowed]
        return [fault for name in names for fault in faults(name, code(tree.text(name)))], words

    def self_test(_):
        missed = [text for text in wrong if not list(faults("piece", code(text)))]
        missed += [text for text in right if list(faults("piece", code(text)))]
        return [f"judged wrong: {text}" for text in missed], len(wrong) + len(right)

    return check, self_test
