// How the chart's values reach a connection to Temporal, and the Temporal that the chart runs where they name none.
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { Authority } from '../deploy/local/authority.ts'
import { readTemporalSettings, type TemporalSettings } from '../starter/temporal/settings.ts'
import {
  chartFolder,
  deployment,
  helm,
  named,
  ofShape,
  podEnvironment,
  renderChart,
  smallestValues,
  valuesWithAddress,
} from './chart.ts'

const folder = '/etc/joiner-temporal'
let mounted: string
let authority: Authority

beforeAll(async () => {
  mounted = await mkdtemp(join(tmpdir(), 'joiner-chart-'))
  authority = await Authority.create('CN=ca')
})

afterAll(() => rm(mounted, { recursive: true }))

const volumes = z.looseObject({
  volumes: z.array(z.looseObject({ name: z.string(), secret: z.looseObject({ secretName: z.string() }).optional() })),
  containers: z.tuple([
    z.looseObject({ volumeMounts: z.array(z.looseObject({ name: z.string(), mountPath: z.string() })) }),
  ]),
})

/** What each Deployment's container reads that uses Temporal, and which Secret is mounted in which folder. */
async function rendered(temporal: object) {
  return (await allRendered(temporal)).filter(({ name }) => name !== 'joiner-conversion')
}

async function allRendered(temporal: object) {
  const manifests = await renderChart({
    ...valuesWithAddress,
    temporal: { ...valuesWithAddress.temporal, ...temporal },
  })
  return ofShape(manifests, ['Deployment'], deployment).map((each) => {
    const pod = volumes.parse(each.spec.template.spec)
    const secrets = new Map(pod.volumes.map(({ name, secret }) => [name, secret?.secretName]))
    const mounts = pod.containers[0].volumeMounts
      .filter(({ mountPath }) => mountPath.startsWith(folder))
      .map(({ name, mountPath }) => [mountPath, secrets.get(name)])
    return {
      name: each.metadata.name,
      environment: podEnvironment(manifests, each),
      mounts: Object.fromEntries(mounts) as Record<string, string>,
    }
  })
}

/** The settings that a process reads where the folders are mounted at `mounted`. */
function settingsOf(environment: Readonly<Record<string, string>>): TemporalSettings {
  const moved = Object.entries(environment).map(([name, value]) => [name, value.replace(folder, mounted)])
  const read = readTemporalSettings(Object.fromEntries(moved) as Record<string, string>)
  if (read.kind === 'errors') throw new Error(read.errors.join('; '))
  return read.settings
}

async function mount(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(mounted, path, '..'), { recursive: true })
    await writeFile(join(mounted, path), text)
  }
}

describe('every Deployment that uses Temporal', () => {
  test('connects without TLS by default, and mounts no Secret', async () => {
    for (const { environment, mounts } of await rendered({})) {
      expect(settingsOf(environment)).toMatchObject({
        address: 'temporal-frontend.temporal.svc:7233',
        namespace: 'default',
      })
      expect(settingsOf(environment).keys).toBeUndefined()
      expect(settingsOf(environment).load()).toMatchObject({ tls: false, metadata: {} })
      expect(mounts).toEqual({})
    }
  })

  test('connects with certificates from a Secret', async () => {
    const { cert, key } = await authority.issue({ subject: 'CN=joiner', usages: ['clientAuth'] })
    await mount({ 'tls/ca.crt': authority.cert, 'tls/tls.crt': cert, 'tls/tls.key': key })
    const values = { tls: { enabled: true, secretName: 'joiner-temporal', serverName: 'temporal.example' } }
    for (const { environment, mounts } of await rendered(values)) {
      expect(settingsOf(environment).load()).toMatchObject({
        tls: {
          serverNameOverride: 'temporal.example',
          serverRootCACertificate: new Uint8Array(Buffer.from(authority.cert)),
          clientCertPair: { crt: new Uint8Array(Buffer.from(cert)), key: new Uint8Array(Buffer.from(key)) },
        },
      })
      expect(mounts).toEqual({ [`${folder}/tls`]: 'joiner-temporal' })
    }
  })

  test('connects with an API key, and the authorities of the image', async () => {
    for (const { environment, mounts } of await rendered({ apiKey: { secretName: 'cloud', key: 'token' } })) {
      expect(settingsOf(environment).load()).toMatchObject({ tls: true, apiKey: 'cloud/token' })
      expect(mounts).toEqual({})
    }
  })

  test('reads profiles and encryption keys from Secrets', async () => {
    await mount({
      'config/all.toml': '[profile.prod]\naddress = "elsewhere:1"\napi_key = "secret"\n',
      'encryption/keys': `first:${Buffer.alloc(32, 1).toString('base64')}\nold:${Buffer.alloc(32, 2).toString('base64')}\n`,
    })
    const values = {
      config: { secretName: 'profiles', key: 'all.toml', profile: 'prod' },
      encryption: { secretName: 'encryption' },
    }
    for (const { environment, mounts } of await rendered(values)) {
      const settings = settingsOf(environment)
      expect(settings.load()).toMatchObject({ address: 'temporal-frontend.temporal.svc:7233', apiKey: 'secret' })
      expect([...(settings.keys?.keys() ?? [])]).toEqual(['first', 'old'])
      expect(mounts).toEqual({ [`${folder}/config`]: 'profiles', [`${folder}/encryption`]: 'encryption' })
    }
  })
})

test('the process that only converts has nothing of Temporal', async () => {
  const temporal = {
    tls: { enabled: true, secretName: 'joiner-temporal' },
    apiKey: { secretName: 'cloud' },
    config: { secretName: 'profiles' },
    encryption: { secretName: 'encryption' },
  }
  const all = await allRendered(temporal)
  expect(all).toHaveLength(4)
  const { environment, mounts } = all.find(({ name }) => name === 'joiner-conversion') ?? {}
  expect(Object.keys(environment ?? { TEMPORAL_ADDRESS: '' }).filter((name) => name.includes('TEMPORAL'))).toEqual([])
  expect(mounts).toEqual({})
})

test('a Secret with certificates and TLS off contradict each other', async () => {
  const values = { ...smallestValues, temporal: { tls: { secretName: 'joiner-temporal' } } }
  const { code, stderr } = await helm(['template', 'joiner', 'deploy/chart'], values)
  expect(code).not.toBe(0)
  expect(stderr).toContain('temporal.tls.secretName is set, and temporal.tls.enabled is false; set it to true')
})

describe('temporal.bundled', () => {
  const rendersOf = (temporal: object, more: object = {}) => renderChart({ ...smallestValues, ...more, temporal })

  test('runs the development server that the suites use, on a volume, on system nodes, and Joiner finds it', async () => {
    const manifests = await rendersOf({})
    const module = await readFile(new URL('../deploy/local/servers/temporal/go.mod', import.meta.url), 'utf8')
    const [, version = ''] = /github\.com\/temporalio\/cli v(\S+)/.exec(module) ?? []
    expect(named(manifests, 'StatefulSet', 'joiner-temporal')).toMatchObject({
      spec: {
        replicas: 1,
        // A pod that never gets ready is replaced by an upgrade.
        podManagementPolicy: 'Parallel',
        persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete' },
        template: {
          spec: {
            automountServiceAccountToken: false,
            nodeSelector: { 'kubernetes.azure.com/mode': 'system' },
            tolerations: [{ key: 'CriticalAddonsOnly', operator: 'Exists' }],
            containers: [
              {
                image: `temporalio/temporal:${version}`,
                args: expect.arrayContaining([
                  'start-dev',
                  `--db-filename=/data/temporal-${version}.db`,
                  '--ui-ip=127.0.0.1',
                  '--ui-port=8233',
                  '--namespace=default',
                ]) as unknown,
                env: expect.arrayContaining([{ name: 'USER', value: 'temporal' }]) as unknown,
                volumeMounts: expect.arrayContaining([{ name: 'data', mountPath: '/data' }]) as unknown,
                securityContext: { readOnlyRootFilesystem: true },
                lifecycle: { preStop: { sleep: { seconds: 5 } } },
                livenessProbe: { timeoutSeconds: 5 },
                startupProbe: { timeoutSeconds: 5, periodSeconds: 2, failureThreshold: 150 },
              },
            ],
          },
        },
        volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: { resources: { requests: { storage: '8Gi' } } } }],
      },
    })
    expect(named(manifests, 'ConfigMap', 'joiner-settings')).toMatchObject({
      data: { TEMPORAL_ADDRESS: 'joiner-temporal.joiner-system.svc:7233', JOINER_TEMPORAL_BUNDLED: 'true' },
    })
    expect(named(manifests, 'Role', 'joiner-azure')).toMatchObject({
      rules: expect.arrayContaining([
        expect.objectContaining({ resources: ['pods'], resourceNames: ['joiner-temporal-0'], verbs: ['get'] }),
      ]) as unknown,
    })
    expect(named(manifests, 'Service', 'joiner-temporal')).toMatchObject({ spec: { ports: [{ port: 7233 }] } })
  })

  const temporal = { 'app.kubernetes.io/component': 'joiner-temporal' }
  const onlyJoiner = {
    podSelector: { matchLabels: temporal },
    ingress: [{ from: [{ podSelector: { matchLabels: { 'app.kubernetes.io/name': 'joiner' } } }] }],
  }

  test('is closed to all but Joiner, whose own policy stays a value, and no egress is limited', async () => {
    const policies = (await rendersOf({})).filter(({ kind }) => kind === 'NetworkPolicy')
    expect(policies.map(({ metadata }) => metadata.name)).toEqual(['joiner-temporal'])
    expect(policies[0]?.spec).toMatchObject({ ...onlyJoiner, policyTypes: ['Ingress'] })
    expect(policies[0]?.spec).not.toHaveProperty('egress')
  })

  test('is not closed to pods on the network of their node, which no policy can name', async () => {
    const manifests = await rendersOf({}, { hostNetwork: true })
    expect(manifests.filter(({ kind }) => kind === 'NetworkPolicy')).toEqual([])
  })

  test('may go nowhere where policies are on, and Joiner may reach it', async () => {
    const egress = [{ to: [{ ipBlock: { cidr: '0.0.0.0/0' } }] }]
    const manifests = await rendersOf({}, { networkPolicy: { enabled: true, egress } })
    expect(named(manifests, 'NetworkPolicy', 'joiner-temporal')).toMatchObject({ spec: { ...onlyJoiner, egress: [] } })
    expect(named(manifests, 'NetworkPolicy', 'joiner')).toMatchObject({
      spec: { egress: [{}, {}, { to: [{ podSelector: { matchLabels: temporal } }] }, {}] },
    })
  })

  test('has its database in an emptyDir where it is not to be kept', async () => {
    const { spec } = named(await rendersOf({ bundled: { persistence: false } }), 'StatefulSet', 'joiner-temporal')
    expect(spec).not.toHaveProperty('volumeClaimTemplates')
    expect(spec).toMatchObject({
      template: { spec: { volumes: [{ name: 'tmp' }, { name: 'data', emptyDir: { sizeLimit: '8Gi' } }] } },
    })
  })

  test.each([
    ['registry.example/mirror/temporal:1.9.0', 'temporal-1.9.0.db'],
    [`temporal@sha256:${'a1'.repeat(4)}`, `temporal-sha256-${'a1'.repeat(4)}.db`],
  ])('begins with an empty file in another version: %s', async (image, file) => {
    const manifests = await rendersOf({ bundled: { image } })
    expect(JSON.stringify(named(manifests, 'StatefulSet', 'joiner-temporal'))).toContain(`--db-filename=/data/${file}"`)
  })

  const address = 'temporal.example:7233'
  const variable = { controller: { env: [{ name: 'TEMPORAL_ADDRESS', value: address }] } }
  test.each([
    ['an address', { address }, {}],
    ['a variable', {}, variable],
    ['an address, and is switched off', { address, bundled: { enabled: false } }, {}],
  ])('is not rendered with %s of another one', async (_, given, more) => {
    const text = JSON.stringify(await rendersOf(given, more))
    expect(text).toContain(address)
    expect(text).not.toMatch(/joiner-temporal[".-]|TEMPORAL_BUNDLED|StatefulSet/)
  })

  test('runs beside an address where it is switched on, and Joiner uses it', async () => {
    const manifests = await rendersOf({ address, bundled: { enabled: true } })
    expect(named(manifests, 'ConfigMap', 'joiner-settings')).toMatchObject({
      data: { TEMPORAL_ADDRESS: 'joiner-temporal.joiner-system.svc:7233' },
    })
  })

  const empty = { controller: { env: [{ name: 'TEMPORAL_ADDRESS', value: '' }] } }
  test.each([
    [{}, 'TEMPORAL_ADDRESS in controller.env has no value', empty],
    [{ address }, 'TEMPORAL_ADDRESS in controller.env has no value', empty],
    [{ apiKey: { secretName: 'cloud' } }, 'temporal.apiKey.secretName is set, and temporal.address is empty'],
    [
      { address, bundled: { enabled: true }, tls: { enabled: true } },
      'temporal.tls.enabled is set, and temporal.bundled.enabled is true',
    ],
    [{ bundled: { enabled: false } }, 'temporal.bundled.enabled is false, and temporal.address is empty'],
  ])('is refused with what contradicts it: %j, %s', async (given: object, words: string, more: object = {}) => {
    const values = { ...smallestValues, ...more, temporal: given }
    const { code, stderr } = await helm(['template', 'joiner', chartFolder], values)
    expect(code).not.toBe(0)
    expect(stderr).toContain(words)
  })
})

test("the values for Temporal's own chart keep it on system nodes, off those of Joiner, and what ended for a week", async () => {
  const text = await readFile(new URL('../deploy/temporal/values-temporal.yaml', import.meta.url), 'utf8')
  const chartValues = await readFile(join(chartFolder, 'values.yaml'), 'utf8')
  const values = parse(text) as Record<string, object>
  for (const part of ['server', 'admintools', 'web'])
    expect(values[part]).toMatchObject({
      nodeSelector: { 'kubernetes.azure.com/mode': 'system' },
      tolerations: [{ key: 'CriticalAddonsOnly', operator: 'Exists' }],
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: 'karpenter.sh/nodepool', operator: 'DoesNotExist' }] }],
          },
        },
      },
    })
  const sql = { pluginName: 'postgres12', existingSecret: 'temporal-postgres' }
  expect(values['server']).toMatchObject({
    config: {
      persistence: { numHistoryShards: 512, datastores: { default: { sql }, visibility: { sql } } },
      // As the chart has it, so that an address is all that a release needs.
      namespaces: { create: true, namespace: [{ name: parse(chartValues).temporal.namespace, retention: '7d' }] },
    },
  })
  expect(text).not.toMatch(/password: /)
  const { server } = values as unknown as {
    readonly server: {
      readonly replicaCount: number
      readonly config: {
        readonly persistence: {
          readonly datastores: Readonly<Record<string, { readonly sql: { readonly maxConns: number } }>>
        }
      }
    }
  }
  const pools = Object.values(server.config.persistence.datastores).map((store) => store.sql.maxConns)
  const services = ['frontend', 'history', 'matching', 'worker'].length
  // The smallest Azure Database for PostgreSQL, B1ms.
  expect(pools.reduce((sum, size) => sum + size) * services * server.replicaCount).toBeLessThanOrEqual(35)
})
