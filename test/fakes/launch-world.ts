import type { Usages } from '../../activities/azure/capacity/quota-accounting.ts'
import { bootstrapTokenId } from '../../activities/azure/launch/bootstrap-token.ts'
import { launch as launchWith } from '../../activities/azure/launch/launch.ts'
import { osDiskName } from '../../activities/azure/launch/os-disk-name.ts'
import { vmTags } from '../../activities/azure/launch/virtual-machine.ts'
import { makerOf } from '../../activities/azure/machines/instance-of.ts'
import type { MachineLaunchDeps } from '../../activities/azure/machines/launch-machine.ts'
import type { Json } from '../../activities/kubernetes/client/answers.ts'
import { nodeClassSpec } from '../../api/node-class.ts'
import { withDefaults } from '../../api/served.ts'
import { asAttempt } from './attempt.ts'
import { FakeAzure } from './azure.ts'
import { azureConfig } from './azure-config.ts'
import { azureDeps } from './azure-deps.ts'
import { FakeCluster } from './cluster.ts'
import { claimJson, nodeClassJson } from './objects.ts'
import { ended } from './time.ts'

export const ref = { name: 'a', uid: 'uid-a' }

/** Launches as the settings say: a VM, or a machine of AKS. */
export const launch = (
  deps: MachineLaunchDeps,
  input: Parameters<typeof launchWith>[1],
  signal: AbortSignal,
): ReturnType<typeof launchWith> => launchWith({ ...deps, maker: makerOf(deps) }, input, signal)

export const secretName = `bootstrap-token-${bootstrapTokenId('uid-a')}`

export const inValues = (key: string, ...values: string[]) => ({ key, operator: 'In', values })

export const onDemand = [inValues('karpenter.sh/capacity-type', 'on-demand')]

/** A claim of a moment ago: planned, and no VM yet. */
export function newClaim({ requirements = onDemand, metadata, status, ...spec }: Json = {}): Json {
  const labels = { 'karpenter.sh/nodepool': 'default' }
  return claimJson('a', {
    metadata: { labels, ...(metadata as Json) },
    spec: { requirements, resources: { requests: { cpu: '1' } }, ...spec },
    status: { nodeName: undefined, providerID: undefined, conditions: [], ...(status as Json) },
  })
}

export function world(claim: Json = newClaim(), nodeClass: Json = nodeClassJson(), usages: Usages = new Map()) {
  const cluster = new FakeCluster()
  cluster.put('nodeclaims', claim)
  cluster.put('aksnodeclasses', nodeClass)
  const known = azureDeps(cluster, new FakeAzure(), usages)
  return {
    cluster,
    ...known,
    /** `again`: a later try of the same attempt, after a crash or a failure. */
    launch: (attempt = 1, again = false) =>
      ended(asAttempt(again ? 2 : 1, () => launch(known.deps, { claim: ref, attempt }, new AbortController().signal))),
    launched: () => cluster.object('nodeclaims', 'a')?.status.conditions.find(({ type }) => type === 'Launched'),
    tokens: () => cluster.all('secrets').map(({ metadata }) => metadata.name),
  }
}

/** Tags of a VM of this cluster, of the claim with this UID. */
export const tagsOf = (uid: string | undefined, nodePool = 'default') => {
  const { 'joiner.sh_nodeclaim-uid': own, ...others } = vmTags({
    config: azureConfig,
    nodeClass: { spec: withDefaults(nodeClassSpec, {}) },
    claim: { uid: uid ?? '', nodePool },
  })
  return uid === undefined ? others : { ...others, 'joiner.sh_nodeclaim-uid': own as string }
}

/** A VM that stands under the claim's name. */
export function plant(
  azure: FakeAzure,
  tags: Readonly<Record<string, string>>,
  state = 'Succeeded',
  attempt = 1,
): void {
  azure.put('virtualMachines', 'aks-a', {
    tags,
    provisioningState: state,
    hardwareProfile: { vmSize: 'Standard_D8s_v5' },
    storageProfile: {
      imageReference: { communityGalleryImageId: '/CommunityGalleries/g/images/old/versions/1' },
      osDisk: { name: osDiskName(azureConfig.clusterUid, 'a', attempt) },
    },
    zones: ['3'],
  })
}
