import { readFileSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import { Runner } from '../fuzz-cli/runner.ts'

const here = (name: string) => readFileSync(new URL(name, import.meta.url))
const azure = ['skus.json', 'prices.json'].map((name) => ({ name, bytes: here(`../fuzz-cli/corpus/${name}`) }))
const pod =
  '---\nkind: Pod\napiVersion: v1\nmetadata: { name: web }\nspec: { containers: [{ name: a, image: b, resources: { requests: { cpu: "1" } } }] }\n'

interface PublicFile {
  readonly name: string
  readonly text: string
  readonly runs: readonly { readonly command: string; readonly code: number; readonly lines: readonly string[] }[]
}

/** The files of `files.txt`, whose head describes them. */
function publicFiles(): readonly PublicFile[] {
  const [, ...parts] = here('files.txt').toString().split(/^#= /m)
  return parts.map((part) => {
    const [title = '', ...lines] = part.split('\n')
    const text = lines.filter((line) => !line.startsWith('#>')).join('\n')
    const said = lines.flatMap((line) => (line.startsWith('#> ') ? [line.slice(3)] : []))
    const runs: { command: string; code: number; lines: string[] }[] = []
    for (const line of said) {
      const [, command, code] = /^(validate|convert|simulate) (\d+)$/.exec(line) ?? []
      if (command === undefined) runs.at(-1)?.lines.push(line)
      else runs.push({ command, code: Number(code), lines: [] })
    }
    return { name: title.split(':')[0] ?? '', text, runs }
  })
}

const files = publicFiles()
const runner = new Runner()
afterAll(() => runner.stop())

interface Printed {
  readonly code: number
  readonly out: string
  readonly err: string
}

async function run(words: readonly string[], text: string): Promise<Printed> {
  const given = { name: 'file.yaml', bytes: new TextEncoder().encode(text) }
  const outcome = await runner.run({ index: 0, words: [...words, given.name], files: [given, ...azure] })
  if (outcome.kind !== 'ran') throw new Error(`${words.join(' ')}: ${JSON.stringify(outcome)}`)
  return outcome
}

const commands: Readonly<Record<string, (text: string) => Promise<Printed>>> = {
  validate: (text) => run(['validate'], text),
  convert: (text) => run(['convert'], text),
  simulate: (text) =>
    run(['simulate', '--complete', '--catalog', 'skus.json', '--prices', 'prices.json'], `${text}${pod}`),
}

/** Lines about the file, without its name. */
function said(text: string): readonly string[] {
  return text
    .split('\n')
    .map((line) => line.replace(/^file\.yaml: ?/, ''))
    .filter((line) => line !== '' && line !== 'valid')
}

const remedy =
  /\b(use|write|add|remove|give|keep|set|its place is|expected one of|is not within|render it|joiner validate)\b/

describe.each(files)('$name', ({ text, runs }) => {
  it.each(runs)('$command ends with $code and says what to change to what', async ({ command, code, lines }) => {
    const printed = await commands[command]?.(text)
    expect(printed?.code).toBe(code)
    const { out = '', err = '' } = printed ?? {}
    if (command === 'simulate') for (const line of lines) expect(`${out}${err}`).toContain(line)
    else expect(said(command === 'validate' ? `${out}${err}` : err)).toEqual(lines)
    if (command !== 'simulate' || code !== 0) for (const line of lines) expect(line).toMatch(remedy)
  })

  it('is as valid when it is converted', async () => {
    const { code, out } = await run(['convert'], text)
    const before = await run(['validate'], text)
    if (code !== 0 || before.code !== 0) return
    expect(await run(['validate'], out)).toMatchObject({ code: 0, out: before.out })
  })
})

it('are 40 and more', () => {
  expect(files.length).toBeGreaterThanOrEqual(40)
  expect(new Set(files.map(({ name }) => name)).size).toBe(files.length)
})
