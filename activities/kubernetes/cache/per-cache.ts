import type { ClusterCache } from './cluster-cache.ts'

/** Returns a function that makes something once for each cache, and so once in a process, and forgets it with the cache. */
export function perCache<D extends { readonly cache: ClusterCache }, V extends object>(
  make: (deps: D) => V,
): (deps: D) => V {
  const made = new WeakMap<ClusterCache, V>()
  return (deps) => {
    const value = made.get(deps.cache) ?? make(deps)
    made.set(deps.cache, value)
    return value
  }
}
