// Rows of the crash matrix in virtual time that `npm test` leaves out.
import { expect, test } from 'vitest'
import { stopPoints } from '../network.ts'
import { killAtEachWrite } from './rows.ts'

const courses = [
  { name: 'one process', options: {}, points: ['answered'] },
  { name: 'two replicas', options: { replicas: 2 }, points: stopPoints },
  { name: 'nodes that are AKS machines', options: { isMachines: true }, points: stopPoints },
] as const

const rows = courses.flatMap(({ name, options, points }) => points.map((point) => [name, point, options] as const))

test.each(rows)('a node lives and ends as it should with %s, killed when a write is %s', async (_, point, options) => {
  const { rows: count, wrong } = await killAtEachWrite(point, options)
  expect(count).toBeGreaterThan(90)
  expect(wrong).toEqual([])
})
