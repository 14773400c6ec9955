/** A set of small integers as bits. All sets of one universe have the same number of words. */
export type Bits = Uint32Array

export function noBits(size: number): Bits {
  return new Uint32Array((size + 31) >>> 5)
}

export function allBits(size: number): Bits {
  const bits = noBits(size).fill(0xffffffff)
  const rest = size & 31
  if (rest !== 0 && bits.length > 0) bits[bits.length - 1] = (1 << rest) - 1
  return bits
}

export function addBit(bits: Bits, at: number): void {
  bits[at >>> 5] = (bits[at >>> 5] as number) | (1 << (at & 31))
}

export function hasBit(bits: Bits, at: number): boolean {
  return ((bits[at >>> 5] as number) & (1 << (at & 31))) !== 0
}

/** Keeps in `bits` the members of `other`. Returns whether anything is left. */
export function keep(bits: Bits, other: Bits): boolean {
  let any = 0
  for (let word = 0; word < bits.length; word++) any |= bits[word] = (bits[word] as number) & (other[word] as number)
  return any !== 0
}

export function addAll(bits: Bits, other: Bits): void {
  for (let word = 0; word < bits.length; word++) bits[word] = (bits[word] as number) | (other[word] as number)
}

/** Returns the members, ascending. */
export function membersOf(bits: Bits): number[] {
  const members: number[] = []
  for (let word = 0; word < bits.length; word++) {
    for (let rest = bits[word] as number; rest !== 0; rest &= rest - 1)
      members.push((word << 5) + (31 - Math.clz32(rest & -rest)))
  }
  return members
}
