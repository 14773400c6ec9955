import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readState, removeState } from './local-state.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'joiner-state-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const leave = (pid: number) => writeFileSync(join(folder, 'state.json'), JSON.stringify({ pid, processes: {} }))

test('a demo that runs is found until it removes its state, and is no local cluster', async () => {
  const demo = spawn(process.execPath, ['-e', 'console.log(1); setInterval(() => {}, 1000)', 'demo'])
  try {
    await once(demo.stdout, 'data')
    leave(demo.pid ?? 0)
    expect(readState(folder, 'demo')?.pid).toBe(demo.pid)
    expect(readState(folder)).toBeUndefined()
    removeState(folder)
    expect(readState(folder, 'demo')).toBeUndefined()
  } finally {
    demo.kill('SIGKILL')
  }
})

test('the state of a process that has ended counts for nothing', async () => {
  const demo = spawn(process.execPath, ['-e', '0', 'demo'])
  await once(demo, 'exit')
  leave(demo.pid ?? 0)
  expect(readState(folder, 'demo')).toBeUndefined()
})

test('half a file is no state', () => {
  writeFileSync(join(folder, 'state.json'), '{"pid": 1')
  expect(readState(folder)).toBeUndefined()
})
