import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DryRunServer } from './dry-run-server.ts'
import { bufferCases, type CrdCase, overlayCases } from './feature-crd-cases.ts'

const kinds: readonly (readonly [string, string, readonly CrdCase[]])[] = [
  ['NodeOverlay', 'karpenter.sh/v1alpha1', overlayCases],
  ['CapacityBuffer', 'autoscaling.x-k8s.io/v1beta1', bufferCases],
]

describe('CRDs on a real API server', () => {
  let server: DryRunServer

  beforeAll(async () => {
    server = await DryRunServer.start()
  })

  afterAll(async () => {
    await server.stop()
  })

  it.each(kinds)('upstream: accept, refuse and default a %s as its tests say', async (kind, apiVersion, cases) => {
    const wrong: unknown[] = []
    let verdicts = 0
    for (const { title, specs, verdict, stored } of cases) {
      for (const spec of specs) {
        verdicts += 1
        const answer = await server.create({ apiVersion, kind, metadata: { name: 'case' }, spec })
        if (answer.accepted !== (verdict !== 'refused')) wrong.push({ title, spec, answer })
        else if (!answer.accepted) expect(answer.fields.length, title).toBeGreaterThan(0)
        else if (stored !== undefined) expect(answer.stored.spec, title).toMatchObject(stored)
      }
    }
    expect(wrong).toEqual([])
    console.log(`${cases.length} cases of ${kind}: ${verdicts} verdicts`)
  })
})
