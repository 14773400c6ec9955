import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { ownAccount, readConnection } from './client-config.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kubeconfig-'))
})
afterEach(() => rm(folder, { recursive: true }))

async function kubeconfig(cluster: object, user: object, change: object = {}): Promise<string> {
  const path = join(folder, 'config')
  const text = stringify({
    'current-context': 'here',
    contexts: [
      { name: 'there', context: { cluster: 'b', user: 'b' } },
      { name: 'here', context: { cluster: 'a', user: 'a' } },
    ],
    clusters: [
      { name: 'b', cluster: { server: 'https://b' } },
      { name: 'a', cluster },
    ],
    users: [
      { name: 'b', user: { token: 'of b' } },
      { name: 'a', user },
    ],
    ...change,
  })
  await writeFile(path, text)
  return path
}

const base64 = (text: string) => Buffer.from(text).toString('base64')

describe('a kubeconfig', () => {
  it('gives server, certificates and token of its current context', async () => {
    const path = await kubeconfig(
      { server: 'https://a:6443/', 'certificate-authority-data': base64('ca'), 'tls-server-name': 'name' },
      { 'client-certificate-data': base64('cert'), 'client-key-data': base64('key'), token: 'of a' },
    )
    const { server, tls, token } = await readConnection(path)
    expect(server).toBe('https://a:6443')
    expect(tls).toEqual({
      ca: Buffer.from('ca'),
      cert: Buffer.from('cert'),
      key: Buffer.from('key'),
      servername: 'name',
    })
    expect(token()).toBe('of a')
  })

  it('names files relative to itself', async () => {
    for (const name of ['ca', 'cert', 'key', 'token']) await writeFile(join(folder, name), `${name} of a file\n`)
    const path = await kubeconfig(
      { server: 'https://a', 'certificate-authority': 'ca' },
      { 'client-certificate': 'cert', 'client-key': join(folder, 'key'), tokenFile: 'token' },
    )
    const { tls, token } = await readConnection(path)
    expect(Object.values(tls).map(String)).toEqual(['ca of a file\n', 'cert of a file\n', 'key of a file\n'])
    expect(token()).toBe('token of a file')
  })

  it('may tell that the server is not verified', async () => {
    const path = await kubeconfig({ server: 'https://a', 'insecure-skip-tls-verify': true }, {})
    const { tls, token } = await readConnection(path)
    expect(tls).toEqual({ rejectUnauthorized: false })
    expect(token()).toBeUndefined()
  })

  it.each([
    ['without a current context', { 'current-context': 'nowhere' }],
    ['whose cluster is missing', { clusters: [] }],
    ['of nothing', { contexts: null }],
  ])('%s is an error that names it', async (_what, change) => {
    const path = await kubeconfig({ server: 'https://a' }, {}, change)
    await expect(readConnection(path)).rejects.toThrow(`${path}: current-context names no cluster`)
  })

  it('with a plugin has the token that the plugin prints', async () => {
    const plugin = join(folder, 'plugin')
    const credential = {
      kind: 'ExecCredential',
      apiVersion: 'client.authentication.k8s.io/v1',
      status: { token: 'of it' },
    }
    await writeFile(plugin, `#!/bin/sh\necho '${JSON.stringify(credential)}'\n`)
    await chmod(plugin, 0o755)
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: plugin, interactiveMode: 'Never' }
    const { token, tls } = await readConnection(await kubeconfig({ server: 'https://a' }, { exec }))
    expect(token()).toBe('of it')
    expect(tls).toEqual({})
  })
})

describe("a pod's own account", () => {
  it.each([
    ['10.0.0.1', 'https://10.0.0.1:443'],
    ['fd00::1', 'https://[fd00::1]:443'],
  ])('at %s is at %s', async (host, server) => {
    await writeFile(join(folder, 'ca.crt'), 'ca')
    await writeFile(join(folder, 'token'), 'its token\n')
    const connection = ownAccount(folder, { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: '443' })
    expect(connection.server).toBe(server)
    expect(String(connection.tls.ca)).toBe('ca')
    expect(connection.token()).toBe('its token')
  })

  it('outside of a pod is an error with the remedy', () => {
    expect(() => ownAccount(folder, {})).toThrow('set KUBECONFIG')
  })
})
