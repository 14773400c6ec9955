// The commands that boothooks are made of, for their effects on a node.

interface NodeFile {
  readonly content: string
  /** Permissions, such as 0o600. */
  readonly mode: number
}

/** The node's disk, by absolute path. */
export type NodeFiles = Map<string, NodeFile>

/** What a script has done so far. */
export interface ShellRun {
  readonly files: NodeFiles
  readonly variables: Map<string, string>
  readonly started: string[]
  readonly problems: string[]
  umask: number
}

/** What a command prints, and its exit status. */
export interface Result {
  readonly output: string
  readonly status: number
}

export const ok = (output = ''): Result => ({ output, status: 0 })

/** One command with its words and what is piped into it. */
interface Call {
  readonly name: string
  /** Words after the name. */
  readonly given: readonly string[]
  /** Those that are no flags. */
  readonly args: readonly string[]
  readonly input: string
}

const harmless = () => ok()
const runOthers = ({ given, input }: Call, run: ShellRun) => runCommand(given, input, run)
const startFirst = ({ args }: Call, run: ShellRun) => start(args[0] ?? '', run)

const commands: Readonly<Record<string, (call: Call, run: ShellRun) => Result>> = {
  ...Object.fromEntries(
    ['set', 'true', ':', 'sleep', 'chown', 'logger', 'sync', 'export', 'mkdir', 'exit', 'umount'].map((name) => [
      name,
      harmless,
    ]),
  ),
  ...Object.fromEntries(['nohup', 'exec', 'command'].map((name) => [name, runOthers])),
  ...Object.fromEntries(['bash', 'sh', '/bin/bash', '/bin/sh'].map((name) => [name, startFirst])),
  ...Object.fromEntries(['[', '[[', 'test'].map((name) => [name, test])),
  cat: ({ args, input }, { files }) =>
    ok(args.length === 0 ? input : args.map((path) => files.get(path)?.content ?? '').join('')),
  echo: ({ args }) => ok(`${args.join(' ')}\n`),
  printf: ({ args }) => ok(args.slice(1).length === 0 ? (args[0] ?? '') : args.slice(1).join('')),
  base64: ({ args: [path], given, input }, run) =>
    decode(path === undefined ? input : (run.files.get(path)?.content ?? ''), given, run),
  umask: ({ args }, run) => {
    run.umask = Number.parseInt(args[0] ?? '022', 8)
    return ok()
  },
  chmod: ({ args }, run) => chmod(args, run),
  touch: ({ args }, run) => {
    for (const path of args) if (!run.files.has(path)) run.files.set(path, { content: '', mode: 0o666 & ~run.umask })
    return ok()
  },
  rm: ({ args }, run) => {
    for (const path of args) run.files.delete(path)
    return ok()
  },
  systemctl: ({ args }, run) => {
    run.started.push(`systemctl ${args.join(' ')}`)
    return ok()
  },
}

/** Runs one command, with what is piped into it. A name that is no command is the path of a script to start. */
export function runCommand(words: readonly string[], input: string, run: ShellRun): Result {
  const [name = '', ...given] = words
  if (name === '') return ok()
  const args = given.filter((word) => !word.startsWith('-'))
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  return command === undefined ? start(name, run) : command({ name, given, args, input }, run)
}

function decode(text: string, flags: readonly string[], run: ShellRun): Result {
  if (!flags.some((flag) => ['-d', '-D', '--decode', '-di', '-id'].includes(flag)))
    return ok(`${Buffer.from(text).toString('base64')}\n`)
  const bare = text.replaceAll(/\s/g, '')
  if (/^[A-Za-z0-9+/]*={0,2}$/.test(bare)) return ok(Buffer.from(bare, 'base64').toString())
  run.problems.push('base64: invalid input')
  return { output: '', status: 1 }
}

function chmod([mode = '', ...paths]: readonly string[], run: ShellRun): Result {
  for (const path of paths) {
    const file = run.files.get(path)
    if (file === undefined || !/^[0-7]{3,4}$/.test(mode)) {
      run.problems.push(`chmod: ${file === undefined ? 'no such file' : 'unknown mode'}: ${mode} ${path}`)
      return { output: '', status: 1 }
    }
    run.files.set(path, { ...file, mode: Number.parseInt(mode, 8) })
  }
  return ok()
}

function test({ given }: Call, { files }: ShellRun): Result {
  const [first = '', second = '', third] = given.filter((word) => word !== ']' && word !== ']]')
  const holds = /^-[efrsx]$/.test(first)
    ? files.has(second) && (first !== '-x' || ((files.get(second)?.mode ?? 0) & 0o111) !== 0)
    : first === '-n'
      ? second !== ''
      : first === '-z'
        ? second === ''
        : second === '=' || second === '=='
          ? first === third
          : first !== ''
  return { output: '', status: holds ? 0 : 1 }
}

/** Starts a script of the node; it runs beside, so that its end does not matter to who started it. */
function start(path: string, run: ShellRun): Result {
  if (run.files.has(path)) {
    run.started.push(path)
    return ok()
  }
  run.problems.push(
    path.startsWith('/') ? `${path}: no such file` : `${path}: the simulator does not know this command`,
  )
  return { output: '', status: 127 }
}
