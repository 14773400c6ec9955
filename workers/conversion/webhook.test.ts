import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { Agent, request } from 'node:https'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createPki } from '../../deploy/local/pki.ts'
import { type WebhookLimits, webhookLimits } from './limits.ts'
import { type Certificate, type ConversionWebhook, type Refusal, startConversionWebhook } from './webhook.ts'

/** Processor time of this process so far, which other processes on a busy machine do not lengthen much. */
function processorMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

interface Issued extends Certificate {
  readonly ca: string
}

const path = '/convert/0123456789abcdef'
let folder: string
let first: Issued
let webhook: ConversionWebhook
let refused: Refusal[]
let failures: (string | undefined)[]
const started: ConversionWebhook[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'joiner-webhook-'))
  first = await issue('first')
})

beforeEach(async () => {
  refused = []
  failures = []
  webhook = await start()
})

afterEach(async () => {
  for (const one of started.splice(0)) await one.close()
})

afterAll(() => rm(folder, { recursive: true, force: true }))

async function start(limits: Partial<WebhookLimits> = {}): Promise<ConversionWebhook> {
  const one = await startConversionWebhook(
    { port: 0, serving: { certificate: first, path }, limits: { ...webhookLimits, ...limits } },
    { answered: (failure) => failures.push(failure), refused: (why) => refused.push(why) },
  )
  started.push(one)
  return one
}

async function issue(name: string): Promise<Issued> {
  const { caFile, serverCertFile, serverKeyFile } = await createPki(join(folder, name))
  const read = (file: string) => readFile(file, 'utf8')
  return { ca: await read(caFile), cert: await read(serverCertFile), key: await read(serverKeyFile) }
}

interface Reply {
  readonly status: number
  readonly body: string
  readonly headers: NodeJS.Dict<string | string[]>
  /** Of the certificate that was served. */
  readonly serial: string
}

interface Sent {
  readonly to?: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly ca?: string
  readonly from?: string
  readonly agent?: Agent
}

/** Sends a text. Errors: those of the connection. */
function send(body: string | Buffer, { to = path, method = 'POST', headers, ca = first.ca, from, agent }: Sent = {}) {
  return new Promise<Reply>((resolve, reject) => {
    const sent = request({
      host: '127.0.0.1',
      port: webhook.port,
      path: to,
      method,
      ca,
      agent: agent ?? false,
      ...(from === undefined ? {} : { localAddress: from }),
      headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...headers },
    })
    sent.on('error', reject)
    sent.on('response', (response) => {
      const serial = (response.socket as TLSSocket).getPeerCertificate().serialNumber
      const status = response.statusCode ?? 0
      text(response).then((read) => resolve({ status, body: read, serial, headers: response.headers }), reject)
    })
    sent.end(body)
  })
}

const reviewOf = (objects: unknown, desiredAPIVersion = 'karpenter.sh/v1') =>
  JSON.stringify({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'ConversionReview',
    request: { uid: 'u-1', desiredAPIVersion, objects },
  })

async function review(objects: unknown, desiredAPIVersion = 'karpenter.sh/v1') {
  return responseOf(await send(reviewOf(objects, desiredAPIVersion)))
}

function responseOf({ status, body }: Reply): Record<string, unknown> {
  expect(status).toBe(200)
  return (JSON.parse(body) as { response: Record<string, unknown> }).response
}

const pool = (version: string, name: string, spec: unknown, annotations?: unknown) => ({
  apiVersion: `karpenter.sh/${version}`,
  kind: 'NodePool',
  metadata: { name, uid: 'x', ...(annotations === undefined ? {} : { annotations }) },
  spec,
})

describe('the conversion webhook', () => {
  it('converts every object of a review, in order', async () => {
    const spec = { template: { spec: { requirements: [], nodeClassRef: { name: 'default' } } } }
    const response = await review([pool('v1beta1', 'a', spec), pool('v1', 'b', {}), pool('v1beta1', 'c', spec)])
    expect(response).toMatchObject({
      uid: 'u-1',
      result: { status: 'Success' },
      convertedObjects: ['a', 'b', 'c'].map((name) => ({
        apiVersion: 'karpenter.sh/v1',
        metadata: { name, uid: 'x' },
      })),
    })
    expect(failures).toEqual([undefined])
  })

  it.each([
    [[pool('v1', 'a', {}), pool('v1beta1', 'b', { template: 'x' })], /^NodePool "b" .*field spec\.template /],
    [[{ ...pool('v1beta1', 'a', {}), kind: 'Provisioner' }], /^Provisioner "a" .*field kind /],
    [[7], /^an object /],
    ['none', /^request\.objects is not a list/],
  ])('fails the whole review and says for what: %#', async (objects, message) => {
    expect(await review(objects)).toEqual({
      uid: 'u-1',
      result: { status: 'Failure', message: expect.stringMatching(message) as string },
    })
    expect(failures).toEqual([expect.stringMatching(message)])
  })

  it('refuses what is no review', async () => {
    for (const body of ['{"kind":"Pod"}', '{', '', 'null', '[]'])
      expect(await send(body)).toMatchObject({
        status: 400,
        body: expect.stringContaining('ConversionReview') as string,
      })
  })

  const names = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'example.com/team']

  it('takes whatever annotations, labels and keys are called for data', async () => {
    // As text: an object literal would set its prototype.
    const named = `{${names.map((name) => `${JSON.stringify(name)}:"of ${name}"`).join(',')}}`
    const object = (version: string) =>
      `{"apiVersion":"karpenter.sh/${version}","kind":"NodePool","metadata":{"name":"a","labels":${named},"annotations":${named}},"spec":{"template":{"metadata":{"labels":${named}},"spec":{"requirements":[]}},"limits":{"__proto__":"1"}}}`
    const there = responseOf(await send(reviewOf(0, 'karpenter.sh/v1beta1').replace(':0}', `:[${object('v1')}]}`)))
    const [old] = there['convertedObjects'] as readonly unknown[]
    const back = responseOf(await send(reviewOf([old])))
    expect(JSON.stringify(back['convertedObjects'])).toBe(`[${object('v1')}]`)
    expect(({} as Record<string, unknown>)['of __proto__']).toBeUndefined()
  })

  it('fails an object that is nested 20,000 levels deep, by name, and converts the next review', async () => {
    const deep = `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`
    const text = reviewOf([pool('v1', 'deep', 0)], 'karpenter.sh/v1beta1').replace('"spec":0', `"spec":${deep}`)
    expect(responseOf(await send(text))['result']).toEqual({
      status: 'Failure',
      message: 'NodePool "deep" cannot become karpenter.sh/v1beta1: its fields are nested too deeply',
    })
    expect(await review([pool('v1', 'b', {})])).toMatchObject({ result: { status: 'Success' } })
  })

  it('keeps an annotation of kubelet settings that are nested 20,000 levels deep as it is', async () => {
    const kubelet = {
      'compatibility.karpenter.sh/v1beta1-kubelet-conversion': `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`,
    }
    const { result, convertedObjects } = await review(
      [pool('v1', 'deep', { template: { spec: {} } }, kubelet)],
      'karpenter.sh/v1beta1',
    )
    expect(result).toEqual({ status: 'Success' })
    expect(convertedObjects).toEqual([pool('v1beta1', 'deep', { template: { spec: {} } }, kubelet)])
  })

  it('converts 2,000 NodeClaims of one review in under 2 s of processor time, both ways', async () => {
    const claims = Array.from({ length: 2000 }, (_, index) => claim(`claim-${index}`))
    const begun = processorMs()
    const { convertedObjects } = await review(claims, 'karpenter.sh/v1beta1')
    const between = processorMs()
    const back = await review(convertedObjects)
    const ended = processorMs()
    expect(back['convertedObjects']).toEqual(claims)
    console.log(
      `2,000 NodeClaims: to v1beta1 in ${Math.round(between - begun)} ms, to v1 in ${Math.round(ended - between)} ms`,
    )
    expect(Math.max(between - begun, ended - between)).toBeLessThan(2000)
  }, 20_000)

  it('serves a new certificate and a new path without a new start', async () => {
    const second = await issue('second')
    webhook.use({ certificate: second, path: '/convert/another' })
    const serial = (pem: string) => new X509Certificate(pem).serialNumber
    expect(await send('{}', { ca: second.ca, to: '/convert/another' })).toMatchObject({
      status: 400,
      serial: serial(second.cert),
    })
    expect((await send('{}', { ca: second.ca })).status).toBe(404)
    await expect(send('{}')).rejects.toThrow()
  })
})

describe('a client that is not the API server', () => {
  const huge = { 'content-length': String(100 * 1024 * 1024) }

  it.each<[string, Sent, number]>([
    ['another path', { to: '/convert' }, 404],
    ['a path that is nearly right', { to: path.slice(0, -1) }, 404],
    ['a path that is longer', { to: `${path}/x` }, 404],
    ['another method', { method: 'PUT' }, 405],
    [
      'no length',
      { headers: { 'transfer-encoding': 'chunked', 'content-length': undefined as unknown as string } },
      411,
    ],
  ])('is refused by %s before its body is read', async (_, sent, status) => {
    expect(await refusalBeforeBody({ ...sent, headers: { ...sent.headers } })).toBe(status)
    expect(refused).toEqual([status])
  })

  it('is refused a body over the limit before it is read, and a query is no part of the path', async () => {
    expect(await refusalBeforeBody({ headers: huge })).toBe(413)
    expect((await send(reviewOf([]), { to: `${path}?timeout=30s` })).status).toBe(200)
  })

  /** Sends headers only, and waits for the answer and the end of the connection. */
  async function refusalBeforeBody({ to = path, method = 'POST', headers = {} }: Sent): Promise<number> {
    const socket = await tls()
    const all = { host: 'x', 'content-length': '10', ...headers }
    const lines = Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]))
    socket.write(`${method} ${to} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
    const answer = await text(socket)
    return Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1])
  }

  async function tls(from = '127.0.0.1'): Promise<TLSSocket> {
    const socket = connectTls({ host: '127.0.0.1', port: webhook.port, ca: first.ca, localAddress: from } as never)
    socket.on('error', () => {})
    await once(socket, 'secureConnect')
    return socket
  }

  it('is refused a text of more values than the limit, before it is parsed', async () => {
    webhook = await start({ values: 1000 })
    expect((await send(reviewOf(Array(2000).fill(0)))).status).toBe(413)
    expect((await send(reviewOf(Array(20).fill(pool('v1', 'a', {}))))).status).toBe(200)
  })

  it('is told to come back when there is no room, which others have', async () => {
    webhook = await start({ requests: 3, requestsOfAddress: 2, requestMs: 10_000 })
    const slow = async (from: string) => {
      const socket = await tls(from)
      socket.write(`POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n`)
      return socket
    }
    const sockets = [await slow('127.0.0.2'), await slow('127.0.0.2')]
    await expect.poll(async () => (await send('{}', { from: '127.0.0.2' })).status).toBe(429)
    const answer = await send('{}', { from: '127.0.0.2' })
    expect(answer.headers['retry-after']).toBe('1')
    expect((await send(reviewOf([]))).status).toBe(200)
    sockets.push(await slow('127.0.0.3'))
    await expect.poll(async () => (await send(reviewOf([]))).status).toBe(429)
    for (const socket of sockets) socket.destroy()
    await expect.poll(async () => (await send(reviewOf([]))).status).toBe(200)
  })

  it('is closed when it takes too long over a handshake, headers or a body', async () => {
    webhook = await start({ headersMs: 1000, requestMs: 2000 })
    const raw = connect(webhook.port, '127.0.0.1')
    const silent = await tls()
    const slowHeaders = await tls()
    slowHeaders.write('POST / HTTP/1.1\r\nhost:')
    const slowBody = await tls()
    slowBody.write(`POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n{`)
    const sockets: readonly Socket[] = [raw, silent, slowHeaders, slowBody]
    for (const socket of sockets) socket.on('error', () => {}).resume()
    await expect.poll(() => sockets.every(({ closed }) => closed), { timeout: 20_000 }).toBe(true)
    expect((await send(reviewOf([]))).status).toBe(200)
  })

  it('closes its own connections when it opens too many, and nobody else’s', async () => {
    webhook = await start({ connections: 20 })
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    await send(reviewOf([]), { agent })
    const sockets = Array.from({ length: 100 }, () =>
      connect({ port: webhook.port, host: '127.0.0.1', localAddress: '127.0.0.2' }).on('error', () => {}),
    )
    await expect.poll(() => refused.filter((why) => why === 'closed').length).toBe(81)
    const answer = await send(reviewOf([]), { agent })
    expect(answer.status).toBe(200)
    expect(Object.values(agent.freeSockets).flat()).toHaveLength(1)
    agent.destroy()
    for (const socket of sockets) socket.destroy()
  })
})

function claim(name: string): object {
  return {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: {
      name,
      uid: name,
      labels: { 'karpenter.sh/nodepool': 'default', 'topology.kubernetes.io/zone': 'westus2-1' },
      annotations: { 'karpenter.sh/nodepool-hash': '1234', 'karpenter.sh/nodepool-hash-version': 'v3' },
      finalizers: ['karpenter.sh/termination'],
    },
    spec: {
      requirements: Array.from({ length: 8 }, (_, index) => ({
        key: `example.com/key-${index}`,
        operator: 'In',
        values: Array.from({ length: 20 }, (_, value) => `value-${value}`),
      })),
      resources: { requests: { cpu: '7', memory: '20Gi', pods: '12' } },
      nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
      expireAfter: '720h',
    },
    status: {
      nodeName: name,
      providerID: `azure:///subscriptions/s/${name}`,
      capacity: { cpu: '8', memory: '32Gi' },
      conditions: ['Launched', 'Registered', 'Initialized', 'Ready'].map((type) => ({
        type,
        status: 'True',
        reason: type,
        message: '',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      })),
      lastPodEventTime: '2026-01-01T00:00:00Z',
    },
  }
}
