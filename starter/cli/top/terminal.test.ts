import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { hasPseudoTerminals, onTerminal } from '../../../test/runner/pseudo-terminal.ts'

const source = (path: string) => JSON.stringify(new URL(path, import.meta.url).href)

/** A command that shows a view of no cluster. `fail` in its arguments: the second frame throws. */
const program = `
import { showLive } from ${source('./live.ts')}
import { noPaint } from ${source('./columns.ts')}
import { guardProcess } from ${source('../shared/boundary.ts')}
import { buildView } from ${source('../../../test/samples/sample-cluster.ts')}
guardProcess('top')
const [mode] = process.argv.slice(2)
const empty = buildView({ pods: [], nodes: [], claims: [], nodePools: [] }, 0)
let frames = 0
const view = () => {
  frames += 1
  if (mode === 'fail' && frames === 2) throw new Error('a frame that fails')
  if (mode === 'reject' && frames === 2) void Promise.reject(new Error('a promise that fails'))
  return { ...empty, damaged: ['frame of ' + process.stdout.columns + ' by ' + process.stdout.rows] }
}
const state = { sort: 'name', isReversed: false, filter: '', isTyping: false, offset: 0 }
const { stdin, stdout } = process
process.exitCode = await showLive({ view, onChange: () => () => {} }, { stdin, stdout, state, paint: noPaint, server: 'https://api', resources: ['cpu'] })
`

const taken = '\u001b[?1049h'
const given = '\u001b[?1049l'

let folder: string
const started: ReturnType<typeof onTerminal>[] = []

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'joiner-top-'))
  writeFileSync(join(folder, 'top.mjs'), program)
})
afterEach(() => {
  for (const terminal of started.splice(0)) terminal.kill()
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Runs the program on a terminal of 90 by 20. */
function running(mode = '') {
  const terminal = onTerminal([process.execPath, join(folder, 'top.mjs'), mode], { rows: 20, columns: 90 })
  started.push(terminal)
  return terminal
}

const afterwards = (output: string) => output.slice(output.lastIndexOf(given))

beforeEach(({ skip }) => skip(!hasPseudoTerminals, 'there is no command `script` of util-linux'))

describe('the terminal is as before', () => {
  test.each<[string, string, string, number]>([
    ['q', '', 'q', 0],
    ['Ctrl-C', '', '\u0003', 130],
    ['q after a filter', '', '/q\rq', 0],
  ])('after %s', async (_, mode, keys, code) => {
    const terminal = running(mode)
    await terminal.until('frame of 90 by 20')
    terminal.press(keys)
    const { code: ended, output } = await terminal.end()
    const after = afterwards(output)
    expect(ended).toBe(code)
    expect(output.split(taken)).toHaveLength(2)
    expect(output.split(given)).toHaveLength(2)
    expect(after).toMatch(/ icanon/)
    expect(after).toMatch(/ echo /)
    expect(output).toContain('\u001b[?25h')
  })

  test.each<[NodeJS.Signals, number]>([
    ['SIGTERM', 143],
    ['SIGHUP', 129],
    ['SIGINT', 130],
  ])('after %s', async (signal, code) => {
    const terminal = running()
    await terminal.until('frame of 90 by 20')
    terminal.signal(signal)
    const { code: ended, output } = await terminal.end()
    expect([ended, output.split(given).length]).toEqual([code, 2])
    expect(afterwards(output)).toMatch(/ icanon/)
  })

  test.each<[string, string]>([
    ['fail', 'a frame that fails'],
    ['reject', 'a promise that fails'],
  ])('when it ends by an error (%s), which is printed there', async (mode, message) => {
    const { code, output } = await running(mode).end()
    const after = afterwards(output)
    expect(code).toBe(70)
    expect(after).toContain(`joiner top: this is a bug of Joiner: ${message}`)
    expect(after).toMatch(/ icanon/)
  })
})

test('a terminal that changes its size is drawn again', async () => {
  const terminal = running()
  await terminal.until('frame of 90 by 20')
  terminal.resize(10, 40)
  await terminal.until('frame of 40 by 10')
  terminal.press('q')
  expect((await terminal.end()).code).toBe(0)
})
