package server_test

// A process with an agent step, an approval and a finish: the loop that most tests run.
const review = `---
name: review
description: An agent writes a report and a person approves it.
inputs:
  topic: string
  budget: {type: number, optional: true}
steps:
  - id: write
    agent: Write the report.
    output:
      title: string
      pages: {type: number, optional: true}
  - id: approve
    person: editor
    approve: Is the report good?
    on_reject: write
    due: 2d
  - id: done
    finish: published
---

# Review

Start it when a report is wanted.
`
