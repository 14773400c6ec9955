import { describe, expect, it } from 'vitest'
import { differences } from './compare.ts'
import { CrdServer, type ValidationInput } from './crd-server.ts'
import { readVectors } from './packs.ts'

interface ValidationCase {
  readonly id: string
  readonly input: ValidationInput
  readonly expected: unknown
}

const cases = readVectors('algebra/validation') as readonly ValidationCase[]

describe('CRDs on a real API server', () => {
  it('accept and refuse what upstream does, naming a field', async () => {
    const server = await CrdServer.start()
    try {
      await expectAll(cases, (input) => server.validate(input))
    } finally {
      await server.stop()
    }
  })
})

async function expectAll(
  some: readonly ValidationCase[],
  answer: (input: ValidationCase['input']) => Promise<{ readonly accepted: boolean; readonly fields?: unknown }>,
): Promise<void> {
  const found = new Map<string, readonly string[]>()
  for (const { id, input, expected } of some) {
    const { accepted, fields } = await answer(input)
    const different = differences(expected, { accepted, fields })
    if (different.length > 0) found.set(id, different)
  }
  expect([...found.keys()], JSON.stringify([...found], null, 1)).toEqual([])
  const updates = some.filter(({ input }) => input.old !== undefined).length
  console.log(`${some.length} of ${cases.length} validation cases as upstream, ${updates} of them updates`)
}
