"""Assignment of the rows of a table to those of another, so that most cells agree."""

import numpy as np
from numpy.typing import NDArray


def best_pairs(worth: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Pairs of row and column, no two of a row or column, with the greatest sum (Kuhn and Munkres).

    Shortest augmenting paths over potentials, one row after the other: O(n^3).
    """
    if worth.shape[0] > worth.shape[1]:
        return [(row, column) for column, row in best_pairs(worth.T)]
    cost = worth.max(initial=0) - worth
    rows, columns = cost.shape
    row_potential, column_potential = np.zeros(rows + 1), np.zeros(columns + 1)
    owner = np.zeros(columns + 1, np.intp)  # of each column its row, from 1; 0 is none
    for row in range(1, rows + 1):
        owner[0], column = row, 0
        least, before = np.full(columns + 1, np.inf), np.zeros(columns + 1, np.intp)
        used = np.zeros(columns + 1, np.bool_)
        while owner[column]:
            used[column] = True
            reduced = cost[owner[column] - 1] - row_potential[owner[column]] - column_potential[1:]
            better = ~used[1:] & (reduced < least[1:])
            least[1:][better], before[1:][better] = reduced[better], column
            following = int(np.argmin(np.where(used, np.inf, least)[1:])) + 1
            step = least[following]
            np.add.at(row_potential, owner[used], step)
            column_potential[used] -= step
            least[~used] -= step
            column = following
        while column:
            owner[column] = owner[before[column]]
            column = int(before[column])
    return [(int(owner[column]) - 1, column - 1) for column in range(1, columns + 1) if owner[column]]
