import { readCloud } from '../../../activities/azure/access/azure-config.ts'
import { azureIdentity } from '../../../activities/azure/access/azure-identity.ts'
import { launchedVm } from '../../../activities/azure/capacity/quota.ts'
import type { VmUse } from '../../../activities/azure/capacity/quota-accounting.ts'
import { ArmReader } from '../../picture/arm-reader.ts'
import { vmSizes, vmUsages } from '../../picture/from-azure.ts'
import { clusterScene, nodeClaims } from '../../picture/from-cluster.ts'
import { readWhole } from '../../picture/picture.ts'
import type { AzureSettings } from '../access/azure-settings.ts'
import { withCluster } from '../access/cluster.ts'
import { azureScene, readPools } from '../doctor/context.ts'
import { readBuyable } from '../shared/buyable.ts'
import type { ConnectionOptions } from '../shared/options.ts'
import { type QuotaRow, quotaRows } from './report.ts'

/** Quotas as Azure counts them now, with what NodeClaims took meanwhile. Errors: what Azure or the API server says. */
export async function readQuota(
  { config, env }: AzureSettings,
  options: ConnectionOptions,
): Promise<{ readonly rows: readonly QuotaRow[]; readonly launching: number }> {
  const cloud = await readCloud(config)
  const { credential, scope } = azureIdentity(config, cloud, env)
  return withCluster(options, async (kubernetes) => {
    const pools = readPools(kubernetes)
    // Azure may refuse first; then nobody waits for them.
    pools.catch(() => undefined)
    const arm = new ArmReader(cloud.armEndpoint, credential, scope)
    const countedAtMs = Date.now()
    const region = azureScene({ config, arm })
    const { usages, sizes } = await readWhole(region, { usages: vmUsages, sizes: vmSizes })
    const buyable = await readBuyable({ config, cloud, pools: () => pools }, sizes)
    const { nodeClaims: claims } = await readWhole(clusterScene(kubernetes), { nodeClaims })
    const uses = claims.flatMap((claim): readonly VmUse[] => {
      const vm = launchedVm(claim)
      const size = vm && sizes.get(vm.instanceType)
      return vm === undefined || size === undefined ? [] : [{ ...vm, family: size.family, vCpus: size.vCpus }]
    })
    const launching = claims.filter(
      (claim) => claim.metadata.deletionTimestamp === undefined && launchedVm(claim) === undefined,
    ).length
    return { rows: quotaRows({ usages, sizes, buyable, uses, countedAtMs }), launching }
  })
}
