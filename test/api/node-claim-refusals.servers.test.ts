import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { refusals } from '../../activities/provisioning/claim-refusal.ts'
import { errorText } from '../../core/values/field-error.ts'
import { ApiServer } from '../clusters/api-server.ts'

interface Body extends Readonly<Record<string, unknown>> {
  readonly metadata: object
  readonly spec: object
}

let server: ApiServer

beforeAll(async () => {
  server = await ApiServer.start()
})

afterAll(() => server?.stop())

const nodeClassRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' }
const claim = (spec: object, metadata: object = {}): Body => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodeClaim',
  metadata: { name: 'general-abcde', ...metadata },
  spec: { nodeClassRef, requirements: [], ...spec },
})
const requiring = (key: string, operator: string, values?: readonly unknown[], minValues?: number) =>
  claim({ requirements: [{ key, operator, ...(values === undefined ? {} : { values }), minValues }] })

/** Whether the API server would create it, and what it says if not. */
async function verdict(body: Body): Promise<{ readonly accepted: boolean; readonly why?: string | undefined }> {
  const path = '/apis/karpenter.sh/v1/nodeclaims?dryRun=All'
  const { status, answer } = await server.call({ method: 'POST', path, body })
  if (status < 300) return { accepted: true }
  if (status !== 422 && status !== 400) throw new Error(`${status}: ${answer.message}`)
  return { accepted: false, why: answer.message }
}

async function expectAlike(body: Body): Promise<boolean> {
  const { accepted, why } = await verdict(body)
  const found = refusals(body).map(errorText)
  expect({ accepted: found.length === 0, found, why, body }).toMatchObject({ accepted })
  return accepted
}

const owner = { apiVersion: 'karpenter.sh/v1', kind: 'NodePool', name: 'general', uid: 'u', blockOwnerDeletion: true }

describe('the check before a NodeClaim is created says what the API server says', () => {
  test.each<[string, Body, boolean]>([
    ['a claim', claim({}), true],
    ['a Hyper-V generation', requiring('karpenter.azure.com/sku-hyperv-generation', 'In', ['2']), false],
    ['a number below 0', requiring('node.kubernetes.io/windows-build', 'Lte', ['-1']), false],
    ['the number 0', requiring('node.kubernetes.io/windows-build', 'Lte', ['0']), true],
    ['a number with a sign', requiring('a', 'Gt', ['+7']), true],
    ['minus zero', requiring('a', 'Gt', ['-0']), true],
    ['the largest number', requiring('a', 'Gt', ['9223372036854775807']), true],
    ['a larger number', requiring('a', 'Gt', ['9223372036854775808']), false],
    ['two numbers', requiring('a', 'Lt', ['1', '2']), false],
    ['no number', requiring('a', 'Lt', ['x']), false],
    ['no values', requiring('a', 'In', []), false],
    ['values that are missing', requiring('a', 'In'), false],
    ['a value with a line break', requiring('a', 'In', ['x\nKUBELET_FLAGS=']), true],
    ['a null among the fields', requiring('a', 'In', ['x']), true],
    ['too few values', requiring('a', 'In', ['x'], 2), false],
    ['a minimum of 51', requiring('a', 'Exists', undefined, 51), false],
    ['its NodePool', requiring('karpenter.sh/nodepool', 'In', ['general']), true],
    ["a key of Karpenter's", requiring('karpenter.sh/initialized', 'In', ['true']), false],
    ['a domain alone', requiring('karpenter.sh', 'Exists'), false],
    ['a domain that ends so', requiring('notkarpenter.sh/a', 'Exists'), false],
    ['a hostname', requiring('kubernetes.io/hostname', 'In', ['n']), false],
    ['an operator', requiring('a', 'Like', ['x']), false],
    ['100 requirements', claim({ requirements: entries(100) }), true],
    ['101 requirements', claim({ requirements: entries(101) }), false],
    ['a long key', requiring(`${'a'.repeat(250)}/${'b'.repeat(70)}`, 'Exists'), false],
    ['a taint', claim({ taints: [{ key: 'a', value: 'b/c', effect: 'NoSchedule' }] }), true],
    ['a taint without an effect', claim({ taints: [{ key: 'a' }] }), false],
    ['a time', claim({ taints: [{ key: 'a', effect: 'NoExecute', timeAdded: '2026-01-31T12:00:00.5+01:00' }] }), true],
    [
      'a day that does not exist',
      claim({ taints: [{ key: 'a', effect: 'NoExecute', timeAdded: '2026-02-30T12:00:00Z' }] }),
      false,
    ],
    ['requests', claim({ resources: { requests: { cpu: '1500m', memory: 42, 'example.com/a b': '1e3' } } }), true],
    ['requests of __proto__', claim({ resources: { requests: { ['__proto__']: '1' } } }), true],
    ['a wrong quantity of __proto__', claim({ resources: { requests: { ['__proto__']: '' } } }), false],
    ['a wrong quantity', claim({ resources: { requests: { cpu: '1 core' } } }), false],
    ['an unknown field', claim({ anything: true }), true],
    ['a duration', claim({ expireAfter: '720h30m', terminationGracePeriod: '48h' }), true],
    ['a wrong duration', claim({ terminationGracePeriod: 'Never' }), false],
    ['no spec', { ...claim({}), spec: null as never }, false],
    ['no requirements', { ...claim({}), spec: { nodeClassRef } }, false],
    ['no node class', claim({ nodeClassRef: { ...nodeClassRef, name: '' } }), false],
    [
      'all of the metadata',
      claim(
        {},
        { labels: { 'a.b/c': '' }, annotations: { 'A.b/C': '\n' }, finalizers: ['a.b/c'], ownerReferences: [owner] },
      ),
      true,
    ],
    ['a name', claim({}, { name: 'General' }), false],
    ['a name with dots', claim({}, { name: 'a.b' }), true],
    ['a long name', claim({}, { name: 'a'.repeat(254) }), false],
    ['a label', claim({}, { labels: { a: 'x\ny' } }), false],
    ['a label key', claim({}, { labels: { 'a b': 'x' } }), false],
    ['an annotation key', claim({}, { annotations: { 'a b': 'x' } }), false],
    ['long annotations', claim({}, { annotations: { a: 'ö'.repeat(131_100) } }), false],
    ['annotations that are just not too long', claim({}, { annotations: { a: 'x'.repeat(262_143) } }), true],
    ['a finalizer', claim({}, { finalizers: ['a b'] }), false],
    ['an owner without a UID', claim({}, { ownerReferences: [{ ...owner, uid: '' }] }), false],
  ])('%s', async (_, body, accepted) => {
    expect(await expectAlike(body)).toBe(accepted)
  })

  test('of random NodeClaims', async () => {
    const count = { accepted: 0, refused: 0 }
    await fc.assert(
      fc.asyncProperty(randomClaim(), async (body) => {
        count[(await expectAlike(body)) ? 'accepted' : 'refused'] += 1
      }),
      { numRuns: 1500 },
    )
    console.log(`${count.accepted} random NodeClaims accepted and ${count.refused} refused by both`)
    expect(Math.min(count.accepted, count.refused)).toBeGreaterThan(150)
  })
})

function entries(count: number): readonly object[] {
  return Array.from({ length: count }, (_, at) => ({ key: `k${at}`, operator: 'Exists' }))
}

/** Mostly of what occurs in NodeClaims, so that some are accepted; texts of any kind between. */
function randomClaim(): fc.Arbitrary<Body> {
  const rare = fc.oneof(
    { weight: 40, arbitrary: fc.constantFrom('a', 'b-1', 'x.y') },
    { weight: 1, arbitrary: anyText() },
  )
  const key = fc.oneof(
    {
      weight: 12,
      arbitrary: fc.constantFrom('a', 'example.com/a', 'topology.kubernetes.io/zone', 'karpenter.sh/capacity-type'),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        'agentpool',
        'kubernetes.azure.com/mode',
        'kubernetes.azure.com/role',
        'x.karpenter.sh/a',
        'A.b/c',
        'a//b',
        '/a',
        '',
      ),
    },
    { weight: 1, arbitrary: anyText() },
  )
  const listed = fc.record({
    key,
    operator: fc.oneof(
      { weight: 30, arbitrary: fc.constantFrom('In', 'NotIn', 'Exists') },
      { weight: 1, arbitrary: anyText() },
    ),
    values: fc.array(fc.oneof(rare, anyText()), { minLength: 1, maxLength: 3 }),
  })
  const bounded = fc.record({
    key,
    operator: fc.constantFrom('Gt', 'Lt', 'Gte', 'Lte'),
    values: fc.oneof(
      { weight: 12, arbitrary: fc.tuple(fc.nat().map(String)) },
      { weight: 1, arbitrary: fc.array(fc.oneof(anyText(), fc.bigInt().map(String)), { maxLength: 2 }) },
    ),
  })
  const taint = fc.record(
    { key, value: rare, effect: fc.constantFrom('NoSchedule', 'NoSchedule', 'NoExecute', 'Never') },
    { requiredKeys: ['key', 'effect'] },
  )
  const spec = fc.record(
    {
      requirements: fc.array(fc.oneof(listed, bounded), { maxLength: 3 }),
      taints: fc.array(taint, { maxLength: 1 }),
      resources: fc.record({
        requests: fc.dictionary(rare, fc.constantFrom('1', '500m', '4Gi', '.5', '1e3', '1Kb', ''), { maxKeys: 1 }),
      }),
      expireAfter: fc.constantFrom('Never', '720h', '1h30m', '1d'),
    },
    { requiredKeys: ['requirements'] },
  )
  const metadata = fc.record(
    {
      name: rare,
      labels: fc.dictionary(rare, rare, { maxKeys: 2 }),
      annotations: fc.dictionary(rare, anyText(), { maxKeys: 1 }),
    },
    { requiredKeys: ['name'] },
  )
  return fc.tuple(spec, metadata).map(([one, two]) => claim(one, two))
}

/** What the wire can carry: lone surrogates it cannot. */
function anyText(): fc.Arbitrary<string> {
  return fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 12 }),
    fc.constantFrom(
      'x\ny',
      ' x',
      'x ',
      '-x',
      'x'.repeat(63),
      'x'.repeat(64),
      '$(reboot)',
      '`a`',
      'ä',
      '\u0000',
      '__proto__',
      'constructor',
    ),
  )
}
