import { expect, test } from 'vitest'
import { killAtEachWrite } from './rows.ts'

test('a node lives and ends as it should, wherever Joiner is killed: before a write reaches its server', async () => {
  const { rows, wrong } = await killAtEachWrite('sent')
  expect(rows).toBeGreaterThan(90)
  expect(wrong).toEqual([])
}, 600_000)
