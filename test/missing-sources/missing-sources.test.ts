// Every command that reads, with each of its sources missing: no answer looks complete that is not.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { schemaFile } from '../json-schemas/answers.ts'
import { type Schema, strict } from '../json-schemas/schema-of-type.ts'
import { leafCommands } from '../pages/flags.ts'
import type { Ran } from '../readers/command-line.ts'
import { afterAll, beforeAll, describe, expect, test } from '../scenarios/scenario.ts'
import { ofThisMachine, type Reading, reading, readingApart, readingAzure, writing } from './commands.ts'
import { pageOf, type Row } from './page.ts'
import { type Fault, SmallCluster, type Source } from './small-cluster.ts'

const page = fileURLToPath(new URL('answers.md', import.meta.url))
const schemas = fileURLToPath(new URL('../../docs/reference/json', import.meta.url))

let small: SmallCluster
const rows: Row[] = []

beforeAll(async () => {
  small = await SmallCluster.start()
})
afterAll(() => small?.end())

/** A time as programs read it, which people have to work out. */
const bareTime = /\b\d{4}-\d\d-\d\dT\d\d:\d\d/

const isOfJoiner = (source: Source) => source.startsWith('joiner-')
const isOfCluster = (source: Source) => source !== 'Temporal'

interface Case {
  readonly fault: Fault
  /** As the page has it. */
  readonly what: string
  /** The sources that are away. */
  readonly away: readonly Source[]
}

/** All that may be missing of a command. */
function casesOf({ needs, adorns }: Reading): readonly Case[] {
  const all = [...needs, ...adorns]
  const of = (fault: Fault, what: string, is: (source: Source) => boolean): readonly Case[] => {
    const away = all.filter(is)
    return away.length === 0 ? [] : [{ fault, what, away }]
  }
  return [
    ...all.filter(isOfCluster).map((source) => ({
      fault: { kind: 'no right', source } as const,
      what: `no right to read ${source}`,
      away: [source],
    })),
    ...of({ kind: 'wrong namespace' }, "another namespace than Joiner's", isOfJoiner),
    ...of({ kind: 'away' }, 'the API server refuses connections', isOfCluster),
    ...of({ kind: 'slow' }, 'the API server does not answer', isOfCluster),
    ...of({ kind: 'no Temporal' }, 'Temporal is away', (source) => source === 'Temporal'),
  ]
}

/** What an answer says of what is missing: names it, and says that it is not known. */
function sentenceOf({ stdout, stderr }: Ran, { fault, away }: Case): string | undefined {
  const names = fault.kind === 'no right' ? away : fault.kind === 'wrong namespace' ? ['nowhere'] : []
  const about = {
    none: /$^/,
    'no right': /no right|may not|is forbidden|not known/,
    'wrong namespace': /has ever run|there is no ConfigMap/,
    away: /ECONNREFUSED/,
    slow: /no answer within/,
    'no Temporal': /Temporal at .* cannot be reached/,
    'no Azure': /Azure was not asked|Azure gave no token|Azure's tokens is not reached/,
  }[fault.kind]
  const isNamed = (line: string) => names.every((name) => line.toLowerCase().includes(name.replace(/-N$/, '-')))
  return [...stderr.split('\n'), ...stdout.split('\n')].find((line) => about.test(line) && isNamed(line))
}

test('a command is of those that read, or of those that change something', async () => {
  const leaves = [...(await leafCommands()).keys()]
  const listed = [
    ...new Set(reading.map(({ command }) => command)),
    ...Object.keys(readingApart),
    ...writing,
    ...ofThisMachine,
  ]
  expect(listed.toSorted()).toEqual(leaves.toSorted())
})

describe('without one of its sources', () => {
  test.each(reading.map((each) => [[each.command, each.of].filter(Boolean).join(', '), each] as const))(
    'joiner %s says what it does not know',
    async (name, command) => {
      const words = command.words(small.names)
      const healthy = await small.run(words, { kind: 'none' })
      expect(healthy, healthy.stderr).toMatchObject({
        code: 0,
        stderr: expect.not.stringContaining('not read') as string,
      })
      // A report is a file that is read later.
      if (command.command !== 'history report') expect(`${healthy.stdout}\n${healthy.stderr}`).not.toMatch(bareTime)
      if (!command.hasNoJson) {
        const { stdout } = await small.run([...words, '-o', 'json'], { kind: 'none' })
        const schema = JSON.parse(
          readFileSync(join(schemas, schemaFile(command.schema ?? command.command)), 'utf8'),
        ) as Schema
        const { success, error } = z.fromJSONSchema(strict(schema) as never).safeParse(JSON.parse(stdout))
        expect(success, `${stdout}\n${error?.message}`).toBe(true)
      }
      const listed = [...command.needs, ...command.adorns]
      // Leases tell Joiner's namespace from others, where a ConfigMap is not there.
      const asked = [...healthy.asked].filter((source) => source !== 'leases' || listed.includes(source))
      expect(asked.toSorted()).toEqual(listed.toSorted())
      for (const one of casesOf(command)) {
        const { what, away, fault } = one
        const isNeeded = away.some((source) => command.needs.includes(source))
        const ran = await small.run(words, fault)
        const said = sentenceOf(ran, one)
        const seen = `joiner ${words.join(' ')}, ${what}:\n${ran.stderr}\n${ran.stdout}`
        expect(ran.code, seen).toBe(isNeeded ? 1 : 0)
        expect(said, seen).toBeDefined()
        // Programs get the same exit code, and no answer that is as if nothing were missing.
        rows.push({ command: name, what, role: isNeeded ? 'needed' : 'adorns', exit: ran.code, said: said ?? '' })
        if (command.hasNoJson) continue
        const json = await small.run([...words, '-o', 'json'], fault)
        expect(json.code, `${seen}\n${json.stderr}\n${json.stdout}`).toBe(ran.code)
        expect(sentenceOf(json, one), `-o json: ${json.stderr}\n${json.stdout}`).toBeDefined()
      }
    },
  )

  test.each(readingAzure.map((each) => [each.command, each] as const))(
    'joiner %s says that Azure does not answer',
    async (name, { words, needs, hasNoJson }) => {
      const one = { fault: { kind: 'no Azure' }, what: 'Azure is away', away: ['Azure'] } as const
      const ran = await small.run(words(small.names), one.fault)
      const said = sentenceOf(ran, one)
      const seen = `joiner ${name}:\n${ran.stderr}\n${ran.stdout}`
      expect(ran.code, seen).toBe(needs.length)
      expect(said, seen).toBeDefined()
      rows.push({
        command: name,
        what: one.what,
        role: needs.length > 0 ? 'needed' : 'adorns',
        exit: ran.code,
        said: said ?? '',
      })
      if (hasNoJson) return
      const json = await small.run([...words(small.names), '-o', 'json'], one.fault)
      expect(json.code, `${seen}\n${json.stderr}\n${json.stdout}`).toBe(ran.code)
      expect(sentenceOf(json, one), `-o json: ${json.stderr}\n${json.stdout}`).toBeDefined()
    },
  )

  test('joiner admin uninstall needs the rights of an administrator, and says what it may not read', async () => {
    const { code, stderr } = await small.run(['admin', 'uninstall', '--dry-run'], {
      kind: 'no right',
      source: 'secrets',
    })
    expect(code).toBe(1)
    expect(stderr).toBe('secrets: no right to read it; run the command as an administrator of the cluster\n')
  })

  test('the page of the documentation has all of it', async () => {
    await expect(pageOf(rows, small.names)).toMatchFileSnapshot(page)
  })
})
