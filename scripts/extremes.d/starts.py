def run(*_):
    return 0


def again(*_):
    return 0
