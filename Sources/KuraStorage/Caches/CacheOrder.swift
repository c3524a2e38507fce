import KuraBytes

/// Where the rows of a cache's index stand in the lists that decide who goes: one place a row, by its number. Belongs to the loop.
final class CachePlaces {
    fileprivate struct Place {
        var newer: UInt32 = 0
        var older: UInt32 = 0
        var bytes: UInt32 = 0
        var segment = CacheOrder.Segment.none
        /// Asked for since somebody looked last.
        var isVisited = false
    }
    fileprivate var places = GrowingRow<Place>()

    /// Makes room for the row of this number.
    func reserve(_ row: UInt32) {
        while places.count <= Int(row) { places.append(Place()) }
    }

    /// Whether the row is in a list.
    func holds(_ row: UInt32) -> Bool { row < places.count && places[Int(row)].segment != .none }

    /// Has the row's place fetched, which is looked at soon.
    func prefetch(_ row: UInt32) { if row < places.count { places.prefetch(Int(row)) } }

    /// The row was asked for: one write, and no list is touched.
    func visit(_ row: UInt32) { places[Int(row)].isVisited = true }
}

/// In which order a cache's rows go when there is no room: W-TinyLFU.
///
/// What is new comes into a window of a hundredth of the bytes. What leaves it competes with the oldest of the rest, and who was asked for less often
/// goes: so a scan over what nobody wants again cannot empty the cache. What is asked for again while on probation is protected. Hits only set
/// a bit; rows are moved when room has to be made. Row 0 is nobody. Belongs to the loop.
///
/// Source: TinyLFU (Einziger, Friedman, Manes, ACM TOS 2017), 4.
struct CacheOrder {
    enum Segment: UInt8 {
        case none, window, probation, protected
    }

    private struct List {
        var newest: UInt32 = 0
        var oldest: UInt32 = 0
        var bytes = 0
    }

    private let places: CachePlaces
    private var window = List()
    private var probation = List()
    private var protected = List()
    private(set) var count = 0
    var bytes: Int { window.bytes + probation.bytes + protected.bytes }
    /// Rows that came out of the window and were asked for less often than who would have had to go for them.
    private(set) var rejected = 0

    /// Rows that are moved before one goes, at most.
    private static let steps = 32

    init(_ places: CachePlaces) {
        self.places = places
    }

    // MARK: Rows

    /// A row that is new. `limit`: bytes of all.
    mutating func insert(_ row: UInt32, bytes: Int, limit: Int) {
        places.reserve(row)
        places.places[Int(row)] = CachePlaces.Place(bytes: UInt32(clamping: bytes))
        link(row, .window)
        count += 1
        // While there is room nobody has to compete; later `victim` decides who leaves the window for good.
        while self.bytes <= limit / 10 * 9, window.bytes > limit / 100, window.oldest != row {
            move(window.oldest, .probation)
        }
    }

    /// A row that was there before this run, without what is known of it.
    mutating func insertOld(_ row: UInt32, bytes: Int) {
        places.reserve(row)
        places.places[Int(row)] = CachePlaces.Place(bytes: UInt32(clamping: bytes))
        link(row, .probation)
        count += 1
    }

    mutating func remove(_ row: UInt32) {
        guard places.holds(row) else { return }
        unlink(row)
        count -= 1
    }

    /// The row takes so many bytes now.
    mutating func resize(_ row: UInt32, bytes: Int) {
        let segment = places.places[Int(row)].segment
        let difference = bytes - Int(places.places[Int(row)].bytes)
        places.places[Int(row)].bytes = UInt32(clamping: bytes)
        change(segment) { $0.bytes += difference }
    }

    /// Somebody who is in it; nil when it is empty.
    var any: UInt32? { [window.oldest, probation.oldest, protected.oldest].first { $0 != 0 } }

    // MARK: Who goes

    /// Who goes next; nil when nobody is left. It stays where it is until it is removed.
    /// `hash`: of a row, as the sketch knows it. `limit`: bytes of all.
    mutating func victim(_ sketch: FrequencySketch, limit: Int, hash: (UInt32) -> UInt64) -> UInt32? {
        for _ in 0..<Self.steps {
            let oldest = probation.oldest != 0 ? probation.oldest : protected.oldest
            if oldest != 0, places.places[Int(oldest)].isVisited {
                places.places[Int(oldest)].isVisited = false
                move(oldest, .protected)
                while protected.bytes > limit / 5 * 4, protected.oldest != oldest { move(protected.oldest, .probation) }
                continue
            }
            let candidate = window.oldest
            guard candidate != 0, window.bytes > limit / 100 || oldest == 0 else { return oldest == 0 ? nil : oldest }
            guard oldest != 0 else { return candidate }
            if places.places[Int(candidate)].isVisited {
                places.places[Int(candidate)].isVisited = false
                move(candidate, .window)
                continue
            }
            if sketch.frequency(hash(candidate)) > sketch.frequency(hash(oldest)) {
                move(candidate, .probation)
                return oldest
            }
            rejected += 1
            return candidate
        }
        return any
    }

    // MARK: Lists

    private mutating func move(_ row: UInt32, _ segment: Segment) {
        unlink(row)
        link(row, segment)
    }

    private mutating func link(_ row: UInt32, _ segment: Segment) {
        let place = Int(row)
        places.places[place].segment = segment
        let table = places
        let bytes = Int(table.places[place].bytes)
        change(segment) { list in
            table.places[place].older = list.newest
            table.places[place].newer = 0
            if list.newest != 0 { table.places[Int(list.newest)].newer = row }
            list.newest = row
            if list.oldest == 0 { list.oldest = row }
            list.bytes += bytes
        }
    }

    private mutating func unlink(_ row: UInt32) {
        let table = places
        let place = table.places[Int(row)]
        change(place.segment) { list in
            if place.newer != 0 {
                table.places[Int(place.newer)].older = place.older
            } else {
                list.newest = place.older
            }
            if place.older != 0 {
                table.places[Int(place.older)].newer = place.newer
            } else {
                list.oldest = place.newer
            }
            list.bytes -= Int(place.bytes)
        }
        table.places[Int(row)].segment = .none
    }

    private mutating func change(_ segment: Segment, _ body: (inout List) -> Void) {
        switch segment {
        case .none: break
        case .window: body(&window)
        case .probation: body(&probation)
        case .protected: body(&protected)
        }
    }
}
