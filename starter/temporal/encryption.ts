import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Payload, PayloadCodec } from '@temporalio/common'
import proto from '@temporalio/proto'

/** Keys of 32 bytes by their ids. The first one encrypts; all decrypt, so that a key can be replaced. */
export type KeyRing = ReadonlyMap<string, Buffer>

export type KeyRingResult =
  | { readonly kind: 'none' }
  | { readonly kind: 'keys'; readonly keys: KeyRing }
  | { readonly kind: 'errors'; readonly errors: readonly string[] }

const variable = 'JOINER_TEMPORAL_ENCRYPTION_KEYS'
const keyBytes = 32
const remedy = `write ID:KEY, of which KEY is what this prints: openssl rand -base64 ${keyBytes}`

/**
 * Reads the keys that payloads are encrypted with: entries `ID:KEY` (KEY: 32 bytes in base64), separated by commas or line breaks, in
 * JOINER_TEMPORAL_ENCRYPTION_KEYS or in the file that JOINER_TEMPORAL_ENCRYPTION_KEYS_FILE names. Errors never hold a key.
 */
export function readKeyRing(env: Readonly<Record<string, string | undefined>>): KeyRingResult {
  const file = env[`${variable}_FILE`]
  const text = env[variable]
  if (file !== undefined && text !== undefined)
    return failed(`environment variables ${variable} and ${variable}_FILE: only one of both may be set; remove one`)
  if (file === undefined) return text === undefined ? { kind: 'none' } : parse(`environment variable ${variable}`, text)
  try {
    return parse(`${variable}_FILE "${file}"`, readFileSync(file, 'utf8'))
  } catch (error) {
    const { code = String(error) } = error as NodeJS.ErrnoException
    return failed(
      `environment variable ${variable}_FILE "${file}": cannot be read (${code}); correct the path, or mount the file`,
    )
  }
}

function failed(...errors: readonly string[]): KeyRingResult {
  return { kind: 'errors', errors }
}

function parse(source: string, text: string): KeyRingResult {
  const keys = new Map<string, Buffer>()
  const errors: string[] = []
  const entries = text.split(/[,\s]+/).filter((entry) => entry !== '')
  for (const [index, entry] of entries.entries()) {
    const [, id, base64 = ''] = /^([\w.-]{1,64}):([A-Za-z0-9+/]+={0,2})$/.exec(entry) ?? []
    const key = Buffer.from(base64, 'base64')
    if (id === undefined) errors.push(`${source}: entry ${index + 1}: is not of the form ID:KEY; ${remedy}`)
    else if (key.length !== keyBytes)
      errors.push(`${source}: key "${id}": has ${key.length} bytes, and ${keyBytes} are needed; ${remedy}`)
    else if (keys.has(id)) errors.push(`${source}: key "${id}": is there twice; give each key an id of its own`)
    else keys.set(id, key)
  }
  if (entries.length === 0) errors.push(`${source}: holds no key; ${remedy}`)
  return errors.length > 0 ? failed(...errors) : { kind: 'keys', keys }
}

/** As in Temporal's samples for all languages, so that any codec server made of them can decrypt. */
const encoding = Buffer.from('binary/encrypted')
const cipher = Buffer.from('AES/GCM/NoPadding')
const keyIdName = 'encryption-key-id'
const ivBytes = 12
const tagBytes = 16
const PayloadType = proto.temporal.api.common.v1.Payload

/** A payload that this process has no key for. */
export class MissingKeyError extends Error {
  override readonly name = 'MissingKeyError'
}

/**
 * What a codec does with a payload that it cannot decrypt. A worker of workflows passes it on as it is: an error here would fail each workflow task that
 * holds it, before a handler could refuse it (`workflows/unreadable.ts`).
 */
export type WhenUnreadable = 'throw' | 'pass'

/**
 * Encrypts payloads with AES-256-GCM. What is not encrypted is decoded as it is, so that encryption can be turned on at any time. Without keys it encrypts
 * nothing, and names the key that a payload needs.
 */
export class EncryptionCodec implements PayloadCodec {
  readonly #keys: KeyRing
  readonly #whenUnreadable: WhenUnreadable

  constructor(keys: KeyRing, whenUnreadable: WhenUnreadable = 'throw') {
    this.#keys = keys
    this.#whenUnreadable = whenUnreadable
  }

  async encode(payloads: Payload[]): Promise<Payload[]> {
    const [first] = this.#keys
    return first === undefined ? payloads : payloads.map((payload) => encrypt(payload, ...first))
  }

  /** Errors, unless they are to pass: `MissingKeyError`; an error of Node's for bytes that were changed. */
  async decode(payloads: Payload[]): Promise<Payload[]> {
    return payloads.map((payload) => {
      try {
        return this.#decrypted(payload)
      } catch (error) {
        if (this.#whenUnreadable === 'throw') throw error
        return payload
      }
    })
  }

  #decrypted(payload: Payload): Payload {
    const { metadata, data } = payload
    if (!metadata || !data || !encoding.equals(metadata['encoding'] ?? Buffer.alloc(0))) return payload
    const id = Buffer.from(metadata[keyIdName] ?? '').toString('utf8')
    const key = this.#keys.get(id)
    if (key === undefined)
      throw new MissingKeyError(
        `a payload in Temporal is encrypted with the key "${id}", which ${variable} does not hold; add it there`,
      )
    return decrypt(data, key)
  }
}

function encrypt(payload: Payload, id: string, key: Buffer): Payload {
  const iv = randomBytes(ivBytes)
  const sealing = createCipheriv('aes-256-gcm', key, iv)
  const sealed = Buffer.concat([sealing.update(PayloadType.encode(payload).finish()), sealing.final()])
  return {
    metadata: { encoding, 'encryption-cipher': cipher, [keyIdName]: Buffer.from(id) },
    data: Buffer.concat([iv, sealed, sealing.getAuthTag()]),
  }
}

function decrypt(data: Uint8Array, key: Buffer): Payload {
  const opening = createDecipheriv('aes-256-gcm', key, data.subarray(0, ivBytes))
  opening.setAuthTag(data.subarray(data.length - tagBytes))
  const sealed = data.subarray(ivBytes, data.length - tagBytes)
  const { metadata, data: content } = PayloadType.decode(Buffer.concat([opening.update(sealed), opening.final()]))
  return { ...(metadata ? { metadata } : {}), ...(content ? { data: content } : {}) }
}
