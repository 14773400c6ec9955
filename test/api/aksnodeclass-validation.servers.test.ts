import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { chosenKubernetes } from '../../deploy/local/server-binaries.ts'
import { patient } from '../runner/patience.ts'
import { readVectors } from '../vectors/packs.ts'
import { DryRunServer, sortedOnce, type Verdict } from './dry-run-server.ts'

interface FieldError {
  readonly field: string
}

interface SpecCase {
  readonly name: string
  readonly spec: unknown
  readonly valid: boolean
  readonly stored?: unknown
  readonly errors?: readonly FieldError[]
}

interface KeyVerdict {
  readonly valid: boolean
  readonly errors: readonly FieldError[] | null
}

const nodeClassRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' }
const entry = (key: string) => ({ requirements: [{ key, operator: 'In', values: ['x'] }] })

/** A valid pool, with more in its template. */
const pool = (template: { readonly metadata?: unknown; readonly spec?: Readonly<Record<string, unknown>> }) => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  spec: { template: { ...template, spec: { nodeClassRef, requirements: [], ...template.spec } } },
})

/** Where a label key may stand, by the name that the cases have for the place. */
const places = {
  nodePoolRequirement: (key: string) => pool({ spec: entry(key) }),
  nodePoolTemplateLabel: (key: string) => pool({ metadata: { labels: { [key]: 'x' } } }),
  nodeClaimRequirement: (key: string) => ({
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    spec: { nodeClassRef, ...entry(key) },
  }),
  nodeOverlayRequirement: (key: string) => ({
    apiVersion: 'karpenter.sh/v1alpha1',
    kind: 'NodeOverlay',
    spec: entry(key),
  }),
} as const

type KeyCase = { readonly name: string } & Readonly<Record<keyof typeof places, KeyVerdict>>

const crdPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/aksnodeclasses.karpenter.azure.com'

interface TagsCrd {
  readonly spec: {
    readonly versions: readonly {
      readonly schema: {
        readonly openAPIV3Schema: {
          readonly properties: { readonly spec: { readonly properties: { readonly tags: Record<string, unknown> } } }
        }
      }
    }[]
  }
}

const fieldsOf = (errors: readonly FieldError[] | null | undefined) =>
  sortedOnce((errors ?? []).map(({ field }) => field))

describe('CRDs on a real API server', () => {
  let server: DryRunServer

  beforeAll(async () => {
    server = await DryRunServer.start()
  })

  afterAll(async () => {
    await server.stop()
  })

  it('accept, refuse and default AKSNodeClasses of both versions as upstream does', async () => {
    const { cases, versions } = readVectors('azure/aksnodeclass-validation') as {
      readonly cases: readonly SpecCase[]
      readonly versions: readonly string[]
    }
    const wrong: unknown[] = []
    let verdicts = 0
    const stored = await server.store({
      apiVersion: 'karpenter.azure.com/v1beta1',
      kind: 'AKSNodeClass',
      metadata: { name: 'old' },
    })
    for (const version of versions) {
      const apiVersion = `karpenter.azure.com/${version}`
      for (const { name, spec, valid, stored: defaulted, errors } of cases) {
        const expected = valid ? { accepted: true, spec: defaulted } : { accepted: false, fields: fieldsOf(errors) }
        const answers = [
          await server.create({ apiVersion, kind: 'AKSNodeClass', metadata: { name: 'new' }, spec }),
          await server.update({ ...stored, apiVersion, spec }),
        ]
        for (const answer of answers) {
          verdicts += 1
          const brief = answer.accepted ? { accepted: true, spec: answer.stored.spec } : answer
          if (!matches(brief, expected)) wrong.push({ name, version, answer: brief, expected })
        }
      }
    }
    expect(wrong).toEqual([])
    console.log(
      `${cases.length} AKSNodeClass cases: ${verdicts} verdicts, created and updated in ${versions.join(' and ')}`,
    )
  })

  it('accept as many tags as are judged later, and no twins but those of objects that are older than the rule', async () => {
    const classOf = (name: string, tags: Readonly<Record<string, string>>) => ({
      apiVersion: 'karpenter.azure.com/v1beta1',
      kind: 'AKSNodeClass',
      metadata: { name },
      spec: { tags },
    })
    const numbered = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`t${at}`, 'x']))
    const longest = Object.fromEntries(
      Array.from({ length: 50 }, (_, at) => [String(at).padStart(512, 'k'), 'v'.repeat(256)]),
    )
    const twins = { Owner: 'a', owner: 'b' }
    const isAccepted = async (tags: Readonly<Record<string, string>>) =>
      (await server.create(classOf('tagged', tags))).accepted
    const cases = [numbered(60), numbered(100), longest, numbered(101), twins, { 'a/b': 'x', A_B: 'x' }]
    const verdicts: boolean[] = []
    for (const tags of cases) verdicts.push(await isAccepted(tags))
    expect(verdicts).toEqual([true, true, true, false, false, false])

    const before = await server.operator.api<TagsCrd>('GET', crdPath)
    const { versions } = structuredClone(before).spec
    for (const { schema } of versions) {
      const { tags } = schema.openAPIV3Schema.properties.spec.properties
      tags['x-kubernetes-validations'] = []
    }
    await server.operator.api('PATCH', crdPath, { spec: { versions } })
    await vi.waitFor(async () => expect(await isAccepted(twins)).toBe(true), { timeout: patient(30_000) })
    const old = await server.store(classOf('older', twins))
    await server.operator.api('PATCH', crdPath, { spec: { versions: before.spec.versions } })
    await vi.waitFor(async () => expect(await isAccepted(twins)).toBe(false), { timeout: patient(30_000) })
    const conditions = [
      {
        type: 'Ready',
        status: 'False',
        reason: 'TagsInvalid',
        message: '',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      },
    ]
    const answers = [
      await server.update({ ...old, metadata: { ...old.metadata, labels: { a: 'b' } } }),
      await server.update({ ...old, spec: { tags: twins, maxPods: 50 } }),
      await server.update({ ...old, status: { conditions } }, '/status'),
      await server.update({ ...old, spec: { tags: { owner: 'b' } } }),
      await server.update({ ...old, spec: { tags: { ...twins, team: 'a' } } }),
    ]
    // In Kubernetes 1.30 a status does not ratchet.
    const isStatusTaken = chosenKubernetes() === 'newest'
    expect(answers.map(({ accepted }) => accepted)).toEqual([true, true, isStatusTaken, true, false])
  })

  it('restrict label keys as upstream does', async () => {
    const { cases } = readVectors('azure/label-key-validation') as { readonly cases: readonly KeyCase[] }
    const wrong: unknown[] = []
    let verdicts = 0
    for (const [place, objectWith] of Object.entries(places)) {
      const metadata = { name: 'old' }
      // A NodeClaim never changes, whatever its keys.
      const old =
        place === 'nodeClaimRequirement'
          ? undefined
          : await server.store({ ...objectWith('plain'), metadata: { name: place.toLowerCase() } })
      for (const one of cases) {
        const { valid, errors } = one[place as keyof typeof places]
        const expected = valid ? { accepted: true } : { accepted: false, fields: fieldsOf(errors) }
        const object = objectWith(one.name)
        const answers: Verdict[] = [await server.create({ ...object, metadata })]
        if (old?.metadata !== undefined) answers.push(await server.update({ ...object, metadata: old.metadata }))
        for (const answer of answers) {
          verdicts += 1
          const brief = answer.accepted ? { accepted: true } : answer
          if (!matches(brief, expected)) wrong.push({ key: one.name, place, answer: brief, expected })
        }
      }
    }
    expect(wrong).toEqual([])
    console.log(`${cases.length} label keys: ${verdicts} verdicts in ${Object.keys(places).length} places`)
  })
})

function matches(answer: unknown, expected: unknown): boolean {
  const sorted = (_: string, value: unknown) =>
    value !== null && typeof value === 'object' && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value
  return JSON.stringify(answer, sorted) === JSON.stringify(expected, sorted)
}
