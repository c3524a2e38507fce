import Glibc
import KuraBytes
import Sodium
import Testing

@testable import KuraStorage

@Suite struct KeyKeeperTests {
    private let world = KeyWorld()

    @Test func `the first start makes a key file, and the next one opens the same keys with it`() throws {
        let first = world.keeper()
        #expect(first.ring.state == .unlocked && first.ring.hasBeenUnlocked && first.ring.epoch == 1)
        #expect(first.ring.allSlots.map(\.kind) == [.keyFile])
        for name in ["root.key", "slots.json", "host.key"] {
            #expect(KeyWorld.mode(world.keysPath + "/" + name) == 0o600)
        }
        #expect(KeyWorld.mode(world.keysPath) == 0o700)
        #expect(KeyWorld.contents(world.rootKeyPath).count == 32)
        let second = world.keeper()
        #expect(second.ring.state == .unlocked)
        #expect(second.ring.storeID == first.ring.storeID && second.ring.storeID.count == 16)
        #expect(second.ring.print() == first.ring.print())
        #expect(Set(first.ring.print()).count == KeyPurpose.allCases.count)
        #expect(second.ring.hostKey?.array == first.ring.hostKey?.array && first.ring.hostKey != nil)
        #expect(second.ring.publicKey == first.ring.publicKey && first.ring.publicKey?.count == 32)
        #expect(KeyWorld().keeper().ring.print() != first.ring.print())
    }

    @Test func `the root key is in no file in clear`() throws {
        let keeper = world.keeper()
        let root = try #require(keeper.ring.root?.array)
        for name in try FileSystem.names(in: world.keysPath) {
            let contents = KeyWorld.contents(world.keysPath + "/" + name)
            #expect(!contents.isEmpty)
            #expect(!contents.indices.contains { contents[$0...].starts(with: root) })
        }
    }

    @Test func `without its key file, or with one that is not right, the daemon starts sealed and makes no other`()
        throws
    {
        _ = world.keeper()
        let key = KeyWorld.contents(world.rootKeyPath)
        let slots = KeyWorld.contents(world.slotsPath)
        func state() -> KeyRing.State { world.keeper().ring.state }
        unlink(world.rootKeyPath)
        #expect(state() == .sealed)
        #expect(!FileSystem.exists(world.rootKeyPath))
        for wrong in [Array(key.dropLast()), key + [0], [], key.map { $0 ^ 1 }] {
            KeyWorld.write(wrong, world.rootKeyPath)
            #expect(state() == .sealed)
        }
        KeyWorld.write(key, world.rootKeyPath, mode: 0o640)
        #expect(state() == .sealed)
        unlink(world.rootKeyPath)
        symlink("elsewhere", world.rootKeyPath)
        #expect(state() == .sealed)
        unlink(world.rootKeyPath)
        mkfifo(world.rootKeyPath, 0o600)
        #expect(state() == .sealed)
        unlink(world.rootKeyPath)
        KeyWorld.write(key, world.rootKeyPath)
        #expect(state() == .unlocked)
        #expect(KeyWorld.contents(world.slotsPath) == slots)
    }

    @Test func `damaged slots are said, and are neither used nor written over`() throws {
        let keeper = world.keeper()
        let good = KeyWorld.contents(world.slotsPath)
        var bad = good
        bad[good.count / 2] ^= 1
        KeyWorld.write(bad, world.slotsPath)
        let other = world.keeper()
        #expect(other.ring.state == .unusable(.damaged("its digest does not fit it")))
        #expect(throws: KeysFault.damaged("its digest does not fit it")) { try other.ring.key(.names) }
        #expect(other.ring.allSlots.isEmpty && other.ring.storeID.isEmpty)
        for task in [KeyJob.Task.unlock, .addSlot(.passphrase, label: []), .removeSlot(1), .changePassphrase, .rotate] {
            #expect(KeyWorld.perform(task, "x", new: "y", on: other).fault == .damaged("its digest does not fit it"))
        }
        // Neither does the one that has the keys in memory.
        #expect(
            KeyWorld.perform(.addSlot(.passphrase, label: []), "x", on: keeper).fault
                == .damaged("its digest does not fit it"))
        #expect(keeper.ring.state == .unlocked)
        #expect(KeyWorld.contents(world.slotsPath) == bad)
        KeyWorld.write(good, world.slotsPath)
        #expect(KeyWorld.perform(.unlock, on: other).fault == nil)
        #expect(other.ring.state == .unlocked && other.ring.print() == keeper.ring.print())
    }

    @Test func `a passphrase opens what it was made for, and another one nothing`() throws {
        let keeper = world.keeper()
        let keys = keeper.ring.print()
        let made = KeyWorld.perform(.addSlot(.passphrase, label: Array("me".utf8)), "correct horse", on: keeper)
        #expect(made.fault == nil && made.slot?.id == 2)
        let cost = try #require(made.slot?.cost)
        #expect(cost.memoryBytes == KeyWorld.memory / 2)
        // Who has the file open sees what becomes of its block.
        let file = open(world.rootKeyPath, O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        #expect(KeyWorld.perform(.removeSlot(1), on: keeper).fault == nil)
        #expect(!FileSystem.exists(world.rootKeyPath))
        var left = [UInt8](repeating: 1, count: 64)
        #expect(pread(file, &left, left.count, 0) == 32 && left[..<32].allSatisfy { $0 == 0 })
        let other = world.keeper()
        #expect(other.ring.state == .sealed && other.ring.allSlots.map(\.id) == [2])
        #expect(throws: KeysFault.sealed) { try other.ring.key(.wrap) }
        for wrong in ["", "correct hors", "correct horse ", "Correct horse"] {
            #expect(KeyWorld.perform(.unlock, wrong, on: other).fault == .wrongKey)
            #expect(other.ring.state == .sealed)
        }
        #expect(KeyWorld.perform(.unlock, on: other).fault == .sealed)
        let opened = KeyWorld.perform(.unlock, "correct horse", on: other)
        #expect(opened.fault == nil && opened.slot?.id == 2)
        #expect(other.ring.state == .unlocked && other.ring.print() == keys)
        // A wrong one takes nothing away.
        #expect(KeyWorld.perform(.unlock, "wrong", on: other).fault == .wrongKey)
        #expect(other.ring.state == .unlocked)
    }

    @Test func `a passphrase is changed without another slot, sealed or not, and the old one opens nothing more`()
        throws
    {
        let keeper = world.keeper()
        let keys = keeper.ring.print()
        KeyWorld.perform(.addSlot(.passphrase, label: []), "one", on: keeper)
        KeyWorld.perform(.addSlot(.passphrase, label: []), "two", on: keeper)
        keeper.lock()
        let changed = KeyWorld.perform(.changePassphrase, "two", new: "three", on: keeper)
        #expect(changed.fault == nil && changed.slot?.id == 3)
        #expect(keeper.ring.state == .sealed)
        #expect(KeyWorld.perform(.unlock, "two", on: keeper).fault == .wrongKey)
        #expect(KeyWorld.perform(.changePassphrase, "two", new: "four", on: keeper).fault == .wrongKey)
        for passphrase in ["one", "three"] {
            keeper.lock()
            #expect(KeyWorld.perform(.unlock, passphrase, on: keeper).fault == nil)
            #expect(keeper.ring.print() == keys)
        }
        #expect(keeper.ring.allSlots.map(\.id) == [1, 2, 3])
    }

    @Test func `locking forgets every key`() throws {
        let keeper = world.keeper()
        let generation = keeper.ring.generation
        weak let wrap = try keeper.ring.key(.wrap)
        weak let names = try keeper.ring.key(.names)
        weak let root = keeper.ring.root
        #expect(wrap != nil && names != nil && root != nil)
        keeper.lock()
        #expect(wrap == nil && names == nil && root == nil)
        #expect(keeper.ring.state == .sealed && keeper.ring.hasBeenUnlocked && keeper.ring.publicKey == nil)
        #expect(keeper.ring.generation > generation)
        for purpose in KeyPurpose.allCases { #expect(throws: KeysFault.sealed) { try keeper.ring.key(purpose) } }
        #expect(keeper.ring.hostKey != nil)
        #expect(KeyWorld.perform(.unlock, on: keeper).fault == nil)
        #expect(keeper.ring.state == .unlocked)
    }

    @Test func `whoever locks while a passphrase is being hashed has it locked`() throws {
        let keeper = world.keeper()
        KeyWorld.perform(.addSlot(.passphrase, label: []), "words", on: keeper)
        keeper.lock()
        let job = KeyJob(.unlock, passphrase: Bytes("words"))
        try keeper.submit(job, ticket: 5)
        keeper.lock()
        KeyWorld.wait(for: job, keeper)
        #expect(job.fault == .lockedMeanwhile && keeper.ring.state == .sealed && keeper.ring.root == nil)
        #expect(KeyWorld.perform(.unlock, "words", on: keeper).fault == nil)
    }

    @Test func `the last slot stays, whatever it is`() throws {
        let keeper = world.keeper()
        let text = KeyWorld.contents(world.slotsPath)
        #expect(KeyWorld.perform(.removeSlot(1), on: keeper).fault == .lastSlot)
        #expect(KeyWorld.perform(.removeSlot(9), on: keeper).fault == .noSuchSlot)
        #expect(KeyWorld.contents(world.slotsPath) == text && FileSystem.exists(world.rootKeyPath))
        KeyWorld.perform(.addSlot(.passphrase, label: []), "words", on: keeper)
        #expect(KeyWorld.perform(.removeSlot(1), on: keeper).fault == nil)
        #expect(KeyWorld.perform(.removeSlot(2), on: keeper).fault == .lastSlot)
        // And a number is never given again.
        KeyWorld.perform(.addSlot(.keyFile, label: []), on: keeper)
        #expect(keeper.ring.allSlots.map(\.id) == [2, 3])
        #expect(KeyWorld.perform(.addSlot(.keyFile, label: []), on: keeper).fault == .slotExists)
        #expect(world.keeper().ring.state == .unlocked)
    }

    @Test func `slots have a bound`() throws {
        let keeper = world.keeper()
        let credential = world.directory.path + "/kura.key"
        KeyWorld.write(Randomness.bytes(32), credential)
        for _ in 2...KeySlots.mostSlots {
            guard var keys = keeper.ring.opened else { break }
            // Passphrases would take their time.
            var slot = keys.slots.slots[0]
            slot.id = keys.slots.nextID
            keys.slots.nextID += 1
            keys.slots.slots.append(keys.slots.sealing(keys.roots[0].key, in: slot, under: try SecretKey()))
            keeper.ring.adopt(keys)
        }
        try KeyOpener(KeySources(world.sources, KeyFiles(.tiny(world.directory.path)))).write(keeper.ring.opened!)
        #expect(KeyWorld.perform(.addSlot(.credential, label: []), on: keeper).fault == .tooManySlots)
        #expect(world.keeper().ring.allSlots.count == KeySlots.mostSlots)
    }

    @Test func `a key file without a slot goes only with keys that the store's record was sealed with`() throws {
        let keeper = world.keeper()
        let seal = try KeyWorld.seal(keeper.ring)
        let stranger = try KeyWorld.seal(KeyWorld().keeper().ring)
        KeyWorld.perform(.addSlot(.passphrase, label: []), "words", on: keeper)
        KeyWorld.perform(.removeSlot(1), on: keeper)
        let key = Randomness.bytes(32)
        KeyWorld.write(key, world.rootKeyPath)
        for seal in [StoreSeal(), stranger] {
            let other = world.keeper(seal)
            #expect(KeyWorld.perform(.unlock, "words", on: other).fault == nil)
            #expect(KeyWorld.perform(.addSlot(.keyFile, label: []), on: other).fault == .keyFileExists)
            #expect(KeyWorld.perform(.addSlot(.passphrase, label: []), "more", on: other).fault == nil)
            #expect(KeyWorld.perform(.removeSlot(other.ring.allSlots.last!.id), on: other).fault == nil)
            #expect(KeyWorld.contents(world.rootKeyPath) == key)
        }
        let right = world.keeper(seal)
        #expect(KeyWorld.perform(.unlock, "wrong", on: right).fault == .wrongKey)
        #expect(KeyWorld.perform(.unlock, on: right).fault == .sealed)
        #expect(KeyWorld.contents(world.rootKeyPath) == key)
        #expect(KeyWorld.perform(.unlock, "words", on: right).fault == nil)
        #expect(!FileSystem.exists(world.rootKeyPath))
        #expect(KeyWorld.perform(.addSlot(.keyFile, label: []), on: right).fault == nil)
        #expect(world.keeper(seal).ring.state == .unlocked)
    }

    @Test func `slots that the store's record was not sealed with are told, and change nothing`() throws {
        let keeper = world.keeper()
        let (before, slots) = (try KeyWorld.seal(keeper.ring), KeyWorld.contents(world.slotsPath))
        let key = KeyWorld.contents(world.rootKeyPath)
        #expect(KeyWorld.perform(.rotate, on: keeper).fault == nil)
        let after = try KeyWorld.seal(keeper.ring)
        // As long as the old root key is there, both are.
        #expect(world.keeper(before).ring.state == .unlocked && world.keeper(after).ring.state == .unlocked)
        #expect(KeyWorld.perform(.retire(epoch: 1), on: keeper).fault == nil)
        #expect(world.keeper(before).ring.state == .unusable(.damaged(StoreSeal.newer)))
        #expect(world.keeper(after).ring.state == .unlocked)
        KeyWorld.write(slots, world.slotsPath)
        KeyWorld.write(key, world.rootKeyPath)
        let older = world.keeper(after)
        #expect(older.ring.state == .unusable(.damaged(StoreSeal.older)))
        for task in [KeyJob.Task.unlock, .addSlot(.keyFile, label: []), .removeSlot(1), .changePassphrase, .rotate] {
            #expect(KeyWorld.perform(task, "x", new: "y", on: older).fault == .damaged(StoreSeal.older))
        }
        #expect(KeyWorld.contents(world.slotsPath) == slots && KeyWorld.contents(world.rootKeyPath) == key)
        #expect(world.keeper(before).ring.state == .unlocked)
    }

    // MARK: Sources

    @Test func `what is configured is used instead of a key file`() throws {
        var world = world
        let (credential, container) = (world.directory.path + "/kura.key", world.directory.path + "/secret")
        KeyWorld.write(Randomness.bytes(32), credential, mode: 0o400)
        KeyWorld.write(Randomness.bytes(32), world.directory.path + "/target", mode: 0o444)
        symlink("target", container)
        world.sources.credentialFile = credential
        world.sources.keyFile = container
        let keeper = world.keeper()
        #expect(keeper.ring.allSlots.map(\.kind) == [.credential, .container])
        #expect(!FileSystem.exists(world.rootKeyPath))
        // Each by itself.
        for (credentialFile, keyFile) in [(credential, nil), (nil, container)] as [(String?, String?)] {
            world.sources.credentialFile = credentialFile
            world.sources.keyFile = keyFile
            #expect(world.keeper().ring.print() == keeper.ring.print())
        }
        world.sources.keyFile = nil
        #expect(world.keeper().ring.state == .sealed)
        // One that others could have written is not believed.
        chmod(credential, 0o622)
        world.sources.credentialFile = credential
        #expect(world.keeper().ring.state == .sealed)
    }

    @Test func `a first start whose configured key cannot be read makes none in its place`() throws {
        var world = world
        world.sources.keyFile = world.directory.path + "/secret"
        let keeper = world.keeper()
        guard case .unusable(.noSuchSource) = keeper.ring.state else {
            Issue.record("\(keeper.ring.state)")
            return
        }
        #expect(!FileSystem.exists(world.rootKeyPath) && !FileSystem.exists(world.slotsPath))
        KeyWorld.write(Randomness.bytes(32), world.directory.path + "/secret")
        #expect(KeyWorld.perform(.unlock, on: keeper).fault == nil)
        #expect(keeper.ring.state == .unlocked && keeper.ring.allSlots.map(\.kind) == [.container])
    }

    /// A pipe that gives these bytes and ends.
    private func pipe(_ bytes: [UInt8]) throws -> Int32 {
        var ends: [Int32] = [-1, -1]
        try #require(Glibc.pipe(&ends) == 0)
        _ = bytes.withBytes { Glibc.write(ends[1], $0.baseAddress, $0.count) }
        close(ends[1])
        return ends[0]
    }

    @Test func `a descriptor's key is read once, and gone when the secrets are locked`() throws {
        var world = world
        let key = Randomness.bytes(32)
        try world.sources.readKey(from: try pipe(key))
        let keeper = world.keeper()
        #expect(keeper.ring.allSlots.map(\.kind) == [.descriptor] && keeper.ring.state == .unlocked)
        KeyWorld.perform(.addSlot(.passphrase, label: []), "words", on: keeper)
        keeper.lock()
        guard case .noSuchSource = KeyWorld.perform(.unlock, on: keeper).fault else {
            Issue.record("opened without a key")
            return
        }
        #expect(KeyWorld.perform(.unlock, "words", on: keeper).fault == nil)
        try world.sources.readKey(from: try pipe(key))
        #expect(world.keeper().ring.print() == keeper.ring.print())
        for wrong in [Array(key.dropLast()), key + [1], []] {
            #expect(throws: StorageFault.self) { try world.sources.readKey(from: try pipe(wrong)) }
        }
        #expect(throws: StorageFault.self) { try world.sources.readKey(from: 4000) }
    }

    // MARK: Memory

    @Test func `a passphrase for which there is no memory is refused before it is hashed`() throws {
        var world = world
        world.sources.memory = { (64 << 20, 20 << 20) }
        let keeper = world.keeper()
        #expect(
            KeyWorld.perform(.addSlot(.passphrase, label: []), "x", on: keeper).fault == .noRoom(bytes: 32 << 20))
        world.sources.memory = { (8 << 20, .max) }
        let small = world.keeper()
        #expect(KeyWorld.perform(.addSlot(.passphrase, label: []), "x", on: small).fault == .noRoom(bytes: 8 << 20))
        world.sources.memory = { (16 << 20, .max) }
        let enough = world.keeper()
        #expect(KeyWorld.perform(.addSlot(.passphrase, label: []), "x", on: enough).slot?.cost?.memoryBytes == 8 << 20)
    }

    @Test func `so many may wait for their passphrases, and no more`() throws {
        let keeper = world.keeper()
        KeyWorld.perform(.addSlot(.passphrase, label: []), "x", on: keeper)
        let jobs = (0..<KeyKeeper.mostWaiting).map { _ in KeyJob(.unlock, passphrase: Bytes("wrong")) }
        for job in jobs { try keeper.submit(job, ticket: 1) }
        #expect(throws: KeysFault.busy) { try keeper.submit(KeyJob(.unlock, passphrase: Bytes("x")), ticket: 2) }
        for job in jobs {
            KeyWorld.wait(for: job, keeper)
            #expect(job.fault == .wrongKey)
        }
        #expect(KeyWorld.perform(.unlock, "x", on: keeper).fault == nil)
        keeper.stop()
    }

    // MARK: Rotating

    @Test func `a rotation gives a new root key to every slot, and keeps the old one until it is retired`() throws {
        let keeper = world.keeper()
        let (wrap, names) = (try keeper.ring.key(.wrap).array, try keeper.ring.key(.names).array)
        KeyWorld.perform(.addSlot(.passphrase, label: []), "words", on: keeper)
        let generation = keeper.ring.generation
        #expect(KeyWorld.perform(.rotate, "words", on: keeper).fault == nil)
        #expect(keeper.ring.epoch == 2 && keeper.ring.epochs == [1, 2] && keeper.ring.generation > generation)
        #expect(try keeper.ring.key(.wrap).array != wrap)
        #expect(try keeper.ring.key(.wrap, epoch: 1).array == wrap)
        #expect(try keeper.ring.key(.names).array == names)
        #expect(KeyWorld.perform(.rotate, "words", on: keeper).fault == nil)
        let keys = keeper.ring.print()
        let other = world.keeper()
        #expect(other.ring.epochs == [1, 2, 3] && other.ring.print() == keys)
        other.lock()
        #expect(KeyWorld.perform(.unlock, "words", on: other).fault == nil)
        #expect(try other.ring.key(.wrap, epoch: 1).array == wrap)
        #expect(KeyWorld.perform(.retire(epoch: 1), on: other).fault == nil)
        #expect(other.ring.epochs == [2, 3] && other.ring.retiredEpochs == [2])
        #expect(throws: KeysFault.noSuchEpoch) { try other.ring.key(.wrap, epoch: 1) }
        #expect(KeyWorld.perform(.retire(epoch: 1), on: other).fault == .noSuchEpoch)
        #expect(world.keeper().ring.epochs == [2, 3])
        #expect(world.keeper().ring.print() == keys)
    }

    @Test func `a rotation that would leave a slot behind is refused by the slot's number`() throws {
        let keeper = world.keeper()
        KeyWorld.perform(.addSlot(.passphrase, label: []), "one", on: keeper)
        KeyWorld.perform(.addSlot(.passphrase, label: []), "two", on: keeper)
        let text = KeyWorld.contents(world.slotsPath)
        #expect(KeyWorld.perform(.rotate, on: keeper).fault == .keysNeeded([2, 3]))
        #expect(KeyWorld.perform(.rotate, "one", on: keeper).fault == .keysNeeded([3]))
        unlink(world.rootKeyPath)
        #expect(KeyWorld.perform(.rotate, "two", on: keeper).fault == .keysNeeded([1, 2]))
        #expect(KeyWorld.contents(world.slotsPath) == text && keeper.ring.epoch == 1)
        keeper.lock()
        #expect(KeyWorld.perform(.rotate, "one", on: keeper).fault == .sealed)
    }

    @Test func `another file in the place of the slots is not written over`() throws {
        let keeper = world.keeper()
        let stranger = KeyWorld()
        _ = stranger.keeper()
        let text = KeyWorld.contents(stranger.slotsPath)
        KeyWorld.write(text, world.slotsPath)
        #expect(
            KeyWorld.perform(.addSlot(.passphrase, label: []), "x", on: keeper).fault
                == .damaged("it is not what this daemon wrote"))
        #expect(KeyWorld.contents(world.slotsPath) == text)
    }

    @Test func `what does not open when it is read back takes nothing's place`() throws {
        _ = world.keeper()
        let files = KeyFiles(.tiny(world.directory.path))
        let before = KeyWorld.contents(world.slotsPath)
        var seen: [UInt8] = []
        #expect(throws: KeysFault.damaged("no")) {
            try files.replaceSlots([1, 2, 3]) { (text) throws(KeysFault) in
                seen = text
                throw .damaged("no")
            }
        }
        #expect(seen == [1, 2, 3])
        #expect(KeyWorld.contents(world.slotsPath) == before)
        #expect(try FileSystem.names(in: world.keysPath).sorted() == ["host.key", "root.key", "slots.json"])
        #expect(world.keeper().ring.state == .unlocked)
    }
}
