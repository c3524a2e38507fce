#!/usr/bin/env python3
"""A worker: follows the notes, and keeps a small picture of each as a blob.

usage: thumbnailer.py [--collection notes] [--namespace thumbnails] [--once]

A note is a document with a `text`. Its picture has 48 × 64 pixels, one a character, and lies under the note's id. Any
number of other processes write notes and show pictures meanwhile; none of them waits for this one. The worker remembers
how far it came, so that after its own end, a kill, or the daemon's restart it goes on from there and makes no picture twice.
`--once` ends when everything that is there now has been done.
"""

from __future__ import annotations

import argparse
import sys
from typing import List, Optional

import kura

WIDTH, HEIGHT = 48, 64


def picture(text: str) -> bytes:
    """A page of text as it looks from far away (PBM): a pixel a character, an empty row between lines."""
    rows: List[str] = []
    for line in text.split("\n")[: HEIGHT // 2]:
        rows.append("".join("0" if character.isspace() else "1" for character in line[:WIDTH]).ljust(WIDTH, "0"))
        rows.append("0" * WIDTH)
    rows += ["0" * WIDTH] * (HEIGHT - len(rows))
    return f"P1\n{WIDTH} {HEIGHT}\n{chr(10).join(rows)}\n".encode()


class Thumbnailer:
    def __init__(self, client: kura.Kura, collection: str, namespace: str) -> None:
        self.client = client
        self.collection = collection
        self.notes = client.documents[collection]
        self.pictures = client.blobs[namespace]
        # Where it goes on: durable, and in its own domain.
        self.place = client.settings[f"thumbnailer-{collection}"]

    def follow(self) -> None:
        """Goes on for ever."""
        known = self.place.get("place")
        if known is None:
            watch = self.notes.watch(values=True)
            self.make_all()
        else:
            watch = self.notes.watch(values=True, after_rev=known["rev"], epoch=known["epoch"])
        with watch:
            while True:
                self.remember(watch.rev, watch.epoch)
                for event in watch.next_batch():
                    self.take(event)

    def catch_up(self) -> None:
        """Does what there is to do now."""
        server = self.client.server()
        known = self.place.get("place")
        try:
            if known is None:
                known = {"rev": self.client.storage.status()["rev"], "epoch": server.epoch}
                self.make_all()
            has_more = True
            while has_more:
                page = self.client.changes.list(
                    known["rev"], stores=["documents"], scope=self.collection, values=True, epoch=known["epoch"]
                )
                for change in page["changes"]:
                    self.take(kura.change_of(change))
                known["rev"], has_more = page["rev"], page["hasMore"]
        except (kura.EpochChangedError, kura.CompactedError):
            known = {"rev": self.client.storage.status()["rev"], "epoch": self.client.server().epoch}
            self.make_all()
        self.remember(known["rev"], known["epoch"])

    def take(self, event: kura.Event) -> None:
        if isinstance(event, kura.Resync):
            print(f"something was missed ({event.reason}): looking at every note", flush=True)
            self.make_all()
        elif event.key is None:
            # The collection was dropped.
            for blob in self.pictures.each():
                self.pictures.delete(blob.key)
        elif event.is_deleted:
            self.pictures.delete(event.key)
        else:
            self.make(event.key, event.value)

    def make_all(self) -> None:
        for note in self.notes.each():
            self.make(note.id, note.value)

    def make(self, id: str, note: kura.JSON) -> None:
        text = note.get("text") if isinstance(note, dict) else None
        if not isinstance(text, str):
            return
        stored = self.pictures.put(id, picture(text), content_type="image/x-portable-bitmap")
        # A cache may decline: the next change of the note is another chance.
        print(f"{id}: {stored.size} bytes" if stored.is_stored else f"{id}: not stored ({stored.reason})", flush=True)

    def remember(self, rev: int, epoch: str) -> None:
        place = {"rev": rev, "epoch": epoch}
        if self.place.get("place") != place:
            self.place["place"] = place


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(description="Keeps a small picture of each note as a blob.")
    parser.add_argument("--collection", default="notes")
    parser.add_argument("--namespace", default="thumbnails")
    parser.add_argument("--once", action="store_true")
    options = parser.parse_args(arguments)
    try:
        with kura.connect(name="thumbnailer", wait=10) as client:
            worker = Thumbnailer(client, options.collection, options.namespace)
            if options.once:
                worker.catch_up()
            else:
                worker.follow()
    except kura.KuraError as error:
        print(f"thumbnailer: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
