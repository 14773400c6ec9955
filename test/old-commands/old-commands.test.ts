// Every command, flag and choice of before the commands were put into groups, and where it is now: nothing that a user types is lost unsaid.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { commandFirst } from '../../starter/cli/arguments.ts'
import { commandOf } from '../../starter/cli/commands.ts'
import { newSpelling } from '../../starter/cli/moved.ts'
import { wholeProgram } from '../pages/flags.ts'

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url))

/** What is gone, with the reason. */
const gone: Readonly<Record<string, string>> = {
  'simulate --time-limit': 'files are read within limits of work, not of time, which need no flag',
}

interface Flag {
  /** `-o` and `--output`. */
  readonly spellings: readonly string[]
  /** Undefined: it takes no value; none: any. */
  readonly choices: readonly string[] | undefined
}

interface Before {
  readonly name: string
  readonly flags: readonly Flag[]
}

/** A command in each line, with the flags of its own, as `commander` had them at a77f2778. */
const before: readonly Before[] = readFileSync(path('before.txt'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => {
    const [name = '', ...flags] = line.split(' | ')
    return {
      name,
      flags: flags.map((flag) => {
        const [spelled = '', choices] = flag.split('=')
        return { spellings: spelled.split('/'), choices: choices?.split(',').filter(Boolean) }
      }),
    }
  })

const program = await wholeProgram()

/** What is typed today in the place of a command with a flag; undefined: there is no such thing. */
function today(name: string, spelling: string, { choices }: Flag): string | undefined {
  const value = choices === undefined ? [] : ['VALUE']
  const typed = [...name.split(' '), spelling, ...value]
  const now = newSpelling(commandFirst(typed), program)?.split(' ').slice(1) ?? typed
  const isFlag = (word: string) => word.startsWith('-')
  const flag = now.find(isFlag)
  const command = commandOf(program, now)
  if (command === program) return undefined
  // `node hold VALUE` takes the place of `pause --node VALUE`.
  if (flag === undefined) return now.join(' ')
  const option = [command, command.parent]
    .flatMap((one) => one?.options ?? [])
    .find(({ long, short }) => [long, short].includes(flag))
  const isComplete = choices?.every((choice) => option?.argChoices?.includes(choice) ?? true) ?? true
  return option === undefined || !isComplete ? undefined : now.join(' ')
}

test('every command and flag of before has a place, or a reason why it has none', async () => {
  const rows = before.map(({ name, flags }) => {
    const moved = newSpelling(commandFirst(name.split(' ')), program)?.replace(/^joiner /, '')
    expect(commandOf(program, (moved ?? name).split(' ')), name).not.toBe(program)
    const places = flags.flatMap((flag) =>
      flag.spellings.map((spelling) => {
        const now = today(name, spelling, flag)
        const why = gone[`${name} ${spelling}`]
        expect(now === undefined, `${name} ${spelling}: gone without a reason, or there with one`).toBe(
          why !== undefined,
        )
        return { spelling, now, why }
      }),
    )
    const own = moved ?? name
    const changed = places.flatMap(({ spelling, now, why }) => {
      if (why !== undefined) return [`\`${spelling}\` is gone: ${why}`]
      const as = now?.replace(/ VALUE$/, '')
      return as === `${own} ${spelling}` ? [] : [`\`${spelling}\`: \`${as}\``]
    })
    const kept = places.filter(({ spelling, now }) => now?.replace(/ VALUE$/, '') === `${own} ${spelling}`)
    return [`\`${name}\``, `\`${own}\``, kept.map(({ spelling }) => `\`${spelling}\``).join(' '), changed.join('; ')]
  })
  const lines = [
    ['before', 'now', 'flags that are as they were', 'flags that are otherwise'],
    ['---', '---', '---', '---'],
    ...rows,
  ]
  const table = lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
  await expect(`# Where the commands and flags of before are\n\n${table}\n`).toMatchFileSnapshot(path('table.md'))
})
