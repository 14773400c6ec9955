import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { filesOf } from './input.ts'

const folder = mkdtempSync(join(tmpdir(), 'joiner-input-'))
afterAll(() => rmSync(folder, { recursive: true }))

test('manifests of a directory are there once, whatever links lead to them or back', () => {
  const at = (...names: readonly string[]) => join(folder, 'all', ...names)
  mkdirSync(at('pools'), { recursive: true })
  mkdirSync(join(folder, 'elsewhere'))
  for (const name of ['a.yaml', 'pools/b.json', 'pools/notes.txt', '../elsewhere/c.yml']) writeFileSync(at(name), '')
  symlinkSync('..', at('pools', 'back'))
  symlinkSync(at('a.yaml'), at('0.yaml'))
  symlinkSync(join(folder, 'elsewhere'), at('linked'))
  symlinkSync('nowhere', at('gone.yaml'))
  expect(filesOf(at())).toEqual([at('a.yaml'), at('gone.yaml'), at('linked', 'c.yml'), at('pools', 'b.json')])
})
