// How the chart's values reach a connection to Temporal.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { Authority } from '../deploy/local/authority.ts'
import { readTemporalSettings, type TemporalSettings } from '../starter/temporal/settings.ts'
import { deployment, helm, ofShape, podEnvironment, renderChart, smallestValues } from './chart.ts'

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
  const manifests = await renderChart({ ...smallestValues, temporal })
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
