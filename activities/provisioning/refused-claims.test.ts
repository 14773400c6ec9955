import { describe, expect, it, test } from 'vitest'
import { sampleMeta, samplePod, samplePool } from '../../test/samples/sample-objects.ts'
import { ApiError } from '../kubernetes/client/api-error.ts'
import { refusalBefore, refusalOf } from './claim-refusal.ts'
import { RefusedClaims } from './refused-claims.ts'

test.each([
  [422, 'NodeClaim.karpenter.sh "x" is invalid: spec.requirements: Invalid value', true],
  [400, 'the object provided is unrecognized', true],
  [413, 'Request entity too large: limit is 3145728', true],
  [500, 'etcdserver: request is too large', true],
  [
    500,
    'rpc error: code = ResourceExhausted desc = trying to send message larger than max (2900000 vs. 2097152)',
    true,
  ],
  [403, 'admission webhook "validate.example.com" denied the request: no', true],
  [
    403,
    'nodeclaims.karpenter.sh "x" is forbidden: ValidatingAdmissionPolicy "p" with binding "b" denied request: no',
    true,
  ],
  // A policy with `reason: Unauthorized`, and webhooks that choose their code.
  [
    401,
    'nodeclaims.karpenter.sh "x" is forbidden: ValidatingAdmissionPolicy "p" with binding "b" denied request: no',
    true,
  ],
  [409, 'admission webhook "validate.example.com" denied the request: no', true],
  [500, 'admission webhook "validate.example.com" denied the request: cannot tell', false],
  [403, 'nodeclaims.karpenter.sh is forbidden: User "joiner" cannot create resource "nodeclaims"', false],
  [401, 'Unauthorized', false],
  [404, 'the server could not find the requested resource', false],
  [409, 'nodeclaims.karpenter.sh "x" already exists', false],
  [429, 'too many requests', false],
  [500, 'Internal error occurred: failed calling webhook', false],
  [503, 'the server is currently unable to handle the request', false],
])('an answer of %i (%s) is about the object itself: %s', (code, message, isOfObject) => {
  expect(refusalOf(new ApiError(code, '', message))).toBe(isOfObject ? message : undefined)
})

test('an error of the transport says nothing about the object', () => {
  expect(refusalOf(new Error('connect ECONNREFUSED'))).toBeUndefined()
})

test('a NodeClaim that cannot be stored, or that its CRD refuses, is not sent', () => {
  const body = (...values: readonly string[]) => ({
    metadata: { name: 'general-abcde' },
    spec: {
      nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
      requirements: [{ key: 'example.com/team', operator: 'In', values }],
    },
  })
  const values = (count: number) => Array.from({ length: count }, (_, at) => `${'x'.repeat(50)}-${at}`)
  expect(refusalBefore(body(...values(10_000)))).toBeUndefined()
  expect(refusalBefore(body(...values(20_000)))).toMatch(/has 11\d{5} characters of JSON, and may have 1000000/)
  expect(refusalBefore(body('red team'))).toContain('spec.requirements[0]')
})

describe('pods whose NodeClaim was refused', () => {
  const web = ['web-1', 'web-2'].map((name) => samplePod(name))
  const odd = samplePod('odd', { nodeSelector: { zone: 'x' } })
  const claim = (...pods: readonly ReturnType<typeof samplePod>[]) => ({ nodePool: 'general', pods }) as never
  const providersOf = (generation: number) => {
    const pool = { ...samplePool('general'), metadata: sampleMeta('general', { generation }) }
    return { cache: { nodePools: new Map([['general', pool]]), nodeClasses: new Map() } } as never
  }
  const providers = providersOf(1)

  it('are planned apart at once when they shared it, and wait when they did not share it', () => {
    const refused = new RefusedClaims()
    refused.refuse(providers, claim(...web, odd), { message: 'no', now: 0 })
    expect(web.map((pod) => refused.isWaiting(providers, pod, 0))).toEqual([false, false])
    const groups = refused.apart(providers, [...web, odd, samplePod('other', { requests: { cpu: 9 } })])
    expect([...groups.keys()]).toEqual(['default/web-1', 'default/web-2', 'default/odd'])
    expect(new Set(groups.values()).size).toBe(2)

    refused.accept(claim(...web))
    refused.refuse(providers, claim(odd), { message: 'no', now: 100 })
    expect([...refused.apart(providers, [...web, odd]).keys()]).toEqual(['default/odd'])
    expect([100, 10_099, 10_100].map((at) => refused.isWaiting(providers, odd, at))).toEqual([true, true, false])
  })

  it('wait twice as long each time, up to ten minutes; claims of one pass count once', () => {
    const refused = new RefusedClaims()
    const waits: number[] = []
    for (let turn = 0, now = 0; turn < 8; turn++) {
      for (const pod of web) refused.refuse(providers, claim(pod), { message: 'no', now: now })
      const from = now
      while (refused.isWaiting(providers, web[0] as never, now)) now += 1000
      waits.push((now - from) / 1000)
    }
    expect(waits).toEqual([10, 20, 40, 80, 160, 320, 600, 600])
  })

  it('wait no longer when their spec, the NodePool or its class changes, and then the waits start again', () => {
    const refused = new RefusedClaims()
    refused.refuse(providers, claim(odd), { message: 'no', now: 0 })
    refused.refuse(providers, claim(odd), { message: 'no', now: 10_000 })
    expect(
      refused.isWaiting(providers, { ...odd, metadata: sampleMeta('odd-2', { namespace: 'default' }) }, 20_000),
    ).toBe(true)
    expect(refused.isWaiting(providers, samplePod('odd', { nodeSelector: { zone: 'y' } }), 20_000)).toBe(false)
    const edited = providersOf(2)
    expect(refused.isWaiting(edited, odd, 20_000)).toBe(false)
    refused.refuse(edited, claim(odd), { message: 'no', now: 20_000 })
    expect([29_999, 30_000].map((at) => refused.isWaiting(edited, odd, at))).toEqual([true, false])
  })
})
