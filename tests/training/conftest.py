import random
import re

import numpy as np
import pytest

from docmill.model.document import Document, Page, Words
from docmill.training.receipts import LabelledReceipt

FIRST = ("BINTANG", "MAJU", "SINAR", "CAHAYA", "MUTIARA", "DELIMA", "PERMATA", "SETIA", "WARISAN", "MEKAR")
SECOND = ("TRADING", "ENTERPRISE", "HARDWARE SDN BHD", "MART SDN BHD", "CAFE", "BAKERY SDN BHD")
STREETS = ("MAWAR", "MELATI", "KENANGA", "ANGGERIK", "CEMPAKA", "TERATAI", "RAYA", "DAMAI")
TOWNS = ("81100 JOHOR BAHRU", "47500 SUBANG JAYA", "50000 KUALA LUMPUR", "43300 SERI KEMBANGAN")


def _page(text: str) -> Page:
    rows = text.split("\n")
    words = [(match, row) for row, line in enumerate(rows) for match in re.finditer(r"\S+", line)]
    filled = sorted({row for _, row in words})
    boxes = [(m.start() / 44, row / len(rows), m.end() / 44, (row + 0.8) / len(rows)) for m, row in words]
    count = len(words)
    return Page(
        number=1,
        width_pt=300,
        height_pt=800,
        words=Words(
            [match[0] for match, _ in words],
            np.array(boxes, np.float32),
            np.full(count, 0.95, np.float32),
            np.array([filled.index(row) for _, row in words], np.int32),
            np.zeros(count, np.int32),
        ),
        source="ocr",
        quality=0.9,
    )


def _example(number: int) -> LabelledReceipt:
    draw = random.Random(number)  # noqa: S311 - made-up receipts
    name = f"{draw.choice(FIRST)} {draw.choice(FIRST)} {draw.choice(SECOND)}"
    street = f"NO {draw.randint(1, 99)}, JALAN {draw.choice(STREETS)} {draw.randint(1, 9)},"
    town = f"{draw.choice(TOWNS)}, MALAYSIA"
    items = [draw.randint(100, 3000) / 100 for _ in range(draw.randint(1, 4))]
    total = sum(items)
    paid = (int(total / 10) + 1) * 10
    day = f"{draw.randint(1, 28):02d}/{draw.randint(1, 12):02d}/2018"
    clock = f"10:{draw.randint(10, 59)}"
    lines = [
        f"      {name}",
        f"   {street}",
        f"   {town}",
        f"   TEL: 07-3{number:06d}",
        "        TAX INVOICE",
        f"BILL NO: CS{10_000 + 7 * number}",
        f"DATE: {day}  {clock}",
        *(f"ITEM {index}               {price:10.2f}" for index, price in enumerate(items)),
        f"TOTAL                {total:10.2f}",
        f"CASH                 {paid:10.2f}",
        f"CHANGE               {paid - total:10.2f}",
        "        THANK YOU",
    ]
    truth = {
        "seller.name": name,
        "seller.address": f"{street} {town}",
        "issue_date": day,
        "time": clock,
        "number": f"CS{10_000 + 7 * number}",
        "gross_total": f"{total:.2f}",
    }
    document = Document(f"{number:064d}", "image/png", [_page("\n".join(lines))])
    return LabelledReceipt(str(number), name, document, truth)


@pytest.fixture(scope="session")
def labelled() -> list[LabelledReceipt]:
    """Sixty made-up receipts with their labels."""
    return [_example(number) for number in range(60)]
