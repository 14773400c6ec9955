import { expect, test } from 'vitest'
import { wrongColumn } from './csv.ts'
import { piecesOf } from './print.ts'

const nodes = [
  { nodeClaim: 'a', phase: 'Ready', at: { zone: 'eastus-1' }, pods: 3 },
  { nodeClaim: 'b\u001b[2J', phase: undefined, at: {}, pods: 0 },
]
const document = () => [[{ header: ['NODE', 'PODS'], rows: [['a', 3]] }, 'one node']]
const printed = async (output: Parameters<typeof piecesOf>[0], json: unknown = nodes) =>
  [...(await piecesOf(output, { json, document }))].join('')

test('-o name has the first field of each row, also where rows are a part of the answer', async () => {
  expect(await printed('name')).toBe('a\nb\\u001b[2J\n')
  expect(await printed('name', { at: 1, nodes, more: [{ x: 1 }] })).toBe('a\nb\\u001b[2J\n')
  expect(await printed('name', { at: 1 })).toBe('')
})

test('-o custom-columns has what is named, and <none> for what is not there', async () => {
  expect(await printed('custom-columns=NAME:.nodeClaim,ZONE:at.zone,PHASE:.phase')).toBe(
    'NAME        ZONE      PHASE\na           eastus-1  Ready\nb\\u001b[2J  <none>    <none>\n',
  )
  expect(wrongColumn('NAME:.nodeClaim')).toBeUndefined()
  expect(wrongColumn('NAME:.nodeClaim,PHASE')).toContain('"PHASE" is no column; write TITLE:.field')
})

test('--no-headers leaves the header out and nothing else', async () => {
  expect(await printed('plain')).toBe('a  3\none node\n')
})
