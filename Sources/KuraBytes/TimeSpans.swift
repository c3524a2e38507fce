/// Spans and moments in nanoseconds whose arithmetic ends at the greatest number instead of trapping: "in the year 9999" is as good as never, and
/// ends no process. `scripts/check times` refuses a product of the kind anywhere else.
extension UInt64 {
    /// A span. Less than nothing is nothing.
    @inlinable
    public static func nanoseconds(seconds: some BinaryInteger) -> UInt64 {
        span(UInt64(clamping: seconds), 1_000_000_000)
    }

    /// A span. Less than nothing is nothing.
    @inlinable
    public static func nanoseconds(milliseconds: some BinaryInteger) -> UInt64 {
        span(UInt64(clamping: milliseconds), 1_000_000)
    }

    /// A moment so many nanoseconds behind this one.
    @inlinable
    public func later(by span: UInt64) -> UInt64 {
        let (sum, isTooMuch) = addingReportingOverflow(span)
        return isTooMuch ? .max : sum
    }

    @inlinable
    static func span(_ count: UInt64, _ unit: UInt64) -> UInt64 {
        let (product, isTooMuch) = count.multipliedReportingOverflow(by: unit)
        return isTooMuch ? .max : product
    }
}

extension Int64 {
    /// A span in milliseconds.
    @inlinable
    public static func milliseconds(seconds: some BinaryInteger) -> Int64 {
        let (product, isTooMuch) = Int64(clamping: seconds).multipliedReportingOverflow(by: 1000)
        return isTooMuch ? (seconds < 0 ? .min : .max) : product
    }

    /// A moment so much behind this one, in the same unit; before it when the span is negative.
    @inlinable
    public func later(by span: Int64) -> Int64 {
        let (sum, isTooMuch) = addingReportingOverflow(span)
        return isTooMuch ? (span < 0 ? .min : .max) : sum
    }

    /// The span from an earlier moment to this one.
    @inlinable
    public func since(_ other: Int64) -> Int64 {
        let (difference, isTooMuch) = subtractingReportingOverflow(other)
        return isTooMuch ? (other < 0 ? .max : .min) : difference
    }
}
