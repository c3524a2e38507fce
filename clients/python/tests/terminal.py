"""As much of a terminal as the example's user interface uses: what is to be seen on it."""

from __future__ import annotations

import codecs
import os
import re
import threading
from typing import List, Tuple

SEQUENCE = re.compile(r"\x1b(?:\[(\??[0-9;]*)([A-Za-z])|([78]))")


class Terminal:
    """Reads what is written to a pseudo-terminal, on a thread of its own."""

    def __init__(self, descriptor: int, rows: int, columns: int) -> None:
        self.descriptor = descriptor
        self.rows, self.columns = rows, columns
        self.cells: List[List[str]] = [[" "] * columns for _ in range(rows)]
        self.place: Tuple[int, int] = (0, 0)
        self.saved = self.place
        self.lock = threading.Lock()
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def line(self, row: int) -> str:
        with self.lock:
            return "".join(self.cells[row]).rstrip()

    def close(self) -> None:
        self.thread.join(60)
        os.close(self.descriptor)

    def read(self) -> None:
        decode = codecs.getincrementaldecoder("utf-8")().decode
        rest = ""
        while True:
            try:
                data = os.read(self.descriptor, 4096)
            except OSError:
                return
            if not data:
                return
            with self.lock:
                rest = self.take(rest + decode(data))

    def take(self, text: str) -> str:
        """Does what a text says; returns what has not come to its end."""
        while text:
            found = SEQUENCE.match(text)
            if found:
                self.obey(found)
                text = text[found.end() :]
            elif text[0] == "\x1b" and len(text) < 12:
                return text
            else:
                self.put(text[0])
                text = text[1:]
        return ""

    def obey(self, found: "re.Match[str]") -> None:
        numbers, word, digit = found.groups()
        row, column = self.place
        if digit == "7":
            self.saved = self.place
        elif digit == "8":
            self.place = self.saved
        elif word == "H":
            parts = [int(part) for part in (numbers or "1;1").split(";")]
            self.place = (min(parts[0], self.rows) - 1, min(parts[1], self.columns) - 1)
        elif word == "K":
            self.cells[row][column:] = [" "] * (self.columns - column)
        elif word == "J":
            self.cells = [[" "] * self.columns for _ in range(self.rows)]

    def put(self, character: str) -> None:
        row, column = self.place
        if character == "\r":
            self.place = (row, 0)
        elif character == "\n":
            if row == self.rows - 1:
                self.cells = [*self.cells[1:], [" "] * self.columns]
            self.place = (min(row + 1, self.rows - 1), column)
        elif character >= " ":
            self.cells[row][column] = character
            self.place = (row, min(column + 1, self.columns - 1))
