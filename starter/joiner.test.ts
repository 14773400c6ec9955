import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Command } from 'commander'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { builtProgram } from '../test/runner/program.ts'
import { registerCommands } from './cli/commands.ts'
import { movedCommands, movedOptions } from './cli/moved.ts'

const run = promisify(execFile)
let command: string
let folder: string
let help: string

beforeAll(async () => {
  command = await builtProgram()
  folder = mkdtempSync(join(tmpdir(), 'joiner-names-'))
  for (const name of ['kubectl-joiner', 'kubectl_complete-joiner']) symlinkSync(command, join(folder, name))
  help = await called('joiner', '--help')
})
afterAll(() => rmSync(folder, { recursive: true }))

const program = new Command()
await registerCommands(program)
const below = (command: Command, path: string): readonly { readonly path: string; readonly command: Command }[] =>
  command.commands.flatMap((one) => {
    const at = `${path} ${one.name()}`.trim()
    return [{ path: at, command: one }, ...below(one, at)]
  })
const commands = below(program, '')

/** Each row of the tables, at the first command that it is about. */
const oldSpellings = [
  ...movedCommands,
  ...movedOptions.map(({ of, old, now }) => {
    const path = commands.find((one) => of.test(one.path))?.path ?? 'none'
    return [`${path} ${old} x`, `${path} ${now} x`] as const
  }),
]

/** Commands that by themselves change neither the cluster nor Azure: the page of `ui` asks before it does. */
const reading = [
  'convert',
  'instance-types',
  'simulate',
  'validate',
  'status',
  'top',
  'ui',
  'node list',
  'node show',
  'history node',
  'history nodepool',
  'history workload',
  'history report',
  'why any',
  'why node',
  'why nodepool',
  'why pod',
  'cost',
  'budgets',
  'blocked quota',
  'blocked capacity list',
  'blocked objects list',
  'advise',
  'plan',
  'doctor',
  'admin aks values',
]

const called = async (name: string, ...args: readonly string[]) =>
  (await run(process.execPath, [name === 'joiner' ? command : join(folder, name), ...args])).stdout

/** The files of the bundle that a start reads. */
async function loadedBy(
  args: readonly string[],
): Promise<readonly { readonly name: string; readonly bytes: number }[]> {
  const hook = `import { registerHooks } from 'node:module'
    const loaded = []
    registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
    process.on('exit', () => process.stderr.write('\\nloaded ' + JSON.stringify(loaded) + '\\n'))`
  const stderr = await new Promise<string>((resolve) => {
    const child = execFile(
      process.execPath,
      ['--import', `data:text/javascript,${encodeURIComponent(hook)}`, command, ...args],
      (_, __, said) => resolve(said),
    )
    child.stdin?.end()
  })
  const [, urls = '[]'] = /^loaded (.*)$/m.exec(stderr) ?? []
  return (JSON.parse(urls) as readonly string[])
    .filter((url) => url.startsWith('file:'))
    .map((url) => ({ name: basename(url), bytes: statSync(fileURLToPath(url)).size }))
}

describe('the command line', () => {
  it('names itself as it was called', async () => {
    expect(help).toMatch(/^Usage: joiner /)
    expect(await called('kubectl-joiner', '--help')).toMatch(/^Usage: kubectl joiner /)
  })

  it('groups its commands by what a person wants', () => {
    const groups = [...help.matchAll(/^([A-Z][a-z ]*):$/gm)].map(([, group]) => group)
    expect(groups).toEqual([
      'Options',
      'Without a cluster',
      'See and explain',
      'Disruption and pauses',
      'Install and repair',
      'Processes and development',
      'Other',
      'Commands',
    ])
  })

  // What is loaded is what a start costs: 1 MB of code takes some 50 ms (npm run bench -- command-line).
  it.each([
    [200, ['--version']],
    [200, ['--help']],
    [200, ['complete', '--', 'st']],
    [200, ['complete', '--', 'status', '--output', '']],
    [200, ['--context', 'a', 'status', '--help']],
    [500, ['convert', '-']],
    [1500, ['validate', '-']],
    [1200, ['simulate', '-']],
    [4500, ['status', '--kubeconfig', '/nowhere']],
  ])('loads at most %d KB for %j', async (mostKb, args) => {
    const loaded = await loadedBy(args)
    expect(loaded.some(({ name }) => name.startsWith('commander-'))).toBe(true)
    expect(loaded.reduce((kb, { bytes }) => kb + bytes / 1000, 0)).toBeLessThan(mostKb)
  })

  it('has the options of a command first, those of most commands last and by name', async () => {
    const text = await called('joiner', 'node', 'hold', '--help')
    const at = ['Usage:', '--until', 'Examples:', 'Exit code:', '--kubeconfig'].map((word) => text.indexOf(word))
    expect(at).toEqual(at.toSorted((one, other) => one - other))
    expect(text).not.toContain('user to impersonate')
    expect(await called('joiner', 'options')).toContain('user to impersonate')
    expect(await called('joiner', 'help', 'why', 'pod')).toContain('Usage: joiner why pod')
  })

  it('answers a mistake with the help of the command that it was made in', async () => {
    await expect(called('joiner', 'why', 'pod', '--namspace', 'a')).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/Did you mean --namespace\?\)\n\(see joiner why pod --help\)/) as string,
    })
  })

  it.each(oldSpellings)('ends the old spelling %s with 64 and the line to type', async (old, now) => {
    await expect(called('joiner', ...old.split(' '))).rejects.toMatchObject({
      code: 64,
      stderr: `joiner: this is an old spelling; write: joiner ${now}\n`,
    })
  })

  it.each(['bash', 'zsh', 'fish'])('prints a completion script for %s that asks it', async (shell) => {
    const script = await called('joiner', 'completion', shell)
    expect(script).toContain(`${shell} completion for joiner`)
    expect(script).toContain('complete --')
  })

  it('completes commands, options and their values, also for kubectl', async () => {
    const lines = async (name: string, ...words: readonly string[]) =>
      (await called(name, ...words)).split('\n').map((line) => line.split('\t')[0])
    expect(await lines('joiner', 'complete', '--', 'blocked', '')).toEqual(
      expect.arrayContaining(['quota', 'capacity', 'objects']),
    )
    expect(await lines('joiner', 'complete', '--', 'status', '--output', '')).toEqual(
      expect.arrayContaining(['table', 'wide', 'json', 'yaml']),
    )
    expect(await lines('kubectl_complete-joiner', 'node', 'ho')).toContain('hold')
  })

  it('has a dry run of each command that changes something', () => {
    const without = commands.filter(
      ({ command }) => command.commands.length === 0 && command.options.every(({ long }) => long !== '--dry-run'),
    )
    expect(without.map(({ path }) => path)).toEqual(reading)
  })

  it('has no two spellings of an option that means the same', () => {
    const options = commands.flatMap(({ command }) => command.options.map((option) => ({ of: command.name(), option })))
    expect(options.length).toBeGreaterThan(100)
    const spellings = new Map<string, Set<string>>()
    for (const { option } of options) {
      // Most commands print tables, and report prints documents.
      const isFormat = ['wide', 'markdown'].some((format) => option.argChoices?.includes(format))
      const said = `${option.flags}: ${isFormat ? 'formats' : ''}`
      spellings.set(option.long ?? '', (spellings.get(option.long ?? '') ?? new Set()).add(said))
    }
    // What a duration, a reason or a format is written like does not depend on the command.
    for (const long of ['--output', '--reason', '--disruption-reason', '--until', '--catalog', '--kubeconfig'])
      expect([...(spellings.get(long) ?? [])], long).toHaveLength(1)
    for (const gone of ['--why', '--for', '--catalogue', '--cluster', '--out', '--save'])
      expect(spellings.has(gone), gone).toBe(false)
  })
})
