import { type NodeFiles, ok, type Result, runCommand, type ShellRun } from './shell-commands.ts'

export interface ScriptOutcome {
  /** What was started and left to run: a path of a script, or `systemctl start` with its unit. */
  readonly started: readonly string[]
  /** What the interpreter does not know, and commands that failed. */
  readonly problems: readonly string[]
}

interface Command {
  readonly text: string
  readonly heredoc?: string
}

/**
 * Runs a shell script for its effects on the node: files with their modes, and what it starts. It knows what boothooks are made of:
 * here-documents, pipes, redirections, `if`, `&&`, `||`, variables, and a dozen of commands; whatever else is a problem, not an error.
 */
export function runScript(script: string, files: NodeFiles): ScriptOutcome {
  const run: ShellRun = { files, variables: new Map(), started: [], problems: [], umask: 0o022 }
  // One entry per `if` that is open: whether its present branch is taken, and whether one of its branches was.
  const branches: { taken: boolean; done: boolean }[] = []
  for (const { text, heredoc } of commandsOf(script)) {
    const [, keyword = '', rest = text] = /^(if|elif|then|else|fi)\b\s*(.*)$/s.exec(text) ?? []
    const outer = branches.slice(0, -1).every(({ taken }) => taken)
    const branch = branches.at(-1)
    if (keyword === 'if') {
      const taken = branches.every((open) => open.taken) && execute({ text: rest }, run) === 0
      branches.push({ taken, done: taken })
      continue
    }
    if (keyword === 'fi') branches.pop()
    else if (keyword === 'else' && branch !== undefined) {
      branch.taken = outer && !branch.done
    } else if (keyword === 'elif' && branch !== undefined) {
      branch.taken = outer && !branch.done && execute({ text: rest }, run) === 0
      branch.done ||= branch.taken
      continue
    }
    const isReached = branches.every(({ taken }) => taken)
    if (isReached && rest !== '' && keyword !== 'fi')
      execute(heredoc === undefined ? { text: rest } : { text: rest, heredoc }, run)
  }
  return { started: run.started, problems: run.problems }
}

/** Splits a script into commands; a here-document goes with the command that reads it. */
function commandsOf(script: string): readonly Command[] {
  const lines = script.replaceAll('\r\n', '\n').replaceAll('\\\n', ' ').split('\n')
  const commands: Command[] = []
  for (let index = 0; index < lines.length; index += 1) {
    const line = (lines[index] ?? '').trim()
    if (line === '' || line.startsWith('#')) continue
    const parts = split(line, /;|(?<![>&])&(?![&>\d])/)
    const [mark, dash = '', , end] = /<<(-?)\s*(['"]?)([A-Za-z_]\w*)\2/.exec(line) ?? []
    if (mark === undefined) {
      commands.push(...parts.map((text) => ({ text })))
      continue
    }
    const body: string[] = []
    for (index += 1; index < lines.length; index += 1) {
      const text = dash === '' ? (lines[index] ?? '') : (lines[index] ?? '').replace(/^\t+/, '')
      if (text === end) break
      body.push(text)
    }
    const heredoc = body.map((text) => `${text}\n`).join('')
    for (const text of parts) commands.push(text.includes(mark) ? { text: text.replace(mark, ' '), heredoc } : { text })
  }
  return commands
}

/** Splits outside of quotes. */
function split(text: string, separator: RegExp): readonly string[] {
  const quoted = /'[^']*'|"[^"]*"/g
  const hidden: string[] = []
  const bare = text.replaceAll(quoted, (part) => `\uE000${hidden.push(part) - 1}\uE000`)
  return bare
    .split(separator)
    .map((part) => part.replaceAll(/\uE000(\d+)\uE000/g, (_, index: string) => hidden[Number(index)] ?? '').trim())
    .filter((part) => part !== '')
}

/** Runs what `&&` and `||` join; returns the exit status. */
function execute({ text, heredoc }: Command, run: ShellRun): number {
  const [first = '', ...others] = split(text.replace(/^[({]\s*|\s*[)}]$/g, ''), /\s*(?=&&|\|\|)/)
  let status = pipeline(first, heredoc, run)
  for (const other of others) {
    const isAnd = other.startsWith('&&')
    if (isAnd === (status === 0)) status = pipeline(other.slice(2).trim(), heredoc, run)
  }
  return status
}

function pipeline(text: string, heredoc: string | undefined, run: ShellRun): number {
  let input = heredoc ?? ''
  let status = 0
  for (const part of split(text, /\|/)) {
    const result = simple(part, input, run)
    input = result.output
    status = result.status
  }
  return status
}

function simple(text: string, input: string, run: ShellRun): Result {
  const targets = [...text.matchAll(/(?<![\d&])(>>?)\s*("[^"]*"|'[^']*'|[^\s&][^\s]*)/g)]
  const words = wordsOf(text.replaceAll(/\d?>&\d|&>>?\s*\S+|\d?>>?\s*("[^"]*"|'[^']*'|\S+)|<\s*\/dev\/null/g, ' '), run)
  const assignment = /^([A-Za-z_]\w*)=(.*)$/s.exec(words[0] ?? '')
  if (assignment !== null && words.length === 1) {
    run.variables.set(assignment[1] ?? '', assignment[2] ?? '')
    return ok()
  }
  const negated = words[0] === '!'
  const result = runCommand(negated ? words.slice(1) : words, input, run)
  const [last] = targets.slice(-1)
  if (last !== undefined && result.status === 0) {
    const path = wordsOf(last[2] ?? '', run)[0] ?? ''
    const before = run.files.get(path)
    const kept = last[1] === '>>' ? (before?.content ?? '') : ''
    if (path !== '/dev/null')
      run.files.set(path, { content: kept + result.output, mode: before?.mode ?? 0o666 & ~run.umask })
  }
  return negated ? { output: '', status: result.status === 0 ? 1 : 0 } : result
}

/** Words after quotes and variables were taken away. */
function wordsOf(text: string, { variables }: Pick<ShellRun, 'variables'>): readonly string[] {
  const expand = (part: string) =>
    part.replaceAll(
      /\$\{(\w+)\}|\$(\w+)/g,
      (_, braced?: string, bare?: string) => variables.get(braced ?? bare ?? '') ?? '',
    )
  return (text.match(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g) ?? []).map((word) =>
    word.replaceAll(/'[^']*'|"[^"]*"|[^'"]+/g, (part) => {
      if (part.startsWith("'")) return part.slice(1, -1)
      return expand(part.startsWith('"') ? part.slice(1, -1) : part)
    }),
  )
}
