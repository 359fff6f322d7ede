"""Files that systems and programs leave beside a person's."""

import re

_LITTER = re.compile(
    r"(?:^|/)(?:__MACOSX/|\.DS_Store$|\._[^/]*$|(?:eh)?Thumbs\.db$|desktop\.ini$|~\$[^/]*$|\.~lock\.[^/]*#$)",
    re.IGNORECASE,
)


def is_litter(name: str) -> bool:
    """Whether this is the name of what a system left, such as Office's `~$letter.docx`, and not a person."""
    return bool(_LITTER.search(name.replace("\\", "/")))
