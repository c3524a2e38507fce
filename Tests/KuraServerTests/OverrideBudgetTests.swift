import KuraBytes
import Testing

@testable import KuraServer

/// What overrides may take: of one connection, and of all.
@Suite struct OverrideBudgetTests {
    /// Whether there was room for a value of so many bytes.
    private func isSet(_ overrides: SessionOverrides, _ key: String, bytes: Int) -> Bool {
        let value = [UInt8](repeating: UInt8(ascii: "1"), count: bytes)
        do {
            try key.withBytes { key in try value.withBytes { value in try overrides.set(Bytes("d"), key, value) } }
            return true
        } catch { return false }
    }

    @Test func `bytes are charged as they come and go`() {
        let budget = OverrideBudget(BufferBudget(limit: 64 << 20))
        do {
            let overrides = SessionOverrides(budget)
            #expect(isSet(overrides, "a", bytes: 100))
            let first = budget.bytes
            #expect(first >= 100)
            #expect(isSet(overrides, "b", bytes: 50))
            #expect(budget.bytes >= first + 50)
            overrides.clear(Bytes("d"), Bytes("b"))
            withExtendedLifetime(overrides) { #expect(budget.bytes == first) }
        }
        #expect(budget.bytes == 0)
    }

    @Test func `when memory is short overrides shrink and do not grow`() {
        let buffers = BufferBudget(limit: 64 << 20)
        let budget = OverrideBudget(buffers)
        let overrides = SessionOverrides(budget)
        #expect(isSet(overrides, "a", bytes: 100))
        buffers.charge(buffers.ordinary)
        #expect(!isSet(overrides, "a", bytes: 101))
        #expect(isSet(overrides, "a", bytes: 99))
        buffers.charge(-buffers.ordinary)
        #expect(isSet(overrides, "a", bytes: 101))
    }

    @Test func `all of them together have a bound`() {
        let budget = OverrideBudget(BufferBudget(limit: 1 << 30))
        #expect(budget.admits(OverrideBudget.limit) && !budget.admits(OverrideBudget.limit + 1))
        budget.charge(OverrideBudget.limit - 1)
        #expect(budget.admits(1) && !budget.admits(2) && budget.admits(-1))
    }
}
