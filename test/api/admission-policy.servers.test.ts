import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { warningsOf } from '../../api/rules/warnings-of.ts'
import { startCluster } from '../../deploy/local/cluster.ts'
import { Installation } from '../../deploy/local/installation.ts'
import type { LocalCluster } from '../../deploy/local/local-cluster.ts'
import { Operator } from '../../deploy/local/operator.ts'
import { nodeClass, nodePool } from '../world.ts'

let cluster: LocalCluster
let installation: Installation
let agent: Agent

interface Answer {
  readonly status: number
  readonly message?: string
  /** What `kubectl apply` prints after "Warning:". */
  readonly warnings: readonly string[]
}

interface ClusterObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string }
}

const plurals: Readonly<Record<string, string>> = {
  NodePool: 'nodepools',
  AKSNodeClass: 'aksnodeclasses',
  NodeOverlay: 'nodeoverlays',
}

/** Asks the API server to create an object, without doing it. */
async function create(object: ClusterObject): Promise<Answer> {
  const response = await request(`${cluster.server}/apis/${object.apiVersion}/${plurals[object.kind]}?dryRun=All`, {
    method: 'POST',
    dispatcher: agent,
    headers: { authorization: `Bearer ${cluster.adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify(object),
  })
  const { message } = (await response.body.json()) as { message?: string }
  const header = [response.headers['warning'] ?? []].flat()
  // Each is: 299 - "text".
  const warnings = header.flatMap((line) =>
    [...line.matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, text]) => text ?? ''),
  )
  return { status: response.statusCode, warnings, ...(message === undefined ? {} : { message }) }
}

const requirement = (key: string, operator: string, ...values: readonly string[]) => ({ key, operator, values })

function pool(change: { readonly spec?: object; readonly template?: object; readonly annotations?: object }) {
  const plain = nodePool({ name: 'warned' })
  return {
    ...plain,
    metadata: { name: 'warned', annotations: change.annotations ?? {} },
    spec: {
      ...plain.spec,
      ...change.spec,
      template: { spec: { ...plain.spec.template.spec, ...change.template } },
    },
  }
}

function localDns(mode: string) {
  const entry = (zone: string, forwardDestination: string) => ({
    zone,
    queryLogging: 'Error',
    protocol: 'PreferUDP',
    forwardDestination,
    forwardPolicy: 'Sequential',
    maxConcurrent: 100,
    cacheDuration: '1h',
    serveStaleDuration: '1h',
    serveStale: 'Disable',
  })
  const zones = [entry('.', 'VnetDNS'), entry('cluster.local', 'ClusterCoreDNS')]
  return { mode, vnetDNSOverrides: zones, kubeDNSOverrides: zones }
}

const classOf = (spec: object) => ({ ...nodeClass('warned'), spec })

const long = { ...pool({}), metadata: { name: 'n'.repeat(54) } }

const overlay = {
  apiVersion: 'karpenter.sh/v1alpha1',
  kind: 'NodeOverlay',
  metadata: { name: 'warned' },
  spec: { requirements: [requirement('team', 'In', 'red')], priceAdjustment: '+1' },
}

beforeAll(async () => {
  cluster = await startCluster({ stateDir: await mkdtemp(join(tmpdir(), 'joiner-admission-')) })
  agent = new Agent({ connect: { ca: await readFile(cluster.pki.caFile, 'utf8') } })
  installation = new Installation(cluster, new Operator(cluster))
  await installation.install()
  // Policies take effect a moment after they were created, each at its own time.
  for (const object of [
    pool({ spec: { replicas: 1 } }),
    classOf({ fipsMode: 'FIPS', imageFamily: 'AzureLinux' }),
    overlay,
  ])
    await vi.waitFor(async () => expect((await create(object)).warnings).not.toEqual([]), { timeout: 30_000 })
})

afterAll(async () => {
  installation?.stop()
  await agent?.close()
  await cluster?.stop()
  if (cluster !== undefined) await rm(cluster.stateDir, { recursive: true, force: true })
})

describe('what works is not warned of', () => {
  test.each<[string, ClusterObject]>([
    ['a NodePool', nodePool()],
    [
      'requirements that leave values',
      pool({ template: { requirements: [requirement('a', 'In', 'x', 'y'), requirement('a', 'NotIn', 'y')] } }),
    ],
    ['requirements without values', pool({ template: { requirements: [{ key: 'a', operator: 'Exists' }] } })],
    [
      'the same taint with two effects',
      pool({
        template: { taints: [{ key: 'a', effect: 'NoSchedule' }], startupTaints: [{ key: 'a', effect: 'NoExecute' }] },
      }),
    ],
    [
      'a JSON object as kubelet',
      pool({ annotations: { 'compatibility.karpenter.sh/v1beta1-kubelet-conversion': ' {"maxPods":42}' } }),
    ],
    [
      "another provider's NodePool",
      pool({
        spec: { replicas: 1 },
        template: { nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'x' } },
      }),
    ],
    ['an AKSNodeClass', nodeClass()],
    [
      'kubelet settings',
      classOf({ kubelet: { cpuManagerPolicy: 'static', cpuCFSQuotaPeriod: '200ms', failSwapOn: false } }),
    ],
    ['kernel settings', classOf({ linuxOSConfig: { transparentHugePageEnabled: 'always' } })],
    ['swap', classOf({ linuxOSConfig: { swapFileSize: '2Gi' }, kubelet: { failSwapOn: false } })],
    ...['Disabled', 'Preferred', 'Required'].map((mode): [string, ClusterObject] => [
      `local DNS ${mode}`,
      classOf({ localDNS: localDns(mode) }),
    ]),
  ])('%s', async (_what, object) => {
    expect(await create(object)).toMatchObject({ status: 201, warnings: [] })
    expect(warningsOf({ ...object })).toEqual([])
  })
})

describe('what cannot work is accepted with a warning that names field, value and remedy', () => {
  test.each<[string, ClusterObject, RegExp]>([
    ['a static pool', pool({ spec: { replicas: 3 } }), /spec\.replicas 3: .*remove it$/],
    [
      'requirements that exclude each other',
      pool({
        template: { requirements: [requirement('team', 'In', 'red', 'blue'), requirement('team', 'In', 'green')] },
      }),
      /requirements: no value of team .*\(one asks for red, blue\).*; remove one of them$/,
    ],
    [
      'a requirement that excludes all that another asks for',
      pool({
        template: { requirements: [requirement('team', 'In', 'red'), requirement('team', 'NotIn', 'red', 'blue')] },
      }),
      /no value of team /,
    ],
    [
      'reserved capacity',
      pool({ template: { requirements: [requirement('karpenter.sh/capacity-type', 'In', 'reserved', 'spot')] } }),
      /karpenter\.sh\/capacity-type In reserved, spot: .*use on-demand or spot$/,
    ],
    [
      'another operating system',
      pool({ template: { requirements: [requirement('kubernetes.io/os', 'In', 'windows')] } }),
      /kubernetes\.io\/os In windows: .*use linux$/,
    ],
    [
      'another architecture',
      pool({ template: { requirements: [requirement('kubernetes.io/arch', 'In', 'x86_64')] } }),
      /kubernetes\.io\/arch In x86_64: .*use amd64 or arm64$/,
    ],
    [
      'a family that Azure does not write so',
      pool({ template: { requirements: [requirement('karpenter.azure.com/sku-family', 'In', 'd')] } }),
      /sku-family In d: .*use capital letters, such as D$/,
    ],
    [
      'an instance type that Azure does not write so',
      pool({ template: { requirements: [requirement('node.kubernetes.io/instance-type', 'In', 'D4s_v5')] } }),
      /instance-type In D4s_v5: .*use names such as Standard_D4s_v5$/,
    ],
    [
      'a taint in both lists',
      pool({
        template: { taints: [{ key: 'a', effect: 'NoSchedule' }], startupTaints: [{ key: 'a', effect: 'NoSchedule' }] },
      }),
      /a:NoSchedule is there more than once.*keep one$/,
    ],
    [
      'kubelet settings that are no JSON object',
      pool({ annotations: { 'compatibility.karpenter.sh/v1beta1-kubelet-conversion': 'maxPods: 42' } }),
      /v1beta1-kubelet-conversion\] .*maxPods: 42.* is not a JSON object.*remove the annotation$/,
    ],
    [
      'images with FIPS',
      classOf({ fipsMode: 'FIPS', imageFamily: 'AzureLinux' }),
      /spec\.fipsMode FIPS: .*set azure\.sharedGallery of the chart$/,
    ],
    ['a NodePool of a long name', long, /metadata\.name has 54 characters.*use at most 53$/],
    [
      'a node class of a long name',
      pool({ template: { nodeClassRef: { ...nodePool().spec.template.spec.nodeClassRef, name: 'n'.repeat(64) } } }),
      /nodeClassRef\.name has 64 characters.*use at most 63$/,
    ],
    ['an AKSNodeClass of a long name', nodeClass('n'.repeat(64)), /metadata\.name has 64 characters.*use at most 63$/],
    ['a NodeOverlay', overlay, /kind NodeOverlay, metadata\.name warned: nothing reads .*do without it$/],
  ])('%s', async (_what, object, expected) => {
    const { status, warnings, message } = await create(object)
    expect({ status, message: status === 201 ? undefined : message }).toEqual({ status: 201, message: undefined })
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toMatch(expected)
    // The server adds the names of policy and binding, and escapes quotes.
    const [offline = '', ...others] = warningsOf({ ...object })
    expect(others).toEqual([])
    expect(warnings[0]?.replaceAll('\\"', '"').endsWith(`: ${offline}`)).toBe(true)
  })
})
