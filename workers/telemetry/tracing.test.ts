import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CancelledFailure } from '@temporalio/common'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type ClaimSpansDeps, claimSpan, launchEnds } from '../../activities/telemetry/claim-spans.ts'
import { noTracing, type Tracing } from '../../activities/telemetry/tracing.ts'
import { annotations } from '../../core/requirements/labels.ts'
import { OtlpReceiver } from '../../test/otlp-receiver.ts'
import { sampleClaim } from '../../test/samples/sample-objects.ts'
import { samplerOf } from './open-telemetry.ts'
import { startTracing } from './telemetry.ts'

const log = pino({ level: 'silent' })
let receiver: OtlpReceiver
let tracing: Tracing

beforeAll(async () => {
  receiver = await OtlpReceiver.start()
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint, OTEL_BSP_SCHEDULE_DELAY: '10' }
  // The exporter reads the process's environment, as it does in a worker.
  Object.assign(process.env, env)
  tracing = await startTracing(env, log)
})

afterAll(async () => {
  await tracing?.stop()
  receiver?.stop()
  delete process.env['OTEL_EXPORTER_OTLP_ENDPOINT']
  delete process.env['OTEL_BSP_SCHEDULE_DELAY']
})

const spans = (...names: readonly string[]) =>
  expect
    .poll(() => names.every((name) => receiver.spans.some((span) => span.name === name)), { timeout: 20_000 })
    .toBe(true)
    .then(() => names.map((name) => receiver.spans.find((span) => span.name === name)))

test('without an endpoint nothing is recorded, nor where the environment says so', async () => {
  expect(await startTracing({}, log)).toBe(noTracing)
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }
  expect(await startTracing({ ...endpoint, OTEL_SDK_DISABLED: 'true' }, log)).toBe(noTracing)
  expect(await startTracing({ ...endpoint, OTEL_TRACES_EXPORTER: 'none' }, log)).toBe(noTracing)
  expect(await startTracing({ ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, log)).toBe(noTracing)
  expect(await noTracing.span('a', {}, async () => 'done')).toBe('done')
  expect(noTracing.current()).toBeUndefined()
})

test('nothing of the SDK is loaded before an endpoint asks for it', async () => {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const folders = ['core', 'api', 'activities', 'workflows', 'workers', 'starter']
  const files = (await Promise.all(folders.map((folder) => readdir(join(root, folder), { recursive: true })))).flatMap(
    (names, index) => names.map((name) => join(folders[index] ?? '', name)),
  )
  const sources = files.filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  const importing = async (what: RegExp) => {
    const texts = await Promise.all(sources.map((name) => readFile(join(root, name), 'utf8')))
    return sources.filter((_, index) => what.test(texts[index] ?? ''))
  }
  expect(await importing(/from '@opentelemetry\//)).toEqual([join('workers', 'telemetry', 'open-telemetry.ts')])
  expect(await importing(/^import .*open-telemetry\.ts'/m)).toEqual([])
  expect(await importing(/await import\('\.\/open-telemetry\.ts'\)/)).toEqual([
    join('workers', 'telemetry', 'telemetry.ts'),
  ])
})

test('steps of a claim are parts of its launch, which is a part of its creation, though each is told by another process', async () => {
  let traceParent: string | undefined
  await tracing.span('create', { attributes: { pods: 2, none: undefined } }, async () => {
    traceParent = tracing.current()
  })
  const claim = sampleClaim('web', { metadata: { annotations: { [annotations.traceParent]: traceParent ?? '' } } })
  const ref = { name: claim.metadata.name, uid: claim.metadata.uid }
  const deps = { tracing, cache: { nodeClaims: { get: () => claim } } } as unknown as ClaimSpansDeps
  const outcome = await claimSpan(deps, { step: 'step', claim: ref }, async () => {
    await tracing.span('request', {}, async () => undefined)
    return { kind: 'launched' }
  })
  expect(outcome).toEqual({ kind: 'launched' })
  await launchEnds(deps, ref)
  const [create, launch, step, request] = await spans('create', 'nodeClaimLifecycle', 'step', 'request')
  expect(create?.parentSpanId).toBe('')
  expect(create?.attributes).toEqual({ pods: 2 })
  expect(create?.resource).toMatchObject({ 'service.name': 'joiner' })
  expect(launch).toMatchObject({ traceId: create?.traceId, parentSpanId: create?.spanId })
  expect(launch?.startMs).toBe(Date.parse(claim.metadata.creationTimestamp))
  expect(step).toMatchObject({ traceId: create?.traceId, parentSpanId: launch?.spanId })
  expect(step?.attributes).toMatchObject({
    'k8s.nodeclaim.name': 'web-claim',
    'joiner.outcome': 'launched',
    'temporal.attempt': 1,
  })
  expect(request).toMatchObject({ traceId: create?.traceId, parentSpanId: step?.spanId })
})

test.each([
  ['its time was over', AbortSignal.abort().reason as unknown],
  ['it was cancelled', new CancelledFailure('cancelled')],
])('a wait that is called off has not failed: %s', async (name, reason) => {
  await expect(tracing.span(name, {}, () => Promise.reject(reason as Error))).rejects.toBe(reason)
  const [span] = await spans(name)
  expect(span?.error).toBeUndefined()
  expect(span?.attributes).toEqual({ 'joiner.outcome': 'cancelled' })
})

test('a step that fails says why, and a claim that nobody traces has no spans', async () => {
  await expect(
    tracing.span('failing', {}, async () => {
      throw new Error('no room')
    }),
  ).rejects.toThrow('no room')
  const [failing] = await spans('failing')
  expect(failing?.error).toBe('no room')
  const claim = sampleClaim('untraced')
  const deps = { tracing, cache: { nodeClaims: { get: () => claim } } } as unknown as ClaimSpansDeps
  const ref = { name: claim.metadata.name, uid: claim.metadata.uid }
  await claimSpan(deps, { step: 'untraced', claim: ref }, async () => ({ kind: 'launched' }))
  await launchEnds(deps, ref, 'given up')
  await tracing.span('after', {}, async () => undefined)
  await spans('after')
  expect(receiver.spans.filter(({ name, error }) => name === 'untraced' || error === 'given up')).toEqual([])
})

test.each([
  [undefined, 'ParentBased{root=AlwaysOnSampler'],
  ['always_off', 'AlwaysOffSampler'],
  ['traceidratio', 'TraceIdRatioBased{0.25}'],
  ['parentbased_traceidratio', 'ParentBased{root=TraceIdRatioBased{0.25}'],
  ['unheard_of', 'AlwaysOnSampler'],
])('OTEL_TRACES_SAMPLER %s', (name, expected) => {
  const env = { OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: '0.25' }
  expect(samplerOf(env).toString()).toContain(expected)
})

test('a collector whose answer has no end does not keep a process from its own', async () => {
  const server = createServer((_request, answer) => {
    answer.writeHead(200)
    const dripping = setInterval(() => answer.write(' '), 20)
    answer.once('close', () => clearInterval(dripping))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', endpoint)
  const dripped = await startTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }, log)
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    await dripped.span('last', {}, async () => undefined)
    const asked = once(server, 'request')
    let isOver = false
    void dripped.stop().then(() => {
      isOver = true
    })
    await asked
    await vi.advanceTimersByTimeAsync(30_000)
    expect(isOver).toBe(true)
  } finally {
    vi.useRealTimers()
    vi.unstubAllEnvs()
    server.close().closeAllConnections()
  }
})
