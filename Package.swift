// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .treatAllWarnings(as: .error),
]

func module(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

func tool(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

let package = Package(
    name: "kura",
    products: [
        .executable(name: "kurad", targets: ["kurad"]),
        .executable(name: "kura", targets: ["kura"]),
        .executable(name: "kura-bench", targets: ["kura-bench"]),
    ],
    targets: [
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CPCRE2", pkgConfig: "libpcre2-8", providers: [.apt(["libpcre2-dev"])]),
        .target(name: "CSyscalls"),
        module("SQLite", ["CSQLite"]),
        module("KuraProtocol"),
        module("JSONSchema", ["KuraProtocol", "CPCRE2"]),
        module("KuraTransport", ["CSyscalls"]),
        module("KuraStorage", ["SQLite", "CSyscalls"]),
        module("KuraServer", ["KuraProtocol", "JSONSchema", "KuraTransport", "KuraStorage", "SQLite"]),
        module("KuraClient", ["KuraProtocol", "KuraTransport"]),
        module("KuraCommand", ["KuraClient", "KuraProtocol", "CSyscalls"]),
        tool("kurad", ["KuraServer"]),
        tool("kura", ["KuraCommand"]),
        tool("kura-bench", []),
        tests("KuraProtocolTests", ["KuraProtocol"]),
        tests("JSONSchemaTests", ["JSONSchema", "KuraProtocol"]),
        tests("KuraTransportTests", ["KuraTransport", "CSyscalls"]),
        tests("KuraStorageTests", ["KuraStorage", "KuraTransport", "SQLite"]),
        tests("KuraServerTests", ["KuraServer", "KuraProtocol", "JSONSchema", "KuraStorage", "KuraTransport"]),
        tests("KuraClientTests", ["KuraClient", "KuraProtocol", "CSyscalls"]),
        tests("KuraCommandTests", ["KuraCommand", "KuraClient", "KuraProtocol", "CSyscalls"]),
    ]
)
