import Foundation

/// RFC 3339 in UTC, as the daemon writes and reads it.
enum Timestamp {
    static func text(of date: Date) -> String { Date.ISO8601FormatStyle().format(date) }

    /// With milliseconds or without; nil when it is none.
    static func date(_ text: String) -> Date? {
        (try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(text))
            ?? (try? Date.ISO8601FormatStyle().parse(text))
    }
}
