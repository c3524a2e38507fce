// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "bench-client",
    dependencies: [.package(name: "kura", path: "../../../..")],
    targets: [.executableTarget(name: "bench-client", dependencies: [.product(name: "KuraClient", package: "kura")])])
