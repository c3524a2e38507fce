public import KuraBytes

/// Migrations made ready to be applied to document after document; what no step names stays byte for byte. One instance serves one
/// thread; its memory is used again.
public final class MigrationPlan {
    private final class Place {
        var names = PathNames()

        init(_ path: FieldPath) { names.read(path) }
    }
    private struct Step {
        let action: MigrationStep.Action
        let place: Place
        let target: Place?
        let version: Int
        let position: Int
    }
    /// What a step has done so far.
    public struct Count: Sendable {
        /// The version that it leads to, and its position in that migration.
        public let version: Int
        public let step: Int
        /// Documents that it has changed.
        public var changed = 0
        /// Documents in which a value could not be converted.
        public var unconverted = 0
    }

    private let steps: [Step]
    /// Position of each migration's first step.
    private let starts: [Int]
    private let limits: MigrationLimits
    private var editor = DocumentEditor()
    private var carried = ByteBuffer()
    private var result = ByteBuffer()
    /// Steps that have changed the document that is being migrated, or have not converted its value.
    private var touched: [Int] = []
    private var failed: [Int] = []
    public private(set) var counts: [Count]
    /// The first value of the document migrated last that could not be converted, when its step goes on nevertheless.
    public private(set) var unconverted: MigrationFault?

    public init(_ migrations: [Migration], limits: MigrationLimits) {
        var steps: [Step] = []
        var starts: [Int] = []
        for migration in migrations {
            starts.append(steps.count)
            for (position, step) in migration.steps.enumerated() {
                let (path, target): (FieldPath, FieldPath?) =
                    switch step.action {
                    case .rename(let from, let to, _), .move(let from, let to, _): (from, to)
                    case .setDefault(let path, _), .remove(let path), .convert(let path, _, _): (path, nil)
                    }
                steps.append(
                    Step(
                        action: step.action, place: Place(path), target: target.map(Place.init),
                        version: migration.version, position: position))
            }
        }
        self.steps = steps
        self.starts = starts
        self.limits = limits
        counts = steps.map { Count(version: $0.version, step: $0.position) }
    }

    /// Applies the migrations from the one at `first` on.
    /// - Returns: the document's text; nil when nothing is to be changed. Good until the next call.
    /// - Throws: when a step cannot be taken: then the document is to stay as it is.
    public func apply(to document: Bytes, from first: Int = 0) throws(MigrationFault) -> Bytes? {
        touched.removeAll(keepingCapacity: true)
        failed.removeAll(keepingCapacity: true)
        unconverted = nil
        guard first < starts.count else { return nil }
        editor.begin(document)
        defer { editor.end() }
        for position in starts[first]..<steps.count {
            if try take(steps[position], position) { touched.append(position) }
            guard editor.work <= limits.work else { throw fault(.tooMuchWork, steps[position]) }
            guard editor.text.count <= limits.resultBytes else { throw fault(.tooLarge, steps[position]) }
        }
        for position in touched { counts[position].changed += 1 }
        for position in failed { counts[position].unconverted += 1 }
        guard !touched.isEmpty else { return nil }
        result.removeAll()
        if result.capacity > 64 << 10 { result.releaseMemory() }
        result.append(editor.text)
        return result.bytes.equals(document) ? nil : result.bytes
    }

    private func fault(_ reason: MigrationFault.Reason, _ step: Step, _ depth: Int? = nil) -> MigrationFault {
        MigrationFault(
            reason: reason, version: step.version, step: step.position,
            pointer: (step.target ?? step.place).names.pointer(depth))
    }

    // MARK: Steps

    /// - Returns: whether the step has changed the document.
    private func take(_ step: Step, _ position: Int) throws(MigrationFault) -> Bool {
        switch step.action {
        case .rename(_, _, let ifExists): return try rename(step, ifExists)
        case .move(_, _, let ifExists): return try move(step, ifExists)
        case .setDefault(_, let value):
            if case .value = editor.locate(step.place.names) { return false }
            try value.withBytes { (value) throws(MigrationFault) in try put(value, at: step.place, step) }
            return true
        case .remove:
            guard case .value(_, let member) = editor.locate(step.place.names) else { return false }
            editor.remove(member)
            return true
        case .convert(_, let type, let onFailure): return try convert(step, position, type, onFailure)
        }
    }

    private func rename(_ step: Step, _ ifExists: MigrationStep.IfExists) throws(MigrationFault) -> Bool {
        guard let target = step.target, case .value(let value, let member) = editor.locate(step.place.names) else {
            return false
        }
        guard value != member else { throw fault(.noName, step) }
        var name = member.lowerBound..<value.lowerBound - 1
        if case .value(_, let there) = editor.locate(target.names) {
            switch ifExists {
            case .fail: throw fault(.targetExists, step)
            case .keep: return false
            case .replace:
                editor.remove(there)
                guard case .value(let value, let member) = editor.locate(step.place.names) else { return false }
                name = member.lowerBound..<value.lowerBound - 1
            }
        }
        editor.replace(name) { $0.append(quotedName: target.names.name(target.names.count - 1)) }
        return true
    }

    private func move(_ step: Step, _ ifExists: MigrationStep.IfExists) throws(MigrationFault) -> Bool {
        guard let target = step.target, case .value(let value, let member) = editor.locate(step.place.names) else {
            return false
        }
        carried.removeAll()
        carried.append(editor.text.extracting(value))
        defer { if carried.capacity > 64 << 10 { carried.releaseMemory() } }
        if case .value(let there, _) = editor.locate(target.names) {
            switch ifExists {
            case .fail: throw fault(.targetExists, step)
            case .keep: return false
            case .replace:
                if target.names.isPrefix(of: step.place.names) {
                    // A part takes the place of the whole.
                    let carried = carried.bytes
                    editor.replace(there) { $0.append(carried) }
                    return true
                }
            }
        }
        editor.remove(member)
        try put(carried.bytes, at: target, step)
        return true
    }

    /// Puts a value where a path leads: in the place of what is there, else as a last member, with the objects on the way.
    private func put(_ value: Bytes, at place: Place, _ step: Step) throws(MigrationFault) {
        guard place.names.count + StoredValue(value).depth(atMost: limits.depth) <= limits.depth else {
            throw fault(.tooDeep, step)
        }
        switch editor.locate(place.names) {
        case .value(let there, _): editor.replace(there) { $0.append(value) }
        case .end(let container): try append(value, to: container, place, level: place.names.count - 1, step)
        case .nothing(let depth):
            guard case .value(let container, _) = editor.locate(place.names, depth: depth) else {
                throw fault(.noContainer, step, depth)
            }
            try append(value, to: container, place, level: depth, step)
        case .scalar(let depth): throw fault(.noContainer, step, depth)
        case .badPosition(let depth): throw fault(.badPosition, step, depth)
        }
    }

    /// Adds the member that the path names at `level`, with everything in it that the rest of the path names.
    private func append(
        _ value: Bytes, to container: Range<Int>, _ place: Place, level: Int, _ step: Step
    ) throws(MigrationFault) {
        // An array gets no elements: which one it would be depends on how many there are.
        guard editor.text[container.lowerBound] == UInt8(ascii: "{") else { throw fault(.badPosition, step, level) }
        let count = place.names.count
        editor.append(to: container, name: place.names.name(level)) { output in
            for level in level + 1..<count {
                output.append(UInt8(ascii: "{"))
                output.append(quotedName: place.names.name(level))
                output.append(UInt8(ascii: ":"))
            }
            output.append(value)
            for _ in level + 1..<count { output.append(UInt8(ascii: "}")) }
        }
    }

    private func convert(
        _ step: Step, _ position: Int, _ type: ValueConversion, _ onFailure: MigrationStep.OnFailure
    ) throws(MigrationFault) -> Bool {
        guard case .value(let value, let member) = editor.locate(step.place.names) else { return false }
        carried.removeAll()
        switch type.convert(StoredValue(editor.text.extracting(value)), to: &carried) {
        case .same: return false
        case .made:
            let made = carried.bytes
            editor.replace(value) { $0.append(made) }
            return true
        case .failed(let reason):
            let fault = fault(reason, step)
            guard onFailure != .fail else { throw fault }
            failed.append(position)
            if unconverted == nil { unconverted = fault }
            switch onFailure {
            case .fail, .keep: return false
            case .null: editor.replace(value) { $0.append("null") }
            case .remove: editor.remove(member)
            }
            return true
        }
    }
}
