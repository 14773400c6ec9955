import { expect, test } from 'vitest'
import { formatWithheld, parseWithheld, type WithheldMachine, withheldKey } from './withheld-machines.ts'

const machine = (name: string, more: Partial<WithheldMachine>): WithheldMachine => ({
  kind: 'VM',
  name,
  node: name,
  since: 1,
  ...more,
})

test('of more machines than a ConfigMap holds those are kept that can be adopted, and all are counted', () => {
  const left = Array.from({ length: 1200 }, (_, at) =>
    machine(`left-${at}`, { plan: 'left', why: 'w'.repeat(900), remedy: 'r'.repeat(900) }),
  )
  const text = formatWithheld(0, [...left, machine('able', { plan: 'adopt' }), machine('gone', { plan: 'drain' })])
  expect(text.length).toBeLessThan(1_000_000)
  const { found, faults } = parseWithheld({ [withheldKey]: text })
  expect(faults).toEqual([])
  expect(found.count).toBe(1202)
  expect(found.machines.slice(0, 3).map(({ name }) => name)).toEqual(['able', 'gone', 'left-0'])
})
