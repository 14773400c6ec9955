// The JSON of each command has a schema in docs/reference/json; `npx vitest run --project unit test/json-schemas -u` writes them anew.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { API, type Project } from 'typescript/unstable/sync'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { leafCommands } from '../pages/flags.ts'
import { jsonAnswers, schemaFile } from './answers.ts'
import { schemaOf } from './schema-of-type.ts'

const path = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url))

let api: API
let project: Project | undefined

beforeAll(() => {
  api = new API({ cwd: path('') })
  ;[project] = api.updateSnapshot({ openProject: path('test/json-schemas/tsconfig.json') }).getProjects()
})
afterAll(() => api.close())

test.each(Object.entries(jsonAnswers))('joiner %s', async (name, { file, text, also = [] }) => {
  const source = path(`starter/cli/${file}`)
  const position = readFileSync(source, 'utf8').indexOf(text)
  expect(position, `${file} has no "${text}"`).toBeGreaterThan(0)
  const type = project?.checker.getTypeAtPosition(source, position)
  if (project === undefined || type === undefined) throw new Error(`${file}: "${text}" has no type`)
  const schema = schemaOf(project.checker, type, name)
  // A schema that allows everything says nothing.
  expect(Object.keys(schema)).not.toEqual([])
  expect(() => z.fromJSONSchema(schema as never)).not.toThrow()
  const shown = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: [name, ...also].map((each) => `joiner ${each} -o json`).join(', '),
    ...schema,
  }
  await expect(`${JSON.stringify(shown, null, 2)}\n`).toMatchFileSnapshot(
    path(`docs/reference/json/${schemaFile(name)}`),
  )
})

test('every command that prints JSON has one', async () => {
  const printing = [...(await leafCommands())].filter(([, own]) => own.has('--output')).map(([name]) => name)
  const known = Object.entries(jsonAnswers).flatMap(([name, { also = [] }]) => [name, ...also])
  expect(
    printing.filter((name) => !known.includes(name) && !known.some((each) => each.startsWith(`${name} --`))),
  ).toEqual([])
})
