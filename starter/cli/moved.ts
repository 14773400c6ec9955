import type { Command } from 'commander'
import type { Typed } from './arguments.ts'
import { commandOf } from './commands.ts'

/** Commands that go by another name now: the old words, and those in their place. */
export const movedCommands: readonly (readonly [old: string, now: string])[] = [
  ['quota', 'blocked quota'],
  ['capacity', 'blocked capacity'],
  ['quarantine', 'blocked objects'],
  ['report', 'history report'],
  ['adopt', 'admin adopt'],
  ['aks', 'admin aks'],
  ['crds', 'admin crds'],
  ['takeover', 'admin takeover'],
  ['uninstall', 'admin uninstall'],
]

/** An option that goes by another name now. */
interface MovedOption {
  /** The commands, by their words of today. */
  readonly of: RegExp
  readonly old: string
  readonly now: string
}

const ofCluster = /^(?!(convert|demo|local|simulate|validate|worker)\b)/
const ofNoPod = /^(?!(why pods?|convert|demo|local|simulate|validate|worker)\b)/

export const movedOptions: readonly MovedOption[] = [
  { of: /^cost\b/, old: '--by', now: '--group-by' },
  { of: /^plan\b/, old: '--now', now: '--ignore-consolidate-after' },
  { of: /^plan\b/, old: '--save', now: '--output-file' },
  { of: /^history report\b/, old: '--out', now: '--output-file' },
  { of: /^top\b/, old: '--sort', now: '--sort-by' },
  { of: /^admin aks setup\b/, old: '--apply', now: '--yes' },
  { of: ofCluster, old: '--cluster', now: '--cluster-name' },
  { of: ofNoPod, old: '--namespace', now: '--joiner-namespace' },
  { of: ofNoPod, old: '-n', now: '--joiner-namespace' },
]

/** Commands whose `--node NAME` became a command of its own. */
const ofOneNode: Readonly<Record<string, string>> = { pause: 'node hold', resume: 'node release' }

/** Returns the words of a command as they are now. */
export function newWords(words: readonly string[]): readonly string[] {
  const typed = words.join(' ')
  const [old = '', now = ''] = movedCommands.find(([name]) => `${typed} `.startsWith(`${name} `)) ?? []
  return old === '' ? words : [...now.split(' '), ...words.slice(old.split(' ').length)]
}

/** Returns what was typed as it is written now; undefined where no spelling in it is old. `program`: has the command of today, whose options tell flags from values. */
export function newSpelling({ words, options }: Typed, program: Command): string | undefined {
  const now = newWords(words)
  const named = now.join(' ')
  const ofNode = ofOneNode[named]
  const known = commandOf(program, now).options
  const written: string[] = []
  let node: string | undefined
  for (let at = 0; at < options.length; at++) {
    const [flag = '', ...value] = (options[at] ?? '').split('=')
    if (flag === '--') {
      written.push(...options.slice(at))
      break
    }
    const { now: current = flag } = movedOptions.find((one) => one.old === flag && one.of.test(named)) ?? {}
    const isNode = ofNode !== undefined && flag === '--node'
    const isNextValue =
      value.length === 0 && (isNode || known.some((one) => one.required && [one.long, one.short].includes(current)))
    const next = isNextValue ? options.slice(at + 1, at + 2) : []
    at += next.length
    if (isNode) node = next[0] ?? value.join('=')
    else written.push([current, ...value].join('='), ...next)
  }
  if (ofNode !== undefined && node !== undefined) return line([ofNode, node, ...written])
  return now === words && written.every((option, at) => option === options[at]) ? undefined : line([named, ...written])
}

function line([name = '', ...rest]: readonly string[]): string {
  return ['joiner', name, ...rest.map(quoted)].join(' ')
}

/** As a shell takes it. */
function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
