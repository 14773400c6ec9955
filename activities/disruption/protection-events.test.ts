import { pino } from 'pino'
import { expect, it } from 'vitest'
import { ClusterCache } from '../kubernetes/cache/cluster-cache.ts'
import type { EventInput } from '../kubernetes/event-recorder.ts'
import { publishProtections } from './protection-events.ts'

const start = Date.UTC(2026, 0, 1)
const startTime = new Date(start).toISOString()
let version = 0

function setting() {
  const cache = new ClusterCache(undefined as never, pino({ level: 'silent' }))
  const events: EventInput[] = []
  const put = (kind: 'Node' | 'NodeClaim' | 'Pod', name: string, metadata: object, rest: object) => {
    version += 1
    const meta = { name, uid: name, resourceVersion: String(version), creationTimestamp: startTime, ...metadata }
    cache.upsert(kind, { metadata: meta, ...rest })
  }
  put('Node', 'n1', { labels: { 'karpenter.sh/nodepool': 'default' } }, {})
  put('Node', 'other', {}, {})
  const pod = (value: string | undefined, nodeName = 'n1', phase = 'Running') =>
    put(
      'Pod',
      'p',
      { namespace: 'default', annotations: value === undefined ? {} : { 'karpenter.sh/do-not-disrupt': value } },
      { spec: { nodeName, containers: [] }, status: { phase, startTime } },
    )
  const pass = (ms: number) => {
    events.length = 0
    publishProtections({
      cache,
      events: { record: (event: EventInput) => events.push(event) } as never,
      now: () => start + ms,
    })
    return events.map(({ reason, message }) => `${reason}: ${message}`)
  }
  return { pod, pass, put }
}

const until = 'DoNotDisruptUntil: The karpenter.sh/do-not-disrupt grace period will elapse at 2026-01-01T00:10:00Z'
const elapsed =
  'DoNotDisruptGracePeriodElapsed: The karpenter.sh/do-not-disrupt grace period has elapsed, pod is now disruptable'

it('a timed protection is reported once when it begins and once when it is over', () => {
  const { pod, pass } = setting()
  pod('10m')
  expect(pass(0)).toEqual([until])
  expect(pass(599_999)).toEqual([])
  expect(pass(600_000)).toEqual([elapsed])
  expect(pass(700_000)).toEqual([])
  pod('20m')
  expect(pass(700_000)).toEqual([until.replace('00:10', '00:20')])
})

it('is reported on a node of a NodePool, as its NodeClaim says, whatever its kubelet does', () => {
  const { pod, pass, put } = setting()
  pod('10m')
  const nodeClassRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' }
  const status = { nodeName: 'n1', providerID: 'azure:///n1', conditions: [{ type: 'Registered', status: 'True' }] }
  put('NodeClaim', 'a', { labels: { 'karpenter.sh/nodepool': 'default' } }, { spec: { nodeClassRef }, status })
  const owner = { apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', name: 'a', uid: 'a' }
  put('Node', 'n1', { labels: {}, ownerReferences: [owner] }, { spec: { providerID: 'azure:///n1' } })
  expect(pass(0)).toEqual([until])
})

it('one that was over before the first pass is not reported', () => {
  const { pod, pass } = setting()
  pod('10m')
  expect([...pass(700_000), ...pass(800_000)]).toEqual([])
})

it('an unreadable value is reported, with what to write instead', () => {
  const { pod, pass } = setting()
  pod('1d')
  expect(pass(0)).toEqual([
    'InvalidDoNotDisruptAnnotation: Invalid karpenter.sh/do-not-disrupt annotation: failed to parse "1d" as a duration, set it to "true" or to one such as "90m" or "24h", ignoring annotation',
  ])
  expect(pass(10_000)).toEqual([])
  pod('0s')
  expect(pass(20_000)).toEqual([expect.stringContaining('duration "0s" must be positive')])
  pod('true')
  expect(pass(30_000)).toEqual([])
})

it('only pods that run on managed nodes are reported', () => {
  const { pod, pass } = setting()
  pod('bad', 'other')
  expect(pass(0)).toEqual([])
  pod('bad', 'n1', 'Succeeded')
  expect(pass(0)).toEqual([])
  pod(undefined)
  expect(pass(0)).toEqual([])
})
