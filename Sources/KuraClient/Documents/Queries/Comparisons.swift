// Comparing a field makes a condition; the value is encoded as the model's own values are.

public func == <Model, Value: Encodable>(field: Field<Model, Value>, value: Value) -> Condition<Model> {
    equals(field, value)
}

public func != <Model, Value: Encodable>(field: Field<Model, Value>, value: Value) -> Condition<Model> {
    !equals(field, value)
}

private func equals<Model, Value: Encodable>(_ field: Field<Model, Value>, _ value: Value) -> Condition<Model> {
    switch field.text(of: value) {
    case .failure(let error): Condition(.fault(error))
    case .success(let text):
        if text == Field<Model, Value>.null {
            field.isAbsent
        } else {
            field.isEqual(to: text)
        }
    }
}

public func < <Model, Value: Encodable & Comparable>(field: Field<Model, Value>, value: Value) -> Condition<Model> {
    compares(field, "$lt", value, isLess: true)
}

public func <= <Model, Value: Encodable & Comparable>(field: Field<Model, Value>, value: Value) -> Condition<Model> {
    compares(field, "$lte", value, isLess: true)
}

public func > <Model, Value: Encodable & Comparable>(field: Field<Model, Value>, value: Value) -> Condition<Model> {
    compares(field, "$gt", value, isLess: false)
}

public func >= <Model, Value: Encodable & Comparable>(field: Field<Model, Value>, value: Value) -> Condition<Model> {
    compares(field, "$gte", value, isLess: false)
}

public func < <Model, Value: Encodable & Comparable>(field: Field<Model, Value?>, value: Value) -> Condition<Model> {
    compares(field, "$lt", value, isLess: true)
}

public func <= <Model, Value: Encodable & Comparable>(field: Field<Model, Value?>, value: Value) -> Condition<Model> {
    compares(field, "$lte", value, isLess: true)
}

public func > <Model, Value: Encodable & Comparable>(field: Field<Model, Value?>, value: Value) -> Condition<Model> {
    compares(field, "$gt", value, isLess: false)
}

public func >= <Model, Value: Encodable & Comparable>(field: Field<Model, Value?>, value: Value) -> Condition<Model> {
    compares(field, "$gte", value, isLess: false)
}

private func compares<Model, FieldValue>(
    _ field: Field<Model, FieldValue>, _ name: String, _ value: some Encodable, isLess: Bool
) -> Condition<Model> {
    switch Field<Model, FieldValue>.encoded(value) {
    case .failure(let error): Condition(.fault(error))
    // The daemon has an order of objects of its own, which says nothing of the values.
    case .success(let text) where text.first == UInt8(ascii: "{"): Condition(.fault(.noOrder(FieldValue.self)))
    case .success(let text): field.test(name, text, on: field.idField(of: text), isLess: isLess)
    }
}

// A field that is true or false is what it says: `!$0.isDone && $0.due < now`. One that stands alone is `$0.isDone == true`.

public prefix func ! <Model>(field: Field<Model, Bool>) -> Condition<Model> { field == false }

public func && <Model>(left: Field<Model, Bool>, right: Condition<Model>) -> Condition<Model> {
    (left == true) && right
}

public func && <Model>(left: Condition<Model>, right: Field<Model, Bool>) -> Condition<Model> {
    left && (right == true)
}

public func && <Model>(left: Field<Model, Bool>, right: Field<Model, Bool>) -> Condition<Model> {
    (left == true) && (right == true)
}

public func || <Model>(left: Field<Model, Bool>, right: Condition<Model>) -> Condition<Model> {
    (left == true) || right
}

public func || <Model>(left: Condition<Model>, right: Field<Model, Bool>) -> Condition<Model> {
    left || (right == true)
}

public func || <Model>(left: Field<Model, Bool>, right: Field<Model, Bool>) -> Condition<Model> {
    (left == true) || (right == true)
}
