import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { aligned } from './table.ts'

const rows = [
  ['NODE', 'TYPE', 'WAITS FOR'],
  ['aks-general-7kq2x', 'Standard_D8as_v5', 'a PodDisruptionBudget that allows no eviction'],
]

it('columns are as wide as their widest cell where there is room', () => {
  expect(aligned(rows, Number.POSITIVE_INFINITY).split('\n')).toEqual([
    'NODE               TYPE              WAITS FOR',
    'aks-general-7kq2x  Standard_D8as_v5  a PodDisruptionBudget that allows no eviction',
  ])
})

it('the widest columns are cut where the terminal is narrow', () => {
  expect(aligned(rows, 60).split('\n')).toEqual([
    'NODE               TYPE              WAITS FOR',
    'aks-general-7kq2x  Standard_D8as_v5  a PodDisruptionBudget …',
  ])
})

it('no line is longer than the terminal while a column has eight characters, and short cells are never cut', () => {
  const cell = fc.string({ maxLength: 40, unit: 'grapheme-ascii' }).map((text) => text.replaceAll(/[^!-~]/g, 'x'))
  fc.assert(
    fc.property(
      fc.array(fc.tuple(cell, cell, cell), { minLength: 1 }),
      fc.integer({ min: 28, max: 140 }),
      (cells, width) => {
        const lines = aligned(cells, width).split('\n')
        expect(lines).toHaveLength(cells.length)
        for (const line of lines) expect(line.length).toBeLessThanOrEqual(width)
        for (const [at, [first]] of cells.entries())
          if (first.length <= 8) expect(lines[at]?.startsWith(first)).toBe(true)
      },
    ),
  )
})
