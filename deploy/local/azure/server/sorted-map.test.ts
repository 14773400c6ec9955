import { expect, it } from 'vitest'
import { SortedMap } from './sorted-map.ts'

it('reads on from a name that is gone, and keeps the order of names without regard to case', () => {
  const map = new SortedMap<number>()
  for (const [index, name] of ['delta', 'Alpha', 'charlie', 'bravo'].entries()) map.set(name, index)
  expect(map.after(undefined, 2)).toEqual([
    ['alpha', 1],
    ['bravo', 3],
  ])
  map.delete('BRAVO')
  expect(map.after('bravo', 9).map(([key]) => key)).toEqual(['charlie', 'delta'])
  expect(map.after('charlie', 9).map(([key]) => key)).toEqual(['delta'])
  map.set('ALPHA', 7)
  expect([map.get('alpha'), map.size, map.all]).toEqual([7, 3, [7, 2, 0]])
})
