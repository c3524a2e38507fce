"""Scenes of a role with a bound."""

from scenes.parts import connect, line, pauses, send


def put(generator, number):
    return line(generator, "settings.put", domain="bounded", key=f"k{number}", value=number)


def audited_turn(dice, generator):
    """In a turn in which the audit writes something, no more is stored than at any other time."""
    last = [put(generator, number) for number in range(1, 6)]
    last.insert(dice.choice([0, 0, 1]), line(generator, "secrets.lock"))
    return [connect("bounded", "bounded"), send([put(generator, 0)], "bounded"), *pauses(100, 100), send(last, "bounded"), *pauses(100, 100, 100),
            send([line(generator, "secrets.unlock")])]
