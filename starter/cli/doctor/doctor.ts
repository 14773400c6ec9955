import { readCloud } from '../../../activities/azure/access/azure-config.ts'
import { azureIdentity } from '../../../activities/azure/access/azure-identity.ts'
import { tokenLimitMs, tryToken } from '../../../activities/azure/arm/access-token.ts'
import { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import type { KubeconfigSource } from '../../../activities/kubernetes/client/kubeconfig.ts'
import type { Config } from '../../../api/config.ts'
import { ArmReader } from '../../picture/arm-reader.ts'
import type { TemporalSettings } from '../../temporal/settings.ts'
import { type Pools, readPools } from '../shared/buyable.ts'
import { examineIdentity, examineReads, examineSubnets, reachArm, subnetArguments } from './azure-access.ts'
import { examineActions } from './azure-roles.ts'
import { examineImages, examinePrices, examineQuota } from './azure-supply.ts'
import { type Check, type CheckResult, type DoctorContext, type Finding, runChecks } from './check.ts'
import { conversionRemedies, examineApiServer, examineClocks, examineConversion } from './cluster.ts'
import { examineCustomResources } from './custom-resources.ts'
import { examineInstances, examineMachines } from './instances.ts'
import { examineCancellations, examineKeptDocuments, examineLostClaims, examineNodes, lookAtKept } from './nodes.ts'
import { examineRights } from './rights.ts'
import { examineInstallation, examineTemporal, healthCommand } from './temporal.ts'
import { examineWorkflows } from './workflows.ts'

/** One thing that is looked at. */
interface Row extends Pick<Check, 'name' | 'limitMs'> {
  /** What to do when it does not end, or fails in a way that it does not expect. */
  readonly remedy: string | ((context: DoctorContext) => string)
  readonly examine: (context: DoctorContext, signal: AbortSignal) => Promise<Finding>
  /** Without a token ARM says nothing but that: it is not looked at then, and the row of the identity says why. */
  readonly needsToken?: true
}

/** All that is looked at, in the order in which it is listed. */
const rows: readonly Row[] = [
  {
    name: 'identity',
    remedy: 'check AZURE_TENANT_ID, AZURE_CLIENT_ID and the authority of ARM_CLOUD',
    examine: examineIdentity,
    limitMs: tokenLimitMs + 2000,
  },
  { name: 'azure reads', remedy: reachArm, examine: examineReads, limitMs: 30_000, needsToken: true },
  {
    name: 'azure roles',
    remedy: ({ identity }) =>
      `list what the identity may do: az role assignment list --all --assignee ${identity.settings.clientId ?? 'CLIENT-ID'} -o table`,
    examine: examineActions,
    needsToken: true,
  },
  {
    name: 'subnet',
    remedy: ({ config }) => `look at the subnet: az network vnet subnet show ${subnetArguments(config.VNET_SUBNET_ID)}`,
    examine: examineSubnets,
    needsToken: true,
  },
  {
    name: 'quota',
    remedy: ({ config }) => `look at the usages: az vm list-usage --location ${config.LOCATION} -o table`,
    examine: examineQuota,
    limitMs: 60_000,
    needsToken: true,
  },
  {
    name: 'images',
    remedy: ({ config }) =>
      `look at the galleries: az sig image-version list-community --location ${config.LOCATION} --public-gallery-name AKSUbuntu-38d80f77-467a-481f-a8d4-09b6d4220bd2 --gallery-image-definition 2204gen2containerd -o table`,
    examine: examineImages,
    needsToken: true,
  },
  {
    name: 'instances',
    remedy: ({ config }) =>
      `look at the VMs: az vm list --resource-group ${config.AZURE_NODE_RESOURCE_GROUP} --output table`,
    examine: examineInstances,
    limitMs: 30_000,
    needsToken: true,
  },
  {
    name: 'aks machines',
    remedy: ({ config }) =>
      `look at the cluster: az aks show --name ${config.CLUSTER_NAME} --resource-group ${config.ARM_RESOURCE_GROUP || 'GROUP-OF-THE-CLUSTER'}`,
    examine: examineMachines,
    needsToken: true,
  },
  {
    name: 'prices',
    remedy: ({ cloud: { pricesEndpoint: endpoint } }) =>
      `prices are estimated until the list can be had; allow traffic to ${endpoint}: curl -sS "${endpoint}/api/retail/prices?api-version=2023-01-01-preview&\\$top=1"`,
    examine: examinePrices,
    limitMs: 60_000,
  },
  {
    name: 'kubernetes',
    remedy: ({ kubernetes }) => `check the kubeconfig and the way to ${kubernetes.server}: kubectl version`,
    examine: examineApiServer,
  },
  {
    name: 'custom resources',
    remedy: 'kubectl get crds; kubectl api-resources --api-group karpenter.sh',
    examine: examineCustomResources,
  },
  { name: 'lost nodeclaims', remedy: lookAtKept, examine: examineLostClaims },
  { name: 'cancelled lifecycles', remedy: lookAtKept, examine: examineCancellations },
  { name: 'kept documents', remedy: lookAtKept, examine: examineKeptDocuments },
  { name: 'nodes', remedy: 'look at both: kubectl get nodes,nodeclaims -o wide', examine: examineNodes },
  {
    name: 'kubernetes rights',
    remedy: ({ config: { JOINER_NAMESPACE: namespace } }) =>
      `kubectl auth can-i --list --as system:serviceaccount:${namespace}:joiner --namespace ${namespace}`,
    examine: examineRights,
  },
  { name: 'conversion webhook', remedy: ({ config }) => conversionRemedies(config)[0], examine: examineConversion },
  {
    name: 'temporal',
    remedy: (context) =>
      `check TEMPORAL_ADDRESS "${context.temporal.address}" (chart: temporal.address) and that the frontend runs: ${healthCommand(context)}`,
    examine: examineTemporal,
  },
  { name: 'workflows', remedy: 'fix "temporal" first', examine: examineWorkflows },
  {
    name: 'installation',
    remedy: 'kubectl get crd nodepools.karpenter.sh --output yaml; temporal workflow list',
    examine: examineInstallation,
  },
  { name: 'clocks', remedy: 'timedatectl status; chronyc tracking', examine: examineClocks },
]

export interface DoctorInput {
  readonly config: Config
  readonly temporal: TemporalSettings
  /** Why nothing leads to Temporal from here. */
  readonly unreached: string | undefined
  readonly env: NodeJS.ProcessEnv
  /** Undefined: the account of the pod. */
  readonly cluster: KubeconfigSource | undefined
  /** Name of the ServiceAccount with the identity at Azure. */
  readonly serviceAccount: string
  readonly onStart: (names: readonly string[]) => void
  readonly onEnd: (result: CheckResult) => void
}

/**
 * Looks at everything that Joiner needs, changes nothing, and says of each thing how it is and how to fix it. Errors: throws what keeps it
 * from looking at all, such as a kubeconfig that cannot be read.
 */
export async function examine({
  config,
  temporal,
  unreached,
  env,
  cluster,
  serviceAccount,
  onStart,
  onEnd,
}: DoctorInput): Promise<readonly CheckResult[]> {
  const cloud = await readCloud(config)
  const identity = azureIdentity(config, cloud, env)
  const kubernetes = await KubernetesClient.load(cluster)
  try {
    const token = tryToken(identity)
    let pools: Promise<Pools> | undefined
    const context: DoctorContext = {
      config,
      temporal,
      unreached,
      cloud,
      identity,
      arm: new ArmReader(cloud.armEndpoint, identity.credential, identity.scope),
      kubernetes,
      token,
      serviceAccount,
      owner: token.then((result) => (result.kind === 'token' ? result.owner : undefined)),
      pools: () => {
        pools ??= readPools(kubernetes)
        return pools
      },
      now: () => Date.now(),
    }
    const checks = rows.map((row) => checkOf(row, context))
    onStart(checks.map(({ name }) => name))
    return await runChecks(checks, onEnd)
  } finally {
    await kubernetes.close()
  }
}

function checkOf({ remedy, examine, needsToken, ...row }: Row, context: DoctorContext): Check {
  const run = (signal: AbortSignal) => examine(context, signal)
  const withToken = async (signal: AbortSignal): Promise<Finding> => {
    if ((await context.owner) !== undefined) return run(signal)
    return { status: 'fail', summary: 'not looked at: Azure gave no token', remedies: ['fix "identity" first'] }
  }
  const text = typeof remedy === 'string' ? remedy : remedy(context)
  return { ...row, remedy: text, run: needsToken === true ? withToken : run }
}
