import { X509Certificate } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { TLSSocket } from 'node:tls'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPki } from '../../deploy/local/pki.ts'
import { type Certificate, type ConversionWebhook, startConversionWebhook } from './webhook.ts'

interface Issued extends Certificate {
  readonly ca: string
}

let folder: string
let first: Issued
let webhook: ConversionWebhook

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'joiner-webhook-'))
  first = await issue('first')
  webhook = await startConversionWebhook(0, first, pino({ level: 'silent' }))
})

afterAll(async () => {
  await webhook.close()
  await rm(folder, { recursive: true, force: true })
})

async function issue(name: string): Promise<Issued> {
  const { caFile, serverCertFile, serverKeyFile } = await createPki(join(folder, name))
  const read = (path: string) => readFile(path, 'utf8')
  return { ca: await read(caFile), cert: await read(serverCertFile), key: await read(serverKeyFile) }
}

interface Reply {
  readonly status: number
  readonly body: string
  /** Of the certificate that was served. */
  readonly serial: string
}

function post(body: unknown, ca = first.ca): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const { port } = new URL(webhook.address)
    const headers = { 'content-type': 'application/json' }
    const sent = request({ host: '127.0.0.1', port, path: '/convert', method: 'POST', ca, headers, agent: false })
    sent.on('error', reject)
    sent.on('response', (response) => {
      const serial = (response.socket as TLSSocket).getPeerCertificate().serialNumber
      text(response).then((body) => resolve({ status: response.statusCode ?? 0, body, serial }), reject)
    })
    sent.end(JSON.stringify(body))
  })
}

async function review(objects: readonly unknown[], desiredAPIVersion = 'karpenter.sh/v1') {
  const { body } = await post({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'ConversionReview',
    request: { uid: 'u-1', desiredAPIVersion, objects },
  })
  return (JSON.parse(body) as { response: Record<string, unknown> }).response
}

const pool = (version: string, name: string, spec: unknown) => ({
  apiVersion: `karpenter.sh/${version}`,
  kind: 'NodePool',
  metadata: { name, uid: 'x' },
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
  })

  it('converts 2,000 NodeClaims of one review in under 2 s', async () => {
    const requirements = [{ key: 'kubernetes.io/os', operator: 'In', values: ['linux'] }]
    const nodeClassRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' }
    const claims = Array.from({ length: 2000 }, (_, index) => ({
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodeClaim',
      metadata: { name: `claim-${index}`, labels: { 'karpenter.sh/nodepool': 'general' } },
      spec: { nodeClassRef, requirements, expireAfter: '720h' },
      status: { nodeName: `node-${index}`, conditions: [{ type: 'Ready', status: 'True' }] },
    }))
    const startedAt = Date.now()
    const { convertedObjects } = await review(claims, 'karpenter.sh/v1beta1')
    expect(Date.now() - startedAt).toBeLessThan(2000)
    expect(convertedObjects).toHaveLength(2000)
    expect(convertedObjects).toMatchObject(
      claims.map(({ metadata, status }) => ({ apiVersion: 'karpenter.sh/v1beta1', metadata, status })),
    )
  })

  it.each([
    [[pool('v1', 'a', {}), pool('v1beta1', 'b', { template: 'x' })], /^NodePool "b" .*field spec\.template /],
    [[{ ...pool('v1beta1', 'a', {}), kind: 'Provisioner' }], /^Provisioner "a" .*field kind /],
    [[7], /^an object /],
  ])('fails the whole review and says for what: %#', async (objects, message) => {
    expect(await review(objects)).toEqual({
      uid: 'u-1',
      result: { status: 'Failure', message: expect.stringMatching(message) },
    })
  })

  it('refuses what is no review', async () => {
    expect((await post({ kind: 'Pod' })).status).toBe(400)
  })

  it('converts 2,000 NodeClaims in under 2 s, both ways', async () => {
    const claims = Array.from({ length: 2000 }, (_, index) => claim(`claim-${index}`))
    const begun = performance.now()
    const { convertedObjects } = await review(claims, 'karpenter.sh/v1beta1')
    const between = performance.now()
    const back = await review(convertedObjects as unknown[])
    const ended = performance.now()
    expect(back['convertedObjects']).toEqual(claims)
    console.log(
      `2,000 NodeClaims: to v1beta1 in ${Math.round(between - begun)} ms, to v1 in ${Math.round(ended - between)} ms`,
    )
    expect(Math.max(between - begun, ended - between)).toBeLessThan(2000)
  })

  it('serves a new certificate without a new start', async () => {
    const second = await issue('second')
    webhook.useCertificate(second)
    const serial = (pem: string) => new X509Certificate(pem).serialNumber
    expect((await post({}, second.ca)).serial).toBe(serial(second.cert))
    await expect(post({}, first.ca)).rejects.toThrow()
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
