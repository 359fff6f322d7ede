"""Sources: mailboxes, buckets, folders and programs from which documents arrive by themselves.

A kind of source (`kinds.Kind`) has its own settings and secrets, and a connection that tests it and, where
it is watched, takes what arrives. `watching` has each source watched by one worker; `item_intake` takes each
item once; `registry` names the kinds.
"""
