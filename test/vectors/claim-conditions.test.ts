import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { consolidatableAt } from '../../core/disruption/consolidatable.ts'
import { nodeClaimDrift } from '../../core/drift/pool-drift.ts'
import { coreWellKnownLabels, labels } from '../../core/labels.ts'
import { clusterObjects, type Json } from '../../starter/simulate/cluster-objects.ts'
import { instanceTypes, type TypeJson } from '../../starter/simulate/instance-types.ts'

const visible = new URL('../../../shared/vectors/disruption/visible/', import.meta.url)

interface Conditions {
  readonly drifted: string | null
  readonly consolidatable: boolean
}

interface Scenario {
  readonly name: string
  readonly now: string
  readonly options: { readonly reconcileConditions?: boolean }
  readonly instanceTypes: readonly TypeJson[]
  readonly objects: readonly Json[]
  readonly expected: { readonly conditions?: Readonly<Record<string, Conditions>> }
}

function scenarios(): readonly Scenario[] {
  if (!existsSync(visible)) return []
  return readdirSync(visible)
    .map((name) => JSON.parse(readFileSync(new URL(name, visible), 'utf8')) as Scenario)
    .filter(({ options }) => options.reconcileConditions === true)
}

/** Conditions by NodeClaim, as the objects of a scenario say they should be. Its provider reports no drift. */
function conditionsOf({ now: text, objects, instanceTypes: types }: Scenario): Record<string, Conditions> {
  const now = Date.parse(text)
  const reservationIdLabel = 'karpenter.test.sh/reservation-id'
  const { nodeClaims, nodePools } = clusterObjects(objects)
  const offered = instanceTypes(types)
  return Object.fromEntries(
    nodeClaims.map((claim) => {
      const nodePool = nodePools.find(({ metadata }) => metadata.name === claim.metadata.labels[labels.nodePool])
      const drift = nodeClaimDrift({
        claim,
        nodePool,
        instanceTypes: offered,
        now,
        reservationIdLabel,
        wellKnownLabels: new Set([...coreWellKnownLabels, reservationIdLabel]),
        provider: { kind: 'none' },
      })
      const at = nodePool && consolidatableAt(claim, nodePool)
      const conditions: Conditions = {
        drifted: drift.kind === 'drifted' ? drift.reason : null,
        consolidatable: at !== undefined && at <= now,
      }
      return [claim.metadata.name, conditions] as const
    }),
  )
}

describe.skipIf(!existsSync(visible))("upstream's conditions of NodeClaims", () => {
  it.each(scenarios().map((scenario) => [scenario.name, scenario] as const))('%s', (_, scenario) => {
    expect(scenario.expected.conditions).toBeDefined()
    expect(conditionsOf(scenario)).toEqual(scenario.expected.conditions)
  })

  it('were compared', () => expect(scenarios().length).toBeGreaterThan(0))
})
