import { existsSync, readFileSync, statSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ApiError } from '../../../activities/kubernetes/client/api-error.ts'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { installedSettings } from './joiner-settings.ts'

/** A cluster that holds these objects by path; others are not there, and `forbidden` may not be read. */
function cluster(objects: Readonly<Record<string, object>>, forbidden: readonly string[] = []): KubernetesClient {
  return {
    get: (path: string) => {
      if (forbidden.includes(path)) return Promise.reject(new ApiError(403, 'Forbidden', `${path} is forbidden`))
      const found = objects[path]
      return found === undefined ? Promise.reject(new ApiError(404, 'NotFound', path)) : Promise.resolve(found)
    },
  } as unknown as KubernetesClient
}

const settings = '/api/v1/namespaces/joiner/configmaps/joiner-settings'
const deployment = '/apis/apps/v1/namespaces/joiner/deployments/joiner'
const secret = '/api/v1/namespaces/joiner/secrets/temporal-client'
const base64 = (text: string) => Buffer.from(text).toString('base64')

const pod = (env: readonly object[]) => ({
  spec: {
    template: {
      spec: {
        containers: [{ env, volumeMounts: [{ name: 'tls', mountPath: '/etc/joiner-temporal/tls' }] }],
        volumes: [{ name: 'tls', secret: { secretName: 'temporal-client' } }],
      },
    },
  },
})
const asked = { namespace: 'joiner', deployments: ['joiner-azure', 'joiner'], wanted: () => true } as const

describe("Joiner's settings in a cluster", () => {
  it("are the ConfigMap's, over which the Deployment's own stand, and Secrets' values and files", async () => {
    const client = cluster({
      [settings]: { data: { TEMPORAL_ADDRESS: 'old:7233', CLUSTER_NAME: 'prod' } },
      [deployment]: pod([
        { name: 'TEMPORAL_ADDRESS', value: 'new:7233' },
        { name: 'TEMPORAL_API_KEY', valueFrom: { secretKeyRef: { name: 'temporal-client', key: 'key' } } },
        { name: 'TEMPORAL_TLS_SERVER_CA_CERT_PATH', value: '/etc/joiner-temporal/tls/ca.crt' },
        { name: 'JOINER_IDENTITY', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      ]),
      [secret]: { data: { key: base64('secret'), 'ca.crt': base64('authority') } },
    })
    const { settings: read, notes, dispose } = await installedSettings(client, asked)
    const { TEMPORAL_TLS_SERVER_CA_CERT_PATH: file = '', ...others } = read
    expect(others).toEqual({ TEMPORAL_ADDRESS: 'new:7233', CLUSTER_NAME: 'prod', TEMPORAL_API_KEY: 'secret' })
    expect(notes).toEqual([])
    expect(readFileSync(file, 'utf8')).toBe('authority')
    expect(statSync(file).mode & 0o077).toBe(0)
    dispose()
    expect(existsSync(file)).toBe(false)
  })

  it('leave out what the caller may not read, and say so', async () => {
    const client = cluster(
      {
        [settings]: { data: { A: 'a' } },
        [deployment]: pod([{ name: 'B', valueFrom: { secretKeyRef: { name: 'temporal-client', key: 'key' } } }]),
      },
      [secret],
    )
    const { settings: read, notes, dispose } = await installedSettings(client, asked)
    dispose()
    expect(read).toEqual({ A: 'a' })
    expect(notes).toEqual([
      'Secret temporal-client in the namespace "joiner": you may not read it, so what it sets is missing here',
    ])
  })

  it('hold nothing that is not wanted, and no file but what is mounted', async () => {
    const evil = '/etc/joiner-temporal/tls/../../../../../../../../tmp/evil'
    const client = cluster({
      [settings]: {
        data: {
          NODE_OPTIONS: '--require /tmp/x',
          GOOD: 'g',
          EVIL_FILE: evil,
          TEMPORAL_CONFIG_FILE: '/home/alice/.config/temporalio/temporal.toml',
          TEMPORAL_TLS_CLIENT_KEY_PATH: '.config/key',
          VNET_SUBNET_ID: '/subscriptions/s',
        },
      },
      [deployment]: pod([]),
      [secret]: { data: { '../../../../../../../../tmp/evil': base64('x') } },
    })
    const { settings: read, dispose } = await installedSettings(client, {
      ...asked,
      wanted: (name) => name !== 'NODE_OPTIONS',
    })
    dispose()
    expect(read).toEqual({ GOOD: 'g', VNET_SUBNET_ID: '/subscriptions/s' })
    expect(existsSync('/tmp/evil')).toBe(false)
  })

  it('take one read of a Secret with several keys, and one note where it may not be read', async () => {
    const keyOf = (name: string) => ({
      name,
      valueFrom: { secretKeyRef: { name: 'temporal-client', key: name } },
    })
    const client = cluster({ [settings]: {}, [deployment]: pod([keyOf('a'), keyOf('b')]) }, [secret])
    const { notes, dispose } = await installedSettings(client, asked)
    dispose()
    expect(notes).toHaveLength(1)
  })

  it('that are not there, or not to be read, are an error with the remedy', async () => {
    await expect(installedSettings(cluster({}), asked)).rejects.toThrow(
      'there is no ConfigMap joiner-settings in the namespace "joiner"',
    )
    await expect(installedSettings(cluster({}, [settings]), asked)).rejects.toThrow('cannot be read')
  })
})
