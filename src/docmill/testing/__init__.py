"""Fakes of the ports, for tests of programs that use docmill."""
