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
