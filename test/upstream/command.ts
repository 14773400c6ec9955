// A part of npm run generate: writes docs/upstream-tests.md, and the line of README.md about Karpenter's own suites. With `--check` it only compares.
import { problemsOfPages, writePages } from './files.ts'

if (!process.argv.includes('--check')) writePages()
else
  for (const problem of problemsOfPages()) {
    console.error(problem)
    process.exitCode = 1
  }
