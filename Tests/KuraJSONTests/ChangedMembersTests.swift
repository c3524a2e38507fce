import KuraBytes
import Testing

@testable import KuraJSON

struct ChangedMembersTests {
    /// The list as text; nil where none can be made.
    private func listed(_ old: String, _ new: String) -> String? {
        old.withBytes { old in
            new.withBytes { new in
                var list = ByteBuffer()
                // What stands before the list is not looked at.
                list.append(Bytes("\"a\","))
                guard ChangedMembers.append(from: old, to: new, into: &list) else {
                    #expect(list.count == 4, "nothing is left of an attempt")
                    return nil
                }
                return String(decoding: list.bytes(4..<list.count), as: UTF8.self)
            }
        }
    }

    @Test(arguments: [
        (#"{"a":1,"b":2}"#, #"{"a":1,"b":3}"#, #""b""#),
        (#"{"a":1,"b":2}"#, #"{"a":12,"b":2}"#, #""a""#),
        (#"{"a":11,"b":2}"#, #"{"a":1,"b":2}"#, #""a""#),
        (#"{"a":1,"b":2}"#, #"{"a":1,"b":2,"c":3}"#, #""c""#),
        (#"{"a":1,"b":2,"c":3}"#, #"{"b":2,"c":3}"#, #""a""#),
        (#"{"a":1,"b":2}"#, #"{"b":2,"a":1}"#, ""),
        (#"{"a":1,"b":2}"#, #"{"b":1,"a":1}"#, #""b""#),
        (#"{}"#, #"{"a":1}"#, #""a""#),
        (#"{"a":1}"#, #"{}"#, #""a""#),
        (#"{"a":{"b":[1,{"c":2}]},"d":"x"}"#, #"{"a":{"b":[1,{"c":3}]},"d":"x"}"#, #""a""#),
        (#"{"a":"{","b":"\"","c":1}"#, #"{"a":"}","b":"\"","c":1}"#, #""a""#),
        (#"{"":1}"#, #"{"":2}"#, #""""#),
        (#"{"a":1.0}"#, #"{"a":1}"#, #""a""#),
        (#"{"a":1,"a":2}"#, #"{"a":2,"a":2}"#, #""a""#),
        (#"{"x":0,"a":1,"a":2}"#, #"{"a":1,"a":2,"x":0}"#, ""),
        (#"{"x":0,"a":1,"a":2}"#, #"{"a":2,"a":1,"x":0}"#, #""a""#),
        (#"{"b\n":1,"a":1}"#, #"{"b\n":1,"a":2}"#, #""a""#),
    ])
    func `what differs is listed`(_ old: String, _ new: String, _ list: String) {
        #expect(listed(old, new) == list)
        list.withBytes { #expect(ChangedMembers.isList($0)) }
    }

    @Test(arguments: [
        (#"{"b\n":1}"#, #"{"b\n":2}"#), (#"{"\u0061":1,"b":1}"#, #"{"a":1,"b":1}"#), ("[1]", "[2]"),
        (#"{"a":1}"#, "[1]"), ("1", #"{"a":1}"#),
    ])
    func `all may differ where names have escapes or there are none`(_ old: String, _ new: String) {
        #expect(listed(old, new) == nil)
    }

    @Test func `all may differ where many do`() {
        func document(_ count: Int, _ value: Int) -> String {
            "{\((0..<count).map { "\"member\($0)\":\(value)" }.joined(separator: ","))}"
        }
        #expect(listed(document(60, 1), document(60, 2))?.split(separator: ",").count == 60)
        #expect(listed(document(200, 1), document(200, 2)) == nil)
        // Another order of many.
        #expect(listed("{\"x\":1,\(document(80, 1).dropFirst())", document(80, 1)) == nil)
    }

    @Test(arguments: [#"a"#, #""a"#, #""a","#, #","a""#, #""a""b""#, #""a" "#, #""\n""#, "\"\u{1}\"", "\"", #""a",b"#])
    func `what is no list is found out`(_ text: String) {
        text.withBytes { #expect(!ChangedMembers.isList($0)) }
        String(repeating: "\"a\",", count: 300).withBytes { #expect(!ChangedMembers.isList($0)) }
    }

    @Test(arguments: 0..<8) func `the list is that of a comparison by name`(_ seed: UInt64) {
        var random = ValueGenerator(seed: seed + 1)
        func object(_ members: [(String, Int)]) -> String {
            "{\(members.map { "\"\($0.0)\":\($0.1 % 3 == 0 ? "{\"x\":[\($0.1),\"}\"]}" : "\($0.1)")" }.joined(separator: ","))}"
        }
        for _ in 0..<2000 {
            var members = (0..<random.below(7)).map { ("m\($0)", random.below(20)) }
            let old = members
            for _ in 0..<random.below(4) {
                switch random.below(4) {
                case 0: members.insert(("n\(random.below(1000))", 1), at: random.below(members.count + 1))
                case 1: if !members.isEmpty { members.remove(at: random.below(members.count)) }
                case 2: if !members.isEmpty { members[random.below(members.count)].1 = random.below(200) }
                default:
                    if members.count > 1 { members.swapAt(random.below(members.count), random.below(members.count)) }
                }
            }
            guard Set(members.map(\.0)).count == members.count else { continue }
            let (before, after) = (
                Dictionary(uniqueKeysWithValues: old), Dictionary(uniqueKeysWithValues: members)
            )
            let differing = Set(before.keys).union(after.keys).filter { before[$0] != after[$0] }
            let list = listed(object(old), object(members))
            let names = Set(list.map { $0.split(separator: ",").map { String($0.dropFirst().dropLast()) } } ?? ["?"])
            #expect(names == differing, "\(object(old)) \(object(members))")
        }
    }

    @Test func `lists are merged`() {
        var list = ByteBuffer()
        list.append(Bytes("\"z\"\"a\",\"b\""))
        "\"b\",\"c\"".withBytes { ChangedMembers.merge(ChangedMembers($0), into: &list, from: 3) }
        #expect(String(decoding: list.bytes(3..<list.count), as: UTF8.self) == "\"a\",\"b\",\"c\"")
    }
}
