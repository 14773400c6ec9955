import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { servers } from '../../deploy/local/server-versions.ts'
import { proofRows, type Skip, skipLine, skipsOf, unexpectedSkips } from './proofs.ts'

const date = '2026-11-26'
const skip: Skip = { part: 'keda', capability: 'Go 1.26 or newer', found: 'there is none on the PATH' }

test('lists what is proved, by whose software of which version, how much passed, and when', () => {
  const checked = [
    { part: 'rules', what: 'one', outcome: '', isOk: true },
    { part: 'rules', what: 'two', outcome: '', isOk: false },
    { part: 'boards', what: 'three', outcome: '', isOk: true },
  ] as const
  expect(proofRows(['rules', 'keda'], { checked, skips: [skip], date }).map((row) => row.slice(1))).toEqual([
    ['promtool', servers.promtool.version, '1 of 2', date],
    [
      'keda-operator',
      servers['keda-operator'].version,
      'skipped: needs Go 1.26 or newer, and there is none on the PATH',
      date,
    ],
  ])
})

test.each<[string, readonly Skip[], string, readonly string[]]>([
  ['nothing is skipped', [], '', []],
  ['a skip has its line', [skip], `# why\n\n${skipLine(skip)}\n`, []],
  ['a skip has no line', [skip], '# keda: Go 1.26 or newer\n', [skipLine(skip)]],
  ['it lacks another capability', [{ ...skip, capability: 'a kernel' }], `${skipLine(skip)}\n`, ['keda: a kernel']],
  ['another part is skipped as well', [skip, { ...skip, part: 'rules' }], skipLine(skip), ['rules: Go 1.26 or newer']],
])('%s', (_, skips, expected, unexpected) => {
  expect(unexpectedSkips(skips, expected)).toEqual(unexpected)
})

const say = () => {}
let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'joiner-ecosystem-'))
  vi.stubEnv('PATH', folder)
  vi.stubEnv('XDG_CACHE_HOME', folder)
})

afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true })
})

/** A program of that name on the PATH, which prints a text. */
const program = (name: string, text: string) =>
  writeFileSync(join(folder, name), `#!/bin/sh\necho '${text}'\n`, { mode: 0o755 })

test.each<[string, string | undefined, string]>([
  ['no Go', undefined, 'there is none on the PATH'],
  ['an old Go', 'go1.24.3', 'the one on the PATH is go1.24.3'],
])('a part is skipped on a machine with %s', async (_, version, found) => {
  if (version !== undefined) program('go', version)
  expect(await skipsOf(['keda'], say)).toEqual([{ part: 'keda', capability: 'Go 1.26 or newer', found }])
})

test('the Azure CLI is skipped on a machine without apt', async () => {
  expect(await skipsOf(['azure-cli'], say)).toEqual([
    {
      part: 'azure-cli',
      capability: "Debian's package azure-cli",
      found: expect.stringContaining('could not be downloaded by apt-get'),
    },
  ])
})

test('a binary on the PATH needs no Go', async () => {
  program('promtool', `promtool, version ${servers.promtool.version}`)
  expect(await skipsOf(['rules'], say)).toEqual([])
})
