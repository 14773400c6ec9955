// The flags that pages name, and the commands that they are meant of.
import { Command } from 'commander'
import { registerDemo, registerLocal } from '../../deploy/local/commands.ts'
import { registerCommands } from '../../starter/cli/commands.ts'

/** Commands with their flags, by the words that are typed: `node hold`. */
export type CommandFlags = ReadonlyMap<string, ReadonlySet<string>>

/** Returns the commands of starter/joiner.ts; the program itself is the empty text. */
export async function commandFlags(): Promise<CommandFlags> {
  return new Map(flagsOf(await wholeProgram(), []))
}

/** Returns the commands that have no subcommands, each by its own name, with their flags. */
export async function leafCommands(): Promise<CommandFlags> {
  const leaves = (command: Command, words: readonly string[]): [string, ReadonlySet<string>][] =>
    command.commands.length === 0
      ? [[words.join(' '), new Set(command.options.map(({ long }) => long ?? ''))]]
      : command.commands.flatMap((each) => leaves(each, [...words, each.name()]))
  return new Map(leaves(await wholeProgram(), []))
}

/** Returns the program with all commands of starter/joiner.ts. */
export async function wholeProgram(): Promise<Command> {
  const program = new Command('joiner').version('0')
  await registerCommands(program)
  registerLocal(program.command('local'))
  registerDemo(program.command('demo'))
  for (const name of ['worker', 'version', 'options', 'completion', 'complete']) program.command(name)
  return program
}

function flagsOf(command: Command, words: readonly string[]): [string, ReadonlySet<string>][] {
  // What is typed without a subcommand is of the default one, whose name commander does not publish.
  const byDefault = command.commands.find((one) => one.name() === Reflect.get(command, '_defaultCommandName'))
  const options = [...command.options, ...(byDefault?.options ?? [])]
  const flags = [...options.map(({ long }) => long ?? ''), '--help']
  const below = command.commands.flatMap((one) =>
    [one.name(), ...one.aliases()].flatMap((name) => flagsOf(one, [...words, name])),
  )
  return [[words.join(' '), new Set(flags)], ...below]
}

/** A command as a page types it. */
interface Typed {
  /** Words before the first flag. */
  readonly words: readonly string[]
  readonly flags: readonly string[]
}

/** Ways to start the command line. */
const start =
  /^(?:\$ )?(?:npm run (?:-s )?joiner --|kubectl joiner|(?:kubectl exec .* -- )?node starter\/joiner\.ts|joiner)(?= |$)/

/** Returns Joiner's commands in a line of a shell, or in a piece of code within a text. */
function typedIn(code: string): readonly Typed[] {
  return code
    .replaceAll(/"[^"]*"|'[^']*'/g, '""')
    .replace(/(^|\s)#.*$/, '')
    .split(/[|;&]|\$\(/)
    .flatMap((one) => {
      const text = one.trim()
      const started = start.exec(text)?.[0]
      if (started === undefined) return []
      const words = text.slice(started.length).trim().split(/\s+/)
      const first = words.findIndex((word) => word.startsWith('-'))
      return [
        {
          words: first === -1 ? words : words.slice(0, first),
          flags: words.flatMap((word) => /^\[?(--[a-z][a-z-]*)/.exec(word)?.[1] ?? []),
        },
      ]
    })
}

/** Returns the name of the command that words begin with: as many of them as name one. */
function commandOf(words: readonly string[], known: CommandFlags): string {
  const lengths = Array.from({ length: words.length + 1 }, (_, at) => words.length - at)
  return lengths.map((length) => words.slice(0, length).join(' ')).find((name) => known.has(name)) ?? ''
}

/** Flags of other tools that pages name without their command. */
const flagsOfOthers = new Set([
  // helm
  '--force-conflicts',
  '--reset-then-reuse-values',
  '--reuse-values',
  '--set',
  '--set-json',
  // Kubernetes' servers, kubelet, Cluster Autoscaler
  '--kube-api-burst',
  '--kube-api-qps',
  '--max-count',
  '--min-count',
  '--node-ip',
  // temporal, npm
  '--address',
  '--omit',
  // npm run bench, fuzz-cli, scenarios, release-bundle
  '--cloud',
  '--fields',
  '--peer',
  '--pods',
  '--real',
  '--replace',
  '--slow',
])

/** The pieces of code of a text, each a line of a shell or a word in a sentence. */
function codeIn(markdown: string): readonly string[] {
  const fenced = /^ *```\w*\n([\s\S]*?)^ *```/gm
  const lines = [...markdown.matchAll(fenced)].flatMap(([, text = '']) => text.replaceAll('\\\n', ' ').split('\n'))
  const spans = [...markdown.replaceAll(fenced, '').matchAll(/`([^`\n]+)`/g)].map(([, text = '']) => text)
  return [...lines, ...spans]
}

/**
 * Returns what a page says of commands that there are not, and of flags that they do not have. A flag without its command is meant of one that its
 * section names, a subcommand of it included; where the section names none, of one that the page names.
 */
export function strangeFlags(markdown: string, known: CommandFlags): readonly string[] {
  const named = (text: string) => {
    const heading = /^#+ (.*)$/m.exec(text)?.[1]?.replaceAll(/[`,]/g, '') ?? ''
    return [heading, ...codeIn(text)].flatMap((code) => typedIn(code).map(({ words }) => commandOf(words, known)))
  }
  const has = (names: readonly string[], flag: string) =>
    [...known].some(
      ([command, flags]) =>
        flags.has(flag) && names.some((name) => name === '' || command === name || command.startsWith(`${name} `)),
    )
  return markdown.split(/^(?=#{1,6} )/m).flatMap((section) => {
    const here = named(section)
    const names = here.length === 0 ? named(markdown) : here
    return codeIn(section).flatMap((code) => {
      const bare = /^--[a-z][a-z-]*/.exec(code)?.[0]
      if (bare !== undefined && !flagsOfOthers.has(bare) && !has(names, bare)) return [`${code}: of which command?`]
      return typedIn(code).flatMap(({ words, flags }) => {
        const command = commandOf(words, known)
        if (command === '' && /^[a-z]/.test(words[0] ?? '')) return [`${code}: no such command`]
        return flags.filter((flag) => known.get(command)?.has(flag) !== true).map((flag) => `${code}: no ${flag}`)
      })
    })
  })
}
