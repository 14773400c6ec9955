import { parseDurationSetting, parseGoDuration } from './duration.ts'

/** Version of the hash: it changes when the hashed fields do, and then claims are stamped anew instead of drifting. */
export const nodePoolHashVersion = 'v3'

interface TemplateInput {
  readonly metadata?: { readonly labels?: Record<string, string>; readonly annotations?: Record<string, string> }
  readonly spec?: {
    readonly taints?: readonly TaintInput[]
    readonly startupTaints?: readonly TaintInput[]
    readonly nodeClassRef?: { readonly kind?: string; readonly name?: string; readonly group?: string }
    readonly terminationGracePeriod?: string
    readonly expireAfter?: string
  }
}

interface TaintInput {
  readonly key?: string
  readonly value?: string
  readonly effect?: string
}

/**
 * The drift hash of a NodePool's template: everything static, without the requirements (reference/karpenter-core.md 1.1).
 * The value equals Karpenter's, so that a migration drifts no node.
 */
export function nodePoolHash(template: TemplateInput | undefined): string {
  const spec = template?.spec ?? {}
  return struct('NodeClaimTemplate', [
    ['ObjectMeta', metadataHash(template?.metadata)],
    ['Spec', specHash(spec)],
  ]).toString()
}

function metadataHash(metadata: TemplateInput['metadata']): bigint | undefined {
  if (metadata?.labels === undefined && metadata?.annotations === undefined) return undefined
  return struct('ObjectMeta', [
    ['Labels', metadata.labels === undefined ? undefined : map(metadata.labels)],
    ['Annotations', metadata.annotations === undefined ? undefined : map(metadata.annotations)],
  ])
}

function specHash(spec: NonNullable<TemplateInput['spec']>): bigint | undefined {
  const grace =
    spec.terminationGracePeriod === undefined ? undefined : (parseGoDuration(spec.terminationGracePeriod) ?? 0n)
  return struct('NodeClaimTemplateSpec', [
    ['Taints', spec.taints && list(spec.taints.map(taint))],
    ['StartupTaints', spec.startupTaints && list(spec.startupTaints.map(taint))],
    ['NodeClassRef', spec.nodeClassRef && nodeClassRef(spec.nodeClassRef)],
    [
      'TerminationGracePeriod',
      grace === undefined ? undefined : struct('Duration', [['Duration', grace === 0n ? undefined : int64(grace)]]),
    ],
    ['ExpireAfter', spec.expireAfter === undefined ? undefined : nillable(spec.expireAfter)],
  ])
}

function nillable(text: string): bigint {
  const setting = parseDurationSetting(text)
  return struct('NillableDuration', [
    ['Duration', setting?.kind === 'duration' ? int64(setting.nanoseconds) : undefined],
  ])
}

function nodeClassRef(ref: { readonly kind?: string; readonly name?: string; readonly group?: string }): bigint {
  return struct('NodeClassReference', [
    ['Kind', ref.kind ? text(ref.kind) : undefined],
    ['Name', ref.name ? text(ref.name) : undefined],
    ['Group', ref.group ? text(ref.group) : undefined],
  ])
}

function taint({ key, value, effect }: TaintInput): bigint {
  return struct('Taint', [
    ['Key', key ? text(key) : undefined],
    ['Value', value ? text(value) : undefined],
    ['Effect', effect ? text(effect) : undefined],
  ])
}

// 64-bit FNV-1 over little-endian bytes, combined as hashstructure's second format does (reference/azure-provider.md 1.4).
const offset = 0xcbf29ce484222325n
const prime = 0x100000001b3n
const mask = (1n << 64n) - 1n

function fnv(bytes: Iterable<number>): bigint {
  let hash = offset
  for (const byte of bytes) hash = ((hash * prime) & mask) ^ BigInt(byte)
  return hash
}

function littleEndian(value: bigint): number[] {
  return Array.from({ length: 8 }, (_, index) => Number((BigInt.asUintN(64, value) >> BigInt(8 * index)) & 0xffn))
}

function utf8(value: string): number[] {
  const bytes: number[] = []
  for (const char of value) {
    const point = char.codePointAt(0) as number
    if (point < 0x80) bytes.push(point)
    else if (point < 0x800) bytes.push(0xc0 | (point >> 6), 0x80 | (point & 63))
    else if (point < 0x10000) bytes.push(0xe0 | (point >> 12), 0x80 | ((point >> 6) & 63), 0x80 | (point & 63))
    else bytes.push(0xf0 | (point >> 18), 0x80 | ((point >> 12) & 63), 0x80 | ((point >> 6) & 63), 0x80 | (point & 63))
  }
  return bytes
}

const text = (value: string) => fnv(utf8(value))
const int64 = (value: bigint) => fnv(littleEndian(value))
const ordered = (a: bigint, b: bigint) => fnv([...littleEndian(a), ...littleEndian(b)])
const finish = (hash: bigint) => fnv(littleEndian(hash))
const list = (hashes: readonly bigint[]) => hashes.reduce((all, hash) => all ^ hash, 0n)
const map = (entries: Readonly<Record<string, string>>) =>
  finish(Object.entries(entries).reduce((all, [key, value]) => all ^ ordered(text(key), text(value)), 0n))

/** A struct: its type's name, then each field that is not zero, in declaration order. */
function struct(name: string, fields: readonly (readonly [string, bigint | undefined])[]): bigint {
  return fields.reduce(
    (hash, [field, value]) => (value === undefined ? hash : finish(hash ^ ordered(text(field), value))),
    text(name),
  )
}
