import KuraBytes
import Sodium
import Testing

@testable import KuraStorage

@Suite struct BlobIndexTests {
    private let index = BlobIndex()
    private let key = LookupHash.Key()

    private func name(_ number: Int) -> LookupHash {
        Array("\(number)".utf8).withBytes { LookupHash($0, key: key) }
    }

    private func digest(_ number: Int) -> ContentDigest {
        ContentDigest((0..<32).map { UInt8(truncatingIfNeeded: number >> ($0 % 8 * 8)) })
    }

    private func insert(_ number: Int, content: Int, parent: BlobPlace? = nil) -> BlobPlace {
        let content = index.findOrInsert(digest(content), bytes: 10, isFile: false).place
        return index.insert(
            BlobRow(
                name: name(number), id: Int64(number), namespace: 1, contentType: 0, content: content, createdAt: 0,
                expiresAt: 0), parent: parent)
    }

    @Test func `a content is there once, and leaves with its last blob`() throws {
        let places = (0..<5).map { insert($0, content: 1) }
        #expect(index.count == 5 && index.contentCount == 1 && index.bytes == 10)
        for place in [places[2], places[0], places[4], places[1]] { #expect(index.remove(place) == nil) }
        let left = try #require(index.remove(places[3]))
        index.removeContent(left)
        #expect(index.count == 0 && index.contentCount == 0 && index.bytes == 0)
        #expect(index.find(digest(1)) == nil && index.find(name(3)) == nil)
    }

    @Test func `a blob's variants are its own, in whatever order they go`() {
        let parent = insert(0, content: 0)
        let variants = (1...4).map { insert($0, content: $0, parent: parent) }
        func found() -> Set<BlobPlace> {
            var found: Set<BlobPlace> = []
            index.forEachVariant(of: parent) { found.insert($0) }
            return found
        }
        #expect(found() == Set(variants))
        for (count, place) in [variants[1], variants[3], variants[0]].enumerated() {
            _ = index.remove(place)
            #expect(found().count == 3 - count && !found().contains(place))
        }
        _ = index.remove(variants[2])
        #expect(found().isEmpty)
    }

    @Test func `another content takes the place of a blob's, and the old one is told when nobody has it`() throws {
        let first = insert(0, content: 1)
        let second = insert(1, content: 1)
        let other = index.findOrInsert(digest(2), bytes: 20, isFile: true)
        #expect(other.isNew)
        #expect(index.setContent(of: first, to: other.place) == nil)
        let old = try #require(index.setContent(of: second, to: other.place))
        #expect(index.content(old).digest == digest(1))
        // The same again is no change.
        #expect(index.setContent(of: second, to: other.place) == nil)
        var users: [BlobPlace] = []
        index.forEachUser(of: other.place) {
            users.append($0)
            return true
        }
        #expect(Set(users) == [first, second])
    }

    @Test func `thousands come and go at random, and the index is as a dictionary would be`() {
        var model: [Int: (place: BlobPlace, content: Int)] = [:]
        var random = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            let number = Int.random(in: 0..<500, using: &random)
            let content = Int.random(in: 0..<100, using: &random)
            if let known = model[number] {
                if Bool.random(using: &random) {
                    if let left = index.remove(known.place) { index.removeContent(left) }
                    model[number] = nil
                } else {
                    let place = index.findOrInsert(digest(content), bytes: 10, isFile: false).place
                    if let left = index.setContent(of: known.place, to: place) { index.removeContent(left) }
                    model[number]?.content = content
                }
            } else {
                model[number] = (insert(number, content: content), content)
            }
        }
        #expect(index.count == model.count && index.contentCount == Set(model.values.map(\.content)).count)
        #expect(index.bytes == index.contentCount * 10)
        for number in 0..<500 {
            #expect(index.find(name(number)) == model[number]?.place)
            if let known = model[number] { #expect(index.content(of: known.place).digest == digest(known.content)) }
        }
    }

    // A million blobs are to take 170 MB.
    @Test func `rows take as little as is said of them`() {
        #expect(MemoryLayout<BlobRow>.stride == 96)
        #expect(MemoryLayout<BlobContentRow>.stride == 64)
    }

    @Test func `the hand passes over what was read, once, and takes the oldest of the others`() {
        var queue = BlobQueue()
        let places = (0..<5).map { insert($0, content: $0) }
        for place in places { queue.append(place, index) }
        index[places[0]].isVisited = true
        index[places[2]].isVisited = true
        func take() -> BlobPlace? {
            guard let place = queue.next(index) else { return nil }
            queue.remove(place, index)
            return place
        }
        #expect([take(), take(), take()] == [places[1], places[3], places[4]])
        #expect([take(), take(), take()] == [places[0], places[2], nil])
    }

    @Test func `memory keeps what was read and what is not written, within its bound`() {
        var memory = BlobMemory(limit: 10 * (100 + 64))
        let contents = (0..<20).map { index.findOrInsert(digest($0), bytes: 100, isFile: false).place }
        let bytes = [UInt8](repeating: 7, count: 100)
        index.setContent(contents[0]) { $0.write = 5 }
        for content in contents[..<10] { memory.insert(bytes, of: content, index) }
        index.setContent(contents[3]) { $0.isVisited = true }
        for content in contents[10...] { memory.insert(bytes, of: content, index) }
        #expect(memory.count == 10)
        #expect(memory.bytes(of: contents[0], index) == bytes)
        #expect(memory.bytes(of: contents[1], index) == nil)
        memory.remove(contents[0], index)
        #expect(memory.bytes(of: contents[0], index) == nil && memory.count == 9)
        // What moved into its place is still found.
        for content in contents[15...] { #expect(memory.bytes(of: content, index) == bytes) }
    }
}
