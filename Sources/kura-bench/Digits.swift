import Glibc

/// Decimal digits patched in place into a request that is already rendered.
enum Digits {
    /// Digits in a key (`key:000000012345`) and in the counter at the head of a value.
    static let width = 12

    /// Writes `number` as twelve digits with leading zeros.
    ///
    /// It must be below 100,000,000: the upper four digits stay as the template has them, `0000`.
    ///
    /// Safety: a key of twelve digits stands at `destination`.
    @inline(__always)
    static func patchKey(_ number: UInt32, at destination: UnsafeMutablePointer<UInt8>) {
        var rest = number
        var place = width - 1
        for _ in 0..<8 {
            let quotient = rest / 10
            unsafe destination[place] = UInt8(truncatingIfNeeded: rest &- quotient &* 10) | 0x30
            rest = quotient
            place &-= 1
        }
    }
}

/// The write counter, kept as ASCII digits so that a step costs one addition and now and then a carry.
///
/// It starts at the wall clock's microseconds: a later run, as long as runs stay below 1,000,000 writes a second on
/// average, never repeats a counter of an earlier one, so no write stores what its key already holds.
///
/// Safety: twelve digits fit into the block, which is the counter's, and stand at every `destination`.
@safe
struct DecimalCounter: ~Copyable {
    private let digits = UnsafeMutablePointer<UInt8>.allocate(capacity: 16)

    init(startingAt start: UInt64) {
        var rest = start
        for place in stride(from: Digits.width - 1, through: 0, by: -1) {
            unsafe digits[place] = UInt8(rest % 10) | 0x30
            rest /= 10
        }
    }

    deinit {
        unsafe digits.deallocate()
    }

    /// Adds one and writes the twelve digits; wraps to zero after 999,999,999,999.
    @inline(__always)
    func patchNext(at destination: UnsafeMutablePointer<UInt8>) {
        var place = Digits.width - 1
        while place >= 0 {
            if unsafe digits[place] != 0x39 {
                unsafe digits[place] &+= 1
                break
            }
            unsafe digits[place] = 0x30
            place &-= 1
        }
        unsafe memcpy(destination, digits, Digits.width)
    }
}
