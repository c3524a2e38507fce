/// The documents of a live collection by key, what of them is not settled, and the order in which they are shown.
///
/// To set one costs what finding its place costs, not what all of them would: a change of another process may come a thousand times a second.
struct LiveEntries<Model>: Sendable where Model: Codable & Identifiable & Sendable, Model.ID: Codable & Sendable {
    typealias Entry = LiveEntry<Model>

    private struct Place: Sendable {
        let key: String
        let sortValues: [SortValue]
    }

    private let order: LiveOrder
    private var entries: [String: Entry] = [:]
    /// Keys of those that are edited, held back or being saved. All others are shown as the daemon has them.
    private(set) var unsettled: Set<String> = []
    /// Keys of those that are edited.
    private var edited: Set<String> = []
    /// What is shown, in order, with its values; nil when it has to be put together.
    private var places: [Place]?
    private var shown: [Model] = []
    /// How often something was put in its place since the values were last looked at.
    private var moves = 0

    init(order: LiveOrder) { self.order = order }

    var keys: [String] { Array(entries.keys) }

    /// Keys of the documents that the daemon is known to have.
    var stored: [String] { entries.compactMap { $0.value.base == nil ? nil : $0.key } }

    /// Whether everything that is shown is saved.
    var isSaved: Bool { edited.isEmpty }

    /// Whether there is something that can be saved.
    var isDue: Bool { unsettled.contains { entries[$0]?.isDue == true } }

    subscript(key: String) -> Entry? {
        get { entries[key] }
        set {
            let old =
                if let newValue { entries.updateValue(newValue, forKey: key) } else { entries.removeValue(forKey: key) }
            if newValue?.isEdited ?? false { edited.insert(key) } else { edited.remove(key) }
            if newValue?.isSettled ?? true { unsettled.remove(key) } else { unsettled.insert(key) }
            show(newValue?.shown, inPlaceOf: old?.shown, key)
        }
    }

    // MARK: The order

    /// What is shown, in order.
    mutating func values() -> [Model] {
        moves = 0
        if places == nil {
            var all = entries.compactMap { key, entry in
                entry.shown.map { (place: Place(key: key, sortValues: $0.sortValues), value: $0.value) }
            }
            all.sort { precedes($0.place, $1.place) }
            places = all.map(\.place)
            shown = all.map(\.value)
        }
        return shown
    }

    private func precedes(_ left: Place, _ right: Place) -> Bool {
        order.precedes((left.key, left.sortValues), (right.key, right.sortValues))
    }

    private mutating func show(_ new: Entry.Shown?, inPlaceOf old: Entry.Shown?, _ key: String) {
        guard places != nil, new?.text != old?.text else { return }
        moves += 1
        // Nobody looks meanwhile: to sort them once is less work.
        if moves > max(32, shown.count / 64) {
            places = nil
            shown = []
            return
        }
        let from = old.flatMap { index(Place(key: key, sortValues: $0.sortValues)) }
        if let new {
            let place = Place(key: key, sortValues: new.sortValues)
            if let from, old?.sortValues == new.sortValues {
                shown[from] = new.value
                return
            }
            if let from { remove(from) }
            let to = lowerBound(place)
            places?.insert(place, at: to)
            shown.insert(new.value, at: to)
        } else if let from {
            remove(from)
        }
    }

    private mutating func remove(_ index: Int) {
        places?.remove(at: index)
        shown.remove(at: index)
    }

    /// Where a place is.
    private func index(_ place: Place) -> Int? {
        let index = lowerBound(place)
        return places.flatMap { index < $0.count && $0[index].key == place.key ? index : nil }
    }

    /// The first place that does not come before this one.
    private func lowerBound(_ place: Place) -> Int {
        guard let places else { return 0 }
        var (low, high) = (0, places.count)
        while low < high {
            let middle = (low + high) / 2
            if precedes(places[middle], place) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
