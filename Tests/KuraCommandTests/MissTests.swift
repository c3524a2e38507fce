import Glibc
import Testing

@testable import KuraCommand

/// What `get` does when there is nothing, whichever store is asked.
@Suite struct MissTests {
    private let pipe = CapturedConsole()

    /// A `get` of each store, what its daemon answers when nothing is there, and what `--json` prints.
    private static let misses: [(command: [String], result: String)] = [
        (["settings", "get", "app", "theme"], #"{"rev":0}"#),
        (["docs", "get", "notes", "rice"], #"{"rev":0}"#),
        (["secrets", "get", "mail", "ada"], #"{"rev":0}"#),
        (["models", "get", "feed", "home"], #"{"state":"miss","ageMs":0}"#),
        (["blobs", "get", "images", "a"], #"{"found":false}"#),
    ]

    @Test(arguments: misses.indices)
    func `a get of what is not there says so and has a status of its own, in every store`(index: Int) {
        let (command, result) = Self.misses[index]
        func run(_ more: String...) -> Outcome {
            let server = FakeServer { [$0.result(result)] }
            return pipe.run(["--socket", server.path] + command + more)
        }
        let plain = run()
        #expect(plain.status == .absent && plain.output == "" && plain.errors == "kura: nothing is there\n")
        let quiet = run("-q")
        #expect(quiet.status == .absent && quiet.output == "" && quiet.errors == "")
        for form in ["--json", "--ndjson"] {
            let whole = run(form)
            #expect(whole.status == .absent && whole.output == result + "\n" && whole.errors == "", "\(form)")
        }
    }

    @Test func `a version that is destroyed or never was is not there either`() {
        let server = FakeServer { [$0.error("notFound", code: -32050, ",\"hint\":\"there is no such version\"")] }
        let outcome = pipe.run("secrets", "get", "mail", "ada", "--version", "7", on: server)
        #expect(outcome.status == .absent && outcome.output == "")
        #expect(outcome.errors.contains("there is no such version"))
        // What is to be changed and is not there is a refusal.
        let change = pipe.run("docs", "increment", "notes", "rice", "n", "1", on: server)
        #expect(change.status == .refused)
    }

    @Test func `a blob that is not there leaves its file and standard output alone`() throws {
        let path = "/tmp/kura-miss-\(getpid())"
        defer { unlink(path) }
        _ = try Shell.run("printf kept > \(path)")
        let server = FakeServer { [$0.result(#"{"found":false,"token":"t1"}"#)] }
        for target in [path, "-"] {
            let outcome = pipe.run("blobs", "get", "images", "a", target, "--replace", on: server)
            #expect(outcome.status == .absent && outcome.output == "", "\(target)")
            #expect(outcome.errors.hasPrefix("kura: nothing is there"), "\(target): \(outcome.errors)")
        }
        #expect(try Shell.run("cat \(path)").output == "kept")
        // The right to make it is what was asked for, too, and must not be lost.
        #expect(pipe.run("blobs", "get", "images", "a", "-", "--claim", on: server).errors.contains("token t1"))
        let named = pipe.run("blobs", "get", "images", "a", path, "--claim", "--replace", on: server)
        #expect(named.status == .absent && named.output == #"{"found":false,"token":"t1"}"# + "\n")
    }

    @Test func `a cached value is printed by itself, a stale one with a remark, a claim with everything`() {
        let fresh = FakeServer { [$0.result(#"{"state":"fresh","value":{"sky":"clear"},"ageMs":5}"#)] }
        let outcome = pipe.run("models", "get", "weather", "kyoto", on: fresh)
        #expect(outcome.status == .done && outcome.output == #"{"sky":"clear"}"# + "\n" && outcome.errors == "")
        let stale = FakeServer { [$0.result(#"{"state":"stale","value":"rain","ageMs":5}"#)] }
        let old = pipe.run("models", "get", "weather", "kyoto", on: stale)
        #expect(old.status == .done && old.output == "rain\n" && old.errors.hasPrefix("kura: stale: "))
        let won = FakeServer { [$0.result(#"{"state":"miss","ageMs":0,"token":"t1"}"#)] }
        let claim = pipe.run("models", "get", "weather", "kyoto", "--claim", on: won)
        // Whoever is told to fetch it has got what was asked for; who is not has not.
        #expect(claim.status == .done && claim.output == #"{"state":"miss","ageMs":0,"token":"t1"}"# + "\n")
        let wonBlob = FakeServer { [$0.result(#"{"found":false,"token":"t1"}"#)] }
        let blobClaim = pipe.run("blobs", "get", "images", "a", "--claim", on: wonBlob)
        #expect(blobClaim.status == .done && blobClaim.output == #"{"found":false,"token":"t1"}"# + "\n")
        let others = FakeServer { [$0.result(#"{"state":"miss","ageMs":0}"#)] }
        let told = pipe.run("models", "get", "weather", "kyoto", "--claim", "--wait-ms", "5", on: others)
        #expect(told.status == .absent && told.output == #"{"state":"miss","ageMs":0}"# + "\n")
        let found = FakeServer { [$0.result(#"{"found":true,"bytes":2,"data":"aGk="}"#)] }
        let blob = pipe.run("blobs", "get", "images", "a", on: found)
        #expect(blob.status == .done && blob.output == #"{"found":true,"bytes":2,"data":"aGk="}"# + "\n")
    }
}
