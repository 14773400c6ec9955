import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const bench = fileURLToPath(new URL('../run.ts', import.meta.url))

// A difference is a decision: `npm run bench -- guard` shows it, `-- guard --write` keeps it, and the commit says why.
test('a start, a life and an idle hour cost what the repository says, no more and no less', async () => {
  // In a process of its own: of the collections that are held, those that other suites have left would be counted with it.
  const guard = promisify(execFile)(process.execPath, [bench, 'guard'])
  const { stdout } = await guard.catch((error: { readonly stdout: string }) => error)
  expect(stdout).toContain('All are as the repository has them.')
}, 300_000)
