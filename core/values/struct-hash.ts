// Karpenter's hash of Go structs: hashstructure's second format over 64-bit FNV-1, lists as sets, zero values left out (reference/azure-provider.md
// 1.4).
const offset = 0xcbf29ce484222325n
const prime = 0x100000001b3n
const mask = (1n << 64n) - 1n

export function fnv(bytes: Iterable<number>): bigint {
  let hash = offset
  for (const byte of bytes) hash = ((hash * prime) & mask) ^ BigInt(byte)
  return hash
}

export function littleEndian(value: bigint, length = 8): number[] {
  const unsigned = BigInt.asUintN(8 * length, value)
  return Array.from({ length }, (_, index) => Number((unsigned >> BigInt(8 * index)) & 0xffn))
}

export function utf8(value: string): number[] {
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

export const text = (value: string) => fnv(utf8(value))
export const bool = (value: boolean) => fnv([value ? 1 : 0])
export const int32 = (value: number) => fnv(littleEndian(BigInt(value), 4))
export const int64 = (value: bigint) => fnv(littleEndian(value))
const ordered = (a: bigint, b: bigint) => fnv([...littleEndian(a), ...littleEndian(b)])
const finish = (hash: bigint) => fnv(littleEndian(hash))
export const list = (hashes: readonly bigint[]) => hashes.reduce((all, hash) => all ^ hash, 0n)
export const map = (entries: Readonly<Record<string, string>>) =>
  finish(Object.entries(entries).reduce((all, [key, value]) => all ^ ordered(text(key), text(value)), 0n))

/** Hashes a struct: its type's name, then each field that is not zero, in declaration order. */
export function struct(name: string, fields: readonly (readonly [string, bigint | undefined])[]): bigint {
  return fields.reduce(
    (hash, [field, value]) => (value === undefined ? hash : finish(hash ^ ordered(text(field), value))),
    text(name),
  )
}
