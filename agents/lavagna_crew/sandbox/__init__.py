"""A sandbox: runs generated code and its tests where they can do little harm.

Three processes take part, so that nothing outlives a run. The tester's own (`suites`) starts a
warden, which sets the limits and in the end kills whatever the tests left behind; the warden
starts the examiner, which runs the tests and writes down what became of each.

It guards against accidents: endless loops, runaway memory, floods of output, stray processes,
secrets in the environment. It is no wall against an attacker, who can still read the files and
use the network that the user can.
"""
