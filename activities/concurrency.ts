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

/** Runs the work for each item, so many at a time, in the order of the items. Errors: the first that the work throws, once all have ended. */
export async function inParallel<T>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const rest = [...items].reverse()
  const worker = async () => {
    for (let item = rest.pop(); item !== undefined; item = rest.pop()) await work(item)
  }
  const results = await Promise.allSettled(Array.from({ length: Math.min(width, items.length) }, worker))
  for (const result of results) if (result.status === 'rejected') throw result.reason
}
