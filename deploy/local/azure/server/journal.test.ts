import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Journal } from './journal.ts'

let folder: string
let file: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'joiner-journal-'))
  file = join(folder, 'state', 'state.jsonl')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const table = (name = 'things') => new Journal(file).table<{ value: number }>(name)

test('rows are there again, as they were last, in the order in which they came', () => {
  const things = table()
  for (const key of ['a', 'b', 'c']) things.put(key, { value: 1 })
  things.put('A', { value: 2 })
  things.delete('b')
  expect(table().all).toEqual([{ value: 2 }, { value: 1 }])
  expect(table().get('C')).toEqual({ value: 1 })
})

test('tables do not see each other', () => {
  const journal = new Journal(file)
  journal.table('one').put('a', { value: 1 })
  journal.table('two').put('a', { value: 2 })
  expect([table('one').all, table('two').all]).toEqual([[{ value: 1 }], [{ value: 2 }]])
})

test('a last line that was cut by a kill is left out, and what is written after it stands', () => {
  table().put('a', { value: 1 })
  appendFileSync(file, '{"table":"things","key":"b","row":{"val')
  const things = table()
  expect(things.all).toEqual([{ value: 1 }])
  things.put('c', { value: 3 })
  expect(table().all).toEqual([{ value: 1 }, { value: 3 }])
})

test('the file does not grow with changes for ever', () => {
  const things = table()
  for (let value = 0; value < 25_000; value += 1) things.put('a', { value })
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
  expect(lines.length).toBeLessThan(21_000)
  expect(table().all).toEqual([{ value: 24_999 }])
})
