/// Metrics as Prometheus reads them. Source: "Exposition formats", text format 0.0.4 (prometheus.io/docs/instrumenting).
struct MetricsText {
    private(set) var text = ""

    enum Kind: String { case counter, gauge, histogram }

    /// A family of samples begins; those that follow are its.
    mutating func family(_ name: String, _ kind: Kind, _ help: String) {
        text += "# HELP \(name) \(Self.escaped(help: help))\n# TYPE \(name) \(kind.rawValue)\n"
    }

    mutating func sample(_ name: String, _ labels: [(String, String)], _ value: String) {
        let inner = labels.map { "\($0)=\"\(Self.escaped(label: $1))\"" }.joined(separator: ",")
        text += inner.isEmpty ? "\(name) \(value)\n" : "\(name){\(inner)} \(value)\n"
    }

    mutating func sample(_ name: String, _ labels: [(String, String)], _ value: Int64) {
        sample(name, labels, String(value))
    }

    /// One family with one sample.
    mutating func single(_ name: String, _ kind: Kind, _ help: String, _ value: Int64) {
        family(name, kind, help)
        sample(name, [], value)
    }

    /// A histogram's samples: its buckets' bounds are powers of two, up to which counts are exact.
    /// `exponents`: of the bounds. `bound`: a bound's text. `sum`: that of the sum.
    mutating func histogram(
        _ name: String, _ labels: [(String, String)], _ measured: DaemonNumbers.Measured,
        _ exponents: ClosedRange<Int>,
        sum: String, bound: (Int64) -> String
    ) {
        for exponent in exponents {
            let limit = Int64(1) << exponent
            sample(name + "_bucket", labels + [("le", bound(limit))], measured.count(upTo: limit))
        }
        sample(name + "_bucket", labels + [("le", "+Inf")], measured.count)
        sample(name + "_sum", labels, sum)
        sample(name + "_count", labels, measured.count)
    }

    /// The same of times: from a microsecond to a minute.
    mutating func times(_ name: String, _ labels: [(String, String)], _ measured: DaemonNumbers.Measured) {
        histogram(name, labels, measured, 10...36, sum: Self.decimal(measured.sum, digits: 6)) {
            Self.decimal($0, digits: 9)
        }
    }

    /// The same of numbers of things: up to a million.
    mutating func sizes(_ name: String, _ measured: DaemonNumbers.Measured) {
        histogram(name, [], measured, 0...20, sum: String(measured.sum)) { String($0) }
    }

    /// A whole number of parts of one, as a decimal fraction: 1,500 of 1,000 is `1.5`.
    static func decimal(_ value: Int64, digits: Int) -> String {
        let text = String(value.magnitude)
        let padded = String(repeating: "0", count: max(0, digits + 1 - text.count)) + text
        var fraction = String(padded.suffix(digits))
        while fraction.last == "0" { fraction.removeLast() }
        let whole = (value < 0 ? "-" : "") + padded.dropLast(digits)
        return fraction.isEmpty ? whole : "\(whole).\(fraction)"
    }

    private static func escaped(help: String) -> String {
        help.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
    }

    static func escaped(label: String) -> String {
        label.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }
}
