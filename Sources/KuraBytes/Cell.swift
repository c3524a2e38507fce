/// A value behind a pointer, for state that a class changes many times a request.
///
/// A class's own variables are checked for exclusive access each time they change; on the path of a request that was a third
/// of the cost of reading it.
///
/// Safety: the memory is the cell's from `init` to `deinit`, and always holds a value. What the missing check would find, two
/// changes of overlapping parts at once, cannot come from two threads, since a cell is not Sendable; within one, its owners
/// keep to changing one part after the other and never pass `&cell.pointee` to code that reaches the same cell.
@safe @frozen
public struct Cell<Value: ~Copyable>: ~Copyable {
    @usableFromInline let address: UnsafeMutablePointer<Value>

    @inlinable
    public init(_ value: consuming Value) {
        unsafe address = .allocate(capacity: 1)
        unsafe address.initialize(to: value)
    }

    @inlinable
    deinit {
        unsafe address.deinitialize(count: 1)
        unsafe address.deallocate()
    }

    @inlinable
    public var pointee: Value {
        unsafeAddress { unsafe UnsafePointer(address) }
        nonmutating unsafeMutableAddress { unsafe address }
    }
}
