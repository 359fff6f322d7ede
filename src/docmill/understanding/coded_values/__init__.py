"""Values that papers carry in codes: payment codes, fiscal codes and element strings of GS1."""
