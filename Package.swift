// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .treatAllWarnings(as: .error),
]

/// What the compiler cannot prove to be memory safe must be marked `unsafe` (SE-0458); `scripts/check unsafe` wants a reason
/// beside each mark.
let product = strict + [.strictMemorySafety()]

func module(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: product)
}

func tool(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies, swiftSettings: product)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies + ["KuraTestSupport"], swiftSettings: strict)
}

let package = Package(
    name: "kura",
    // For KuraClient, which is all that is for macOS. It is `Synchronization`'s (SE-0410, SE-0433: Swift 6.0) that asks for the most;
    // Observation is of 14, `RawSpan` (SE-0447) goes back to 10.14.4.
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "kurad", targets: ["kurad"]),
        .executable(name: "kura", targets: ["kura"]),
        .executable(name: "kura-bench", targets: ["kura-bench"]),
        .library(name: "KuraClient", targets: ["KuraClient"]),
        .library(name: "KuraFoundation", targets: ["KuraFoundation"]),
        .library(name: "KuraTesting", targets: ["KuraTesting"]),
    ],
    targets: [
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CPCRE2", pkgConfig: "libpcre2-8", providers: [.apt(["libpcre2-dev"])]),
        .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
        .target(name: "CSyscalls"),
        module("KuraBytes", ["CSyscalls"]),
        module("SQLite", ["KuraBytes", "CSQLite", "CSyscalls"]),
        module("Sodium", ["KuraBytes", "CSodium"]),
        module("KuraProtocol", ["KuraBytes"]),
        module("KuraJSON", ["KuraBytes"]),
        module("JSONSchema", ["KuraBytes", "KuraJSON", "KuraProtocol", "CPCRE2"]),
        module("KuraSocket", ["KuraBytes", "CSyscalls"]),
        module("KuraTransport", ["KuraBytes", "KuraSocket", "CSyscalls"]),
        module(
            "KuraStorage", ["KuraBytes", "KuraJSON", "KuraProtocol", "JSONSchema", "SQLite", "Sodium", "CSyscalls"]),
        module("KuraCheck", ["KuraBytes", "KuraStorage", "SQLite", "Sodium", "CSyscalls"]),
        module(
            "KuraServer",
            [
                "KuraBytes", "KuraJSON", "KuraProtocol", "JSONSchema", "KuraSocket", "KuraTransport", "KuraStorage",
                "KuraCheck", "SQLite", "Sodium",
            ]),
        module("KuraClient", ["KuraBytes", "KuraProtocol", "KuraSocket"]),
        module("KuraFoundation", ["KuraClient"]),
        module("KuraTesting", ["KuraBytes", "KuraClient", "KuraProtocol", "KuraServer"]),
        module("KuraCommand", ["KuraBytes", "KuraClient", "KuraProtocol", "SQLite", "Sodium", "CSyscalls"]),
        tool("kurad", ["KuraProtocol", "KuraServer"]),
        tool("kura", ["KuraCommand"]),
        tool("kura-bench", []),
        .executableTarget(
            name: "kura-notes", dependencies: ["KuraClient"], path: "Sources/Examples/Notes", exclude: ["origin.py"],
            swiftSettings: strict),
        // Not a product: another process for tests that need one.
        .executableTarget(
            name: "kura-peer", dependencies: ["KuraClient", "KuraTesting"], path: "Tests/Peer", swiftSettings: strict),
        // Not a product either: what several test targets have in common. Optimised, for it makes and looks through much.
        .target(name: "KuraTestSupport", path: "Tests/Support", swiftSettings: strict + [.unsafeFlags(["-O"])]),
        tests("KuraBytesTests", ["KuraBytes"]),
        tests("SQLiteTests", ["KuraBytes", "SQLite", "CSQLite"]),
        tests("SodiumTests", ["KuraBytes", "KuraJSON", "KuraProtocol", "Sodium"]),
        tests("KuraProtocolTests", ["KuraBytes", "KuraProtocol"]),
        tests("KuraJSONTests", ["KuraBytes", "KuraJSON", "KuraProtocol"]),
        tests("JSONSchemaTests", ["KuraBytes", "JSONSchema", "KuraProtocol"]),
        tests("KuraSocketTests", ["KuraBytes", "KuraSocket", "CSyscalls"]),
        tests("KuraTransportTests", ["KuraBytes", "KuraSocket", "KuraTransport", "CSyscalls"]),
        tests(
            "KuraStorageTests",
            ["KuraBytes", "KuraJSON", "KuraStorage", "KuraCheck", "KuraTransport", "SQLite", "Sodium"]),
        tests(
            "KuraServerTests",
            [
                "KuraBytes", "KuraClient", "KuraJSON", "KuraServer", "KuraProtocol", "JSONSchema", "KuraSocket",
                "KuraStorage", "KuraTesting", "KuraTransport", "SQLite", "Sodium", "CSyscalls",
            ]),
        tests(
            "KuraClientTests",
            ["KuraBytes", "KuraClient", "KuraFoundation", "KuraProtocol", "KuraTesting", "CSyscalls"]),
        tests(
            "KuraCommandTests",
            ["KuraBytes", "KuraCommand", "KuraClient", "KuraProtocol", "SQLite", "Sodium", "CSyscalls"]),
    ]
)
