// Held to 15 s, so nothing runs beside it.
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const joiner = fileURLToPath(new URL('../../starter/joiner.ts', import.meta.url))

test('a local cluster is ready in under 15 s', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'joiner-local-'))
  const local = (...args: readonly string[]) =>
    promisify(execFile)(process.execPath, [joiner, 'local', ...args, '--state-dir', join(folder, 'state')])
  try {
    const startedAt = Date.now()
    await local('up', '--detach')
    expect(Date.now() - startedAt).toBeLessThan(15_000)
  } finally {
    await local('down')
    await rm(folder, { recursive: true, force: true })
  }
})
