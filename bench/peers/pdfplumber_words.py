"""Read the words of PDFs with pdfplumber, in an environment of its own, and print pages and seconds."""

import sys
import time

import pdfplumber


def main() -> None:
    paths = sys.stdin.read().splitlines()
    started = time.perf_counter()
    pages = 0
    for path in paths:
        with pdfplumber.open(path) as document:
            for page in document.pages:
                page.extract_words()
                page.close()
                pages += 1
    print(pages, time.perf_counter() - started)


if __name__ == "__main__":
    main()
