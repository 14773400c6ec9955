import { expect } from 'vitest'
import type { ReceivedSpan } from '../otlp-receiver.ts'

/** Which span each span of a launch is part of, the outer ones first. */
const parents = [
  ['schedule', 'provisioning'],
  ['create NodeClaim', 'provisioning'],
  ['nodeClaimLifecycle', 'create NodeClaim'],
  ['launch', 'nodeClaimLifecycle'],
  ['PUT virtualMachine', 'launch'],
  ['awaitRegistration', 'nodeClaimLifecycle'],
  ['awaitInitialization', 'nodeClaimLifecycle'],
] as const

/** Expects one trace of a launch, from the plan for a pod to the ready node; `launch` is its span of the lifecycle. */
export function expectTrace(spans: readonly ReceivedSpan[], launch: ReceivedSpan): void {
  const claim = launch.attributes['k8s.nodeclaim.name']
  // A plan for several pods is one trace with several launches.
  const own = spans.filter(
    ({ traceId, attributes }) =>
      traceId === launch.traceId && [undefined, claim].includes(attributes['k8s.nodeclaim.name']),
  )
  const seen = new Map([['provisioning', own.filter(({ name }) => name === 'provisioning')]])
  expect(seen.get('provisioning')?.map(({ parentSpanId }) => parentSpanId)).toEqual([''])
  for (const [name, parent] of parents) {
    const ids = seen.get(parent)?.map(({ spanId }) => spanId) ?? []
    const found = own.filter((span) => span.name === name && ids.includes(span.parentSpanId))
    expect(found.length, `${name} in ${parent}`).toBeGreaterThan(0)
    seen.set(name, found)
  }
  const last = (name: string) => seen.get(name)?.at(-1)
  for (const name of ['create NodeClaim', 'launch', 'awaitRegistration', 'awaitInitialization'])
    expect(last(name)?.attributes['k8s.nodeclaim.name'], name).toBe(claim)
  const outcomes = (seen.get('launch') ?? []).map(({ attributes }) => attributes['joiner.outcome'])
  expect(outcomes).toContain('launched')
  expect(last('awaitInitialization')?.attributes['joiner.outcome']).toBe('initialized')
  expect(last('awaitInitialization')?.endMs).toBeGreaterThan(last('PUT virtualMachine')?.endMs ?? Infinity)
  // The planner reports the plan, another process of the launch.
  expect(own.every(({ resource }) => resource['service.name'] === 'joiner')).toBe(true)
}
