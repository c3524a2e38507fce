/// A call of the system that a test cannot do without.
package struct SystemFailure: Error {
    package var call: String
    package var number: Int32
}
