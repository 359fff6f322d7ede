"""Web servers and workers as real processes on one machine, one of which is killed: is anything lost?"""
