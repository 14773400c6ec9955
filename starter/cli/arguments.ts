/** Options that stand before a command as well as behind it; each has a value. */
const anywhere = [
  '-n',
  '--namespace',
  '--joiner-namespace',
  '-o',
  '--output',
  '--kubeconfig',
  '--context',
  '--as',
  '--as-group',
  '--temporal-address',
  '--temporal-namespace',
  '--cluster-name',
]

/** Commands of files, before which kubectl's hands write -f. */
const ofFiles = ['convert', 'simulate', 'validate']
const namesFile = /^(-f|--filename)$/

/** What was typed, with the words of the command in front. */
export interface Typed {
  /** The command, its subcommand and what else stands before the first option. */
  readonly words: readonly string[]
  readonly options: readonly string[]
}

/** Returns arguments with the options of all commands behind the command that they belong to; `help` is the option of what follows. */
export function commandFirst(args: readonly string[]): Typed {
  const words: string[] = []
  const held: string[] = []
  let at = 0
  for (let arg = args[at]; arg !== undefined; arg = args[at]) {
    if (!arg.startsWith('-') || arg === '-') {
      words.push(arg)
      at += 1
    } else if (anywhere.includes(arg.replace(/=.*/s, ''))) {
      const end = at + (arg.includes('=') ? 1 : 2)
      held.push(...args.slice(at, end))
      at = end
    } else break
  }
  const rest = args.slice(at)
  const options = [...held, ...(ofFiles.includes(words[0] ?? '') ? rest.filter((arg) => !namesFile.test(arg)) : rest)]
  return words[0] === 'help' && words.length > 1
    ? { words: words.slice(1), options: ['--help', ...options] }
    : { words, options }
}
