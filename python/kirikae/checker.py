"""A process that checks an algorithm from outside, which may end it: told on its standard input, for
`kirikae.algorithm`.
"""

import pickle
import sys

from ._kirikae import Error, check_algorithm


def main() -> None:
    try:
        check_algorithm(*pickle.load(sys.stdin.buffer))
    except Error as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
