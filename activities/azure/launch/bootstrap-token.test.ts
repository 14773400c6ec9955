import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from '../../kubernetes/client/answers.ts'
import { ApiError } from '../../kubernetes/client/api-error.ts'
import {
  bootstrapTokenId,
  createBootstrapToken,
  replaceBootstrapToken,
  revokeBootstrapToken,
} from './bootstrap-token.ts'

const uid = '8f14e45f-ceea-467f-a0e6-2b8c4d1f9a01'
const expiresAtMs = Date.parse('2026-01-01T00:20:00Z')

interface Secret extends Json {
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> }
  readonly stringData: Readonly<Record<string, string>>
}

/** kube-system's Secrets, as the API server keeps them for a client that may create and delete only. */
class Secrets {
  readonly kept = new Map<string, Secret>()

  create(path: string, body: Json): Promise<Json> {
    const secret = body as Secret
    const key = `${path}/${secret.metadata.name}`
    if (this.kept.has(key)) return Promise.reject(new ApiError(409, 'AlreadyExists', 'exists'))
    this.kept.set(key, secret)
    return Promise.resolve(body)
  }

  delete(path: string): Promise<Json> {
    if (!this.kept.delete(path)) return Promise.reject(new ApiError(404, 'NotFound', 'gone'))
    return Promise.resolve({})
  }

  get only(): Secret {
    expect(this.kept.size).toBe(1)
    return [...this.kept.values()][0] as Secret
  }
}

describe('the id of a token', () => {
  it('is always one that Kubernetes accepts, and follows from the UID', () => {
    fc.assert(
      fc.property(fc.uuid(), (any) => {
        expect(bootstrapTokenId(any)).toMatch(/^[a-z0-9]{6}$/)
        expect(bootstrapTokenId(any)).toBe(bootstrapTokenId(any))
      }),
    )
  })

  it('differs between claims: 20,000 UIDs share hardly any', () => {
    const ids = Array.from({ length: 20_000 }, (_, index) => bootstrapTokenId(`uid-${index}`))
    // 0.09 pairs are expected among 2.2e9 ids.
    expect(ids.length - new Set(ids).size).toBeLessThanOrEqual(2)
  })
})

describe('a token', () => {
  it('joins one group, expires, and names its owner', async () => {
    const secrets = new Secrets()
    const created = await createBootstrapToken(secrets, uid, expiresAtMs)
    const { metadata, stringData } = secrets.only
    expect(metadata).toMatchObject({
      name: `bootstrap-token-${bootstrapTokenId(uid)}`,
      labels: { 'joiner.sh/nodeclaim-uid': uid },
    })
    expect(stringData).toMatchObject({
      'auth-extra-groups': 'system:bootstrappers:joiner',
      expiration: '2026-01-01T00:20:00Z',
    })
    expect(created?.token).toBe(`${stringData['token-id']}.${stringData['token-secret']}`)
    expect(created?.token).toMatch(/^[a-z0-9]{6}\.[a-z0-9]{16}$/)
  })

  it('that exists is left alone, until it is replaced', async () => {
    const secrets = new Secrets()
    const first = await createBootstrapToken(secrets, uid, expiresAtMs)
    expect(await createBootstrapToken(secrets, uid, expiresAtMs)).toBeUndefined()
    expect(secrets.only.stringData['token-secret']).toBe(first?.token.split('.')[1])
    const { token: second } = await replaceBootstrapToken(secrets, uid, expiresAtMs)
    expect(second).not.toBe(first?.token)
    expect(secrets.only.stringData['token-secret']).toBe(second.split('.')[1])
  })

  it('that comes back while it is replaced fails the attempt, by name and without the secret', async () => {
    const secrets = new Secrets()
    await createBootstrapToken(secrets, uid, expiresAtMs)
    const racing = { create: secrets.create.bind(secrets), delete: () => Promise.resolve({}) }
    const error = await replaceBootstrapToken(racing, uid, expiresAtMs).catch((thrown: unknown) => String(thrown))
    expect(error).toContain(`Secret kube-system/bootstrap-token-${bootstrapTokenId(uid)} exists again`)
    expect(error).not.toContain(secrets.only.stringData['token-secret'])
  })

  it('is revoked once, and again without an error', async () => {
    const secrets = new Secrets()
    await createBootstrapToken(secrets, uid, expiresAtMs)
    await revokeBootstrapToken(secrets, uid)
    await revokeBootstrapToken(secrets, uid)
    expect(secrets.kept.size).toBe(0)
  })

  it.each([403, 500])('whose request fails with %d is an error, not a token that exists', async (code) => {
    const refuse = () => Promise.reject(new ApiError(code, 'Reason', 'no'))
    const client = { create: refuse, delete: refuse }
    await expect(createBootstrapToken(client, uid, expiresAtMs)).rejects.toMatchObject({ code })
    await expect(revokeBootstrapToken(client, uid)).rejects.toMatchObject({ code })
  })
})
