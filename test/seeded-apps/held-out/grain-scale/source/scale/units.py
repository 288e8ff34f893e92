KILOGRAMS = {"kg": 1.0, "t": 1000.0, "dt": 100.0, "lb": 0.45359237}


def to_kilograms(amount: float, unit: str) -> float:
    return amount * KILOGRAMS[unit]


def to_tons(kilograms: float) -> float:
    return kilograms / 1000.0
