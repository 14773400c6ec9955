import { clusterBody, type KnownCluster } from '../access/cluster-body.ts'
import type { ArmDeps } from '../server/arm-deps.ts'
import type { AgentPool } from './agent-pools.ts'

type Pools = Pick<ArmDeps, 'config' | 'agentPools'>

/** Returns the agent pools of a cluster: those of its own description, and those that were PUT, which replace them by name; without those that were deleted. */
export function poolsOf(cluster: KnownCluster, { config, agentPools }: Pools): readonly AgentPool[] {
  const made = agentPools.poolsOf(cluster.name)
  const isMade = (name: string) => made.some((pool) => pool.name.toLowerCase() === name.toLowerCase())
  const described = profilesOf(clusterBody(cluster, config)).map(
    ({ name, ...properties }): AgentPool => ({ cluster: cluster.name, name, properties }),
  )
  return [...described.filter(({ name }) => !isMade(name)), ...made.filter(({ isDeleted }) => isDeleted !== true)]
}

/** Returns a cluster as ARM shows it, with a profile for each of its agent pools. */
export function shownCluster(cluster: KnownCluster, deps: Pools): Record<string, unknown> {
  const body = clusterBody(cluster, deps.config)
  const properties = body['properties'] as Record<string, unknown>
  const agentPoolProfiles = poolsOf(cluster, deps).map(({ name, properties: own }) => ({
    name,
    provisioningState: 'Succeeded',
    ...own,
  }))
  return { ...body, properties: { ...properties, agentPoolProfiles } }
}

function profilesOf(
  body: Record<string, unknown>,
): readonly { readonly name: string; readonly [key: string]: unknown }[] {
  const { agentPoolProfiles } = body['properties'] as { readonly agentPoolProfiles?: ReturnType<typeof profilesOf> }
  return agentPoolProfiles ?? []
}
