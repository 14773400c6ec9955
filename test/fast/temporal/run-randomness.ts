const mask = (1n << 64n) - 1n
const rotated = (value: bigint, bits: bigint) => ((value << bits) | (value >> (64n - bits))) & mask

/** The seed that Core gives the random numbers of a run's workflow: SipHash-1-3 of the run's id, as Rust hashes a text. */
export function randomnessOf(runId: string): bigint {
  // Rust ends a text with 0xff; the hash ends with zeros and the length.
  const text = Buffer.concat([Buffer.from(runId, 'utf8'), Buffer.from([0xff])])
  const padded = Buffer.alloc(Math.floor(text.length / 8) * 8 + 8)
  text.copy(padded)
  padded[padded.length - 1] = text.length & 0xff
  const state: State = [0x736f6d6570736575n, 0x646f72616e646f6dn, 0x6c7967656e657261n, 0x7465646279746573n]
  for (let at = 0; at < padded.length; at += 8) {
    const word = padded.readBigUInt64LE(at)
    state[3] ^= word
    mix(state)
    state[0] ^= word
  }
  state[2] ^= 0xffn
  for (let round = 0; round < 3; round++) mix(state)
  return state[0] ^ state[1] ^ state[2] ^ state[3]
}

type State = [bigint, bigint, bigint, bigint]

/** A round of SipHash. */
function mix(state: State): void {
  let [a, b, c, d] = state
  a = (a + b) & mask
  b = rotated(b, 13n) ^ a
  a = rotated(a, 32n)
  c = (c + d) & mask
  d = rotated(d, 16n) ^ c
  a = (a + d) & mask
  d = rotated(d, 21n) ^ a
  c = (c + b) & mask
  b = rotated(b, 17n) ^ c
  c = rotated(c, 32n)
  state.splice(0, 4, a, b, c, d)
}
