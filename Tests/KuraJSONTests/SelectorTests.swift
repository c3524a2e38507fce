import KuraBytes
import Testing

@testable import KuraJSON

/// A pattern that is found as it stands, and one that gives up: what the server's do is tested there.
private final class PlainPattern: TextPattern {
    let text: [UInt8]

    init(_ text: Bytes) { self.text = Array(text) }

    func matches(_ subject: Bytes) -> Bool? {
        if String(decoding: text, as: UTF8.self) == "bomb" { return nil }
        return String(subject).contains(String(decoding: text, as: UTF8.self))
    }
}

struct SelectorTests {
    static func selector(_ text: String, limits: SelectorLimits = SelectorLimits()) throws -> Selector {
        try text.withBytes { (bytes) throws in
            try Selector(StoredValue(bytes), limits: limits) { (pattern) throws(TextPatternError) in
                if pattern.first == UInt8(ascii: "(") { throw TextPatternError("a group is not closed") }
                return PlainPattern(pattern)
            }
        }
    }

    static func matches(_ selector: String, _ document: String, id: String = "x") throws -> Bool {
        let selector = try self.selector(selector)
        var gaveUpAt: String?
        let matches = document.withBytes { document in
            "\"\(id)\"".withBytes {
                selector.matches(StoredValue(document), id: StoredValue($0), gaveUpAt: &gaveUpAt)
            }
        }
        #expect(gaveUpAt == nil)
        return matches
    }

    private static func error(_ text: String, limits: SelectorLimits = SelectorLimits()) -> SelectorError? {
        do {
            _ = try selector(text, limits: limits)
            return nil
        } catch { return error as? SelectorError }
    }

    @Test(arguments: [
        (#"{}"#, true), (#"{"n":5}"#, true), (#"{"n":5.0,"s":"ab"}"#, true), (#"{"n":6}"#, false),
        (#"{"n":5,"s":"x"}"#, false),
        (#"{"o":{"p":1}}"#, true), (#"{"o.p":1}"#, true), (#"{"o":{"p":{"$gt":0},"q":"y"}}"#, true),
        (#"{"o":{}}"#, false),
        (#"{"e":{}}"#, true), (#"{"o":{"$eq":{"q":"y","p":1}}}"#, true), (#"{"o":{"$eq":{"p":1}}}"#, false),
        // Operators and fields beside each other are all asked, as in CouchDB.
        (#"{"o":{"$exists":true,"p":1}}"#, true), (#"{"o":{"$exists":true,"p":2}}"#, false),
        (#"{"o":{"$type":"array","p":1}}"#, false), (#"{"$and":[{"n":5}],"s":"ab"}"#, true),
        (#"{"$and":[{"n":5}],"s":"x"}"#, false), (#"{"o":{"$not":{"p":1},"q":"y"}}"#, false),
        (#"{"n":{"$gt":4,"$lt":6}}"#, true), (#"{"n":{"$gte":5,"$lte":5}}"#, true), (#"{"n":{"$gt":5}}"#, false),
        (#"{"n":{"$lt":"a"}}"#, true), (#"{"n":{"$gt":null}}"#, true), (#"{"s":{"$gt":99}}"#, true),
        (#"{"z":{"$lte":null}}"#, true),
        (#"{"n":{"$ne":5}}"#, false), (#"{"n":{"$ne":6}}"#, true),
        // Nothing is there: no condition holds, and no opposite of one.
        (#"{"x":{"$ne":5}}"#, false), (#"{"x":null}"#, false), (#"{"x":{"$gt":null}}"#, false),
        (#"{"x":{"$nin":[1]}}"#, false),
        (#"{"$not":{"x":5}}"#, false), (#"{"x":{"$exists":false}}"#, true), (#"{"x":{"$exists":true}}"#, false),
        (#"{"z":{"$exists":true}}"#, true), (#"{"z":null}"#, true), (#"{"n.x":{"$exists":false}}"#, true),
        (#"{"$not":{"x":{"$exists":true}}}"#, true), (#"{"x":{"$not":{"$regex":"a"}}}"#, false),
        (#"{"n":{"$in":[1,5.0]}}"#, true), (#"{"n":{"$in":[]}}"#, false), (#"{"n":{"$nin":[]}}"#, true),
        (#"{"n":{"$nin":[5]}}"#, false),
        // $in looks into arrays, equality does not.
        (#"{"a":{"$in":["c",1]}}"#, true), (#"{"a":{"$in":[[1,"b",[2]]]}}"#, false), (#"{"a":{"$nin":["b"]}}"#, false),
        (#"{"a":1}"#, false), (#"{"a":[1,"b",[2]]}"#, true), (#"{"a.1":"b"}"#, true), (#"{"a.2.0":2}"#, true),
        (#"{"a":{"$all":["b",1]}}"#, true), (#"{"a":{"$all":["b",3]}}"#, false), (#"{"a":{"$all":[]}}"#, false),
        (#"{"a":{"$all":[[1,"b",[2]]]}}"#, true), (#"{"a":{"$all":[[2]]}}"#, true), (#"{"n":{"$all":[5]}}"#, false),
        (#"{"a":{"$size":3}}"#, true), (#"{"a":{"$size":2}}"#, false), (#"{"a":{"$size":4}}"#, false),
        (#"{"s":{"$size":2}}"#, false),
        (#"{"a":{"$elemMatch":{"$gt":0,"$lt":2}}}"#, true), (#"{"a":{"$elemMatch":{"$gt":1,"$lt":2}}}"#, false),
        (#"{"l":{"$elemMatch":{"k":1,"v":"a"}}}"#, true), (#"{"l":{"$elemMatch":{"k":1,"v":"b"}}}"#, false),
        (#"{"l":{"$allMatch":{"k":{"$gt":0}}}}"#, true), (#"{"l":{"$allMatch":{"v":"a"}}}"#, false),
        (#"{"em":{"$allMatch":{"v":"a"}}}"#, false),
        (#"{"l":{"$elemMatch":{"$or":[{"k":7},{"v":"b"}]}}}"#, true), (#"{"l":{"$not":{"$elemMatch":{"k":7}}}}"#, true),
        (#"{"o":{"$keyMapMatch":{"$eq":"q"}}}"#, true), (#"{"o":{"$keyMapMatch":{"$in":["r"]}}}"#, false),
        (#"{"o":{"$keyMapMatch":{"$beginsWith":"p"}}}"#, true), (#"{"s":{"$keyMapMatch":{"$eq":"q"}}}"#, false),
        (#"{"s":{"$beginsWith":"a"}}"#, true), (#"{"s":{"$beginsWith":""}}"#, true),
        (#"{"s":{"$beginsWith":"b"}}"#, false),
        (#"{"n":{"$beginsWith":"5"}}"#, false), (#"{"q":{"$beginsWith":"\"\\\u0041"}}"#, true),
        (#"{"q":{"$beginsWith":"\\"}}"#, false),
        (#"{"s":{"$regex":"b"}}"#, true), (#"{"n":{"$regex":"5"}}"#, false), (#"{"q":{"$regex":"\"\\A"}}"#, true),
        (#"{"n":{"$mod":[3,2]}}"#, true), (#"{"n":{"$mod":[3,1]}}"#, false), (#"{"m":{"$mod":[3,-2]}}"#, true),
        (#"{"m":{"$mod":[3,2]}}"#, false),
        (#"{"big":{"$mod":[1000000007,999965707]}}"#, true), (#"{"f":{"$mod":[1,0]}}"#, false),
        (#"{"s":{"$mod":[1,0]}}"#, false),
        (#"{"n":{"$type":"number"}}"#, true), (#"{"z":{"$type":"null"}}"#, true), (#"{"t":{"$type":"boolean"}}"#, true),
        (#"{"s":{"$type":"string"}}"#, true), (#"{"a":{"$type":"array"}}"#, true), (#"{"o":{"$type":"object"}}"#, true),
        (#"{"n":{"$type":"string"}}"#, false), (#"{"x":{"$type":"null"}}"#, false),
        (#"{"$or":[{"n":1},{"s":"ab"}]}"#, true), (#"{"$or":[{"n":1},{"s":"b"}]}"#, false), (#"{"$or":[]}"#, false),
        (#"{"$and":[]}"#, true),
        (#"{"$nor":[{"n":1},{"s":"b"}]}"#, true), (#"{"$nor":[{"n":5},{"s":"b"}]}"#, false), (#"{"$nor":[]}"#, true),
        (#"{"n":{"$or":[1,{"$gt":4}]}}"#, true), (#"{"n":{"$not":{"$gt":4}}}"#, false),
        (#"{"$not":{"n":{"$gt":4,"$lt":5}}}"#, true),
        (#"{"$not":{"$not":{"n":5}}}"#, true), (#"{"$not":{"$or":[{"n":1},{"n":2}]}}"#, true),
        (#"{"$not":{"$and":[{"n":5},{"s":"ab"}]}}"#, false),
        (#"{"$nor":[{"$nor":[{"n":5}]}]}"#, true), (#"{"$not":{"n":{"$in":[5]}}}"#, false),
        (#"{"$not":{"n":{"$mod":[3,2]}}}"#, false),
        (#"{"_id":"x"}"#, true), (#"{"_id":{"$gt":"x"}}"#, false), (#"{"_id":{"$gt":null}}"#, true),
        (#"{"l":{"$elemMatch":{"_id":1}}}"#, false),
        (#"{"\\$d":1}"#, true), (#"{"d\\.t":2}"#, true), (#"{"é":3}"#, true), (#"{"\u00e9":3}"#, true),
    ])
    func `a document fulfils it or does not`(_ selector: String, _ expected: Bool) throws {
        let document = #"""
            {"n":5,"s":"ab","z":null,"t":true,"a":[1,"b",[2]],"o":{"p":1,"q":"y"},"e":{},"em":[],"m":-5,"f":1.5,"$d":1,"d.t":2,
            "l":[{"k":1,"v":"a"},{"k":2,"v":"b"}],"q":"\"\\A","big":100000000000000000000000000000,"\u00e9":3}
            """#.replacing("\n", with: "")
        #expect(try Self.matches(selector, document) == expected, "\(selector)")
    }

    @Test(arguments: [
        (#"[]"#, "", SelectorError.Cause.form), (#"null"#, "", .form),
        (#"{"a":{"$foo":1}}"#, "/a/$foo", .unknownOperator),
        (#"{"$where":"x"}"#, "/$where", .unknownOperator), (#"{"$gt":1}"#, "/$gt", .form),
        (#"{"a":{"":1}}"#, "/a/", .path),
        (#"{"a..b":1}"#, "/a..b", .path), (#"{"a\\x":1}"#, #"/a\x"#, .path), (#"{"$and":{}}"#, "/$and", .form),
        (#"{"$or":[{"a":1},5]}"#, "/$or/1", .form), (#"{"$or":[{"a":1},{"b":{"$in":5}}]}"#, "/$or/1/b/$in", .form),
        (#"{"$not":5}"#, "/$not", .form), (#"{"a/b~c":{"$size":-1}}"#, "/a~1b~0c/$size", .form),
        (#"{"a":{"$size":1.5}}"#, "/a/$size", .form),
        (#"{"a":{"$mod":[0,1]}}"#, "/a/$mod", .form), (#"{"a":{"$mod":[2]}}"#, "/a/$mod", .form),
        (#"{"a":{"$mod":[2,1,1]}}"#, "/a/$mod", .form),
        (#"{"a":{"$mod":[2.5,1]}}"#, "/a/$mod", .form), (#"{"a":{"$exists":1}}"#, "/a/$exists", .form),
        (#"{"a":{"$type":"int"}}"#, "/a/$type", .form),
        (#"{"a":{"$regex":5}}"#, "/a/$regex", .form), (#"{"a":{"$regex":"("}}"#, "/a/$regex", .pattern),
        (#"{"a":{"$beginsWith":5}}"#, "/a/$beginsWith", .form),
        (#"{"a":{"$elemMatch":[]}}"#, "/a/$elemMatch", .form),
        (#"{"a":{"$elemMatch":{"b":{"$x":1}}}}"#, "/a/$elemMatch/b/$x", .unknownOperator),
        (#"{"a":{"$all":5}}"#, "/a/$all", .form), (#"{"a":{"$nin":{}}}"#, "/a/$nin", .form),
        (#"{"$nor":5}"#, "/$nor", .form),
        (#"{"a":{"$keyMapMatch":5}}"#, "/a/$keyMapMatch", .form),
    ])
    func `what is no selector is refused where it is wrong`(
        _ selector: String, _ pointer: String, _ cause: SelectorError.Cause
    ) {
        let error = Self.error(selector)
        #expect(
            error?.pointer == pointer && error?.cause == cause && error?.message.isEmpty == false,
            "\(selector) \(error as Any)")
    }

    @Test func `a selector has bounds`() {
        func nested(_ levels: Int) -> String {
            String(repeating: #"{"$not":"#, count: levels) + #"{"a":1}"# + String(repeating: "}", count: levels)
        }
        #expect(Self.error(nested(63)) == nil)
        #expect(Self.error(nested(64))?.limit == 64)
        #expect(Self.error(nested(100))?.cause == .limit)
        let many = (0..<257).map { "{\"a\":\($0)}" }.joined(separator: ",")
        #expect(Self.error("{\"$or\":[\(many)]}")?.limit == 256)
        #expect(Self.error("{\"$or\":[\(many)]}")?.pointer == "/$or/256/a")
        var limits = SelectorLimits()
        limits.items = 3
        limits.itemsOfAll = 2
        #expect(Self.error(#"{"a":{"$in":[1,2,3]}}"#, limits: limits) == nil)
        #expect(Self.error(#"{"a":{"$in":[1,2,3,4]}}"#, limits: limits)?.limit == 3)
        #expect(Self.error(#"{"a":{"$all":[1,2,3]}}"#, limits: limits)?.limit == 2)
        limits.patterns = 1
        #expect(Self.error(#"{"a":{"$regex":"a"},"b":{"$regex":"b"}}"#, limits: limits)?.limit == 1)
        limits.patternBytes = 3
        #expect(Self.error(#"{"a":{"$regex":"abcd"}}"#, limits: limits)?.limit == 3)
    }

    @Test func `where no patterns may be used one is refused`() {
        #"{"a":{"$regex":"a"}}"#.withBytes { bytes in
            do throws(SelectorError) {
                _ = try Selector(StoredValue(bytes))
                Issue.record("taken")
            } catch {
                #expect(error.cause == .pattern && error.pointer == "/a/$regex")
            }
        }
    }

    @Test func `a pattern that takes too long is reported, not taken for an answer`() throws {
        let selector = try Self.selector(#"{"a":{"$regex":"bomb"}}"#)
        var gaveUpAt: String?
        #"{"a":"x"}"#.withBytes { _ = selector.matches(StoredValue($0), id: nil, gaveUpAt: &gaveUpAt) }
        #expect(gaveUpAt == "/a/$regex" && selector.usesPatterns)
    }
}
