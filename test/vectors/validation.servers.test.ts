import { existsSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { differences } from './compare.ts'
import { CrdServer, hasCrd, type ValidationInput } from './crd-server.ts'

interface ValidationCase {
  readonly id: string
  readonly input: ValidationInput
  readonly expected: unknown
}

const vectors = new URL('../../../shared/vectors/algebra/validation.visible.json', import.meta.url)

function readCases(): readonly ValidationCase[] {
  if (!existsSync(vectors)) return []
  const all = JSON.parse(readFileSync(vectors, 'utf8')) as readonly ValidationCase[]
  return all.filter(({ input }) => hasCrd(input.object.kind))
}

const cases = readCases()

describe.skipIf(cases.length === 0)('CRDs on a real API server (skipped where the shared folder is missing)', () => {
  let server: CrdServer

  beforeAll(async () => {
    server = await CrdServer.start()
  })

  afterAll(async () => {
    await server.stop()
  })

  it('accept and refuse what upstream does, naming a field', async () => {
    const found = new Map<string, readonly string[]>()
    for (const { id, input, expected } of cases) {
      const different = differences(expected, await server.validate(input))
      if (different.length > 0) found.set(id, different)
    }
    expect([...found.keys()], JSON.stringify([...found], null, 1)).toEqual([])
  })
})
