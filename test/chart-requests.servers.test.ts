// What the chart's pods request of the nodes they run on.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { quantity, quantityMilliValue, quantityValue } from '../core/values/quantity.ts'
import { deployment, isHook, type Manifest, ofShape, renderChart, smallestValues } from './chart.ts'

describe('controller.resources', () => {
  const ofJoiner = async (values: object) => {
    const manifests = await renderChart({ ...smallestValues, ...values })
    const joiner = ofShape(manifests, ['Deployment'], deployment).find(({ metadata }) => metadata.name === 'joiner')
    return joiner?.spec.template.spec.containers[0]['resources']
  }
  const limits = { memory: '1536Mi' }

  test('has a default of profile single, and another one of the four Deployments', async () => {
    expect(await ofJoiner({ profile: 'single' })).toEqual({ requests: { cpu: '250m', memory: '384Mi' }, limits })
    expect(await ofJoiner({})).toEqual({ requests: { cpu: '100m', memory: '384Mi' }, limits })
  })

  test.each([
    [{ requests: { cpu: '50m' } }, { requests: { cpu: '50m', memory: '384Mi' }, limits }],
    [{ requests: { cpu: 0 } }, { requests: { cpu: 0, memory: '384Mi' }, limits }],
    [{ requests: { cpu: null } }, { requests: { memory: '384Mi' }, limits }],
    [{ requests: { memory: '1Gi' } }, { requests: { cpu: '250m', memory: '1Gi' }, limits }],
    [{ limits: { cpu: 1 } }, { requests: { cpu: '250m', memory: '384Mi' }, limits: { ...limits, cpu: 1 } }],
    [{ requests: null }, { limits }],
    [null, {}],
  ])('of profile single: %j wins by key', async (resources, rendered) => {
    expect(await ofJoiner({ profile: 'single', controller: { resources } })).toEqual(rendered)
  })
})

describe('the four Deployments with the bundled Temporal request at most 1.5 CPU and 3 GiB', () => {
  const pods = async () => {
    const manifests = await renderChart(smallestValues)
    return manifests.flatMap(podsOf)
  }
  const mostBytes = 3 * 2 ** 30

  test('in all replicas that stay: less than one core', async () => {
    const staying = (await pods()).filter(({ passes }) => !passes)
    expect(staying.map(({ name, replicas }) => `${name} ${replicas}`).toSorted()).toEqual([
      'joiner 2',
      'joiner-azure 2',
      'joiner-conversion 2',
      'joiner-planner 2',
      'joiner-temporal 1',
    ])
    const { milliCpu, bytes } = total(staying)
    expect(milliCpu).toBeLessThan(1000)
    expect(bytes).toBeLessThanOrEqual(mostBytes)
  })

  test('and with any Job or test pod of Helm beside them, which run one at a time', async () => {
    const all = await pods()
    const passing = all.filter(({ passes }) => passes)
    expect(passing.map(({ name }) => name).toSorted()).toEqual([
      'joiner-crds-apply',
      'joiner-crds-release',
      'joiner-doctor',
    ])
    for (const one of passing) {
      const { milliCpu, bytes } = total([...all.filter(({ passes }) => !passes), one])
      expect(milliCpu, one.name).toBeLessThanOrEqual(1500)
      expect(bytes, one.name).toBeLessThanOrEqual(mostBytes)
    }
  })
})

const amount = z.union([z.string(), z.number()]).transform((text) => quantity(String(text)))
const container = z.looseObject({
  resources: z.looseObject({ requests: z.strictObject({ cpu: amount, memory: amount }) }),
})
const podSpec = z.looseObject({ initContainers: z.undefined().optional(), containers: z.array(container) })
const owner = z.looseObject({ replicas: z.int().default(1), template: z.looseObject({ spec: podSpec }) })

interface Pods {
  readonly name: string
  readonly replicas: number
  /** Whether Helm makes it for a moment only. */
  readonly passes: boolean
  readonly containers: readonly z.infer<typeof container>[]
}

/** The pods of an object of any kind that has some. Errors: a container without requests, or one that runs before others. */
function podsOf(manifest: Manifest): readonly Pods[] {
  const isPod = manifest.kind === 'Pod'
  const spec = manifest['spec'] as { readonly template?: unknown } | undefined
  if (!isPod && spec?.template === undefined) return []
  const { replicas, template } = owner.parse(isPod ? { template: { spec } } : spec)
  return [{ name: manifest.metadata.name, replicas, passes: isHook(manifest), containers: template.spec.containers }]
}

function total(pods: readonly Pods[]): { readonly milliCpu: number; readonly bytes: number } {
  const sum = { milliCpu: 0, bytes: 0 }
  for (const { replicas, containers } of pods)
    for (const { resources } of containers) {
      sum.milliCpu += replicas * Number(quantityMilliValue(resources.requests.cpu))
      sum.bytes += replicas * Number(quantityValue(resources.requests.memory))
    }
  return sum
}
