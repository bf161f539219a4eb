"""Java's generator, against numbers that OpenJDK 17 printed."""

from __future__ import annotations

import pytest

from wevent.study.datasets.java_random import JavaRandom

GAUSSIANS = {
    1: [1.561581040188955, -0.6081826070068602, -1.0912278829447088, -0.6245401364066232, -1.1182832102556484],
    0: [0.8025330637390305, -0.9015460884175122, 2.080920790428163, 0.7637707684364894, 0.9845745328825128],
    42: [1.1419053154730547, 0.9194079489827879, -0.9498666368908959, -1.1069902863993377, 0.2809776380727795],
    -1: [1.7853314409882288, -0.9204169061847902, 0.4869392448030407, 0.4568888042977182, 1.6999200838250526],
    123456789012345: [0.3948014866578308, 0.849803306506526, 0.2998454259852852, 0.33995751944849634],
}


@pytest.mark.parametrize("seed", GAUSSIANS)
def test_gaussians_are_those_of_java(seed: int) -> None:
    """The first Gaussian numbers are those that Java draws, for negative and long seeds too."""
    random = JavaRandom(seed)
    assert [random.next_gaussian() for _ in GAUSSIANS[seed]] == pytest.approx(GAUSSIANS[seed], rel=1e-15)


def test_doubles_are_those_of_java() -> None:
    """`new Random(42).nextDouble()` is exactly what Java prints."""
    random = JavaRandom(42)
    assert [random.next_double() for _ in range(3)] == [0.7275636800328681, 0.6832234717598454, 0.30871945533265976]


def test_a_long_run_stays_with_java() -> None:
    """The sum of a hundred thousand Gaussian numbers is the one that Java prints."""
    random = JavaRandom(1)
    assert sum(random.next_gaussian() for _ in range(100_000)) == pytest.approx(289.9738279096299, rel=1e-10)
