import Glibc
import KuraBytes
import SQLite

/// What is known of an item, and what the tables have told of it.
extension Ledger {
    func find(_ scope: Scope, _ key: Bytes) -> ItemRef? {
        table.find(scope: scope.id, key: key, hash: table.hash(scope: scope.id, key: key))
    }

    /// Takes a document that was read from the tables into the cache; its reference passes to the table.
    func adopt(clean item: ItemRef) {
        item.pointee.hash = table.hash(scope: item.pointee.scope, key: item.key)
        table.insert(item)
        // Not trimmed here: the caller is about to show the item. The turn's end does it.
        cache.add(item)
    }

    /// The same for one that was found by its row: false, and it is let go, when memory has another under its id.
    func adopt(unknown item: ItemRef) -> Bool {
        let hash = table.hash(scope: item.pointee.scope, key: item.key)
        guard table.find(scope: item.pointee.scope, key: item.key, hash: hash) == nil else {
            item.release()
            return false
        }
        adopt(clean: item)
        return true
    }

    /// Lets go of a document that is in the cache.
    func letGo(clean item: ItemRef) {
        cache.remove(item)
        table.remove(item)
        item.release()
    }

    func markRead(_ item: ItemRef) {
        item.pointee.flags.insert(.visited)
    }

    /// Drops documents until the cache is within its bound. What was shown in this turn may go.
    func trimCache() {
        cache.trim(budget: 4096) { item in
            table.remove(item)
            item.release()
        }
    }
}
