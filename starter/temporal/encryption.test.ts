import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DefaultFailureConverter, defaultPayloadConverter, type Payload, toPayloads } from '@temporalio/common'
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EncryptionCodec, type KeyRing, readKeyRing } from './encryption.ts'
import { failureConverter } from './failure-converter.ts'

const base64 = (byte: number) => Buffer.alloc(32, byte).toString('base64')
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'joiner-keys-'))
})

afterAll(() => rm(folder, { recursive: true }))

function ring(text: string): KeyRing {
  const result = readKeyRing({ JOINER_TEMPORAL_ENCRYPTION_KEYS: text })
  if (result.kind !== 'keys') throw new Error(JSON.stringify(result))
  return result.keys
}

const codec = new EncryptionCodec(ring(`a:${base64(1)}`))
const payloadsOf = (...values: unknown[]) => toPayloads(defaultPayloadConverter, ...values) ?? []
const valueOf = (payload: Payload | undefined) => defaultPayloadConverter.fromPayload(payload as Payload)

describe('the codec', () => {
  test('gives back what it was given', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.jsonValue(), { maxLength: 5 }), async (values) => {
        const decoded = await codec.decode(await codec.encode(payloadsOf(...values)))
        expect(decoded.map(valueOf)).toEqual(payloadsOf(...values).map(valueOf))
      }),
      { numRuns: 100 },
    )
  })

  test('leaves nothing readable, and no two payloads alike', async () => {
    const [first, second] = await codec.encode(payloadsOf('aks-general-abcde', 'aks-general-abcde'))
    expect(Buffer.from(first?.data ?? []).toString('latin1')).not.toContain('general')
    expect(first?.data).not.toEqual(second?.data)
    expect(Buffer.from(first?.metadata?.['encoding'] ?? []).toString()).toBe('binary/encrypted')
  })

  test('refuses what was changed, wherever', async () => {
    const [sealed] = await codec.encode(payloadsOf('value'))
    const data = Buffer.from(sealed?.data ?? [])
    for (let at = 0; at < data.length; at++) {
      const changed = Buffer.from(data)
      changed[at] = (changed[at] ?? 0) ^ 1
      await expect(codec.decode([{ ...sealed, data: changed }])).rejects.toThrow()
    }
  })

  test('without keys encrypts nothing, and names the key that is missing', async () => {
    const bare = new EncryptionCodec(new Map())
    const plain = payloadsOf('value')
    expect(await bare.encode(plain)).toEqual(plain)
    await expect(bare.decode(await codec.encode(plain))).rejects.toThrow(
      'encrypted with the key "a", which JOINER_TEMPORAL_ENCRYPTION_KEYS does not hold',
    )
  })

  test('passes on what it cannot decrypt, where a worker asks for that', async () => {
    const worker = new EncryptionCodec(ring(`b:${base64(2)}`), 'pass')
    const [sealed] = await codec.encode(payloadsOf('value'))
    const [own] = await worker.encode(payloadsOf('own'))
    const broken = { ...own, data: Buffer.from('x') }
    expect(await worker.decode([sealed, broken] as Payload[])).toEqual([sealed, broken])
    expect((await worker.decode([own] as Payload[])).map(valueOf)).toEqual(['own'])
  })

  test('reads what was written before it was turned on', async () => {
    const plain = payloadsOf({ name: 'general' })
    expect(await codec.decode(plain)).toEqual(plain)
  })

  test('writes with the first key and reads with all; a key that is missing is named', async () => {
    const old = new EncryptionCodec(ring(`old:${base64(7)}`))
    const both = new EncryptionCodec(ring(`new:${base64(8)},old:${base64(7)}`))
    const recent = new EncryptionCodec(ring(`new:${base64(8)}`))
    const sealed = await old.encode(payloadsOf('value'))
    expect((await both.decode(sealed)).map(valueOf)).toEqual(['value'])
    expect((await recent.decode(await both.encode(payloadsOf('value')))).map(valueOf)).toEqual(['value'])
    await expect(recent.decode(sealed)).rejects.toThrow(
      'key "old", which JOINER_TEMPORAL_ENCRYPTION_KEYS does not hold',
    )
  })
})

describe('keys', () => {
  test('are read from a variable or a file, in lines or with commas', async () => {
    await writeFile(join(folder, 'keys'), `a:${base64(1)}\nb:${base64(2)}\n`)
    const fromFile = readKeyRing({ JOINER_TEMPORAL_ENCRYPTION_KEYS_FILE: join(folder, 'keys') })
    expect(fromFile).toEqual({ kind: 'keys', keys: ring(`a:${base64(1)}, b:${base64(2)}`) })
    expect(readKeyRing({})).toEqual({ kind: 'none' })
  })

  test.each([
    ['', 'holds no key'],
    ['abc', 'entry 1: is not of the form ID:KEY'],
    [`a b:${base64(1)}`, 'entry 1: is not of the form ID:KEY'],
    [`a:${Buffer.alloc(16, 1).toString('base64')}`, 'key "a": has 16 bytes, and 32 are needed'],
    [`a:${base64(1)},a:${base64(2)}`, 'key "a": is there twice'],
  ])('"%s" is refused, and no key is printed', (text, expected) => {
    const result = readKeyRing({ JOINER_TEMPORAL_ENCRYPTION_KEYS: text })
    const errors = result.kind === 'errors' ? result.errors.join('\n') : ''
    expect(errors).toContain(expected)
    expect(errors).not.toContain(base64(1))
  })

  test('both a file and a variable, and a file that is missing, are refused', () => {
    const env = { JOINER_TEMPORAL_ENCRYPTION_KEYS_FILE: '/nowhere' }
    expect(readKeyRing(env)).toMatchObject({
      kind: 'errors',
      errors: [expect.stringContaining('cannot be read (ENOENT)')],
    })
    expect(readKeyRing({ ...env, JOINER_TEMPORAL_ENCRYPTION_KEYS: 'x' })).toMatchObject({
      kind: 'errors',
      errors: [expect.stringContaining('only one of both may be set')],
    })
  })
})

test('messages of failures are payloads, and those of plain histories are read too', () => {
  const failure = failureConverter.errorToFailure(new Error('subnet 10.0.0.0/24 is full'), defaultPayloadConverter)
  expect(JSON.stringify({ ...failure, encodedAttributes: undefined })).not.toContain('subnet')
  expect(failureConverter.failureToError(failure, defaultPayloadConverter).message).toContain('subnet 10.0.0.0/24')
  const plain = new DefaultFailureConverter().errorToFailure(new Error('plain'), defaultPayloadConverter)
  expect(failureConverter.failureToError(plain, defaultPayloadConverter).message).toBe('plain')
})
