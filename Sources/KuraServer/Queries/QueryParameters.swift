import JSONSchema
import KuraBytes
import KuraJSON
import KuraProtocol
import KuraStorage

/// The parameters that queries share, read from a request.
extension Call {
    /// The selector of a parameter; everything when it is absent.
    func selector(_ parameter: JSONParameter) throws(Refusal) -> Selector {
        guard has(parameter) else { return .everything }
        let value = StoredValue(self[parameter])
        // It is compiled on the loop, and what it lists is sorted there.
        guard value.text.count <= WireLimits.selectorBytes else {
            throw refusal(parameter, path: "", "a selector is too long", limit: WireLimits.selectorBytes)
        }
        do throws(SelectorError) {
            return try Selector(value) { (text) throws(TextPatternError) in try BoundedPattern(text) }
        } catch { throw refusal(parameter, path: error.pointer, error.message, limit: error.limit) }
    }

    /// `["name",{"age":"desc"}]`
    func sortFields(_ parameter: JSONParameter) throws(Refusal) -> [SortField] {
        guard has(parameter) else { return [] }
        var fields: [SortField] = []
        for element in StoredValue(self[parameter]).elements {
            // Told of only when something is at fault.
            var place: String { "/\(fields.count)" }
            try refuse(itemsBeyond: fields.count, parameter)
            var path = element
            var isDescending = false
            if element.kind == .object {
                var members = element.members
                guard let member = members.next(), members.next() == nil else {
                    throw refusal(parameter, path: place, "a field to sort by is one member: its path, and asc or desc")
                }
                path = StoredValue(member.quotedName)
                guard member.value.text.equals("\"asc\"") || member.value.text.equals("\"desc\"") else {
                    throw refusal(parameter, path: place, "the direction is asc or desc")
                }
                isDescending = member.value.text.equals("\"desc\"")
            }
            let field = SortField(path: try fieldPath(path, parameter, place), isDescending: isDescending)
            guard !fields.contains(where: { $0.path == field.path }) else {
                throw refusal(parameter, path: place, "the field comes twice")
            }
            fields.append(field)
        }
        return fields
    }

    /// - Throws: when a list that has `count` items already has no room for another.
    private func refuse(itemsBeyond count: Int, _ parameter: some Parameter) throws(Refusal) {
        let limit = reader.listLimit(parameter.position)
        guard count < limit else { throw refusal(parameter, path: "/\(count)", "too many items", limit: limit) }
    }

    /// A list of paths.
    func paths(_ parameter: JSONParameter) throws(Refusal) -> [FieldPath] {
        guard has(parameter) else { return [] }
        var paths: [FieldPath] = []
        for element in StoredValue(self[parameter]).elements {
            try refuse(itemsBeyond: paths.count, parameter)
            paths.append(try fieldPath(element, parameter, "/\(paths.count)"))
        }
        return paths
    }

    /// `place`: where it stands in the parameter, as a JSON pointer.
    func fieldPath(
        _ value: StoredValue, _ parameter: some Parameter, _ place: @autoclosure () -> String
    ) throws(Refusal) -> FieldPath {
        guard value.kind == .string else { throw refusal(parameter, path: place(), "a path is a string") }
        let text = ResolvedText.bytes(value.quoted)
        guard text.count <= WireLimits.pathBytes else {
            throw refusal(parameter, path: place(), "a path is too long", limit: WireLimits.pathBytes)
        }
        do throws(FieldPathError) {
            return try text.withBytes { (text) throws(FieldPathError) in try FieldPath(text) }
        } catch { throw refusal(parameter, path: place(), error.message) }
    }

    /// Milliseconds that a query has when its request does not say. `KURA_QUERY_MS` is for tests: where others have the processors
    /// for seconds it is more.
    static let usualMilliseconds = SocketPath.environment("KURA_QUERY_MS").flatMap { Int($0) } ?? 5000

    /// - Throws: `timeout` when the time is over since the request was begun first.
    func queryControl(_ parameter: NumberParameter) throws(Refusal) -> QueryControl {
        let milliseconds = self[parameter].map { Int($0) } ?? Self.usualMilliseconds
        guard !isOperation, let begun = begin() else { return QueryControl(milliseconds: milliseconds, clock) }
        let left = begun.progress.patience.left(of: milliseconds, clock)
        guard left > 0 else { throw Refusal(QueryError.timeout(milliseconds: milliseconds), call: self) }
        return QueryControl(milliseconds: milliseconds, until: clock.deadline(after: left))
    }

    /// What tells this query from others. A collection that was dropped and made anew is another one.
    /// `method`: whose cursors it takes; nil for its own.
    func queryIdentity(
        _ parameters: [any Parameter], method: Int? = nil, in storage: isolated Storage
    ) -> UInt64 {
        let incarnation = UInt64(storage.documents.incarnation(self[InDocuments.collection]))
        return identity(
            of: [InDocuments.collection] + parameters, method: method, seed: 0x6B75_7261 &+ incarnation << 32)
    }

    func queryPage(
        cursor: TextParameter, of parameters: any Parameter..., method: Int? = nil, in storage: isolated Storage
    ) throws(Refusal) -> ListPage {
        try ListPage(self, cursor: cursor, of: queryIdentity(parameters, method: method, in: storage))
    }

    /// Where the page begins; nil for the first.
    func position(of page: ListPage, _ parameter: some Parameter) throws(Refusal) -> QueryPosition? {
        guard let encoded = page.after else { return nil }
        guard let position = QueryPosition(encoded) else { throw refuseCursor(parameter) }
        return position
    }

    /// Names the place within a parameter that is at fault.
    func refusal(_ parameter: some Parameter, path: String, _ message: String, limit: Int? = nil) -> Refusal {
        .error(errorTexts.fault(.invalidParams, path: path, message, parameter: name(parameter), limit: limit))
    }
}
