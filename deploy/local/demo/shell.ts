// What a person's shell needs to look around in the demo's cluster, and what to type there.

type Variables = Readonly<Record<string, string>>

/** What only a process of its own uses. */
const ofProcess = /^MALLOC_|^JOINER_(IDENTITY|POD_IP)$|_PORT$/

/** Text that a shell reads with `source`: a process's settings, with which commands ask Azure and Temporal as Joiner does, and aliases. */
export function shellFile(settings: Variables, aliases: Variables): string {
  return [
    ...Object.entries(settings)
      .filter(([name]) => !ofProcess.test(name))
      .map(([name, value]) => `export ${name}=${quoted(value)}`),
    ...Object.entries(aliases).map(([name, command]) => `alias ${name}=${quoted(command)}`),
    '',
  ].join('\n')
}

/** One word of a shell's input. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** Names of what the demo left for a person to look at. */
export interface LeftWorld {
  /** As NAMESPACE/NAME. */
  readonly tooBig: string
  /** Node whose drain does not end. */
  readonly draining: string
}

/** Commands to type, each with what it shows. */
export function commandsToTry(file: string, { tooBig, draining }: LeftWorld): readonly string[] {
  const commands = [
    [
      `source ${/[^\w./-]/.test(file) ? quoted(file) : file}`,
      "the cluster's addresses, and its own joiner and kubectl as aliases",
    ],
    ['joiner ui', 'nodes, pods, decisions and cost, as a web page'],
    ['joiner top', 'the same in the terminal'],
    [`joiner why pod ${tooBig}`, 'no size is large enough for it'],
    ['joiner history', 'every node so far'],
    [`joiner why node ${draining}`, 'a PodDisruptionBudget holds its drain'],
    ['joiner blocked capacity list', 'the size that Azure refused'],
    ['joiner blocked quota', ''],
    ['joiner doctor', ''],
    ['kubectl get nodes', ''],
  ] as const
  const width = Math.max(...commands.map(([command]) => command.length))
  return commands.map(([command, shows]) => (shows === '' ? command : `${command.padEnd(width)}  # ${shows}`))
}
