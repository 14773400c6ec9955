import { readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { convert, toNewest } from './convert.ts'
import type { Json } from './residue.ts'

const newVersion = 'karpenter.sh/v1'
const oldVersion = 'karpenter.sh/v1beta1'
const kubelet = 'compatibility.karpenter.sh/v1beta1-kubelet-conversion'
const nodeClass = 'compatibility.karpenter.sh/v1beta1-nodeclass-reference'

function to(version: string, object: Json): Json {
  const result = convert(object, version)
  if (result.kind === 'refused') throw new Error(`${result.path} ${result.message}`)
  return result.object
}

const text = fc.string({ maxLength: 6 })
const maybe = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined })
const duration = fc.constantFrom('0s', '30s', '5m', '720h', 'Never')
const some = (fields: Record<string, fc.Arbitrary<unknown>>) => fc.record(fields, { requiredKeys: [] })
const annotations = fc.dictionary(
  fc.oneof(text, fc.constantFrom(kubelet, nodeClass, '__proto__')),
  fc.oneof(
    text,
    fc.constantFrom(
      '{"maxPods":5}',
      '{ "maxPods": 5 }',
      '[]',
      '{"name":"default"}',
      '{"kind":"AKSNodeClass","name":"a"}',
    ),
  ),
  // The API server omits an empty list of annotations.
  { minKeys: 1, maxKeys: 3 },
)
const requirement = fc.record({
  key: text,
  operator: fc.constantFrom('In', 'Exists', 'Gt', 'Lt', 'Gte', 'Lte'),
  values: fc.array(fc.constantFrom('0', '1', '17', 'amd64'), { maxLength: 2 }),
})
const name = fc.constantFrom('default', 'a')
const budget = some({ nodes: fc.constantFrom('10%', '5'), reasons: fc.array(fc.constantFrom('Empty', 'Drifted')) })
const newNode = {
  requirements: fc.array(requirement, { maxLength: 3 }),
  nodeClassRef: fc.record({
    group: fc.constantFrom('karpenter.azure.com', 'example.com'),
    kind: fc.constantFrom('AKSNodeClass', 'Other'),
    name,
  }),
  terminationGracePeriod: duration,
  expireAfter: duration,
  taints: fc.array(fc.record({ key: text, effect: text }), { maxLength: 2 }),
}
const oldNode = {
  requirements: fc.array(requirement, { maxLength: 3 }),
  nodeClassRef: fc.record(
    {
      apiVersion: fc.constantFrom('karpenter.azure.com/v1alpha2', 'karpenter.azure.com/v1beta1', ''),
      kind: text,
      name,
    },
    { requiredKeys: ['name'] },
  ),
  kubelet: some({ maxPods: fc.nat(250), systemReserved: fc.dictionary(text, text), cpuCFSQuota: fc.boolean() }),
  resources: fc.constant({}),
}
const object = (
  version: string,
  kind: string,
  spec: fc.Arbitrary<unknown>,
  status: Record<string, fc.Arbitrary<unknown>>,
) =>
  fc
    .record(
      {
        apiVersion: fc.constant(version),
        kind: fc.constant(kind),
        metadata: some({ name, annotations, labels: fc.dictionary(text, text, { maxKeys: 2 }) }),
        spec,
        status: some(status),
      },
      { requiredKeys: ['apiVersion', 'kind', 'metadata'] },
    )
    .map((value) => JSON.parse(JSON.stringify(value)) as Json)

const pool = (
  version: string,
  node: Record<string, fc.Arbitrary<unknown>>,
  disruption: Record<string, fc.Arbitrary<unknown>>,
) =>
  object(
    version,
    'NodePool',
    some({
      template: some({ metadata: some({ labels: fc.dictionary(text, text) }), spec: some(node) }),
      disruption: some({ consolidateAfter: duration, budgets: fc.array(budget, { maxLength: 2 }), ...disruption }),
      limits: fc.dictionary(text, fc.nat(), { maxKeys: 2 }),
      weight: fc.nat(100),
      ...(version === newVersion ? { replicas: fc.nat(5) } : {}),
    }),
    { nodes: fc.nat(9), nodeClassObservedGeneration: fc.nat(9), resources: fc.dictionary(text, text, { maxKeys: 1 }) },
  )

const newObjects = fc.oneof(
  pool(newVersion, newNode, {
    consolidationPolicy: fc.constantFrom('WhenEmpty', 'WhenEmptyOrUnderutilized', 'Balanced'),
  }),
  object(newVersion, 'NodeClaim', some(newNode), { lastPodEventTime: text, nodeName: text }),
)
const oldObjects = fc.oneof(
  pool(oldVersion, oldNode, {
    consolidationPolicy: fc.constantFrom('WhenEmpty', 'WhenUnderutilized'),
    expireAfter: duration,
  }),
  object(oldVersion, 'NodeClaim', some(oldNode), { nodeName: text }),
)

describe('conversion there and back', () => {
  it('gives the same v1 object, and again on repetition', () => {
    fc.assert(
      fc.property(newObjects, (given) => {
        const old = to(oldVersion, given)
        const back = to(newVersion, old)
        expect(back).toEqual(given)
        expect(to(oldVersion, back)).toEqual(old)
      }),
      { numRuns: 1000 },
    )
  })

  it('gives the same v1beta1 object, and again on repetition', () => {
    fc.assert(
      fc.property(oldObjects, (given) => {
        const converted = to(newVersion, given)
        const back = to(oldVersion, converted)
        expect(back).toEqual(given)
        expect(to(newVersion, back)).toEqual(converted)
      }),
      { numRuns: 1000 },
    )
  })

  it('changes nothing of the metadata but annotations', () => {
    fc.assert(
      fc.property(fc.oneof(newObjects, oldObjects), maybe(text), (given, uid) => {
        const source = { ...given, metadata: { ...(given['metadata'] as Json), uid: uid ?? '1' } }
        const other = to(given['apiVersion'] === newVersion ? oldVersion : newVersion, source)
        const bare = (value: Json) => ({ ...(value['metadata'] as Json), annotations: undefined })
        expect(bare(other)).toEqual(bare(source))
      }),
    )
  })
})

const oldPool = (spec: Json, disruption?: Json): Json => ({
  apiVersion: oldVersion,
  kind: 'NodePool',
  metadata: { name: 'a' },
  spec: { template: { spec }, ...(disruption === undefined ? {} : { disruption }) },
})
const newPool = (spec: Json, disruption: Json, more: Json = {}): Json => ({
  apiVersion: newVersion,
  kind: 'NodePool',
  metadata: { name: 'a' },
  spec: { template: { spec }, disruption, ...more },
})
const spec = (value: Json) => value['spec'] as { template: { spec: Json }; disruption: Json } & Json
const noted = (value: Json) => ((value['metadata'] as Json)['annotations'] ?? {}) as Record<string, string>

describe('from v1beta1', () => {
  it.each([
    [
      { consolidationPolicy: 'WhenUnderutilized' },
      { consolidationPolicy: 'WhenEmptyOrUnderutilized', consolidateAfter: '0s' },
    ],
    [
      { consolidationPolicy: 'WhenUnderutilized', consolidateAfter: 'Never' },
      { consolidationPolicy: 'WhenEmptyOrUnderutilized', consolidateAfter: 'Never' },
    ],
    [
      { consolidationPolicy: 'WhenEmpty', consolidateAfter: '30s' },
      { consolidationPolicy: 'WhenEmpty', consolidateAfter: '30s' },
    ],
    [{ consolidationPolicy: 'WhenEmpty' }, { consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' }],
  ])('disruption %j becomes %j', (old, expected) => {
    expect(spec(to(newVersion, oldPool({}, old))).disruption).toEqual(expected)
  })

  it('expireAfter moves to the template', () => {
    const { template, disruption } = spec(to(newVersion, oldPool({ requirements: [] }, { expireAfter: '5h' })))
    expect(template.spec).toEqual({ requirements: [], expireAfter: '5h' })
    expect(disruption).toEqual({})
  })

  it.each([
    [{ name: 'x' }, { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'x' }],
    [
      { apiVersion: 'example.com/v1', kind: 'Other', name: 'x' },
      { group: 'example.com', kind: 'Other', name: 'x' },
    ],
  ])('nodeClassRef %j becomes %j, and is kept as written', (nodeClassRef, expected) => {
    const converted = to(newVersion, oldPool({ nodeClassRef }))
    expect(spec(converted).template.spec['nodeClassRef']).toEqual(expected)
    expect(JSON.parse(noted(converted)[nodeClass] ?? '')).toEqual(nodeClassRef)
  })

  it('kubelet travels where upstream keeps it', () => {
    const converted = to(newVersion, oldPool({ kubelet: { maxPods: 30 } }))
    expect(noted(converted)).toEqual({ [kubelet]: '{"maxPods":30}' })
    expect(spec(converted).template.spec).toEqual({})
  })

  it('a NodeClaim never expires by a default that v1beta1 did not have', () => {
    const claim = { apiVersion: oldVersion, kind: 'NodeClaim', metadata: { name: 'a' }, spec: { requirements: [] } }
    expect(spec(to(newVersion, claim))).toEqual({ requirements: [], expireAfter: 'Never' })
  })
})

describe('edits in v1beta1 of what was v1', () => {
  const balanced = newPool(
    { terminationGracePeriod: '1h' },
    { consolidationPolicy: 'Balanced', consolidateAfter: '5m' },
  )

  it('win over what the annotation holds, and the rest comes back', () => {
    const old = to(oldVersion, balanced)
    const edited = {
      ...old,
      spec: { ...spec(old), disruption: { consolidationPolicy: 'WhenEmpty', consolidateAfter: '0s' } },
    }
    expect(spec(to(newVersion, edited)).disruption).toEqual({
      consolidationPolicy: 'WhenEmpty',
      consolidateAfter: '0s',
    })
    expect(spec(to(newVersion, edited)).template.spec).toEqual({ terminationGracePeriod: '1h' })
  })

  it('find a budget again that has moved', () => {
    const given = newPool({}, { budgets: [{ nodes: '1', reasons: ['Drifted'] }] })
    const old = to(oldVersion, given)
    const edited = { ...old, spec: { ...spec(old), disruption: { budgets: [{ nodes: '5' }, { nodes: '1' }] } } }
    expect(spec(to(newVersion, edited)).disruption['budgets']).toEqual([
      { nodes: '5' },
      { nodes: '1', reasons: ['Drifted'] },
    ])
  })

  it('of an annotation by hand leave the object readable', () => {
    const old = to(oldVersion, balanced)
    const spoilt = { ...old, metadata: { name: 'a', annotations: { 'joiner.sh/v1-fields': '[{"path":1}, 7' } } }
    expect(spec(to(newVersion, spoilt)).disruption['consolidateAfter']).toBe('0s')
  })

  it('a node class changed in v1 is what v1beta1 shows', () => {
    const converted = to(newVersion, oldPool({ nodeClassRef: { name: 'x' } }))
    const edited = {
      ...converted,
      spec: { template: { spec: { nodeClassRef: { group: 'g', kind: 'K', name: 'y' } } } },
    }
    expect(spec(to(oldVersion, edited)).template.spec['nodeClassRef']).toMatchObject({ kind: 'K', name: 'y' })
  })
})

it.each([
  [{ apiVersion: newVersion, kind: 'Node' }, 'kind'],
  [{ apiVersion: 'karpenter.sh/v1alpha5', kind: 'NodePool' }, 'apiVersion'],
  [{ apiVersion: newVersion, kind: 'NodePool', spec: { template: { spec: [] } } }, 'spec.template.spec'],
])('%j is refused for its field %s', (object, path) => {
  expect(convert(object, oldVersion)).toMatchObject({ kind: 'refused', path })
})

const manifests = new URL('../../test/manifests/', import.meta.url)

it('the AKS install guide means what karpenter-v1.yaml says', () => {
  const read = (file: string) =>
    parseAllDocuments(readFileSync(new URL(file, manifests), 'utf8')).map((each) => each.toJS() as Json)
  const [guide = {}] = read('aks-install-guide.yaml')
  const [today = {}] = read('karpenter-v1.yaml')
  const result = toNewest(guide)
  if (result?.kind !== 'converted') throw new Error('not converted')
  const [converted, expected] = [spec(result.object), spec(today)]
  expect(converted.template.spec['nodeClassRef']).toEqual(expected.template.spec['nodeClassRef'])
  expect(converted.disruption['consolidationPolicy']).toBe(expected.disruption['consolidationPolicy'])
  expect(converted.disruption['consolidateAfter']).toBe('0s')
  expect(converted.template.spec['expireAfter']).toBe('Never')
  expect(converted['limits']).toEqual(expected['limits'])
  expect(result.object['apiVersion']).toBe(today['apiVersion'])
})
