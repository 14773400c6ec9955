/** Names that are longer are compared with none: the cost grows with the square of the length. */
const longest = 80

/** Returns the name that a misspelt one means: the same but for case and signs, part of it, or a few letters away. */
export function similarName(given: string, names: readonly string[]): string | undefined {
  if (given.length > longest) return undefined
  const plain = plainOf(given)
  const same = names.find((name) => plainOf(name) === plain)
  if (same !== undefined) return same
  const [close] = names
    .map((name) => ({ name, distance: distance(plain, plainOf(name)) }))
    .filter(({ name, distance: far }) => far <= Math.min(3, Math.ceil(name.length / 5)))
    .sort((a, b) => a.distance - b.distance)
  return close?.name ?? partOf(plain, names)
}

const plainOf = (name: string) => name.toLowerCase().replaceAll(/[-_]/g, '')

/** Short names are part of too many. */
function partOf(plain: string, names: readonly string[]): string | undefined {
  if (plain.length < 5) return undefined
  const parts = names.filter(
    (name) => name.length >= 5 && (plainOf(name).includes(plain) || plain.includes(plainOf(name))),
  )
  return parts.length === 1 ? parts[0] : undefined
}

/** Letters to add, remove or replace. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++)
      next.push(
        Math.min(
          (row[j] as number) + 1,
          (next[j - 1] as number) + 1,
          (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1),
        ),
      )
    row = next
  }
  return row[b.length] as number
}
