import { expect, test } from 'vitest'
import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { ApiError } from '../../../activities/kubernetes/client/api-error.ts'
import { readRepairer } from '../shared/temporal-findings.ts'
import type { DoctorContext } from './check.ts'
import { examineApiServer, examineClocks } from './cluster.ts'

const now = Date.parse('2026-11-21T12:00:00.400Z')

/** Clocks that are so many seconds ahead of this machine's; undefined: an answer without a date. */
function context(
  apiServer: number,
  arm: number | undefined,
  get: () => Promise<Json> = () => Promise.reject(new ApiError(404, 'NotFound', 'no Lease')),
): DoctorContext {
  const date = (seconds: number) => new Date(now + seconds * 1000).toUTCString()
  return {
    now: () => now,
    kubernetes: { serverDate: () => Promise.resolve(date(apiServer)), get },
    config: { JOINER_NAMESPACE: 'joiner' },
    arm: { date: () => Promise.resolve(arm === undefined ? undefined : date(arm)) },
  } as unknown as DoctorContext
}

test.each([
  [0, 0, 'ok', 'the API server agrees; ARM agrees'],
  [1, -1, 'ok', 'the API server agrees; ARM agrees'],
  [20, 0, 'ok', 'the API server is 20 s ahead'],
  [0, -90, 'warn', 'ARM is 90 s behind'],
  [61, 0, 'warn', 'the API server is 61 s ahead'],
  [70, 0, 'warn', 'of Joiner a process with that clock lets no node expire and repairs none'],
  [400, -90, 'fail', 'the API server is 400 s ahead: tokens will be refused'],
  [0, undefined, 'warn', 'ARM does not say what time it is'],
] as const)('clocks %i s and %i s ahead: %s', async (apiServer, arm, status, said) => {
  const finding = await examineClocks(context(apiServer, arm), new AbortController().signal)
  expect(finding.status).toBe(status)
  expect(finding.summary).toContain(said)
  expect((finding.remedies ?? []).some((remedy) => remedy.includes('timedatectl'))).toBe(
    status !== 'ok' && arm !== undefined,
  )
})

/** A Lease that its holder renewed by a clock that is so many seconds ahead, as the API server keeps it. */
const leaseOf = (seconds: number): Json => ({
  metadata: { managedFields: [{ time: '2026-11-21T11:00:00Z' }, { time: '2026-11-21T11:59:58Z' }] },
  spec: {
    holderIdentity: 'joiner-planner-0/7',
    renewTime: new Date(Date.parse('2026-11-21T11:59:58.300Z') + seconds * 1000).toISOString(),
  },
})

test.each<[string, () => Promise<Json>, string, string]>([
  ['agree', async () => leaseOf(1), 'ok', "the clocks of Joiner's leaders agree"],
  [
    'are wrong',
    async () => leaseOf(31 * 86_400),
    'fail',
    "the clock of joiner-planner-0/7 (joiner-bridge) is 31 d 0 h ahead of the API server's, that of joiner-planner-0/7 (joiner-planner) is 31 d 0 h ahead of the API server's",
  ],
  ['are behind', async () => leaseOf(-90), 'fail', '(joiner-bridge) is 90 s behind'],
  ['have nobody who leads', async () => ({ metadata: {}, spec: { holderIdentity: '' } }), 'ok', 'ARM agrees'],
  ['are not told by the API server', async () => ({ ...leaseOf(600), metadata: {} }), 'ok', 'ARM agrees'],
  [
    'cannot be read',
    () => Promise.reject(new Error('forbidden')),
    'ok',
    'who holds joiner-bridge, joiner-planner, joiner-maintenance may not be read from here',
  ],
])('clocks of leaders that %s', async (_, get, status, said) => {
  const finding = await examineClocks(context(0, 0, get), new AbortController().signal)
  expect(finding.status).toBe(status)
  expect(finding.summary).toContain(said)
})

test.each([
  ['is there, though its clock is a month ahead', leaseOf(31 * 86_400), now, 'there'],
  ['is gone', leaseOf(0), now + 120_000, 'none'],
  ['is there, where the API server does not tell', { ...leaseOf(0), metadata: {} }, now, 'there'],
])('who holds the Lease of the bridge %s', async (_, lease, nowMs, kind) => {
  expect((await readRepairer({ get: async () => lease }, 'joiner', nowMs)).kind).toBe(kind)
})

const agoText = (seconds: number) => new Date(now - seconds * 1000).toISOString()
const held = (annotation: string | undefined, renewedAgo = 1): Json => ({
  metadata: { annotations: annotation === undefined ? {} : { 'joiner.sh/held-up': annotation } },
  spec: { holderIdentity: 'joiner-planner-0/7', renewTime: agoText(renewedAgo) },
})

test.each<[string, () => Promise<Json>, 'ok' | 'warn', RegExp]>([
  ['nobody says that it waits', async () => held(undefined), 'ok', /^https:\/\/aks is Kubernetes v1\.35\.0$/],
  [
    'a leader waits',
    async () => held('joiner-planner-0/7 8 120'),
    'warn',
    /joiner-planner-0\/7 \(joiner-planner\) may have 8 in flight, and 120 wait/,
  ],
  ['its holder before had waited', async () => held('joiner-planner-1/3 8 120'), 'ok', /v1\.35\.0$/],
  ['a holder that is gone had waited', async () => held('joiner-planner-0/7 8 120', 120), 'ok', /v1\.35\.0$/],
  ['it says something else', async () => held('joiner-planner-0/7 many'), 'ok', /v1\.35\.0$/],
  [
    'Leases may not be read',
    () => Promise.reject(new ApiError(403, 'Forbidden', 'no right')),
    'ok',
    /is not known from Lease joiner-bridge \(.*no right\)/,
  ],
])('an API server of which %s', async (_, get, status, said) => {
  const kubernetes = { server: 'https://aks', version: async () => 'v1.35.0', get }
  const finding = await examineApiServer({ ...context(0, 0), kubernetes } as unknown as DoctorContext)
  expect([finding.status, [finding.summary, ...(finding.details ?? [])].join('\n')]).toEqual([
    status,
    expect.stringMatching(said),
  ])
  expect((finding.remedies ?? []).some((remedy) => remedy.includes('az aks update'))).toBe(status === 'warn')
})
