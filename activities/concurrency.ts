/**
 * Runs the work for each item, for at most `limit` of them at a time. All are tried; errors come together at the end, one alone as it is.
 */
export async function forEachOf<T>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = items.values()
  const errors: unknown[] = []
  const worker = async () => {
    // Workers share the iterator, so each item is taken once.
    for (const item of queue) {
      try {
        await work(item)
      } catch (error) {
        errors.push(error)
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker))
  if (errors.length === 1) throw errors[0]
  if (errors.length > 1) {
    const [first] = errors
    const message = `${errors.length} of ${items.length} failed, the first with: ${first instanceof Error ? first.message : String(first)}`
    throw new AggregateError(errors, message)
  }
}
