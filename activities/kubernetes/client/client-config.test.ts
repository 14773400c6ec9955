import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { stringify } from 'yaml'
import { ownAccount, readConnection } from './client-config.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kubeconfig-'))
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllEnvs()
  return rm(folder, { recursive: true })
})

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
    [
      'without a current context',
      { 'current-context': '' },
      'current-context is not set; name one by --context: there, here',
    ],
    [
      'whose context is missing',
      { 'current-context': 'x' },
      'there is no context "x"; name one by --context: there, here',
    ],
    ['whose cluster is missing', { clusters: [] }, 'context "here" names no cluster with a server'],
    ['of nothing', { contexts: null }, 'there is no context "here"; name one by --context: there is none'],
  ])('%s is an error that names it', async (_what, change, message) => {
    const path = await kubeconfig({ server: 'https://a' }, {}, change)
    await expect(readConnection(path)).rejects.toThrow(`kubeconfig ${path}: ${message}`)
  })

  it('may be several files, of which the first that has a name counts and one may be missing', async () => {
    const first = await kubeconfig({ server: 'https://a' }, { tokenFile: 'token' }, { clusters: [] })
    await mkdir(join(folder, 'more'))
    const second = join(folder, 'more', 'config')
    const clusters = [{ name: 'a', cluster: { server: 'https://second', 'certificate-authority': 'ca' } }]
    const users = [{ name: 'a', user: { token: 'of the second' } }]
    await writeFile(second, stringify({ 'current-context': 'there', clusters, users }))
    await writeFile(join(folder, 'token'), 'of the first')
    await writeFile(join(folder, 'more', 'ca'), 'ca beside its file')
    const { server, tls, token } = await readConnection([first, join(folder, 'none'), second].join(delimiter))
    expect(server).toBe('https://second')
    expect(String(tls.ca)).toBe('ca beside its file')
    expect(token()).toBe('of the first')
    await expect(readConnection(join(folder, 'none'))).rejects.toThrow(
      'there is no such file; run az aks get-credentials',
    )
  })

  it('is read for another context, namespace and user when asked', async () => {
    const path = await kubeconfig({ server: 'https://a' }, { as: 'bob', 'as-groups': ['staff'] })
    expect((await readConnection(path)).headers).toEqual({ 'impersonate-user': 'bob', 'impersonate-group': ['staff'] })
    const other = await readConnection({ files: [path], context: 'there', as: 'eve', asGroups: ['a', 'b'] })
    expect(other.server).toBe('https://b')
    expect(other.token()).toBe('of b')
    expect(other.headers).toEqual({ 'impersonate-user': 'eve', 'impersonate-group': ['a', 'b'] })
  })

  it('that is no YAML is an error that names it', async () => {
    const path = join(folder, 'broken')
    await writeFile(path, 'a: [')
    await expect(readConnection(path)).rejects.toThrow(`kubeconfig ${path}: cannot be read: `)
  })

  /** A kubeconfig whose plugin is the shell script, beside it. */
  async function withPlugin(script: string): Promise<string> {
    const plugin = join(folder, 'plugin')
    await writeFile(plugin, `#!/bin/sh\n${script}\n`)
    await chmod(plugin, 0o755)
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: './plugin', interactiveMode: 'Never' }
    return kubeconfig({ server: 'https://a' }, { exec })
  }

  it('with a plugin has the token that the plugin prints, which learns what it is asked for', async () => {
    const credential = `{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"of it"}}`
    const info = join(folder, 'info')
    const { token, tls } = await readConnection(
      await withPlugin(`echo "$KUBERNETES_EXEC_INFO" > ${info}; echo '${credential}'`),
    )
    expect(token()).toBe('of it')
    expect(tls).toEqual({})
    expect(JSON.parse(await readFile(info, 'utf8'))).toEqual({
      kind: 'ExecCredential',
      apiVersion: 'client.authentication.k8s.io/v1',
      spec: { interactive: false },
    })
  })

  it('with a plugin that hangs when it is asked again has the token from before, and starts it once', async () => {
    const credential = (token: string) =>
      `{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"${token}","expirationTimestamp":"2020-01-01T00:00:00Z"}}`
    const [starts, go] = [join(folder, 'starts'), join(folder, 'go')]
    const path = await withPlugin(
      [
        `if [ ! -e ${starts} ]; then echo first > ${starts}; echo '${credential('first')}'; exit; fi`,
        `echo again >> ${starts}; while [ ! -e ${go} ]; do sleep 0.02; done; echo '${credential('second')}'`,
      ].join('\n'),
    )
    vi.useFakeTimers({ toFake: ['performance'] })
    const { token } = await readConnection(path)
    for (let times = 0; times < 3; times++) {
      vi.advanceTimersByTime(5001)
      expect(token()).toBe('first')
      await expect.poll(() => readFile(starts, 'utf8')).toContain('again')
    }
    await writeFile(go, '')
    await expect.poll(() => token()).toBe('second')
    expect(await readFile(starts, 'utf8')).toBe('first\nagain\n')
  })

  it('whose plugin fails says so, with what the plugin wrote', async () => {
    const path = await withPlugin('echo "token expired" >&2; exit 1')
    await expect(readConnection(path)).rejects.toThrow(
      `the credential plugin ${folder}/plugin of the context "here" failed: token expired; run kubectl get nodes once`,
    )
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

  it('is the one of a process for which no kubeconfig is named', async () => {
    vi.stubEnv('KUBERNETES_SERVICE_HOST', '')
    await expect(readConnection(undefined)).rejects.toThrow('this process is in no pod: set KUBECONFIG')
  })

  it('outside of a pod is an error with the remedy', () => {
    expect(() => ownAccount(folder, {})).toThrow('set KUBECONFIG')
  })
})
