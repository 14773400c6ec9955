/** Returns an address in its canonical text: IPv4 in dots (also when written as IPv6), IPv6 shortened. Undefined when it is not an address. */
export function canonicalIp(text: string): string | undefined {
  const four = parseIpv4(text)
  if (four !== undefined) return four.join('.')
  const groups = parseIpv6(text)
  if (groups === undefined) return undefined
  const mapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff
  if (!mapped) return formatIpv6(groups)
  return groups
    .slice(6)
    .flatMap((group) => [group >> 8, group & 0xff])
    .join('.')
}

function parseIpv4(text: string): readonly number[] | undefined {
  const parts = text.split('.')
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9][0-9]{0,2})$/.test(part))) return undefined
  const bytes = parts.map(Number)
  return bytes.every((byte) => byte < 256) ? bytes : undefined
}

const groupCount = 8

function parseIpv6(text: string): readonly number[] | undefined {
  const halves = text.split('::')
  if (halves.length > 2) return undefined
  const [head, tail] = halves.map((half, index) => parseGroups(half, index === halves.length - 1))
  if (head === undefined) return undefined
  if (halves.length === 1) return head.length === groupCount ? head : undefined
  if (tail === undefined || head.length + tail.length >= groupCount) return undefined
  return [...head, ...Array<number>(groupCount - head.length - tail.length).fill(0), ...tail]
}

/** Parses groups between colons; the last two may be written as an IPv4 address. */
function parseGroups(text: string, last: boolean): readonly number[] | undefined {
  if (text === '') return []
  const groups: number[] = []
  const parts = text.split(':')
  for (const [index, part] of parts.entries()) {
    const four = last && index === parts.length - 1 ? parseIpv4(part) : undefined
    if (four !== undefined) {
      const [a = 0, b = 0, c = 0, d = 0] = four
      groups.push((a << 8) | b, (c << 8) | d)
    } else if (/^[0-9a-fA-F]{1,4}$/.test(part)) groups.push(Number.parseInt(part, 16))
    else return undefined
  }
  return groups
}

/** Returns lower-case hexadecimal; the first of the longest runs of two or more zero groups becomes `::` (RFC 5952). */
function formatIpv6(groups: readonly number[]): string {
  let start = 0
  let length = 1
  for (let from = 0; from < groupCount; from++) {
    let to = from
    while (groups[to] === 0) to++
    if (to - from > length) [start, length] = [from, to - from]
  }
  const hex = groups.map((group) => group.toString(16))
  if (length === 1) return hex.join(':')
  return `${hex.slice(0, start).join(':')}::${hex.slice(start + length).join(':')}`
}
