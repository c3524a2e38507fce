"""Makes up backups and bundles, and the restores and beginnings that follow."""

PIECE = 20_000_000


class Keeping:
    """The part of a generator that has the daemon go on elsewhere."""

    def keep_or_restore(self, run):
        """A backup or a bundle is made beside what else is asked, or the daemon goes on from one that was made."""
        dice = self.random["restores"]
        backups, bundles = (run.shelf.names(kind) for kind in ("backup", "bundle"))
        if not backups + bundles or dice.random() < 0.4:
            self.backup_count += 1
            is_bundle = dice.random() < 0.3
            include = [["documents"], ["settings", "models" if is_bundle else "secrets"], [f"documents/{self.collections[0]}"]]
            params = {"name": f"r{self.backup_count}"} | ({"include": dice.choice(include)} if dice.random() < 0.25 else {})
            line = {"id": self.identity(), "method": "storage.bundle" if is_bundle else "storage.backup", "params": params}
            self.queue = [{"do": "send", "client": "keeper", "lines": [line]}]
            return {"do": "connect", "client": "keeper", "role": "admin"}
        ends = [[{"do": "kill"}], [{"do": "signal", "number": 15}, *({"do": "advance", "span": 50 * PIECE} for _ in range(4)),
                                   {"do": "kill"}]]
        if self.cut_chance:
            ends.append([{"do": "cut"}])
        if bundles and (not backups or dice.random() < 0.5):
            made = [{"do": "begin", "bundle": dice.choice(bundles)}]
        else:
            made = self.mischief.restore({"do": "restore", "backup": dice.choice(backups), **self.part(dice)})
        if self.cut_chance and dice.random() < 0.3:
            made.append({"do": "cut"})
        first, *ends = dice.choice(ends)
        begins = self.mischief.start(self.again())
        if self.cut_chance and dice.random() < 0.3:
            # What the first start has made there may not be durable yet.
            begins += [{"do": "advance", "span": dice.choice([1, 20]) * PIECE}, {"do": "cut"}, *self.mischief.start(self.again())]
        self.queue = [*ends, *made, *begins, {"do": "settle"}]
        return first

    def part(self, dice):
        """How a backup is restored."""
        event = {name: True for name, chance in (("empty", 0.3), ("keyless", 0.1)) if dice.random() < chance}
        chance = dice.random()
        if chance < 0.15:
            return event | {"only": dice.choice([["settings"], ["documents"], ["settings", "secrets"],
                                                 [f"documents/{self.collections[0]}"]])}
        if chance < 0.5 and self.all_revs:
            return event | {"at": dice.choice(["newest", *self.all_revs[-20:]])}
        return event
