import { readCloud } from '../../../activities/azure/access/azure-config.ts'
import { azureIdentity } from '../../../activities/azure/access/azure-identity.ts'
import { launchedVm } from '../../../activities/azure/capacity/quota.ts'
import type { VmUse } from '../../../activities/azure/capacity/quota-accounting.ts'
import { decodeNodeClaim } from '../../../activities/kubernetes/cache/decode.ts'
import { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import type { Config } from '../../../api/config.ts'
import { ArmReader } from '../doctor/arm-reader.ts'
import { readPools } from '../doctor/context.ts'
import { readBuyable, readSizes, readUsages } from '../shared/buyable.ts'
import { type QuotaRow, quotaRows } from './report.ts'

/** Quotas as Azure counts them now, with what NodeClaims took meanwhile. Errors: what Azure or the API server says. */
export async function readQuota(
  config: Config,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<{ readonly rows: readonly QuotaRow[]; readonly launching: number }> {
  const cloud = await readCloud(config)
  const { credential, scope } = azureIdentity(config, cloud, env)
  const kubernetes = await KubernetesClient.load(config.KUBECONFIG)
  try {
    const pools = readPools(kubernetes)
    const reader = { config, cloud, arm: new ArmReader(cloud.armEndpoint, credential, scope), pools: () => pools }
    const countedAtMs = Date.now()
    const [usages, sizes] = await Promise.all([readUsages(reader, signal), readSizes(reader, signal)])
    const buyable = await readBuyable(reader, sizes)
    const { items } = await kubernetes.list('/apis/karpenter.sh/v1/nodeclaims', {}, signal)
    const claims = items.map((item) => decodeNodeClaim(item))
    const uses = claims.flatMap((claim): readonly VmUse[] => {
      const vm = launchedVm(claim)
      const size = vm && sizes.get(vm.instanceType)
      return vm === undefined || size === undefined ? [] : [{ ...vm, family: size.family, vCpus: size.vCpus }]
    })
    const launching = claims.filter(
      (claim) => claim.metadata.deletionTimestamp === undefined && launchedVm(claim) === undefined,
    ).length
    return { rows: quotaRows({ usages, sizes, buyable, uses, countedAtMs }), launching }
  } finally {
    await kubernetes.close()
  }
}
