import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { EtcdState } from './etcd-state.ts'

const code = (value: string) => Buffer.from(value).toString('base64')

/** What an etcd holds, and keys that somebody else deletes as soon as they are written. */
const held = new Map<string, string>()
const unwanted = new Set<string>()
let server: Server
let port: number

beforeAll(async () => {
  server = createServer((request, response) => {
    void text(request).then((sent) => {
      const { key, value = '' } = JSON.parse(sent) as { readonly key: string; readonly value?: string }
      if (request.url?.endsWith('/put') === true && !unwanted.has(key)) held.set(key, value)
      if (request.url?.endsWith('/deleterange') === true) held.delete(key)
      response.end(JSON.stringify({ kvs: [...held].map(([one, its]) => ({ key: one, value: its })) }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  port = (server.address() as AddressInfo).port
})
afterAll(() => void server.close())
beforeEach(() => {
  held.clear()
  unwanted.clear()
  for (const name of ['namespaces/default', 'roles/joiner']) held.set(code(`/registry/${name}`), code('first'))
})

const names = () => [...held.keys()].map((key) => Buffer.from(key, 'base64').toString())

test('what is there no more comes back, what came goes, and what changed is as it was', async () => {
  const state = await EtcdState.remember(port)
  const [first = ''] = held.keys()
  held.set(first, code('second'))
  held.delete(code('/registry/roles/joiner'))
  held.set(code('/registry/pods/default/a'), '')
  await state.restore(5000)
  expect(names().toSorted()).toEqual(['/registry/namespaces/default', '/registry/roles/joiner'])
  expect(held.get(first)).toBe(code('first'))
})

test('objects that every namespace has are left to their controllers, there or not', async () => {
  const ofNamespace = code('/registry/serviceaccounts/default/default')
  held.set(ofNamespace, '')
  const state = await EtcdState.remember(port)
  held.set(code('/registry/configmaps/default/kube-root-ca.crt'), '')
  unwanted.add(ofNamespace)
  held.delete(ofNamespace)
  await state.restore(5000)
  expect(names()).toContain('/registry/configmaps/default/kube-root-ca.crt')
})

test('a cluster that lacks an object is not handed on', async () => {
  const state = await EtcdState.remember(port)
  const role = code('/registry/roles/joiner')
  unwanted.add(role)
  held.delete(role)
  await expect(state.restore(5000)).rejects.toThrow('objects are missing: /registry/roles/joiner')
})
