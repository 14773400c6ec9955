import { expect, test } from 'vitest'
import { exposition, type GaugeFamily, labelPairs, labelText } from './gauge-family.ts'

async function textOf(...families: readonly GaugeFamily[]): Promise<string> {
  let text = ''
  for await (const chunk of exposition(families)) text += chunk
  return text
}

test('families stand one after the other, each with its help and type', async () => {
  const samples = [
    [labelText(labelPairs({ name: 'a' })), 1.5],
    ['', 2],
  ] as const
  expect(
    await textOf(
      { name: 'first', help: 'One.', samples: () => samples },
      { name: 'none', help: 'Two.', samples: () => [] },
    ),
  ).toBe('# HELP first One.\n# TYPE first gauge\nfirst{name="a"} 1.5\nfirst 2\n# HELP none Two.\n# TYPE none gauge\n')
})

test('values are escaped, empty ones are left out', () => {
  expect(labelText(labelPairs({ a: 'x"y\\z\n', b: '', c: undefined }), '', labelPairs({ d: '1' }))).toBe(
    '{a="x\\"y\\\\z\\n",d="1"}',
  )
})

test('other work runs while many series are written, and none is lost', async () => {
  const count = 200_000
  const samples = function* () {
    for (let index = 0; index < count; index++) yield [`{name="pod-${index}"}`, index] as const
  }
  let turns = 0
  const timer = setInterval(() => turns++, 1)
  const text = await textOf({ name: 'many', help: 'Many.', samples })
  clearInterval(timer)
  expect(text.split('\n')).toHaveLength(count + 3)
  expect(turns).toBeGreaterThan(1)
})
