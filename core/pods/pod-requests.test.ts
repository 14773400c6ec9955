import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatResources, maxResources } from '../resources.ts'
import { type PodResourcesInput, podLimits, podRequests, specRequests } from './pod-requests.ts'

type Container = NonNullable<NonNullable<PodResourcesInput['spec']>['containers']>[number]

const asks = (cpu: string, change: Partial<Container> = {}): Container => ({
  name: 'c',
  resources: { requests: { cpu } },
  ...change,
})
const sidecar = (cpu: string) => asks(cpu, { restartPolicy: 'Always' })
const cpuOf = (pod: PodResourcesInput) => formatResources(podRequests(pod))['cpu']

describe("a pod's requests", () => {
  test.each<[string, PodResourcesInput['spec'], string | undefined]>([
    ['is the sum of its containers', { containers: [asks('100m'), asks('200m')] }, '300m'],
    ['is nothing without containers', {}, undefined],
    [
      'is what its largest init container asks for, where that is more',
      { containers: [asks('100m')], initContainers: [asks('500m'), asks('300m')] },
      '500m',
    ],
    [
      'is what its containers ask for, where that is more',
      { containers: [asks('600m')], initContainers: [asks('500m')] },
      '600m',
    ],
    [
      'counts a sidecar beside the containers',
      { containers: [asks('100m')], initContainers: [sidecar('200m')] },
      '300m',
    ],
    [
      'counts a sidecar beside the init containers after it',
      { containers: [asks('100m')], initContainers: [sidecar('200m'), asks('500m')] },
      '700m',
    ],
    [
      'does not count a sidecar beside the init containers before it',
      { containers: [asks('100m')], initContainers: [asks('500m'), sidecar('200m')] },
      '500m',
    ],
    [
      'counts several sidecars',
      { containers: [asks('100m')], initContainers: [sidecar('200m'), sidecar('300m'), asks('50m')] },
      '600m',
    ],
    ['is what it says as a whole', { containers: [asks('100m')], resources: { requests: { cpu: '2' } } }, '2'],
    ['has overhead on top', { containers: [asks('100m')], overhead: { cpu: '50m' } }, '150m'],
    [
      'has overhead on top of the whole',
      { containers: [asks('100m')], resources: { requests: { cpu: '2' } }, overhead: { cpu: '50m' } },
      '2050m',
    ],
  ])('%s', (_, spec, cpu) => {
    expect(cpuOf(spec === undefined ? {} : { spec })).toBe(cpu)
  })

  test('as a whole may name processors, memory and huge pages alone', () => {
    const requests = { cpu: '2', memory: '1Gi', 'hugepages-2Mi': '4Mi', 'nvidia.com/gpu': '8' }
    const pod = {
      spec: { containers: [{ resources: { requests: { 'nvidia.com/gpu': '1' } } }], resources: { requests } },
    }
    expect(formatResources(podRequests(pod))).toEqual({
      cpu: '2',
      memory: '1Gi',
      'hugepages-2Mi': '4Mi',
      'nvidia.com/gpu': '1',
    })
  })
})

describe('while a container is resized', () => {
  const pod = (
    status: Partial<NonNullable<PodResourcesInput['status']>>,
    spec: Container = asks('100m'),
  ): PodResourcesInput => ({
    spec: { containers: [spec] },
    status: {
      containerStatuses: [{ name: 'c', resources: { requests: { cpu: '300m' } }, allocatedResources: { cpu: '200m' } }],
      ...status,
    },
  })

  test.each<[string, PodResourcesInput, string]>([
    ['what is in use counts, where that is more than the spec', pod({}), '300m'],
    ['the spec counts, where that is more', pod({}, asks('400m')), '400m'],
    [
      'the spec does not count, where the node cannot give it',
      pod({ conditions: [{ type: 'PodResizePending', reason: 'Infeasible' }] }, asks('900m')),
      '300m',
    ],
    [
      'the spec counts, where the node may give it later',
      pod({ conditions: [{ type: 'PodResizePending', reason: 'Deferred' }] }, asks('900m')),
      '900m',
    ],
    [
      'a status without resources says nothing',
      pod({ containerStatuses: [{ name: 'c', allocatedResources: { cpu: '900m' } }] }),
      '100m',
    ],
    [
      'the status of another container says nothing',
      pod({ containerStatuses: [{ name: 'x', resources: { requests: { cpu: '900m' } } }] }),
      '100m',
    ],
  ])('%s', (_, input, cpu) => {
    expect(cpuOf(input)).toBe(cpu)
  })

  test('the status of an init container that ends is ignored, that of a sidecar counts', () => {
    const initContainerStatuses = [{ name: 'i', resources: { requests: { cpu: '2' } } }]
    const input = (init: Container): PodResourcesInput => ({
      spec: { containers: [asks('100m')], initContainers: [init] },
      status: { initContainerStatuses },
    })
    expect(cpuOf(input(asks('50m', { name: 'i' })))).toBe('100m')
    expect(cpuOf(input(asks('50m', { name: 'i', restartPolicy: 'Always' })))).toBe('2100m')
  })
})

describe("a pod's limits", () => {
  test('has no overhead where there is no limit', () => {
    const limited = (limits: Container['resources']) =>
      formatResources(
        podLimits({ spec: { containers: [{ resources: limits ?? {} }], overhead: { cpu: '50m', memory: '10Mi' } } }),
      )
    expect(limited({ limits: { cpu: '1' } })).toEqual({ cpu: '1050m' })
    expect(limited({})).toEqual({})
  })
})

test("no container requests more than its pod, and none reduces the pod's requests", () => {
  const container = fc.record({ cpu: fc.integer({ min: 0, max: 4000 }), isSidecar: fc.boolean() })
  const made = ({ cpu, isSidecar }: { cpu: number; isSidecar: boolean }) =>
    isSidecar ? sidecar(`${cpu}m`) : asks(`${cpu}m`)
  const milli = (pod: PodResourcesInput) => Number((specRequests(pod)['cpu']?.nano ?? 0n) / 1_000_000n)
  fc.assert(
    fc.property(
      fc.array(container, { maxLength: 4 }),
      fc.array(container, { maxLength: 4 }),
      container,
      (containers, inits, added) => {
        const spec = { containers: containers.map((one) => asks(`${one.cpu}m`)), initContainers: inits.map(made) }
        const whole = milli({ spec })
        for (const { cpu } of [...containers, ...inits]) expect(whole).toBeGreaterThanOrEqual(cpu)
        expect(
          milli({ spec: { ...spec, containers: [...spec.containers, asks(`${added.cpu}m`)] } }),
        ).toBeGreaterThanOrEqual(whole)
        expect(
          milli({ spec: { ...spec, initContainers: [...spec.initContainers, made(added)] } }),
        ).toBeGreaterThanOrEqual(whole)
        // Without a status both are equal.
        expect(maxResources(podRequests({ spec }), specRequests({ spec }))).toEqual(specRequests({ spec }))
      },
    ),
  )
})
