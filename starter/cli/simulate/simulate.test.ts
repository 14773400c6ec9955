import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { stringify } from 'yaml'
import { builtProgram } from '../../../test/runner/program.ts'

const sources = new URL('../../joiner.ts', import.meta.url).pathname
let joiner = ''
let folder = ''

// Each test starts the program, some of them several times.
vi.setConfig({ testTimeout: 120_000 })

beforeAll(async () => {
  joiner = await builtProgram()
  folder = mkdtempSync(join(tmpdir(), 'joiner-simulate-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

interface Outcome {
  readonly code: number
  readonly out: string
  readonly err: string
}

function run(args: readonly string[], input = '', program: readonly string[] = [joiner]): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [...program, 'simulate', ...args], (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    )
    child.stdin?.on('error', () => {}).end(input)
  })
}

function file(name: string, content: unknown): string {
  const path = join(folder, name)
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

const entry = (key: string, ...values: readonly string[]) => ({ key, operator: 'In', values })
const zoneKey = 'topology.kubernetes.io/zone'

function type(name: string, cpu: number) {
  const zones = ['eastus-1', 'eastus-2']
  return {
    name,
    requirements: [
      entry('node.kubernetes.io/instance-type', name),
      entry('kubernetes.io/arch', 'amd64'),
      entry('kubernetes.io/os', 'linux'),
      entry('karpenter.sh/capacity-type', 'on-demand'),
      entry(zoneKey, ...zones),
    ],
    offerings: zones.map((zone) => ({
      requirements: [entry('karpenter.sh/capacity-type', 'on-demand'), entry(zoneKey, zone)],
      price: cpu * 0.05,
      available: true,
    })),
    capacity: { cpu: String(cpu), memory: `${cpu * 4}Gi`, pods: '110' },
  }
}

const instanceTypes = [type('small', 2), type('large', 8)]
const pod = (name: string, cpu: string, more: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'shop' },
  spec: { containers: [{ name: 'main', resources: { requests: { cpu } } }] },
  ...more,
})
const nodePool = (more: object = {}) => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'general' },
  spec: {
    template: {
      spec: { nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'plain' }, requirements: [] },
    },
  },
  ...more,
})
const gaveUp = { status: { conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] } }
const ready = { status: { conditions: [{ type: 'Ready', status: 'True' }] } }
const scenario = { instanceTypes, objects: [nodePool(), pod('web-0', '1'), pod('web-1', '7'), pod('huge', '20')] }
const yaml = (...objects: readonly object[]) => objects.map((one) => stringify(one)).join('---\n')

describe('joiner simulate, a scenario', () => {
  it('prints a table of nodes with costs and what stays pending, with its funnel', async () => {
    const { code, out } = await run([file('scenario.json', scenario)])
    expect(code).toBe(0)
    expect(out.split('\n').slice(0, 2)).toEqual([
      'NODE   NODEPOOL  TYPE   ZONE  CAPACITY   USD/MONTH  PODS',
      'new 1  general   large  any   on-demand  292.00     2: shop/web-0, shop/web-1',
    ])
    expect(out).toContain('1 new node for 2 pods, USD 292.00 a month at their cheapest')
    expect(out).toContain('shop/huge: no instance type has enough resources')
    expect(out).toContain('NodePool general: 2 types; left after requirements 2, resources 0, offerings 0, limits 0')
    expect(out).toContain('needs 12 more cpu than large leaves for pods, the nearest of 2 types')
  })

  it('prints JSON from standard input, and a line of times for each round', async () => {
    const { code, out, err } = await run(['--output', 'json', '--time', '--rounds', '2'], JSON.stringify(scenario))
    expect(code).toBe(0)
    expect(JSON.parse(out)).toMatchObject({
      newNodeClaims: [{ nodePool: 'general', instanceTypes: ['large'], pods: ['shop/web-0', 'shop/web-1'] }],
      existingNodes: [],
      errors: { 'shop/huge': expect.stringContaining('no instance type has enough resources') as unknown },
    })
    const times = err
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    const numbers = ['pods', 'snapshotMs', 'solveMs', 'nodes', 'errors', 'sumCheapestPrice', 'peakRSSMiB']
    expect(times).toHaveLength(2)
    for (const round of times) expect(Object.keys(round)).toEqual(numbers)
    expect(times[1]).toMatchObject({ pods: 3, nodes: 1, errors: 1 })
  })

  it('waits for what comes late on standard input', async () => {
    const text = JSON.stringify(scenario)
    const child = execFile(process.execPath, [joiner, 'simulate'])
    const ended = new Promise((resolve) => child.on('close', resolve))
    child.stdin?.write(text.slice(0, 20))
    // Long enough for it to be waiting.
    setTimeout(() => child.stdin?.end(text.slice(20)), 2000)
    expect(await ended).toBe(0)
  })

  it('explains single pods', async () => {
    const path = file('scenario.json', scenario)
    const placed = await run([path, '--explain', 'shop/web-1'])
    expect(placed.out).toContain('shop/web-1 gets a new node of NodePool general.')
    expect(placed.out).toContain('1 type (small from USD 0.1): too little cpu')
    const pending = await run([path, '--explain', 'shop/huge', '--output', 'json'])
    expect(JSON.parse(pending.out)).toMatchObject({ kind: 'pending', nodePools: [{ funnel: { requirements: 2 } }] })
    const unknown = await run([path, '--explain', 'shop/nobody'])
    expect([unknown.code, unknown.out]).toEqual([1, ''])
    expect(unknown.err).toContain('--explain shop/nobody: there is no such pod')
  })

  it('takes settings of the command line before its own', async () => {
    const spread = { maxSkew: 1, topologyKey: zoneKey, whenUnsatisfiable: 'DoNotSchedule' }
    const labels = { app: 'web' }
    const objects = [
      nodePool(),
      { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web', namespace: 'shop' }, spec: { selector: labels } },
      ...['a', 'b'].map((name) => pod(name, '1', { metadata: { name, namespace: 'shop', labels } })),
    ]
    const path = file('spread.json', { instanceTypes, objects })
    const config = file('config.yaml', stringify({ podTopologySpread: { defaultConstraints: [spread] } }))
    const catalog = file('other.json', { instanceTypes: [type('other', 4)] })
    const claims = async (...args: readonly string[]) =>
      (JSON.parse((await run([path, '--output', 'json', ...args])).out) as { newNodeClaims: unknown[] }).newNodeClaims
    expect(await claims()).toHaveLength(1)
    expect(await claims('--scheduler-config', config)).toHaveLength(2)
    expect(await claims('--catalog', catalog)).toMatchObject([{ instanceTypes: ['other'] }])
  })

  it('loads neither the Temporal nor the Azure SDK', async () => {
    const hook =
      'import { registerHooks } from "node:module"; registerHooks({ load(url, context, next) { process.stderr.write(`${url}\\n`); return next(url, context) } })'
    // The bundle does not say which packages its parts are of.
    const { code, err } = await run([file('scenario.json', scenario)], '', [
      '--import',
      `data:text/javascript,${encodeURIComponent(hook)}`,
      sources,
    ])
    expect(code).toBe(0)
    const packages = new Set([...err.matchAll(/node_modules\/(@[^/]+\/[^/]+|[^/@]+)/g)].map(([, name]) => name))
    expect([...packages]).toEqual(['commander', 'zod'])
  })
})

describe('joiner simulate, manifests', () => {
  const catalog = () => ['--catalog', file('types.json', { instanceTypes })]

  it('reads lists, several documents and directories, and counts what it does not know', async () => {
    file('cluster/pools.yaml', yaml(nodePool(ready), { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' } }))
    file('cluster/deep/pods.json', {
      apiVersion: 'v1',
      kind: 'List',
      items: [pod('web-0', '1', gaveUp), pod('idle', '1')],
    })
    file('cluster/README.md', 'not a manifest')
    const { code, out, err } = await run([join(folder, 'cluster'), ...catalog(), '--output', 'json'])
    expect(code).toBe(0)
    expect(JSON.parse(out)).toMatchObject({ newNodeClaims: [{ pods: ['shop/web-0'] }], errors: {} })
    expect(err).toContain('left aside: ConfigMap 1')
    expect(err).toContain('does not say that the scheduler gave up on them: 1')
  })

  it('leaves out NodePools that are not ready, and completes manifests only where told to', async () => {
    const input = yaml(nodePool(), pod('web-0', '1'))
    const plain = await run([...catalog(), '--output', 'json'], input)
    expect(JSON.parse(plain.out)).toMatchObject({ newNodeClaims: [], errors: {} })
    expect(plain.err).toContain('NodePool "general" takes no part: it has no condition Ready=True')
    const complete = await run([...catalog(), '--output', 'json', '--complete'], input)
    expect(JSON.parse(complete.out)).toMatchObject({ newNodeClaims: [{ pods: ['shop/web-0'] }] })
  })

  it('honours node classes, and says why a NodePool takes no part', async () => {
    const nodeClass = (name: string, status: string) => ({
      apiVersion: 'karpenter.azure.com/v1beta1',
      kind: 'AKSNodeClass',
      metadata: { name },
      spec: {},
      status: { conditions: [{ type: 'Ready', status, message: 'no subnet' }] },
    })
    const pods = pod('web-0', '1', gaveUp)
    const remark = async (...objects: readonly object[]) =>
      (await run(catalog(), yaml(nodePool(ready), pods, ...objects))).err
    expect(await remark(nodeClass('other', 'True'))).toContain('there is no AKSNodeClass "plain"')
    expect(await remark(nodeClass('plain', 'False'))).toContain('its AKSNodeClass "plain" is not ready: no subnet')
    expect(await remark(nodeClass('plain', 'True'))).toBe('')
  })

  it('counts NodeOverlays with their gate, and says which do not count', async () => {
    const overlay = (name: string, spec: object) => ({
      apiVersion: 'karpenter.sh/v1alpha1',
      kind: 'NodeOverlay',
      metadata: { name },
      spec,
    })
    const requirements = [entry('karpenter.sh/capacity-type', 'on-demand')]
    const input = yaml(
      nodePool(ready),
      pod('web-0', '1', gaveUp),
      overlay('half', { requirements, priceAdjustment: '-50%', weight: 2 }),
      overlay('b', { requirements, price: '9', weight: 1 }),
      overlay('a', { requirements, price: '8', weight: 1 }),
    )
    const planned = async (...args: readonly string[]) => {
      const { out, err } = await run([...catalog(), '--output', 'json', ...args], input)
      const [claim] = (JSON.parse(out) as { newNodeClaims: readonly { cheapestPrice: number }[] }).newNodeClaims
      return { price: claim?.cheapestPrice ?? 0, err }
    }
    const plain = await planned()
    expect(plain.err).toContain('NodeOverlays that do not count: 3; --feature-gates NodeOverlay=true counts them')
    const overlaid = await planned('--feature-gates', 'NodeOverlay=true')
    expect(overlaid.price).toBeCloseTo(plain.price / 2)
    expect(overlaid.err).toContain('NodeOverlay "a" does not count: another of its weight changes the same')
    expect(overlaid.err).not.toContain('NodeOverlay "b"')
  })

  it('moves pods of leaving nodes, unless a PodDisruptionBudget never lets them go', async () => {
    const labels = { app: 'web' }
    const node = {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: {
        name: 'node-1',
        deletionTimestamp: '2026-03-01T12:00:00Z',
        labels: { 'kubernetes.io/hostname': 'node-1' },
      },
      status: { capacity: { cpu: '4' }, allocatable: { cpu: '4' } },
    }
    const bound = {
      ...pod('web-0', '1', { metadata: { name: 'web-0', namespace: 'shop', labels } }),
      status: { phase: 'Running' },
    }
    const moving = { ...bound, spec: { ...bound.spec, nodeName: 'node-1' } }
    const budget = (maxUnavailable: number) => ({
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'web', namespace: 'shop' },
      spec: { selector: { matchLabels: labels }, maxUnavailable },
      status: { disruptionsAllowed: 0 },
    })
    const planned = async (maxUnavailable: number) => {
      const { out } = await run(
        [...catalog(), '--output', 'json'],
        yaml(nodePool(ready), node, moving, budget(maxUnavailable)),
      )
      return (JSON.parse(out) as { newNodeClaims: unknown[] }).newNodeClaims.length
    }
    expect([await planned(1), await planned(0)]).toEqual([1, 0])
  })

  it('converts NodePools of v1beta1', async () => {
    const old = {
      ...nodePool(ready),
      apiVersion: 'karpenter.sh/v1beta1',
      spec: {
        disruption: { consolidationPolicy: 'WhenUnderutilized' },
        template: {
          spec: {
            nodeClassRef: { apiVersion: 'karpenter.azure.com/v1alpha2', kind: 'AKSNodeClass', name: 'plain' },
            requirements: [],
          },
        },
      },
    }
    const { out } = await run([...catalog(), '--output', 'json'], yaml(old, pod('web-0', '1', gaveUp)))
    expect(JSON.parse(out)).toMatchObject({ newNodeClaims: [{ nodePool: 'general', pods: ['shop/web-0'] }] })
  })

  it('takes resource SKUs with retail prices for a catalogue', async () => {
    const capabilities = Object.entries({ vCPUs: '4', MemoryGB: '16', CpuArchitectureType: 'x64' })
    const sku = {
      name: 'Standard_D4s_v5',
      resourceType: 'virtualMachines',
      family: 'standardDSv5Family',
      locations: ['eastus'],
      locationInfo: [{ location: 'eastus', zones: ['1', '2'] }],
      capabilities: capabilities.map(([name, value]) => ({ name, value })),
    }
    const skus = file('skus.json', { value: [sku] })
    const item = {
      armSkuName: sku.name,
      retailPrice: 0.2,
      armRegionName: 'eastus',
      productName: 'D',
      skuName: 'D4s v5',
      meterName: 'D4s v5',
    }
    const prices = file('prices.json', { Items: [item, { ...item, armRegionName: 'westus2', retailPrice: 9 }] })
    const input = yaml(nodePool(ready), pod('web-0', '1', gaveUp))
    const { out } = await run(['--catalog', skus, '--prices', prices, '--output', 'json'], input)
    expect(JSON.parse(out)).toMatchObject({ newNodeClaims: [{ instanceTypes: [sku.name], cheapestPrice: 0.2 }] })
    const unpriced = await run(['--catalog', skus], input)
    expect([unpriced.code, unpriced.err]).toEqual([1, expect.stringContaining('add --prices FILE') as unknown])
  })
})

describe('joiner simulate, input that cannot be used', () => {
  const wrong = pod('web-0', '1x')

  it.each([
    [
      'a quantity in a scenario',
      [],
      JSON.stringify({ ...scenario, objects: [wrong] }),
      'standard input: objects[0] Pod "shop/web-0": spec.containers[0].resources.requests.cpu is "1x"; write a quantity such as 500m or 2Gi',
    ],
    [
      'an instance type',
      [],
      JSON.stringify({ instanceTypes: [{ name: 'a', offerings: [{ price: '1' }] }] }),
      'standard input: instanceTypes[0] "a": offerings[0].price is "1"; write a number',
    ],
    [
      'an option',
      [],
      JSON.stringify({ options: { preferencePolicy: 'Never' } }),
      'standard input: options.preferencePolicy is "Never"; use Respect, Ignore',
    ],
    ['half a file', [], '{"objects": [', 'standard input: is not JSON: '],
    ['no manifest', [], 'a text', 'standard input:1: is not a Kubernetes object'],
    ['no kind', [], 'apiVersion: v1', 'standard input:1: kind is missing'],
    ['a file that is not there', ['/nowhere.json'], '', '/nowhere.json: cannot be read: '],
    ['manifests without a catalogue', [], 'apiVersion: v1\nkind: Pod\nmetadata: {name: a}', 'add --catalog FILE'],
    ['nothing', [], '', 'standard input: nothing to simulate'],
    ['a gate', ['--feature-gates', 'ReservedCapacity=maybe'], '{}', '--feature-gates has "ReservedCapacity=maybe"'],
  ])('names what is wrong: %s', async (_, args, input, message) => {
    const { code, out, err } = await run(args, input)
    expect([code, out]).toEqual([1, ''])
    expect(err).toContain(message)
    expect(err).not.toContain('    at ')
  })

  it('names the line in YAML', async () => {
    const { code, err } = await run(['--catalog', file('types.json', { instanceTypes })], yaml(nodePool(ready), wrong))
    expect(code).toBe(1)
    expect(err).toMatch(
      /^standard input:\d+: Pod "shop\/web-0": spec\.containers\[0\]\.resources\.requests\.cpu is "1x"; write/,
    )
  })

  it('tells wrong usage apart', async () => {
    const { code, err } = await run(['--output', 'xml'])
    expect(code).toBe(2)
    expect(err).toContain('Allowed choices are table, wide, json, yaml')
  })
})
