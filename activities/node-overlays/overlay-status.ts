import { overlayCondition } from '../../core/node-overlay/overlay-conditions.ts'
import { type StatusWritesDeps, setConditions } from '../kubernetes/client/status-writes.ts'
import { type CatalogueOfPools, judgedOverlays } from './pool-types.ts'

/** Tells in the conditions of each NodeOverlay whether it counts, and why not (reference/karpenter-core.md 1.3). Unchanged ones are not written. */
export async function refreshNodeOverlays(deps: StatusWritesDeps & CatalogueOfPools): Promise<void> {
  const { cache } = deps
  if (cache.nodeOverlays.size === 0) return
  const { outcomes } = judgedOverlays(deps)
  for (const { metadata } of cache.nodeOverlays.values()) {
    const outcome = outcomes.get(metadata.name)
    if (outcome === undefined) continue
    await setConditions(deps, { kind: 'NodeOverlay', ref: metadata }, (current) =>
      current.metadata.generation === metadata.generation ? { conditions: [overlayCondition(outcome)] } : undefined,
    )
  }
}
