import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { nodeClassHash } from '../core/node-class/node-class-hash.ts'
import { nodePoolHash } from '../core/node-pool/node-pool-hash.ts'
import { fieldsOf, isAmong, type SchemaField, skeletonOf, valuesOf, withValue } from '../test/api/schema-fields.ts'
import { nodeClassSpec } from './node-class.ts'
import { nodePoolSpec } from './node-pool.ts'

type Json = Readonly<Record<string, unknown>>

/** A kind of object that nodes drift from. */
interface Kind {
  readonly schema: z.ZodType
  readonly hash: (spec: Json) => string
  /** Names of fields, each with the reason why its change replaces no node. */
  readonly withoutDrift: Readonly<Record<string, string>>
}

const nodeClass: Kind = {
  schema: nodeClassSpec,
  hash: nodeClassHash,
  withoutDrift: { tags: 'tags of VMs are changed in place' },
}
const nodePool: Kind = {
  schema: nodePoolSpec,
  hash: (spec) => nodePoolHash(spec['template'] as Parameters<typeof nodePoolHash>[0]),
  withoutDrift: {
    'template.spec.requirements': 'requirements are compared with the labels of nodes (core/drift/pool-drift.ts)',
    disruption: 'it says when nodes are replaced, not what they are',
    limits: 'existing nodes stay when a limit is lowered',
    weight: 'it chooses between pools for new nodes',
    replicas: 'it counts nodes',
  },
}

const samples = {
  cpuCFSQuotaPeriod: '50ms',
  cacheDuration: '2h',
  serveStaleDuration: '2h',
  timeAdded: '2026-01-01T00:00:00Z',
}

/** Returns the error in the decision about a field; undefined when it either changes the hash or is listed. */
function problemOf({ schema, hash, withoutDrift }: Kind, field: SchemaField): string | undefined {
  const base = skeletonOf(schema)
  const isHashed = valuesOf(field, samples).some((value) => hash(withValue(base, field, value)) !== hash(base))
  if (isHashed !== isAmong(field, Object.keys(withoutDrift))) return undefined
  return isHashed ? `${field.name} is hashed and listed` : `${field.name} is neither hashed nor listed`
}

const problemsOf = (kind: Kind) => fieldsOf(kind.schema).flatMap((field) => problemOf(kind, field) ?? [])

describe.each([
  ['AKSNodeClass', nodeClass, 70],
  ['NodePool', nodePool, 25],
])('each field of an %s', (_name, kind, least) => {
  it('is in the drift hash, or in the list of fields that do not drift', () => {
    expect(problemsOf(kind)).toEqual([])
    expect(fieldsOf(kind.schema).length).toBeGreaterThan(least)
  })

  it('that is listed is there, with a reason', () => {
    for (const [name, reason] of Object.entries(kind.withoutDrift)) {
      expect([name, fieldsOf(kind.schema).some((field) => isAmong(field, [name]))]).toEqual([name, true])
      expect(reason.length).toBeGreaterThan(10)
    }
  })
})

describe('an undecided field', () => {
  it('is found, wherever it is', () => {
    const toy = z.string().optional()
    const security = nodeClassSpec.shape.security.unwrap().extend({ toy })
    const schema = nodeClassSpec.extend({ toy, security, list: z.array(z.object({ toy })) })
    expect(problemsOf({ ...nodeClass, schema })).toEqual([
      'security.toy is neither hashed nor listed',
      'toy is neither hashed nor listed',
      'list.toy is neither hashed nor listed',
    ])
    expect(problemsOf({ ...nodePool, withoutDrift: {} })).toContain(
      'disruption.budgets.nodes is neither hashed nor listed',
    )
    expect(problemsOf({ ...nodeClass, withoutDrift: { tags: '', kubelet: '' } })).toContain(
      'kubelet.cpuCFSQuota is hashed and listed',
    )
  })
})
