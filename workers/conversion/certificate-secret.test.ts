import { describe, expect, it } from 'vitest'
import { dueKeys, type Keys, keysOf, makeCertificate, secretData } from './certificate-secret.ts'

const names = ['joiner-conversion.joiner.svc']
const now = new Date('2026-11-21T00:00:00Z')
const later = (days: number) => new Date(now.getTime() + days * 24 * 3_600_000)
const path = `/convert/${'0'.repeat(32)}`
const due = (keys: Keys | undefined, at: Date, isTrusted = true) => dueKeys(keys, { names, now: at }, () => isTrusted)

const encoded = (text: string) => Buffer.from(text).toString('base64')
const pem = (keys: readonly string[]) => Object.fromEntries(keys.map((key) => [key, encoded('-----BEGIN X')]))

describe('the keys of the conversion webhook', () => {
  it('are made when there are none, and stay for most of a year', async () => {
    const keys = await due(undefined, now)
    expect(keys.trusted).toBe(keys.served.cert)
    expect(await due(keys, later(300))).toBe(keys)
    expect((await due(keys, later(306))).next).toBeDefined()
  })

  it('are replaced in two steps: trusted beside the old one first, served once that is so', async () => {
    const old = await due(undefined, now)
    const announced = await due(old, later(320))
    expect(announced.served).toBe(old.served)
    expect(announced.trusted).toBe(`${old.served.cert}${announced.next?.cert}`)
    expect(await due(announced, later(320), false)).toBe(announced)
    const replaced = await due(announced, later(320))
    expect(replaced).toEqual({ served: announced.next, trusted: announced.trusted, path: old.path })
    expect(await due(replaced, later(320))).toBe(replaced)
  })

  it('have a path that nobody can guess and that stays', async () => {
    const [one, other] = [await due(undefined, now), await due(undefined, now)]
    expect([one.path, other.path]).toEqual(Array(2).fill(expect.stringMatching(/^\/convert\/[0-9a-f]{32}$/)))
    expect(one.path).not.toBe(other.path)
    expect((await due(one, later(320))).path).toBe(one.path)
  })

  it('are announced again when the one to come is too old itself', async () => {
    const announced = await due(await due(undefined, now), later(320))
    const again = await due(announced, later(700))
    expect(again.served).toBe(announced.served)
    expect(again.next?.cert).not.toBe(announced.next?.cert)
  })

  it('survive the Secret', async () => {
    const old = await due(undefined, now)
    const announced = await due(old, later(320))
    for (const keys of [old, announced]) expect(keysOf({ data: secretData(keys) })).toEqual(keys)
  })

  it.each([
    ['has no data', {}],
    ['lacks a key', { data: { 'tls.crt': Buffer.from('-----BEGIN X').toString('base64') } }],
    ['lacks the path', { data: { ...pem(['tls.crt', 'tls.key', 'ca.crt']) } }],
    ['holds another path', { data: { ...pem(['tls.crt', 'tls.key', 'ca.crt']), path: encoded('/convert') } }],
    ['holds no PEM', { data: { 'tls.crt': 'eA==', 'tls.key': 'eA==', 'ca.crt': 'eA==' } }],
  ])('are unknown where the Secret %s', (_, secret) => {
    expect(keysOf(secret)).toBeUndefined()
  })

  it('are replaced when a name is missing', async () => {
    const served = await makeCertificate(['elsewhere'], now)
    expect((await due({ served, trusted: served.cert, path }, now)).next).toBeDefined()
  })
})
