from support.mailbox_sources import add_mailbox

__all__ = ["add_mailbox"]
