import { expect, test } from 'vitest'
import { killAtEachWrite } from './rows.ts'

test('a node lives and ends as it should, wherever Joiner is killed: after a write whose answer is lost', async () => {
  const { rows, wrong } = await killAtEachWrite('effected')
  expect(rows).toBeGreaterThan(90)
  expect(wrong).toEqual([])
}, 600_000)
