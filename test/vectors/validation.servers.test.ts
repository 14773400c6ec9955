import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { differences } from './compare.ts'
import { CrdServer, type ValidationInput } from './crd-server.ts'

interface ValidationCase {
  readonly id: string
  readonly input: ValidationInput
  readonly expected: unknown
}

const vectors = new URL('../../../shared/vectors/algebra/validation.visible.json', import.meta.url)

const cases: readonly ValidationCase[] = existsSync(vectors) ? JSON.parse(readFileSync(vectors, 'utf8')) : []

describe.skipIf(cases.length === 0)('CRDs on a real API server (skipped where the shared folder is missing)', () => {
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
