import type { Typed } from './arguments.ts'

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

/** Returns what was typed as it is written now; undefined where no spelling in it is old. */
export function newSpelling({ words, options }: Typed): string | undefined {
  const typed = words.join(' ')
  const [old = '', now = ''] = movedCommands.find(([name]) => `${typed} `.startsWith(`${name} `)) ?? []
  const named = `${now}${typed.slice(old.length)}`
  const end = options.indexOf('--')
  const written = options.map((option, at) => {
    const [flag = '', ...value] = option.split('=')
    const moved = movedOptions.find((one) => one.old === flag && one.of.test(named))
    return moved === undefined || (end !== -1 && at > end) ? option : [moved.now, ...value].join('=')
  })
  const at = written.findIndex((option) => /^--node(=|$)/.test(option))
  const ofNode = at === -1 ? undefined : ofOneNode[named]
  if (ofNode !== undefined) {
    const [gone = '', next = ''] = written.splice(at, written[at]?.includes('=') ? 1 : 2)
    return line([ofNode, gone.includes('=') ? gone.slice('--node='.length) : next, ...written])
  }
  return named === typed && written.every((option, index) => option === options[index])
    ? undefined
    : line([named, ...written])
}

function line([name = '', ...rest]: readonly string[]): string {
  return ['joiner', name, ...rest.map(quoted)].join(' ')
}

/** As a shell takes it. */
function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
