import KuraBytes

/// What one live query shows, and what its client has been told of it.
///
/// It holds the ids and sort keys of documents that match. Without a limit these are all of them. With one they are the first few
/// more than are shown (`reserve`), with their values, so that the next one comes in at once when one leaves; everything up to
/// `horizon` is known, what lies behind it is not. When too many have left, it is `isShort`: what follows has to be read, and until
/// then nothing can be told.
///
/// Changes are taken in, and `takeChanges` then says by what the client's list becomes this one. The state is as good as what was
/// taken in: whoever fills it from several snapshots takes in all changes since the first of them before showing anything.
public final class LiveWindow {
    private struct Member {
        /// Where it stands; ends with the id.
        var key: [UInt8]
        var idLength: Int
        var rev: UInt64
        /// Revision that the client has; 0: the client does not have it.
        var shownRev: UInt64 = 0
        /// It has passed others since the client was told.
        var isMoved = false
        /// In `dirty`.
        var isDirty = false
        /// JSON text. Without a limit only until it has been told.
        var value: [UInt8]
        var next: UInt32

        var id: ArraySlice<UInt8> { LiveKey.id(key, length: idLength) }
    }

    /// How one document's place in the client's list changes.
    public enum Step: Sendable {
        case removed, inserted, moved, updated
    }
    /// What the client is told of one document. Those that are removed come first, then the others by their place.
    public struct Change {
        public var step: Step
        public var id: ArraySlice<UInt8>
        public var rev: UInt64
        /// JSON text; empty when removed.
        public var value: [UInt8]
        /// Where it stands afterwards, counted from 0; of no meaning when removed or updated.
        public var position: Int
    }

    /// Documents that are shown at most; nil for all.
    public let limit: Int?
    /// Documents beyond the limit that are kept.
    let reserve: Int
    /// Everything up to this key is known; nil for everything.
    private var horizon: [UInt8]?

    private var members: ContiguousArray<Member> = []
    private var free: ContiguousArray<UInt32> = []
    private var byHash: [UInt64: UInt32] = [:]
    private var order = OrderedSlots()
    /// What the client has and is not here any more, with the revision that it has.
    private var gone: [[UInt8]: UInt64] = [:]
    /// Without a limit: what has changed since the client was told.
    private var dirty: ContiguousArray<UInt32> = []
    /// Something has been taken in that may show.
    private var hasNews = false
    /// Bytes of keys and values.
    private var bytes = 0

    private static let none = UInt32.max

    public init(limit: Int?) {
        self.limit = limit
        reserve = limit.map { max(16, $0 / 2) } ?? 0
    }

    /// Documents that are shown.
    public var count: Int { limit.map { min($0, order.count) } ?? order.count }
    /// Documents that are kept.
    public var keptCount: Int { order.count }
    /// Bytes of memory, about.
    public var footprint: Int { bytes + members.count * 128 + gone.count * 96 + 256 }
    /// Fewer are known than are to be shown, and others may follow.
    public var isShort: Bool {
        guard let limit, horizon != nil else { return false }
        return order.count < limit
    }

    // MARK: Taking in

    /// Whether a document that stands there would be kept: a look before its value is copied.
    func wants(_ key: [UInt8]) -> Bool {
        guard let horizon else { return true }
        return !LiveKey.precedes(horizon, key)
    }

    /// The document matches and stands there as of `rev`.
    func put(_ id: [UInt8], _ hash: UInt64, rev: UInt64, key: [UInt8], value: [UInt8]) {
        guard let slot = find(id[...], hash) else {
            if wants(key) { insert(id, hash, rev: rev, key: key, value: value) }
            return
        }
        guard rev > members[Int(slot)].rev else { return }
        hasNews = true
        guard wants(key) else {
            drop(slot, hash)
            return
        }
        let old = members[Int(slot)]
        bytes += key.count + value.count - old.key.count - old.value.count
        if key != old.key { move(slot, to: key) }
        members[Int(slot)].rev = rev
        members[Int(slot)].value = value
        mark(slot)
    }

    /// The document matches or does not, as before, and stands at its place.
    private func refresh(_ id: [UInt8], _ hash: UInt64, rev: UInt64, value: [UInt8]) {
        guard let slot = find(id[...], hash), rev > members[Int(slot)].rev else { return }
        hasNews = true
        bytes += value.count - members[Int(slot)].value.count
        members[Int(slot)].rev = rev
        members[Int(slot)].value = value
        mark(slot)
    }

    /// The document does not match as of `rev`, or is deleted.
    func remove(_ id: [UInt8], _ hash: UInt64, rev: UInt64) {
        guard let slot = find(id[...], hash), rev > members[Int(slot)].rev else { return }
        hasNews = true
        drop(slot, hash)
    }

    /// Takes in a page of changes that was held against the window's shape.
    /// - Returns: false when they could not be told apart, as a pattern gave up.
    public func take(_ page: LivePage, _ matches: LiveMatches) -> Bool {
        guard !matches.gaveUp else { return false }
        var next = 0
        var untouched = matches.untouched[...]
        for (position, change) in page.changes.enumerated() {
            guard !change.isDrop else {
                removeAll(upTo: change.rev)
                continue
            }
            if next < matches.hits.count, matches.hits[next].position == position {
                put(
                    change.id, change.hash, rev: change.rev, key: matches.hits[next].key, value: change.value ?? [])
                next += 1
            } else if untouched.first == position {
                untouched.removeFirst()
                refresh(change.id, change.hash, rev: change.rev, value: change.value ?? [])
            } else {
                remove(change.id, change.hash, rev: change.rev)
            }
        }
        return true
    }

    /// The collection was dropped at `rev`: what it has from then on came later.
    private func removeAll(upTo rev: UInt64) {
        hasNews = true
        var left: [UInt32] = []
        order.forEach(from: 0) { _, slot in
            if members[Int(slot)].rev <= rev { left.append(slot) }
            return true
        }
        for slot in left { drop(slot, Self.hash(members[Int(slot)].id)) }
        horizon = nil
    }

    /// What was put in is the beginning of what matches, and not all of it.
    func close() {
        guard horizon == nil, order.count > 0 else { return }
        horizon = members[Int(order[order.count - 1])].key
    }

    private func insert(_ id: [UInt8], _ hash: UInt64, rev: UInt64, key: [UInt8], value: [UInt8]) {
        var member = Member(key: key, idLength: id.count, rev: rev, value: value, next: byHash[hash] ?? Self.none)
        if !gone.isEmpty, let shown = gone.removeValue(forKey: id) {
            member.shownRev = shown
            member.isMoved = true
        }
        bytes += key.count + value.count
        let slot: UInt32
        if let used = free.popLast() {
            slot = used
            // The old one may still be in the list of what has changed.
            member.isDirty = members[Int(used)].isDirty
            members[Int(used)] = member
        } else {
            slot = UInt32(members.count)
            members.append(member)
        }
        byHash[hash] = slot
        order.insert(slot, at: place(of: key))
        hasNews = true
        mark(slot)
        guard let limit, order.count > limit + 2 * reserve else { return }
        while order.count > limit + reserve { dropLast() }
        let last = order[order.count - 1]
        horizon = members[Int(last)].key
    }

    private func dropLast() {
        let slot = order[order.count - 1]
        drop(slot, Self.hash(members[Int(slot)].id))
    }

    private func drop(_ slot: UInt32, _ hash: UInt64) {
        let member = members[Int(slot)]
        order.remove(at: place(of: member.key))
        if member.shownRev > 0 { gone[Array(member.id)] = member.shownRev }
        bytes -= member.key.count + member.value.count
        unlink(slot, hash)
        members[Int(slot)] = Member(key: [], idLength: 0, rev: 0, isDirty: member.isDirty, value: [], next: Self.none)
        free.append(slot)
    }

    /// The document's key changes. As long as it stays between its neighbours it has not moved.
    private func move(_ slot: UInt32, to key: [UInt8]) {
        let old = place(of: members[Int(slot)].key)
        let isBehind = order.before(old).map { LiveKey.precedes(members[Int($0)].key, key) } ?? true
        let isBefore = order.after(old).map { LiveKey.precedes(key, members[Int($0)].key) } ?? true
        if isBehind, isBefore {
            members[Int(slot)].key = key
            return
        }
        order.remove(at: old)
        members[Int(slot)].key = key
        members[Int(slot)].isMoved = members[Int(slot)].shownRev > 0
        order.insert(slot, at: place(of: key))
    }

    private func mark(_ slot: UInt32) {
        guard limit == nil, !members[Int(slot)].isDirty else { return }
        members[Int(slot)].isDirty = true
        dirty.append(slot)
    }

    // MARK: Finding

    /// Of an id, as `put` and `remove` want it.
    static func hash(_ id: Bytes) -> UInt64 { Hash.bytes(id, seed: 0x4C49_5645) }

    private static func hash(_ id: ArraySlice<UInt8>) -> UInt64 { id.withBytes { hash($0) } }

    private func find(_ id: ArraySlice<UInt8>, _ hash: UInt64) -> UInt32? {
        var slot = byHash[hash] ?? Self.none
        while slot != Self.none {
            if members[Int(slot)].id.elementsEqual(id) { return slot }
            slot = members[Int(slot)].next
        }
        return nil
    }

    private func unlink(_ slot: UInt32, _ hash: UInt64) {
        let next = members[Int(slot)].next
        guard var before = byHash[hash], before != slot else {
            byHash[hash] = next == Self.none ? nil : next
            return
        }
        while members[Int(before)].next != slot { before = members[Int(before)].next }
        members[Int(before)].next = next
    }

    private func place(of key: [UInt8]) -> OrderedSlots.Place {
        order.place { LiveKey.precedes(members[Int($0)].key, key) }
    }

    // MARK: Telling

    /// What is shown, from a place on, until `body` returns false.
    public func forEach(from position: Int, _ body: (ArraySlice<UInt8>, UInt64, [UInt8]) -> Bool) {
        let end = count
        order.forEach(from: position) { rank, slot in
            guard rank < end else { return false }
            let member = members[Int(slot)]
            return body(member.id, member.rev, member.value)
        }
    }

    /// The client has been told all that is shown.
    public func noteShown() {
        takeChanges { _ in }
        gone = [:]
    }

    /// By what the client's list becomes what is shown; from then on the client has that.
    ///
    /// The list it is applied to loses what is removed and what is moved; then what is inserted or moved is put in, in the order
    /// given, each at its position.
    public func takeChanges(_ body: (Change) -> Void) {
        guard hasNews else { return }
        hasNews = false
        for (id, rev) in gone { body(Change(step: .removed, id: id[...], rev: rev, value: [], position: 0)) }
        if !gone.isEmpty { gone = [:] }
        guard let limit else { return takeDirty(body) }
        order.forEach(from: limit) { _, slot in
            if members[Int(slot)].shownRev > 0 {
                let member = members[Int(slot)]
                body(Change(step: .removed, id: member.id, rev: member.shownRev, value: [], position: 0))
                members[Int(slot)].shownRev = 0
            }
            members[Int(slot)].isMoved = false
            return true
        }
        order.forEach(from: 0) { rank, slot in
            guard rank < limit else { return false }
            show(slot, at: rank, body)
            return true
        }
    }

    private func takeDirty(_ body: (Change) -> Void) {
        var found: [(rank: Int, slot: UInt32)] = []
        found.reserveCapacity(dirty.count)
        for slot in dirty {
            members[Int(slot)].isDirty = false
            guard !members[Int(slot)].key.isEmpty else { continue }
            found.append((order.rank(of: place(of: members[Int(slot)].key)), slot))
        }
        dirty.removeAll(keepingCapacity: dirty.count <= 1024)
        found.sort { $0.rank < $1.rank }
        for (rank, slot) in found {
            show(slot, at: rank, body)
            // The client has it; nobody asks for it again.
            bytes -= members[Int(slot)].value.count
            members[Int(slot)].value = []
        }
    }

    private func show(_ slot: UInt32, at rank: Int, _ body: (Change) -> Void) {
        let member = members[Int(slot)]
        let step: Step
        if member.shownRev == 0 {
            step = .inserted
        } else if member.isMoved {
            step = .moved
        } else if member.rev != member.shownRev {
            step = .updated
        } else {
            return
        }
        members[Int(slot)].shownRev = member.rev
        members[Int(slot)].isMoved = false
        body(Change(step: step, id: member.id, rev: member.rev, value: member.value, position: rank))
    }

    /// The client has what another window has told it, and is to be told how that becomes this one.
    public func succeed(_ old: LiveWindow) {
        hasNews = true
        for (id, rev) in old.gone { inherit(id[...], rev, key: nil) }
        old.order.forEach(from: 0) { _, slot in
            let member = old.members[Int(slot)]
            if member.shownRev > 0 { inherit(member.id, member.shownRev, key: member.isMoved ? nil : member.key) }
            return true
        }
    }

    /// `key`: where the client has it among the others; nil when that is not known.
    private func inherit(_ id: ArraySlice<UInt8>, _ rev: UInt64, key: [UInt8]?) {
        guard let slot = find(id, Self.hash(id)) else {
            gone[Array(id)] = rev
            return
        }
        members[Int(slot)].shownRev = rev
        members[Int(slot)].isMoved = members[Int(slot)].key != key
        mark(slot)
    }
}
