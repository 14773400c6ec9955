import { expect, test } from 'vitest'
import { changeOf } from './lives.ts'
import { sabotages } from './table.ts'

test.each(sabotages.map((one) => [one.name, one] as const))('can be put back: %s', (_, one) => {
  expect(changeOf(one).by).not.toBe(one.text)
})

test('a fault whose text is gone from its file is named', () => {
  const [one] = sabotages as readonly [(typeof sabotages)[number]]
  expect(() => changeOf({ ...one, text: 'nowhere' })).toThrow(`sabotage "${one.name}": ${one.path} has 0 times`)
})
