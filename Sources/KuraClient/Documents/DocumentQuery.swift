/// Documents that match, fetched a page at a time: iterate over them, over their `pages`, or take `all()` or the `first()`.
///
/// It is a value and asks nothing by itself; each iteration is a query of its own. A document that stays and does not change its
/// place comes once, whatever is written meanwhile.
public struct DocumentQuery<Model>: AsyncSequence, CallScope
where Model: Codable & Identifiable & Sendable, Model.ID: Codable & Sendable {
    public typealias Element = StoredDocument<Model>
    public typealias Failure = KuraError

    private(set) var collection: DocumentCollection<Model>
    /// nil: all documents.
    let selector: Result<[UInt8]?, KuraError>
    let sort: Result<[[UInt8]], KuraError>
    /// By `documents.list`, which any number of documents is good for.
    let isList: Bool
    private var most: Int?
    private var size = 100
    private var allowsScan = false
    private var start: String?

    init(
        collection: DocumentCollection<Model>, selector: Result<[UInt8]?, KuraError>,
        sort: Result<[[UInt8]], KuraError>,
        isList: Bool
    ) {
        self.collection = collection
        self.selector = selector
        self.sort = sort
        self.isList = isList
    }

    /// At most so many documents, of all pages together.
    public func limit(_ count: Int) -> DocumentQuery { changed { $0.most = Swift.max(0, count) } }

    /// So many documents at a time, 1 to 1,000; 100 otherwise. A page ends early rather than grow over 1 MiB.
    public func pageSize(_ count: Int) -> DocumentQuery { changed { $0.size = Swift.min(Swift.max(1, count), 1000) } }

    /// Every document may be looked at, though there are more than 10,000 and no index helps.
    public func allowingScan() -> DocumentQuery { changed { $0.allowsScan = true } }

    /// Goes on behind an earlier page of the same query; nil begins at the beginning.
    public func after(_ cursor: String?) -> DocumentQuery { changed { $0.start = cursor } }

    private func changed(_ change: (inout DocumentQuery) -> Void) -> DocumentQuery {
        var copy = self
        change(&copy)
        return copy
    }

    /// The same with options for each page.
    public func with(_ options: CallOptions) -> DocumentQuery { changed { $0.collection = collection.with(options) } }

    // MARK: Asking

    /// All that match.
    public func all() async throws(KuraError) -> [StoredDocument<Model>] {
        var documents: [StoredDocument<Model>] = []
        var pages = self.pages.makeAsyncIterator()
        while let page = try await pages.next(isolation: nil) { documents += page.documents }
        return documents
    }

    /// All that match, without their revisions.
    public func values() async throws(KuraError) -> [Model] { try await all().map(\.value) }

    /// The first that matches; nil when none does.
    public func first() async throws(KuraError) -> StoredDocument<Model>? {
        var pages = limit(1).pages.makeAsyncIterator()
        return try await pages.next(isolation: nil)?.documents.first
    }

    /// How many match. A `limit` says nothing here.
    public func count() async throws(KuraError) -> Int {
        var parameters = collection.parameters
        parameters.add("where", json: try selector.get())
        parameters.add("allowScan", flag: allowsScan)
        guard let count = try await collection.kura.call("documents.count", parameters).integer("count") else {
            throw .badAnswer("documents.count")
        }
        return Int(clamping: count)
    }

    /// The pages, for lists that show one at a time and keep its `cursor`.
    public var pages: Pages { Pages(query: self) }

    public func makeAsyncIterator() -> Iterator { Iterator(pages: pages.makeAsyncIterator()) }

    public struct Iterator: AsyncIteratorProtocol {
        private var pages: Pages.Iterator
        private var page: ArraySlice<StoredDocument<Model>> = []

        init(pages: Pages.Iterator) { self.pages = pages }

        public mutating func next() async throws(KuraError) -> StoredDocument<Model>? { try await next(isolation: nil) }

        public mutating func next(isolation: isolated (any Actor)?) async throws(KuraError) -> StoredDocument<Model>? {
            while page.isEmpty {
                guard let next = try await pages.next(isolation: isolation) else { return nil }
                page = next.documents[...]
            }
            return page.removeFirst()
        }
    }

    /// One page of what matches.
    public struct Page: Sendable {
        public let documents: [StoredDocument<Model>]
        /// What it was read as of; a document that changed meanwhile may be newer.
        public let rev: Int64
        /// Where the next page begins; nil at the end.
        public let cursor: String?
    }

    public struct Pages: AsyncSequence, Sendable {
        public typealias Element = Page
        public typealias Failure = KuraError
        let query: DocumentQuery

        public func makeAsyncIterator() -> Iterator { Iterator(query: query) }

        public struct Iterator: AsyncIteratorProtocol {
            private let query: DocumentQuery
            private var cursor: String?
            private var left: Int?
            private var isAtEnd = false

            init(query: DocumentQuery) {
                self.query = query
                cursor = query.start
                left = query.most
            }

            public mutating func next() async throws(KuraError) -> Page? { try await next(isolation: nil) }

            public mutating func next(isolation: isolated (any Actor)?) async throws(KuraError) -> Page? {
                if isAtEnd || left == 0 { return nil }
                let size = Swift.min(query.size, left ?? .max)
                let page = try await query.page(from: cursor, size: size)
                cursor = page.cursor
                // Never below: a page may have more than it was asked for.
                left = left.map { Swift.max(0, $0 - page.documents.count) }
                isAtEnd = cursor == nil
                return page.documents.isEmpty && isAtEnd ? nil : page
            }
        }
    }

    fileprivate func page(from cursor: String?, size: Int) async throws(KuraError) -> Page {
        let method = isList ? "documents.list" : "documents.find"
        let answer = try await rows(from: cursor, size: size)
        var documents: [StoredDocument<Model>] = []
        for row in answer.rows { documents.append(try collection.read(row)) }
        guard let rev = answer.rev else { throw .badAnswer(method) }
        return Page(documents: documents, rev: rev, cursor: answer.cursor)
    }

    /// A page whose values are still text.
    func rows(
        from cursor: String?, size: Int
    ) async throws(KuraError) -> (rows: [DocumentRow], rev: Int64?, cursor: String?) {
        let method = isList ? "documents.list" : "documents.find"
        var parameters = collection.parameters
        if !isList {
            parameters.add("where", json: try selector.get())
            let sort = try sort.get()
            if !sort.isEmpty { parameters.add("sort", json: JSONElements.array(sort)) }
            parameters.add("allowScan", flag: allowsScan)
        }
        parameters.add("limit", size)
        parameters.add("cursor", cursor)
        let answer = try await collection.kura.call(method, parameters)
        let next = try KuraError.next(answer.string("cursor"), after: cursor, method)
        return (try DocumentRow.rows(answer["documents"], method), answer.integer("rev"), next)
    }
}
