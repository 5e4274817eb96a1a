"""A crew that builds a tested program over the board: the demonstration.

A CEO, a CTO, two programmers and a tester, each a process of its own. They know nothing of one
another but what is on the board, and what is on the board wakes them:

    key                      written by   holds
    request                  the launcher the task, in a person's words
    crew/{agent}             each agent   that it is up: its role, its model, its process
    goal                     the CEO      what is to be built, and how to tell that it is
    design                   the CTO      how it is built, and the names of its tasks
    tasks/{task}             the CTO      one task: its files, what it depends on, what to do
    code/{task}/{file}       a programmer a file of the program, as text
    submissions/{task}       a programmer which attempt at the task this is, and what is new in it
    tests/{task}/{file}      the tester   a test file, as text
    suites/{task}            the tester   which edition of the task's tests this is
    results/{task}           the tester   what came of an attempt under an edition
    objections/{task}        a programmer why the tests, and not the code, are wrong
    report                   the tester   what came of all tests on the whole program
    reviews/{task}           the CEO      what the CEO wants done better
    verdict                  the CEO      whether the program is accepted, and why
    usage/{agent}/{number}   each agent   the tokens that a reply took, and what it cost

Who is woken by what, as triggers:

    request                                              → CEO: set the goal
    goal                                                 → CTO: design, split into tasks
    a task                                               → tester: write its tests
    a task whose dependencies all pass                   → a programmer: write its code
    a submission and a suite without their result        → tester: run the tests
    a failed result of the newest attempt and edition    → a programmer: repair, or object
    an objection to the newest edition                   → tester: revise the tests
    all tasks pass, and no report says so                → tester: test the whole program
    a report without a verdict                           → CEO: accept it, or ask for better
    a review of the newest attempt                       → a programmer: do it better
    a task that failed too often                         → CEO: give up

The two programmers share their triggers as one team and race for each activation. Everything that
an activation writes is committed together with its completion, so a programmer that dies in the
middle of it has done nothing, and another does it.
"""
