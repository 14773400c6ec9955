// An installation from its beginning to its end, with the real helm and a real API server: install, upgrade, rollback, uninstall, install.
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { startCluster } from '../deploy/local/cluster.ts'
import { commandLine } from '../deploy/local/installation.ts'
import type { LocalCluster } from '../deploy/local/local-cluster.ts'
import { Operator } from '../deploy/local/operator.ts'
import { chartFolder, releaseNamespace, renderChart, smallestValues } from './chart.ts'
import { HookPods } from './chart-lifecycle/hook-pods.ts'
import { patient } from './runner/patience.ts'

const run = promisify(execFile)
const previous = fileURLToPath(new URL('./charts/joiner-0.2.0.tgz', import.meta.url))
const manifests = (name: string) => fileURLToPath(new URL(`./manifests/${name}.yaml`, import.meta.url))
const [nodePools, nodeClaims] = ['nodepools.karpenter.sh', 'nodeclaims.karpenter.sh'] as const

let cluster: LocalCluster
let operator: Operator
let pods: HookPods
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'joiner-lifecycle-'))
  cluster = await startCluster({ stateDir: folder, temporalInMemory: true })
  operator = new Operator(cluster)
  pods = new HookPods(cluster, operator, releaseNamespace)
  pods.start()
})

afterAll(async () => {
  await pods?.stop()
  await operator?.close()
  await cluster?.stop()
  await rm(folder, { recursive: true, force: true })
})

async function helm(...args: readonly string[]): Promise<string> {
  const env = { ...process.env, KUBECONFIG: cluster.adminKubeconfig, HELM_CACHE_HOME: folder, HELM_DATA_HOME: folder }
  const { stdout } = await run(cluster.binaries.helm, [...args, '--namespace', releaseNamespace], { env })
  return stdout
}

const values = Object.entries(smallestValues).flatMap(([section, value]) => [
  '--set-json',
  `${section}=${JSON.stringify(value)}`,
])

interface Crd {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> }
  readonly spec: {
    readonly conversion: {
      readonly strategy: string
      readonly webhook?: {
        readonly clientConfig: { readonly url?: string; readonly caBundle?: string; readonly service?: object }
      }
    }
    readonly versions: readonly {
      readonly name: string
      readonly served: boolean
      readonly additionalPrinterColumns?: readonly unknown[]
    }[]
  }
  readonly status: { readonly storedVersions: readonly string[] }
}

const crdPath = (name: string) => `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`
const crd = (name: string) => operator.api<Crd>('GET', crdPath(name))
const served = ({ spec }: Crd) => Object.fromEntries(spec.versions.map((each) => [each.name, each.served]))

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + patient(60_000)
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`${what}: not in time`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

/** Starts what joiner-conversion runs, as its account. Nothing routes to Services here, so the API server gets a URL. */
async function startConversion(): Promise<void> {
  for (const name of [nodePools, nodeClaims])
    await operator.api('PATCH', crdPath(name), {
      spec: {
        conversion: {
          webhook: { clientConfig: { service: null, url: `https://localhost:${cluster.ports.conversion}/convert` } },
        },
      },
    })
  cluster.supervisor.start({
    name: 'joiner-conversion',
    command: process.execPath,
    args: [commandLine, 'worker'],
    env: {
      KUBECONFIG: await pods.kubeconfigOf('joiner-conversion'),
      JOINER_ROLES: 'conversion',
      JOINER_NAMESPACE: releaseNamespace,
      JOINER_RELEASE: 'joiner',
      JOINER_HEALTH_PORT: '0',
      JOINER_CONVERSION_PORT: String(cluster.ports.conversion),
    },
  })
  await untilConverted()
}

const untilConverted = () =>
  until('old versions are converted', () =>
    operator.kubectl(['get', 'nodepools.v1beta1.karpenter.sh']).then(
      async () => (await crd(nodePools)).spec.conversion.webhook?.clientConfig.caBundle !== undefined,
      () => false,
    ),
  )

/** Applies manifests of the old versions, then of the new ones, and reads the pool in both. */
async function appliesBoth(): Promise<void> {
  await operator.kubectl(['apply', '-f', manifests('aks-install-guide')])
  await expect(pool('v1')).resolves.toMatchObject({
    spec: { template: { spec: { expireAfter: 'Never', nodeClassRef: { group: 'karpenter.azure.com' } } } },
  })
  await operator.kubectl(['apply', '-f', manifests('karpenter-v1')])
  await expect(pool('v1beta1')).resolves.toMatchObject({ spec: { disruption: { expireAfter: '720h' } } })
}

const pool = async (version: string) =>
  JSON.parse(
    await operator.kubectl(['get', `nodepools.${version}.karpenter.sh`, 'general-purpose', '-o', 'json']),
  ) as unknown

/** What of the release is in the cluster, as kind and name: all that carries its label, and all in its namespace that Kubernetes did not make. */
async function left(): Promise<readonly string[]> {
  const kinds = (flag: string) =>
    operator.kubectl(['api-resources', '--verbs=list', `--namespaced=${flag}`, '-o', 'name']).then((text) =>
      text
        .trim()
        .split('\n')
        .filter((kind) => !/^events|^leases|endpointslices/.test(kind)),
    )
  const list = async (flag: string, ...more: readonly string[]) =>
    (await operator.kubectl(['get', (await kinds(flag)).join(','), '-o', 'name', '--ignore-not-found', ...more]))
      .split('\n')
      .filter((name) => name !== '' && name !== 'configmap/kube-root-ca.crt' && name !== 'serviceaccount/default')
  const selector = ['--selector', 'app.kubernetes.io/managed-by=Helm']
  return [
    ...(await list('false', ...selector)),
    ...(await list('true', '--all-namespaces', ...selector)),
    ...(await list('true', '--namespace', releaseNamespace)),
  ]
}

test('the previous chart is installed, and converts', async () => {
  await helm('install', 'joiner', previous, '--create-namespace', ...values)
  await startConversion()
  await appliesBoth()
  expect(pods.ran).toEqual([])
})

const address = ['--set', 'temporal.address=temporal-frontend.temporal.svc:7233']

test('an upgrade that would take Joiner away from its Temporal, or change the volume of its own, is refused', async () => {
  const upgrade = (...more: readonly string[]) =>
    helm('upgrade', 'joiner', chartFolder, '--dry-run=server', ...values, ...more)
  // The previous chart had this address as its default.
  await expect(upgrade()).rejects.toThrow(
    'temporal.address is empty, and this release uses the Temporal at temporal-frontend.temporal.svc:7233: set temporal.address=temporal-frontend.temporal.svc:7233 to keep it',
  )
  await expect(upgrade(...address)).resolves.not.toContain('joiner-temporal')
  const own = ['--set', 'temporal.bundled.enabled=true']
  await expect(upgrade(...own)).resolves.toContain('volumeClaimTemplates')
  const inMemory = await renderChart({ ...smallestValues, temporal: { bundled: { persistence: false } } })
  const set = inMemory.filter(({ kind }) => kind === 'StatefulSet').map((object) => stringify(object))
  await operator.kubectl(['apply', '-f', '-'], set.join('---\n'))
  await expect(upgrade(...own)).rejects.toThrow(
    `temporal.bundled.persistence is true, and StatefulSet joiner-temporal was made for false; delete it first, no node is lost: kubectl delete statefulset joiner-temporal --namespace ${releaseNamespace}`,
  )
  await operator.kubectl(['delete', 'statefulset', 'joiner-temporal', '--namespace', releaseNamespace])
})

test('an upgrade brings the CRDs with it, and keeps their conversion and their owner', async () => {
  const before = await crd(nodePools)
  const columns = (each: Crd) => each.spec.versions[0]?.additionalPrinterColumns?.length ?? 0
  expect(before.metadata.annotations?.['joiner.sh/installation']).toContain('"release":"joiner"')
  // As if they were of a version that knew less.
  await operator.kubectl(['delete', 'crd', 'capacitybuffers.autoscaling.x-k8s.io'])
  await operator.kubectl([
    'patch',
    'crd',
    nodePools,
    '--type=json',
    '-p',
    '[{"op":"remove","path":"/spec/versions/0/additionalPrinterColumns/0"}]',
  ])
  await helm('upgrade', 'joiner', chartFolder, ...values, ...address)
  expect(pods.ran).toMatchObject([
    {
      args: ['admin', 'crds', 'apply', '--release', 'joiner', '--joiner-namespace', releaseNamespace],
      account: 'joiner-crds',
      succeeded: true,
    },
  ])
  expect(pods.ran[0]?.output.trim().split('\n')).toEqual([
    'capacitybuffers.autoscaling.x-k8s.io created',
    'aksnodeclasses.karpenter.azure.com updated',
    'nodeclaims.karpenter.sh updated',
    'nodeoverlays.karpenter.sh updated',
    'nodepools.karpenter.sh updated',
  ])
  const after = await crd(nodePools)
  expect(columns(after)).toBe(columns(before))
  expect(after.spec.conversion).toEqual(before.spec.conversion)
  expect(after.metadata.annotations?.['joiner.sh/installation']).toBe(
    before.metadata.annotations?.['joiner.sh/installation'],
  )
  await appliesBoth()
  // The Jobs' account and rights are gone with them.
  expect((await left()).filter((name) => name.includes('joiner-crds'))).toEqual([])
})

test('one Deployment with a Temporal of its own, and what Karpenter users set, are taken by the API server', async () => {
  const objects = await renderChart({
    ...smallestValues,
    profile: 'single',
    networkPolicy: { enabled: true },
    additionalClusterRoleRules: [{ apiGroups: ['apps'], resources: ['deployments'], verbs: ['get'] }],
    additionalAnnotations: { 'example.com/a': 'b' },
    podSecurityContext: { fsGroup: 65532, seccompProfile: {} },
    controller: {
      securityContext: { appArmorProfile: {}, seLinuxOptions: {}, seccompProfile: {} },
      healthProbe: { port: 8081 },
      sidecarContainer: [{ name: 'side', image: 'busybox' }],
      sidecarVolumeMounts: [{ name: 'tmp', mountPath: '/t' }],
      envFrom: [{ configMapRef: { name: 'more' } }],
    },
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } },
    dnsConfig: { options: [{ name: 'ndots', value: '1' }] },
    extraVolumes: [{ name: 'more', emptyDir: {} }],
    initContainers: [{ name: 'first', image: 'busybox' }],
  })
  const text = objects.map((object) => stringify(object)).join('---\n')
  const applied = await operator.kubectl(
    ['apply', '--server-side', '--force-conflicts', '--dry-run=server', '-f', '-'],
    text,
  )
  expect(applied.trim().split('\n')).toHaveLength(objects.length)
})

test('a rollback takes back what the upgrade brought, and nothing of the CRDs', async () => {
  const before = await crd(nodePools)
  expect(await left()).toContain('service/joiner-metrics')
  await helm('rollback', 'joiner', '1')
  expect(await left()).not.toContain('service/joiner-metrics')
  expect((await crd(nodePools)).spec).toEqual(before.spec)
  await appliesBoth()
})

test('CRDs of another installation are not touched', async () => {
  const at = ['admin', 'crds', 'apply', '--release', 'other', '--joiner-namespace', releaseNamespace]
  const env = { ...process.env, KUBECONFIG: cluster.adminKubeconfig }
  const applied = run(process.execPath, [commandLine, ...at], { env })
  await expect(applied).rejects.toThrow('names release "joiner" in namespace "joiner-system"')
  const released = await run(process.execPath, [commandLine, 'admin', 'crds', 'release', ...at.slice(3)], { env })
  expect(released.stdout).toContain('nothing was done')
  expect((await crd(nodePools)).spec.conversion.strategy).toBe('Webhook')
})

test('an uninstall leaves the CRDs, which name no Service and store nothing old, and the objects, and nothing else', async () => {
  await helm(
    'upgrade',
    'joiner',
    chartFolder,
    '--reset-then-reuse-values',
    '--set',
    'strategy.type=Recreate',
    '--set',
    'conversion.nodeClaims.serveV1beta1=true',
    // The rollback has brought back the values of the first installation.
    ...address,
  )
  await until('NodeClaims are served as v1beta1', async () => served(await crd(nodeClaims))['v1beta1'] === true)
  // As clusters have it that once had v1beta1 as the stored version.
  const stored = { status: { storedVersions: ['v1beta1', 'v1'] } }
  await operator.api('PATCH', `${crdPath(nodePools)}/status`, stored)
  await helm('uninstall', 'joiner')
  expect(pods.ran.at(-1)).toMatchObject({ args: expect.arrayContaining(['release']) as unknown, succeeded: true })
  await cluster.supervisor.stop('joiner-conversion')
  await until('pods are gone', async () => (await left()).every((name) => !name.startsWith('pod')))
  expect(await left()).toEqual([])
  for (const name of [nodePools, nodeClaims]) {
    const { metadata, spec, status } = await crd(name)
    expect(spec.conversion).toEqual({ strategy: 'None' })
    expect(served({ metadata, spec, status })).toEqual({ v1: true, v1beta1: false })
    expect(status.storedVersions).toEqual(['v1'])
    expect(metadata.annotations?.['joiner.sh/installation']).toBeUndefined()
  }
  await operator.kubectl(['apply', '-f', manifests('karpenter-v1')])
  await expect(pool('v1')).resolves.toMatchObject({ spec: { template: { spec: { expireAfter: '720h' } } } })
  // Nobody converts any more: an old manifest is refused in words, not stored as what it is not; the command line converts it.
  const old = operator.kubectl(['apply', '-f', manifests('aks-install-guide')])
  await expect(old).rejects.toThrow(/no matches for kind "NodePool" in version "karpenter.sh\/v1beta1"/)
  const converted = await run(process.execPath, [commandLine, 'convert', manifests('aks-install-guide')])
  await operator.kubectl(['apply', '-f', '-'], converted.stdout)
  await expect(pool('v1')).resolves.toMatchObject({ spec: { template: { spec: { expireAfter: 'Never' } } } })
})

test('an installation after that has the CRDs converted by its Service again', async () => {
  await helm('install', 'joiner', chartFolder, ...values)
  expect(pods.ran.at(-1)).toMatchObject({ args: expect.arrayContaining(['apply']) as unknown, succeeded: true })
  const { spec } = await crd(nodePools)
  expect(spec.conversion.webhook?.clientConfig.service).toMatchObject({
    name: 'joiner-conversion',
    namespace: releaseNamespace,
  })
  expect(served(await crd(nodePools))).toEqual({ v1: true, v1beta1: true })
  expect(served(await crd(nodeClaims))).toEqual({ v1: true, v1beta1: false })
  await startConversion()
  await appliesBoth()
  expect(await readFile(cluster.supervisor.logFile('joiner-conversion'), 'utf8')).not.toContain('forbidden')
})
