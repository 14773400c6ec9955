import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdtempSync, openSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { readOneYaml } from '../../../api/yaml/read.ts'
import { builtProgram } from '../../../test/runner/program.ts'
import { ReportedError } from '../../document/reported-error.ts'
import { complain } from './boundary.ts'

let joiner = ''
let folder = ''

// Each test starts the program, some of them several times.
vi.setConfig({ testTimeout: 30_000 })

beforeAll(async () => {
  joiner = await builtProgram()
  folder = mkdtempSync(join(tmpdir(), 'joiner-boundary-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

interface Outcome {
  readonly code: number | string
  readonly out: string
  readonly err: string
}

function run(words: readonly string[], input?: string | Buffer): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [joiner, ...words], (error, out, err) =>
      resolve({ code: error === null ? 0 : (error.code ?? ''), out, err }),
    )
    child.stdin?.on('error', () => {}).end(input)
  })
}

function ended(child: ChildProcess): Promise<{ readonly code: number | null; readonly signal: string | null }> {
  return new Promise((resolve) => child.on('close', (code, signal) => resolve({ code, signal })))
}

function file(name: string, content: string | Uint8Array): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

const pool = `apiVersion: karpenter.sh/v1
kind: NodePool
metadata: { name: general }
spec:
  template:
    spec:
      requirements: []
      nodeClassRef: { group: karpenter.azure.com, kind: AKSNodeClass, name: default }
`

describe('whatever is given in place of a file, a command says what is wrong in a line and ends with its code', () => {
  const commands: readonly (readonly [string, readonly string[], number, number])[] = [
    // For a file that cannot be read, and for one that is nonsense.
    ['validate', ['validate'], 2, 1],
    ['convert', ['convert'], 2, 1],
    ['simulate', ['simulate'], 1, 1],
    ['simulate --catalog', ['simulate', '--catalog'], 1, 1],
    ['simulate --scheduler-config', ['simulate', '--scheduler-config'], 1, 1],
    ['instance-types', ['instance-types', '--catalog'], 1, 1],
    ['instance-types --node-class', ['instance-types', '--catalog', '/dev/null', '--node-class'], 1, 1],
    ['apply', ['apply'], 1, 1],
  ]

  test.each(commands)('joiner %s', async (_, words, unreadable, nonsense) => {
    const large = file('large.yaml', '')
    truncateSync(large, 3 * 1024 ** 3)
    const files: readonly (readonly [string, number, RegExp])[] = [
      [join(folder, 'missing\u001b[31m.yaml'), unreadable, /missing\\u001b\[31m.*there is no such file \(ENOENT\)/],
      [large, unreadable, /larger than the 500 MiB/],
      [file('binary.yaml', Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0xff, 0xfe, 0x00])), nonsense, /is not UTF-8 text/],
      [file('utf16.yaml', Buffer.from('\ufeffa: 1', 'utf16le')), nonsense, /is UTF-16 text; save it as UTF-8/],
      [file('empty.yaml', ''), nonsense, /holds|nothing to simulate|end of JSON/],
      [file('deep.yaml', '['.repeat(90_000)), nonsense, /nested more than 200 levels|is not JSON|not JSON/],
    ]
    const outcomes = await Promise.all(files.map(([path]) => run([...words, path])))
    for (const [at, [path, code, message]] of files.entries()) {
      const outcome = outcomes[at]
      const said = `${outcome?.err}${words[0] === 'validate' ? outcome?.out : ''}`
      expect({ path, code: outcome?.code, said }).toMatchObject({ path, code, said: expect.stringMatching(message) })
      expect(said).not.toMatch(/^\s+at /m)
      expect(said.trimEnd().split('\n')).toHaveLength(1)
    }
  })

  test('a directory is none of these, except to simulate and validate', async () => {
    const below = { code: 2, out: expect.stringMatching(/^\S+utf16\.yaml: is UTF-16 text/m) }
    expect(await run(['validate', folder])).toMatchObject(below)
    expect(await run(['convert', folder])).toMatchObject({ code: 2, err: expect.stringMatching(/is a directory/) })
    expect(await run(['apply', folder])).toMatchObject({ code: 1, err: expect.stringMatching(/is a directory/) })
  })

  test('standard input may be closed, empty or asked for twice', async () => {
    const child = spawn(process.execPath, [joiner, 'validate', '-'], { stdio: 'ignore' })
    expect(await ended(child)).toEqual({ code: 1, signal: null })
    expect(await run(['validate', '-'], '')).toMatchObject({ code: 1, out: expect.stringMatching(/holds no manifest/) })
    expect(await run(['validate', '-', '-'], pool)).toMatchObject({ code: 0, out: '-: valid\n-: valid\n' })
  })
})

describe('the process', () => {
  test('ends quietly when nobody reads on', async () => {
    // What it prints is more than a pipe holds.
    const path = file(
      'many.yaml',
      Array.from({ length: 4000 }, () => '---\nkind: ConfigMap\nmetadata: {name: a}\n').join(''),
    )
    const child = spawn(process.execPath, [joiner, 'convert', path], { stdio: ['ignore', 'pipe', 'pipe'] })
    let err = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (err += text))
    child.stdout?.once('data', () => child.stdout?.destroy())
    expect([await ended(child), err]).toEqual([{ code: 0, signal: null }, ''])
  })

  test('says so when its output finds no room', async ({ skip }) => {
    skip(process.platform !== 'linux', 'only Linux has /dev/full')
    const child = spawn(process.execPath, [joiner, 'version'], {
      stdio: ['ignore', openSync('/dev/full', 'w'), 'pipe'],
    })
    let err = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (err += text))
    expect([await ended(child), err]).toEqual([
      { code: 1, signal: null },
      'joiner version: ENOSPC: no space left on device, write\n',
    ])
  })

  test('ends at Ctrl-C, also while it waits for input and while it computes', async () => {
    const waiting = spawn(process.execPath, [joiner, 'simulate'])
    const computing = spawn(process.execPath, [joiner, 'simulate', '--rounds', '1000000', '--time'])
    computing.stdin?.end(JSON.stringify({ objects: [] }))
    // Its first round is over.
    await new Promise((resolve) => computing.stderr?.once('data', resolve))
    for (const child of [waiting, computing]) {
      const end = ended(child)
      child.kill('SIGINT')
      const { code, signal } = await end
      // A shell reports the signal as 130.
      expect(signal ?? code).toBe(signal === null ? 130 : 'SIGINT')
    }
  })

  test('prints no control character, whoever wrote it where', async () => {
    const name = '\u001b[31mred\u001b[0m\u202e\nx'
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: '\u0007' }, spec: { containers: [] } }
    const odd = file(
      'odd.json',
      JSON.stringify({
        objects: [{ ...pod, spec: { [name]: 1, containers: [{ name, resources: { requests: { cpu: '999' } } }] } }],
        instanceTypes: [{ name }],
      }),
    )
    const claim = { apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', metadata: { name }, spec: { [name]: name } }
    const manifest = file('odd.yaml', JSON.stringify(claim))
    const outcomes = [
      await run(['simulate', odd]),
      await run(['simulate', odd, '--output', 'json']),
      await run(['validate', manifest]),
      await run(['validate', manifest, '--output', 'json']),
      await run(['convert', manifest]),
      await run(['simulate', odd, '--explain', name]),
      await run([name]),
      await run(['apply', name]),
    ]
    for (const { out, err } of outcomes) expect(out + err).toMatch(/^[\n\x20-\x7e]*$/)
    expect(outcomes[0]?.out).toContain('\\u0007/\\u001b[31mred\\u001b[0m\\u202e\\nx')
    expect(JSON.parse(outcomes[1]?.out ?? '')).toMatchObject({ errors: { [`\u0007/${name}`]: expect.any(String) } })
    for (const line of outcomes[2]?.out.trimEnd().split('\n') ?? []) expect(line).toMatch(/odd\.yaml:1: .*NodeClaim "/)
  })

  test('prints YAML in braces with escapes so that it is not taken for JSON', async () => {
    const data = { hidden: '\u{e0041}', long: 'x'.repeat(120_000) }
    const { code, out } = await run([
      'convert',
      file('braces.yaml', `---\n${JSON.stringify({ kind: 'Secret', data })}`),
    ])
    expect(code).toBe(0)
    expect(readOneYaml(out)).toEqual({ kind: 'value', value: { kind: 'Secret', data } })
    expect(out).toContain('\\U000e0041')
  })
})

describe('complain', () => {
  const said = vi.spyOn(console, 'error').mockImplementation(() => {})
  const reported = (error: unknown) => {
    said.mockClear()
    return { code: complain('validate', error), lines: said.mock.calls.map(([text]) => text as unknown) }
  }

  test('says what it was reported, what the system refuses, and what is a bug', () => {
    expect(reported(new ReportedError('x.yaml: is odd; fix it'))).toEqual({
      code: 1,
      lines: ['x.yaml: is odd; fix it'],
    })
    const refused = Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE', syscall: 'open' })
    expect(reported(refused)).toEqual({ code: 1, lines: ['joiner validate: EMFILE: too many open files'] })
    expect(reported(new TypeError('a\u001b\nis not a function'))).toEqual({
      code: 70,
      lines: [
        'joiner validate: this is a bug of Joiner: a\\u001b\\nis not a function; run it again with JOINER_DEBUG=1 for its trace, and please report it',
      ],
    })
    expect(reported(undefined)).toMatchObject({ code: 70 })
  })

  test('prints the trace where it is asked for', () => {
    vi.stubEnv('JOINER_DEBUG', '1')
    const error = new TypeError('odd')
    expect(reported(error).lines[0]).toBe(error)
    vi.unstubAllEnvs()
  })
})
